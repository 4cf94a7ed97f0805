//! Stripes: written chunk by chunk, read chunk by chunk.

use super::chunk::{ChunkHeader, ChunkKind};
use super::codec::Unpacker;
use super::{MAX_PAYLOAD, MediaError, MediaHeader, SetInfo, UNIT, padded};
use furrow_io::mutation::{Mutation, mutated};
use furrow_io::{AlignedBuf, File, IoErrorKind};
use furrow_types::Guid;
use std::sync::Arc;

/// Writes a backup set to a stripe, or counts what it would write.
#[derive(Debug)]
pub struct StripeWriter {
    /// `None`: the NUL device.
    file: Option<Arc<dyn File>>,
    family: u16,
    position: u16,
    set: Guid,
    at: u64,
    number: u64,
    begin: u64,
    end: u64,
    before: u64,
}

impl StripeWriter {
    /// Writes behind `at`; the tail of the set before lies at `before` (0: none).
    pub fn new(
        file: Option<Arc<dyn File>>,
        (family, position, set): (u16, u16, Guid),
        (at, before): (u64, u64),
    ) -> StripeWriter {
        StripeWriter {
            file,
            family,
            position,
            set,
            at,
            number: 0,
            begin: at,
            end: 0,
            before,
        }
    }

    /// Writes a chunk. `unit_and_payload` has one unit for the header, and the payload of
    /// `header.stored_bytes` behind it; its length is padded.
    pub fn write(
        &mut self,
        header: &mut ChunkHeader,
        unit_and_payload: &mut [u8],
    ) -> Result<(), MediaError> {
        header.family = self.family;
        header.position = self.position;
        header.set = self.set;
        header.number = self.number;
        let bytes = UNIT + padded(header.stored_bytes as usize);
        let Some(all) = unit_and_payload.get_mut(..bytes) else {
            return Err(MediaError::Damaged("a chunk shorter than its payload"));
        };
        let (unit, payload) = all.split_at_mut(UNIT);
        if self.file.is_some() {
            if let Some(padding) = payload.get_mut(header.stored_bytes as usize..) {
                padding.fill(0);
            }
            header.payload_crc = crc32c::crc32c(payload);
            header.encode(unit);
        }
        if let Some(file) = &self.file {
            file.write_at(self.at, all)?;
        }
        if header.kind == ChunkKind::End {
            self.end = self.at;
        }
        self.at += bytes as u64;
        self.number += 1;
        Ok(())
    }

    /// Writes a chunk with the set's text.
    pub(crate) fn write_text(&mut self, kind: ChunkKind, info: &SetInfo) -> Result<(), MediaError> {
        let text = info.encode();
        if text.len() > MAX_PAYLOAD {
            return Err(MediaError::Damaged("more files than a set can name"));
        }
        let mut header = ChunkHeader::new(kind);
        header.raw_bytes = text.len() as u32;
        header.stored_bytes = text.len() as u32;
        let mut bytes = AlignedBuf::new(UNIT + padded(text.len()));
        if let Some(place) = bytes.get_mut(UNIT..UNIT + text.len()) {
            place.copy_from_slice(&text);
        }
        self.write(&mut header, &mut bytes)
    }

    /// Makes what was written durable.
    pub fn sync(&self) -> Result<(), MediaError> {
        match &self.file {
            Some(file) if !mutated(Mutation::EarlyTail) => Ok(file.sync()?),
            _ => Ok(()),
        }
    }

    /// Writes the tail, durably: the set is whole, as far as this stripe goes.
    pub(crate) fn write_tail(&mut self) -> Result<(), MediaError> {
        let mut header = ChunkHeader::new(ChunkKind::Tail);
        header.places = [self.begin, self.end, self.before];
        let mut unit = AlignedBuf::new(UNIT);
        self.write(&mut header, &mut unit)?;
        self.sync()
    }

    /// Chunks written so far.
    pub fn chunks(&self) -> u64 {
        self.number
    }

    /// Bytes of the set so far.
    pub fn bytes(&self) -> u64 {
        self.at - self.begin
    }
}

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
        Ok(StripeReader { file, header, len })
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
        while let Some(header) = self.header_at(at)? {
            // Only another set may follow.
            if let (Some(tail), ChunkKind::Begin) = (tail, header.kind) {
                whole = Some(tail);
            }
            at += (UNIT + padded(header.stored_bytes as usize)) as u64;
            tail = (header.kind == ChunkKind::Tail).then_some(at);
        }
        whole.ok_or(MediaError::Incomplete)
    }

    fn sets_before(&self, mut end: u64) -> Result<Vec<SetPlace>, MediaError> {
        let mut sets: Vec<SetPlace> = Vec::new();
        while end > UNIT as u64 {
            let at = end
                .checked_sub(UNIT as u64)
                .filter(|at| at % UNIT as u64 == 0);
            let at = at.ok_or(MediaError::Incomplete)?;
            let header = self.header_at(at)?;
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
                before => before + UNIT as u64 == begin,
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
    fn header_at(&self, at: u64) -> Result<Option<ChunkHeader>, MediaError> {
        if at + UNIT as u64 > self.len {
            return Ok(None);
        }
        let mut unit = AlignedBuf::new(UNIT);
        self.file.read_at(at, &mut unit)?;
        Ok(ChunkHeader::decode(&unit).ok())
    }

    /// Reads the chunk at a place, which must be the one with this number of the set.
    pub fn chunk(
        &self,
        at: u64,
        (place, number): (&SetPlace, u64),
        unpacker: &mut Unpacker,
    ) -> Result<Chunk, MediaError> {
        let damaged = MediaError::Damaged;
        let header = self.header_at(at)?;
        let header = header.ok_or(damaged("a chunk is missing"))?;
        let ours = header.set == place.set
            && header.family == self.header.family
            && header.position == place.position
            && header.number == number;
        if !ours {
            return Err(damaged("a chunk of another place"));
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
        let payload = match header.codec {
            super::Codec::None => {
                bytes.resize(stored);
                if header.raw_bytes != header.stored_bytes {
                    return Err(damaged("a payload of another length"));
                }
                bytes
            }
            codec => {
                let mut payload = AlignedBuf::new(header.raw_bytes as usize);
                let packed = bytes.get(..stored).unwrap_or_default();
                unpacker.unpack(codec, packed, &mut payload)?;
                payload
            }
        };
        Ok(Chunk {
            header,
            payload,
            next,
        })
    }

    /// The text in the end of a set.
    pub fn info(&self, place: &SetPlace) -> Result<SetInfo, MediaError> {
        let bad = MediaError::Damaged("the end of a set");
        let Some(header) = self.header_at(place.end)? else {
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
}
