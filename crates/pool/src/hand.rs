//! The clock hand of replacement, and how long it takes for a turn.
//!
//! A page that is not used again is removed when the hand passes it for the second time, or for the first
//! time if it was loaded without a second chance. So the duration of a turn measures how long an unused page
//! stays in memory: the page life expectancy.

use furrow_io::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use furrow_io::time::Moment;

/// The position of the hand, and when its present turn began.
#[derive(Debug)]
pub(crate) struct Hand {
    steps: AtomicUsize,
    /// When the present turn began, as nanoseconds of [`Moment`].
    turn_began_ns: AtomicU64,
    last_turn_ns: AtomicU64,
}

impl Hand {
    pub(crate) fn new() -> Hand {
        Hand {
            steps: AtomicUsize::new(0),
            turn_began_ns: AtomicU64::new(Moment::now().as_ns()),
            last_turn_ns: AtomicU64::new(0),
        }
    }

    /// The frame under the hand, of `frames`; the hand goes on to the next one.
    pub(crate) fn step(&self, frames: usize) -> usize {
        debug_assert!(frames > 0, "a pool has frames");
        let at = self.steps.fetch_add(1, Ordering::Relaxed) % frames;
        if at == frames - 1 {
            let now = Moment::now();
            let began = self.turn_began_ns.swap(now.as_ns(), Ordering::Relaxed);
            let turn = now.since_ns(Moment::from_ns(began));
            self.last_turn_ns.store(turn, Ordering::Relaxed);
        }
        at
    }

    /// Seconds of the last turn, or of the present one when that is longer already; since the start, as
    /// long as there was no need to turn.
    pub(crate) fn turn_s(&self) -> u64 {
        let began = Moment::from_ns(self.turn_began_ns.load(Ordering::Relaxed));
        let present = Moment::now().since_ns(began);
        present.max(self.last_turn_ns.load(Ordering::Relaxed)) / 1_000_000_000
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hand_goes_round_and_times_whole_turns() {
        let hand = Hand::new();
        // By a coarse clock a turn may take no time; this value shows whether a turn was recorded at all.
        hand.last_turn_ns.store(u64::MAX, Ordering::Relaxed);
        let stops: Vec<usize> = (0..2).map(|_| hand.step(3)).collect();
        assert_eq!(stops, [0, 1]);
        assert_eq!(hand.last_turn_ns.load(Ordering::Relaxed), u64::MAX);
        let stops: Vec<usize> = (0..5).map(|_| hand.step(3)).collect();
        assert_eq!(stops, [2, 0, 1, 2, 0]);
        assert!(hand.last_turn_ns.load(Ordering::Relaxed) < u64::MAX);
    }

    #[test]
    fn a_turn_under_way_counts_only_when_it_is_longer_than_the_last_one() {
        let hand = Hand::new();
        assert_eq!(hand.turn_s(), 0);
        hand.last_turn_ns.store(40_999_999_999, Ordering::Relaxed);
        assert_eq!(hand.turn_s(), 40);
    }
}
