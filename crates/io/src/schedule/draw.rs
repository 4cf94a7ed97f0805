//! Decides which thread of a schedule runs next.

use crate::random::{Rng, SeededRng, seeded};
use twox_hash::XxHash3_64;

/// Draws the next thread to run.
#[derive(Debug)]
pub(super) struct Draw {
    rng: SeededRng,
    by_priority: bool,
    /// Of each thread; the greatest first.
    priorities: Vec<i64>,
    lowest: i64,
    /// A number that distinguishes schedules.
    pub(super) print: u64,
}

/// In one of so many steps the thread with the first turn falls behind.
const FALLS: u32 = 150;
/// In one of so many steps another thread is drawn.
const CHANGES: u32 = 6;
/// In one of so many steps the clock leaps.
const STALLS: u32 = 4000;
const LONGEST_STALL_NS: u64 = 400_000_000;

impl Draw {
    pub(super) fn new(seed: u64) -> Draw {
        Draw {
            rng: seeded(seed),
            by_priority: seed % 2 == 1,
            priorities: Vec::new(),
            lowest: 0,
            print: seed % 2,
        }
    }

    /// A thread more.
    pub(super) fn add(&mut self) {
        self.priorities.push(self.rng.random_range(0..1 << 20));
    }

    /// Puts a thread behind all others.
    pub(super) fn demote(&mut self, who: usize) {
        self.lowest -= 1;
        self.priorities[who] = self.lowest;
    }

    /// How long the thread at hand stalls: not at all, as a rule.
    pub(super) fn stall_ns(&mut self) -> u64 {
        match self.rng.random_range(0..STALLS) {
            0 => self.rng.random_range(0..LONGEST_STALL_NS),
            _ => 0,
        }
    }

    /// One of so many.
    pub(super) fn one_of(&mut self, count: usize) -> usize {
        self.rng.random_range(0..count.max(1))
    }

    /// One of the threads that can run; `me` has run so far. `stands_back` when it should not go on if
    /// another can.
    pub(super) fn next(&mut self, ready: &[usize], me: usize, stands_back: bool) -> usize {
        let next = if self.by_priority {
            if stands_back || self.rng.random_range(0..FALLS) == 0 {
                self.demote(me);
            }
            let first = ready
                .iter()
                .copied()
                .max_by_key(|&who| self.priorities[who]);
            first.unwrap_or(me)
        } else if !stands_back && ready.contains(&me) && self.rng.random_range(0..CHANGES) > 0 {
            me
        } else {
            let others: Vec<usize> = ready.iter().copied().filter(|&who| who != me).collect();
            let among = if stands_back && !others.is_empty() {
                &others
            } else {
                ready
            };
            among[self.one_of(among.len())]
        };
        if next != me {
            self.print = XxHash3_64::oneshot_with_seed(self.print, &(next as u64).to_le_bytes());
        }
        next
    }
}
