//! Rows for which there is no memory: they go to files beside `tempdb`'s, which are removed with their
//! operator.
//!
//! An operator that is refused more memory creates a [`SpillFile`] and writes rows to [`Stream`]s in it:
//! sorted runs, partitions by hash, or simply what is to be read again. All streams of an operator share its
//! file, in chunks: each stream has the list of its own. A stream that is written whole is a [`Run`], read
//! from its beginning as often as wanted.
//!
//! - `row`: rows as bytes.
//! - `sorter`: sorting by runs that are merged.
//! - `partition`: rows apart by the hash of a key.
//! - `store`: rows as they came, given once or read as often as wanted.
//! - `numbered`: such rows read by number.
//!
//! # Invariants
//! 1. A file has the name of no other and is removed with its operator, whatever became of the statement;
//!    those of a process that died are removed when the instance starts ([`remove_leftovers`]).
//! 2. Nothing in a file is needed after a restart: nothing is synced.
//! 3. Each chunk that is written or read looks whether the statement is to end.
//! 4. An operator keeps at least [`LEAST_BYTES`](furrow_context::memory::LEAST_BYTES) in memory, however
//!    little is left: each pass over its rows gets somewhere.
//!
//! # What can fail
//! The disk, by a full volume above all: the statement fails with the engine's message and is undone.

mod numbered;
mod partition;
mod row;
mod sorter;
mod store;

pub use numbered::NumberedRows;
pub use partition::Partitions;
pub use sorter::Sorter;
pub use store::{RowWriter, Rows, Store};

use furrow_context::activity::Activity;
use furrow_context::context::Context;
use furrow_context::error::{Result, SqlError};
use furrow_context::memory::{Memory, check_row};
use furrow_context::server::ServerState;
use furrow_engine::EngineError;
use furrow_io::{Access, AlignedBuf, File, Open, Volume};
use furrow_observe::counters::Counter;
use furrow_types::Value;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What is written and read at once.
const CHUNK_BYTES: usize = 128 << 10;

const PREFIX: &str = "tempdb_spill_";
const SUFFIX: &str = ".tmp";

/// The place for rows of a statement for which there is no memory: the server's directory. It outlives the
/// borrow of the context, so that a sink can store rows.
#[derive(Clone)]
pub struct SpillPlace {
    server: Arc<ServerState>,
    activity: Arc<Activity>,
    memory: Arc<Memory>,
}

impl SpillPlace {
    /// That of a connection.
    pub fn of(cx: &Context) -> SpillPlace {
        SpillPlace {
            server: Arc::clone(&cx.server),
            activity: Arc::clone(cx.sessions.activity()),
            memory: Arc::clone(&cx.memory),
        }
    }
}

impl fmt::Debug for SpillPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpillPlace").finish_non_exhaustive()
    }
}

/// A file of rows for which there was no memory.
pub(crate) struct SpillFile {
    volume: Arc<dyn Volume>,
    path: PathBuf,
    file: Arc<dyn File>,
    end: AtomicU64,
    /// The activity of the statement; each chunk tests whether it was cancelled.
    activity: Arc<Activity>,
}

impl fmt::Debug for SpillFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SpillFile").field(&self.path).finish()
    }
}

impl SpillFile {
    pub(crate) fn create(cx: &Context) -> Result<Arc<SpillFile>> {
        SpillFile::create_in(&SpillPlace::of(cx))
    }

    fn create_in(place: &SpillPlace) -> Result<Arc<SpillFile>> {
        let number = place.server.next_temp();
        let path = place.server.path(&format!("{PREFIX}{number}{SUFFIX}"));
        let instance = place.server.instance();
        let counters = &instance.instruments().counters;
        counters.add(Counter::WorktablesCreated, 1);
        let volume = Arc::clone(instance.volume());
        let file = volume
            .open(&path, Open::Create, Access::Data)
            .map_err(EngineError::from)?;
        Ok(Arc::new(SpillFile {
            volume,
            path,
            file,
            end: AtomicU64::new(0),
            activity: Arc::clone(&place.activity),
        }))
    }

    fn check_cancel(&self) -> Result<()> {
        match self.activity.is_cancelled() {
            true => Err(SqlError::cancelled()),
            false => Ok(()),
        }
    }

    fn append(&self, chunk: &[u8]) -> Result<u64> {
        self.check_cancel()?;
        let at = self.end.fetch_add(chunk.len() as u64, Ordering::Relaxed);
        self.file.write_at(at, chunk).map_err(EngineError::from)?;
        Ok(at)
    }
}

impl Drop for SpillFile {
    fn drop(&mut self) {
        // One that can't be removed now is removed at the next start.
        let _ = self.volume.remove(&self.path);
    }
}

/// Removes the spill files that a process left which died.
pub fn remove_leftovers(server: &ServerState) -> Result<()> {
    let instance = server.instance();
    let Some(directory) = &instance.config().directory else {
        return Ok(());
    };
    let is_ours = |path: &Path| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.starts_with(PREFIX) && name.ends_with(SUFFIX))
    };
    let files = instance
        .volume()
        .list(directory)
        .map_err(EngineError::from)?;
    for file in files.iter().filter(|path| is_ours(path)) {
        instance.volume().remove(file).map_err(EngineError::from)?;
    }
    Ok(())
}

/// Rows that are being written.
#[derive(Debug)]
pub(crate) struct Stream {
    file: Arc<SpillFile>,
    chunks: Vec<u64>,
    /// The chunk that is being filled; of no length at first.
    tail: AlignedBuf,
    filled: usize,
    bytes: u64,
    record: Vec<u8>,
}

