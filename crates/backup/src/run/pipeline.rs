//! The threads of a backup and what they share.

use super::pacer::{Flow, Pacer};
use super::produce::{Producer, READERS};
use super::queue::Queue;
use super::target::Target;
use super::{BackupRequest, BufferFigures, FilePages, Listener, Step};
use crate::BackupError;
use crate::media::{ChunkHeader, Packer, SetInfo, StripeWriter, UNIT, padded};
use furrow_engine::{BackupSource, EngineError};
use furrow_format::PAGE_SIZE;
use furrow_io::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use furrow_io::sync::{Condvar, Mutex};
use furrow_io::time::{Duration, WallTime};
use furrow_io::{AlignedBuf, thread};
use furrow_observe::task::{self, Resource, Task};
use furrow_observe::waits::WaitType;
use std::sync::Arc;

/// How long the session's thread waits before it looks for a cancel.
const LOOK: Duration = Duration::from_millis(50);
/// Write buffers for each stripe beside the one that is written, where BUFFERCOUNT is not stated. Each reader
/// has two more.
const DEPTH: usize = 4;

/// A chunk on its way.
#[derive(Debug)]
pub(super) struct Filled {
    pub(super) header: ChunkHeader,
    /// One unit for the header, then the payload.
    pub(super) bytes: AlignedBuf,
    /// Whether the buffer is one of those that packers fill.
    pub(super) packed: bool,
}

/// What the threads of a backup share.
#[derive(Debug)]
pub(super) struct Pipeline<'a> {
    pub(super) request: &'a BackupRequest,
    free: Queue<AlignedBuf>,
    packed_free: Queue<AlignedBuf>,
    filled: Queue<Filled>,
    ready: Queue<Filled>,
    buffers: usize,
    packed_buffers: usize,
    packers_left: AtomicU64,
    error: Mutex<Option<BackupError>>,
    pacer: Pacer,
    /// Readers that have pages in hand: those that do not wait for a buffer or for the pacer.
    busy_readers: AtomicU64,
    /// Chunks that were sent, and bytes of pages and log in those that are written.
    sent: AtomicU64,
    written: AtomicU64,
    written_bytes: AtomicU64,
    /// Bytes of pages and log read so far.
    pub(super) done_bytes: AtomicU64,
    stored_bytes: AtomicU64,
    files: Mutex<Option<Vec<FilePages>>>,
    ended: Mutex<bool>,
    changed: Condvar,
    /// Whether a damaged page was copied.
    pub(super) damaged: AtomicBool,
}

/// Something that packs or unpacks runs in so many threads.
pub(crate) fn worker_count() -> usize {
    thread::available_cpus().max(1)
}

