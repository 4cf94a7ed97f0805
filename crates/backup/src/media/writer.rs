//! Stripes written chunk by chunk.

use super::chunk::{ChunkHeader, ChunkKind};
use super::cipher::{BackupKey, SetCipher, TAG_BYTES};
use super::{LENGTH, MAX_PAYLOAD, MediaError, SetInfo, UNIT, padded, put};
use furrow_io::mutation::{Mutation, mutated};
use furrow_io::{AlignedBuf, File};
use furrow_types::Guid;
use std::ops::Range;
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
    cipher: Option<SetCipher>,
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
            cipher: None,
        }
    }

    /// The same, encrypted.
    #[must_use]
    pub fn encrypted(mut self, key: Option<&BackupKey>) -> StripeWriter {
        self.cipher = key.map(|key| SetCipher::new(key, self.set));
        self
    }

    /// Writes a chunk. `unit_and_payload` has one unit for the header, and the payload of
    /// `header.stored_bytes` behind it; its length is padded, and of an encrypted set a unit longer.
    pub fn write(
        &mut self,
        header: &mut ChunkHeader,
        unit_and_payload: &mut [u8],
    ) -> Result<(), MediaError> {
        self.write_hidden(header, unit_and_payload, 0)
    }

    /// Writes a chunk whose payload is encrypted from this place on, if the set is encrypted.
    fn write_hidden(
        &mut self,
        header: &mut ChunkHeader,
        unit_and_payload: &mut [u8],
        hidden_from: usize,
    ) -> Result<(), MediaError> {
        header.encrypted = self.cipher.is_some();
        let plain_bytes = header.stored_bytes as usize;
        if header.encrypted && header.kind != ChunkKind::Tail {
            header.stored_bytes += TAG_BYTES as u32;
        }
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
            if let Some(cipher) = &self.cipher {
                seal(cipher, header, unit, (payload, hidden_from..plain_bytes))?;
            }
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
        let (mut text, mut hidden_from) = (info.encode(), 0);
        if self.cipher.is_some() {
            let outline = info.outline().encode();
            let length = (outline.len() as u32).to_le_bytes();
            hidden_from = LENGTH + outline.len();
            text = [&length, outline.as_slice(), text.as_slice()].concat();
        }
        if text.len() > MAX_PAYLOAD {
            return Err(MediaError::Damaged("more files than a set can name"));
        }
        let mut header = ChunkHeader::new(kind);
        header.raw_bytes = text.len() as u32;
        header.stored_bytes = text.len() as u32;
        let mut bytes = AlignedBuf::new(UNIT + padded(text.len() + TAG_BYTES));
        if let Some(place) = bytes.get_mut(UNIT..UNIT + text.len()) {
            place.copy_from_slice(&text);
        }
        self.write_hidden(&mut header, &mut bytes, hidden_from)
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

/// Encrypts a range of the payload; what is before it is authenticated with the header. The tag goes behind
/// the payload, that of a tail into the header.
fn seal(
    cipher: &SetCipher,
    header: &mut ChunkHeader,
    unit: &mut [u8],
    (payload, hidden): (&mut [u8], Range<usize>),
) -> Result<(), MediaError> {
    let end = hidden.end;
    header.encode(unit);
    let mut authenticated = header.authenticated(unit);
    let (readable, rest) = payload.split_at_mut(hidden.start.min(payload.len()));
    authenticated.extend_from_slice(readable);
    let hidden = rest.get_mut(..end - hidden.start).unwrap_or_default();
    let tag = cipher.seal(header.place(), &authenticated, hidden)?;
    match header.kind {
        ChunkKind::Tail => header.tag = tag,
        _ => put(payload, end, &tag),
    }
    Ok(())
}
