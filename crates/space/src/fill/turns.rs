//! The arithmetic of proportional fill, without threads and without files.

/// Extent allocations of a filegroup after which skip targets are recalculated.
pub(crate) const RECALCULATE_AFTER: i64 = 8192;

/// A file's skip target: how often it is offered an extent before it takes one.
pub fn skip_target(most_free: u64, own_free: u64) -> u64 {
    (most_free / own_free.max(1)).max(1)
}

/// Whose turn it is among the files of a filegroup.
///
/// Each file has a counter that starts at its target. A file that is offered an extent takes it when its
/// counter is 1, which sets the counter back to the target; otherwise the counter goes down and the offer
/// goes to the next file. Full files are passed over.
#[derive(Debug, Clone, Default)]
pub struct Turns {
    targets: Vec<u64>,
    counters: Vec<u64>,
    cursor: usize,
    /// Extents the file at the cursor may still take in this turn; 0 = its turn has not begun.
    run: u32,
    extents_a_turn: u32,
}

impl Turns {
    /// For files with these free extents, in filling order; each takes `extents_a_turn` extents a turn.
    pub fn new(free: &[u64], extents_a_turn: u32) -> Turns {
        let mut turns = Turns {
            extents_a_turn: extents_a_turn.max(1),
            ..Turns::default()
        };
        turns.recalculate(free);
        turns
    }

    /// Recalculates targets and restarts all counters; the turn stays where it is.
    pub fn recalculate(&mut self, free: &[u64]) {
        let most = free.iter().copied().max().unwrap_or(0);
        self.targets = free.iter().map(|&own| skip_target(most, own)).collect();
        self.counters.clone_from(&self.targets);
        debug_assert!(
            self.targets.iter().all(|&target| target >= 1),
            "every file has its turn"
        );
        if self.cursor >= free.len() {
            self.cursor = 0;
            self.run = 0;
        }
    }

    /// The skip targets.
    pub fn targets(&self) -> &[u64] {
        &self.targets
    }

    /// Whether a file is passed over only when it is full.
    pub(crate) fn all_one(&self) -> bool {
        self.targets.iter().all(|&target| target == 1)
    }

    /// Whose turn it is, and how many extents are left of it (0: it has not begun).
    pub fn position(&self) -> (usize, u32) {
        (self.cursor, self.run)
    }

    /// Moves the turn.
    pub(crate) fn set_position(&mut self, cursor: usize, run: u32) {
        (self.cursor, self.run) = if cursor < self.targets.len() {
            (cursor, run)
        } else {
            (0, 0)
        };
    }

    /// The file that gets the next extent; `None` when `has_free` is false for all.
    pub fn next(&mut self, mut has_free: impl FnMut(usize) -> bool) -> Option<usize> {
        let files = self.targets.len();
        loop {
            let mut least = None;
            for _ in 0..files {
                let at = self.cursor;
                if has_free(at) {
                    if self.take(at) {
                        return Some(at);
                    }
                    let counter = self.counters.get(at).copied().unwrap_or(1);
                    least = Some(least.map_or(counter, |least: u64| least.min(counter)));
                }
                self.advance();
            }
            // No file took the extent in a whole lap. Further laps in which no file would take it are counted
            // at once, because the targets of nearly full files can be millions.
            let laps = least?.saturating_sub(1);
            for at in 0..files {
                if let Some(counter) = self.counters.get_mut(at).filter(|_| has_free(at)) {
                    *counter = counter.saturating_sub(laps).max(1);
                }
            }
        }
    }

    /// Offers an extent to the file at the cursor; whether it takes it.
    fn take(&mut self, at: usize) -> bool {
        let Some(counter) = self.counters.get_mut(at) else {
            return false;
        };
        if self.run == 0 {
            if *counter > 1 {
                *counter -= 1;
                return false;
            }
            self.run = self.extents_a_turn;
        }
        debug_assert!(
            at == self.cursor && self.run <= self.extents_a_turn,
            "an extent of the file whose turn it is"
        );
        self.run -= 1;
        if self.run == 0 {
            *counter = self.targets.get(at).copied().unwrap_or(1);
            self.advance();
        }
        true
    }

    fn advance(&mut self) {
        // A file that ran full within its turn gets a whole target for its next one.
        if self.run > 0 {
            if let (Some(counter), Some(&target)) = (
                self.counters.get_mut(self.cursor),
                self.targets.get(self.cursor),
            ) {
                *counter = target;
            }
            self.run = 0;
        }
        self.cursor = (self.cursor + 1) % self.targets.len().max(1);
    }
}

/// Where the next extents go: how many of `next_extents` each file gets, files in filling order, if no file
/// grows. Targets are recalculated as often as in the engine. The sum is less than `next_extents` when all
/// files run full.
pub fn foresee(free: &[u64], next_extents: u64) -> Vec<u64> {
    let mut left = free.to_vec();
    let mut share = vec![0; free.len()];
    let mut turns = Turns::new(free, 1);
    let mut allocs_left = RECALCULATE_AFTER;
    for _ in 0..next_extents {
        let Some(at) = turns.next(|at| left.get(at).is_some_and(|&n| n > 0)) else {
            break;
        };
        if let (Some(left), Some(share)) = (left.get_mut(at), share.get_mut(at)) {
            *left -= 1;
            *share += 1;
        }
        allocs_left -= 1;
        if allocs_left == 0 {
            turns.recalculate(&left);
            allocs_left = RECALCULATE_AFTER;
        }
    }
    share
}

/// Filling order of files given in the order of their creation: the first (in PRIMARY the primary file), then
/// the newest, and so on to the second oldest.
pub fn filling_order<T>(mut oldest_first: Vec<T>) -> Vec<T> {
    if let Some((_, later)) = oldest_first.split_first_mut() {
        later.reverse();
    }
    oldest_first
}