impl Pipeline<'_> {
    /// Copies the database to the stripes; the end of the set.
    pub(super) fn run(
        source: BackupSource,
        request: &BackupRequest,
        info: &SetInfo,
        target: &mut Target,
        listener: &mut dyn Listener,
    ) -> Result<(SetInfo, BackupSource), BackupError> {
        let writers = source.writer_gauge();
        let producer = Producer::new(source, info)?;
        let packs = request.codec != crate::media::Codec::None;
        let stripes = request.devices.len();
        let volumes = producer.volumes();
        let suggested = stripes * (DEPTH + 1) + 2 * READERS * volumes;
        let buffers = request.buffer_count.unwrap_or(suggested).max(volumes + 1);
        let packed_buffers = if packs { buffers } else { 0 };
        // What encryption adds to a payload.
        let tag = if request.key.is_some() { UNIT } else { 0 };
        let raw = || AlignedBuf::new(UNIT + request.transfer_bytes + tag);
        let room = padded(request.codec.bound(request.transfer_bytes)) + tag;
        let packed = || AlignedBuf::new(UNIT + room);
        let pipeline = Pipeline {
            request,
            free: Queue::new((0..buffers).map(|_| raw())),
            packed_free: Queue::new((0..packed_buffers).map(|_| packed())),
            filled: Queue::new([]),
            ready: Queue::new([]),
            buffers,
            packed_buffers,
            packers_left: AtomicU64::new(worker_count() as u64),
            error: Mutex::new(None),
            pacer: Pacer::new(request.throttle, writers),
            busy_readers: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            written: AtomicU64::new(0),
            written_bytes: AtomicU64::new(0),
            done_bytes: AtomicU64::new(0),
            stored_bytes: AtomicU64::new(0),
            files: Mutex::new(None),
            ended: Mutex::new(false),
            changed: Condvar::new(),
            damaged: AtomicBool::new(false),
        };
        listener.buffers(&BufferFigures {
            buffers,
            sets: if packs { 2 } else { 1 },
            transfer_bytes: request.transfer_bytes,
            volumes,
            stripes,
        });
        let total = producer.total_bytes();
        listener.step(&Step::Reading(total));
        let position = target.position();
        let produced = pipeline.run_threads(producer, target, (total, position), listener);
        if let Some(error) = pipeline.error.into_inner() {
            return Err(error);
        }
        let mut info = info.clone();
        let source = produced.complete(&mut info)?;
        info.finished_us = WallTime::now().unix_us();
        info.damaged = pipeline.damaged.into_inner();
        info.bytes = pipeline.done_bytes.into_inner();
        info.stored_bytes = pipeline.stored_bytes.into_inner();
        Ok((info, source))
    }

    fn run_threads(
        &self,
        mut producer: Producer,
        target: &mut Target,
        (total, position): (u64, u16),
        listener: &mut dyn Listener,
    ) -> Producer {
        let leader = task::current();
        let mut writers = std::mem::take(&mut target.writers);
        let own = &*target;
        thread::scope(|scope| {
            let mut number = 0;
            let mut child = || {
                number += 1;
                leader.child(number)
            };
            for _ in 0..self.packer_count() {
                let task = child();
                let pack = move || {
                    let _entered = task::enter(&task);
                    self.pack();
                    if self.packers_left.fetch_sub(1, Ordering::AcqRel) == 1 {
                        self.ready.close();
                    }
                };
                self.spawned(thread::spawn_scoped(scope, "backup packer", pack).map(drop));
            }
            for (at, writer) in writers.iter_mut().enumerate() {
                let task = child();
                let write = move || {
                    let _entered = task::enter(&task);
                    if let Err(e) = self.write(writer) {
                        self.fail(own.failed(at, &e));
                    }
                };
                self.spawned(thread::spawn_scoped(scope, "backup writer", write).map(drop));
            }
            let (task, produced) = (child(), &mut producer);
            let produce = move || {
                let _entered = task::enter(&task);
                if let Err(error) = produced.produce(self, &task) {
                    self.fail(error);
                }
                self.filled.close();
                *self.ended.lock() = true;
                self.changed.notify_all();
            };
            self.spawned(thread::spawn_scoped(scope, "backup reader", produce).map(drop));
            self.lead(total, position, listener);
        });
        target.writers = writers;
        producer
    }

    /// Packers; without a codec the filled chunks are ready.
    fn packer_count(&self) -> usize {
        match self.packed_buffers {
            0 => 0,
            _ => worker_count(),
        }
    }

    /// Fails where a thread could not be started.
    pub(super) fn spawned(&self, spawned: std::io::Result<()>) {
        if let Err(e) = spawned {
            self.fail(EngineError::Thread(e).into());
        }
    }

    /// The session's thread: progress and cancel.
    fn lead(&self, total: u64, position: u16, listener: &mut dyn Listener) {
        let wait = task::wait(WaitType::AsyncIoCompletion, Resource::None);
        let mut ended = self.ended.lock();
        while !*ended && self.error.lock().is_none() {
            self.changed.wait_for(&mut ended, LOOK);
            if task::is_cancelled() {
                self.fail(BackupError::Cancelled);
            }
            listener.progress(self.done_bytes.load(Ordering::Relaxed), total);
            self.report_files(position, listener);
        }
        drop(ended);
        wait.finish();
        listener.progress(self.done_bytes.load(Ordering::Relaxed), total);
        self.report_files(position, listener);
    }

    /// Reports the data files once they are read.
    fn report_files(&self, position: u16, listener: &mut dyn Listener) {
        if let Some(files) = self.files.lock().take() {
            listener.files_done(position, &files);
            listener.step(&Step::ReadingLog);
        }
    }

    /// Keeps the first error and breaks everything off.
    pub(super) fn fail(&self, error: BackupError) {
        self.error.lock().get_or_insert(error);
        for queue in [&self.filled, &self.ready] {
            queue.break_off();
        }
        self.free.break_off();
        self.packed_free.break_off();
        self.changed.notify_all();
    }

    /// Waits before some of so many bytes of pages are read, as THROTTLE demands; how many. A backup that
    /// fails ends the wait.
    pub(super) fn pace(&self, bytes: usize) -> usize {
        let ended = || self.error.lock().is_some();
        self.idle(|| self.pacer.take(bytes, || self.flow(), ended))
    }

    /// The same before bytes of the log are read.
    pub(super) fn pace_log(&self, bytes: usize) -> usize {
        let ended = || self.error.lock().is_some();
        self.pacer.take_log(bytes, ended)
    }

    /// How much of a buffer a chunk fills.
    pub(super) fn chunk_bytes(&self) -> usize {
        self.pacer.chunk_bytes(self.request.transfer_bytes)
    }

    /// A reader that waits has nothing in hand.
    fn idle<T>(&self, wait: impl FnOnce() -> T) -> T {
        self.busy_readers.fetch_sub(1, Ordering::AcqRel);
        let waited = wait();
        self.busy_readers.fetch_add(1, Ordering::AcqRel);
        waited
    }

    /// Counts a reader while it reads.
    pub(super) fn as_reader<T>(&self, read: impl FnOnce() -> T) -> T {
        self.busy_readers.fetch_add(1, Ordering::AcqRel);
        let done = read();
        let before = self.busy_readers.fetch_sub(1, Ordering::AcqRel);
        debug_assert!(before > 0, "a reader is counted once");
        done
    }

    /// What has left the pipeline, and whether anything is in it.
    fn flow(&self) -> Flow {
        // In this order: what is read or sent meanwhile counts as in it.
        let written = self.written.load(Ordering::Acquire);
        let is_read = self.busy_readers.load(Ordering::Acquire) > 0;
        Flow {
            written_bytes: self.written_bytes.load(Ordering::Relaxed),
            is_empty: !is_read && written >= self.sent.load(Ordering::Acquire),
        }
    }

    /// An empty buffer for a reader of pages; `None` when the backup has failed.
    pub(super) fn page_buffer(&self) -> Option<AlignedBuf> {
        self.idle(|| self.buffer())
    }

    /// An empty buffer; `None` when the backup has failed.
    pub(super) fn buffer(&self) -> Option<AlignedBuf> {
        if let Some(buffer) = self.free.try_pop() {
            return Some(buffer);
        }
        let wait = task::wait(WaitType::BackupBuffer, Resource::None);
        let buffer = self.free.pop();
        wait.finish();
        buffer
    }

    /// A buffer that was not needed.
    pub(super) fn give_back(&self, buffer: AlignedBuf) {
        self.free.push(buffer);
    }

    /// Sends a chunk on.
    pub(super) fn send(&self, filled: Filled) {
        self.sent.fetch_add(1, Ordering::Release);
        match self.packed_buffers {
            0 => self.ready.push(filled),
            _ => self.filled.push(filled),
        }
    }

    /// Waits until all that was sent is written; `false` when the backup has failed.
    pub(super) fn run_empty(&self) -> bool {
        self.free.wait_for(self.buffers) && self.packed_free.wait_for(self.packed_buffers)
    }

    /// All data files are read.
    pub(super) fn files_done(&self, files: Vec<FilePages>) {
        *self.files.lock() = Some(files);
        self.changed.notify_all();
    }

    /// Without packers nothing closes the queue of the writers.
    pub(super) fn all_sent(&self) {
        match self.packed_buffers {
            0 => self.ready.close(),
            _ => self.filled.close(),
        }
    }

    fn pack(&self) {
        if self.pacer.spares_writers() {
            thread::lower_priority();
        }
        let mut packer = match Packer::new(self.request.codec) {
            Ok(packer) => packer,
            Err(e) => return self.fail(BackupError::of_media("".as_ref(), &e)),
        };
        while let Some(mut filled) = self.filled.pop() {
            let Some(mut packed) = self.packed_free.pop() else {
                return;
            };
            let raw = filled.header.raw_bytes as usize;
            let payload = filled.bytes.get(UNIT..UNIT + raw).unwrap_or_default();
            let room = packed.get_mut(UNIT..).unwrap_or_default();
            match packer.pack(payload, room) {
                Some(len) => {
                    filled.header.codec = self.request.codec;
                    filled.header.stored_bytes = len as u32;
                    self.free.push(std::mem::replace(&mut filled.bytes, packed));
                    filled.packed = true;
                }
                None => self.packed_free.push(packed),
            }
            self.ready.push(filled);
        }
    }

    fn write(&self, writer: &mut StripeWriter) -> Result<(), crate::media::MediaError> {
        loop {
            let wait = task::wait(WaitType::BackupBuffer, Resource::None);
            let filled = self.ready.pop();
            wait.finish();
            let Some(mut filled) = filled else {
                return Ok(());
            };
            let wait = task::wait(WaitType::BackupIo, Resource::None);
            let written = writer.write(&mut filled.header, &mut filled.bytes);
            wait.finish();
            written?;
            let bytes = UNIT + padded(filled.header.stored_bytes as usize);
            self.stored_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
            let raw = u64::from(filled.header.raw_bytes);
            self.written_bytes.fetch_add(raw, Ordering::Relaxed);
            self.written.fetch_add(1, Ordering::Release);
            match filled.packed {
                true => self.packed_free.push(filled.bytes),
                false => self.free.push(filled.bytes),
            }
        }
    }
}

/// Bytes of so many pages.
pub(super) fn page_bytes(pages: u64) -> u64 {
    pages * PAGE_SIZE as u64
}

/// A task for a thread that helps the one of `task`.
pub(super) fn helper(task: &Arc<Task>, number: u16) -> Arc<Task> {
    task.child(number)
}
