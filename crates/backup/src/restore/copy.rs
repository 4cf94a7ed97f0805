//! Stripes read side by side; what they hold put in its place.
//!
//! Each stripe has a thread that reads and unpacks its chunks and one that puts them in place, in their
//! order, with [`AHEAD`] chunks at most on their way from one to the other.
//!
//! Pages of a later round replace those of earlier ones. Each stripe has its rounds in order. A thread that
//! comes to a chunk of a later round waits until every stripe has come so far.

use super::media_set::{MediaSet, Stripe};
use crate::BackupError;
use crate::media::{Chunk, ChunkKind, MediaError, SetInfo, SetPlace, Unpacker};
use crate::run::Listener;
use crate::run::queue::Queue;
use furrow_engine::{EngineError, PageRestore, Restoring, StopSearch};
use furrow_format::{FileId, PAGE_SIZE, PageBuf, PageId, PageNo, verify};
use furrow_io::sync::atomic::{AtomicU64, Ordering};
use furrow_io::sync::{Condvar, Mutex};
use furrow_io::thread;
use furrow_io::time::Duration;
use furrow_observe::task::{self, Resource, Task};
use furrow_observe::waits::WaitType;
use std::sync::Arc;

/// How long the session's thread waits before it looks for a cancel.
const LOOK: Duration = Duration::from_millis(50);

/// Chunks of a stripe that are read ahead of the one that is put in place.
const AHEAD: usize = 2;

/// Where pages and log go.
#[derive(Debug, Clone, Copy)]
pub(super) enum Place<'a> {
    /// To the files of a database.
    Files(&'a Restoring),
    /// Some pages, and the log of them, to an open database.
    Pages(&'a PageRestore<'a>),
    /// The log is searched for where a restore stops.
    Search(&'a StopSearch),
    /// Nowhere: they are only proven.
    Nowhere,
}

/// A copy from stripes to files.
#[derive(Debug)]
pub(super) struct Copying<'a> {
    pub(super) place: Place<'a>,
    /// Whether checksums of pages are verified.
    pub(super) checks: bool,
    /// Whether damaged pages are put in place.
    pub(super) go_on: bool,
    /// The database, for messages.
    pub(super) database: &'a str,
}

/// What the threads share.
#[derive(Debug)]
struct Shared {
    /// The round that each stripe is at; `u32::MAX` when it is done.
    rounds: Mutex<Vec<u32>>,
    moved: Condvar,
    error: Mutex<Option<BackupError>>,
    done_bytes: AtomicU64,
}

impl Shared {
    fn fail(&self, error: BackupError) {
        self.error.lock().get_or_insert(error);
        let _rounds = self.rounds.lock();
        self.moved.notify_all();
    }

    fn failed(&self) -> bool {
        self.error.lock().is_some()
    }

    /// The stripe is at this round; waits until all others are, or until anything fails.
    fn reach(&self, stripe: usize, round: u32) {
        let mut rounds = self.rounds.lock();
        if let Some(own) = rounds.get_mut(stripe).filter(|own| **own != round) {
            *own = round;
            self.moved.notify_all();
        }
        while round != u32::MAX && rounds.iter().any(|r| *r < round) && !self.failed() {
            self.moved.wait(&mut rounds);
        }
    }

    fn all_done(&self) -> bool {
        self.rounds.lock().iter().all(|r| *r == u32::MAX)
    }
}

/// The chunks of a stripe between its two threads.
#[derive(Debug)]
struct Ahead {
    /// One for each chunk that may be read.
    free: Queue<()>,
    read: Queue<Chunk>,
}

/// The thread that reads a stripe ends, also by a panic: no chunk comes any more.
struct Read<'s>(&'s Ahead);

impl Drop for Read<'_> {
    fn drop(&mut self) {
        self.0.read.close();
    }
}

/// The thread that puts the chunks of a stripe in place ends, also by a panic: nothing waits for it.
struct Ended<'s> {
    shared: &'s Shared,
    ahead: &'s Ahead,
    stripe: usize,
}

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.ahead.free.break_off();
        self.shared.reach(self.stripe, u32::MAX);
    }
}

