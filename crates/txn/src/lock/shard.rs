//! One shard of the lock table: lock heads by resource, granted requests, waiting queues.
//!
//! Everything here runs under the shard's latch and never blocks. Heads and requests live in slabs with free
//! lists, so that a warm shard allocates nothing unless an owner has to wait.
//!
//! # Invariants
//! 1. A head exists exactly while it has a granted request or a waiter.
//! 2. `mask` has the bit of each granted mode that is not marked, `left_mask` that of each marked one;
//!    `waiting` has that of each mode that an owner waits for.
//! 3. All granted modes of one head are compatible with each other, except that a marked one, whose owner
//!    leaves, need not be compatible with those granted after it (see `left`).
//! 4. No owner waits for a request that could be granted: `pump` runs after each removal, each downgrade and
//!    each mark that an owner sets on its own locks.

use std::sync::Arc;

use furrow_io::mutation::{Mutation, mutated};
use furrow_io::time::Moment;

use super::core::{Outcome, OwnerCore, Place};
use super::mode::{LockMode, MODE_COUNT};
use super::passing::{Left, PASSING};
use super::resource::Resource;
use super::timeout::Timeout;

mod left;
mod seen;

pub(super) use seen::SeenKind;

/// No head, no request.
const NIL: u32 = u32::MAX;
/// Buckets of an empty shard; also the slab size up to which an idle shard keeps its memory.
const FIRST_BUCKETS: usize = 64;
const KEEP_SLAB: usize = 8192;

/// The owners to wake once the shard's latch is released.
pub(super) type Wakes = Vec<Arc<OwnerCore>>;

/// Wakes them; no latch of a shard is held.
pub(super) fn wake(wakes: Wakes) {
    for core in wakes {
        core.wake();
    }
}

/// A lock head: one locked resource.
#[derive(Debug)]
struct Head {
    resource: Resource,
    hash: u64,
    /// Next head of the bucket, or of the free list.
    next: u32,
    /// First granted request.
    first: u32,
    mask: u32,
    waiting: u32,
    /// The marked requests, once there was one. A freed head keeps the memory.
    left: Option<Box<Left>>,
    queue: Option<Box<Queue>>,
    counts: [u32; MODE_COUNT],
}

/// There is one for each locked row.
const _: () = assert!(size_of::<Head>() <= 152);

/// A granted request.
#[derive(Debug, Clone, Copy)]
struct Request {
    owner: u32,
    head: u32,
    prev: u32,
    /// Next request of the head, or of the free list.
    next: u32,
    mode: LockMode,
    /// Whether it is marked: its owner leaves.
    left: bool,
}

/// The waiters of a head: those that already hold a mode of it go first.
#[derive(Debug, Default)]
struct Queue {
    converting: Vec<Waiter>,
    arriving: Vec<Waiter>,
}

/// A request that waits.
#[derive(Debug, Clone)]
pub(super) struct Waiter {
    pub(super) core: Arc<OwnerCore>,
    /// The mode it will hold.
    pub(super) target: LockMode,
    /// Its granted request, when it converts.
    pub(super) request: Option<u32>,
    /// The request only tests whether it could be granted; it is not to be held.
    pub(super) instant: bool,
    pub(super) since: Moment,
    pub(super) timeout: Timeout,
}

/// The result of a request.
pub(super) enum Asked {
    Granted(u32),
    Blocked(u32),
    Full,
}

/// A shard of the lock table.
#[derive(Debug)]
pub(super) struct Shard {
    number: u32,
    buckets: Vec<u32>,
    heads: Vec<Head>,
    free_head: u32,
    live_heads: usize,
    requests: Vec<Request>,
    free_request: u32,
    live_requests: usize,
    limit: usize,
    /// Locks and conversions requested.
    pub(super) asked: u64,
}

impl Shard {
    pub(super) fn new(number: u32, limit: usize) -> Shard {
        Shard {
            number,
            buckets: vec![NIL; FIRST_BUCKETS],
            heads: Vec::new(),
            free_head: NIL,
            live_heads: 0,
            requests: Vec::new(),
            free_request: NIL,
            live_requests: 0,
            limit,
            asked: 0,
        }
    }

    /// Its number.
    pub(super) fn number(&self) -> usize {
        self.number as usize
    }

    /// Granted requests.
    pub(super) fn live_requests(&self) -> usize {
        self.live_requests
    }

    /// Resources locked or waited for.
    pub(super) fn live_heads(&self) -> usize {
        self.live_heads
    }

    /// Whether a resource is locked or waited for.
    pub(super) fn has(&self, hash: u64, resource: &Resource) -> bool {
        self.find(hash, resource) != NIL
    }

