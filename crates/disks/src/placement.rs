//! Where the bytes of a file lie on the array.
//!
//! A partition begins at its offset and is divided into clusters, the allocation units of the file system.
//! A file is a list of extents, each a run of clusters. A new file begins some clusters behind what was
//! allocated last, because small files and metadata lie in between. So with clusters of 4 KB about every
//! other file begins at an odd multiple of 4 KB. A file that grows continues behind its last extent where
//! that space is free, and in the first free run otherwise.
//!
//! # Invariants
//! 1. Every extent begins and ends on a cluster boundary of the partition.
//! 2. Extents of different files do not overlap, and free runs do not touch each other.
//!    `files_grow_and_go_without_overlap` checks both after every step.

use furrow_io::random::{Rng, SeededRng, seeded};
use std::collections::BTreeMap;
use thiserror::Error;

/// Clusters that lie between two new files at most.
const GAP_CLUSTERS: u64 = 16;

/// The array has no space for a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the modelled array is full: {free_bytes} bytes are free, {wanted_bytes} more are wanted")]
pub struct Full {
    /// Bytes that are free.
    pub free_bytes: u64,
    /// Bytes that are wanted.
    pub wanted_bytes: u64,
}

/// A run of clusters of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// First byte in the file.
    pub file_offset: u64,
    /// First byte on the array.
    pub array_offset: u64,
    /// Length.
    pub bytes: u64,
}

/// The extents of a file, in the order of its bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Extents(Vec<Extent>);

impl Extents {
    /// The extents.
    pub fn all(&self) -> &[Extent] {
        &self.0
    }

    /// Bytes that the extents cover.
    pub fn bytes(&self) -> u64 {
        self.0
            .last()
            .map_or(0, |last| last.file_offset + last.bytes)
    }

    /// Calls `each` with the parts of the array that a range of the file lies on; bytes past the extents are
    /// left out.
    pub fn map(&self, offset: u64, bytes: u64, mut each: impl FnMut(u64, u64)) {
        let end = offset.saturating_add(bytes).min(self.bytes());
        let first = self
            .0
            .partition_point(|extent| extent.file_offset + extent.bytes <= offset);
        for extent in self.0.iter().skip(first) {
            let from = offset.max(extent.file_offset);
            let to = end.min(extent.file_offset + extent.bytes);
            if from >= to {
                break;
            }
            each(extent.array_offset + (from - extent.file_offset), to - from);
        }
    }
}

/// A partition with its clusters.
#[derive(Debug, Clone)]
pub struct Placement {
    partition_offset: u64,
    unit_bytes: u64,
    /// Free runs: first cluster and length.
    free: BTreeMap<u64, u64>,
    rng: SeededRng,
}

impl Placement {
    /// An empty partition that fills the rest of an array.
    pub fn new(
        capacity_bytes: u64,
        partition_offset: u64,
        unit_bytes: u64,
        seed: u64,
    ) -> Placement {
        let unit_bytes = unit_bytes.max(512);
        let clusters = capacity_bytes.saturating_sub(partition_offset) / unit_bytes;
        let mut free = BTreeMap::new();
        if clusters > 0 {
            free.insert(0, clusters);
        }
        Placement {
            partition_offset,
            unit_bytes,
            free,
            rng: seeded(seed),
        }
    }

    /// Bytes that are free.
    pub fn free_bytes(&self) -> u64 {
        self.free.values().sum::<u64>() * self.unit_bytes
    }

    /// Makes the extents of a file cover `bytes`.
    pub fn extend(&mut self, file: &mut Extents, bytes: u64) -> Result<(), Full> {
        let missing = bytes.saturating_sub(file.bytes());
        let mut clusters = missing.div_ceil(self.unit_bytes);
        let free_bytes = self.free_bytes();
        if clusters.saturating_mul(self.unit_bytes) > free_bytes {
            return Err(Full {
                free_bytes,
                wanted_bytes: missing,
            });
        }
        while clusters > 0 {
            let Some((start, length)) = self.choose(file, clusters) else {
                break;
            };
            self.take(start, length);
            self.append(file, start, length);
            clusters -= length;
        }
        Ok(())
    }

    /// Frees the space of a file.
    pub fn release(&mut self, file: &mut Extents) {
        for extent in file.0.drain(..) {
            let start = (extent.array_offset - self.partition_offset) / self.unit_bytes;
            self.put_back(start, extent.bytes / self.unit_bytes);
        }
    }

    /// Cuts a file to `bytes`, rounded up to a cluster.
    pub fn truncate(&mut self, file: &mut Extents, bytes: u64) {
        let keep = bytes.div_ceil(self.unit_bytes) * self.unit_bytes;
        while let Some(last) = file.0.pop() {
            let inside = keep.saturating_sub(last.file_offset).min(last.bytes);
            if inside > 0 {
                file.0.push(Extent {
                    bytes: inside,
                    ..last
                });
            }
            let start = (last.array_offset + inside - self.partition_offset) / self.unit_bytes;
            self.put_back(start, (last.bytes - inside) / self.unit_bytes);
            if inside > 0 {
                break;
            }
        }
    }

