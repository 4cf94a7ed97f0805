//! What statements keep in memory: sorts, hash tables, rows kept back.
//!
//! Each connection may keep so much at a time. Sorts, groups, joins and windows that are refused more write
//! rows to files ([`spill`](super::spill)) and go on; what can't do so ends its statement (701) instead of
//! taking the process down: the statement is undone, and the connection goes on.
//!
//! What a connection may keep is a part of what the process may have: the machine's memory, or less where
//! `ulimit -v` or a cgroup says so. That part is looked at once; other connections, the pool and the program
//! around take theirs meanwhile. So whenever a connection has taken [`STEP_BYTES`] more, and before a long
//! text is copied, the connection reads what is left now.
//!
//! What is counted is an estimate. Allocations that nothing counts take from the reserve of
//! [`furrow_io::heap`] where the address space has a limit; every connection that asks for memory, or whether
//! its statement is cancelled, then gets 701 until there is memory again.

use crate::error::{Result, SqlError};
use furrow_io::{heap, host};
use furrow_messages::Message;
use furrow_types::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Of a machine's memory, a connection's statement may keep one part in this many.
const PART: u64 = 4;
/// Where the machine does not say how much it has.
const UNKNOWN_BYTES: usize = 1 << 30;

/// What an operator that can write to files may keep however much others keep: each pass over its rows gets
/// somewhere.
pub const LEAST_BYTES: usize = 256 << 10;

/// Whenever a connection has taken so much more, it looks whether the process can have more.
const STEP_BYTES: usize = 16 << 20;

/// What is left to the process for all that is not counted: buffers of the log and of spill files, plans,
/// and [`STEP_BYTES`] of other connections.
const SPARE_BYTES: u64 = 32 << 20;

/// A list of rows, or a table of keys, that is full doubles at once: an operator may so need one part in this
/// many of what it has taken, in one piece.
const DOUBLING_PART: usize = 2;

/// Texts that are shorter are made without a look at what is left.
pub const LONG_BYTES: usize = 4 << 20;

/// How many copies of a long text there may be at once while a statement works with it.
const COPIES: u64 = 3;

/// The same where a connection may keep next to nothing.
const SMALLEST_BYTES: usize = 1 << 10;

/// What a connection keeps, and how much it may.
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
    /// How many things of this size may be kept at once beside as much of other things.
    pub fn fits_times(&self, bytes: usize) -> usize {
        self.most.load(Ordering::Relaxed) / 2 / bytes.max(1)
    }

    /// No statement keeps more from now on.
    pub fn limit(&self, most: usize) {
        self.most.store(most, Ordering::Relaxed);
    }
}

/// What one operator keeps. It is given back when the operator goes.
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

    /// Asks for more: 701.
    pub fn take(&mut self, bytes: usize) -> Result<()> {
        self.take_beyond(bytes)?;
        match self.memory.used.load(Ordering::Relaxed) > self.memory.most.load(Ordering::Relaxed) {
            true => Err(refused()),
            false => Ok(()),
        }
    }

    /// Takes more whatever the connection may keep: 701 only where the process has no more. For rows that
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

    /// Asks for more; `false` where there is no room, and files have to take what comes. It is taken all the
    /// same, and is for the caller to give back. There is always room for `least`, or for the limit where
    /// that is less.
    pub fn fits(&mut self, bytes: usize, least: usize) -> bool {
        let most = self.memory.most.load(Ordering::Relaxed);
        self.take(bytes).is_ok() || self.bytes <= least.min(most.max(SMALLEST_BYTES))
    }

    /// Gives back all.
    pub fn give_all_back(&mut self) {
        self.give_back(self.bytes);
    }

    /// Asks for what a row takes.
    #[inline]
    pub fn row(&mut self, row: &[Value]) -> Result<()> {
        self.take(row_bytes(row))
    }

    /// Gives back what rows that were thrown away took.
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

/// Whether the process can have so much more in one piece. What the heap has free serves small pieces alone.
fn is_left(bytes: u64) -> bool {
    let wanted = SPARE_BYTES.saturating_add(bytes);
    host::memory_left_bytes()
        .is_none_or(|left| left >= wanted || (left >= bytes && left + heap::free_bytes() >= wanted))
}

/// Texts of statements that are shorter are read without a look at what is left.
const LONG_SCRIPT_BYTES: usize = 256 << 10;

/// Bytes of the tree that a byte of a text of statements becomes, at most: `1,` in a list is a token and an
/// expression.
const TREE_BYTES: u64 = 128;

/// 701 where a text of statements is so long that the process could lack the memory for its tree. Only where
/// an allocation may be refused: most texts become far smaller trees.
pub(crate) fn check_script(text: &str) -> Result<()> {
    match text.len() {
        ..LONG_SCRIPT_BYTES => Ok(()),
        bytes if !heap::is_bounded() || is_left(bytes as u64 * TREE_BYTES) => Ok(()),
        _ => Err(refused()),
    }
}

/// 701 where there is no memory for a row of so many bytes, and a copy of it, that is about to be read.
pub fn check_row(bytes: usize) -> Result<()> {
    match bytes {
        ..LONG_BYTES => Ok(()),
        bytes if is_left(2 * bytes as u64) => Ok(()),
        _ => Err(refused()),
    }
}

/// 701 where the heap of the process is short.
#[inline]
pub(crate) fn check_heap() -> Result<()> {
    match heap::is_short() {
        true => Err(refused()),
        false => Ok(()),
    }
}

/// 701 where a text or binary is so long that there is no memory for the copies of it that a statement makes.
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

/// A list of rows that grows, or that is sorted, has so many places for each row.
const PLACES: usize = 3;

/// About what a row takes in a list of rows, the list included.
pub fn row_bytes(row: &[Value]) -> usize {
    let values: usize = row.iter().map(outside_bytes).sum();
    PLACES * size_of::<Vec<Value>>() + block_bytes(size_of_val(row)) + values
}

/// What a block of the heap takes: its bytes, and those that the allocator adds.
#[inline]
fn block_bytes(bytes: usize) -> usize {
    const HEAD: usize = size_of::<usize>();
    match bytes {
        0 => 0,
        bytes => (bytes + HEAD).next_multiple_of(2 * HEAD).max(4 * HEAD),
    }
}

/// What a value takes besides itself.
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
