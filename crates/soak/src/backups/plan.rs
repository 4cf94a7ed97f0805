//! How a chain is restored: where it stops, and which file comes from a backup of its own.

use super::chain;
use super::media::{Taken, Wanted};
use furrow_io::random::{Rng, SeededRng};
use furrow_io::time::WallTime;

/// A moment at which all transactions that were begun were acknowledged.
#[derive(Debug, Clone)]
pub(super) struct Still {
    pub(super) at: WallTime,
    /// Transactions of each writer.
    pub(super) counts: Vec<u64>,
}

/// A restore.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) chain: Vec<Taken>,
    /// STOPAT of the last log backup.
    pub(super) stop: Option<Still>,
    /// A backup from which one file is restored before the first log backup: the number of the backup in the
    /// chain, or a backup of files.
    pub(super) file: Option<Taken>,
    /// The primary filegroup comes first.
    pub(super) piecemeal: bool,
    /// The copy can be read between the restores: WITH STANDBY.
    pub(super) standby: bool,
    /// The plan in words.
    pub(super) words: String,
}

/// Draws a restore; `None` before there is a backup.
pub(super) fn draw(rng: &mut SeededRng, taken: &[Taken], stills: &[Still]) -> Option<Plan> {
    let numbers = chain::draw(rng, taken)?;
    let is_log = |n: &&usize| taken.get(**n).is_some_and(|t| t.wanted == Wanted::Log);
    let logs = numbers.iter().filter(is_log).count();
    let base = *numbers.get(numbers.len().checked_sub(logs + 1)?)?;
    let last = numbers.last().copied().filter(|_| logs > 0);
    // A file of a later backup needs the log up to that one's end.
    let later = |n: &usize| {
        let reached = last.is_some_and(|last| *n < last);
        let of_files = taken.get(*n).is_some_and(|t| t.wanted == Wanted::Files);
        *n > base && reached && of_files
    };
    let mut sources: Vec<usize> = (0..taken.len()).filter(later).collect();
    let full = taken.get(base).filter(|t| t.wanted != Wanted::Differential);
    sources.extend(full.map(|_| base));
    let file = match sources.len() {
        0 => None,
        len => sources.get(rng.random_range(0..len)).copied(),
    };
    let file = file.filter(|_| rng.random_bool(0.4));
    let before = numbers
        .get(numbers.len().wrapping_sub(2))
        .copied()
        .max(file);
    let from = before.and_then(|n| taken.get(n)).map(|t| t.span.1);
    let to = last.and_then(|n| taken.get(n)).map(|t| t.span.0);
    let mut fitting: Vec<&Still> = stills
        .iter()
        .filter(|s| from.is_some_and(|from| s.at > from) && to.is_some_and(|to| s.at < to))
        .collect();
    let stop = match fitting.len() {
        0 => None,
        len => Some(fitting.swap_remove(rng.random_range(0..len)).clone()),
    };
    let stop = stop.filter(|_| rng.random_bool(0.7));
    let of = |n: usize| taken.get(n).cloned();
    // A differential backup cannot roll files forward that come later.
    let is_full = base == numbers.first().copied().unwrap_or(base);
    let piecemeal = is_full && rng.random_bool(0.4);
    let standby = !piecemeal && rng.random_bool(0.4);
    let file = file.filter(|_| !piecemeal && !standby);
    Some(Plan {
        words: format!(
            "{numbers:?}, a file of {file:?}, in pieces: {piecemeal}, standby: {standby}, up to {:?}",
            stop.as_ref().map(|s| &s.counts)
        ),
        chain: numbers.iter().filter_map(|n| of(*n)).collect(),
        stop,
        piecemeal,
        standby,
        file: file.and_then(of),
    })
}
