//! Rows apart by the hash of a key: what has one key is in one partition, so that partitions can be worked on
//! one after the other.

use super::{Run, SpillFile, Stream};
use furrow_context::context::Context;
use furrow_context::error::Result;
use furrow_types::Value;
use std::sync::Arc;

/// Bits of a hash that distinguish the partitions of one level.
const BITS: u32 = 4;

/// Rows that are being put apart.
#[derive(Debug)]
pub struct Partitions {
    file: Arc<SpillFile>,
    /// How often rows have been put apart before these.
    level: u32,
    streams: Vec<Option<Stream>>,
}

impl Partitions {
    /// Empty partitions; `level` counts how often these rows have been divided before.
    pub fn new(level: u32, cx: &Context) -> Result<Partitions> {
        Ok(Partitions {
            file: SpillFile::create(cx)?,
            level,
            streams: (0..1 << BITS).map(|_| None).collect(),
        })
    }

    /// Puts a row with its partition.
    pub fn push(&mut self, hash: u64, row: &[Value], more: &[Value]) -> Result<()> {
        // Each level looks at other bits.
        let at = hash.rotate_right(self.level.wrapping_mul(BITS)) as usize % self.streams.len();
        let file = &self.file;
        match self.streams.get_mut(at) {
            Some(stream) => {
                let stream = stream.get_or_insert_with(|| Stream::new(file));
                stream.push_parts(row, more)
            }
            None => Ok(()),
        }
    }

    /// The partitions that have rows, each with the level of those that it may be put apart into.
    pub fn finish(self) -> Result<Vec<(Arc<Run>, u32)>> {
        let level = self.level + 1;
        let all = self.finish_all()?;
        Ok(all.into_iter().flatten().map(|run| (run, level)).collect())
    }

    /// All partitions; those that have no rows too.
    pub(crate) fn finish_all(self) -> Result<Vec<Option<Arc<Run>>>> {
        let finish = |stream: Option<Stream>| stream.map(Stream::finish).transpose();
        self.streams.into_iter().map(finish).collect()
    }
}
