//! Waits for latches of pages in memory, by kind of page, as the engine's view has them.

use crate::targets::{Session, TargetError, Value};
use furrow_lab::report::words::figure;
use furrow_lab::results::{LatchTotal, LevelResult, Results, Run, SheetTable};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The name of the record in `Run::extra`.
const RECORD: &str = "page latches";

/// Waits of one kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct PageLatch {
    /// The database's number.
    pub(crate) database: u64,
    /// `PFS`, `GAM`, `SGAM`, `IAM`, `CATALOG`, `INDEX`, `DATA`.
    pub(crate) kind: String,
    /// `SH`, `UP` or `EX`.
    pub(crate) mode: String,
    /// File and page, of an allocation page.
    pub(crate) page: Option<(u64, u64)>,
    /// Requests that waited.
    pub(crate) waits: u64,
    /// How long.
    pub(crate) wait_us: u64,
    /// How long the latch was held UP or EX; `None` where that is not measured.
    #[serde(default)]
    pub(crate) held: Option<Held>,
}

/// Holds of a latch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Held {
    /// How many.
    pub(crate) holds: u64,
    /// Their sum.
    pub(crate) ns: u64,
    /// The sum of their squares, in square microseconds.
    pub(crate) us2: f64,
    /// Those of them in which the holder most likely lost its processor: of more than 100 us.
    pub(crate) long_holds: u64,
    /// The sum of those.
    pub(crate) long_ns: u64,
}

impl Held {
    /// Adds the holds of another latch.
    pub(crate) fn add(&mut self, other: Held) {
        self.holds += other.holds;
        self.ns += other.ns;
        self.us2 += other.us2;
        self.long_holds += other.long_holds;
        self.long_ns += other.long_ns;
    }

    fn since(self, earlier: Held) -> Held {
        Held {
            holds: self.holds.saturating_sub(earlier.holds),
            ns: self.ns.saturating_sub(earlier.ns),
            us2: (self.us2 - earlier.us2).max(0.0),
            long_holds: self.long_holds.saturating_sub(earlier.long_holds),
            long_ns: self.long_ns.saturating_sub(earlier.long_ns),
        }
    }
}

impl PageLatch {
    fn is_like(&self, other: &PageLatch) -> bool {
        let key = |of: &PageLatch| (of.database, of.kind.clone(), of.mode.clone(), of.page);
        key(self) == key(other)
    }

    /// `PAGELATCH_UP on 2:1:1 (PFS)`, and `PAGELATCH_EX (DATA)` where a row stands for many pages.
    pub(crate) fn name(&self) -> String {
        let (database, mode, kind) = (self.database, &self.mode, &self.kind);
        match self.page {
            Some((file, page)) => format!("PAGELATCH_{mode} on {database}:{file}:{page} ({kind})"),
            None => format!("PAGELATCH_{mode} ({kind})"),
        }
    }
}

/// Everything since the start of the instance.
pub(crate) fn read(session: &mut dyn Session) -> Result<Vec<PageLatch>, TargetError> {
    let reply = session.batch(
        "SELECT database_id, page_kind, latch_mode, file_id, page_id, waiting_requests_count, wait_time_us, \
         hold_count, hold_time_ns, hold_time_square_sum_us2, long_hold_count, long_hold_time_ns \
         FROM sys.dm_os_page_latch_stats;",
    )?;
    let rows = reply.rows.iter().filter_map(|row| match row.as_slice() {
        [database, kind, mode, file, page, waits, wait, held @ ..] => Some(PageLatch {
            database: database.count(),
            kind: kind.to_string(),
            mode: mode.to_string(),
            page: (*page != Value::Null).then(|| (file.count(), page.count())),
            waits: waits.count(),
            wait_us: wait.count(),
            held: held_of(held),
        }),
        _ => None,
    });
    Ok(rows.collect())
}

