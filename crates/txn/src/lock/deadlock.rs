//! Deadlocks: waiters detect them, and one member is chosen as the victim.
//!
//! There is no monitor thread. A cycle is always closed by an owner that begins to wait: a new edge of the
//! waits-for graph comes from a wait that begins, or ends at an owner that was granted something and runs.
//!
//! # At once
//! An owner that begins to wait follows its waits, owner by owner, with one shard latched at a time. If the
//! walk comes back to the owner there may be a cycle, and the owner runs the full search. All other members
//! of a cycle that it has closed wait already, and keep waiting, so that the walk cannot miss the cycle. A
//! walk stops only after `WALK_OWNERS` owners, where it would cost more than it saves; sleepers search then.
//!
//! # The full search
//! The search sees the whole graph, with all shards latched. So all that it sees is true at one moment, and a
//! cycle is never a false one:
//!
//! 1. Nodes are owners that wait. Edges go to all owners that must release a lock or leave the queue before a
//!    wait can end ([`Shard::blockers`]). All of them must do so (an AND graph). Hence every cycle is a
//!    deadlock, and every deadlock has a cycle.
//! 2. A depth-first search from each waiter finds a cycle, if there is one.
//! 3. The victim is the member with the lowest priority, then the least log to undo, then the youngest;
//!    one that is rolling back already comes last. Its request leaves the queue while the latches are
//!    held.
//! 4. Steps 2 and 3 repeat until no cycle is left; then the latches go, the reports are published, and
//!    the victims are woken.
//!
//! # By sleepers
//! A waiter whose probe is due runs the full search as well, in case the walk found nothing. It skips its
//! search when another one ran meanwhile. Searches of this kind together take at most one part in twenty of
//! the time, so that many waiters do not cause many searches.

use furrow_io::sync::atomic::Ordering;
use std::collections::HashSet;
use std::sync::Arc;

use furrow_io::sync::MutexGuard;
use furrow_io::time::Moment;

use super::core::{Outcome, OwnerCore, Place};
use super::report::{DeadlockProcess, DeadlockReport, DeadlockResource};
use super::shard::{SeenKind, Shard, Wakes, wake};
use super::table::{Pace, Table};

/// Owners that the walk of a new waiter visits at most.
const WALK_OWNERS: usize = 64;
/// Searching may take one part in so many of the time.
const SEARCH_SHARE: u64 = 20;

/// The result of a search.
#[derive(Default)]
struct Found {
    reports: Vec<Arc<DeadlockReport>>,
    wakes: Wakes,
}

/// The graph: all shards, latched.
struct Graph<'a> {
    table: &'a Table,
    shards: Vec<MutexGuard<'a, Shard>>,
}

/// An owner on the path of the search, and its blockers that the search has not followed yet.
struct Step {
    core: Arc<OwnerCore>,
    blockers: Vec<u32>,
}

impl Graph<'_> {
    fn step(&self, core: Arc<OwnerCore>) -> Step {
        let blockers = core.place().map_or_else(Vec::new, |Place { shard, head }| {
            let shard = &self.shards[shard as usize];
            let Some(waiter) = shard.waiter(head, core.id) else {
                return Vec::new();
            };
            let seen = shard.blockers(head, core.id, waiter.target);
            seen.into_iter().map(|seen| seen.owner).collect()
        });
        Step { core, blockers }
    }

    /// The members of some cycle, each waiting for the next.
    fn find_cycle(&self, waiting: &[Arc<OwnerCore>]) -> Option<Vec<Arc<OwnerCore>>> {
        let mut visited = HashSet::new();
        for start in waiting {
            if !visited.insert(start.id) {
                continue;
            }
            let mut path = vec![self.step(Arc::clone(start))];
            while let Some(last) = path.last_mut() {
                let Some(next) = last.blockers.pop() else {
                    path.pop();
                    continue;
                };
                if let Some(at) = path.iter().position(|step| step.core.id == next) {
                    return Some(path.drain(at..).map(|step| step.core).collect());
                }
                if !visited.insert(next) {
                    continue;
                }
                let waits = self.table.owner(next).filter(|core| core.place().is_some());
                path.extend(waits.map(|core| self.step(core)));
            }
        }
        None
    }

    fn report(&self, cycle: &[Arc<OwnerCore>]) -> DeadlockReport {
        let processes: Vec<_> = cycle.iter().filter_map(|core| self.process(core)).collect();
        let rank = |core: &Arc<OwnerCore>| {
            let youngest_first = std::cmp::Reverse(core.begun());
            (
                core.rolling_back(),
                core.priority(),
                core.log_used(),
                youngest_first,
            )
        };
        let victim = (0..cycle.len())
            .min_by_key(|&at| rank(&cycle[at]))
            .unwrap_or(0);
        let mut resources: Vec<DeadlockResource> = Vec::new();
        for Place { shard, head } in cycle.iter().filter_map(|core| core.place()) {
            let shard = &self.shards[shard as usize];
            let resource = shard.resource(head);
            if resources.iter().any(|known| known.resource == resource) {
                continue;
            }
            let mut found = DeadlockResource {
                resource,
                owners: Vec::new(),
                waiters: Vec::new(),
            };
            for seen in shard.seen(head) {
                let Some(at) = cycle.iter().position(|core| core.id == seen.owner) else {
                    continue;
                };
                match seen.kind {
                    SeenKind::Granted => found.owners.push((at, seen.mode)),
                    SeenKind::Converting => found.waiters.push((at, seen.mode, true)),
                    SeenKind::Arriving => found.waiters.push((at, seen.mode, false)),
                }
            }
            resources.push(found);
        }
        debug_assert!(victim < cycle.len(), "a member of the cycle");
        DeadlockReport {
            victim,
            processes,
            resources,
        }
    }

    fn process(&self, core: &OwnerCore) -> Option<DeadlockProcess> {
        let Place { shard, head } = core.place()?;
        let shard = &self.shards[shard as usize];
        let waiter = shard.waiter(head, core.id)?;
        Some(DeadlockProcess {
            owner_id: core.id,
            session_id: core.session_id,
            txn: core.txn(),
            priority: core.priority(),
            log_used: core.log_used(),
            isolation: core.isolation(),
            resource: shard.resource(head),
            mode: waiter.target,
            wait_ms: waiter.since.elapsed_us() / 1000,
            timeout: waiter.timeout,
            started: core.started(),
        })
    }

    /// Ends the victim's wait.
    fn end_wait(
        &mut self,
        victim: &Arc<OwnerCore>,
        report: Arc<DeadlockReport>,
        wakes: &mut Wakes,
    ) {
        let Some(Place { shard, head }) = victim.place() else {
            return;
        };
        debug_assert!(
            self.shards[shard as usize]
                .waiter(head, victim.id)
                .is_some(),
            "who has a place waits there"
        );
        self.shards[shard as usize].withdraw(head, victim.id, wakes);
        victim.end_wait(Outcome::Victim(report));
        wakes.push(Arc::clone(victim));
    }
}

