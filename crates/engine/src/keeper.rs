//! Checkpoints, and room in the log.
//!
//! # Making room
//! A transaction that finds no log space for its next step asks here, with no latch held:
//! 1. What lies before the last checkpoint's redo point and before the oldest active transaction is let go: a
//!    transaction may have ended since then.
//! 2. A checkpoint, which moves the redo point.
//! 3. If that is not enough, the log grows by its growth setting.
//! 4. If it cannot, others may end soon: it is tried again for a second, or less when there are no others.
//! 5. Then there is no hope: 9002 with what holds the log.
//!
//! One at a time does this; the others wait for it and then look again. A checkpoint appends its records
//! without a promise, from the log's margin, so that it never waits for what it is to bring. It writes no
//! counts to the catalog, which would need a promise. When the log is nearly full, only checkpoints that free
//! something are taken: others would eat up what rollbacks were promised.

use crate::files::LogEntry;
use crate::shared::Shared;
use furrow_format::{DatabaseId, FileGrowth, Lsn, PAGE_SIZE};
use furrow_io::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use furrow_io::sync::{Mutex, RwLock};
use furrow_io::time::{Duration, Moment};
use furrow_log::{LogError, ReuseWait};
use furrow_messages::Message;
use furrow_observe::errorlog::Source;
use furrow_observe::lines::{
    CheckpointFigures, checkpoint_completed, checkpoint_detail, checkpoint_started,
};
use furrow_observe::task::{self, Resource};
use furrow_observe::traceflags::TraceFlag;
use furrow_observe::waits::WaitType;
use furrow_pool::CheckpointOptions;
use furrow_recovery::{Checkpoint, RecoveryError, checkpoint, last_checkpoint, truncate};
use furrow_tables::{EngineError, StateCell};
use furrow_txn::{LogRelief, Store};
use std::path::Path;
use std::sync::{Arc, Weak};

/// Growths that take longer are reported in the error log.
pub(crate) const SLOW_GROWTH_MS: u64 = 1000;

/// How long a full log that cannot grow is waited for, when several transactions are active and may end.
const PATIENCE: Duration = Duration::from_secs(1);
/// The same when there is one at most, which may well be the one that waits.
const SHORT_PATIENCE: Duration = Duration::from_millis(100);
const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// With less than this left beside what is promised, a checkpoint that frees nothing lets the log grow first.
const SCARCE_BYTES: u64 = 128 * 1024;

/// Takes a database's checkpoints and keeps room in its log.
#[derive(Debug)]
pub(crate) struct Keeper {
    pub(crate) db: DatabaseId,
    pub(crate) name: String,
    pub(crate) shared: Arc<Shared>,
    pub(crate) state: Arc<StateCell>,
    store: Weak<Store>,
    log: RwLock<LogEntry>,
    /// One checkpoint at a time.
    turn: Mutex<()>,
    /// One maker of room at a time.
    relief: Mutex<()>,
    /// The log grew, and the catalog does not know yet.
    pub(crate) log_resized: AtomicBool,
    /// Set once nothing is to be written any more.
    pub(crate) abandoned: AtomicBool,
    checkpoints: AtomicU64,
    /// When the last checkpoint ended.
    last: Mutex<Option<(Moment, Checkpoint)>>,
}

/// Bytes by which MAXSIZE lets a log of so many grow.
fn growth_limit(entry: &LogEntry, size: u64) -> u64 {
    entry.max_pages.map_or(u64::MAX, |max| {
        (u64::from(max) * PAGE_SIZE as u64).saturating_sub(size)
    })
}

/// Bytes by which a log of so many grows at once.
fn growth_step(entry: &LogEntry, size: u64) -> u64 {
    match entry.growth {
        FileGrowth::None => 0,
        FileGrowth::Pages(pages) => u64::from(pages) * PAGE_SIZE as u64,
        FileGrowth::Percent(percent) => size / 100 * u64::from(percent),
    }
}

