//! A database while it is backed up.

use super::base::NewBase;
use super::coverage::Coverage;
use super::origin::{Origin, SourceFile};
use crate::database::Database;
use crate::files::BackupTurn;
use furrow_format::{
    BOOT_PAGE, Bitmap, Boot, FileId, GAM_INTERVAL, Lsn, PAGE_SIZE, PageBuf, PageId, PageNo, Pfs,
    RecoveryModel, gam_page_of, interval_extents, pfs_index_of, pfs_page_of, verify,
};
use furrow_io::Volume;
use furrow_io::mutation::{Mutation, mutated};
use furrow_io::sync::Mutex;
use furrow_io::time::WallTime;
use furrow_log::{LogBlock, LogCursor, OwnedRecord, RecordKind};
use furrow_observe::files::{FileStats, IoKind};
use furrow_pool::LatchRank;
use furrow_recovery::truncate;
use furrow_tables::{DatabaseState, EngineError};
use furrow_txn::{CommitBody, LogHold, Store};
use furrow_types::Guid;
use std::sync::Arc;

/// What of a database is backed up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackupScope {
    /// The database: the base of the differential backups to come.
    Full,
    /// The database, COPY_ONLY: neither a base nor the begin of a log chain.
    CopyOnly,
    /// What has changed since the base.
    Differential,
    /// Some of its files: neither a base nor the begin of a log chain.
    Files,
    /// The log.
    Log,
}

/// What a backup says of its database.
#[derive(Debug, Clone)]
pub struct BackupFacts {
    /// What of it is backed up.
    pub scope: BackupScope,
    /// The boot page.
    pub boot: Boot,
    /// The recovery model.
    pub recovery_model: RecoveryModel,
    /// Whether the database takes no changes.
    pub read_only: bool,
    /// The checkpoint from which a restore recovers.
    pub checkpoint: Lsn,
    /// Where the log of the backup must begin.
    pub first_lsn: Lsn,
    /// Blocks of the log are padded to this many bytes.
    pub log_sector_bytes: u32,
}

/// A database that is being backed up: as long as this lives, its files stay and its log is held.
#[derive(Debug)]
pub struct BackupSource {
    origin: Origin,
    facts: BackupFacts,
    redo_point: Lsn,
    coverage: Mutex<Coverage>,
    cursor: LogCursor,
    last_lsn: Lsn,
    /// The latest time of a commit in the log of the backup.
    last_commit: Option<WallTime>,
    /// Where the log ended when the backup began.
    begun: Lsn,
    /// Blocks whose records all lie before this are left out: a log backup has no use for them.
    skip_before: Lsn,
    /// Of a backup that will be a base.
    base: Option<NewBase>,
    _hold: LogHold,
    _turn: Option<BackupTurn>,
}

impl Database {
    /// 3002, 3147, 3033, 3036 for a snapshot, tempdb, and a database in EMERGENCY or in standby.
    pub(super) fn can_be_backed_up(&self) -> Result<(), EngineError> {
        self.check()?;
        let number = match self.state() {
            DatabaseState::Emergency => 3033,
            _ if self.is_in_standby() => 3036,
            _ if self.is_snapshot() => 3002,
            _ if self.is_temporary() => 3147,
            _ => return Ok(()),
        };
        Err(EngineError::refused(number, &[]))
    }

