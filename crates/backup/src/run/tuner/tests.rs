//! The tuner beside a model of a machine, event by event.

use super::*;
use furrow_format::PAGE_SIZE;
use furrow_io::random::{Rng, SeededRng, seeded, test_seed};

/// Commits in a log write of the model.
const GROUP: f64 = 16.0;
const BUFFERS: f64 = 9.0 * MIB;

/// How long a log write takes alone and beside the backup, in microseconds.
#[derive(Clone, Copy)]
struct Log {
    alone_us: f64,
    beside_us: f64,
    /// From the end of a write to the next.
    think_us: f64,
}

/// A machine: a reader, buffers behind it that a writer of stripes empties, and a log.
struct Machine {
    tuner: Tuner,
    random: SeededRng,
    now_us: f64,
    /// MB/s of the reader and of what empties the buffers.
    read: f64,
    write: f64,
    /// What a read takes besides its bytes, in microseconds.
    latency_us: f64,
    /// Bytes of a chunk.
    chunk: f64,
    rest: f64,
    buffered: f64,
    written: f64,
    /// Log writes, and the microseconds that they took.
    writes: f64,
    write_us: f64,
    /// Whether a log write is under way.
    is_writing: bool,
    log_used: f64,
}

/// What [`Machine::run`] saw.
#[derive(Debug)]
struct Run {
    /// MB/s that left the buffers.
    rate: f64,
    /// The share of the log writes of an idle machine that there were.
    kept: f64,
}

impl Machine {
    fn new(read: f64, write: f64) -> Machine {
        let seed = test_seed();
        println!("seed {seed}");
        Machine {
            tuner: Tuner::new(WriterCounts::default()),
            random: seeded(seed),
            now_us: 0.0,
            read,
            write,
            latency_us: 0.0,
            chunk: MIB,
            rest: MIB,
            buffered: 0.0,
            written: 0.0,
            writes: 0.0,
            write_us: 0.0,
            is_writing: false,
            log_used: 10.0,
        }
    }

    fn grant(&mut self, pending: u64) -> Grant {
        let sample = Sample {
            now_us: self.now_us as u64,
            counts: WriterCounts {
                commits: (self.writes * GROUP) as u64,
                log_writes: self.writes as u64,
                log_write_us: self.write_us as u64,
                pending,
            },
            flow: Flow {
                written_bytes: self.written as u64,
                is_empty: self.buffered < 1.0,
            },
        };
        let grant = self
            .tuner
            .grant(self.rest as usize, &sample, || self.log_used);
        match grant {
            Grant::AskAt(at) => assert!(at <= sample.now_us + MOST_WAIT_US, "a wait until {at}"),
            Grant::Read(bytes) => assert!(bytes > 0 && bytes % PAGE_SIZE == 0, "{bytes} bytes"),
        }
        grant
    }

    /// Runs for so many seconds beside writers, if there are any.
    fn run(&mut self, seconds: f64, log: Option<Log>) -> Run {
        let end = self.now_us + seconds * 1e6;
        self.is_writing &= log.is_some();
        let (written, writes) = (self.written, self.writes);
        while self.now_us < end {
            let full = self.buffered + self.chunk > BUFFERS;
            let grant = match full {
                true => Grant::AskAt(self.now_us as u64 + 100),
                false => self.grant(u64::from(self.is_writing)),
            };
            let (read, step) = match grant {
                Grant::Read(read) => (
                    read as f64,
                    self.latency_us + read as f64 / MIB / self.read * 1e6,
                ),
                Grant::AskAt(at) => (0.0, (at as f64 - self.now_us).clamp(1.0, 1000.0)),
            };
            // A chunk goes on when it is whole.
            self.rest -= read;
            if self.rest < 1.0 {
                (self.rest, self.buffered) = (self.chunk, self.buffered + self.chunk);
            }
            let left = self.buffered.min(step * self.write * MIB / 1e6);
            let busy = read > 0.0 || self.buffered > 0.0;
            self.buffered -= left;
            self.written += left;
            if let Some(log) = log {
                let took = if busy { log.beside_us } else { log.alone_us };
                let took = took * self.random.random_range(0.7..1.3);
                let each = took + log.think_us;
                self.writes += step / each;
                self.write_us += step * took / each;
                self.is_writing = self.writes.fract() * each < took;
            }
            self.now_us += step;
        }
        let all = log.map_or(1.0, |log| seconds * 1e6 / (log.alone_us + log.think_us));
        Run {
            rate: (self.written - written) / MIB / seconds,
            kept: (self.writes - writes) / all,
        }
    }
}

const fn log(alone_us: f64, beside_us: f64) -> Option<Log> {
    Some(Log {
        alone_us,
        beside_us,
        think_us: 0.0,
    })
}

#[test]
fn a_backup_without_writers_is_not_paced() {
    let run = Machine::new(1000.0, 2000.0).run(2.0, None);
    assert!(run.rate > 980.0, "{run:?}");
}

#[test]
fn writers_beside_a_fast_backup_keep_most_of_their_commits_from_its_begin() {
    let run = Machine::new(1000.0, 2000.0).run(1.0, log(100.0, 1000.0));
    assert!(run.kept > 0.7, "{run:?}");
    let mut machine = Machine::new(1000.0, 2000.0);
    let run = machine.run(10.0, log(100.0, 1000.0));
    assert!(run.kept > 0.7, "{run:?}");
    assert!(run.rate > 60.0, "{run:?}");
}