impl Keeper {
    pub(crate) fn new(
        shared: &Arc<Shared>,
        name: &str,
        store: &Arc<Store>,
        state: &Arc<StateCell>,
        log: LogEntry,
    ) -> Arc<Keeper> {
        Arc::new(Keeper {
            db: store.db(),
            name: name.to_owned(),
            shared: Arc::clone(shared),
            state: Arc::clone(state),
            store: Arc::downgrade(store),
            log: RwLock::new(log),
            turn: Mutex::new(()),
            relief: Mutex::new(()),
            log_resized: AtomicBool::new(false),
            abandoned: AtomicBool::new(false),
            checkpoints: AtomicU64::new(0),
            last: Mutex::new(None),
        })
    }

    /// The log file's entry.
    pub(crate) fn log_entry(&self) -> LogEntry {
        self.log.read().clone()
    }

    pub(crate) fn set_log_entry(&self, entry: LogEntry) {
        *self.log.write() = entry;
    }

    /// Checkpoints taken since the database was opened.
    pub(crate) fn checkpoints(&self) -> u64 {
        self.checkpoints.load(Ordering::Relaxed)
    }

    /// The last checkpoint, and how long ago it ended.
    pub(crate) fn last(&self) -> Option<(Duration, Checkpoint)> {
        self.last
            .lock()
            .map(|(at, checkpoint)| (at.elapsed(), checkpoint))
    }

    fn store(&self) -> Result<Arc<Store>, EngineError> {
        let gone = || EngineError::of(Message::new(942, &[self.name.as_str().into()]));
        if self.abandoned.load(Ordering::Acquire) {
            return Err(gone());
        }
        self.store.upgrade().ok_or_else(gone)
    }

    /// Takes a checkpoint. A failure leaves nothing to rely on: the database becomes suspect.
    pub(crate) fn checkpoint(&self, options: CheckpointOptions) -> Result<Checkpoint, EngineError> {
        let store = self.store()?;
        let _turn = self.turn.lock();
        self.take(&store, options)
    }

    /// Takes the last one of a database that is shut down.
    pub(crate) fn last_checkpoint(&self) -> Result<Checkpoint, EngineError> {
        let store = self.store()?;
        let _turn = self.turn.lock();
        self.take_by(&store, last_checkpoint)
    }

    /// Does something while no checkpoint is under way.
    pub(crate) fn between_checkpoints<T>(&self, work: impl FnOnce() -> T) -> T {
        let _turn = self.turn.lock();
        work()
    }

    /// The same when the one under way, which is waited for, has not made another one needless.
    fn checkpoint_unless(
        &self,
        store: &Store,
        needless: impl FnOnce() -> bool,
    ) -> Result<(), EngineError> {
        let _turn = match self.turn.try_lock() {
            Some(turn) => turn,
            None => {
                let turn = self.turn.lock();
                if needless() {
                    return Ok(());
                }
                turn
            }
        };
        self.take(store, CheckpointOptions::default()).map(drop)
    }

    /// Takes a checkpoint; the caller has the turn.
    fn take(&self, store: &Store, options: CheckpointOptions) -> Result<Checkpoint, EngineError> {
        self.take_by(store, |store| checkpoint(store, options))
    }

    fn take_by(
        &self,
        store: &Store,
        take: impl FnOnce(&Store) -> Result<Checkpoint, RecoveryError>,
    ) -> Result<Checkpoint, EngineError> {
        self.store()?;
        let is_short = is_scarce(store) && !truncate(store)? && !would_free(store);
        if is_short && !self.grow_log(store, SCARCE_BYTES)? {
            return Err(LogError::Full(holder(store)).into());
        }
        self.print(TraceFlag::PRINT_CHECKPOINTS, || {
            checkpoint_started(&self.name, self.db.0)
        });
        let done = match take(store) {
            Ok(done) => done,
            // Nothing was lost: the last checkpoint still holds.
            Err(error @ RecoveryError::Log(LogError::Full(_))) => return Err(error.into()),
            Err(error) => return Err(self.failed(error)),
        };
        self.print(TraceFlag::PRINT_CHECKPOINT_DETAIL, || {
            let written = done.written;
            let figures = CheckpointFigures {
                pages: written.pages,
                writes: written.runs,
                files: written.synced_files as u32,
                elapsed_us: written.elapsed_us,
                mean_write_us: written.elapsed_us / written.runs.max(1),
            };
            checkpoint_detail(self.db.0, &figures)
        });
        self.print(TraceFlag::PRINT_CHECKPOINTS, || {
            checkpoint_completed(&self.name, self.db.0)
        });
        self.checkpoints.fetch_add(1, Ordering::Relaxed);
        *self.last.lock() = Some((Moment::now(), done));
        Ok(done)
    }

