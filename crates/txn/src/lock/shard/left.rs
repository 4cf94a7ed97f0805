//! Granted requests of owners that leave: they are in the way of readers only. The protocol is in `early`.

use furrow_format::Lsn;

use super::{Head, Left, LockMode, NIL, OwnerCore, Request, Resource, Shard, Waiter, Wakes};
use crate::lock::passing::{PASSING, may_pass_beside, passes};

impl Waiter {
    /// Whether it may be granted past marked locks. A test of a lock waits until the lock is released: its
    /// caller would find it held.
    fn passes(&self, resource: &Resource) -> bool {
        !self.instant && passes(resource, self.target)
    }
}

impl Head {
    /// The modes of its marked requests, as bits.
    #[inline]
    pub(super) fn left_mask(&self) -> u32 {
        self.left.as_ref().map_or(0, |left| left.mask)
    }

    /// Requests that passed them while one that does not pass has been waiting.
    fn passed(&self) -> u32 {
        self.left.as_ref().map_or(0, |left| left.passed)
    }

    pub(super) fn left_mut(&mut self) -> &mut Left {
        self.left.get_or_insert_default()
    }
}

impl Shard {
    /// Whether a request for `mode` that is not queued and holds nothing here is stopped by marked locks.
    #[inline]
    pub(super) fn is_stopped(&self, head: u32, mode: LockMode) -> bool {
        let head = &self.heads[head as usize];
        head.left_mask() & mode.conflict_mask() != 0
            && !(passes(&head.resource, mode) && may_pass_beside(head.passed(), head.waiting))
    }

    /// Whether a conversion to `mode` is stopped by marked locks. A conversion that passes goes on with what
    /// its owner has begun, so that it is not counted.
    pub(super) fn is_conversion_stopped(&self, head: u32, mode: LockMode) -> bool {
        let head = &self.heads[head as usize];
        head.left_mask() & mode.conflict_mask() != 0 && !passes(&head.resource, mode)
    }

    /// Whether a waiter is stopped by marked locks: one that converts, or one behind requests for the modes
    /// `ahead`.
    pub(super) fn is_waiter_stopped(&self, head: u32, waiter: &Waiter, ahead: u32) -> bool {
        let head = &self.heads[head as usize];
        let in_the_way = head.left_mask() & waiter.target.conflict_mask() != 0;
        let may_pass = waiter.passes(&head.resource)
            && (waiter.request.is_some() || may_pass_beside(head.passed(), ahead));
        in_the_way && !may_pass
    }

    /// Counts a request for `mode` that is about to be granted past marked locks and past waiters for the
    /// modes `ahead`.
    pub(super) fn count_passed(&mut self, head: u32, mode: LockMode, ahead: u32) {
        let head = self.head_mut(head);
        if head.left_mask() & mode.conflict_mask() != 0 && ahead & !PASSING != 0 {
            head.left_mut().passed += 1;
        }
    }

    /// The queue was gone through: requests for these modes are left in it.
    pub(super) fn reset_passed(&mut self, head: u32, waiting: u32) {
        if waiting & !PASSING == 0
            && let Some(left) = &mut self.head_mut(head).left
        {
            left.passed = 0;
        }
    }

    /// Marks a granted request: its owner leaves at `lsn`.
    fn mark(&mut self, request: u32, lsn: Lsn) {
        let granted = &mut self.requests[request as usize];
        let (head, mode) = (granted.head, granted.mode);
        debug_assert!(!granted.left, "a request is marked once");
        granted.left = true;
        let head = self.head_mut(head);
        debug_assert!(passes(&head.resource, mode), "{mode} is not passed");
        head.forget_mode(mode);
        head.left_mut().note(mode, lsn);
    }

    /// Marks a granted request of an owner that leaves, unless it is marked, and grants what it can. Without
    /// a queue it does nothing: a later request marks the lock itself.
    pub(in crate::lock) fn leave(&mut self, request: u32, lsn: Lsn, wakes: &mut Wakes) {
        let Request { head, left, .. } = self.requests[request as usize];
        if self.heads[head as usize].queue.is_none() {
            return;
        }
        if !left {
            self.mark(request, lsn);
        }
        self.pump(head, wakes);
    }

    /// Marks the granted requests of other owners than `owner` for which `leaving` returns a commit record.
    /// Returns whether any was marked.
    pub(in crate::lock) fn mark_leaving(
        &mut self,
        head: u32,
        owner: u32,
        leaving: impl Fn(u32) -> Option<Lsn>,
    ) -> bool {
        let Head { first, counts, .. } = &self.heads[head as usize];
        // The latest grants come first: the marked ones, which may be many, are behind.
        let mut rest = counts[LockMode::U as usize] + counts[LockMode::X as usize];
        let (mut at, mut any) = (*first, false);
        while rest > 0 && at != NIL {
            let Request {
                owner: other,
                mode,
                next,
                left,
                ..
            } = self.requests[at as usize];
            if !left && mode.bit() & PASSING != 0 {
                rest -= 1;
                if other != owner
                    && let Some(lsn) = leaving(other)
                {
                    self.mark(at, lsn);
                    any = true;
                }
            }
            at = next;
        }
        debug_assert_eq!(rest, 0, "every granted mode is in the list");
        any
    }

    /// Whether a granted request is at a head without marked locks and without a queue.
    #[inline]
    pub(in crate::lock) fn is_alone(&self, request: u32) -> bool {
        let head = &self.heads[self.requests[request as usize].head as usize];
        head.left_mask() == 0 && head.queue.is_none()
    }

    /// Records at its owner that a request was granted past marked locks, or that requests are queued that it
    /// may block.
    pub(in crate::lock) fn note_grant(&self, request: u32, core: &OwnerCore) {
        self.note_followed(request, core);
        let head = &self.heads[self.requests[request as usize].head as usize];
        self.note_awaited(request, core, head.waiting & PASSING != 0);
    }

    /// Records at its owner that a request was granted past marked locks.
    pub(super) fn note_followed(&self, request: u32, core: &OwnerCore) {
        let Request { head, mode, .. } = self.requests[request as usize];
        let head = &self.heads[head as usize];
        if let Some(left) = &head.left
            && left.mask & mode.conflict_mask() != 0
        {
            core.leave.follow(left.lsn);
        }
    }

    /// Records at the owner of a granted request whether requests are queued that it may block until its
    /// owner leaves.
    pub(super) fn note_awaited(&self, request: u32, core: &OwnerCore, queued: bool) {
        let Request { head, mode, .. } = self.requests[request as usize];
        if queued && passes(&self.heads[head as usize].resource, mode) {
            core.leave.note_awaited(self.number());
        }
    }
}
