//! Causes that no wait of the engine names: other programs on the machine, one volume that is slower than the
//! others.

use super::budget::{RUNNING, UNDIVIDED, UNSLEPT};
use crate::report::words::{latency, percent};
use crate::results::{Attribution, Confidence, FileRole, Run};
use furrow_stats::mean;
use std::collections::BTreeMap;

/// A share of the machine that differs by less between two levels is no cause.
const SHARE: f64 = 0.1;
/// A volume this many times slower than the fastest one is called slow.
const SLOWER: f64 = 3.0;
/// Writes that are faster than this are not slow, whatever the others take.
const LEAST_US: f64 = 1_000.0;

/// A machine with less of its processors idle is taken for busy: programs may want more than they get.
const IDLE: f64 = 0.05;

/// Least and most processors that other programs asked for during some runs, as parts of the machine.
///
/// While processors are idle, others get all they ask for. On a busy machine they get a share by the number
/// of threads that want to run, and the run's own threads that do not wait want to: others that had the share
/// `s` beside `n` such threads are about `n s / (1 - s)` threads. `n` is at least the processors that the run
/// used. It is known where each session has one thread. Where a statement is divided it is at most the
/// threads that do not wait, and where a run used more processors than it has known threads it has no bound.
fn others_demand(run: &Run, cpus: u32) -> Option<(f64, f64)> {
    let share = run.others_share(cpus)?;
    let (seconds, cpus) = (run.seconds?, f64::from(cpus.max(1)));
    let used = run.cpu_s.unwrap_or(0.0) / seconds;
    if 1.0 - share - used / cpus > IDLE {
        return Some((share, share));
    }
    let threads = f64::from(run.threads.unwrap_or(run.workers));
    let asleep_us = run.paused().map_or(0, |(_, us)| us)
        + run
            .waits
            .iter()
            .filter(|wait| !wait.benign)
            .map(|wait| wait.total_us)
            .sum::<u64>();
    let awake = (threads - asleep_us as f64 / 1e6 / seconds).max(used);
    let least = if threads > f64::from(run.workers) {
        used
    } else {
        awake
    };
    let most = if used > threads { f64::INFINITY } else { awake };
    let asked = |awake: f64| share.max(awake * share / (1.0 - share).max(IDLE) / cpus);
    Some((asked(least), asked(most)))
}

fn mean_share(runs: &[&Run], cpus: u32) -> Option<f64> {
    let each: Vec<f64> = runs
        .iter()
        .filter_map(|run| run.others_share(cpus))
        .collect();
    (!each.is_empty()).then(|| mean(&each))
}

fn mean_demand(runs: &[&Run], cpus: u32) -> Option<(f64, f64)> {
    let each: Vec<(f64, f64)> = runs
        .iter()
        .filter_map(|run| others_demand(run, cpus))
        .collect();
    let of = |pick: fn(&(f64, f64)) -> f64| mean(&each.iter().map(pick).collect::<Vec<_>>());
    (!each.is_empty()).then(|| (of(|asked| asked.0), of(|asked| asked.1)))
}

/// What other programs had of the machine at two levels of which the slower one had less of it to itself.
struct Neighbours {
    before: f64,
    after: f64,
    /// Least and most by which they asked for more beside the slower level, as parts of the machine.
    least: f64,
    most: f64,
}

impl Neighbours {
    /// `None` where they had no more beside the slower level.
    fn of((base, level): &(Vec<&Run>, Vec<&Run>), change: f64, cpus: u32) -> Option<Neighbours> {
        let (before, after) = (mean_share(base, cpus)?, mean_share(level, cpus)?);
        let (asked, asks) = (mean_demand(base, cpus)?, mean_demand(level, cpus)?);
        let (slower, faster) = if change > 0.0 {
            (asks, asked)
        } else {
            (asked, asks)
        };
        let more = (after - before) * change.signum();
        (more >= SHARE).then_some(Neighbours {
            before,
            after,
            least: slower.0 - faster.1,
            most: slower.1 - faster.0,
        })
    }

