//! The published result, and which parts of it these runs confirm.

use super::Options;
use furrow_lab::report::derive::{Balance, Spread};
use furrow_lab::results::{Published, PublishedPoint, Results, WaitTotal};
use furrow_stats::special::t_quantile;
use furrow_stats::{mean, std_dev};

/// The published figures: numbers if they are stated, otherwise directions. Each statement of the source is
/// compared with the measurement.
pub(super) fn published(options: &Options, results: &Results) -> Published {
    let several = options.places.volumes.len() > 1;
    let points: &[(&str, f64, bool)] = if several {
        &[
            ("1", 1.0, true),
            ("2", 0.98, false),
            ("4", 0.96, false),
            ("8", 0.94, true),
            ("16", 0.95, false),
        ]
    } else {
        &[
            ("1", 1.0, true),
            ("2", 1.03, true),
            ("4", 0.98, false),
            ("8", 0.97, false),
            ("16", 0.98, false),
        ]
    };
    let points = points
        .iter()
        .filter(|(level, _, _)| options.files.iter().any(|n| n.to_string() == *level))
        .map(|&(level, ratio, stated)| PublishedPoint {
            level: level.to_string(),
            ratio,
            stated,
        })
        .collect();
    let layout = if several {
        "the files in turn on two arrays of four drives each"
    } else {
        "all files on one array of eight drives"
    };
    Published {
        source: "Paul S. Randal, Benchmarking: do multiple data files make a difference?"
            .to_string(),
        setting: format!(
            "100 GB inserted by 16 connections into 160 GB of pre-sized files, one row a page, {layout} \
             (RAID 10, 15k SCSI, iSCSI), the log on an array of its own; means of five runs"
        ),
        points,
        approximate: true,
        comparisons: comparisons(results),
    }
}

fn comparisons(results: &Results) -> Vec<(String, String, Option<bool>)> {
    let statements = vec![
        eight_is_faster(results),
        sixteen_is_not_best(results),
        two_is_no_gain(results),
        waits_do_not_change(results),
        top_waits(results),
        written_evenly(results),
    ];
    statements.into_iter().flatten().collect()
}

type Statement = Option<(String, String, Option<bool>)>;

fn ratio(results: &Results, key: &str) -> Option<f64> {
    results.level(key)?.ratio
}

fn percent(ratio: f64) -> String {
    format!("{:+.1}%", 100.0 * (ratio - 1.0))
}

fn eight_is_faster(results: &Results) -> Statement {
    let ours = ratio(results, "8")?;
    let decided = results
        .level("8")?
        .interval
        .is_some_and(|i| !i.contains(1.0));
    let said = format!("8 files changed the elapsed time by {}", percent(ours));
    let text = "Elapsed time falls from 1 to 8 files, by just over 6% at best.";
    Some((text.to_string(), said, decided.then_some(ours < 1.0)))
}

fn sixteen_is_not_best(results: &Results) -> Statement {
    let (eight, sixteen) = (ratio(results, "8")?, ratio(results, "16")?);
    let said = format!("8 files {}, 16 files {}", percent(eight), percent(sixteen));
    let text = "16 files are slower than 8.".to_string();
    Some((text, said, is_slower(results, "16", "8")))
}

/// Whether one level takes longer than another, by the differences within blocks; `None` if their 95%
/// interval includes both directions.
fn is_slower(results: &Results, level: &str, other: &str) -> Option<bool> {
    let log_in = |key: &str, block: u32| {
        let mut runs = results.good_runs(key).filter(|run| run.block == block);
        runs.next()?.response.map(f64::ln)
    };
    let difference = |block| Some(log_in(level, block)? - log_in(other, block)?);
    let differences: Vec<f64> = (1..=results.plan.blocks).filter_map(difference).collect();
    if differences.len() < 2 {
        return None;
    }
    let n = differences.len() as f64;
    let reach = t_quantile(0.975, n - 1.0) * std_dev(&differences) / n.sqrt();
    let middle = mean(&differences);
    (middle.abs() > reach).then_some(middle > 0.0)
}

fn two_is_no_gain(results: &Results) -> Statement {
    let ours = ratio(results, "2")?;
    let several = results
        .plan
        .settings
        .iter()
        .any(|(name, _)| name == "volume 2");
    if several {
        return None;
    }
    let decided = results
        .level("2")?
        .interval
        .is_some_and(|i| !i.contains(1.0));
    let text = "On one array 2 files are about 3% slower than 1.";
    let said = format!("2 files changed the elapsed time by {}", percent(ours));
    Some((text.to_string(), said, decided.then_some(ours > 1.0)))
}

