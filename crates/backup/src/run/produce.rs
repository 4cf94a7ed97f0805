//! Reading a database: pages of its files, then the log, and what the log asks for.

use super::parts::{Extents, Part, Parts, Source, extents};
use super::pipeline::{Filled, Pipeline, helper, page_bytes};
use super::{FilePages, set_files};
use crate::BackupError;
use crate::error::shown;
use crate::media::{BackupKind, ChunkHeader, ChunkKind, MAX_RUNS, Run, SetFile, SetInfo, UNIT};
use furrow_engine::BackupSource;
use furrow_format::{FileId, PAGE_SIZE, PageId};
use furrow_io::sync::Mutex;
use furrow_io::sync::atomic::Ordering;
use furrow_io::time::WallTime;
use furrow_io::{AlignedBuf, host, thread};
use furrow_log::LogBlock;
use furrow_observe::task::{self, Task};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Exec context numbers of readers begin here.
const FIRST_READER: u16 = 1000;
/// Threads that read a volume: while one checks what it has read, the other reads.
pub(super) const READERS: usize = 2;

/// Reads a database into chunks.
#[derive(Debug)]
pub(super) struct Producer {
    source: BackupSource,
    /// Data files by volume.
    volumes: Vec<Vec<Source>>,
    total_bytes: u64,
    vlfs: BTreeMap<u32, u64>,
    log_bytes: u64,
}

/// The volume that a file is on, as far as the system says.
fn volume_of(path: &str) -> String {
    let device = host::device_of(Path::new(path));
    device.map_or_else(String::new, |device| device.name)
}

/// A chunk that is being filled.
struct Filling {
    header: ChunkHeader,
    bytes: AlignedBuf,
    used: usize,
    /// Bytes that a chunk takes.
    limit: usize,
}

impl Filling {
    fn new((bytes, limit): (AlignedBuf, usize), kind: ChunkKind, round: u32) -> Filling {
        let mut header = ChunkHeader::new(kind);
        header.round = round;
        Filling {
            header,
            bytes,
            used: 0,
            limit,
        }
    }

    /// Bytes that still fit, up to the transfer size.
    fn room(&self) -> usize {
        match self.header.runs.len() < MAX_RUNS {
            true => self.limit - self.used,
            false => 0,
        }
    }

    /// Space for a run of so many bytes.
    fn add(&mut self, run: Run, bytes: usize) -> &mut [u8] {
        self.header.runs.push(run);
        let from = UNIT + self.used;
        self.used += bytes;
        self.bytes.get_mut(from..from + bytes).unwrap_or_default()
    }

    fn finish(mut self) -> Filled {
        self.header.raw_bytes = self.used as u32;
        self.header.stored_bytes = self.used as u32;
        Filled {
            header: self.header,
            bytes: self.bytes,
            packed: false,
        }
    }
}

impl Producer {
    pub(super) fn new(source: BackupSource, info: &SetInfo) -> Result<Producer, BackupError> {
        let mut volumes: BTreeMap<String, Vec<Source>> = BTreeMap::new();
        let data = info
            .files
            .iter()
            .filter(|f| f.filegroup != 0 && f.present && !source.is_log());
        for file in data {
            let source = Source::new(file);
            volumes
                .entry(volume_of(&file.path))
                .or_default()
                .push(source);
        }
        let db = source.database().filter(|_| !source.is_log());
        let sizes = db.map(|db| db.file_list()).transpose()?.unwrap_or_default();
        let present = |id: u16| info.files.iter().any(|f| f.id == id && f.present);
        let data = sizes.iter().filter(|f| f.filegroup != 0 && present(f.id.0));
        let mut pages = 0;
        for file in data {
            let allocated = file.size_pages.saturating_sub(file.free_extents * 8);
            pages += match info.kind {
                BackupKind::Differential => {
                    let size = u32::try_from(file.size_pages).unwrap_or(u32::MAX);
                    let changed = db
                        .map(|db| db.modified_extents(file.id, size))
                        .transpose()?;
                    allocated.min(changed.unwrap_or(0) * 8)
                }
                _ => allocated,
            };
        }
        Ok(Producer {
            total_bytes: page_bytes(pages),
            source,
            volumes: volumes.into_values().collect(),
            vlfs: BTreeMap::new(),
            log_bytes: 0,
        })
    }

    /// Volumes that are read side by side.
    pub(super) fn volumes(&self) -> usize {
        self.volumes.len()
    }

    /// Bytes that are read, by the maps as they were.
    pub(super) fn total_bytes(&self) -> u64 {
        self.total_bytes
    }