    fn print(&self, flag: TraceFlag, line: impl FnOnce() -> String) {
        if self.shared.instruments.trace_flags.is_on_globally(flag) || task::trace_flag_on(flag) {
            let source = Source::SystemSpid(task::current().session_id());
            self.shared.error_log.write(source, &line());
        }
    }

    fn failed(&self, error: RecoveryError) -> EngineError {
        let error = EngineError::from(error);
        self.suspect(&error);
        error
    }

    /// Marks the database suspect after a failure that leaves memory or disk in doubt, and says so once.
    pub(crate) fn suspect(&self, error: &EngineError) {
        if self.abandoned.load(Ordering::Acquire) {
            return;
        }
        if let Some(store) = self.store.upgrade() {
            store.poison(error.to_string());
        }
        self.state
            .suspect_after(error, &self.name, &self.shared.error_log);
    }

    fn log_full(&self, store: &Store) -> LogError {
        let reason = holder(store);
        let args = [self.name.as_str().into(), reason.name().into()];
        let message = Message::new(9002, &args).with_state(reason.number());
        let source = Source::Spid(task::current().session_id());
        self.shared.error_log.write_message(source, &message);
        LogError::Full(reason)
    }

    /// Bytes by which a log of so many may still grow: in steps of its setting, to MAXSIZE, and into what is
    /// free on its volume.
    pub(crate) fn log_growth_bytes(&self, size: u64) -> u64 {
        let entry = self.log_entry();
        let limit = growth_limit(&entry, size);
        let step = growth_step(&entry, size).min(limit);
        if step == 0 {
            return 0;
        }
        let dir = entry.path.parent().unwrap_or(Path::new(""));
        let space = self.shared.volume.space(dir);
        let free = space.map_or(0, |space| space.free_bytes);
        limit.min(free / step * step)
    }

    /// Grows the log by its growth setting, at least by `wanted` bytes; `false` when it may not or cannot.
    fn grow_log(&self, store: &Store, wanted: u64) -> Result<bool, LogError> {
        let entry = self.log_entry();
        let size = store.log().file().len_bytes()?;
        let room = growth_limit(&entry, size);
        if entry.growth == FileGrowth::None {
            return Ok(false);
        }
        let step = growth_step(&entry, size);
        // A step too small for one operation is of no use.
        let step = step
            .max(wanted.saturating_mul(2))
            .next_multiple_of(64 * 1024)
            .min(room);
        if step < wanted.max(128 * 1024) {
            return Ok(false);
        }
        let start = Moment::now();
        match store.log().grow(step) {
            Ok(()) => {}
            // The header knows of no growth that failed; but a poisoned file ends everything.
            Err(LogError::Poisoned(why)) => return Err(LogError::Poisoned(why)),
            Err(error) => {
                store.log().check()?;
                self.say_not_expanded(&entry, &error);
                return Ok(false);
            }
        }
        let took_ms = start.elapsed_us() / 1000;
        if took_ms >= SLOW_GROWTH_MS {
            let args = [
                entry.name.as_str().into(),
                self.name.as_str().into(),
                took_ms.into(),
            ];
            self.shared
                .error_log
                .write_message(Source::Server, &Message::new(5145, &args));
        }
        self.log_resized.store(true, Ordering::Release);
        Ok(true)
    }

