//! An array at work: a discrete-event simulation in nanoseconds.
//!
//! # How a request travels
//! 1. [`Array::submit`] gives it to the controller, which takes its overhead; the bytes of a write pass one
//!    of the paths first.
//! 2. A read that the read cache holds is done. A write that fits the write-back cache is done as well, and
//!    becomes a destage in the background; one that does not fit waits until destages have freed space.
//! 3. All others become operations of drives (`plan`), which wait in the queues of their drives
//!    (`station`). A write of parity levels has two phases: what must be read, then what is written.
//! 4. When its last operation is done, the bytes of a read pass a path, and the request is complete.
//!
//! # Invariants
//! 1. Time never runs backwards: `submit` asserts that it gets no time before the last event.
//! 2. Events of the same nanosecond happen in the order in which they were scheduled, so that a run
//!    depends on nothing but its input.
//! 3. A slot of a request is freed once, by its completion.

mod cache;
mod plan;
mod spec;
mod station;

pub use spec::{ArraySpec, Controller, MirrorRead, Scheduler, WriteCache};

use crate::device::{Device, Operation};
use crate::raid::Raid;
use cache::{ReadCache, WriteBack};
use furrow_io::random::{RngCore, seeded};
use plan::{DriveOperation, Operations, Plan};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use station::Station;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What a request does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// It reads.
    Read,
    /// It writes.
    Write,
    /// It makes what was written durable.
    Flush,
}

/// A request to the array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// What it does.
    pub direction: Direction,
    /// Byte of the array.
    pub offset: u64,
    /// Length.
    pub bytes: u64,
}

/// A request that is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// The caller's name of the request.
    pub tag: u64,
    /// When it was submitted.
    pub submitted_ns: u64,
    /// When it was done.
    pub finished_ns: u64,
}

/// What an array did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Requests that are done.
    pub requests: u64,
    /// Reads and writes that touched more than one stripe unit.
    pub split: u64,
    /// Operations of drives.
    pub operations: u64,
    /// Reads that the read cache answered.
    pub cache_hits: u64,
    /// Writes that waited for space in the write-back cache.
    pub stalled: u64,
    /// Time that drives worked, summed over drives.
    pub busy_ns: u64,
    /// Bytes of requests under way, integrated over time.
    pub byte_ns_in_flight: u128,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A request reaches the controller's logic.
    Arrive(u32),
    /// A drive ends an operation of a request.
    Done { drive: u32, slot: u32 },
    /// A request is handed back.
    Deliver(u32),
}

/// A request under way, or a destage.
#[derive(Debug, Clone)]
struct Active {
    tag: u64,
    submitted_ns: u64,
    request: Request,
    outstanding: u32,
    /// The second phase of a write of parity levels.
    then: Operations,
    destage: bool,
    live: bool,
}

/// An array with everything under way.
#[derive(Debug, Clone)]
pub struct Array {
    spec: ArraySpec,
    raid: Raid,
    capacity_bytes: u64,
    stations: Vec<Station>,
    read_cache: ReadCache,
    write_back: Option<WriteBack>,
    paths_free: SmallVec<[u64; 2]>,
    next_path: usize,
    next_copy: u32,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    scheduled: u64,
    active: Vec<Active>,
    free: Vec<u32>,
    now: u64,
    in_flight: u64,
    in_flight_bytes: u64,
    done: Vec<Completion>,
    totals: Totals,
}

impl Array {
    /// An idle array; the seed sets the angles of its drives.
    pub fn new(spec: &ArraySpec, seed: u64) -> Array {
        let mut rng = seeded(seed);
        let stations = (0..spec.raid.drives())
            .map(|_| {
                Station::new(
                    Device::new(&spec.profile, rng.next_u64() >> 1),
                    spec.scheduler,
                )
            })
            .collect();
        let controller = &spec.controller;
        Array {
            raid: spec.raid,
            capacity_bytes: spec.capacity_bytes(),
            stations,
            read_cache: ReadCache::new(controller.read_cache_bytes),
            write_back: match controller.write_cache {
                WriteCache::Through => None,
                WriteCache::Back { bytes } => Some(WriteBack::new(bytes, spec.raid.drives())),
            },
            paths_free: SmallVec::from_elem(0, controller.paths.clamp(1, 2) as usize),
            next_path: 0,
            next_copy: 0,
            events: BinaryHeap::new(),
            scheduled: 0,
            active: Vec::new(),
            free: Vec::new(),
            now: 0,
            in_flight: 0,
            in_flight_bytes: 0,
            done: Vec::new(),
            totals: Totals::default(),
            spec: spec.clone(),
        }
    }

    /// The specification that it was created from.
    pub fn spec(&self) -> &ArraySpec {
        &self.spec
    }

    /// Its size.
    pub fn capacity_bytes(&self) -> u64 {
        self.capacity_bytes
    }

    /// The time of the last event.
    pub fn now_ns(&self) -> u64 {
        self.now
    }

