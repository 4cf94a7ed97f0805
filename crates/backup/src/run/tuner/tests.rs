//! The tuner beside a model of a machine, microsecond by microsecond.

use super::*;

const MB: f64 = 1_048_576.0;

/// A machine: a reader, buffers behind it that a writer empties, and a log.
struct Machine {
    tuner: Tuner,
    now_us: f64,
    /// MB/s of the reader and of what empties the buffers.
    read_mb: f64,
    write_mb: f64,
    /// What a read takes besides its bytes, in microseconds.
    latency_us: f64,
    buffered: f64,
    written: f64,
    count: f64,
    stall_us: f64,
    log_is_short: bool,
}

const BUFFERS: f64 = 9.0 * MB;

impl Machine {
    fn new(read_mb: f64, write_mb: f64) -> Machine {
        Machine {
            tuner: Tuner::new((0, 0)),
            now_us: 0.0,
            read_mb,
            write_mb,
            latency_us: 0.0,
            buffered: 0.0,
            written: 0.0,
            count: 0.0,
            stall_us: 0.0,
            log_is_short: false,
        }
    }

    fn ask(&mut self, bytes: f64) -> Answer {
        let seen = Seen {
            now_us: self.now_us as u64,
            writes: (self.count as u64, self.stall_us as u64),
            flow: Flow {
                written_bytes: self.written as u64,
                is_empty: self.buffered < 1.0,
            },
        };
        let log_is_short = self.log_is_short;
        self.tuner.ask(bytes as usize, &seen, || log_is_short)
    }

    /// Runs for so many seconds, log writes taking what `log_us` says for an idle or a busy machine; MB/s
    /// that left the buffers, and the share of the log writes of an idle machine that there were.
    fn run(&mut self, seconds: f64, log_us: Option<(f64, f64)>) -> (f64, f64) {
        let end = self.now_us + seconds * 1e6;
        let (written, count) = (self.written, self.count);
        let mut chunk = MB;
        while self.now_us < end {
            let full = self.buffered >= BUFFERS;
            let answer = match full {
                true => Answer::AskAt(self.now_us as u64 + 100),
                false => self.ask(chunk),
            };
            let (read, step) = match answer {
                Answer::Read(read) => {
                    let read = read as f64;
                    (read, self.latency_us + read / MB / self.read_mb * 1e6)
                }
                Answer::AskAt(at) => (0.0, (at as f64 - self.now_us).clamp(1.0, 1000.0)),
            };
            // A chunk goes on when it is whole.
            chunk -= read;
            if chunk < 1.0 {
                (chunk, self.buffered) = (MB, self.buffered + MB);
            }
            let left = self.buffered.min(step * self.write_mb * MB / 1e6);
            let busy = read > 0.0 || self.buffered > 0.0;
            self.buffered -= left;
            self.written += left;
            if let Some((idle_us, busy_us)) = log_us {
                let took = if busy { busy_us } else { idle_us };
                self.count += step / took;
                self.stall_us += step;
            }
            self.now_us += step;
        }
        let rate = (self.written - written) / MB / seconds;
        let all = log_us.map_or(1.0, |(idle_us, _)| seconds * 1e6 / idle_us);
        (rate, (self.count - count) / all)
    }
}

#[test]
fn a_backup_without_writers_is_not_paced() {
    let (rate, _) = Machine::new(1000.0, 2000.0).run(2.0, None);
    assert!(rate > 980.0, "{rate}");
}

#[test]
fn writers_beside_a_fast_backup_keep_most_of_their_log_writes() {
    let mut machine = Machine::new(1000.0, 2000.0);
    machine.run(2.0, Some((100.0, 1000.0)));
    let (rate, kept) = machine.run(5.0, Some((100.0, 1000.0)));
    assert!(kept > 0.6, "{kept} at {rate} MB/s");
    assert!(rate > 90.0, "{rate}");
}

#[test]
fn writers_beside_a_backup_with_slow_stripes_keep_most_of_their_log_writes() {
    for write_mb in [60.0, 120.0] {
        let mut machine = Machine::new(1000.0, write_mb);
        machine.run(3.0, Some((100.0, 600.0)));
        let (rate, kept) = machine.run(10.0, Some((100.0, 600.0)));
        assert!(kept > 0.6, "{kept} at {rate} MB/s");
        assert!(rate > write_mb * LEAST_SHARE * 0.8, "{rate}");
    }
}

#[test]
fn a_backup_is_fast_again_once_the_writers_have_ended() {
    let mut machine = Machine::new(1000.0, 2000.0);
    let (beside, _) = machine.run(2.0, Some((100.0, 1000.0)));
    let (after, _) = machine.run(4.0, None);
    assert!(beside < 500.0 && after > 900.0, "{beside} {after}");
}

#[test]
fn a_backup_whose_log_runs_short_is_not_paced() {
    let mut machine = Machine::new(1000.0, 2000.0);
    machine.run(2.0, Some((100.0, 1000.0)));
    machine.log_is_short = true;
    let (rate, _) = machine.run(4.0, Some((100.0, 1000.0)));
    assert!(rate > 900.0, "{rate}");
}

#[test]
fn writers_that_need_not_wait_for_the_device_cost_the_backup_only_its_pauses() {
    for latency_us in [0.0, 1000.0] {
        let mut machine = Machine::new(1000.0, 2000.0);
        machine.latency_us = latency_us;
        let (alone, _) = machine.run(2.0, None);
        machine.run(4.0, Some((100.0, 100.0)));
        let (rate, _) = machine.run(10.0, Some((100.0, 100.0)));
        assert!(rate > 0.85 * alone, "{rate} of {alone}");
    }
}
