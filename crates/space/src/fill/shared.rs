//! Proportional fill among threads.

use super::turns::{RECALCULATE_AFTER, Turns};
use crate::config::FillTrace;
use crate::file::FileSpace;
use furrow_io::sync::RwLock;
use furrow_io::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use furrow_observe::lines::{self, FillFile};
use furrow_observe::spinlocks::{SpinClass, Spinlock};
use furrow_observe::task;
use furrow_observe::traceflags::TraceFlag;
use std::sync::Arc;

/// Where the lines of trace flag 1165 go, and under which name.
#[derive(Debug, Clone)]
pub(crate) struct Tracer {
    pub(crate) database: String,
    pub(crate) sink: Option<Arc<dyn FillTrace>>,
}

/// The fill state of a filegroup.
#[derive(Debug)]
pub(crate) struct Fill {
    /// Files that are filled, in filling order.
    files: RwLock<Vec<Arc<FileSpace>>>,
    extents_a_turn: u32,
    /// Whether all skip targets are 1, so that `turn` decides and the spinlock is not taken.
    plain: AtomicBool,
    /// File at turn (upper half) and extents left of its turn (lower half), while `plain`.
    turn: AtomicU64,
    weighted: Spinlock<Turns>,
    /// Allocations until the next recalculation.
    allocs_left: AtomicI64,
    /// What the next recalculation prints as the old count: 0 at first, as nothing was counted yet.
    printed: AtomicI64,
    tracer: Tracer,
}

fn pack(at: usize, run: u32) -> u64 {
    (at as u64) << 32 | u64::from(run)
}

fn unpack(word: u64) -> (usize, u32) {
    ((word >> 32) as usize, word as u32)
}

impl Fill {
    /// Of a filegroup with these files, in filling order.
    pub(crate) fn new(files: Vec<Arc<FileSpace>>, extents_a_turn: u32, tracer: Tracer) -> Fill {
        let fill = Fill {
            files: RwLock::new(Vec::new()),
            extents_a_turn: extents_a_turn.max(1),
            plain: AtomicBool::new(true),
            turn: AtomicU64::new(0),
            weighted: Spinlock::new(SpinClass::FgcbPrpFill, Turns::new(&[], extents_a_turn)),
            allocs_left: AtomicI64::new(RECALCULATE_AFTER),
            printed: AtomicI64::new(0),
            tracer,
        };
        fill.set_files(|list| *list = files);
        fill
    }

    /// The files that are filled, in filling order.
    pub(crate) fn files(&self) -> Vec<Arc<FileSpace>> {
        self.files.read().clone()
    }

    /// Changes the list of files and recalculates the targets. Picks wait until it returns.
    pub(crate) fn set_files(&self, change: impl FnOnce(&mut Vec<Arc<FileSpace>>)) {
        let mut files = self.files.write();
        change(&mut files);
        debug_assert!(
            files
                .iter()
                .enumerate()
                .all(|(at, file)| { files.iter().skip(at + 1).all(|other| other.id != file.id) }),
            "a file is filled once"
        );
        self.recalculate(&files);
    }

    /// The file that gets the next extent, with one free extent claimed for the caller; `None` when all are
    /// full.
    pub(crate) fn pick(&self) -> Option<Arc<FileSpace>> {
        let files = self.files.read();
        let file = loop {
            let at = if self.plain.load(Ordering::Acquire) {
                self.next_plain(&files)?
            } else {
                let mut turns = self.weighted.lock();
                turns.next(|at| files.get(at).is_some_and(|file| file.has_free()))?
            };
            if let Some(file) = files.get(at).filter(|file| file.claim()) {
                break Arc::clone(file);
            }
        };
        if self.allocs_left.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.recalculate(&files);
        }
        Some(file)
    }

    fn next_plain(&self, files: &[Arc<FileSpace>]) -> Option<usize> {
        let mut word = self.turn.load(Ordering::Relaxed);
        loop {
            let (cursor, run) = unpack(word);
            let around = (0..files.len()).map(|step| (cursor + step) % files.len());
            let at = around
                .into_iter()
                .find(|&at| files.get(at).is_some_and(|f| f.has_free()))?;
            let run = if at == cursor && run > 0 {
                run
            } else {
                self.extents_a_turn
            };
            debug_assert!(run > 0, "a turn has extents");
            let next = match run - 1 {
                0 => pack((at + 1) % files.len(), 0),
                left => pack(at, left),
            };
            match self
                .turn
                .compare_exchange_weak(word, next, Ordering::Relaxed, Ordering::Relaxed)
            {
                Ok(_) => return Some(at),
                Err(now) => word = now,
            }
        }
    }

    fn recalculate(&self, files: &[Arc<FileSpace>]) {
        let free: Vec<u64> = files.iter().map(|file| file.free_extents()).collect();
        let targets = {
            let mut turns = self.weighted.lock();
            if self.plain.load(Ordering::Relaxed) {
                let (at, run) = unpack(self.turn.load(Ordering::Relaxed));
                turns.set_position(at, run);
            }
            turns.recalculate(&free);
            let (at, run) = turns.position();
            self.turn.store(pack(at, run), Ordering::Relaxed);
            self.plain.store(turns.all_one(), Ordering::Release);
            turns.targets().to_vec()
        };
        debug_assert_eq!(targets.len(), files.len(), "a skip target for each file");
        self.allocs_left.store(RECALCULATE_AFTER, Ordering::Release);
        let before = self.printed.swap(RECALCULATE_AFTER, Ordering::Relaxed);
        if task::trace_flag_on(TraceFlag::PRINT_PROPORTIONAL_FILL) {
            self.trace(before, files, &free, &targets);
        }
    }

    fn trace(&self, before: i64, files: &[Arc<FileSpace>], free: &[u64], targets: &[u64]) {
        let Some(sink) = &self.tracer.sink else {
            return;
        };
        let rows: Vec<FillFile<'_>> = files
            .iter()
            .zip(free.iter().zip(targets))
            .map(|(file, (&free_extents, &skip_target))| FillFile {
                name: &file.name,
                file: file.id.0,
                free_extents,
                skip_target,
            })
            .collect();
        let most = rows.iter().rev().max_by_key(|row| row.free_extents);
        let database = &self.tracer.database;
        let mut text = vec![lines::fill_starting(database, before)];
        let most_free = most.map_or(0, |row| row.file);
        text.extend(lines::fill_completed(
            database,
            RECALCULATE_AFTER,
            most_free,
            &rows,
        ));
        sink.recalculated(&text);
    }
}
