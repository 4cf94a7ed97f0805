//! The check of what notes, shards and counts must agree on; for tests.

use furrow_io::sync::MutexGuard;
use furrow_io::sync::atomic::Ordering;
use std::collections::HashSet;

use crate::lock::notes::{COUNTS, NOTES, Standing, Strong, Writers, is_strong, is_weak, notes};
use crate::lock::resource::Resource;
use crate::lock::shard::Shard;
use crate::lock::table::Table;

impl Strong {
    /// All counts together.
    pub(in crate::lock) fn sum(&self) -> u32 {
        let counts = self.0.0.iter();
        counts.map(|count| count.load(Ordering::SeqCst)).sum()
    }
}

impl Writers {
    /// All notes together.
    pub(in crate::lock) fn sum(&self) -> u32 {
        let counts = self.0.iter();
        counts
            .map(|count| notes(count.load(Ordering::SeqCst)))
            .sum()
    }
}

impl Table {
    /// Locks that owners have noted and the shards do not have.
    pub(in crate::lock) fn notes(&self) -> usize {
        self.noted().len()
    }

    /// Checks notes and counts against the shards, which are all latched.
    pub(in crate::lock) fn check_notes(&self, shards: &[MutexGuard<'_, Shard>]) {
        let mut strong = vec![HashSet::new(); COUNTS];
        let mut objects = HashSet::new();
        for shard in shards {
            shard.for_each_head(|head| {
                let resource = shard.resource(head);
                for seen in shard.seen(head) {
                    if is_strong(&resource, seen.mode) {
                        objects.insert(resource);
                        let count = resource.hash() as usize % COUNTS;
                        strong[count].insert((resource, seen.owner));
                    }
                }
            });
        }
        for (count, owners) in strong.iter().enumerate() {
            let counted = self.strong.0.of(count as u64).load(Ordering::SeqCst);
            let there = owners.len();
            assert!(
                counted as usize >= there,
                "{counted} counted of {there} strong"
            );
        }
        self.for_each_owner(|owner| {
            let notes = owner.notes.lock();
            assert!(notes.list.len() <= NOTES);
            let mut seen: HashSet<Resource> = HashSet::new();
            for note in &notes.list {
                let resource = note.resource;
                assert!(seen.insert(resource), "noted twice: {resource}");
                let shard = &shards[self.shard_of(note.hash)];
                match note.standing {
                    Standing::Noted(mode) => {
                        assert!(is_weak(&resource, mode));
                        assert!(
                            !objects.contains(&resource),
                            "{resource}: strong, and noted"
                        );
                        assert!(!shard.grants(note.hash, &resource, owner.id));
                    }
                    Standing::Moved(_) => assert!(shard.grants(note.hash, &resource, owner.id)),
                }
            }
        });
    }
}