impl Table {
    /// Whether the wait that `core` has just begun may have closed a cycle.
    pub(super) fn may_close_cycle(&self, core: &OwnerCore) -> bool {
        let mut visited = Vec::new();
        let mut ahead = self.waits_for(core);
        while let Some(next) = ahead.pop() {
            if next == core.id {
                return true;
            }
            if visited.contains(&next) {
                continue;
            }
            if visited.len() == WALK_OWNERS {
                return false;
            }
            visited.push(next);
            if let Some(owner) = self.owner(next) {
                ahead.extend(self.waits_for(&owner));
            }
        }
        false
    }

    /// The owners for which an owner waits at this moment.
    fn waits_for(&self, core: &OwnerCore) -> Vec<u32> {
        let Some(place) = core.place() else {
            return Vec::new();
        };
        let shard = self.shard(place.shard as usize);
        // Written under this latch only: it has not moved on, so that the head is still its own.
        if core.place() != Some(place) {
            return Vec::new();
        }
        let target = shard.waiter(place.head, core.id).map(|w| w.target);
        let seen = target.map(|target| shard.blockers(place.head, core.id, target));
        seen.into_iter().flatten().map(|seen| seen.owner).collect()
    }

    /// Resolves all deadlocks there are, for a waiter that may be in one.
    pub(super) fn resolve_at_once(&self, core: &OwnerCore) {
        let mut pace = self.pace.lock();
        // Another search may have ended this wait.
        if core.place().is_some() {
            let found = self.search(&mut pace);
            drop(pace);
            self.publish(found);
        }
    }

    /// Looks for deadlocks on behalf of a waiter that has waited since `since`, and resolves all there are.
    pub(super) fn resolve_deadlocks(&self, since: Moment) {
        // The thread that holds the pace searches for all waiters.
        let Some(mut pace) = self.pace.try_lock() else {
            return;
        };
        let now = Moment::now();
        let ago_ns = now.since_ns(pace.began);
        let done_for_us = pace.began > since && ago_ns < self.config.first_probe.as_nanos() as u64;
        if done_for_us || ago_ns < pace.took_ns.saturating_mul(SEARCH_SHARE) {
            return;
        }
        let found = self.search(&mut pace);
        drop(pace);
        self.publish(found);
    }

    /// Finds all cycles, and ends the wait of one member of each.
    fn search(&self, pace: &mut Pace) -> Found {
        let began = Moment::now();
        let mut found = Found::default();
        let mut graph = Graph {
            table: self,
            shards: self.all_shards(),
        };
        let mut waiting = self.waiting_owners();
        while let Some(cycle) = graph.find_cycle(&waiting) {
            let report = Arc::new(graph.report(&cycle));
            debug_assert_eq!(
                report.processes.len(),
                cycle.len(),
                "every member of a cycle waits"
            );
            let victim = &cycle[report.victim];
            graph.end_wait(victim, Arc::clone(&report), &mut found.wakes);
            debug_assert!(victim.place().is_none(), "a victim waits no more");
            found.reports.push(report);
            waiting.retain(|core| core.place().is_some());
        }
        drop(graph);
        *pace = Pace {
            began,
            took_ns: began.elapsed_ns(),
        };
        found
    }

    /// Publishes the reports, then wakes the victims: a session that gets error 1205 finds the report in the
    /// log. No latch may be held.
    fn publish(&self, found: Found) {
        let count = found.reports.len() as u64;
        self.deadlocks.fetch_add(count, Ordering::Relaxed);
        for report in found.reports {
            (self.on_deadlock)(&report);
        }
        wake(found.wakes);
    }
}