impl Copying<'_> {
    /// Copies a set.
    pub(super) fn run(
        &self,
        media: &MediaSet,
        (position, info): (u16, &SetInfo),
        listener: &mut dyn Listener,
    ) -> Result<(), BackupError> {
        let places = media.places(position)?;
        let shared = Shared {
            rounds: Mutex::new(vec![0; places.len()]),
            moved: Condvar::new(),
            error: Mutex::new(None),
            done_bytes: AtomicU64::new(0),
        };
        let stripes = media.stripes.iter().zip(&places).enumerate();
        let ahead: Vec<Ahead> = stripes
            .clone()
            .map(|_| Ahead {
                free: Queue::new([(); AHEAD]),
                read: Queue::new([]),
            })
            .collect();
        let leader = task::current();
        thread::scope(|scope| {
            for ((at, (stripe, place)), ahead) in stripes.zip(&ahead) {
                let chunks = info
                    .chunks
                    .get(usize::from(stripe.reader.header().family) - 1);
                let chunks = chunks.copied().unwrap_or(0);
                let shared = &shared;
                let ended = Ended {
                    shared,
                    ahead,
                    stripe: at,
                };
                let put = move || {
                    let ended = ended;
                    if let Err(error) = self.put((at, stripe), ended.ahead, shared) {
                        shared.fail(error);
                    }
                };
                let task = |thread: usize| leader.child((2 * at + thread) as u16);
                // What was not started is dropped, and ends.
                let put = start(scope, "restore writer", task(1), put);
                let end = Read(ahead);
                let read = move || {
                    let end = end;
                    if let Err(error) = read(stripe, (place, chunks), end.0) {
                        shared.fail(error);
                    }
                };
                let started = put.and_then(|()| start(scope, "restore reader", task(2), read));
                if let Err(e) = started {
                    shared.fail(EngineError::Thread(e).into());
                }
            }
            lead(&shared, info.bytes, listener);
        });
        shared.error.into_inner().map_or(Ok(()), Err)
    }

    /// Puts the chunks of a stripe in place as they come.
    fn put(
        &self,
        (at, stripe): (usize, &Stripe),
        ahead: &Ahead,
        shared: &Shared,
    ) -> Result<(), BackupError> {
        let of = |e: MediaError| BackupError::of_media(&stripe.path, &e);
        while let Some(chunk) = ahead.read.pop() {
            if shared.failed() {
                return Ok(());
            }
            match chunk.header.kind {
                ChunkKind::Pages => {
                    shared.reach(at, chunk.header.round);
                    self.pages(&chunk).map_err(|e| e.or(of))?;
                }
                ChunkKind::Log => self.log(&chunk).map_err(|e| e.or(of))?,
                ChunkKind::Tail => return Ok(()),
                ChunkKind::Begin | ChunkKind::End => {}
            }
            let bytes = chunk.payload.len() as u64;
            shared.done_bytes.fetch_add(bytes, Ordering::Relaxed);
            ahead.free.push(());
        }
        Ok(())
    }

    fn pages(&self, chunk: &Chunk) -> Result<(), Fault> {
        let mut rest: &[u8] = &chunk.payload;
        for run in &chunk.header.runs {
            let bytes = run.count as usize * PAGE_SIZE;
            let split = rest.split_at_checked(bytes);
            let (pages, behind) = split.ok_or(Fault::Media("runs longer than their payload"))?;
            rest = behind;
            let file = u16::try_from(run.file).map_err(|_| Fault::Media("the number of a file"))?;
            let first = PageId {
                file: FileId(file),
                page: PageNo(run.first),
            };
            if self.checks && !self.go_on {
                self.check(first, pages)?;
            }
            match self.place {
                Place::Files(restoring) => restoring.write_pages(first, pages)?,
                Place::Pages(restore) => restore.write_pages(first, pages),
                Place::Search(_) | Place::Nowhere => {}
            }
        }
        match rest.is_empty() {
            true => Ok(()),
            false => Err(Fault::Media("a payload longer than its runs")),
        }
    }

    /// 3183 for a page that does not match its checksum. One that was never written is zero; one that is not
    /// allocated may have been another's.
    fn check(&self, first: PageId, pages: &[u8]) -> Result<(), Fault> {
        for (at, page) in pages.chunks_exact(PAGE_SIZE).enumerate() {
            let id = PageId {
                page: PageNo(first.page.0.saturating_add(at as u32)),
                ..first
            };
            let Some(page) = page.first_chunk::<PAGE_SIZE>() else {
                continue;
            };
            if is_damaged(page, id) {
                let args = [id.file.0.into(), id.page.0.into(), self.database.into()];
                return Err(Fault::Other(BackupError::refused(3183, &args)));
            }
        }
        Ok(())
    }

    fn log(&self, chunk: &Chunk) -> Result<(), Fault> {
        let mut rest: &[u8] = &chunk.payload;
        for run in &chunk.header.runs {
            let split = rest.split_at_checked(run.count as usize);
            let (block, behind) = split.ok_or(Fault::Media("runs longer than their payload"))?;
            rest = behind;
            match self.place {
                Place::Files(restoring) => restoring.write_log(block)?,
                Place::Pages(restore) => restore.write_log(block)?,
                Place::Search(search) => search.look(block)?,
                Place::Nowhere => {}
            }
        }
        match rest.is_empty() {
            true => Ok(()),
            false => Err(Fault::Media("a payload longer than its runs")),
        }
    }
}

