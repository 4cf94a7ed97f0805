//! What views and the deadlock search read of a shard, and the check of its invariants.

use super::{LockMode, NIL, Request, Resource, Shard, Waiter};
#[cfg(test)]
use crate::lock::passing::passes;

/// A granted request or a waiter, as views and the deadlock search see it.
#[derive(Debug, Clone)]
pub(in crate::lock) struct Seen {
    pub(in crate::lock) owner: u32,
    pub(in crate::lock) mode: LockMode,
    pub(in crate::lock) kind: SeenKind,
    /// Whether it is granted and its owner leaves.
    pub(in crate::lock) left: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::lock) enum SeenKind {
    Granted,
    Converting,
    Arriving,
}

impl Shard {
    pub(in crate::lock) fn resource(&self, head: u32) -> Resource {
        self.heads[head as usize].resource
    }

    /// Visits each locked resource.
    pub(in crate::lock) fn for_each_head(&self, mut visit: impl FnMut(u32)) {
        for &bucket in &self.buckets {
            let mut at = bucket;
            while at != NIL {
                visit(at);
                at = self.heads[at as usize].next;
            }
        }
    }

    /// The granted requests of a head, and then its queue in order.
    pub(in crate::lock) fn seen(&self, head: u32) -> Vec<Seen> {
        let mut out = Vec::new();
        let mut at = self.heads[head as usize].first;
        while at != NIL {
            let Request {
                owner,
                mode,
                next,
                left,
                ..
            } = self.requests[at as usize];
            out.push(Seen {
                owner,
                mode,
                kind: SeenKind::Granted,
                left,
            });
            at = next;
        }
        if let Some(queue) = &self.heads[head as usize].queue {
            let lists = [
                (&queue.converting, SeenKind::Converting),
                (&queue.arriving, SeenKind::Arriving),
            ];
            for (list, kind) in lists {
                out.extend(list.iter().map(|w| Seen {
                    owner: w.core.id,
                    mode: w.target,
                    kind,
                    left: false,
                }));
            }
        }
        out
    }

    /// The waiting request of `owner` at a head.
    pub(in crate::lock) fn waiter(&self, head: u32, owner: u32) -> Option<&Waiter> {
        let queue = self.heads[head as usize].queue.as_ref()?;
        queue
            .converting
            .iter()
            .chain(&queue.arriving)
            .find(|waiter| waiter.core.id == owner)
    }

    /// The requests for which a request of `owner` for `target` waits: others that are granted a conflicting
    /// mode and, if the owner holds nothing here itself, conflicting waiters ahead of it. For an owner that
    /// isn't queued the whole queue is ahead. Marked locks are among them, last: a request that may pass them
    /// has none else only if it has to let readers go first. Their owners wait for nothing.
    pub(in crate::lock) fn blockers(&self, head: u32, owner: u32, target: LockMode) -> Vec<Seen> {
        let seen = self.seen(head);
        let holds = |s: &Seen| s.owner == owner && s.kind == SeenKind::Granted;
        let is_holder = seen.iter().any(holds);
        let place = seen
            .iter()
            .position(|s| s.owner == owner && s.kind != SeenKind::Granted);
        let end = place.unwrap_or(seen.len());
        let in_the_way = |s: &Seen| {
            s.owner != owner
                && !target.compatible(s.mode)
                && (s.kind == SeenKind::Granted || !is_holder)
        };
        let mut blockers: Vec<Seen> = seen.into_iter().take(end).filter(in_the_way).collect();
        blockers.sort_by_key(|seen| seen.left);
        blockers
    }
}

/// Checks the invariants; for tests.
#[cfg(test)]
impl Shard {
    /// Whether `owner` was granted a resource here.
    pub(in crate::lock) fn grants(&self, hash: u64, resource: &Resource, owner: u32) -> bool {
        let head = self.find(hash, resource);
        let granted = |seen: &Seen| seen.owner == owner && seen.kind == SeenKind::Granted;
        head != NIL && self.seen(head).iter().any(granted)
    }

    pub(in crate::lock) fn check(&self) {
        let mut heads = 0;
        let mut requests = 0;
        self.for_each_head(|number| {
            heads += 1;
            let head = &self.heads[number as usize];
            let seen = self.seen(number);
            assert!(
                !seen.is_empty(),
                "a lock head without owners: {}",
                head.resource
            );
            let granted: Vec<_> = seen
                .iter()
                .filter(|s| s.kind == SeenKind::Granted)
                .collect();
            requests += granted.len();
            let (mut mask, mut left) = (0, 0);
            for (at, a) in granted.iter().enumerate() {
                match a.left {
                    true => left |= a.mode.bit(),
                    false => mask |= a.mode.bit(),
                }
                for b in &granted[..at] {
                    assert!(a.owner != b.owner, "granted twice to one owner");
                    let passed =
                        |left: &Seen, other: &Seen| left.left && passes(&head.resource, other.mode);
                    let together = a.mode.compatible(b.mode) || passed(a, b) || passed(b, a);
                    assert!(together, "{} beside {}", a.mode, b.mode);
                }
            }
            assert_eq!((mask, left), (head.mask, head.left_mask()));
            let waiting = seen.iter().filter(|s| s.kind != SeenKind::Granted);
            let waiting_mask = waiting.clone().fold(0, |all, s| all | s.mode.bit());
            assert_eq!(waiting_mask, head.waiting);
            self.check_queue(number);
            for waiter in waiting {
                let blockers = self.blockers(number, waiter.owner, waiter.mode);
                assert!(
                    !blockers.is_empty(),
                    "waits for no owner: {} on {}",
                    waiter.mode,
                    head.resource
                );
            }
        });
        assert_eq!(heads, self.live_heads);
        assert_eq!(requests, self.live_requests);
    }

    /// No waiter is left that could be granted.
    fn check_queue(&self, head: u32) {
        let Some(queue) = &self.heads[head as usize].queue else {
            return;
        };
        let mut ahead = 0;
        for waiter in queue.converting.iter().chain(&queue.arriving) {
            let own = waiter
                .request
                .map(|request| self.requests[request as usize].mode);
            let queued = if own.is_none() { ahead } else { 0 };
            let in_the_way =
                (self.mask_of_others(head, own) | queued) & waiter.target.conflict_mask();
            assert!(
                in_the_way != 0 || self.is_waiter_stopped(head, waiter, ahead),
                "{} could be granted",
                waiter.target
            );
            ahead |= waiter.target.bit();
        }
    }
}
