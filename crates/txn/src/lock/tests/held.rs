//! The owner's table against a plain model.

use std::collections::BTreeMap;

use furrow_format::{DatabaseId, ObjectId, RowsetId};

use super::super::held::{Grant, Held, HeldTable};
use super::super::{LockMode, Resource};
use super::Dice;

fn held(n: u64, hash: u64) -> Held {
    Held {
        resource: Resource::key(DatabaseId(1), RowsetId(1), n),
        hash,
        grant: Grant::Request(n as u32),
        mode: LockMode::S,
        session: n.is_multiple_of(7),
        object: ObjectId((n % 3) as i32),
        sequence: 0,
    }
}

fn number(held: &Held) -> u64 {
    match held.grant {
        Grant::Request(n) => u64::from(n),
        Grant::Noted => unreachable!("none is noted here"),
    }
}

#[test]
fn any_series_of_additions_and_removals_matches_a_map() {
    let mut dice = Dice::new("held");
    for round in 0..200 {
        let mut table = HeldTable::default();
        let mut model = BTreeMap::new();
        let universe = 1 + dice.below(400);
        // Few distinct hashes in every other round: long runs in the index, holes in the middle of them.
        let hash_of = |n: u64| {
            if round % 2 == 0 {
                n % 5
            } else {
                n.wrapping_mul(0x9e37_79b9_7f4a_7c15)
            }
        };
        for _ in 0..600 {
            let n = dice.below(universe);
            let entry = held(n, hash_of(n));
            match table.find(entry.hash, &entry.resource) {
                None => {
                    assert!(model.insert(n, entry.grant).is_none());
                    table.push(entry);
                }
                Some(at) if dice.below(3) > 0 => {
                    assert_eq!(Some(table.remove(at).grant), model.remove(&n));
                }
                Some(at) => assert_eq!(Some(&table.entries()[at].grant), model.get(&n)),
            }
            if dice.below(150) == 0 {
                table.remove_where(
                    |held| !held.session,
                    |gone| {
                        assert!(model.remove(&number(&gone)).is_some());
                    },
                );
                assert!(model.keys().all(|n| n % 7 == 0));
            }
            assert_eq!(table.entries().len(), model.len());
        }
        for object in 1..3 {
            let counted = model.keys().filter(|&&n| n % 3 == object as u64).count();
            assert_eq!(table.tally(ObjectId(object)).count as usize, counted);
        }
        for n in 0..universe {
            let entry = held(n, hash_of(n));
            assert_eq!(
                table.find(entry.hash, &entry.resource).is_some(),
                model.contains_key(&n)
            );
        }
        table.clear(|gone| assert!(model.remove(&number(&gone)).is_some()));
        assert!(model.is_empty() && table.entries().is_empty());
    }
}