/// Starts a thread that works for a task.
fn start<'scope>(
    scope: &'scope thread::Scope<'scope, '_>,
    name: &str,
    task: Arc<Task>,
    work: impl FnOnce() + Send + 'scope,
) -> std::io::Result<()> {
    let work = move || {
        let _entered = task::enter(&task);
        work();
    };
    thread::spawn_scoped(scope, name, work).map(drop)
}

/// Reads the chunks of a stripe, each as soon as one may be.
fn read(
    stripe: &Stripe,
    (place, chunks): (&SetPlace, u64),
    ahead: &Ahead,
) -> Result<(), BackupError> {
    let of = |e: MediaError| BackupError::of_media(&stripe.path, &e);
    let mut unpacker = Unpacker::new();
    let (mut from, mut number) = (place.begin, 0);
    while ahead.free.pop().is_some() {
        let wait = task::wait(WaitType::BackupIo, Resource::None);
        let chunk = stripe.reader.chunk(from, (place, number), &mut unpacker);
        wait.finish();
        let chunk = chunk.map_err(of)?;
        let kind = chunk.header.kind;
        let expected = match number {
            0 => kind == ChunkKind::Begin,
            n if n == chunks => kind == ChunkKind::End,
            n if n - 1 == chunks => kind == ChunkKind::Tail,
            _ => matches!(kind, ChunkKind::Pages | ChunkKind::Log),
        };
        if !expected {
            return Err(of(MediaError::Damaged("a chunk of another kind")));
        }
        (from, number) = (chunk.next, number + 1);
        ahead.read.push(chunk);
        if kind == ChunkKind::Tail {
            break;
        }
    }
    Ok(())
}

/// Whether a page of a backup does not match its checksum.
fn is_damaged(page: &PageBuf, id: PageId) -> bool {
    use furrow_format::PageFault;
    matches!(
        verify(page, id),
        Err(PageFault::Checksum { .. } | PageFault::Torn { .. })
    )
}

/// Why a chunk could not be put in place.
enum Fault {
    Media(&'static str),
    Other(BackupError),
}

impl From<EngineError> for Fault {
    fn from(e: EngineError) -> Fault {
        Fault::Other(e.into())
    }
}

impl Fault {
    fn or(self, of: impl FnOnce(MediaError) -> BackupError) -> BackupError {
        match self {
            Fault::Media(what) => of(MediaError::Damaged(what)),
            Fault::Other(error) => error,
        }
    }
}

/// The session's thread: progress and cancel.
fn lead(shared: &Shared, total: u64, listener: &mut dyn Listener) {
    let wait = task::wait(WaitType::AsyncIoCompletion, Resource::None);
    while !shared.all_done() {
        {
            let mut rounds = shared.rounds.lock();
            shared.moved.wait_for(&mut rounds, LOOK);
        }
        if task::is_cancelled() && !shared.failed() {
            shared.fail(BackupError::Cancelled);
        }
        listener.progress(shared.done_bytes.load(Ordering::Relaxed), total);
    }
    listener.progress(shared.done_bytes.load(Ordering::Relaxed), total);
    wait.finish();
}
