//! Single pages restored into an open database: RESTORE DATABASE ... PAGE.
//!
//! 1. A full or differential backup gives the pages, as of its end: its own log is applied at once. They stay
//!    in memory ([`PageStage`]); the database has what it had. A restart forgets them, and the restore begins
//!    again.
//! 2. Log backups roll them forward, each page from where it is.
//! 3. [`Database::complete_page_restore`] rolls them forward by the log of the database itself, which is
//!    there from the end of the last log backup on. The last stretch of it is read while the page is latched
//!    exclusively, so that no record of the page can follow. Then the page takes its place, durably.
//!
//! # Invariants
//! 1. A page that takes its place has every change that the log has of it: records are applied in the order
//!    of the log, without a gap (4305, 4318), to the end of the log under the page's latch. Proof:
//!    `pages_restored_beside_writers_have_all_that_was_committed`.
//! 2. Nothing is undone: a transaction under way rolls its own changes back.
//! 3. A page that was never damaged gets the bytes that it has.

use crate::EngineError;
use crate::database::{Database, PageStage, StagedPage};
use furrow_format::{
    BOOT_PAGE, FileId, Forks, Lsn, PAGE_SIZE, PageBuf, PageFault, PageId, PageNo, RecoveryModel,
    admit, bcm_page_of, dcm_page_of, gam_page_of, pfs_page_of, sgam_page_of,
};
use furrow_io::mutation::{Mutation, mutated};
use furrow_io::sync::Mutex;
use furrow_log::{LogBlock, LogCursor, OwnedRecord};
use furrow_messages::Message;
use furrow_observe::suspects::SuspectEvent;
use furrow_pool::{Ex, LatchRank, PoolError};
use furrow_recovery::{pages_of, roll_forward_page};
use furrow_types::Guid;
use std::collections::{BTreeMap, BTreeSet};

/// Most pages of a file in one statement.
pub const MOST_RESTORED_PAGES: usize = 1000;
/// Most bytes of records that one backup's log may have of the pages: 701 beyond.
const MOST_RECORD_BYTES: usize = 256 << 20;
/// The log is read until so few bytes of it are new; the rest is read under the page's latch.
const NEARLY_DONE_BYTES: usize = 1 << 20;

/// A backup set that pages are restored from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageSource {
    /// A full backup, or one of files.
    Full {
        /// The set.
        set: Guid,
        /// The last record of its log.
        last_lsn: Lsn,
    },
    /// A differential backup over pages of its base.
    Differential {
        /// The base.
        base: Guid,
        /// The last record of its log.
        last_lsn: Lsn,
    },
    /// A log backup.
    Log {
        /// Its first record.
        first_lsn: Lsn,
        /// Its last record.
        last_lsn: Lsn,
    },
}

/// What a backup has of the pages.
#[derive(Debug, Default)]
struct Gathered {
    pages: BTreeMap<PageId, Box<PageBuf>>,
    records: BTreeMap<Lsn, OwnedRecord>,
    bytes: usize,
}

/// A backup set that is being read for some pages. Dropped, it changes nothing.
#[derive(Debug)]
pub struct PageRestore<'a> {
    db: &'a Database,
    source: PageSource,
    wanted: BTreeSet<PageId>,
    gathered: Mutex<Gathered>,
}

/// Whether a page describes space or the file: such a page is not restored alone.
fn is_control(id: PageId) -> bool {
    let at = id.page;
    let maps = [
        gam_page_of,
        sgam_page_of,
        dcm_page_of,
        bcm_page_of,
        pfs_page_of,
    ];
    at == PageNo(0) || id == BOOT_PAGE || maps.iter().any(|map| map(at) == at)
}

/// A refusal that names a page.
fn refused(number: u32, page: PageId) -> EngineError {
    EngineError::refused(number, &[page.to_string().into()])
}

impl Database {
    /// Whether pages are on their way into the database.
    pub fn restores_pages(&self) -> bool {
        !self.stage.lock().0.is_empty()
    }

