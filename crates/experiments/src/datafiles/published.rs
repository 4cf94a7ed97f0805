//! The published result, and which parts of it these runs confirm.

use super::Options;
use crate::workloads::paired::is_larger;
use furrow_lab::report::derive::{Balance, Spread};
use furrow_lab::results::{Published, PublishedPoint, Results, WaitTotal};

/// The published figures: numbers if they are stated, otherwise directions. Each statement of the source is
/// compared with the measurement.
pub(super) fn published(options: &Options, results: &Results) -> Published {
    let several = options.places.volumes.len() > 1;
    let layout = if several {
        "the files in turn on two arrays of four drives each"
    } else {
        "all files on one array of eight drives"
    };
    let baseline = results.baseline().map_or("", |level| level.level.as_str());
    Published {
        source: "Paul S. Randal, Benchmarking: do multiple data files make a difference?"
            .to_string(),
        setting: format!(
            "100 GB inserted by 16 connections into 160 GB of pre-sized files, one row a page, {layout} \
             (RAID 10, 15k SCSI, iSCSI), the log on an array of its own; means of five runs"
        ),
        points: points(baseline, &options.files, several),
        approximate: true,
        comparisons: comparisons(results),
    }
}

/// The published times over that of the baseline of these runs; none where it is not among them.
fn points(baseline: &str, files: &[u64], several: bool) -> Vec<PublishedPoint> {
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
    let Some(&(_, base, base_stated)) = points.iter().find(|(level, ..)| *level == baseline) else {
        return Vec::new();
    };
    points
        .iter()
        .filter(|(level, _, _)| files.iter().any(|n| n.to_string() == *level))
        .map(|&(level, ratio, stated)| PublishedPoint {
            level: level.to_string(),
            ratio: ratio / base,
            stated: stated && base_stated,
        })
        .collect()
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

/// The ratio of a level to one file, where one file is what levels are compared with.
fn against_one(results: &Results, key: &str) -> Option<f64> {
    let baseline = results.baseline()?;
    (baseline.level == "1").then(|| ratio(results, key))?
}

fn percent(ratio: f64) -> String {
    format!("{:+.1}%", 100.0 * (ratio - 1.0))
}

fn eight_is_faster(results: &Results) -> Statement {
    let ours = against_one(results, "8")?;
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
    Some((text, said, is_larger(results, "16", "8")))
}

fn two_is_no_gain(results: &Results) -> Statement {
    let ours = against_one(results, "2")?;
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

fn sentence_of(shares: &[(String, f64)]) -> String {
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
        sentence_of(&one),
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
    use crate::workloads::paired::tests::blocks;

    fn said(levels: &[(&str, [f64; 3])]) -> Vec<String> {
        let all = comparisons(&blocks(levels));
        all.into_iter().map(|(text, ..)| text).collect()
    }

    #[test]
    fn statements_about_one_file_need_one_file_as_the_baseline() {
        let levels = [
            ("4", [10.0, 10.1, 10.2]),
            ("2", [10.3, 10.4, 10.5]),
            ("8", [9.4, 9.5, 9.6]),
        ];
        assert!(said(&levels).is_empty(), "{:?}", said(&levels));
        let levels = [
            ("1", [10.0, 10.1, 10.2]),
            ("2", [10.3, 10.4, 10.5]),
            levels[2],
        ];
        let mut results = blocks(&levels);
        for (level, ratio) in results
            .levels
            .iter_mut()
            .zip([None, Some(1.03), Some(0.94)])
        {
            level.ratio = ratio;
        }
        assert_eq!(comparisons(&results).len(), 2);
    }

    #[test]
    fn published_ratios_are_those_against_the_baseline_of_these_runs() {
        let ratios = |baseline: &str, files: &[u64]| -> Vec<(String, f64)> {
            let found = points(baseline, files, true);
            found
                .into_iter()
                .map(|point| (point.level, point.ratio))
                .collect()
        };
        let found = ratios("4", &[4, 2, 8]);
        let wanted = [("2", 0.98 / 0.96), ("4", 1.0), ("8", 0.94 / 0.96)];
        assert_eq!(found.len(), 3);
        for ((level, ratio), (key, want)) in found.iter().zip(wanted) {
            assert!(level == key && (ratio - want).abs() < 1e-9, "{found:?}");
        }
        assert_eq!(
            ratios("1", &[1, 8]),
            [("1".to_owned(), 1.0), ("8".to_owned(), 0.94)]
        );
        assert!(
            ratios("3", &[3, 8]).is_empty(),
            "nothing is published about 3 files"
        );
    }
}
