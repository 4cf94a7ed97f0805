//! Recovery forks: which way the log of a database went.
//!
//! Each RESTORE that ends with recovery begins a fork: from the next record on the log is another one than
//! that of the database that was backed up. Two logs that have the same fork at an LSN are the same up to
//! that LSN, because a fork has its number from no other one, and begins once.

use super::field;
use crate::{Lsn, PageBuf};
use furrow_types::Guid;

/// Bytes of a fork on the boot page: its first LSN, 2 that are zero, its number.
const FORK_BYTES: usize = 28;
/// SQL Server's place on the boot page has so many.
const NEAR: usize = 2;
/// Most forks on a boot page. What is older is not known any more.
pub(super) const MOST_FORKS: usize = NEAR + field::OLDER_FORKS_BYTES / FORK_BYTES;

/// A recovery fork.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fork {
    /// Its number.
    pub id: Guid,
    /// Its first record; zero of the fork that a database was created with.
    pub first: Lsn,
}

/// The forks of a database: the present one first, then each one's parent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Forks(Vec<Fork>);

impl Forks {
    /// The forks of a new database.
    pub fn new(id: Guid) -> Forks {
        let first = Lsn::ZERO;
        Forks(vec![Fork { id, first }])
    }

    /// These forks, the present one first. What does not go back in the log is left out, and the oldest of
    /// more than a database can have.
    pub fn of(forks: impl IntoIterator<Item = Fork>) -> Forks {
        let mut all: Vec<Fork> = Vec::new();
        for fork in forks.into_iter().take(MOST_FORKS) {
            match all.last() {
                Some(last) if fork.first >= last.first => break,
                _ => all.push(fork),
            }
        }
        Forks(all)
    }

    /// All of them, the present one first.
    pub fn all(&self) -> &[Fork] {
        &self.0
    }

    /// Whether none is known: of lists that were written before there were forks.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The number of the present one; zeros where none is known.
    pub fn present(&self) -> Guid {
        self.0.first().map_or_else(Guid::default, |fork| fork.id)
    }

    /// The fork that a record is of; `None` where it is not known any more.
    pub fn at(&self, lsn: Lsn) -> Option<Fork> {
        self.0.iter().find(|fork| fork.first <= lsn).copied()
    }

    /// Whether the log of `other` is the same up to this record.
    pub fn agree(&self, other: &Forks, up_to: Lsn) -> bool {
        match (self.at(up_to), other.at(up_to)) {
            (Some(one), Some(other)) => one.id == other.id,
            _ => false,
        }
    }

    /// The first record at which two logs may differ; `None` where one of them is all of the other.
    pub fn parting(&self, other: &Forks) -> Option<Lsn> {
        let not_in = |fork: &&Fork, forks: &Forks| forks.0.iter().all(|f| f.id != fork.id);
        let ours = self.0.iter().filter(|fork| not_in(fork, other));
        let theirs = other.0.iter().filter(|fork| not_in(fork, self));
        ours.chain(theirs).map(|fork| fork.first).min()
    }

    /// With a fork that begins behind the record `last`: forks that begin there or later never were.
    #[must_use]
    pub fn renewed(&self, id: Guid, last: Lsn) -> Forks {
        let first = last.next();
        let old = self.0.iter().filter(|fork| fork.first < first);
        let mut all = vec![Fork { id, first }];
        all.extend(old.take(MOST_FORKS - 1));
        debug_assert!(all.is_sorted_by(|a, b| a.first > b.first));
        Forks(all)
    }

    /// The bytes of both places on the boot page.
    pub fn encode(&self) -> ([u8; NEAR * FORK_BYTES], [u8; field::OLDER_FORKS_BYTES]) {
        debug_assert!(self.0.len() <= MOST_FORKS, "the oldest are left out");
        let (mut near, mut older) = ([0; NEAR * FORK_BYTES], [0; field::OLDER_FORKS_BYTES]);
        let places = near.as_chunks_mut::<FORK_BYTES>().0.iter_mut();
        let places = places.chain(older.as_chunks_mut::<FORK_BYTES>().0);
        for (place, fork) in places.zip(&self.0) {
            if let Some(first) = place.first_chunk_mut() {
                *first = fork.first.to_bytes();
            }
            if let Some(id) = place.last_chunk_mut() {
                *id = fork.id.0;
            }
        }
        (near, older)
    }

    /// Reads them; the older ones of our own pages alone.
    pub(super) fn decode(page: &PageBuf, is_own: bool) -> Forks {
        let near = field::FORKS.get(page);
        let older = field::OLDER_FORKS.get(page);
        let older: &[u8] = if is_own { &older } else { &[] };
        let entries = near.as_chunks::<FORK_BYTES>().0.iter();
        let entries = entries.chain(older.as_chunks::<FORK_BYTES>().0);
        let forks = entries.filter_map(|entry| {
            let (first, id) = (entry.first_chunk()?, entry.last_chunk()?);
            let (first, id) = (Lsn::from_bytes(*first), Guid(*id));
            (id != Guid::default()).then_some(Fork { id, first })
        });
        Forks::of(forks)
    }

    pub(super) fn set(&self, page: &mut PageBuf) {
        let (near, older) = self.encode();
        field::FORKS.set(page, near);
        field::OLDER_FORKS.set(page, older);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PAGE_SIZE;

    fn lsn(n: u64) -> Lsn {
        Lsn(n)
    }

    #[test]
    fn logs_agree_as_long_as_they_are_of_one_fork() {
        let original = Forks::new(Guid([1; 16]));
        let copy = original.renewed(Guid([2; 16]), lsn(100));
        let other = original.renewed(Guid([3; 16]), lsn(50));
        assert!(copy.agree(&original, lsn(100)) && !copy.agree(&original, lsn(101)));
        assert!(copy.agree(&other, lsn(50)) && !copy.agree(&other, lsn(51)));
        assert_eq!(copy.parting(&original), Some(lsn(101)));
        assert_eq!(copy.parting(&other), Some(lsn(51)));
        assert_eq!(copy.parting(&copy), None);
        // Recovered once more without a record between, and to an earlier place.
        assert_eq!(copy.renewed(Guid([4; 16]), lsn(100)).all().len(), 2);
        let back = copy.renewed(Guid([5; 16]), lsn(40));
        assert_eq!(back.all().len(), 2);
        assert!(back.agree(&original, lsn(40)) && !back.agree(&copy, lsn(100)));
    }

    #[test]
    fn the_oldest_forks_are_forgotten_and_agree_with_nothing() {
        let mut forks = Forks::new(Guid([1; 16]));
        for n in 1..=MOST_FORKS as u8 {
            forks = forks.renewed(Guid([n + 1; 16]), lsn(u64::from(n) * 1000));
        }
        assert_eq!(forks.all().len(), MOST_FORKS);
        assert!(!forks.agree(&forks, lsn(1000)) && forks.agree(&forks, lsn(1001)));
        let mut page = [0; PAGE_SIZE];
        forks.set(&mut page);
        assert_eq!(Forks::decode(&page, true), forks);
        assert_eq!(Forks::decode(&page, false).all(), &forks.all()[..NEAR]);
    }
}
