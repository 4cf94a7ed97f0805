//! A drive with its queue.

use super::Scheduler;
use crate::device::{Device, Operation};
use std::collections::VecDeque;

/// An operation that has waited this long is served before all others. With shorter limits, a deep queue
/// falls back to the order of arrival, which is slower, so that more operations reach the limit.
const STARVED_NS: u64 = 2_000_000_000;

#[derive(Debug, Clone, Copy)]
struct Waiting {
    operation: Operation,
    owner: u32,
    since: u64,
    sequence: u64,
}

/// A drive, the number of operations in service, and the waiting operations.
#[derive(Debug, Clone)]
pub(super) struct Station {
    device: Device,
    /// Operations that the scheduler chooses from.
    window: Vec<Waiting>,
    window_size: usize,
    /// Operations behind the window, oldest first.
    backlog: VecDeque<Waiting>,
    in_service: usize,
    slots: usize,
    pushed: u64,
    busy_ns: u64,
}

impl Station {
    pub(super) fn new(device: Device, scheduler: Scheduler) -> Station {
        let window_size = match scheduler {
            Scheduler::Sstf { window } if device.has_arm() => window.max(1) as usize,
            // For the order of arrival, the window has only the oldest operation.
            _ => 1,
        };
        Station {
            slots: device.slots(),
            device,
            window: Vec::with_capacity(window_size),
            window_size,
            backlog: VecDeque::new(),
            in_service: 0,
            pushed: 0,
            busy_ns: 0,
        }
    }

    /// Operations in service and waiting.
    pub(super) fn length(&self) -> usize {
        self.in_service + self.window.len() + self.backlog.len()
    }

    pub(super) fn distance(&self, offset: u64) -> u64 {
        self.device.distance(offset)
    }

    pub(super) fn busy_ns(&self) -> u64 {
        self.busy_ns
    }

    pub(super) fn push(&mut self, now: u64, owner: u32, operation: Operation) {
        self.pushed += 1;
        let waiting = Waiting {
            operation,
            owner,
            since: now,
            sequence: self.pushed,
        };
        if self.window.len() < self.window_size {
            self.window.push(waiting);
        } else {
            self.backlog.push_back(waiting);
        }
    }

    /// An operation in service is done.
    pub(super) fn finish(&mut self) {
        debug_assert!(self.in_service > 0, "nothing is in service");
        self.in_service -= 1;
    }

    /// Starts the next operation if one waits and the drive can take it. Returns its owner and when it is
    /// done.
    pub(super) fn start(&mut self, now: u64) -> Option<(u32, u64)> {
        if self.in_service >= self.slots || self.window.is_empty() {
            return None;
        }
        let chosen = self.choose(now);
        let waiting = self.window.swap_remove(chosen);
        if let Some(next) = self.backlog.pop_front() {
            self.window.push(next);
        }
        let done = self.device.start(now, waiting.operation);
        self.in_service += 1;
        self.busy_ns += done - now;
        Some((waiting.owner, done))
    }

    fn choose(&self, now: u64) -> usize {
        let (mut oldest, mut nearest) = (0, 0);
        let mut least = (u64::MAX, u64::MAX);
        for (at, waiting) in self.window.iter().enumerate() {
            let rank = (
                self.device.distance(waiting.operation.offset),
                waiting.sequence,
            );
            if rank < least {
                (least, nearest) = (rank, at);
            }
            if waiting.sequence < self.window[oldest].sequence {
                oldest = at;
            }
        }
        if now.saturating_sub(self.window[oldest].since) > STARVED_NS {
            oldest
        } else {
            nearest
        }
    }
}