    /// Begins a backup of data files; 3023 when one is under way, or files are being changed; 3035 of a
    /// differential one without a base.
    pub fn begin_backup(
        self: &Arc<Database>,
        scope: BackupScope,
    ) -> Result<BackupSource, EngineError> {
        debug_assert!(scope != BackupScope::Log, "see `begin_log_backup`");
        let _entered = self.shared.enter();
        self.can_be_backed_up()?;
        let turn = self.files.begin_backup()?;
        let differential = scope == BackupScope::Differential;
        if differential && self.boot_page()?.differential_base == Guid([0; 16]) {
            return Err(EngineError::refused(3035, &[self.name().into()]));
        }
        let store = &self.store;
        let oldest = || store.active.oldest().unwrap_or(Lsn::MAX);
        let hold = store.holds.hold(|| store.redo_point().min(oldest()));
        let read_only = self.is_read_only();
        // Before the checkpoint: every change behind its redo point counts for the new base.
        let begins = scope == BackupScope::Full && !read_only;
        let base = begins.then(|| NewBase::begin(self));
        let (checkpoint, redo_point) = match read_only {
            true => (store.log().checkpoint(), store.redo_point()),
            false => {
                let taken = self.checkpoint()?;
                (taken.begin, taken.redo_point)
            }
        };
        // A transaction that has records before the redo point and no end yet is still there.
        let first_lsn = redo_point.min(checkpoint).min(oldest());
        let boot = self.boot_page()?;
        let facts = BackupFacts {
            scope,
            recovery_model: self.options().recovery_model,
            read_only,
            boot,
            checkpoint,
            first_lsn,
            log_sector_bytes: store.log().sector_bytes(),
        };
        Ok(BackupSource {
            origin: Origin::Open(Arc::clone(self)),
            redo_point,
            coverage: Mutex::default(),
            cursor: LogCursor::at_vlf(first_lsn.vlf()),
            last_lsn: Lsn::ZERO,
            last_commit: None,
            begun: store.log().durable(),
            skip_before: Lsn::ZERO,
            base,
            facts,
            _hold: hold,
            _turn: Some(turn),
        })
    }
}

/// What a backup sees of those who write to the database meanwhile.
#[derive(Debug)]
pub struct WriterGauge {
    log: Arc<FileStats>,
    database: Arc<Database>,
}

/// Counts of what writers did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WriterCounts {
    /// Transactions that changed something and committed.
    pub commits: u64,
    /// Writes of the log that ended.
    pub log_writes: u64,
    /// The microseconds that they took.
    pub log_write_us: u64,
    /// Writes of the log under way now.
    pub pending: u64,
}

impl WriterGauge {
    /// The counts since the database was opened.
    pub fn counts(&self) -> WriterCounts {
        let (log_writes, log_write_us) = self.log.total(IoKind::Write);
        WriterCounts {
            commits: self.database.store.active.committed(),
            log_writes,
            log_write_us,
            pending: self.log.pending(IoKind::Write),
        }
    }

    /// The share of the log that cannot be reused now or is promised, in percent of what the log can grow to.
    /// The backup itself holds log.
    pub fn log_used_percent(&self) -> f64 {
        let usage = self.database.store.log().usage();
        let room = self.database.keeper.log_growth_bytes(usage.total_bytes);
        let most = usage.total_bytes.saturating_add(room).max(1);
        (usage.used_bytes + usage.promised_bytes) as f64 / most as f64 * 100.0
    }
}

impl BackupSource {
    /// The log of a database from `facts.first_lsn` on.
    pub(crate) fn of_log(
        origin: Origin,
        facts: BackupFacts,
        (hold, turn): (LogHold, Option<BackupTurn>),
    ) -> BackupSource {
        BackupSource {
            origin,
            begun: facts.first_lsn,
            // No record of it is looked at: no page is copied.
            redo_point: Lsn::MAX,
            coverage: Mutex::default(),
            cursor: LogCursor::at_vlf(facts.first_lsn.vlf()),
            last_lsn: Lsn(facts.first_lsn.0.saturating_sub(1)),
            last_commit: None,
            skip_before: facts.first_lsn,
            base: None,
            facts,
            _hold: hold,
            _turn: turn,
        }
    }

    /// Whether it is the log that is backed up.
    pub fn is_log(&self) -> bool {
        self.facts.scope == BackupScope::Log
    }

