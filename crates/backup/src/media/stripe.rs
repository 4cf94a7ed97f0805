//! Stripes read chunk by chunk.

use super::Thumbprint;
use super::chunk::{ChunkHeader, ChunkKind};
use super::cipher::{BackupKey, TAG_BYTES};
use super::codec::Unpacker;
use super::{LENGTH, MediaError, MediaHeader, SetInfo, UNIT, bytes_at, padded};
use furrow_io::mutation::{Mutation, mutated};
use furrow_io::{AlignedBuf, File, IoErrorKind};
use furrow_types::Guid;
use std::ops::Range;
use std::sync::Arc;

/// Where a backup set lies in a stripe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SetPlace {
    /// The set's position on the media.
    pub position: u16,
    /// The set.
    pub set: Guid,
    /// Where its begin is.
    pub begin: u64,
    /// Where its end is.
    pub end: u64,
    /// Where its tail is.
    pub tail: u64,
}

/// A chunk, unpacked.
#[derive(Debug)]
pub struct Chunk {
    /// Its header.
    pub header: ChunkHeader,
    /// Its payload, as it was before it was packed.
    pub payload: AlignedBuf,
    /// Where the next chunk begins.
    pub next: u64,
}

/// Reads a stripe.
#[derive(Debug)]
pub struct StripeReader {
    file: Arc<dyn File>,
    header: MediaHeader,
    len: u64,
    key: Option<BackupKey>,
}

impl StripeReader {
    /// Reads the header of a stripe.
    pub fn open(file: Arc<dyn File>) -> Result<StripeReader, MediaError> {
        let len = file.len_bytes()?;
        if len == 0 {
            return Err(MediaError::Empty);
        }
        let mut unit = AlignedBuf::new(UNIT);
        let there = len.min(UNIT as u64) as usize;
        file.read_at(0, unit.get_mut(..there).unwrap_or_default())?;
        let header = MediaHeader::decode(&unit)?;
        Ok(StripeReader {
            file,
            header,
            len,
            key: None,
        })
    }

    /// Gives it the key of its media, if it is encrypted and this is the key.
    pub fn unlock(&mut self, key: &BackupKey) {
        if self.header.key == Some(key.thumbprint()) {
            self.key = Some(key.clone());
        }
    }

    /// The thumbprint of the key that it lacks.
    pub fn locked(&self) -> Option<Thumbprint> {
        self.header.key.filter(|_| self.key.is_none())
    }

    /// Its header.
    pub fn header(&self) -> &MediaHeader {
        &self.header
    }

    /// Its length in bytes.
    pub fn len_bytes(&self) -> u64 {
        self.len
    }

    /// The sets on it, by position. An error unless the last one is whole.
    pub fn sets(&self) -> Result<Vec<SetPlace>, MediaError> {
        self.sets_before(self.len)
    }

    /// The sets on it that are whole: one that was being appended when the system stopped is passed over.
    pub(crate) fn whole_sets(&self) -> Result<Vec<SetPlace>, MediaError> {
        match self.sets() {
            Err(MediaError::Incomplete) => self.sets_before(self.whole_bytes()?),
            sets => sets,
        }
    }

    /// Where the last tail ends, going forward from chunk to chunk.
    fn whole_bytes(&self) -> Result<u64, MediaError> {
        let (mut at, mut whole, mut tail) = (UNIT as u64, None, None);
        let mut last = None;
        while let Some((_, header)) = self.header_at(at)? {
            // Only another set may follow.
            if let (Some(tail), ChunkKind::Begin) = (tail, header.kind) {
                whole = Some(tail);
            }
            at += (UNIT + padded(header.stored_bytes as usize)) as u64;
            tail = (header.kind == ChunkKind::Tail).then_some(at);
            last = Some(header.kind);
        }
        // A backup that stops behind its end writes no other unit: the unit that is there was the tail.
        let is_tail = last == Some(ChunkKind::End) && at + UNIT as u64 == self.len;
        whole.ok_or(match is_tail {
            true => MediaError::Damaged("the tail of a set"),
            false => MediaError::Incomplete,
        })
    }