    fn head_mut(&mut self, head: u32) -> &mut Head {
        &mut self.heads[head as usize]
    }

    /// Requests a lock that the owner doesn't hold in any mode.
    #[inline]
    pub(super) fn acquire(
        &mut self,
        hash: u64,
        resource: &Resource,
        owner: u32,
        mode: LockMode,
    ) -> Asked {
        if self.live_requests >= self.limit {
            return Asked::Full;
        }
        let head = match self.find(hash, resource) {
            NIL => self.new_head(hash, resource),
            found => {
                let held = &self.heads[found as usize];
                let ahead = held.waiting;
                if (held.mask | ahead) & mode.conflict_mask() != 0 || self.is_stopped(found, mode) {
                    return Asked::Blocked(found);
                }
                self.count_passed(found, mode, ahead);
                found
            }
        };
        Asked::Granted(self.grant_new(head, owner, mode))
    }

    /// Records a lock that its owner was granted already by a note, as if it had been requested here at that
    /// time. The limit of the lock table does not apply.
    pub(super) fn admit(
        &mut self,
        hash: u64,
        resource: &Resource,
        owner: u32,
        mode: LockMode,
    ) -> u32 {
        let head = match self.find(hash, resource) {
            NIL => self.new_head(hash, resource),
            found => found,
        };
        self.grant_new(head, owner, mode)
    }

    /// Changes a granted request to the stronger `target` when no other lock is in the way; otherwise returns
    /// the head.
    pub(super) fn convert(&mut self, request: u32, target: LockMode) -> Result<(), u32> {
        let Request { head, mode, .. } = self.requests[request as usize];
        if self.mask_of_others(head, Some(mode)) & target.conflict_mask() != 0
            || self.is_conversion_stopped(head, target)
        {
            return Err(head);
        }
        self.set_mode(request, target);
        Ok(())
    }

    /// Whether a request for `mode` by an owner that holds `own` would be granted now, if no owner left; else
    /// the head that refuses it.
    #[inline]
    pub(super) fn probe(
        &self,
        hash: u64,
        resource: &Resource,
        own: Option<LockMode>,
        mode: LockMode,
    ) -> Result<(), u32> {
        let head = self.find(hash, resource);
        if head == NIL {
            return Ok(());
        }
        let queue_counts = if own.is_none() {
            self.heads[head as usize].waiting
        } else {
            0
        };
        let left = self.heads[head as usize].left_mask();
        let others = self.mask_of_others(head, own) | left | queue_counts;
        if others & mode.conflict_mask() == 0 {
            Ok(())
        } else {
            Err(head)
        }
    }

    /// Puts a request that was refused into the queue.
    pub(super) fn enqueue(&mut self, head: u32, waiter: Waiter) {
        debug_assert!(
            !self
                .blockers(head, waiter.core.id, waiter.target)
                .is_empty(),
            "no waiter is left that could be granted"
        );
        waiter.core.set_place(Some(Place {
            shard: self.number,
            head,
        }));
        let head = self.head_mut(head);
        head.waiting |= waiter.target.bit();
        let queue = head.queue.get_or_insert_default();
        if waiter.request.is_some() {
            queue.converting.push(waiter);
        } else {
            queue.arriving.push(waiter);
        }
    }

    /// Takes a waiting request out of its queue and grants the requests that it blocked.
    pub(super) fn withdraw(&mut self, head: u32, owner: u32, wakes: &mut Wakes) -> Option<Waiter> {
        let queue = self.head_mut(head).queue.as_mut()?;
        let Queue {
            converting,
            arriving,
        } = &mut **queue;
        let taken = [converting, arriving].into_iter().find_map(|list| {
            let at = list.iter().position(|waiter| waiter.core.id == owner)?;
            Some(list.remove(at))
        })?;
        taken.core.set_place(None);
        self.pump(head, wakes);
        Some(taken)
    }

    /// Gives a granted request back.
    #[inline]
    pub(super) fn release(&mut self, request: u32, wakes: &mut Wakes) {
        let Request {
            head,
            prev,
            next,
            mode,
            left,
            ..
        } = self.requests[request as usize];
        debug_assert!(self.live_requests > 0, "a request is released once");
        match prev {
            NIL => self.head_mut(head).first = next,
            before => self.requests[before as usize].next = next,
        }
        if next != NIL {
            self.requests[next as usize].prev = prev;
        }
        self.requests[request as usize].next = self.free_request;
        self.free_request = request;
        self.live_requests -= 1;
        match left {
            true => self.head_mut(head).left_mut().forget(mode),
            false => self.head_mut(head).forget_mode(mode),
        }
        if self.heads[head as usize].queue.is_some() {
            self.pump(head, wakes);
        } else if next == NIL && prev == NIL {
            self.drop_head(head);
        }
    }

