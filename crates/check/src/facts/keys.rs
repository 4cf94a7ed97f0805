//! Keys of rows: in memory one after the other, or in a scratch file.

use super::scratch::{BLOCK_BYTES, BlockCache, ScratchFile};
use std::borrow::Cow;
use std::sync::Arc;

/// A key among the kept ones; 0 = none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct KeyRef(pub(super) u64);

/// Keys one after the other: length, then for each column its length (or NULL) and bytes.
#[derive(Debug, Default)]
pub(crate) struct Arena {
    bytes: Vec<u8>,
}

const NULL: u16 = u16::MAX;
/// Bytes of a text that are kept.
const LONGEST_TEXT: usize = 1000;

impl Arena {
    /// Keeps a key.
    pub(crate) fn keep<'v>(&mut self, values: impl Iterator<Item = Option<&'v [u8]>>) -> KeyRef {
        let start = self.bytes.len();
        self.bytes.extend([0, 0]);
        for value in values {
            let len = value.map_or(NULL, |bytes| bytes.len() as u16);
            self.bytes.extend(len.to_le_bytes());
            self.bytes.extend_from_slice(value.unwrap_or_default());
        }
        let len = (self.bytes.len() - start - 2) as u16;
        if let Some(place) = self.bytes.get_mut(start..start + 2) {
            place.copy_from_slice(&len.to_le_bytes());
        }
        KeyRef(start as u64 + 1)
    }

    /// Keeps a text in the place of a key, of a long one its beginning.
    pub(crate) fn keep_text(&mut self, text: &str) -> KeyRef {
        let len = text.len().min(LONGEST_TEXT);
        self.keep(std::iter::once(text.as_bytes().get(..len)))
    }

    /// Bytes that it has from the allocator.
    pub(super) fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    /// Takes all bytes out.
    pub(super) fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }

    /// Takes in another's keys: where they begin now.
    pub(super) fn append(&mut self, other: &mut Arena) -> u64 {
        let base = self.bytes.len() as u64;
        self.bytes.append(&mut other.bytes);
        base
    }
}

impl KeyRef {
    pub(super) fn rebase(&mut self, base: u64) {
        if self.0 > 0 {
            self.0 += base;
        }
    }

    /// Whether there is a key.
    pub(crate) fn is_some(self) -> bool {
        self.0 > 0
    }
}

/// All keys that were kept.
#[derive(Debug)]
pub(crate) enum Keys {
    /// In memory.
    Memory(Arena),
    /// In a scratch file, by their offset in it.
    Disk(Arc<ScratchFile>, BlockCache),
}

impl Default for Keys {
    fn default() -> Keys {
        Keys::Memory(Arena::default())
    }
}

impl Keys {
    /// A key's bytes; `None` where there is no key.
    pub(crate) fn get(&self, key: KeyRef) -> Option<Key<'_>> {
        let start = key.0.checked_sub(1)?;
        match self {
            Keys::Memory(arena) => {
                let start = usize::try_from(start).ok()?;
                let (len, rest) = arena.bytes.get(start..)?.split_first_chunk::<2>()?;
                let rest = rest.get(..usize::from(u16::from_le_bytes(*len)))?;
                Some(Key(Cow::Borrowed(rest)))
            }
            Keys::Disk(file, cache) => {
                let len = read(file, cache, start, 2)?;
                let len = u16::from_le_bytes(*len.first_chunk()?);
                let bytes = read(file, cache, start + 2, len.into())?;
                Some(Key(Cow::Owned(bytes)))
            }
        }
    }
}

impl Keys {
    /// A text that was kept in the place of a key.
    pub(crate) fn text(&self, text: KeyRef) -> String {
        let kept = self.get(text);
        let bytes = kept
            .as_ref()
            .and_then(|kept| kept.columns().next().flatten());
        String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned()
    }
}

/// Bytes of a file that may lie in several blocks.
fn read(file: &ScratchFile, cache: &BlockCache, mut at: u64, len: usize) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(len);
    while bytes.len() < len {
        let (block, within) = (at / BLOCK_BYTES as u64, (at % BLOCK_BYTES as u64) as usize);
        let part = cache.with(file, block * BLOCK_BYTES as u64, |block| {
            let end = BLOCK_BYTES.min(within + len - bytes.len());
            let part = block.get(within..end).unwrap_or_default();
            bytes.extend_from_slice(part);
            part.len()
        })?;
        if part == 0 {
            return None;
        }
        at += part as u64;
    }
    Some(bytes)
}

/// A key.
#[derive(Debug)]
pub(crate) struct Key<'k>(Cow<'k, [u8]>);

impl Key<'_> {
    /// Its columns.
    pub(crate) fn columns(&self) -> Columns<'_> {
        Columns { rest: &self.0 }
    }
}

/// Iterates over the columns of a key.
#[derive(Debug, Clone)]
pub(crate) struct Columns<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Columns<'a> {
    type Item = Option<&'a [u8]>;

    fn next(&mut self) -> Option<Option<&'a [u8]>> {
        let (len, rest) = self.rest.split_first_chunk::<2>()?;
        let len = u16::from_le_bytes(*len);
        if len == NULL {
            self.rest = rest;
            return Some(None);
        }
        let (value, rest) = rest.split_at_checked(usize::from(len))?;
        self.rest = rest;
        Some(Some(value))
    }
}