    /// Which of these pages can be restored by themselves, and from which LSN on the database has the log
    /// itself; `None` where no page can be.
    pub fn restorable_pages(&self, pages: &BTreeSet<PageId>) -> Option<(BTreeSet<PageId>, Lsn)> {
        let simple = self.options().recovery_model == RecoveryModel::Simple;
        let chain = self.store.holds.log_backup().filter(|_| !simple)?;
        let files = self.file_list().ok().filter(|_| !self.is_read_only())?;
        let can_be = |page: &&PageId| {
            let file = files.iter().find(|f| f.id == page.file && f.filegroup != 0);
            let inside = file.is_some_and(|f| u64::from(page.page.0) < f.size_pages);
            inside && !is_control(**page)
        };
        Some((pages.iter().filter(can_be).copied().collect(), chain))
    }

    /// Whether the log of a backup up to its end `last` is that of the database.
    pub fn is_on_path(&self, forks: &Forks, last: Lsn) -> Result<bool, EngineError> {
        let known = self.boot_page()?.forks;
        Ok(known.is_empty() || known.agree(forks, last))
    }

    /// Begins to read a full or differential backup for these pages: 4346 without a log chain, 4344 of a
    /// read-only database, 3111 of a page that describes space, 3194 of one behind the end of its file.
    pub fn begin_page_restore(
        &self,
        source: PageSource,
        pages: &[PageId],
    ) -> Result<PageRestore<'_>, EngineError> {
        self.check()?;
        let simple = self.options().recovery_model == RecoveryModel::Simple;
        if simple || self.store.holds.log_backup().is_none() {
            return Err(EngineError::refused(4346, &[]));
        }
        if self.is_read_only() {
            return Err(EngineError::refused(4344, &[]));
        }
        let files = self.file_list()?;
        let stage = self.stage.lock();
        for &page in pages {
            let file = files.iter().find(|f| f.id == page.file && f.filegroup != 0);
            if file.is_none_or(|f| u64::from(page.page.0) >= f.size_pages) {
                return Err(refused(3194, page));
            }
            if is_control(page) {
                return Err(refused(3111, page));
            }
            // Over its base alone, and not back behind log that was applied.
            let fits = |staged: &StagedPage, base, last_lsn| {
                staged.base == base && staged.applied <= last_lsn
            };
            if let PageSource::Differential { base, last_lsn } = source
                && !stage.0.get(&page).is_some_and(|s| fits(s, base, last_lsn))
            {
                return Err(EngineError::refused(3136, &[]));
            }
        }
        drop(stage);
        Ok(self.gather(source, pages.iter().copied().collect()))
    }

    fn gather(&self, source: PageSource, wanted: BTreeSet<PageId>) -> PageRestore<'_> {
        PageRestore {
            db: self,
            source,
            wanted,
            gathered: Mutex::default(),
        }
    }

    /// Begins to read a log backup for the pages that are on their way: 4305 where log before it is missing,
    /// 4326 where all of it was applied.
    pub fn continue_page_restore(
        &self,
        (first_lsn, last_lsn): (Lsn, Lsn),
    ) -> Result<PageRestore<'_>, EngineError> {
        self.check()?;
        let stage = self.stage.lock();
        let shown = |lsn: Lsn| lsn.to_numeric().to_string().into();
        let next = |staged: &StagedPage| staged.applied.next();
        let least = stage.0.values().map(next).min().unwrap_or(Lsn::MAX);
        if first_lsn > least {
            let args = [shown(first_lsn), shown(least)];
            return Err(EngineError::refused(4305, &args));
        }
        if stage.0.values().all(|staged| last_lsn < staged.applied) {
            let args = [shown(last_lsn), shown(least)];
            return Err(EngineError::refused(4326, &args));
        }
        let wanted = stage.0.keys().copied().collect();
        let source = PageSource::Log {
            first_lsn,
            last_lsn,
        };
        Ok(self.gather(source, wanted))
    }

    /// Rolls the pages forward to the end of the log and puts them in their place; how many. 4318 where
    /// log between the last backup and the log of the database is missing.
    pub fn complete_page_restore(&self) -> Result<u64, EngineError> {
        let _entered = self.shared.enter();
        self.check_changes()?;
        let mut stage = self.stage.lock();
        let chain = self.store.holds.log_backup();
        let chain = chain.ok_or_else(|| EngineError::refused(4346, &[]))?;
        let hold = self.store.holds.hold(|| chain);
        self.reaches(&stage, chain)?;
        let first = stage.0.values().map(|staged| staged.applied).min();
        let Some(first) = first else { return Ok(0) };
        let durable = self.store.log().durable();
        if stage.0.values().any(|staged| staged.applied >= durable) {
            return Err(EngineError::refused(3116, &[]));
        }
        let mut tail = Tail {
            db: self,
            cursor: LogCursor::at_vlf(first.max(chain).vlf()),
        };
        while tail.apply(&mut stage)? > NEARLY_DONE_BYTES {
            self.check()?;
        }
        let done = stage.0.len() as u64;
        while let Some(&page) = stage.0.keys().next() {
            tail.place(page, &mut stage)?;
        }
        drop(hold);
        Ok(done)
    }

    /// 4318 unless every page goes on where the log of the database is held from.
    fn reaches(&self, stage: &PageStage, chain: Lsn) -> Result<(), EngineError> {
        let short = |s: &(&PageId, &StagedPage)| s.1.applied.next() < chain;
        let Some((page, staged)) = stage.0.iter().find(short) else {
            return Ok(());
        };
        let files = self.file_list()?;
        let file = files.iter().find(|f| f.id == page.file);
        let shown = |lsn: Lsn| lsn.to_numeric().to_string().into();
        let name = file.map_or_else(String::new, |f| f.name.clone());
        let args = [name.into(), shown(chain), shown(staged.applied)];
        Err(EngineError::refused(4318, &args))
    }
}