    fn shares(&self, names: (&str, &str)) -> String {
        format!(
            "other programs had {} of the processors at {}, {} at {}",
            percent(self.before),
            names.0,
            percent(self.after),
            names.1
        )
    }
}

/// What is held against a measured limit where others had more of the machine beside the slower level.
pub(super) fn shares_beside(
    runs: &(Vec<&Run>, Vec<&Run>),
    change: f64,
    cpus: u32,
    names: (&str, &str),
) -> Option<String> {
    Some(Neighbours::of(runs, change, cpus)?.shares(names))
}

/// What is held against any cause where others may have asked for more beside the slower level, and it is not
/// certain that they did.
pub(super) fn possible_neighbour(
    runs: &(Vec<&Run>, Vec<&Run>),
    change: f64,
    cpus: u32,
    names: (&str, &str),
) -> Option<String> {
    let others = Neighbours::of(runs, change, cpus)?;
    let is_open = others.least < SHARE && others.most >= SHARE;
    is_open.then(|| {
        format!(
            "{}; it is not known whether they asked for more or took what was left idle",
            others.shares(names)
        )
    })
}

/// The cause where the slower level had less of the machine to itself, because others asked for more of it.
/// Others that merely took what the slower level left idle are no cause.
pub(super) fn busy_neighbour(
    runs: &(Vec<&Run>, Vec<&Run>),
    change: f64,
    cpus: u32,
    names: (&str, &str),
) -> Option<Attribution> {
    let others = Neighbours::of(runs, change, cpus)?;
    // A cause is named only where others surely asked for more.
    if others.least < SHARE {
        return None;
    }
    let slow_name = if change > 0.0 { names.1 } else { names.0 };
    Some(Attribution {
        resource: "other programs on the machine".to_string(),
        confidence: Confidence::Likely,
        // A part of the processors is no part of the change in time.
        share: None,
        summary: format!(
            "Other programs asked for more of the processors beside {slow_name}; how much of the change in \
             time comes from that was not measured."
        ),
        evidence_for: vec![others.shares(names)],
        evidence_against: vec![
            "what the factor itself does cannot be separated from it: run again on a quiet machine"
                .to_string(),
        ],
        ..Attribution::default()
    })
}

/// Mean time of a write by volume, of the data files or of the log.
fn write_us(runs: &[&Run], role: FileRole) -> BTreeMap<String, f64> {
    let mut sums: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    let files = runs.iter().flat_map(|run| &run.files);
    for file in files.filter(|file| file.role == role && !file.volume.is_empty()) {
        let entry = sums.entry(file.volume.clone()).or_default();
        entry.0 += file.write_stall_us;
        entry.1 += file.writes;
    }
    let written = sums.into_iter().filter(|(_, (_, writes))| *writes > 0);
    written
        .map(|(volume, (stall, writes))| (volume, stall as f64 / writes as f64))
        .collect()
}

/// The volume whose writes take several times as long as those to the fastest one, of the files of one role:
/// a batch of pages and a block of the log take different times on equal drives.
struct SlowVolume {
    volume: String,
    us: f64,
    fastest_us: f64,
}

fn slow_volume(runs: &[&Run], role: FileRole) -> Option<SlowVolume> {
    let all = write_us(runs, role);
    let fastest_us = all.values().copied().fold(f64::INFINITY, f64::min);
    let (volume, us) = all.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    (us > LEAST_US && us >= SLOWER * fastest_us).then_some(SlowVolume {
        volume,
        us,
        fastest_us,
    })
}

/// How a cause depends on a slow volume.
enum Tie {
    /// The waits are for files of this role.
    Waits(FileRole),
    /// Nothing but that the volume was slow beside the slower level alone.
    Change,
    /// Not at all: sessions did not wait.
    None,
}