    /// Requests under way, without destages.
    pub fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// What it did so far.
    pub fn totals(&self) -> Totals {
        Totals {
            busy_ns: self.stations.iter().map(Station::busy_ns).sum(),
            ..self.totals
        }
    }

    /// Takes a request at `at`, which must not lie before the last event.
    pub fn submit(&mut self, at: u64, tag: u64, request: Request) {
        assert!(at >= self.now, "a request is submitted in the past");
        let end = request.offset.checked_add(request.bytes);
        assert!(
            end.is_some_and(|end| end <= self.capacity_bytes),
            "a request ends past the end of the array"
        );
        self.turn_clock(at);
        let slot = self.take_slot(tag, request, false);
        self.in_flight += 1;
        self.in_flight_bytes += request.bytes;
        let controller = &self.spec.controller;
        let mut arrives = at + controller.overhead_ns;
        match request.direction {
            Direction::Write => arrives = self.pass_path(arrives, request.bytes),
            Direction::Flush => {
                let done = arrives + controller.sync_ns;
                return self.schedule(done, Event::Deliver(slot));
            }
            Direction::Read => {}
        }
        if request.bytes == 0 {
            self.schedule(arrives, Event::Deliver(slot));
        } else if arrives == at {
            self.arrive(slot);
        } else {
            self.schedule(arrives, Event::Arrive(slot));
        }
    }

    /// The time of the next event.
    pub fn next_event_ns(&self) -> Option<u64> {
        self.events.peek().map(|Reverse((at, ..))| *at)
    }

    /// Lets the next event happen; `false` when there is none.
    pub fn step(&mut self) -> bool {
        let Some(Reverse((at, _, event))) = self.events.pop() else {
            return false;
        };
        self.turn_clock(at);
        match event {
            Event::Arrive(slot) => self.arrive(slot),
            Event::Done { drive, slot } => {
                self.stations[drive as usize].finish();
                self.start_next(drive);
                self.operation_done(slot);
            }
            Event::Deliver(slot) => self.deliver(slot),
        }
        true
    }

    /// Lets everything happen up to `until`.
    pub fn advance(&mut self, until: u64) {
        while self.next_event_ns().is_some_and(|at| at <= until) {
            self.step();
        }
        self.turn_clock(until.max(self.now));
    }