    /// Reads everything and sends it on.
    pub(super) fn produce(
        &mut self,
        pipeline: &Pipeline<'_>,
        task: &Arc<Task>,
    ) -> Result<(), BackupError> {
        self.read_files(pipeline, task);
        let sources = self.volumes.iter().flatten();
        let mut files: Vec<(u16, FilePages)> = sources
            .map(|s| {
                let pages = s.pages.load(Ordering::Relaxed);
                let name = s.file.name.clone();
                (s.file.id, FilePages { name, pages })
            })
            .collect();
        files.sort_by_key(|f| f.0);
        pipeline.files_done(files.into_iter().map(|f| f.1).collect());
        let mut round = 0;
        while let Some(needed) = self.copy_log(pipeline)? {
            round += 1;
            if !pipeline.run_empty() {
                return Ok(());
            }
            self.copy_needed(pipeline, &needed, round)?;
        }
        pipeline.all_sent();
        Ok(())
    }

    /// Reads the allocated extents of all files: each volume by [`READERS`] threads, in the order of its
    /// files. An error breaks the backup off at once: no other reader goes on.
    fn read_files(&self, pipeline: &Pipeline<'_>, task: &Arc<Task>) {
        let volumes = self.volumes.iter();
        let parts: Vec<_> = volumes
            .map(|files| Mutex::new(Parts::new(extents(&self.source, files))))
            .collect();
        let readers = parts.iter().flat_map(|parts| [parts; READERS]);
        let read = |parts| {
            if let Err(error) = pipeline.as_reader(|| self.read_parts(pipeline, parts, 0)) {
                pipeline.fail(error);
            }
        };
        let mut readers = readers.enumerate();
        let own = readers.next();
        thread::scope(|scope| {
            for (at, parts) in readers {
                let task = helper(task, FIRST_READER + at as u16);
                let work = move || {
                    let _entered = task::enter(&task);
                    read(parts);
                };
                let spawned = thread::spawn_scoped(scope, "backup reader", work);
                pipeline.spawned(spawned.map(drop));
            }
            if let Some((_, parts)) = own {
                read(parts);
            }
        });
    }

