//! From counters before and after to the figures of a run.

use super::load::{Look, Worked};
use super::target::Counters;
use crate::experiment::latency_of;
use crate::results::{Event, FileIo, FileRole, LatchTotal, Run, Series, SpinTotal, WaitTotal};
use furrow_observe::files::FileSnapshot;
use furrow_observe::latches::LatchStats;
use furrow_observe::spinlocks::SpinStats;
use furrow_observe::waits::{WaitRow, WaitSnapshot, WaitType};
use std::path::{Path, PathBuf};

/// Runs longer than this get one value a second, shorter ones one a tick.
const SHORT_RUN_S: f64 = 20.0;

/// Sums the waits of several sessions.
fn sum(snapshots: &[WaitSnapshot]) -> Vec<WaitRow> {
    WaitType::ALL
        .iter()
        .map(|&wait_type| {
            let none = WaitRow {
                wait_type,
                count: 0,
                total_us: 0,
                max_us: 0,
                signal_us: 0,
            };
            snapshots
                .iter()
                .map(|s| s.row(wait_type))
                .fold(none, |all, row| WaitRow {
                    wait_type,
                    count: all.count + row.count,
                    total_us: all.total_us + row.total_us,
                    max_us: all.max_us.max(row.max_us),
                    signal_us: all.signal_us + row.signal_us,
                })
        })
        .collect()
}

fn totals(rows: &[WaitRow]) -> Vec<WaitTotal> {
    let mut totals: Vec<WaitTotal> = rows
        .iter()
        .filter(|row| row.count > 0 || row.total_us > 0)
        .map(|row| WaitTotal {
            wait_type: row.wait_type.name().to_string(),
            category: row.wait_type.category().name().to_string(),
            benign: row.wait_type.is_benign(),
            count: row.count,
            total_us: row.total_us,
            max_us: row.max_us,
            signal_us: row.signal_us,
        })
        .collect();
    totals.sort_by(|a, b| {
        b.total_us
            .cmp(&a.total_us)
            .then(a.wait_type.cmp(&b.wait_type))
    });
    totals
}

/// What the instance waited beyond the sessions of the load: background work.
fn background(all: &WaitSnapshot, sessions: &[WaitRow]) -> Vec<WaitTotal> {
    let rows: Vec<WaitRow> = sessions
        .iter()
        .map(|mine| {
            let row = all.row(mine.wait_type);
            let total_us = row.total_us.saturating_sub(mine.total_us);
            WaitRow {
                wait_type: mine.wait_type,
                count: row.count.saturating_sub(mine.count),
                total_us,
                max_us: row.max_us.min(total_us),
                signal_us: row.signal_us.saturating_sub(mine.signal_us),
            }
        })
        .collect();
    totals(&rows)
}

fn files(before: &Counters, after: &Counters, log: &Path, volumes: &[PathBuf]) -> Vec<FileIo> {
    let one = |later: &FileSnapshot| {
        let earlier = before
            .files
            .iter()
            .find(|f| (f.db, f.file) == (later.db, later.file));
        let delta = earlier.map_or_else(|| later.clone(), |e| FileSnapshot::delta(e, later));
        let path = Path::new(&delta.path);
        let of_log = path == log;
        let double_write = path.extension().is_some_and(|e| e == "dw");
        FileIo {
            path: delta.path.clone(),
            file_id: u32::from(delta.file),
            role: match (of_log, double_write) {
                (true, _) => FileRole::Log,
                (_, true) => FileRole::Other,
                _ => FileRole::Data,
            },
            volume: super::target::volume_of(path, volumes),
            reads: delta.reads.count,
            bytes_read: delta.reads.bytes,
            read_stall_us: delta.reads.stall_us,
            writes: delta.writes.count,
            bytes_written: delta.writes.bytes,
            write_stall_us: delta.writes.stall_us,
            checkpoint_bytes: delta.checkpoint_bytes,
            size_bytes: delta.size_bytes,
        }
    };
    after.files.iter().map(one).collect()
}

/// The series of a run: a rate for each interval between two looks.
fn series(looks: &[Look], page_bytes: f64) -> Vec<Series> {
    let last_s = looks.last().map_or(0.0, |look| look.at_s);
    let interval_s = if last_s > SHORT_RUN_S {
        1.0
    } else {
        super::load::TICK.as_secs_f64()
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
        build("rows", "rows/s", &|look| look.rows as f64),
        build("checkpoint", "MB/s", &|look| {
            mb(look.pulse.checkpoint_pages)
        }),
        build("lazy writer", "MB/s", &|look| mb(look.pulse.lazy_pages)),
    ]
}

