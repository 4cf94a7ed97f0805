//! The published result, and what of it the runs here confirm.

use super::options::{Options, Setting};
use crate::workloads::order_entry::Churn;
use crate::workloads::paired::ratio;
use furrow_lab::results::{Interval, Published, Results};

type Statement = Option<(String, String, Option<bool>)>;

/// The statements of the source held against what was measured. Its figures are a chart without numbers.
pub(super) fn published(options: &Options, results: &Results) -> Published {
    let statements = [
        without_churn(options, results),
        with_churn(options, results),
        falls(options, results),
    ];
    Published {
        source: "Linchi Shea, Performance impact: number of data files and allocation contention".to_owned(),
        setting: "1,000 warehouses (160 GB, all files on one drive, log of 20 GB), four processor cores, 1 \
            to 64 data \
                  files, up to 600 users; the second load creates, fills and drops a table in each \
                  transaction"
            .to_owned(),
        points: Vec::new(),
        approximate: true,
        comparisons: statements.into_iter().flatten().collect(),
    }
}

/// The key of a level.
fn key(options: &Options, setting: Setting) -> String {
    let mut parts = Vec::new();
    let mut part = |is_varied: bool, text: String| {
        if is_varied {
            parts.push(text);
        }
    };
    part(options.users.len() > 1, setting.users.to_string());
    part(options.files.len() > 1, setting.files.to_string());
    part(options.churn.len() > 1, setting.churn.word().to_owned());
    parts.join(" / ")
}

/// One file against four, at the most users, with this churn.
fn four_to_one(options: &Options, results: &Results, churn: Churn) -> Option<(u32, f64, Interval)> {
    let users = options.users.iter().max().copied()?;
    let known = options.churn.contains(&churn) && [1, 4].iter().all(|n| options.files.contains(n));
    let of = |files| {
        key(
            options,
            Setting {
                users,
                files,
                churn,
            },
        )
    };
    let (ratio, interval) = known.then(|| ratio(results, &of(4), &of(1)))??;
    Some((users, ratio, interval))
}

fn said(users: u32, ratio: f64, interval: Interval) -> String {
    let users = match users {
        1 => "1 user".to_owned(),
        several => format!("{several} users"),
    };
    format!(
        "at {users} 4 files carry {ratio:.2} times what 1 carries ({:.2} to {:.2})",
        interval.low, interval.high
    )
}

fn without_churn(options: &Options, results: &Results) -> Statement {
    let (users, ratio, interval) = four_to_one(options, results, Churn::Off)?;
    let text = "Without churn 1 and 4 files carry the same.";
    let same = match (
        interval.low > 0.95 && interval.high < 1.05,
        interval.contains(1.0),
    ) {
        (true, _) => Some(true),
        (false, true) => None,
        (false, false) => Some(false),
    };
    Some((text.to_owned(), said(users, ratio, interval), same))
}

fn with_churn(options: &Options, results: &Results) -> Statement {
    let (users, ratio, interval) = four_to_one(options, results, Churn::Database)?;
    let text = "With churn, at 600 users, 4 files carry up to 50% more than 1.";
    let more = (!interval.contains(1.0)).then_some(ratio > 1.0);
    Some((text.to_owned(), said(users, ratio, interval), more))
}

fn falls(options: &Options, results: &Results) -> Statement {
    let (churn, files) = (Churn::Database, 1);
    if !options.churn.contains(&churn) || !options.files.contains(&files) {
        return None;
    }
    let most = options.users.iter().max().copied()?;
    let middle = options
        .users
        .iter()
        .filter(|&&users| users <= 100)
        .max()
        .copied()?;
    if most < 200 {
        return None;
    }
    let of = |users| {
        key(
            options,
            Setting {
                users,
                files,
                churn,
            },
        )
    };
    let (ratio, interval) = ratio(results, &of(most), &of(middle))?;
    let text = "With churn and 1 file, throughput drops sharply from 200 users on.";
    let ours = format!(
        "{most} users get {ratio:.2} times what {middle} get ({:.2} to {:.2})",
        interval.low, interval.high
    );
    Some((
        text.to_owned(),
        ours,
        (!interval.contains(1.0)).then_some(ratio < 1.0),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_user_is_one_user() {
        let interval = Interval {
            low: 0.9,
            high: 1.1,
            confidence: 0.95,
        };
        let begin = |users| {
            said(users, 1.0, interval)
                .split(" 4 files")
                .next()
                .map(str::to_owned)
        };
        assert_eq!(begin(1).as_deref(), Some("at 1 user"));
        assert_eq!(begin(600).as_deref(), Some("at 600 users"));
    }
}
