//! The bytes of a file that lives in memory: sparse, and cheap to copy.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

/// Bytes per chunk: a page, so that a copied file shares the pages that neither side has changed.
const CHUNK: usize = 8192;

/// Bytes that cannot be read as one.
const UNIT: u64 = 512;

type Chunk = [u8; CHUNK];

/// An array of bytes in shared chunks; a clone costs one pointer per chunk, a hole costs nothing.
#[derive(Clone, Default)]
pub(crate) struct Image {
    len: u64,
    /// Chunks from the start of the file; those absent or past the end of the list are zeros.
    chunks: Vec<Option<Arc<Chunk>>>,
    /// Units that the device cannot read, by number: until each is written again as a whole.
    unreadable: BTreeSet<u64>,
}

/// Where a byte lies: its chunk, and its place in that.
fn place(offset: u64) -> (usize, usize) {
    let chunk = usize::try_from(offset / CHUNK as u64).unwrap_or(usize::MAX);
    (chunk, (offset % CHUNK as u64) as usize)
}

/// The units that lie wholly in a range.
fn whole_units(offset: u64, len: u64) -> Range<u64> {
    offset.div_ceil(UNIT)..(offset + len) / UNIT
}

impl Image {
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Copies bytes out; what lies in a hole or past the end reads as zeros.
    pub(crate) fn read(&self, mut offset: u64, mut into: &mut [u8]) {
        while !into.is_empty() {
            let (chunk, start) = place(offset);
            let (now, rest) = into.split_at_mut(into.len().min(CHUNK - start));
            match self.chunks.get(chunk).and_then(Option::as_ref) {
                Some(bytes) => now.copy_from_slice(&bytes[start..start + now.len()]),
                None => now.fill(0),
            }
            offset += now.len() as u64;
            into = rest;
        }
    }

    /// Copies bytes in; a write past the end makes the file longer.
    pub(crate) fn write(&mut self, mut offset: u64, mut from: &[u8]) {
        if from.is_empty() {
            return;
        }
        self.len = self.len.max(offset + from.len() as u64);
        if !self.unreadable.is_empty() {
            let written = whole_units(offset, from.len() as u64);
            self.unreadable.retain(|unit| !written.contains(unit));
        }
        while !from.is_empty() {
            let (chunk, start) = place(offset);
            let (now, rest) = from.split_at(from.len().min(CHUNK - start));
            if chunk >= self.chunks.len() {
                self.chunks.resize(chunk + 1, None);
            }
            let slot = &mut self.chunks[chunk];
            let bytes = Arc::make_mut(slot.get_or_insert_with(|| Arc::new([0; CHUNK])));
            bytes[start..start + now.len()].copy_from_slice(now);
            offset += now.len() as u64;
            from = rest;
        }
    }

    /// Makes the units that lie wholly in this range unreadable.
    pub(crate) fn spoil(&mut self, offset: u64, len: u64) {
        self.unreadable.extend(whole_units(offset, len));
    }

    /// Whether the device can read this range.
    pub(crate) fn is_readable(&self, offset: u64, len: u64) -> bool {
        let touched = offset / UNIT..(offset + len).div_ceil(UNIT);
        len == 0 || self.unreadable.range(touched).next().is_none()
    }

    /// Sets the length; bytes cut off are gone, new ones are zeros.
    pub(crate) fn set_len(&mut self, len: u64) {
        if len < self.len {
            let (chunk, start) = place(len);
            self.chunks
                .truncate(if start == 0 { chunk } else { chunk + 1 });
            if let Some(Some(bytes)) = self.chunks.get_mut(chunk) {
                Arc::make_mut(bytes)[start..].fill(0);
            }
            self.unreadable.split_off(&len.div_ceil(UNIT));
        }
        self.len = len;
    }

    /// All bytes.
    pub(crate) fn to_vec(&self) -> Vec<u8> {
        let mut all = vec![0; usize::try_from(self.len).unwrap_or(0)];
        self.read(0, &mut all);
        all
    }
}

impl std::fmt::Debug for Image {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Image({} bytes)", self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Rng, seeded, test_seed};

    #[test]
    fn an_image_is_a_vector_of_bytes_whatever_is_done_to_it() {
        let seed = test_seed();
        println!("seed {seed}");
        let mut rng = seeded(seed);
        let mut image = Image::default();
        let mut model: Vec<u8> = Vec::new();
        for _ in 0..2_000 {
            let offset = rng.random_range(0..60_000_usize);
            if rng.random_ratio(1, 8) {
                image.set_len(offset as u64);
                model.resize(offset, 0);
            } else {
                let bytes = vec![rng.random::<u8>(); rng.random_range(0..20_000)];
                image.write(offset as u64, &bytes);
                let end = offset + bytes.len();
                if model.len() < end {
                    model.resize(end, 0);
                }
                model[offset..end].copy_from_slice(&bytes);
            }
            assert_eq!(image.len(), model.len() as u64);
        }
        assert_eq!(image.to_vec(), model);
    }

    #[test]
    fn a_copy_keeps_its_bytes_when_the_original_changes() {
        let mut image = Image::default();
        image.write(CHUNK as u64 - 1, &[1, 2]);
        let copy = image.clone();
        image.write(CHUNK as u64, &[9]);
        image.set_len(3);
        assert_eq!(copy.to_vec()[CHUNK - 1..], [1, 2]);
        assert_eq!(image.to_vec(), [0, 0, 0]);
    }

    #[test]
    fn what_cannot_be_read_can_be_once_it_is_written_again_as_a_whole() {
        let mut image = Image::default();
        image.write(0, &[1; 4096]);
        image.spoil(500, 1100);
        let copy = image.clone();
        assert!(image.is_readable(0, 512) && !image.is_readable(511, 2));
        assert!(!image.is_readable(1500, 1) && image.is_readable(1536, 2560));
        image.write(600, &[2; 500]);
        assert!(!image.is_readable(600, 1), "half a unit was written");
        image.write(512, &[2; 512]);
        assert!(image.is_readable(0, 1024) && !image.is_readable(1024, 512));
        image.set_len(1024);
        image.set_len(4096);
        assert!(image.is_readable(0, 4096));
        assert!(!copy.is_readable(512, 512) && copy.is_readable(700, 0));
    }
}