fn held_of(columns: &[Value]) -> Option<Held> {
    match columns {
        [holds, ns, us2, long_holds, long_ns] if *holds != Value::Null => Some(Held {
            holds: holds.count(),
            ns: ns.count(),
            us2: us2.number().unwrap_or(0.0),
            long_holds: long_holds.count(),
            long_ns: long_ns.count(),
        }),
        _ => None,
    }
}

/// What came on top of `before`.
pub(crate) fn since(before: &[PageLatch], after: Vec<PageLatch>) -> Vec<PageLatch> {
    let mut found = after;
    for latch in &mut found {
        if let Some(earlier) = before.iter().find(|earlier| earlier.is_like(latch)) {
            latch.waits = latch.waits.saturating_sub(earlier.waits);
            latch.wait_us = latch.wait_us.saturating_sub(earlier.wait_us);
            let earlier = earlier.held.unwrap_or_default();
            latch.held = latch.held.map(|held| held.since(earlier));
        }
    }
    found.retain(|latch| latch.waits > 0 || latch.held.is_some_and(|held| held.holds > 0));
    found
}

/// Puts them into a run: as latch classes by kind of page, and page by page into its record.
pub(crate) fn keep(run: &mut Run, latches: &[PageLatch]) -> Result<(), serde_json::Error> {
    let mut classes: Vec<LatchTotal> = Vec::new();
    for latch in latches.iter().filter(|latch| latch.waits > 0) {
        let class = format!("PAGELATCH_{} ({})", latch.mode, latch.kind);
        let place = classes.iter().position(|known| known.class == class);
        let place = place.unwrap_or_else(|| {
            classes.push(LatchTotal {
                class,
                ..LatchTotal::default()
            });
            classes.len() - 1
        });
        if let Some(total) = classes.get_mut(place) {
            total.waits += latch.waits;
            total.total_us += latch.wait_us;
            // The longest wait of one kind is not read: its total bounds it.
            total.max_us = total.total_us;
        }
    }
    run.latches.extend(classes);
    let record = serde_json::to_value(latches)?;
    run.extra.insert(RECORD.to_owned(), record);
    Ok(())
}

/// The latches that a run has kept.
pub(crate) fn of(run: &Run) -> Vec<PageLatch> {
    let record = run.extra.get(RECORD);
    record
        .and_then(|record| serde_json::from_value(record.clone()).ok())
        .unwrap_or_default()
}

const CAPTION: &str =
    "Waits for latches of pages in a second of load, all sessions together, means of the runs";
/// Columns of the table.
const MOST_COLUMNS: usize = 12;
/// Shorter waits in a second of load are none.
const LEAST_MS: f64 = 0.05;

/// A name, with waits and milliseconds waited.
type Sum = (String, f64, f64);

/// Waits a second of load at each level, as means of its runs, with the kinds of pages in the order of what
/// they cost.
pub(crate) fn table(results: &Results) -> SheetTable {
    let mut names: Vec<(String, f64)> = Vec::new();
    // Without a good run there are no waits, and no statement that there were none.
    let mut levels: Vec<(String, Option<Vec<Sum>>)> = Vec::new();
    for level in &results.levels {
        let mut sums: Vec<Sum> = Vec::new();
        let runs = results.good_runs(&level.level).count().max(1) as f64;
        for run in results.good_runs(&level.level) {
            let share = 1.0 / run.seconds.unwrap_or(1.0).max(1e-6) / runs;
            for latch in of(run).iter().filter(|latch| latch.waits > 0) {
                let name = latch.name();
                let waits = latch.waits as f64 * share;
                let ms = latch.wait_us as f64 / 1e3 * share;
                match sums.iter_mut().find(|sum| sum.0 == name) {
                    Some(sum) => (sum.1, sum.2) = (sum.1 + waits, sum.2 + ms),
                    None => sums.push((name, waits, ms)),
                }
            }
        }
        for sum in &sums {
            match names.iter_mut().find(|name| name.0 == sum.0) {
                Some(name) => name.1 += sum.2,
                None => names.push((sum.0.clone(), sum.2)),
            }
        }
        let is_measured = results.good_runs(&level.level).next().is_some();
        levels.push((level.level.clone(), is_measured.then_some(sums)));
    }
    names.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let left_out = names.len().saturating_sub(MOST_COLUMNS);
    names.truncate(MOST_COLUMNS);
    let cell = |sums: &Option<Vec<Sum>>, name: &str| {
        let Some(sums) = sums else {
            return "not measured".to_owned();
        };
        let found = sums.iter().find(|sum| sum.0 == name);
        found.map_or_else(
            || "-".to_owned(),
            |(_, waits, ms)| format!("{} ms, {} waits", figure(*ms), figure(*waits)),
        )
    };
    let rows = levels.iter().map(|(level, sums)| {
        let cells = names.iter().map(|(name, _)| cell(sums, name));
        [level.clone()].into_iter().chain(cells).collect()
    });
    let heads = names.iter().map(|(name, _)| name.clone());
    SheetTable {
        caption: match left_out {
            0 => CAPTION.to_owned(),
            more => format!("{CAPTION}; {more} columns with shorter waits are left out"),
        },
        columns: [results.experiment.factor.plural.clone()]
            .into_iter()
            .chain(heads)
            .collect(),
        rows: rows.collect(),
    }
}

