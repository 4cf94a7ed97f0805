//! Memory of statements: sorts, hash tables, stored rows.
//!
//! The memory of each connection is limited. When sorts, groups, joins and windows reach the limit, they
//! write rows to files ([`spill`](super::spill)) and continue. An operator that cannot do so ends its
//! statement (701) instead of ending the process: the statement is undone, and the connection continues.
//!
//! The limit is a part of the memory that the process may have: the machine's memory, or less if `ulimit -v`
//! or a cgroup says so. It is computed once, but other connections, the pool and the rest of the program use
//! memory meanwhile. So whenever a connection has taken [`STEP_BYTES`] more, and before a long text is
//! copied, the remaining memory is checked.
//!
//! The counts are estimates. If the address space has a limit, allocations that are not counted take from the
//! reserve of [`furrow_io::heap`]. Every connection that requests memory, or checks for a cancellation, then
//! gets 701 until there is memory again.

use crate::error::{Result, SqlError};
use furrow_io::{heap, host};
use furrow_messages::Message;
use furrow_types::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A connection's statement may use one part in this many of the machine's memory.
const PART: u64 = 4;
/// Assumed memory of a machine that does not report it.
const UNKNOWN_BYTES: usize = 1 << 30;

/// Memory that an operator with files always gets, whatever other operators use, so that each pass over its
/// rows makes progress.
pub const LEAST_BYTES: usize = 256 << 10;

/// Whenever a connection has taken this much more, it checks whether the process can have more.
const STEP_BYTES: usize = 16 << 20;

/// Memory that is left for everything that is not counted: buffers of the log and of spill files, plans,
/// and [`STEP_BYTES`] of other connections.
const SPARE_BYTES: u64 = 32 << 20;

/// A full list of rows or table of keys doubles its size in one allocation: an operator may need one part in
/// this many of the memory that it has taken, in one piece.
const DOUBLING_PART: usize = 2;

/// Shorter texts are created without a check of the remaining memory.
pub const LONG_BYTES: usize = 4 << 20;

/// Number of copies of a long text that may exist at once while a statement uses it.
const COPIES: u64 = 3;

/// The least limit of a connection's memory.
const SMALLEST_BYTES: usize = 1 << 10;

/// The memory of a connection and its limit.
#[derive(Debug)]
pub struct Memory {
    used: AtomicUsize,
    most: AtomicUsize,
}

impl Default for Memory {
    fn default() -> Memory {
        let all = host::memory_limit_bytes();
        let most = all.and_then(|all| usize::try_from(all / PART).ok());
        Memory {
            used: AtomicUsize::new(0),
            most: AtomicUsize::new(most.unwrap_or(UNKNOWN_BYTES)),
        }
    }
}

impl Memory {
    /// How many objects of this size may be stored at once beside as much memory for other objects.
    pub fn fits_times(&self, bytes: usize) -> usize {
        self.most.load(Ordering::Relaxed) / 2 / bytes.max(1)
    }

    /// Sets the limit for all further statements.
    pub fn limit(&self, most: usize) {
        self.most.store(most, Ordering::Relaxed);
    }
}

/// The memory of one operator, which is returned when the operator is dropped.
#[derive(Debug)]
pub struct Grant {
    memory: Arc<Memory>,
    bytes: usize,
}

impl Grant {
    /// An empty grant from the memory of the connection.
    pub fn new(memory: &Arc<Memory>) -> Grant {
        Grant {
            memory: Arc::clone(memory),
            bytes: 0,
        }
    }

    /// Takes more memory: 701 if there is none.
    pub fn take(&mut self, bytes: usize) -> Result<()> {
        self.take_beyond(bytes)?;
        match self.memory.used.load(Ordering::Relaxed) > self.memory.most.load(Ordering::Relaxed) {
            true => Err(refused()),
            false => Ok(()),
        }
    }

    /// Takes more memory without the connection's limit: 701 only if the process has no more. For rows that
    /// must stay in memory until all of them are known.
    pub fn take_beyond(&mut self, bytes: usize) -> Result<()> {
        self.bytes += bytes;
        let before = self.memory.used.fetch_add(bytes, Ordering::Relaxed);
        let steps = before / STEP_BYTES != (before + bytes) / STEP_BYTES;
        let lacks = |grant: &Grant| !is_left((grant.bytes / DOUBLING_PART) as u64);
        match (steps && lacks(self)) || heap::is_short() {
            true => Err(refused()),
            false => Ok(()),
        }
    }