/// The log of the database, read for the pages that are on their way.
struct Tail<'a> {
    db: &'a Database,
    cursor: LogCursor,
}

impl Tail<'_> {
    /// Applies the log up to its end now; how many bytes of it were new.
    fn apply(&mut self, stage: &mut PageStage) -> Result<usize, EngineError> {
        let log = self.db.store.log();
        log.write_all()?;
        let (end, mut bytes) = (log.durable(), 0);
        while let Some(block) = self.cursor.next_block(log, end)? {
            EngineError::check_cancelled()?;
            bytes += block.bytes.len();
            for record in block.records() {
                for page in pages_of(&record) {
                    if let Some(staged) = stage.0.get_mut(&page)
                        && !mutated(Mutation::SkipPageLog)
                    {
                        roll_forward_page(&mut staged.bytes, page, &record)?;
                    }
                }
            }
        }
        Ok(bytes)
    }

    /// Puts a page in its place: the log is applied to its end while no thread can change the page.
    fn place(&mut self, page: PageId, stage: &mut PageStage) -> Result<(), EngineError> {
        let store = &self.db.store;
        let (pool, key) = (store.pool(), store.key(page));
        let mut guard = match pool.fetch(key, Ex, LatchRank::Data) {
            Ok(guard) => guard,
            Err(PoolError::BadPage { .. } | PoolError::Io { .. }) => {
                pool.create(key, LatchRank::Data)?
            }
            Err(e) => return Err(e.into()),
        };
        // What changes the page appends its record before it lets go of the latch. A page that was damaged
        // and does not get its bytes now is read from its file again.
        self.apply(stage)?;
        if let Some(staged) = stage.0.remove(&page) {
            // A crash before it is written leaves the damage, for which no log is needed.
            guard.begin_change_at(store.log().tail());
            *guard = *staged.bytes;
        }
        drop(guard);
        pool.force_pages(store.db(), &[(page, 1)])?;
        let place = (store.db().0, page.file.0, page.page.0);
        let suspects = &self.db.shared.instruments.suspects;
        suspects.note(place, SuspectEvent::Restored);
        Ok(())
    }
}

