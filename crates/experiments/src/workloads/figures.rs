//! From counters before and after to the figures of a run.

use super::load::{Look, Queued, TICK, Worked};
use crate::targets::{Counters, FileCounters, WaitCounters, volume_of};
use furrow_lab::experiment::latency_of;
use furrow_lab::results::{Event, FileIo, FileRole, LatchTotal, Run, Series, SpinTotal, WaitTotal};
use furrow_observe::waits::WaitType;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Runs longer than this get one value a second, shorter ones one a tick.
const SHORT_RUN_S: f64 = 20.0;
/// The spinlock of proportional fill is shown even at zero: that it was not taken is the point.
const ALWAYS_SHOWN: &str = "FGCB_PRP_FILL";

/// Category of a wait, and whether it says nothing about the load. A wait type that no table has is a
/// category of its own.
fn kind_of(name: &str) -> (String, bool) {
    match WaitType::ALL.iter().find(|kind| kind.name() == name) {
        Some(kind) => (kind.category().name().to_string(), kind.is_benign()),
        None => (name.to_string(), false),
    }
}

/// What came on top of earlier counts.
fn delta(before: &[WaitCounters], after: &[WaitCounters]) -> Vec<WaitCounters> {
    let one = |later: &WaitCounters| {
        let earlier = before.iter().find(|wait| wait.name == later.name);
        let of =
            |part: fn(&WaitCounters) -> u64| part(later).saturating_sub(earlier.map_or(0, part));
        let total_us = of(|wait| wait.total_us);
        WaitCounters {
            name: later.name.clone(),
            count: of(|wait| wait.count),
            total_us,
            // The longest of all time bounds the longest of this run.
            max_us: later.max_us.min(total_us),
            signal_us: of(|wait| wait.signal_us),
        }
    };
    let rows = after.iter().map(one);
    rows.filter(|wait| wait.count > 0 || wait.total_us > 0)
        .collect()
}

/// Sums the waits of several sessions.
fn sum(all: &[Vec<WaitCounters>]) -> Vec<WaitCounters> {
    let mut sums: BTreeMap<&str, WaitCounters> = BTreeMap::new();
    for wait in all.iter().flatten() {
        let entry = sums.entry(&wait.name).or_insert_with(|| WaitCounters {
            name: wait.name.clone(),
            ..WaitCounters::default()
        });
        entry.count += wait.count;
        entry.total_us += wait.total_us;
        entry.max_us = entry.max_us.max(wait.max_us);
        entry.signal_us += wait.signal_us;
    }
    sums.into_values().collect()
}

fn totals(rows: &[WaitCounters]) -> Vec<WaitTotal> {
    let total = |row: &WaitCounters| {
        let (category, benign) = kind_of(&row.name);
        WaitTotal {
            wait_type: row.name.clone(),
            category,
            benign,
            count: row.count,
            total_us: row.total_us,
            max_us: row.max_us,
            signal_us: row.signal_us,
        }
    };
    let mut totals: Vec<WaitTotal> = rows.iter().map(total).collect();
    totals.sort_by(|a, b| {
        b.total_us
            .cmp(&a.total_us)
            .then(a.wait_type.cmp(&b.wait_type))
    });
    totals
}

fn files(before: &Counters, after: &Counters, volumes: &[PathBuf]) -> Vec<FileIo> {
    let one = |later: &FileCounters| {
        let earlier = before.files.iter().find(|f| f.file_id == later.file_id);
        let of =
            |part: fn(&FileCounters) -> u64| part(later).saturating_sub(earlier.map_or(0, part));
        FileIo {
            path: later.path.clone(),
            file_id: later.file_id,
            role: match (later.is_log, later.path.is_empty()) {
                (true, _) => FileRole::Log,
                (_, true) => FileRole::Other,
                _ => FileRole::Data,
            },
            volume: volume_of(Path::new(&later.path), volumes),
            reads: of(|f| f.reads),
            bytes_read: of(|f| f.bytes_read),
            read_stall_us: of(|f| f.read_stall_us),
            writes: of(|f| f.writes),
            bytes_written: of(|f| f.bytes_written),
            write_stall_us: of(|f| f.write_stall_us),
            checkpoint_bytes: 0,
            size_bytes: later.size_bytes,
        }
    };
    after.files.iter().map(one).collect()
}