impl Stream {
    pub(crate) fn new(file: &Arc<SpillFile>) -> Stream {
        Stream {
            file: Arc::clone(file),
            chunks: Vec::new(),
            tail: AlignedBuf::new(0),
            filled: 0,
            bytes: 0,
            record: Vec::new(),
        }
    }

    /// How many bytes have been written: where the next row will be.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Appends a row.
    pub(crate) fn push(&mut self, row: &[Value]) -> Result<()> {
        self.push_parts(row, &[])
    }

    /// Appends a row of two parts.
    pub(crate) fn push_parts(&mut self, first: &[Value], second: &[Value]) -> Result<()> {
        let mut record = std::mem::take(&mut self.record);
        record.clear();
        record.extend_from_slice(&[0; 4]);
        row::encode(Both(first, second), &mut record);
        let len = (record.len() - 4) as u32;
        if let Some(prefix) = record.first_chunk_mut() {
            *prefix = len.to_le_bytes();
        }
        let done = self.put(&record);
        self.record = record;
        done
    }

    fn put(&mut self, mut bytes: &[u8]) -> Result<()> {
        self.bytes += bytes.len() as u64;
        if self.tail.is_empty() {
            self.tail.resize(CHUNK_BYTES);
        }
        while !bytes.is_empty() {
            let room = self.tail.get_mut(self.filled..).unwrap_or_default();
            let now = room.len().min(bytes.len());
            let (first, rest) = bytes.split_at(now);
            for (to, from) in room.iter_mut().zip(first) {
                *to = *from;
            }
            self.filled += now;
            bytes = rest;
            if self.filled == CHUNK_BYTES {
                self.flush()?;
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        let at = self.file.append(&self.tail)?;
        self.chunks.push(at);
        self.filled = 0;
        Ok(())
    }

    /// All is written.
    pub(crate) fn finish(mut self) -> Result<Arc<Run>> {
        if self.filled > 0 {
            self.flush()?;
        }
        Ok(Arc::new(Run {
            file: self.file,
            chunks: self.chunks,
            bytes: self.bytes,
        }))
    }
}

/// The values of two slices, one behind the other, with their number known.
struct Both<'v>(&'v [Value], &'v [Value]);

impl<'v> Iterator for Both<'v> {
    type Item = &'v Value;

    fn next(&mut self) -> Option<&'v Value> {
        if let Some((value, rest)) = self.0.split_first() {
            self.0 = rest;
            return Some(value);
        }
        let (value, rest) = self.1.split_first()?;
        self.1 = rest;
        Some(value)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let len = self.0.len() + self.1.len();
        (len, Some(len))
    }
}

impl ExactSizeIterator for Both<'_> {}

/// Rows written whole.
#[derive(Debug)]
pub struct Run {
    file: Arc<SpillFile>,
    chunks: Vec<u64>,
    bytes: u64,
}

/// Reads a run from its beginning.
#[derive(Debug)]
pub(crate) struct Reader {
    run: Arc<Run>,
    chunk: AlignedBuf,
    /// Chunks read.
    next: usize,
    /// What of the chunk has been taken.
    taken: usize,
    /// Bytes of the run that are still to come.
    left: u64,
    record: Vec<u8>,
}

impl Reader {
    pub(crate) fn new(run: &Arc<Run>) -> Reader {
        Reader {
            run: Arc::clone(run),
            chunk: AlignedBuf::new(CHUNK_BYTES),
            next: 0,
            taken: CHUNK_BYTES,
            left: run.bytes,
            record: Vec::new(),
        }
    }

    /// From the row that begins at a place among the run's bytes.
    pub(crate) fn from(run: &Arc<Run>, place: u64) -> Result<Reader> {
        let mut reader = Reader::new(run);
        reader.next = usize::try_from(place / CHUNK_BYTES as u64).unwrap_or(usize::MAX);
        let within = (place % CHUNK_BYTES as u64) as usize;
        if within > 0 {
            reader.load()?;
            reader.taken = within;
        }
        reader.left = run.bytes.saturating_sub(place);
        Ok(reader)
    }

    /// Whether all rows have been read.
    pub(crate) fn is_done(&self) -> bool {
        self.left == 0
    }

    /// The next row.
    pub(crate) fn next(&mut self) -> Result<Option<Vec<Value>>> {
        if self.left == 0 {
            return Ok(None);
        }
        self.read(4)?;
        let prefix = self.record.first_chunk().copied().unwrap_or_default();
        self.read(u32::from_le_bytes(prefix) as usize)?;
        match row::decode(&self.record) {
            Some(row) => Ok(Some(row)),
            None => Err(self.damaged()),
        }
    }

    fn damaged(&self) -> Box<SqlError> {
        let path = self.run.file.path.display();
        EngineError::Damaged(format!("the file '{path}' has not the rows written to it")).into()
    }

    /// Reads the next chunk.
    fn load(&mut self) -> Result<()> {
        let Some(&at) = self.run.chunks.get(self.next) else {
            return Err(self.damaged());
        };
        self.run.file.check_cancel()?;
        let file = &self.run.file.file;
        file.read_at(at, &mut self.chunk)
            .map_err(EngineError::from)?;
        self.next += 1;
        self.taken = 0;
        Ok(())
    }

    /// Reads so many bytes into the record.
    fn read(&mut self, bytes: usize) -> Result<()> {
        if bytes as u64 > self.left {
            return Err(self.damaged());
        }
        self.left -= bytes as u64;
        check_row(bytes)?;
        self.record.clear();
        while self.record.len() < bytes {
            if self.taken == CHUNK_BYTES {
                self.load()?;
            }
            let wanted = bytes - self.record.len();
            let end = CHUNK_BYTES.min(self.taken + wanted);
            let part = self.chunk.get(self.taken..end).unwrap_or_default();
            self.record.extend_from_slice(part);
            self.taken = end;
        }
        Ok(())
    }
}