    /// Reads what others have not taken, a chunk at a time; also ends when the backup has failed elsewhere.
    fn read_parts<'a>(
        &self,
        pipeline: &Pipeline<'_>,
        parts: &Mutex<Parts<'a, impl Extents<'a>>>,
        round: u32,
    ) -> Result<(), BackupError> {
        while let Some(buffer) = pipeline.page_buffer() {
            let limit = pipeline.chunk_bytes();
            let taken = parts.lock().take((limit / PAGE_SIZE) as u32)?;
            if taken.is_empty() {
                pipeline.give_back(buffer);
                break;
            }
            let mut filling = Filling::new((buffer, limit), ChunkKind::Pages, round);
            for part in taken {
                self.read_part(pipeline, part, &mut filling)?;
            }
            pipeline.send(filling.finish());
        }
        Ok(())
    }

    fn read_part(
        &self,
        pipeline: &Pipeline<'_>,
        part: Part<'_>,
        filling: &mut Filling,
    ) -> Result<(), BackupError> {
        let Part { of, first, pages } = part;
        let run = Run {
            file: u32::from(first.file.0),
            first: first.page.0,
            count: pages,
        };
        let round = filling.header.round;
        let bytes = filling.add(run, pages as usize * PAGE_SIZE);
        let (mut at, mut rest) = (first, &mut *bytes);
        while !rest.is_empty() {
            let now = match round {
                0 => pipeline.pace(rest.len()),
                // Pages that the log asks for go with it.
                _ => pipeline.pace_log(rest.len()),
            };
            debug_assert!(now.is_multiple_of(PAGE_SIZE), "pages are read whole");
            let now = (now / PAGE_SIZE).max(1) * PAGE_SIZE;
            let (piece, later) = rest.split_at_mut(now);
            self.source.read(at, piece)?;
            at.page.0 += (now / PAGE_SIZE) as u32;
            rest = later;
        }
        if pipeline.request.checksum {
            self.check(pipeline, of, (first, bytes))?;
        }
        of.pages.fetch_add(u64::from(pages), Ordering::Relaxed);
        let read = page_bytes(u64::from(pages));
        pipeline.done_bytes.fetch_add(read, Ordering::Relaxed);
        Ok(())
    }

    /// 3043 for a damaged page, unless damage is only to be recorded.
    fn check(
        &self,
        pipeline: &Pipeline<'_>,
        of: &Source,
        (first, bytes): (PageId, &[u8]),
    ) -> Result<(), BackupError> {
        let damaged = self.source.damaged(first, bytes)?;
        let Some(page) = damaged.first() else {
            return Ok(());
        };
        if pipeline.request.continue_after_error {
            pipeline.damaged.store(true, Ordering::Relaxed);
            return Ok(());
        }
        let args = [
            self.source.name().into(),
            page.file.0.into(),
            page.page.0.into(),
            shown(Path::new(&of.file.path)),
        ];
        Err(BackupError::refused(3043, &args))
    }

    /// Copies the log up to its end now; the pages that must be copied because of it, `None` when there are
    /// none.
    fn copy_log(
        &mut self,
        pipeline: &Pipeline<'_>,
    ) -> Result<Option<Vec<(PageId, u32)>>, BackupError> {
        let mut filling: Option<Filling> = None;
        let (vlfs, log_bytes) = (&mut self.vlfs, &mut self.log_bytes);
        let mut take = |block: LogBlock| {
            vlfs.insert(block.lsn.vlf(), block.vlf_bytes);
            *log_bytes += block.bytes.len() as u64;
            add_block(pipeline, &block, &mut filling)
        };
        let needed = self.source.next_round(&mut take)?;
        if let Some(filling) = filling {
            pipeline.send(filling.finish());
        }
        Ok(needed)
    }

    fn copy_needed(
        &self,
        pipeline: &Pipeline<'_>,
        needed: &[(PageId, u32)],
        round: u32,
    ) -> Result<(), BackupError> {
        let source = |id: FileId| {
            let mut sources = self.volumes.iter().flatten();
            sources.find(|s| s.file.id == id.0)
        };
        let needed = needed.iter().filter_map(|&(first, pages)| {
            let of = source(first.file)?;
            Some(Ok(Part { of, first, pages }))
        });
        let parts = Mutex::new(Parts::new(needed));
        pipeline.as_reader(|| self.read_parts(pipeline, &parts, round))
    }

    /// Fills in what is known when all is read.
    pub(super) fn complete(self, info: &mut SetInfo) -> Result<BackupSource, BackupError> {
        let now = set_files(&self.source)?;
        // Beside a log backup files may be added and removed. One of both is in the log.
        let there = |file: &SetFile| info.files.iter().any(|f| f.guid == file.guid);
        let added: Vec<SetFile> = now.iter().filter(|f| !there(f)).cloned().collect();
        let partial = info.kind == BackupKind::Files;
        info.files.extend(added.into_iter().filter(|_| !partial));
        for file in &mut info.files {
            let now = now.iter().find(|f| f.guid == file.guid);
            let now = now.map_or(file.size_pages, |f| f.size_pages);
            file.size_pages = now.max(file.size_pages);
            let mut sources = self.volumes.iter().flatten();
            if let Some(source) = sources.find(|s| s.file.id == file.id) {
                file.pages = source.pages.load(Ordering::Relaxed);
            }
            if file.filegroup == 0 {
                file.pages = self.log_bytes.div_ceil(PAGE_SIZE as u64);
            }
        }
        info.last_lsn = self.source.last_lsn().0;
        info.last_commit_us = self.source.last_commit().map(WallTime::unix_us);
        info.log.vlfs = self.vlfs.into_iter().collect();
        info.log.bytes = self.log_bytes;
        Ok(self.source)
    }
}

/// Puts a block of the log into the chunk that is being filled; `false` when the backup has failed.
fn add_block(pipeline: &Pipeline<'_>, block: &LogBlock, filling: &mut Option<Filling>) -> bool {
    if let Some(full) = filling.take_if(|f| f.room() < block.bytes.len()) {
        pipeline.send(full.finish());
    }
    if filling.is_none() {
        let Some(buffer) = pipeline.buffer() else {
            return false;
        };
        let buffer = (buffer, pipeline.chunk_bytes());
        *filling = Some(Filling::new(buffer, ChunkKind::Log, 0));
    }
    let Some(chunk) = filling.as_mut() else {
        return false;
    };
    let run = Run {
        file: block.lsn.vlf(),
        first: block.lsn.block(),
        count: block.bytes.len() as u32,
    };
    let mut rest = block.bytes.len();
    while rest > 0 {
        rest -= pipeline.pace_log(rest);
    }
    let place = chunk.add(run, block.bytes.len());
    place.copy_from_slice(&block.bytes);
    let bytes = block.bytes.len() as u64;
    pipeline.done_bytes.fetch_add(bytes, Ordering::Relaxed);
    true
}