    /// The completions since the last call, in order.
    pub fn take_done(&mut self) -> std::vec::Drain<'_, Completion> {
        self.done.drain(..)
    }

    /// The next completion that was not taken yet; lets events happen until there is one.
    pub fn next_completion(&mut self) -> Option<Completion> {
        while self.done.is_empty() {
            if !self.step() {
                return None;
            }
        }
        // One event completes one request, so that this is no queue in practice.
        Some(self.done.remove(0))
    }

    fn turn_clock(&mut self, to: u64) {
        debug_assert!(to >= self.now, "time runs backwards");
        let span = u128::from(to - self.now);
        self.totals.byte_ns_in_flight += span * u128::from(self.in_flight_bytes);
        self.now = to;
    }

    fn schedule(&mut self, at: u64, event: Event) {
        self.scheduled += 1;
        self.events.push(Reverse((at, self.scheduled, event)));
    }

    fn take_slot(&mut self, tag: u64, request: Request, destage: bool) -> u32 {
        let fresh = Active {
            tag,
            submitted_ns: self.now,
            request,
            outstanding: 0,
            then: SmallVec::new(),
            destage,
            live: true,
        };
        match self.free.pop() {
            Some(slot) => {
                self.active[slot as usize] = fresh;
                slot
            }
            None => {
                self.active.push(fresh);
                (self.active.len() - 1) as u32
            }
        }
    }

    /// When `bytes` that start at `at` have passed a path; paths take turns.
    fn pass_path(&mut self, at: u64, bytes: u64) -> u64 {
        let Some(rate) = self.spec.controller.path_rate else {
            return at;
        };
        let path = self.next_path % self.paths_free.len();
        self.next_path = path + 1;
        let begin = self.paths_free[path].max(at);
        self.paths_free[path] = begin + crate::device::transfer_ns(bytes, rate);
        self.paths_free[path]
    }

    fn arrive(&mut self, slot: u32) {
        let request = self.active[slot as usize].request;
        if self.raid.units_touched(request.offset, request.bytes) > 1 {
            self.totals.split += 1;
        }
        if request.direction == Direction::Read {
            if self.read_cache.holds(request.offset, request.bytes) {
                self.totals.cache_hits += 1;
                return self.complete(slot);
            }
            return self.issue_read(slot);
        }
        let Some(cache) = &mut self.write_back else {
            return self.issue_write(slot);
        };
        if cache.admit(request.bytes) {
            self.accept(slot);
        } else {
            self.totals.stalled += 1;
            cache.wait(slot);
        }
    }

    /// The write-back cache has a write: the host has its answer, the drives get it in the background.
    fn accept(&mut self, slot: u32) {
        let request = self.active[slot as usize].request;
        if let Some(cache) = &mut self.write_back {
            cache.put(request);
        }
        self.complete(slot);
        self.destage();
    }

    fn destage(&mut self) {
        while let Some(request) = self.write_back.as_mut().and_then(WriteBack::next_destage) {
            let slot = self.take_slot(0, request, true);
            self.issue_write(slot);
        }
    }

    fn issue_read(&mut self, slot: u32) {
        let request = self.active[slot as usize].request;
        let mut operations = Operations::new();
        for piece in self.raid.pieces(request.offset, request.bytes) {
            let offset = self.raid.drive_offset(piece.row, piece.within);
            let first = self.raid.data_drive(piece.row, piece.column);
            let drive = self.choose_copy(first, offset);
            let operation = Operation {
                write: false,
                offset,
                bytes: piece.bytes,
            };
            operations.push(DriveOperation { drive, operation });
        }
        self.issue(slot, &operations);
    }

    /// The drive that reads a mirrored unit.
    fn choose_copy(&mut self, first: u32, offset: u64) -> u32 {
        let copies = self.raid.copies();
        if copies == 1 {
            return first;
        }
        let turn = self.next_copy % copies;
        self.next_copy = turn + 1;
        let in_turn = (0..copies).map(|step| first + (turn + step) % copies);
        let stations = &self.stations;
        let of = |drive: u32| &stations[drive as usize];
        let chosen = match self.spec.mirror_read {
            MirrorRead::RoundRobin => None,
            MirrorRead::ShorterQueue => {
                in_turn.min_by_key(|&drive| (of(drive).length(), of(drive).distance(offset)))
            }
            MirrorRead::NearestArm => {
                in_turn.min_by_key(|&drive| (of(drive).distance(offset), of(drive).length()))
            }
        };
        chosen.unwrap_or(first + turn)
    }

    fn issue_write(&mut self, slot: u32) {
        let request = self.active[slot as usize].request;
        let Plan { first, then } = plan::write(&self.raid, request.offset, request.bytes);
        self.active[slot as usize].then = then;
        self.issue(slot, &first);
    }

    fn issue(&mut self, slot: u32, operations: &[DriveOperation]) {
        debug_assert!(
            !operations.is_empty(),
            "a request without operations never ends"
        );
        self.active[slot as usize].outstanding = operations.len() as u32;
        self.totals.operations += operations.len() as u64;
        for DriveOperation { drive, operation } in operations {
            self.stations[*drive as usize].push(self.now, slot, *operation);
            self.start_next(*drive);
        }
    }

    fn start_next(&mut self, drive: u32) {
        let now = self.now;
        while let Some((slot, done)) = self.stations[drive as usize].start(now) {
            self.schedule(done, Event::Done { drive, slot });
        }
    }

    fn operation_done(&mut self, slot: u32) {
        let active = &mut self.active[slot as usize];
        debug_assert!(
            active.live && active.outstanding > 0,
            "an operation of no request"
        );
        active.outstanding -= 1;
        if active.outstanding > 0 {
            return;
        }
        let then = std::mem::take(&mut active.then);
        if !then.is_empty() {
            return self.issue(slot, &then);
        }
        if self.active[slot as usize].destage {
            return self.end_destage(slot);
        }
        self.complete(slot);
    }

    fn end_destage(&mut self, slot: u32) {
        let bytes = self.active[slot as usize].request.bytes;
        self.release(slot);
        let mut admitted: SmallVec<[u32; 4]> = SmallVec::new();
        if let Some(cache) = &mut self.write_back {
            cache.end_destage(bytes);
            let active = &self.active;
            while let Some(next) = cache.admit_waiting(|slot| active[slot as usize].request.bytes) {
                admitted.push(next);
            }
        }
        for next in admitted {
            self.accept(next);
        }
        self.destage();
    }

    /// The drives are done with a request; the bytes of a read pass a path.
    fn complete(&mut self, slot: u32) {
        let request = self.active[slot as usize].request;
        self.read_cache.put(request.offset, request.bytes);
        if request.direction == Direction::Read && self.spec.controller.path_rate.is_some() {
            let at = self.pass_path(self.now, request.bytes);
            return self.schedule(at, Event::Deliver(slot));
        }
        self.deliver(slot);
    }

    fn deliver(&mut self, slot: u32) {
        let active = &self.active[slot as usize];
        debug_assert!(
            self.now >= active.submitted_ns,
            "done before it was submitted"
        );
        self.done.push(Completion {
            tag: active.tag,
            submitted_ns: active.submitted_ns,
            finished_ns: self.now,
        });
        self.totals.requests += 1;
        self.in_flight -= 1;
        self.in_flight_bytes -= active.request.bytes;
        self.release(slot);
    }

    fn release(&mut self, slot: u32) {
        let active = &mut self.active[slot as usize];
        assert!(active.live, "a request ends twice");
        active.live = false;
        self.free.push(slot);
    }
}
