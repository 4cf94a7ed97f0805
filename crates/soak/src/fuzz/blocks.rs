//! The log as it is read at restart.

use super::Target;
use super::havoc::{Dice, damage};
use furrow_format::{ChangeReader, Lsn, TxnId};
use furrow_io::{Access, File, IoError, MemoryVolume, Open, Volume, WriteRun, read_all};
use furrow_log::{FIRST_VLF_OFFSET, Log, LogConfig, LogError, LogScan, Record, RecordKind};
use std::collections::HashMap;
use std::hint::black_box;
use std::io::IoSlice;
use std::path::Path;
use std::sync::Arc;

const BINDING: [u8; 16] = *b"binding of blocs";
const PATH: &str = "/log/db.ldf";
/// Flushes, each a block or more.
const FLUSHES: u64 = 24;
/// The first bytes of a block, and the one that its header ends before.
const BLOCK_HEADER: usize = 48;
const BLOCK_MAGIC: &[u8; 4] = b"FLB1";

struct Blocks {
    file: Arc<dyn File>,
    image: Vec<u8>,
    start: Lsn,
    /// Offsets of the blocks.
    blocks: Vec<usize>,
    /// What was appended, by its place.
    reported: HashMap<Lsn, (u64, Vec<u8>)>,
    /// Records by themselves.
    records: Vec<Vec<u8>>,
}

fn in_memory() -> Result<(MemoryVolume, Arc<dyn File>), IoError> {
    let volume = MemoryVolume::new();
    volume.create_dir(Path::new("/log"))?;
    let file = volume.open(Path::new(PATH), Open::Create, Access::Log)?;
    Ok((volume, file))
}

/// A small log of small blocks.
pub(super) fn make() -> Result<Box<dyn Target>, String> {
    made()
        .map_err(|e| e.to_string())
        .and_then(|blocks| match blocks.blocks.len() {
            0..20 => Err(format!("only {} blocks", blocks.blocks.len())),
            _ => Ok(Box::new(blocks) as Box<dyn Target>),
        })
}

fn made() -> Result<Blocks, LogError> {
    let (_volume, file) = in_memory()?;
    let config = LogConfig {
        sector_bytes: 512,
        background: false,
        ..LogConfig::default()
    };
    let log = Log::create(
        Arc::clone(&file),
        furrow_log::MIN_LOG_BYTES,
        BINDING,
        config,
    )?;
    let start = log.append(&Record::system(RecordKind::CheckpointBegin, &[]))?;
    let (mut reported, mut records) = (HashMap::new(), Vec::new());
    for flush in 0..FLUSHES {
        for number in 0..1 + flush % 4 {
            let mut body = vec![flush as u8; (flush * 37 % 300) as usize];
            body.extend_from_slice(&number.to_le_bytes());
            let record = Record {
                kind: RecordKind::Change,
                txn: TxnId(flush),
                prev: Lsn(number),
                undo: &[1, 2, 3],
                redo: &body,
            };
            let lsn = log.append(&record)?;
            records.push(raw(&record));
            reported.insert(lsn, (flush, body));
        }
        log.flush_all()?;
    }
    drop(log);
    let image = read_all(file.as_ref())?;
    let is_block = |at: &usize| image.get(*at..).is_some_and(|b| b.starts_with(BLOCK_MAGIC));
    let blocks = (FIRST_VLF_OFFSET as usize..image.len())
        .step_by(512)
        .filter(is_block)
        .collect();
    Ok(Blocks {
        file,
        image,
        start,
        blocks,
        reported,
        records,
    })
}

/// A record as it lies in a block.
fn raw(record: &Record<'_>) -> Vec<u8> {
    let undo_len = (record.undo.len() as u32).to_le_bytes();
    let mut bytes = (record.len_bytes() as u32).to_le_bytes().to_vec();
    bytes.push(record.kind as u8);
    bytes.extend(undo_len.iter().take(3));
    bytes.extend(record.txn.0.to_le_bytes());
    bytes.extend(record.prev.0.to_le_bytes());
    bytes.extend(record.undo);
    bytes.extend(record.redo);
    bytes
}