/// Milliseconds a second of load that sessions of a run waited for latches of such pages.
pub(crate) fn ms_a_second(run: &Run, is_wanted: impl Fn(&PageLatch) -> bool) -> f64 {
    let waited: u64 = of(run)
        .iter()
        .filter(|l| is_wanted(l))
        .map(|l| l.wait_us)
        .sum();
    waited as f64 / 1e3 / run.seconds.unwrap_or(1.0).max(1e-6)
}

/// The level with the longest waits for latches of pages of such kinds, and milliseconds in a second of load.
fn longest<'a>(
    results: &'a Results,
    is_wanted: &dyn Fn(&PageLatch) -> bool,
) -> Option<(&'a str, f64)> {
    let of_level = |level: &'a LevelResult| {
        let waited = |run| ms_a_second(run, is_wanted);
        let runs: Vec<f64> = results.good_runs(&level.level).map(waited).collect();
        (
            &*level.level,
            runs.iter().sum::<f64>() / runs.len().max(1) as f64,
        )
    };
    let levels = results.levels.iter().map(of_level);
    levels.max_by(|a, b| a.1.total_cmp(&b.1))
}

/// The kind of pages that sessions waited for longest; allocation pages in any case, which are the question.
pub(crate) fn finding(results: &Results) -> String {
    let all = "in a second of load, all together, mean of the runs";
    let hardly = || {
        "Sessions hardly waited for latches of PFS, GAM and SGAM pages on this machine".to_owned()
    };
    let allocation = longest(results, &is_allocation);
    let allocation = allocation.filter(|(_, ms)| *ms >= LEAST_MS);
    let kinds = results.runs.iter().flat_map(of);
    let kinds: BTreeSet<String> = kinds.map(|latch| latch.kind).collect();
    let others = kinds.iter().filter(|kind| !is_of_maps(kind));
    let others =
        others.filter_map(|kind| Some((kind, longest(results, &|latch| latch.kind == *kind)?)));
    let other = others.max_by(|a, b| a.1.1.total_cmp(&b.1.1));
    let other =
        other.filter(|(_, (_, ms))| *ms >= LEAST_MS && allocation.is_none_or(|(_, a)| *ms > a));
    match (other, allocation) {
        (Some((kind, (level, ms))), Some((of, allocation))) => format!(
            "Sessions waited longest for latches of {kind} pages: {ms:.1} ms with {level} {all}; for those \
             of PFS, GAM and SGAM pages {allocation:.1} ms with {of}"
        ),
        (Some((kind, (level, ms))), None) => format!(
            "{}; for those of {kind} pages {ms:.1} ms with {level} {all}",
            hardly()
        ),
        (None, Some((level, ms))) => format!(
            "Sessions waited longest for latches of PFS, GAM and SGAM pages: {ms:.1} ms with {level} {all}"
        ),
        (None, None) => hardly(),
    }
}