    /// Changes a granted request of this owner to a weaker mode. Requests that wait beside it now wait until
    /// the owner leaves, if they could not pass the stronger mode.
    pub(super) fn downgrade(
        &mut self,
        request: u32,
        mode: LockMode,
        core: &OwnerCore,
        wakes: &mut Wakes,
    ) {
        debug_assert!(
            self.requests[request as usize].mode.covers(mode),
            "a weaker mode"
        );
        self.set_mode(request, mode);
        let head = self.requests[request as usize].head;
        if self.heads[head as usize].queue.is_some() {
            self.pump(head, wakes);
            let queued = self.heads[head as usize].waiting & PASSING != 0;
            self.note_awaited(request, core, queued);
        }
    }

    fn set_mode(&mut self, request: u32, mode: LockMode) {
        let Request {
            head,
            mode: before,
            left,
            ..
        } = self.requests[request as usize];
        debug_assert!(!left, "an owner that leaves changes no lock");
        debug_assert!(
            self.mask_of_others(head, Some(before)) & mode.conflict_mask() == 0,
            "granted modes go together"
        );
        debug_assert!(
            before.covers(mode) || !self.is_conversion_stopped(head, mode),
            "only modes that pass go with marked locks"
        );
        self.head_mut(head).forget_mode(before);
        self.head_mut(head).note_mode(mode);
        self.requests[request as usize].mode = mode;
    }

    /// The modes granted to others than the owner that holds `own`, without those of marked locks.
    fn mask_of_others(&self, head: u32, own: Option<LockMode>) -> u32 {
        let head = &self.heads[head as usize];
        match own {
            Some(own) if head.counts[own as usize] == 1 => head.mask & !own.bit(),
            _ => head.mask,
        }
    }

    /// Grants what it can: first conversions, which only granted locks of others block; then arrivals in
    /// order, none of them past a waiter that it conflicts with.
    fn pump(&mut self, head: u32, wakes: &mut Wakes) {
        let Some(mut queue) = self.head_mut(head).queue.take() else {
            return;
        };
        let mut ahead = 0;
        let mut at = 0;
        while at < queue.converting.len() {
            let waiter = &queue.converting[at];
            let own = waiter
                .request
                .map(|request| self.requests[request as usize].mode);
            if self.mask_of_others(head, own) & waiter.target.conflict_mask() == 0
                && !self.is_waiter_stopped(head, waiter, ahead)
            {
                let waiter = queue.converting.remove(at);
                let later = queue.converting.len() - at + queue.arriving.len();
                self.grant_waiter(head, &waiter, ahead != 0 || later > 0, wakes);
            } else {
                ahead |= waiter.target.bit();
                at += 1;
            }
        }
        let mut arriving = std::mem::take(&mut queue.arriving).into_iter();
        while let Some(waiter) = arriving.next() {
            let in_the_way = self.heads[head as usize].mask | ahead;
            if in_the_way & waiter.target.conflict_mask() == 0
                && !self.is_waiter_stopped(head, &waiter, ahead)
            {
                self.count_passed(head, waiter.target, ahead);
                let later = arriving.len();
                self.grant_waiter(head, &waiter, ahead != 0 || later > 0, wakes);
            } else {
                ahead |= waiter.target.bit();
                queue.arriving.push(waiter);
            }
        }
        self.head_mut(head).waiting = ahead;
        self.reset_passed(head, ahead);
        debug_assert_eq!(
            ahead == 0,
            queue.converting.is_empty() && queue.arriving.is_empty(),
            "who is still queued is in the way of later ones"
        );
        if ahead != 0 {
            self.head_mut(head).queue = Some(queue);
        } else if self.heads[head as usize].first == NIL {
            self.drop_head(head);
        }
    }

    /// Grants a request of the queue; `queued`: others may stay in it.
    fn grant_waiter(&mut self, head: u32, waiter: &Waiter, queued: bool, wakes: &mut Wakes) {
        let granted = match (waiter.instant, waiter.request) {
            (true, _) => None,
            (false, Some(request)) => {
                self.set_mode(request, waiter.target);
                Some(request)
            }
            (false, None) => Some(self.grant_new(head, waiter.core.id, waiter.target)),
        };
        if let Some(request) = granted {
            self.note_followed(request, &waiter.core);
            // Before the wait ends: then the owner may leave.
            self.note_awaited(request, &waiter.core, queued);
        }
        waiter
            .core
            .end_wait(Outcome::Granted(granted, Moment::now()));
        wakes.push(Arc::clone(&waiter.core));
    }