/// The series of a run: a rate for each interval between two looks.
fn series(looks: &[Look], unit: &str, page_bytes: f64) -> Vec<Series> {
    let last_s = looks.last().map_or(0.0, |look| look.at_s);
    let interval_s = if last_s > SHORT_RUN_S {
        1.0
    } else {
        TICK.as_secs_f64()
    };
    let steps = (last_s / interval_s).ceil().clamp(1.0, 100_000.0) as usize;
    let build = |name: &str, unit: &str, value: &dyn Fn(&Look) -> f64| {
        // The value at the end of each interval, between the looks around it on a straight line.
        let at = |seconds: f64| {
            let next = looks.iter().position(|look| look.at_s >= seconds);
            match next {
                None => looks.last().map_or(0.0, value),
                Some(0) => looks.first().map_or(0.0, value),
                Some(n) => {
                    let (a, b) = (&looks[n - 1], &looks[n]);
                    let part = (seconds - a.at_s) / (b.at_s - a.at_s).max(1e-9);
                    value(a) + part * (value(b) - value(a))
                }
            }
        };
        let edge = |step: usize| (step as f64 * interval_s).min(last_s);
        let values = (0..steps).map(|step| {
            let span = (edge(step + 1) - edge(step)).max(1e-9);
            ((at(edge(step + 1)) - at(edge(step))) / span).max(0.0)
        });
        Series {
            name: name.to_string(),
            unit: unit.to_string(),
            interval_s,
            values: values.collect(),
        }
    };
    let mb = |pages: u64| pages as f64 * page_bytes / f64::from(1 << 20);
    vec![
        build(unit, &format!("{unit}/s"), &|look| look.units as f64),
        build("checkpoint", "MB/s", &|look| mb(look.checkpoint_pages)),
        build("lazy writer", "MB/s", &|look| mb(look.lazy_pages)),
    ]
}

/// Checkpoints and growth, at the look that saw them. A checkpoint is over at the first look at which its
/// pages have stopped to rise.
fn events(looks: &[Look]) -> Vec<Event> {
    let mut events = Vec::new();
    let mut written = 0;
    for pair in looks.windows(2) {
        let [before, after] = pair else { continue };
        let pages = after
            .checkpoint_pages
            .saturating_sub(before.checkpoint_pages);
        written += pages;
        if pages == 0 && written > 0 {
            events.push(Event {
                at_s: after.at_s,
                kind: "checkpoint".to_string(),
                text: format!("{written} pages"),
            });
            written = 0;
        }
        for (place, (old, new)) in before.sizes.iter().zip(&after.sizes).enumerate() {
            if old < new {
                events.push(Event {
                    at_s: after.at_s,
                    kind: "growth".to_string(),
                    text: format!("file {} grew to {new} bytes", place + 1),
                });
            }
        }
    }
    events
}

/// The waits of sessions that were free to work and had no thread: those of a server's connections for a
/// worker.
fn waits_for_threads(queued: Queued) -> Vec<WaitCounters> {
    let waits = WaitCounters {
        name: WaitType::ThreadPool.name().to_owned(),
        count: queued.count,
        total_us: queued.total_us,
        max_us: queued.max_us,
        signal_us: 0,
    };
    (queued.count > 0).then_some(waits).into_iter().collect()
}

