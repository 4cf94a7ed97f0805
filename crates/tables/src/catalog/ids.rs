//! Numbers for new objects, rowsets and allocation units.

use furrow_format::{AllocUnitId, ObjectId, RowsetId};
use furrow_io::sync::Mutex;
use furrow_io::sync::atomic::{AtomicU64, Ordering};

/// Ids of users' rowsets and units have index part 256: their counters begin here, and are shifted left
/// by 16.
const FIRST: u64 = 1 << 40;
/// The first number of a counter that belongs to the next index part.
const END: u64 = FIRST + (1 << 32);
/// The first object id of a user, as in new databases of SQL Server.
const FIRST_OBJECT: i32 = 245_575_913;
/// Step between object ids; it goes around below 2^31.
const OBJECT_STEP: i64 = 16_000_057;

/// Whether this is a number of users' units, as the boot page has it.
pub(super) fn is_user_number(number: u64) -> bool {
    (FIRST..END).contains(&number)
}

#[derive(Debug)]
pub(super) struct Ids {
    units: AtomicU64,
    rowsets: AtomicU64,
    object: Mutex<i32>,
}

impl Ids {
    /// `units` and `rowsets` are ids in use; `next_unit` and `next_object` are the boot page's seeds. Pages
    /// of a dropped unit keep their content, so its id is not used again.
    pub(super) fn new(
        units: impl Iterator<Item = u64>,
        rowsets: impl Iterator<Item = u64>,
        (next_unit, next_object): (u64, i32),
    ) -> Ids {
        let least = match is_user_number(next_unit) {
            true => next_unit,
            false => FIRST,
        };
        let after = |ids: u64| (ids >> 16) + 1;
        let next = |largest: Option<u64>| largest.map_or(FIRST, |l| after(l).max(FIRST));
        Ids {
            units: AtomicU64::new(next(units.max()).max(least)),
            rowsets: AtomicU64::new(next(rowsets.max())),
            object: Mutex::new(if next_object >= 100 {
                next_object
            } else {
                FIRST_OBJECT
            }),
        }
    }

    pub(super) fn unit(&self) -> AllocUnitId {
        AllocUnitId(self.units.fetch_add(1, Ordering::Relaxed) << 16)
    }

    pub(super) fn rowset(&self) -> RowsetId {
        RowsetId(self.rowsets.fetch_add(1, Ordering::Relaxed) << 16)
    }

    /// A number for which `taken` returns `false`.
    pub(super) fn object(&self, taken: impl Fn(ObjectId) -> bool) -> ObjectId {
        let mut next = self.object.lock();
        loop {
            let id = ObjectId(*next);
            let sum = i64::from(*next) + OBJECT_STEP;
            let wrapped = if sum > i64::from(i32::MAX) {
                sum - i64::from(i32::MAX)
            } else {
                sum
            };
            *next = i32::try_from(wrapped).unwrap_or(FIRST_OBJECT).max(100);
            if !taken(id) {
                return id;
            }
        }
    }

    pub(super) fn next_unit(&self) -> u64 {
        self.units.load(Ordering::Relaxed)
    }

    pub(super) fn next_object(&self) -> i32 {
        *self.object.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seed_of_the_boot_page_counts_if_it_is_one() {
        let unit = |seed: u64| {
            let used = [FIRST << 16].into_iter();
            Ids::new(used, [].into_iter(), (seed, 0)).unit().0 >> 16
        };
        assert_eq!(unit(FIRST + 9), FIRST + 9);
        for seed in [0, FIRST, END, u64::MAX] {
            assert_eq!(unit(seed), FIRST + 1, "{seed:x}");
        }
    }

    #[test]
    fn ids_go_on_behind_the_largest_in_use_and_object_ids_avoid_taken_ones() {
        let ids = Ids::new(
            [0x70000, (FIRST + 5) << 16].into_iter(),
            [3 << 16].into_iter(),
            (0, 0),
        );
        assert_eq!(ids.unit().0, (FIRST + 6) << 16);
        assert_eq!(ids.unit().index_part(), 256);
        assert_eq!(ids.rowset().0, FIRST << 16);
        let mut seen = std::collections::HashSet::new();
        for _ in 0..500 {
            let taken = seen.clone();
            let id = ids.object(|id| taken.contains(&id));
            assert!(id.0 >= 100 && seen.insert(id), "{id:?}");
        }
    }
}