    /// The next run for a file: the free run behind its end, otherwise the first that has all the clusters,
    /// otherwise the longest.
    fn choose(&mut self, file: &Extents, clusters: u64) -> Option<(u64, u64)> {
        if let Some(last) = file.0.last() {
            let end = (last.array_offset + last.bytes - self.partition_offset) / self.unit_bytes;
            if let Some(length) = self.free.get(&end) {
                return Some((end, clusters.min(*length)));
            }
        }
        let gap = self.rng.random_range(0..GAP_CLUSTERS);
        let runs = || self.free.iter().map(|(start, length)| (*start, *length));
        let whole = runs().find(|(_, length)| *length >= clusters);
        let (start, length) = whole.or_else(|| runs().max_by_key(|(_, length)| *length))?;
        let gap = gap.min(length - clusters.min(length));
        Some((start + gap, clusters.min(length)))
    }

    fn take(&mut self, start: u64, length: u64) {
        let before = self.free.range(..=start).next_back();
        let Some((run, of)) = before.map(|(run, of)| (*run, *of)) else {
            return;
        };
        debug_assert!(
            run + of >= start + length,
            "clusters are taken that are not free"
        );
        self.free.remove(&run);
        if start > run {
            self.free.insert(run, start - run);
        }
        if run + of > start + length {
            self.free.insert(start + length, run + of - start - length);
        }
    }

    fn put_back(&mut self, mut start: u64, mut length: u64) {
        if length == 0 {
            return;
        }
        if let Some((run, of)) = self.free.range(..start).next_back().map(|(r, l)| (*r, *l))
            && run + of == start
        {
            self.free.remove(&run);
            (start, length) = (run, of + length);
        }
        if let Some(of) = self.free.remove(&(start + length)) {
            length += of;
        }
        self.free.insert(start, length);
    }

    fn append(&self, file: &mut Extents, start: u64, length: u64) {
        let array_offset = self.partition_offset + start * self.unit_bytes;
        let bytes = length * self.unit_bytes;
        match file.0.last_mut() {
            Some(last) if last.array_offset + last.bytes == array_offset => last.bytes += bytes,
            _ => {
                let file_offset = file.bytes();
                file.0.push(Extent {
                    file_offset,
                    array_offset,
                    bytes,
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use furrow_io::random::test_seed;

    const OFFSET: u64 = 63 * 512;

    fn check(placement: &Placement, files: &[Extents], capacity: u64) {
        let unit = placement.unit_bytes;
        let mut runs: Vec<(u64, u64)> = placement
            .free
            .iter()
            .map(|(start, length)| (OFFSET + start * unit, length * unit))
            .collect();
        for pair in runs.windows(2) {
            assert!(pair[0].0 + pair[0].1 < pair[1].0, "free runs touch");
        }
        for file in files {
            let mut at = 0;
            for extent in file.all() {
                assert_eq!(extent.file_offset, at);
                assert_eq!((extent.array_offset - OFFSET) % unit, 0);
                at += extent.bytes;
                runs.push((extent.array_offset, extent.bytes));
            }
        }
        runs.sort_unstable();
        let mut at = OFFSET;
        for (start, bytes) in runs {
            assert_eq!(start, at, "space is lost or given twice");
            at += bytes;
        }
        assert_eq!(at, OFFSET + (capacity - OFFSET) / unit * unit);
    }

    #[test]
    fn files_grow_and_go_without_overlap() {
        let seed = test_seed();
        println!("seed {seed}");
        let mut rng = seeded(seed);
        for unit in [4096, 65_536] {
            let capacity = 64 << 20;
            let mut placement = Placement::new(capacity, OFFSET, unit, seed);
            let mut files = vec![Extents::default(); 5];
            for _ in 0..2_000 {
                let file = &mut files[rng.random_range(0..5)];
                match rng.random_range(0..10) {
                    0 => placement.release(file),
                    1..3 => placement.truncate(file, file.bytes() / 3),
                    _ => {
                        let bytes = file.bytes() + rng.random_range(1..400_000);
                        let free = placement.free_bytes();
                        match placement.extend(file, bytes) {
                            Ok(()) => assert!(file.bytes() >= bytes),
                            Err(full) => assert!(full.free_bytes == free),
                        }
                    }
                }
                check(&placement, &files, capacity);
            }
        }
    }

    #[test]
    fn a_range_over_several_extents_is_mapped_in_parts() {
        let extent = |file_offset, array_offset, bytes| Extent {
            file_offset,
            array_offset,
            bytes,
        };
        let file = Extents(vec![
            extent(0, 1 << 20, 8192),
            extent(8192, 4 << 20, 16_384),
        ]);
        let mut parts = Vec::new();
        file.map(4096, 100_000, |at, bytes| parts.push((at, bytes)));
        assert_eq!(parts, [((1 << 20) + 4096, 4096), (4 << 20, 16_384)]);
        file.map(24_576, 8192, |_, _| panic!("past the end"));
    }

    #[test]
    fn clusters_of_4_kb_start_a_file_on_an_odd_one_about_every_other_time() {
        let mut placement = Placement::new(1 << 40, 1 << 20, 4096, 5);
        let odd = (0..400).filter(|_| {
            let mut file = Extents::default();
            placement.extend(&mut file, 1 << 20).unwrap();
            file.all()[0].array_offset % 8192 == 4096
        });
        assert!((150..250).contains(&odd.count()));
    }
}