    /// Takes more memory; `false` above the limit, when further rows have to go to files. It is taken in both
    /// cases, and the caller gives it back. `least`, or the limit if that is smaller, is always granted.
    pub fn fits(&mut self, bytes: usize, least: usize) -> bool {
        let most = self.memory.most.load(Ordering::Relaxed);
        self.take(bytes).is_ok() || self.bytes <= least.min(most.max(SMALLEST_BYTES))
    }

    /// Returns all memory.
    pub fn give_all_back(&mut self) {
        self.give_back(self.bytes);
    }

    /// Takes the memory of a row.
    #[inline]
    pub fn row(&mut self, row: &[Value]) -> Result<()> {
        self.take(row_bytes(row))
    }

    /// Returns the memory of rows that were dropped.
    pub fn give_back(&mut self, bytes: usize) {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        self.memory.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl Drop for Grant {
    fn drop(&mut self) {
        self.memory.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// Whether the process can have this much more in one piece. Free memory of the heap serves small pieces
/// only.
fn is_left(bytes: u64) -> bool {
    let wanted = SPARE_BYTES.saturating_add(bytes);
    host::memory_left_bytes()
        .is_none_or(|left| left >= wanted || (left >= bytes && left + heap::free_bytes() >= wanted))
}

/// Shorter texts of statements are parsed without a check of the remaining memory.
const LONG_SCRIPT_BYTES: usize = 256 << 10;

/// Most bytes of the syntax tree for one byte of text: `1,` in a list is a token and an expression.
const TREE_BYTES: u64 = 128;

/// 701 if a text is so long that there may not be enough memory for its syntax tree. Only if an allocation
/// can fail: most texts become much smaller trees.
pub(crate) fn check_script(text: &str) -> Result<()> {
    match text.len() {
        ..LONG_SCRIPT_BYTES => Ok(()),
        bytes if !heap::is_bounded() || is_left(bytes as u64 * TREE_BYTES) => Ok(()),
        _ => Err(refused()),
    }
}

/// 701 if there is no memory to read a row of this many bytes and to copy it.
pub fn check_row(bytes: usize) -> Result<()> {
    match bytes {
        ..LONG_BYTES => Ok(()),
        bytes if is_left(2 * bytes as u64) => Ok(()),
        _ => Err(refused()),
    }
}

/// 701 if the heap of the process is short of memory.
#[inline]
pub(crate) fn check_heap() -> Result<()> {
    match heap::is_short() {
        true => Err(refused()),
        false => Ok(()),
    }
}

/// 701 if there is no memory for the copies of a long text or binary that a statement makes.
#[inline]
pub fn check_long(value: &Value) -> Result<()> {
    match outside_bytes(value) {
        ..LONG_BYTES => Ok(()),
        bytes if is_left(bytes as u64 * COPIES) => Ok(()),
        _ => Err(refused()),
    }
}

/// Error 701.
#[cold]
pub fn refused() -> Box<SqlError> {
    Message::new(701, &["default".into()]).into()
}

/// Entries for each row in a list of rows that grows or is sorted.
const PLACES: usize = 3;

/// Approximate memory of a row in a list of rows, the list included.
pub fn row_bytes(row: &[Value]) -> usize {
    let values: usize = row.iter().map(outside_bytes).sum();
    PLACES * size_of::<Vec<Value>>() + block_bytes(size_of_val(row)) + values
}

/// Memory of a heap block: its bytes, and those that the allocator adds.
#[inline]
fn block_bytes(bytes: usize) -> usize {
    const HEAD: usize = size_of::<usize>();
    match bytes {
        0 => 0,
        bytes => (bytes + HEAD).next_multiple_of(2 * HEAD).max(4 * HEAD),
    }
}

/// Memory of a value outside of the value itself.
#[inline]
pub fn outside_bytes(value: &Value) -> usize {
    block_bytes(match value {
        Value::VarChar(text) | Value::NVarChar(text) => text.capacity(),
        Value::Binary(bytes) => bytes.capacity(),
        _ => 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_given_back_when_its_keeper_goes() {
        let memory = Arc::new(Memory::default());
        memory.limit(1000);
        let grant = |bytes| {
            let mut grant = Grant {
                memory: Arc::clone(&memory),
                bytes: 0,
            };
            let taken = grant.take(bytes);
            (grant, taken)
        };
        let first = grant(600);
        assert!(first.1.is_ok());
        assert_eq!(grant(500).1.unwrap_err().number(), 701);
        let mut second = grant(400);
        assert!(second.1.is_ok());
        second.0.give_back(100);
        assert!(grant(100).1.is_ok());
        drop(first);
        assert_eq!(memory.used.load(Ordering::Relaxed), 300);
    }
}