    /// The backup is whole on its media as the set `set`: the positions of the log chain and the base of
    /// differential backups follow, and log that is not held any more is truncated. COPY_ONLY log backups
    /// are not noted.
    pub fn note_done(mut self, set: Guid) -> Result<(), EngineError> {
        let Origin::Open(db) = self.origin.clone() else {
            debug_assert!(false, "nothing is noted of a database that is not open");
            return Ok(());
        };
        let _entered = db.shared.enter();
        match self.facts.scope {
            BackupScope::Log => db.note_log_backup(self.last_lsn)?,
            BackupScope::Full => db.note_full_backup(&self.facts, set)?,
            BackupScope::CopyOnly | BackupScope::Files | BackupScope::Differential => {}
        }
        if let Some(base) = self.base.take() {
            base.settle()?;
        }
        // Its own hold goes first.
        drop(self);
        truncate(&db.store)?;
        Ok(())
    }

    /// The database; `None` of the log of one that cannot be opened.
    pub fn database(&self) -> Option<&Arc<Database>> {
        match &self.origin {
            Origin::Open(db) => Some(db),
            Origin::Closed(_) => None,
        }
    }

    /// What shows how writers fare beside a database backup; `None` of a log backup, and of a database that
    /// is not open.
    pub fn writer_gauge(&self) -> Option<WriterGauge> {
        let db = self.database().filter(|_| !self.is_log())?;
        // The log has number 2 in every database.
        let log = db.shared.instruments.files.get(db.id().0, 2)?;
        Some(WriterGauge {
            log,
            database: Arc::clone(db),
        })
    }

    /// The name of the database.
    pub fn name(&self) -> &str {
        self.origin.name()
    }

    /// The binding of its files: theirs alone in the world, as long as they are not copied.
    pub fn binding(&self) -> Guid {
        self.origin.binding()
    }

    /// The volume that its files are on.
    pub fn volume(&self) -> &Arc<dyn Volume> {
        self.origin.volume()
    }

    /// Its files as they are now, the log among them.
    pub fn files(&self) -> Result<Vec<SourceFile>, EngineError> {
        self.origin.files()
    }

    fn store(&self) -> &Arc<Store> {
        self.origin.store()
    }

    fn open_database(&self) -> Result<&Arc<Database>, EngineError> {
        let closed = || EngineError::Damaged("pages of a database that is not open".into());
        self.database().ok_or_else(closed)
    }

    /// What the backup says of it.
    pub fn facts(&self) -> &BackupFacts {
        &self.facts
    }

    /// The allocated pages of one GAM interval of a file of `size_pages`, as runs of whole extents; `None`
    /// behind the last interval. They count as copied from here on. Of a differential backup those that have
    /// changed; the others are in its base.
    pub fn allocated(
        &self,
        file: FileId,
        size_pages: u32,
        interval: u32,
    ) -> Result<Option<Vec<(PageNo, u32)>>, EngineError> {
        let start = interval.checked_mul(GAM_INTERVAL).map(PageNo);
        let Some(start) = start.filter(|start| start.0 < size_pages) else {
            return Ok(None);
        };
        let page = gam_page_of(start);
        let map = self.store().read(PageId { file, page }, LatchRank::Gam)?;
        let bits = Bitmap::new(&map);
        let bits =
            bits.ok_or_else(|| EngineError::Damaged(format!("page {file}:{page} is no GAM")))?;
        let runs: Vec<(PageNo, u32)> = bits
            .runs(interval_extents(start, size_pages))
            .filter(|(_, free)| !free)
            .map(|(extents, _)| {
                let first = start.0 + extents.start * 8;
                let end = (start.0 + extents.end * 8).min(size_pages);
                (PageNo(first), end.saturating_sub(first))
            })
            .filter(|run| run.1 > 0)
            .collect();
        drop(map);
        let mut coverage = self.coverage.lock();
        for &(first, pages) in &runs {
            coverage.cover(file, first, pages);
        }
        drop(coverage);
        match self.facts.scope {
            BackupScope::Differential => {
                let place = (PageId { file, page: start }, size_pages);
                let base = self.facts.boot.full_backup_lsn;
                Ok(Some(
                    self.open_database()?.changed_runs(place, base, &runs)?,
                ))
            }
            _ => Ok(Some(runs)),
        }
    }