/// Checkpoints and growth, at the look that saw them.
fn events(looks: &[Look]) -> Vec<Event> {
    let mut events = Vec::new();
    for pair in looks.windows(2) {
        let [before, after] = pair else { continue };
        let (old, new) = (&before.pulse, &after.pulse);
        if new.checkpoints > old.checkpoints {
            let pages = new.checkpoint_pages.saturating_sub(old.checkpoint_pages);
            events.push(Event {
                at_s: after.at_s,
                kind: "checkpoint".to_string(),
                text: format!(
                    "{} ended, {pages} pages since the last look",
                    new.checkpoints - old.checkpoints
                ),
            });
        }
        for (place, (old, new)) in old.sizes.iter().zip(&new.sizes).enumerate() {
            if old < new {
                events.push(Event {
                    at_s: after.at_s,
                    kind: "growth".to_string(),
                    text: format!("data file {} grew to {new} bytes", place + 1),
                });
            }
        }
    }
    events
}

/// Fills a run's figures.
pub(crate) fn fill(run: &mut Run, worked: &Worked, log: &Path, volumes: &[PathBuf]) {
    run.response = Some(worked.seconds);
    run.seconds = Some(worked.seconds);
    run.rows = Some(worked.rows);
    run.rows_per_s = Some(worked.rows as f64 / worked.seconds);
    run.commits_per_s = Some(worked.commits as f64 / worked.seconds);
    run.latency = vec![latency_of("commit", &worked.latency, true)];
    let sessions = sum(&worked.waits);
    run.waits = totals(&sessions);
    run.series = series(&worked.looks, 8192.0);
    run.events = events(&worked.looks);
    let (before, after) = (&worked.counters.0, &worked.counters.1);
    if let (Some(old), Some(new)) = (&before.waits, &after.waits) {
        run.background_waits = background(&WaitSnapshot::delta(old, new), &sessions);
    }
    run.latches = LatchStats::delta(&before.latches, &after.latches)
        .into_iter()
        .filter(|row| row.waiting_requests > 0)
        .map(|row| LatchTotal {
            class: row.class.name().to_string(),
            waits: row.waiting_requests,
            total_us: row.wait_us,
            max_us: row.max_us,
        })
        .collect();
    // The spinlock of proportional fill is told even at zero: that it was not taken is the point.
    run.spinlocks = SpinStats::delta(&before.spinlocks, &after.spinlocks)
        .into_iter()
        .filter(|row| row.collisions > 0 || row.class.name() == "FGCB_PRP_FILL")
        .map(|row| SpinTotal {
            class: row.class.name().to_string(),
            collisions: row.collisions,
            spins: row.spins,
            backoffs: row.backoffs,
            sleep_us: row.sleep_us,
        })
        .collect();
    run.files = files(before, after, log, volumes);
    run.notes.push(format!(
        "when the first session had done its share, the slowest had done {} rows of {}",
        worked.spread.0, worked.spread.1
    ));
}

#[cfg(test)]
mod tests {
    use super::super::target::Pulse;
    use super::*;

    fn look(at_s: f64, rows: u64, checkpoints: u64) -> Look {
        let pulse = Pulse {
            checkpoints,
            checkpoint_pages: 10 * checkpoints,
            ..Pulse::default()
        };
        Look { at_s, rows, pulse }
    }

    #[test]
    fn a_series_keeps_the_sum_whatever_the_looks_missed() {
        let looks = [
            look(0.0, 0, 0),
            look(0.13, 130, 0),
            look(0.2, 200, 1),
            look(0.45, 450, 3),
        ];
        let series = series(&looks, 8192.0);
        let rows = &series[0];
        assert_eq!((rows.interval_s, rows.values.len()), (0.1, 5));
        assert!(
            rows.values.iter().all(|rate| (rate - 1000.0).abs() < 1e-6),
            "{rows:?}"
        );
        let events = events(&looks);
        assert_eq!(events.len(), 2);
        assert_eq!(
            (events[0].at_s, events[0].kind.as_str()),
            (0.2, "checkpoint")
        );
    }

    #[test]
    fn a_long_run_has_a_value_a_second() {
        let looks: Vec<Look> = (0..=300)
            .map(|n| look(f64::from(n) / 10.0, n as u64 * 7, 0))
            .collect();
        let rows = &series(&looks, 8192.0)[0];
        assert_eq!((rows.interval_s, rows.values.len()), (1.0, 30));
        assert!(rows.values.iter().all(|rate| (rate - 70.0).abs() < 1e-6));
    }

    #[test]
    fn background_is_what_the_sessions_did_not_wait() {
        let wait_type = WaitType::ALL[0];
        let row = |count, total_us| WaitRow {
            wait_type,
            count,
            total_us,
            max_us: total_us,
            signal_us: 0,
        };
        let all = WaitSnapshot {
            rows: vec![row(10, 1000)],
        };
        let mine = sum(&[
            WaitSnapshot {
                rows: vec![row(4, 300)],
            },
            WaitSnapshot {
                rows: vec![row(1, 100)],
            },
        ]);
        let rest = background(&all, &mine);
        assert_eq!((rest.len(), rest[0].count, rest[0].total_us), (1, 5, 600));
        let told = totals(&mine);
        assert_eq!(
            (told[0].count, told[0].total_us, told[0].max_us),
            (5, 400, 300)
        );
    }
}