    fn sets_before(&self, mut end: u64) -> Result<Vec<SetPlace>, MediaError> {
        let mut sets: Vec<SetPlace> = Vec::new();
        while end > UNIT as u64 {
            let at = end
                .checked_sub(UNIT as u64)
                .filter(|at| at % UNIT as u64 == 0);
            let at = at.ok_or(MediaError::Incomplete)?;
            let header = self.header_at(at)?.map(|found| found.1);
            let tail =
                header.filter(|h| h.kind == ChunkKind::Tail && h.family == self.header.family);
            let last = sets.last().map_or(u32::MAX, |s| u32::from(s.position));
            let Some(tail) = tail else {
                return Err(match sets.is_empty() {
                    true => MediaError::Incomplete,
                    false => MediaError::Damaged("the tail of an earlier set"),
                });
            };
            let [begin, set_end, before] = tail.places;
            let follows = last == u32::MAX || u32::from(tail.position) + 1 == last;
            let ordered = begin >= UNIT as u64 && begin < set_end && set_end < at;
            let joined = match before {
                0 => begin == UNIT as u64 && tail.position == 1,
                before => before.checked_add(UNIT as u64) == Some(begin),
            };
            if !follows || !ordered || !joined {
                return Err(MediaError::Damaged("the tail of a set"));
            }
            sets.push(SetPlace {
                position: tail.position,
                set: tail.set,
                begin,
                end: set_end,
                tail: at,
            });
            end = begin;
        }
        sets.reverse();
        Ok(sets)
    }

    /// The header of the chunk at a place; `None` where there is none.
    fn header_at(&self, at: u64) -> Result<Option<(AlignedBuf, ChunkHeader)>, MediaError> {
        if at + UNIT as u64 > self.len {
            return Ok(None);
        }
        let mut unit = AlignedBuf::new(UNIT);
        self.file.read_at(at, &mut unit)?;
        let header = ChunkHeader::decode(&unit).ok();
        Ok(header.map(|header| (unit, header)))
    }

    /// Reads the chunk at a place, which must be the one with this number of the set.
    pub fn chunk(
        &self,
        at: u64,
        (place, number): (&SetPlace, u64),
        unpacker: &mut Unpacker,
    ) -> Result<Chunk, MediaError> {
        let stored = self.stored(at, (place, number))?;
        let Stored { header, next, .. } = &stored;
        let (header, next) = (header.clone(), *next);
        let (mut bytes, packed) = self.opened(stored, unpacker)?;
        let payload = match header.codec {
            super::Codec::None => {
                bytes.resize(packed.end);
                if header.raw_bytes as usize != packed.end {
                    return Err(MediaError::Damaged("a payload of another length"));
                }
                match packed.start {
                    0 => bytes,
                    from => AlignedBuf::copy_of(bytes.get(from..).unwrap_or_default()),
                }
            }
            codec => {
                let mut payload = AlignedBuf::new(header.raw_bytes as usize);
                unpacker.unpack(codec, bytes.get(packed).unwrap_or_default(), &mut payload)?;
                payload
            }
        };
        Ok(Chunk {
            header,
            payload,
            next,
        })
    }

    /// Reads the chunk at a place as it is stored, and proves it by its checksums.
    fn stored(&self, at: u64, (place, number): (&SetPlace, u64)) -> Result<Stored, MediaError> {
        let damaged = MediaError::Damaged;
        let found = self.header_at(at)?;
        let (unit, header) = found.ok_or(damaged("a chunk is missing"))?;
        let ours = header.set == place.set
            && header.family == self.header.family
            && header.position == place.position
            && header.number == number;
        if !ours {
            return Err(damaged("a chunk of another place"));
        }
        if header.encrypted != self.header.key.is_some() {
            return Err(damaged("a chunk that is not encrypted as its media are"));
        }
        let stored = header.stored_bytes as usize;
        let from = at + UNIT as u64;
        let next = from + padded(stored) as u64;
        if next > self.len {
            return Err(damaged("a chunk behind the end of its stripe"));
        }
        let mut bytes = AlignedBuf::new(padded(stored));
        if stored > 0 {
            self.file
                .read_at(from, &mut bytes)
                .map_err(|e| match e.kind {
                    IoErrorKind::PastEnd => damaged("a chunk behind the end of its stripe"),
                    _ => e.into(),
                })?;
        }
        let sound = crc32c::crc32c(&bytes) == header.payload_crc;
        if !sound && !mutated(Mutation::TrustStripes) {
            return Err(damaged("a payload"));
        }
        Ok(Stored {
            unit,
            header,
            bytes,
            next,
        })
    }