    /// Reads neighbouring pages as they are in the file, each whole.
    pub fn read(&self, first: PageId, bytes: &mut [u8]) -> Result<(), EngineError> {
        let store = self.store();
        Ok(store.pool().read_from_file(store.db(), first, bytes)?)
    }

    /// The pages among these that are damaged: a page that is not allocated may hold anything.
    pub fn damaged(&self, first: PageId, bytes: &[u8]) -> Result<Vec<PageId>, EngineError> {
        let mut damaged = Vec::new();
        for (at, page) in bytes.chunks_exact(PAGE_SIZE).enumerate() {
            let id = PageId {
                page: PageNo(first.page.0 + at as u32),
                ..first
            };
            let sound = page
                .first_chunk::<PAGE_SIZE>()
                .is_some_and(|page: &PageBuf| verify(page, id).is_ok());
            if !sound && !page.iter().all(|&b| b == 0) && self.is_allocated(id)? {
                damaged.push(id);
            }
        }
        Ok(damaged)
    }

    fn is_allocated(&self, page: PageId) -> Result<bool, EngineError> {
        let map = PageId {
            page: pfs_page_of(page.page),
            ..page
        };
        if map == page {
            return Ok(true);
        }
        let map = self.store().read(map, LatchRank::Pfs)?;
        let byte = Pfs::new(&map).map(|pfs| pfs.get(pfs_index_of(page.page)));
        Ok(byte.is_none_or(furrow_format::PfsByte::is_allocated))
    }

    /// Makes the log durable and hands its blocks out, from where the last round ended to its end now; the
    /// pages that must be copied because of them. `None`: the log of the backup ends here. `take` returns
    /// `false` to stop.
    pub fn next_round(
        &mut self,
        take: &mut dyn FnMut(LogBlock) -> bool,
    ) -> Result<Option<Vec<(PageId, u32)>>, EngineError> {
        let store = Arc::clone(self.origin.store());
        let log = store.log();
        if self.database().is_some() {
            log.write_all()?;
        }
        let end = match mutated(Mutation::EarlyLogEnd) && !self.is_log() {
            true => self.begun,
            false => log.durable(),
        };
        let (changed, counts) = (&store.changed, self.base.is_some());
        let mut mark = |page| {
            if counts {
                changed.mark(page);
            }
        };
        while let Some(block) = self.cursor.next_block(log, end)? {
            let mut coverage = self.coverage.lock();
            for record in block.records() {
                coverage.record(&record, self.redo_point, &mut mark);
                self.last_commit = self.last_commit.max(committed_at(&record));
                self.last_lsn = record.lsn;
            }
            drop(coverage);
            if block.last_lsn() < self.skip_before {
                continue;
            }
            if !take(block) {
                return Ok(None);
            }
        }
        let needed = self.coverage.lock().take_needed();
        Ok(Some(needed).filter(|needed| !needed.is_empty()))
    }

    /// The last record that was handed out.
    pub fn last_lsn(&self) -> Lsn {
        self.last_lsn
    }

    /// The latest time of a commit that was handed out.
    pub fn last_commit(&self) -> Option<WallTime> {
        self.last_commit
    }
}

fn committed_at(record: &OwnedRecord) -> Option<WallTime> {
    let view = record.get();
    let commits = view.kind == RecordKind::Commit;
    commits.then(|| CommitBody::decode(view.redo))??.at
}

impl Database {
    /// The binding of its files: theirs alone in the world, as long as they are not copied.
    pub fn binding(&self) -> Guid {
        self.files.binding
    }
}

impl Database {
    /// The family of the database: the same in all restored copies of it.
    pub fn family(&self) -> Result<Guid, EngineError> {
        Ok(self.boot_page()?.family)
    }

    /// The boot page.
    pub(crate) fn boot_page(&self) -> Result<Boot, EngineError> {
        let page = self.store.read(BOOT_PAGE, LatchRank::Boot)?;
        Boot::decode(&page).map_err(|e| EngineError::Damaged(e.to_string()))
    }

    /// Whether the log is held for the next log backup.
    pub fn holds_log_for_backup(&self) -> bool {
        self.store.holds.log_backup().is_some()
    }
}