/// Whether it is a PFS, GAM or SGAM page.
pub(crate) fn is_allocation(latch: &PageLatch) -> bool {
    is_of_maps(&latch.kind)
}

fn is_of_maps(kind: &str) -> bool {
    matches!(kind, "PFS" | "GAM" | "SGAM")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn latch(kind: &str, page: Option<(u64, u64)>, waits: u64) -> PageLatch {
        PageLatch {
            database: 2,
            kind: kind.to_owned(),
            mode: "UP".to_owned(),
            page,
            waits,
            wait_us: waits * 1000,
            held: None,
        }
    }

    #[test]
    fn allocation_pages_are_named_and_only_new_waits_count() {
        let before = [latch("PFS", Some((1, 1)), 5), latch("DATA", None, 3)];
        let after = vec![
            latch("PFS", Some((1, 1)), 9),
            latch("DATA", None, 3),
            latch("SGAM", Some((3, 3)), 1),
        ];
        let found = since(&before, after);
        let named: Vec<_> = found.iter().map(|l| (l.name(), l.waits)).collect();
        let expected = [
            ("PAGELATCH_UP on 2:1:1 (PFS)", 4),
            ("PAGELATCH_UP on 2:3:3 (SGAM)", 1),
        ];
        assert_eq!(named, expected.map(|(name, n)| (name.to_owned(), n)));
        let mut run = Run {
            seconds: Some(2.0),
            ..Run::default()
        };
        keep(&mut run, &found).unwrap();
        assert_eq!(run.latches.len(), 2);
        assert_eq!(run.latches[0].class, "PAGELATCH_UP (PFS)");
        run.level = "1".to_owned();
        let quiet = Run {
            level: "2".to_owned(),
            ..Run::default()
        };
        let level = |name: &str| LevelResult {
            level: name.to_owned(),
            ..LevelResult::default()
        };
        let results = Results {
            runs: vec![run.clone(), quiet],
            levels: ["1", "2", "4"].map(level).into(),
            ..Results::default()
        };
        let rows = table(&results).rows;
        assert_eq!(
            rows[0][1..],
            ["2.00 ms, 2.00 waits", "0.500 ms, 0.500 waits"]
        );
        assert_eq!(rows[1], ["2", "-", "-"], "there were none");
        assert_eq!(
            rows[2],
            ["4", "not measured", "not measured"],
            "no run is good"
        );
        assert!((ms_a_second(&run, is_allocation) - 2.5).abs() < 1e-9);
    }

    #[test]
    fn the_kind_of_pages_with_the_longest_waits_is_named_and_allocation_pages_in_any_case() {
        let said = |latches: &[PageLatch]| {
            let mut run = Run {
                seconds: Some(2.0),
                level: "4".to_owned(),
                ..Run::default()
            };
            keep(&mut run, latches).unwrap();
            let level = LevelResult {
                level: "4".to_owned(),
                ..LevelResult::default()
            };
            finding(&Results {
                runs: vec![run],
                levels: vec![level],
                ..Results::default()
            })
        };
        let (maps, catalog) = (latch("PFS", Some((1, 1)), 8), latch("CATALOG", None, 40));
        let both = said(&[maps.clone(), catalog.clone()]);
        assert!(
            both.starts_with(
                "Sessions waited longest for latches of CATALOG pages: 20.0 ms with 4"
            )
        );
        assert!(
            both.ends_with("for those of PFS, GAM and SGAM pages 4.0 ms with 4"),
            "{both}"
        );
        let alone = said(&[maps]);
        assert!(
            alone.contains("latches of PFS, GAM and SGAM pages: 4.0 ms with 4"),
            "{alone}"
        );
        let other = said(&[catalog]);
        assert!(
            other.starts_with("Sessions hardly waited for latches of PFS"),
            "{other}"
        );
        assert!(
            other.contains("for those of CATALOG pages 20.0 ms with 4"),
            "{other}"
        );
        assert!(said(&[]).starts_with("Sessions hardly waited"));
    }
}