impl PageRestore<'_> {
    /// Takes the pages that are wanted. Several threads may do this side by side.
    pub fn write_pages(&self, first: PageId, bytes: &[u8]) {
        let pages = bytes.as_chunks::<PAGE_SIZE>().0;
        let end = PageId {
            page: PageNo(first.page.0.saturating_add(pages.len() as u32)),
            ..first
        };
        for &id in self.wanted.range(first..end) {
            if let Some(page) = pages.get((id.page.0 - first.page.0) as usize) {
                self.gathered.lock().pages.insert(id, Box::new(*page));
            }
        }
    }

    /// Takes the records of the pages. Several threads may do this side by side.
    pub fn write_log(&self, block: &[u8]) -> Result<(), EngineError> {
        let block = LogBlock::copied(block);
        let bad = || EngineError::Damaged("a malformed block in the log of a backup".into());
        for record in block.ok_or_else(bad)?.records() {
            if !pages_of(&record).iter().any(|p| self.wanted.contains(p)) {
                continue;
            }
            let mut gathered = self.gathered.lock();
            gathered.bytes += record.get().len_bytes();
            if gathered.bytes > MOST_RECORD_BYTES {
                return Err(EngineError::refused(701, &["default".into()]));
            }
            gathered.records.insert(record.lsn, record);
        }
        Ok(())
    }

    /// Makes a page of the backup fit for use: 3183 of one that is damaged, 3195 of one that held nothing
    /// when the backup was taken: whole extents are copied.
    fn admitted(&self, id: PageId, bytes: &mut PageBuf) -> Result<(), EngineError> {
        match admit(bytes, id) {
            Ok(_) => Ok(()),
            Err(PageFault::Checksum { .. } | PageFault::Torn { .. }) => {
                let args = [id.file.0.into(), id.page.0.into(), self.db.name().into()];
                Err(EngineError::of(Message::new(3183, &args)))
            }
            Err(_) => Err(refused(3195, id)),
        }
    }

    /// All of the backup was read: its pages and its log count. The pages of each file.
    pub fn settle(self) -> Result<BTreeMap<FileId, u64>, EngineError> {
        let gathered = std::mem::take(&mut *self.gathered.lock());
        let mut stage = self.db.stage.lock();
        let mut done: BTreeMap<PageId, StagedPage> = BTreeMap::new();
        for &page in &self.wanted {
            let found = gathered.pages.get(&page);
            let staged = stage.0.get(&page);
            let mut next = match self.source {
                PageSource::Full { set, last_lsn } => StagedPage {
                    bytes: found.cloned().ok_or_else(|| refused(3195, page))?,
                    applied: last_lsn,
                    base: set,
                },
                PageSource::Differential { last_lsn, .. } => {
                    let staged = staged.ok_or_else(|| EngineError::refused(3136, &[]))?;
                    StagedPage {
                        bytes: found.unwrap_or(&staged.bytes).clone(),
                        applied: staged.applied.max(last_lsn),
                        base: staged.base,
                    }
                }
                PageSource::Log { last_lsn, .. } => {
                    let Some(staged) = staged else { continue };
                    StagedPage {
                        applied: staged.applied.max(last_lsn),
                        ..staged.clone()
                    }
                }
            };
            if found.is_some() {
                self.admitted(page, &mut next.bytes)?;
            }
            for record in gathered.records.values() {
                roll_forward_page(&mut next.bytes, page, record)?;
            }
            done.insert(page, next);
        }
        let mut counts: BTreeMap<FileId, u64> = BTreeMap::new();
        for page in done.keys() {
            *counts.entry(page.file).or_default() += 1;
        }
        stage.0.extend(done);
        Ok(counts)
    }
}

/// `file:page`, as RESTORE ... PAGE lists pages; `None` if it is none.
pub fn page_of_text(text: &str) -> Option<PageId> {
    let (file, page) = text.trim().split_once(':')?;
    Some(PageId {
        file: FileId(file.trim().parse().ok()?),
        page: PageNo(page.trim().parse().ok()?),
    })
}