impl Tie {
    fn of(category: &str) -> Tie {
        match category {
            "Tran Log IO" => Tie::Waits(FileRole::Log),
            "Buffer IO" | crate::results::LOG_FULL => Tie::Waits(FileRole::Data),
            RUNNING | UNDIVIDED | UNSLEPT | crate::results::THINKING => Tie::None,
            _ => Tie::Change,
        }
    }
}

/// Names the volume whose writes take several times as long as those of the others, where it can have made
/// the difference: the waits of the category are for its files, or it was not as slow beside the faster
/// level.
pub(super) fn name_slow_volume(
    found: &mut Attribution,
    category: &str,
    slower: &[&Run],
    faster: &[&Run],
) {
    let tie = Tie::of(category);
    let slow = match tie {
        Tie::Waits(role) => slow_volume(slower, role),
        Tie::Change => slow_volume(slower, FileRole::Data),
        Tie::None => None,
    };
    let Some(slow) = slow else { return };
    let at_faster = write_us(faster, FileRole::Data).get(&slow.volume).copied();
    let is_new = at_faster.is_none_or(|us| SLOWER * us <= slow.us);
    if matches!(tie, Tie::Change) && !is_new {
        return;
    }
    found.evidence_for.push(format!(
        "writes to {} take {}, to the fastest volume {}",
        slow.volume,
        latency(slow.us),
        latency(slow.fastest_us)
    ));
    if found.resource.is_empty() {
        found.resource = format!("the volume {}", slow.volume);
        found.confidence = Confidence::Likely;
        // The share is that of a category which explains nothing.
        found.share = None;
        let beside = match at_faster {
            Some(_) => "It was not as slow beside the faster level.",
            None => "No data file on it was written at the faster level.",
        };
        found.summary = format!(
            "{beside} No category of waits explains the change, so how much of it comes from the volume is \
             not known."
        );
    } else {
        found.resource = format!("{}: the volume {} is slow", found.resource, slow.volume);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::FileIo;

    fn run(seconds: f64, other: f64) -> Run {
        Run {
            seconds: Some(seconds),
            cpu_other_s: Some(other),
            ..Run::default()
        }
    }

    #[test]
    fn a_busy_neighbour_beside_the_slower_level_is_the_cause() {
        let (quiet, busy) = (run(10.0, 0.4), run(16.0, 15.0));
        let runs = (vec![&quiet], vec![&busy]);
        let found = busy_neighbour(&runs, 6.0, 2, ("1", "4")).unwrap();
        assert_eq!(found.resource, "other programs on the machine");
        assert!(found.evidence_for[0].contains("46.9%"), "{found:?}");
        // The level with more other load was faster, so the other load cannot be the cause.
        assert!(busy_neighbour(&runs, -6.0, 2, ("1", "4")).is_none());
        let alike = (vec![&busy], vec![&busy]);
        assert!(busy_neighbour(&alike, 6.0, 2, ("1", "4")).is_none());
    }

    #[test]
    fn others_that_take_what_a_waiting_level_leaves_idle_are_no_cause() {
        let wait = |wait_type: &str, seconds: u64| crate::results::WaitTotal {
            wait_type: wait_type.to_owned(),
            total_us: seconds * 1_000_000,
            ..Default::default()
        };
        // Two threads of others always want to run. 64 sessions that do not wait leave them little; the same
        // sessions in waits for the log leave them nearly the whole machine.
        let awake = Run {
            cpu_s: Some(17.0),
            workers: 64,
            waits: vec![wait("PAGELATCH_EX", 100)],
            ..run(10.0, 2.9)
        };
        let waiting = Run {
            cpu_s: Some(2.0),
            workers: 64,
            waits: vec![wait("WRITELOG", 637)],
            ..run(10.0, 17.8)
        };
        let runs = (vec![&awake], vec![&waiting]);
        assert!(busy_neighbour(&runs, 5.0, 2, ("a", "b")).is_none());
        // They certainly asked for no more, so that is no evidence against another cause.
        assert_eq!(possible_neighbour(&runs, 5.0, 2, ("a", "b")), None);
        // A program that begins beside sessions that never wait is one, though it gets only a part.
        let beside = Run {
            cpu_s: Some(17.0),
            ..awake.clone()
        };
        let alone = Run {
            cpu_other_s: Some(0.1),
            cpu_s: Some(19.8),
            ..awake.clone()
        };
        let runs = (vec![&alone], vec![&beside]);
        assert!(busy_neighbour(&runs, 5.0, 2, ("a", "b")).is_some());
    }

    #[test]
    fn others_beside_more_threads_of_a_statement_are_no_cause() {
        // Two processors and two threads of others that always want to run, as they did at both degrees. One
        // session runs the statement; its threads take what they get.
        let check = |cpu: f64, other: f64| Run {
            cpu_s: Some(cpu),
            workers: 1,
            ..run(10.0, other)
        };
        let (one, eight) = (check(6.7, 13.3), check(16.0, 4.0));
        let runs = (vec![&one], vec![&eight]);
        assert!(busy_neighbour(&runs, -3.0, 2, ("1", "8")).is_none());
        // With the degrees known it is the same.
        let known = |run: &Run, threads| Run {
            threads: Some(threads),
            ..run.clone()
        };
        let (one, eight) = (known(&one, 1), known(&eight, 8));
        let runs = (vec![&one], vec![&eight]);
        assert!(busy_neighbour(&runs, -3.0, 2, ("1", "8")).is_none());
        // A program that ran beside the slower degree alone is one.
        let quiet = known(&check(10.0, 0.2), 1);
        let beside = known(&check(5.0, 15.0), 8);
        let runs = (vec![&quiet], vec![&beside]);
        let found = busy_neighbour(&runs, 5.0, 2, ("1", "8")).unwrap();
        assert!(
            found.share.is_none() && found.summary.contains("beside 8"),
            "{found:?}"
        );
    }

    #[test]
    fn a_neighbour_of_a_statement_whose_threads_are_not_known_is_reported_and_not_named() {
        let run = |cpu: f64, other: f64, threads: Option<u32>| Run {
            cpu_s: Some(cpu),
            workers: 1,
            threads,
            ..run(10.0, other)
        };
        let found = |threads| {
            let (base, level) = (run(19.5, 0.1, threads), run(5.0, 14.9, threads));
            let runs = (vec![&base], vec![&level]);
            (
                busy_neighbour(&runs, 5.0, 2, ("1", "4")),
                possible_neighbour(&runs, 5.0, 2, ("1", "4")),
            )
        };
        let (named, possible) = found(Some(2));
        assert!(named.is_some() && possible.is_none(), "{possible:?}");
        let (named, possible) = found(None);
        assert!(named.is_none(), "{named:?}");
        let possible = possible.unwrap();
        let shares = "other programs had 0.5% of the processors at 1, 74.5% at 4; ";
        assert!(possible.starts_with(shares), "{possible}");
    }

    #[test]
    fn others_beside_sessions_that_think_are_no_cause() {
        // Two threads of others always want to run; sixteen sessions of which nearly all think.
        let paced = |cpu: f64, other: f64, paused_s: u64| Run {
            cpu_s: Some(cpu),
            workers: 16,
            paused_us: Some(paused_s * 1_000_000),
            ..run(10.0, other)
        };
        let (awake, thinking) = (paced(17.6, 2.3, 0), paced(6.6, 13.3, 150));
        let runs = (vec![&awake], vec![&thinking]);
        assert!(busy_neighbour(&runs, 5.0, 2, ("a", "b")).is_none());
    }

    /// A file with 100 writes that took so many milliseconds each.
    fn file(role: FileRole, volume: &str, each_ms: f64) -> FileIo {
        FileIo {
            role,
            volume: volume.to_owned(),
            writes: 100,
            write_stall_us: (each_ms * 100_000.0) as u64,
            ..FileIo::default()
        }
    }

    fn with_files(files: &[FileIo]) -> Run {
        Run {
            files: files.to_vec(),
            ..Run::default()
        }
    }

    fn cause(resource: &str) -> Attribution {
        Attribution {
            resource: resource.to_owned(),
            confidence: Confidence::Likely,
            share: Some(0.8),
            ..Attribution::default()
        }
    }

    #[test]
    fn the_slow_volume_of_two_is_named() {
        let data = |volume, each_ms| file(FileRole::Data, volume, each_ms);
        let run = with_files(&[data("/fast", 2.0), data("/slow", 90.0)]);
        // The waits are for these files, so the volume is named though it was as slow at the other level.
        let mut found = cause(crate::results::LOG_FULL);
        name_slow_volume(&mut found, crate::results::LOG_FULL, &[&run], &[&run]);
        assert!(found.resource.contains("/slow is slow"), "{found:?}");
        assert!(found.evidence_for[0].contains("90.0 ms"), "{found:?}");
        let alike = with_files(&[data("/a", 2.0), data("/b", 3.0)]);
        let mut none = Attribution::default();
        name_slow_volume(&mut none, "", &[&alike], &[&run]);
        assert_eq!(none, Attribution::default());
    }

    #[test]
    fn a_slow_volume_that_nothing_ties_to_the_change_is_not_named() {
        let data = |volume, each_ms| file(FileRole::Data, volume, each_ms);
        // Equal drives: a batch of pages takes longer than a block of the log.
        let equal = with_files(&[data("/data", 4.0), file(FileRole::Log, "/log", 0.8)]);
        let slow = with_files(&[data("/fast", 2.0), data("/slow", 90.0)]);
        let one = with_files(&[data("/fast", 2.0)]);
        for (category, slower, faster) in [
            ("Buffer Latch", &equal, &equal),
            ("Buffer IO", &equal, &equal),
            ("Tran Log IO", &equal, &equal),
            // The log is elsewhere.
            ("Tran Log IO", &slow, &one),
            // As slow at both levels, and no wait for files.
            ("Buffer Latch", &slow, &slow),
            ("", &slow, &slow),
            (RUNNING, &slow, &one),
        ] {
            let mut found = cause(category);
            name_slow_volume(&mut found, category, &[slower], &[faster]);
            assert_eq!(found, cause(category));
        }
    }

    #[test]
    fn a_volume_that_was_slow_beside_the_slower_level_alone_is_named_without_a_share() {
        let data = |volume, each_ms| file(FileRole::Data, volume, each_ms);
        let slow = with_files(&[data("/fast", 2.0), data("/slow", 90.0)]);
        let fast = with_files(&[data("/fast", 2.0)]);
        let mut found = Attribution {
            share: Some(0.3),
            ..Attribution::default()
        };
        name_slow_volume(&mut found, "", &[&slow], &[&fast]);
        assert_eq!(found.resource, "the volume /slow");
        assert!(found.share.is_none(), "{found:?}");
        // A category may carry the change and still explain nothing, so none is said to carry too little.
        let rest = "No category of waits explains the change, so how much of it comes from the volume is not \
                    known.";
        let unused = format!("No data file on it was written at the faster level. {rest}");
        assert_eq!(found.summary, unused);
        // In use at both levels.
        let both = with_files(&[data("/fast", 2.0), data("/slow", 5.0)]);
        let mut found = Attribution::default();
        name_slow_volume(&mut found, "", &[&slow], &[&both]);
        let slower = format!("It was not as slow beside the faster level. {rest}");
        assert_eq!(found.summary, slower);
        // Two volumes for the log.
        let log = |volume, each_ms| file(FileRole::Log, volume, each_ms);
        let logs = with_files(&[log("/fast", 2.0), log("/slow", 90.0)]);
        let mut found = cause("Tran Log IO");
        name_slow_volume(&mut found, "Tran Log IO", &[&logs], &[&fast]);
        assert_eq!(found.resource, "Tran Log IO: the volume /slow is slow");
    }
}
