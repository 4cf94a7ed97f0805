//! Which owners hold which objects, counted by the tests themselves: independent of the manager.

use furrow_io::sync::atomic::{AtomicU64, Ordering};

use super::super::LockMode::{self, *};
use super::super::{LockError, LockManager, LockOwner, LockRow, LockStatus, Timeout};
use super::{Dice, check, table};

/// Bits of one mode's count: at most 31 owners are inside.
const BITS: u32 = 5;
/// Objects that are locked.
pub(super) const OBJECTS: u64 = 2;
/// An object, and a session that has locked it whenever a thread [`look`]s.
pub(super) const KEPT: i32 = 77;
pub(super) const KEEPER: i32 = 50;

/// For each object how many are inside in each plain mode.
#[derive(Default)]
pub(super) struct Objects([AtomicU64; OBJECTS as usize]);

fn one(mode: Option<LockMode>) -> u64 {
    mode.map_or(0, |mode| 1 << (BITS * mode as u32))
}

impl Objects {
    /// An owner that held the object as `before` holds it as `now`: after a grant, or before a release.
    fn turn(&self, object: u64, before: Option<LockMode>, now: Option<LockMode>) {
        let change = one(now).wrapping_sub(one(before));
        let word = &self.0[object as usize];
        let others = word.fetch_add(change, Ordering::SeqCst) - one(before);
        for other in LockMode::ALL
            .into_iter()
            .filter(|mode| !mode.is_range_mode())
        {
            let inside = others >> (BITS * other as u32) & ((1 << BITS) - 1);
            let beside = now.is_none_or(|now| now.compatible(other));
            assert!(
                inside == 0 || beside,
                "object {object}: {inside} in {other} when {now:?} came"
            );
        }
    }

    /// One transaction of so many weak and strong requests, now and then weakened or given back. A request
    /// that may wait `long` must be granted. Returns whether all were.
    pub(super) fn transaction(
        &self,
        manager: &LockManager,
        me: &LockOwner,
        (steps, long): (u64, Timeout),
        dice: &mut Dice,
    ) -> bool {
        let mut inside = [None; OBJECTS as usize];
        let mut ok = true;
        for _ in 0..steps {
            let object = dice.below(OBJECTS);
            let resource = table(object as i32);
            let before = inside[object as usize];
            let mode = [SchS, IS, IS, IU, IX, IX, S, SIX, X, SchM][dice.below(10) as usize];
            match dice.below(8) {
                0 => {
                    self.turn(object, before, None);
                    assert_eq!(manager.unlock(me, &resource), before.is_some());
                    inside[object as usize] = None;
                }
                1 if before.is_some_and(|before| before.covers(mode)) => {
                    self.turn(object, before, Some(mode));
                    assert!(manager.downgrade(me, &resource, mode));
                    inside[object as usize] = Some(mode);
                }
                2 => drop(manager.try_instant(me, resource, mode)),
                3 => ok = granted(manager.lock_instant(me, resource, mode, Timeout::Millis(1))),
                _ => {
                    let timeout =
                        [long, Timeout::NoWait, Timeout::Millis(1)][dice.below(3) as usize];
                    ok = granted(manager.lock(me, resource, mode, timeout).map(|_| ()));
                    let now = me.held(&resource);
                    let joined = before.map_or(mode, |before| before.supremum(mode));
                    assert!(
                        !ok || now == Some(joined) || timeout != long,
                        "waits in vain"
                    );
                    self.turn(object, before, now);
                    inside[object as usize] = now;
                }
            }
            if !ok {
                break;
            }
        }
        for (object, before) in inside.into_iter().enumerate() {
            self.turn(object as u64, before, None);
        }
        manager.release_all(me);
        ok
    }
}

/// Whether a request was not the end of its transaction: a time-out is not.
fn granted(result: Result<(), LockError>) -> bool {
    match result {
        Ok(()) | Err(LockError::Timeout { .. }) => true,
        Err(LockError::Deadlock { .. } | LockError::Cancelled) => false,
        Err(other) => panic!("{other:?}"),
    }
}

/// A look at the views: no lock is there twice, none beside one that conflicts, and that of [`KEPT`] is
/// there.
pub(super) fn look(manager: &LockManager) {
    let mut rows = manager.snapshot();
    rows.retain(|row| row.status == LockStatus::Grant);
    for (at, a) in rows.iter().enumerate() {
        for b in rows[..at].iter().filter(|b| b.resource == a.resource) {
            assert!(a.owner_id != b.owner_id, "twice: {a:?} {b:?}");
            assert!(a.mode.compatible(b.mode), "{a:?} beside {b:?}");
        }
    }
    let is_it = |row: &&LockRow| row.resource == table(KEPT) && row.session_id == KEEPER;
    let kept = rows.iter().filter(is_it);
    assert_eq!(kept.count(), 1);
    let stats = manager.stats();
    assert!(stats.locks >= 1 && stats.resources >= 1);
    check(manager);
}
