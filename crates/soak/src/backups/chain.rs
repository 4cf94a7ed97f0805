//! Chains of backups.

use super::media::{Taken, Wanted};
use furrow_io::random::{Rng, SeededRng};

/// A chain that restores: a full backup, perhaps a differential one of it, some of the log backups since.
pub(super) fn draw(rng: &mut SeededRng, taken: &[Taken]) -> Option<Vec<usize>> {
    let is_full = |t: &Taken| matches!(t.wanted, Wanted::Full | Wanted::CopyOnly);
    let pick = |rng: &mut SeededRng, of: &[usize]| match of.len() {
        0 => None,
        len => of.get(rng.random_range(0..len)).copied(),
    };
    let numbered = || taken.iter().enumerate();
    let fulls: Vec<usize> = numbered().filter(|t| is_full(t.1)).map(|t| t.0).collect();
    let full = pick(rng, &fulls)?;
    let mut chain = vec![full];
    let base = taken.get(full)?.set;
    let of_base = |t: &(usize, &Taken)| t.1.wanted == Wanted::Differential && t.1.base == base;
    let differentials: Vec<usize> = numbered().filter(of_base).map(|t| t.0).collect();
    if rng.random_bool(0.6) {
        chain.extend(pick(rng, &differentials));
    }
    // The log is kept from the first full backup on; one that is COPY_ONLY does not begin that.
    let mut through = taken.iter().take(full + 1);
    let log_is_kept = through.any(|t| t.wanted == Wanted::Full);
    if log_is_kept && rng.random_bool(0.7) {
        let behind = chain.last().copied().unwrap_or(full);
        let logs = numbered().filter(|t| t.0 > behind && t.1.wanted == Wanted::Log);
        let logs: Vec<usize> = logs.map(|t| t.0).collect();
        let count = rng.random_range(0..=logs.len());
        chain.extend(logs.into_iter().take(count));
    }
    Some(chain)
}