/// Fills a run's figures, the response apart. `piece` is the word for what a latency is of: `commit`.
pub fn fill(run: &mut Run, worked: &Worked, unit: &str, piece: &str, volumes: &[PathBuf]) {
    run.seconds = Some(worked.seconds);
    run.workers = u32::try_from(worked.waits.len()).unwrap_or(u32::MAX);
    run.cpu_s = Some(worked.cpu_s);
    run.cpu_other_s = worked.cpu_other_s;
    run.paused_us = Some(worked.paused_us);
    run.queued_us = (!worked.is_closed).then_some(worked.queued.total_us);
    run.latency = vec![latency_of(piece, &worked.latency, worked.is_closed)];
    let of_sessions = worked.waits.iter();
    let of_sessions: Vec<_> = of_sessions.map(|(old, new)| delta(old, new)).collect();
    let sessions = sum(&of_sessions);
    let mut waits = vec![sessions.clone()];
    waits.extend(worked.is_closed.then(|| waits_for_threads(worked.queued)));
    run.waits = totals(&sum(&waits));
    run.series = series(&worked.looks, unit, 8192.0);
    run.events = events(&worked.looks);
    let (before, after) = (&worked.counters.0, &worked.counters.1);
    run.background_waits = totals(&delta(&sessions, &delta(&before.waits, &after.waits)));
    let latches = after.latches.iter().map(|later| {
        let earlier = before.latches.iter().find(|l| l.name == later.name);
        let total_us = later.total_us - earlier.map_or(0, |l| l.total_us.min(later.total_us));
        LatchTotal {
            class: later.name.clone(),
            waits: later.waits - earlier.map_or(0, |l| l.waits.min(later.waits)),
            total_us,
            max_us: later.max_us.min(total_us),
        }
    });
    run.latches = latches.filter(|latch| latch.waits > 0).collect();
    let spins = after.spinlocks.iter().map(|later| {
        let earlier = before.spinlocks.iter().find(|s| s.name == later.name);
        let of = |part: fn(&crate::targets::SpinCounters) -> u64| {
            part(later).saturating_sub(earlier.map_or(0, part))
        };
        SpinTotal {
            class: later.name.clone(),
            collisions: of(|s| s.collisions),
            spins: of(|s| s.spins),
            backoffs: of(|s| s.backoffs),
            sleep_us: of(|s| s.sleep_us),
        }
    });
    run.spinlocks = spins
        .filter(|spin| spin.collisions > 0 || spin.class == ALWAYS_SHOWN)
        .collect();
    run.files = files(before, after, volumes);
    if run.workers > 1 {
        run.notes.push(format!(
            "when the first session had done its share, the slowest had done {} {unit} of {}",
            worked.spread.0, worked.spread.1
        ));
    }
}

/// What an insert load adds: rows, commits, the elapsed time as the response.
pub(crate) fn fill_inserts(run: &mut Run, worked: &Worked, volumes: &[PathBuf]) {
    fill(run, worked, "rows", "commit", volumes);
    run.response = Some(worked.seconds);
    run.rows = Some(worked.units);
    run.rows_per_s = Some(worked.units as f64 / worked.seconds);
    run.commits_per_s = Some(worked.pieces as f64 / worked.seconds);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(at_s: f64, units: u64, checkpoint_pages: u64) -> Look {
        Look {
            at_s,
            units,
            checkpoint_pages,
            ..Look::default()
        }
    }

    #[test]
    fn a_series_keeps_the_sum_whatever_the_looks_missed() {
        let looks = [
            look(0.0, 0, 0),
            look(0.13, 130, 0),
            look(0.2, 200, 40),
            look(0.3, 300, 60),
            look(0.45, 450, 60),
        ];
        let series = series(&looks, "rows", 8192.0);
        let rows = &series[0];
        assert_eq!((rows.interval_s, rows.values.len()), (0.1, 5));
        assert!(
            rows.values.iter().all(|rate| (rate - 1000.0).abs() < 1e-6),
            "{rows:?}"
        );
        let events = events(&looks);
        assert_eq!(events.len(), 1);
        assert_eq!(
            (events[0].at_s, events[0].text.as_str()),
            (0.45, "60 pages")
        );
    }

    #[test]
    fn a_long_run_has_a_value_a_second() {
        let looks: Vec<Look> = (0..=300)
            .map(|n| look(f64::from(n) / 10.0, n as u64 * 7, 0))
            .collect();
        let rows = &series(&looks, "rows", 8192.0)[0];
        assert_eq!((rows.interval_s, rows.values.len()), (1.0, 30));
        assert!(rows.values.iter().all(|rate| (rate - 70.0).abs() < 1e-6));
    }

    #[test]
    fn background_is_what_the_sessions_did_not_wait() {
        let wait = |name: &str, count, total_us| WaitCounters {
            name: name.to_owned(),
            count,
            total_us,
            max_us: total_us,
            signal_us: 0,
        };
        let mine = sum(&[
            delta(&[wait("WRITELOG", 1, 50)], &[wait("WRITELOG", 5, 350)]),
            vec![wait("WRITELOG", 1, 100)],
        ]);
        assert_eq!((mine[0].count, mine[0].total_us), (5, 400));
        let rest = totals(&delta(&mine, &[wait("WRITELOG", 10, 1000)]));
        assert_eq!((rest.len(), rest[0].count, rest[0].total_us), (1, 5, 600));
        assert_eq!(rest[0].category, "Tran Log IO");
        assert_eq!(
            kind_of("A_WAIT_OF_ANOTHER_ENGINE").0,
            "A_WAIT_OF_ANOTHER_ENGINE"
        );
    }
}