#[test]
fn writers_beside_a_backup_with_slow_stripes_keep_most_of_their_commits() {
    for write in [20.0, 60.0, 120.0] {
        let run = Machine::new(1000.0, write).run(20.0, log(100.0, 600.0));
        assert!(run.kept > 0.65, "{run:?}");
        assert!(run.rate > LEAST_RATE / MIB * 0.5, "{run:?}");
    }
}

/// A slow log: a window has few of its writes.
#[test]
fn writers_with_a_slow_log_keep_most_of_their_commits() {
    for (alone_us, beside_us) in [(15_000.0, 60_000.0), (50_000.0, 300_000.0)] {
        let run = Machine::new(300.0, 400.0).run(30.0, log(alone_us, beside_us));
        assert!(run.kept > 0.65, "{run:?}");
    }
}

/// A disk that needs long for each read, where a rate is not reached by small ones.
#[test]
fn a_backup_from_a_slow_disk_goes_on_beside_writers() {
    for (latency_us, chunk) in [
        (8_000.0, 1.0),
        (40_000.0, 1.0),
        (8_000.0, 0.0625),
        (8_000.0, 4.0),
    ] {
        let mut machine = Machine::new(200.0, 150.0);
        (machine.latency_us, machine.chunk, machine.rest) = (latency_us, chunk * MIB, chunk * MIB);
        let alone = machine.run(2.0, None).rate;
        let beside = machine.run(30.0, log(5_000.0, 20_000.0));
        let least = alone.min(LEAST_RATE / MIB);
        assert!(beside.rate > 0.3 * least, "{beside:?} of {alone}");
        let after = machine.run(3.0, None).rate;
        assert!(after > 0.8 * alone, "{after} of {alone}");
    }
}

#[test]
fn writers_that_come_and_go_keep_most_of_their_commits() {
    let mut machine = Machine::new(1000.0, 2000.0);
    let (mut kept, mut rate) = (0.0, 0.0);
    for _ in 0..20 {
        kept += machine.run(0.2, log(100.0, 1000.0)).kept / 20.0;
        rate += machine.run(0.15, None).rate / 20.0;
    }
    assert!(kept > 0.6, "{kept}, {rate} MB/s without them");
    assert!(rate > 150.0, "{rate} MB/s without them");
}

#[test]
fn a_backup_is_fast_again_once_the_writers_have_ended() {
    let mut machine = Machine::new(1000.0, 2000.0);
    let beside = machine.run(2.0, log(100.0, 1000.0)).rate;
    let after = machine.run(1.0, None).rate;
    assert!(beside < 500.0 && after > 800.0, "{beside} {after}");
}

#[test]
fn a_backup_whose_log_runs_short_is_not_paced_until_there_is_room_again() {
    let mut machine = Machine::new(1000.0, 2000.0);
    machine.run(2.0, log(100.0, 1000.0));
    machine.log_used = 80.0;
    let short = machine.run(4.0, log(100.0, 1000.0)).rate;
    machine.log_used = 70.0;
    let still = machine.run(2.0, log(100.0, 1000.0)).rate;
    machine.log_used = 60.0;
    let wide = machine.run(2.0, log(100.0, 1000.0)).rate;
    assert!(short > 900.0 && still > 900.0, "{short} {still}");
    assert!(wide < 500.0, "{wide}");
}

#[test]
fn writers_that_need_not_wait_for_the_device_cost_the_backup_only_its_pauses() {
    for latency_us in [0.0, 1000.0] {
        let mut machine = Machine::new(1000.0, 2000.0);
        machine.latency_us = latency_us;
        let alone = machine.run(2.0, None).rate;
        machine.run(4.0, log(100.0, 100.0));
        let rate = machine.run(10.0, log(100.0, 100.0)).rate;
        assert!(rate > 0.8 * alone, "{rate} of {alone}");
    }
}

/// Odd numbers of extents were halved to pieces that ended within a page.
#[test]
fn a_piece_is_a_number_of_pages_however_the_log_slows() {
    for (read, latency_us, slower) in [
        (90.0, 10_000.0, 1.3),
        (60.0, 1000.0, 1.5),
        (150.0, 20_000.0, 1.5),
    ] {
        let mut machine = Machine::new(read, 2.0 * read);
        machine.latency_us = latency_us;
        for _ in 0..15 {
            machine.run(2.0, log(1000.0, 1000.0));
            machine.run(2.0, log(1000.0, 1000.0 * slower));
        }
    }
}

#[test]
fn a_backup_is_not_held_to_the_commits_of_a_load_that_has_ended() {
    let mut machine = Machine::new(1000.0, 2000.0);
    machine.run(3.0, log(100.0, 1000.0));
    let few = Log {
        alone_us: 500.0,
        beside_us: 500.0,
        think_us: 8000.0,
    };
    machine.run(10.0, Some(few));
    let run = machine.run(10.0, Some(few));
    assert!(run.rate > 500.0, "{run:?}");
}

/// A window in which no log write ends shows a slow one, not a fast one.
#[test]
fn a_log_write_that_takes_longer_than_a_window_lowers_the_rate() {
    let window = Window {
        elapsed_us: MOST_WINDOW_US,
        commits: 0,
        log_writes: 0,
        log_write_us: 0,
        quiet_us: 0,
    };
    let alone = Alone {
        log_write_us: 10_000.0,
        commits_per_s: 50.0,
    };
    assert!(window.excess(&alone) > 50.0);
}

#[test]
fn writers_who_pause_between_their_commits_are_spared() {
    let pausing = Log {
        alone_us: 1000.0,
        beside_us: 20_000.0,
        think_us: 9000.0,
    };
    let run = Machine::new(1000.0, 2000.0).run(20.0, Some(pausing));
    assert!(run.kept > 0.65, "{run:?}");
}