/// Share of each wait type in the waits of a level's good runs, the largest first.
fn shares(results: &Results, key: &str) -> Vec<(String, f64)> {
    let mut sums: Vec<(String, f64)> = Vec::new();
    let runs: Vec<_> = results.good_runs(key).collect();
    let waits = runs
        .iter()
        .flat_map(|run| &run.waits)
        .filter(|wait: &&WaitTotal| !wait.benign);
    for wait in waits {
        match sums.iter_mut().find(|(name, _)| *name == wait.wait_type) {
            Some(entry) => entry.1 += wait.total_us as f64,
            None => sums.push((wait.wait_type.clone(), wait.total_us as f64)),
        }
    }
    let all: f64 = sums.iter().map(|(_, us)| us).sum();
    sums.iter_mut().for_each(|(_, us)| *us /= all.max(1.0));
    sums.sort_by(|a, b| b.1.total_cmp(&a.1));
    sums
}

fn reported(shares: &[(String, f64)]) -> String {
    let words: Vec<String> = shares
        .iter()
        .take(3)
        .map(|(name, share)| format!("{name} {:.0}%", 100.0 * share))
        .collect();
    words.join(", ")
}

fn waits_do_not_change(results: &Results) -> Statement {
    let (one, eight) = (shares(results, "1"), shares(results, "8"));
    if one.is_empty() || eight.is_empty() {
        return None;
    }
    let of = |all: &[(String, f64)], name: &str| {
        all.iter()
            .find(|(n, _)| n == name)
            .map_or(0.0, |(_, share)| *share)
    };
    let most = one
        .iter()
        .map(|(name, share)| (share - of(&eight, name)).abs())
        .fold(0.0, f64::max);
    let text =
        "The shares of the waits hardly differ between 1 and 8 files (38 and 39% PAGELATCH_EX).";
    let said = format!(
        "no share moves by more than {:.0} points",
        (100.0 * most).ceil()
    );
    Some((text.to_string(), said, Some(most <= 0.05)))
}

fn top_waits(results: &Results) -> Statement {
    let one = shares(results, "1");
    let first = one.first()?.0.clone();
    let text = "PAGELATCH_EX waits come first, PAGELATCH_SH second, WRITELOG third.";
    Some((
        text.to_string(),
        reported(&one),
        Some(first == "PAGELATCH_EX"),
    ))
}

fn written_evenly(results: &Results) -> Statement {
    let balances = Balance::of(results);
    let worst = Balance::worst(&balances)?;
    let (said, same) = match worst.spread {
        Spread::OneFile | Spread::NothingWritten => return None,
        Spread::Ratio(ratio) => (
            format!("the most written file got {ratio:.2} times the least written one"),
            ratio < 1.05,
        ),
        Spread::Idle(idle) => (
            format!("{idle} of {} files got nothing", worst.files.len()),
            false,
        ),
    };
    let text = "Files of equal size are filled evenly (proportional fill).";
    Some((text.to_string(), said, Some(same)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use furrow_lab::results::{PlanInfo, Run};

    fn results(runs: &[(&str, u32, f64)]) -> Results {
        let run = |&(level, block, seconds): &(&str, u32, f64)| Run {
            level: level.to_string(),
            block,
            response: Some(seconds),
            ..Run::default()
        };
        Results {
            plan: PlanInfo {
                blocks: 3,
                ..PlanInfo::default()
            },
            runs: runs.iter().map(run).collect(),
            ..Results::default()
        }
    }

    #[test]
    fn a_level_is_called_slower_only_where_the_blocks_agree() {
        let clear = results(&[
            ("8", 1, 10.0),
            ("16", 1, 11.0),
            ("8", 2, 20.0),
            ("16", 2, 22.1),
            ("8", 3, 15.0),
            ("16", 3, 16.4),
        ]);
        assert_eq!(is_slower(&clear, "16", "8"), Some(true));
        assert_eq!(is_slower(&clear, "8", "16"), Some(false));
        let mixed = results(&[
            ("8", 1, 10.0),
            ("16", 1, 11.0),
            ("8", 2, 20.0),
            ("16", 2, 18.0),
            ("8", 3, 15.0),
        ]);
        assert_eq!(is_slower(&mixed, "16", "8"), None);
        assert_eq!(is_slower(&results(&[]), "16", "8"), None);
    }
}