    #[inline]
    fn grant_new(&mut self, head: u32, owner: u32, mode: LockMode) -> u32 {
        debug_assert!(
            mutated(Mutation::ForgetNotes)
                || self.heads[head as usize].mask & mode.conflict_mask() == 0,
            "granted modes go together"
        );
        debug_assert!(
            !self.is_conversion_stopped(head, mode),
            "only modes that pass go with marked locks"
        );
        let next = self.heads[head as usize].first;
        let request = Request {
            owner,
            head,
            prev: NIL,
            next,
            mode,
            left: false,
        };
        let number = match self.free_request {
            NIL => {
                self.requests.push(request);
                self.requests.len() as u32 - 1
            }
            free => {
                self.free_request = self.requests[free as usize].next;
                self.requests[free as usize] = request;
                free
            }
        };
        if next != NIL {
            self.requests[next as usize].prev = number;
        }
        self.live_requests += 1;
        let head = self.head_mut(head);
        head.first = number;
        head.note_mode(mode);
        number
    }

    #[inline]
    fn find(&self, hash: u64, resource: &Resource) -> u32 {
        let mut at = self.buckets[hash as usize & (self.buckets.len() - 1)];
        while at != NIL {
            let head = &self.heads[at as usize];
            if head.hash == hash && head.resource == *resource {
                return at;
            }
            at = head.next;
        }
        NIL
    }

    fn new_head(&mut self, hash: u64, resource: &Resource) -> u32 {
        debug_assert!(!self.has(hash, resource), "a resource has one head");
        if self.live_heads >= self.buckets.len() {
            self.grow_buckets();
        }
        let bucket = hash as usize & (self.buckets.len() - 1);
        let next = self.buckets[bucket];
        let number = match self.free_head {
            NIL => {
                self.heads.push(Head::new(*resource, hash, next));
                self.heads.len() as u32 - 1
            }
            free => {
                // A freed head has no modes and no queue: only its resource and hash are set again.
                let head = &mut self.heads[free as usize];
                self.free_head = head.next;
                debug_assert!(
                    head.mask | head.left_mask() == 0 && head.queue.is_none(),
                    "a freed head has no modes and no queue"
                );
                (head.resource, head.hash, head.next) = (*resource, hash, next);
                free
            }
        };
        self.buckets[bucket] = number;
        self.live_heads += 1;
        number
    }

    fn drop_head(&mut self, head: u32) {
        let Head { hash, next, .. } = self.heads[head as usize];
        debug_assert!(
            self.heads[head as usize].first == NIL
                && self.heads[head as usize].mask | self.heads[head as usize].left_mask() == 0,
            "a head goes with its last request"
        );
        let bucket = hash as usize & (self.buckets.len() - 1);
        let mut at = self.buckets[bucket];
        if at == head {
            self.buckets[bucket] = next;
        } else {
            while self.heads[at as usize].next != head {
                at = self.heads[at as usize].next;
            }
            self.heads[at as usize].next = next;
        }
        self.heads[head as usize].next = self.free_head;
        self.free_head = head;
        self.live_heads -= 1;
        if self.live_heads == 0 && self.heads.len() > KEEP_SLAB {
            let asked = self.asked;
            *self = Shard::new(self.number, self.limit);
            self.asked = asked;
        }
    }

    fn grow_buckets(&mut self) {
        let size = self.buckets.len() * 2;
        debug_assert!(size.is_power_of_two(), "buckets are found by a mask");
        let old = std::mem::replace(&mut self.buckets, vec![NIL; size]);
        for mut at in old {
            while at != NIL {
                let head = &mut self.heads[at as usize];
                let next = head.next;
                let bucket = head.hash as usize & (size - 1);
                head.next = std::mem::replace(&mut self.buckets[bucket], at);
                at = next;
            }
        }
    }
}

impl Head {
    fn new(resource: Resource, hash: u64, next: u32) -> Head {
        Head {
            resource,
            hash,
            next,
            first: NIL,
            mask: 0,
            waiting: 0,
            left: None,
            queue: None,
            counts: [0; MODE_COUNT],
        }
    }

    #[inline]
    fn note_mode(&mut self, mode: LockMode) {
        self.counts[mode as usize] += 1;
        self.mask |= mode.bit();
    }

    #[inline]
    fn forget_mode(&mut self, mode: LockMode) {
        let count = &mut self.counts[mode as usize];
        debug_assert!(*count > 0, "a mode is counted when it is granted");
        *count -= 1;
        if *count == 0 {
            self.mask &= !mode.bit();
        }
    }
}