    fn say_not_expanded(&self, entry: &LogEntry, error: &LogError) {
        let reason = match error {
            LogError::Io(e) => furrow_tables::os_error(&e.kind),
            other => other.to_string(),
        };
        let args = [reason.into(), entry.path.display().to_string().into()];
        self.shared
            .error_log
            .write_message(Source::Server, &Message::new(5149, &args));
    }

    fn make_room(&self, store: &Store, wanted: u64) -> Result<(), LogError> {
        let enough = || {
            let promised = store.log().promise(wanted);
            if promised.is_ok() {
                store.log().give_back(wanted);
            }
            promised
        };
        let (begun, mut useless) = (Moment::now(), 0);
        loop {
            match enough() {
                Ok(()) => return Ok(()),
                Err(LogError::Full(_)) => {}
                Err(e) => return Err(e),
            }
            if truncate(store).map_err(|e| as_log_error(e.into()))? {
                continue;
            }
            if would_free(store) && useless < MOST_USELESS {
                let before = store.log().usage().used_bytes;
                match self.checkpoint_unless(store, || enough().is_ok()) {
                    Ok(()) => {}
                    Err(e) => match as_log_error(e) {
                        LogError::Full(_) => {}
                        e => return Err(e),
                    },
                }
                useless += u32::from(store.log().usage().used_bytes >= before);
                continue;
            }
            if self.grow_log(store, wanted)? {
                continue;
            }
            let alone = store.active.count() <= 1;
            if begun.elapsed() >= if alone { SHORT_PATIENCE } else { PATIENCE } {
                return Err(self.log_full(store));
            }
            store.log().wait_for_space(LOOK_AGAIN);
        }
    }
}

/// Checkpoints in a row that freed nothing although it seemed that they would, before other means are tried.
const MOST_USELESS: u32 = 2;

/// Whether little is left beside what is promised.
fn is_scarce(store: &Store) -> bool {
    let usage = store.log().usage();
    let spare = usage.total_bytes.saturating_sub(usage.used_bytes);
    spare.saturating_sub(usage.promised_bytes) < SCARCE_BYTES
}

/// Whether a checkpoint would let part of the log be reused: whole VLFs that only the redo point keeps.
pub(crate) fn would_free(store: &Store) -> bool {
    let (redo, tail) = (store.redo_point().vlf(), store.log().tail().vlf());
    let others = store.active.oldest().unwrap_or(Lsn::MAX);
    redo < tail && redo < others.min(store.holds.oldest()).vlf()
}

/// What keeps the log from being reused.
pub(crate) fn holder(store: &Store) -> ReuseWait {
    let tail = store.log().tail().vlf();
    let active = store.active.oldest().filter(|lsn| lsn.vlf() < tail);
    let backup = store.holds.backup().filter(|lsn| lsn.vlf() < tail);
    let log_backup = store.holds.log_backup().filter(|lsn| lsn.vlf() < tail);
    let oldest = [active, backup, log_backup].into_iter().flatten().min();
    if would_free(store) {
        ReuseWait::Checkpoint
    } else if oldest.is_none() {
        ReuseWait::Nothing
    } else if log_backup == oldest {
        ReuseWait::LogBackup
    } else if backup == oldest {
        ReuseWait::ActiveBackup
    } else {
        ReuseWait::ActiveTransaction
    }
}

fn as_log_error(e: EngineError) -> LogError {
    match e {
        EngineError::Log(e) | EngineError::Recovery(RecoveryError::Log(e)) => e,
        other => LogError::Poisoned(other.to_string()),
    }
}

impl LogRelief for Keeper {
    fn relieve(&self, wanted_bytes: u64) -> Result<(), LogError> {
        furrow_pool::assert_no_latches();
        let store = self.store().map_err(as_log_error)?;
        let _turn = match self.relief.try_lock() {
            Some(turn) => turn,
            None => {
                let _wait = task::wait(WaitType::LogMgrReserveAppend, Resource::None);
                self.relief.lock()
            }
        };
        self.make_room(&store, wanted_bytes)
    }
}