/// Makes the checksum of a block right, as its header has it.
fn reseal(block: &mut [u8]) {
    let used = block.get(4..8).and_then(|b| b.first_chunk()).copied();
    let used = u32::from_le_bytes(used.unwrap_or_default()) as usize;
    let Some(used) = block.get(..used).filter(|u| u.len() >= BLOCK_HEADER) else {
        return;
    };
    let crc = crc32c::crc32c_append(crc32c::crc32c(&used[..40]), &[0; 4]);
    let crc = crc32c::crc32c_append(crc, &used[44..]);
    if let Some(place) = block.get_mut(40..44) {
        place.copy_from_slice(&crc.to_le_bytes());
    }
}

impl Blocks {
    fn put(&self, at: usize, bytes: &[u8]) -> Result<(), String> {
        let bufs = &[IoSlice::new(bytes)];
        let offset = at as u64;
        let done = self.file.write(&[WriteRun { offset, bufs }]);
        done.map_err(|e| e.to_string())
    }

    /// Reads the log to its end. A record that differs from what was appended is an error if no damage may be
    /// accepted.
    fn scan(&self, strictly: bool) -> Result<(), String> {
        let Ok(mut scan) = LogScan::open(Arc::clone(&self.file), BINDING, self.start) else {
            return Ok(());
        };
        let (mut last, mut read) = (Lsn::ZERO, 0);
        while let Ok(Some(record)) = scan.next_record() {
            let view = record.get();
            black_box(ChangeReader::new(view.redo).filter(Result::is_ok).count());
            if record.lsn <= last {
                return Err(format!("{:?} follows {last:?}", record.lsn));
            }
            (last, read) = (record.lsn, read + 1);
            let known = self.reported.get(&record.lsn);
            let same = known
                .is_some_and(|(txn, redo)| (TxnId(*txn), redo.as_slice()) == (view.txn, view.redo));
            if strictly && view.kind == RecordKind::Change && !same {
                return Err(format!("a damaged record is believed at {:?}", record.lsn));
            }
        }
        if read > 10 * self.reported.len() {
            return Err(format!(
                "{read} records in a log of {}",
                self.reported.len()
            ));
        }
        black_box(scan.read(last).is_ok());
        Ok(())
    }

    fn damaged_log(&self, dice: &mut Dice) -> Result<(), String> {
        // The directory, or a block: with a right checksum, or without.
        let at = match dice.one_in(8) {
            true => 4096 * dice.below(2),
            false => dice.pick(&self.blocks).copied().unwrap_or_default(),
        };
        let is_block = at >= FIRST_VLF_OFFSET as usize;
        let end = (at + if is_block { 2048 } else { 4096 }).min(self.image.len());
        let Some(sound) = self.image.get(at..end) else {
            return Ok(());
        };
        let mut bytes = sound.to_vec();
        let hot = if is_block {
            0..BLOCK_HEADER + 24
        } else {
            0..64
        };
        damage(&mut bytes, &[hot], dice);
        let repaired = is_block && dice.one_in(2);
        if repaired {
            reseal(&mut bytes);
        }
        self.put(at, &bytes)?;
        let done = self.scan(!repaired);
        self.put(at, sound)?;
        done
    }
}

impl Target for Blocks {
    fn read_one(&mut self, dice: &mut Dice) -> Result<(), String> {
        if dice.one_in(4) {
            return self.damaged_log(dice);
        }
        let mut bytes = dice.pick(&self.records).cloned().unwrap_or_default();
        damage(&mut bytes, std::slice::from_ref(&(0..24)), dice);
        if let Some((record, len)) = Record::read(&bytes) {
            let parts = record.undo.len() + record.redo.len();
            if len > bytes.len() || parts > len || record.len_bytes() != len {
                return Err(format!(
                    "a record of {len} bytes in {}, parts {parts}",
                    bytes.len()
                ));
            }
            black_box(ChangeReader::new(record.redo).count());
        }
        Ok(())
    }
}
