//! Bits of the log that rot.

use furrow_format::Lsn;
use furrow_io::random::{IndexedRandom, Rng, SeededRng};
use furrow_io::{SimVolume, Volume};
use std::path::Path;

/// Two copies of the directory.
const DIRECTORIES_BYTES: u64 = 8192;
const SECTOR: usize = 512;
const BLOCK_MAGIC: &[u8; 4] = b"FLB1";
/// In place of a distance: the block before was durable.
const BLOCK_BEFORE: u32 = u32::MAX;
/// Most flips go to so many blocks before the end: older ones are not read any more.
const LAST_BLOCKS: usize = 24;

/// The header of a block, and where it lies.
struct Block {
    lsn: Lsn,
    at: usize,
    used: usize,
    /// The newest block that was durable when it was written.
    durable: Lsn,
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn long(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

impl Block {
    fn read(log: &[u8], at: usize) -> Option<Block> {
        let bytes = log.get(at..).filter(|b| b.starts_with(BLOCK_MAGIC))?;
        let (lsn, prev) = (Lsn(long(bytes, 16)?), Lsn(long(bytes, 24)?));
        let durable = match word(bytes, 44)? {
            0 => Lsn::ZERO,
            BLOCK_BEFORE => prev,
            back => Lsn::new(lsn.vlf(), lsn.block().saturating_sub(back), 0)?,
        };
        let used = word(bytes, 4)? as usize;
        Some(Block {
            lsn,
            at,
            used,
            durable,
        })
    }
}

/// The blocks that were certainly durable, oldest first.
fn durable_blocks(log: &[u8]) -> Vec<Block> {
    let starts = (0..log.len()).step_by(SECTOR);
    let mut blocks: Vec<Block> = starts.filter_map(|at| Block::read(log, at)).collect();
    let newest = blocks.iter().map(|block| block.durable).max();
    blocks.retain(|block| Some(block.lsn) <= newest);
    blocks.sort_by_key(|block| block.lsn);
    blocks
}

/// Flips one bit of the log: mostly of one of the last blocks that were durable, else of its directory.
pub(super) fn flip(
    machine: &SimVolume,
    home: &Path,
    rng: &mut SeededRng,
) -> Result<String, String> {
    let dirs = ["v0", "v1"].map(|dir| machine.list(&home.join(dir)).unwrap_or_default());
    let is_log = |path: &&std::path::PathBuf| path.extension().is_some_and(|e| e == "ldf");
    let path = dirs.iter().flatten().find(is_log).ok_or("no log")?;
    let log = machine.contents(path).map_err(|e| e.to_string())?;
    let blocks = durable_blocks(&log);
    let last = blocks
        .get(blocks.len().saturating_sub(LAST_BLOCKS)..)
        .unwrap_or_default();
    let block = last.choose(rng).filter(|_| rng.random_ratio(7, 8));
    let at = match block {
        Some(block) => block.at as u64 + rng.random_range(0..block.used as u64),
        None => rng.random_range(0..DIRECTORIES_BYTES),
    };
    let mask = 1 << rng.random_range(0..8);
    machine.rot(path, at, mask).map_err(|e| e.to_string())?;
    Ok(format!("{}, byte {at}, bits {mask:#x}", path.display()))
}