    /// Decrypts a chunk if it is encrypted; its payload, still packed, is a part of the bytes.
    fn opened(
        &self,
        stored: Stored,
        unpacker: &mut Unpacker,
    ) -> Result<(AlignedBuf, Range<usize>), MediaError> {
        let header = &stored.header;
        let end = header.stored_bytes as usize;
        let Some(thumbprint) = self.header.key else {
            return Ok((stored.bytes, 0..end));
        };
        let key = self.key.as_ref().ok_or(MediaError::Locked(thumbprint))?;
        let bad = MediaError::Damaged("an encrypted payload");
        let (end, tag) = match header.kind {
            ChunkKind::Tail => (end, header.tag),
            _ => {
                let end = end.checked_sub(TAG_BYTES).ok_or(bad.clone())?;
                (end, bytes_at(&stored.bytes, end).ok_or(bad.clone())?)
            }
        };
        let hidden_from = match header.kind {
            ChunkKind::Begin | ChunkKind::End => readable(&stored.bytes).ok_or(bad.clone())?.end,
            _ => 0,
        };
        let mut authenticated = header.authenticated(&stored.unit);
        let mut bytes = stored.bytes;
        authenticated.extend_from_slice(bytes.get(..hidden_from).unwrap_or_default());
        let hidden = bytes.get_mut(hidden_from..end).ok_or(bad)?;
        let cipher = unpacker.cipher(key, header.set);
        cipher.open(header.place(), &authenticated, (hidden, tag))?;
        Ok((bytes, hidden_from..end))
    }

    /// The text in the end of a set.
    pub fn info(&self, place: &SetPlace) -> Result<SetInfo, MediaError> {
        let bad = MediaError::Damaged("the end of a set");
        let Some((_, header)) = self.header_at(place.end)? else {
            return Err(bad);
        };
        let last = header.number;
        let mut unpacker = Unpacker::new();
        let chunk = self.chunk(place.end, (place, last), &mut unpacker)?;
        if chunk.header.kind != ChunkKind::End || chunk.next != place.tail {
            return Err(bad);
        }
        SetInfo::decode(&chunk.payload).ok_or(bad)
    }

    /// The same; of an encrypted set whose key is not there what can be read without it, and that is not
    /// authenticated: no files, no log.
    pub(crate) fn outline(&self, place: &SetPlace) -> Result<SetInfo, MediaError> {
        if self.locked().is_none() {
            return self.info(place);
        }
        let bad = MediaError::Damaged("the end of a set");
        let Some((_, header)) = self.header_at(place.end)? else {
            return Err(bad);
        };
        let stored = self.stored(place.end, (place, header.number))?;
        let text = readable(&stored.bytes).and_then(|range| stored.bytes.get(range));
        text.and_then(SetInfo::decode).ok_or(bad)
    }
}

/// Where the readable part of an encrypted text is.
fn readable(payload: &[u8]) -> Option<Range<usize>> {
    let length = u32::from_le_bytes(bytes_at(payload, 0)?) as usize;
    let end = LENGTH.checked_add(length)?;
    (end <= payload.len()).then_some(LENGTH..end)
}

/// A chunk as it is stored.
struct Stored {
    unit: AlignedBuf,
    header: ChunkHeader,
    /// The payload and its padding.
    bytes: AlignedBuf,
    next: u64,
}
