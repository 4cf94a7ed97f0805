//! The end of an open database: a clean shutdown, or an abrupt one.

use super::Database;
use furrow_format::BOOT_PAGE;
use furrow_format::boot::field;
use furrow_io::sync::atomic::Ordering;
use furrow_messages::Message;
use furrow_pool::{CheckpointOptions, LatchRank};
use furrow_recovery::Checkpoint;
use furrow_tables::{DatabaseState, EngineError};
use furrow_txn::{Author, Mini, Store};

/// More than a change of the boot page writes to the log.
pub(crate) const BOOT_LOG_BYTES: u64 = 1024;

/// Bytes of the name on the boot page.
const NAME_BYTES: usize = 256;

impl Database {
    /// Where the lines of trace flags go that are sent to a client (3604); nowhere without one.
    pub fn set_trace_client(&self, sink: Option<super::ClientSink>) {
        self.hooks.set_client(sink);
    }

    /// CHECKPOINT: everything that is committed is in the data files when it returns, and the counts of the
    /// catalog are up to date.
    pub fn checkpoint(&self) -> Result<Checkpoint, EngineError> {
        self.checkpoint_with(CheckpointOptions::default())
    }

    /// A checkpoint at a given pace.
    pub(crate) fn checkpoint_with(
        &self,
        options: CheckpointOptions,
    ) -> Result<Checkpoint, EngineError> {
        let _entered = self.shared.enter();
        self.check_changes()?;
        self.checkpoint_now(options)
    }

    /// A checkpoint, also of a database that is about to be read-only.
    pub(crate) fn checkpoint_now(
        &self,
        options: CheckpointOptions,
    ) -> Result<Checkpoint, EngineError> {
        self.catalog.write_counts()?;
        self.note_log_size()?;
        self.keeper.checkpoint(options)
    }

    /// Writes everything that there is to write, and last of all, on the boot page, that this was all: who
    /// sees the flag on the disk finds the rest there, the headers of the files as they are to stay. Nothing
    /// else may be changed meanwhile. No image of a page stays, for what becomes of the files is not known
    /// from here on.
    pub(crate) fn come_to_rest(&self, read_only: bool) -> Result<(), EngineError> {
        self.checkpoint_now(CheckpointOptions::default())?;
        self.write_flags(read_only, true)?;
        self.keeper.last_checkpoint()?;
        Ok(self.store.pool().forget_images(self.id)?)
    }

    /// Writes on the boot page whether the database is read-only, and whether all of it is on the disk.
    pub(crate) fn write_flags(&self, read_only: bool, clean: bool) -> Result<(), EngineError> {
        let (read_only, clean) = ([u8::from(read_only)], [u8::from(clean)]);
        let page = self.store.read(BOOT_PAGE, LatchRank::Boot)?;
        let has = (
            field::READ_ONLY.get(&page),
            field::CLEAN_SHUTDOWN.get(&page),
        );
        drop(page);
        if has == (read_only, clean) {
            return Ok(());
        }
        self.store.promise(BOOT_LOG_BYTES)?;
        self.store.log().give_back(BOOT_LOG_BYTES);
        let mut mini = Mini::new(&self.store);
        let page = mini.adopt(self.store.write(BOOT_PAGE, LatchRank::Boot)?);
        mini.push(page, &field::READ_ONLY.change(&read_only));
        mini.push(page, &field::CLEAN_SHUTDOWN.change(&clean));
        mini.commit(&Author::System)?;
        Ok(())
    }

    /// Writes name and number on the boot page, where a database that was attached has others.
    pub(crate) fn write_identity(&self) -> Result<(), EngineError> {
        self.store.promise(BOOT_LOG_BYTES)?;
        self.store.log().give_back(BOOT_LOG_BYTES);
        let mut name = [b' '; NAME_BYTES];
        let units = self.name.encode_utf16().flat_map(u16::to_le_bytes);
        for (place, byte) in name.iter_mut().zip(units) {
            *place = byte;
        }
        let id = self.id.0.to_le_bytes();
        let page = self.store.write(BOOT_PAGE, LatchRank::Boot)?;
        if field::NAME.get(&page) == name && field::DATABASE_ID.get(&page) == id {
            return Ok(());
        }
        let mut mini = Mini::new(&self.store);
        let page = mini.adopt(page);
        mini.push(page, &field::NAME.change(&name));
        mini.push(page, &field::DATABASE_ID.change(&id));
        mini.commit(&Author::System)?;
        Ok(())
    }

    /// Shuts the database down cleanly: threads end, a checkpoint, the boot page says so and is written last
    /// of all, the files are let go. Sessions must have left (3702). A suspect database is let go as it is.
    pub(crate) fn shut_down(&self) -> Result<(), EngineError> {
        self.refuse_entry_unless_used()?;
        self.stop_background();
        let rests = self.is_read_only() || self.is_temporary();
        let written = if self.state() == DatabaseState::Online && !rests {
            let _entered = self.shared.enter();
            self.come_to_rest(false)
        } else {
            Ok(())
        };
        self.state.set(DatabaseState::Offline);
        self.keeper.abandoned.store(true, Ordering::Release);
        self.registration.end();
        written
    }

    /// Lets go of everything at once, as if the process had died: nothing is written any more, what was not
    /// durable is lost. For tests of recovery, and for getting rid of a suspect database.
    pub fn abandon(&self) {
        self.keeper.abandoned.store(true, Ordering::Release);
        self.state.set(DatabaseState::Offline);
        self.store.poison("the database was abandoned".to_owned());
        self.stop_background();
        self.registration.end();
    }

    pub(crate) fn stop_background(&self) {
        // Taken out first: the threads look at the database while they end.
        let background = self.background.lock().take();
        drop(background);
    }

    /// An error (5004 first) unless files may be changed now.
    pub(crate) fn must_be_writable(&self) -> Result<(), EngineError> {
        let ready = self.check().and_then(|()| self.check_changes());
        ready.map_err(|e| e.after(Message::new(5004, &[])))?;
        Ok(self.store.check()?)
    }
}

/// Writes the boot page to its file, durably, and its records to the log before it.
pub(crate) fn force_boot(store: &Store) -> Result<(), EngineError> {
    store.pool().force_pages(store.db(), &[(BOOT_PAGE, 1)])?;
    Ok(())
}

/// Writes on the boot page that the database is not at rest any more.
pub(crate) fn clear_flag(store: &Store) -> Result<(), EngineError> {
    store.promise(BOOT_LOG_BYTES)?;
    store.log().give_back(BOOT_LOG_BYTES);
    let mut mini = Mini::new(store);
    let page = mini.adopt(store.write(BOOT_PAGE, LatchRank::Boot)?);
    mini.push(page, &field::CLEAN_SHUTDOWN.change(&[0]));
    mini.commit(&Author::System)?;
    Ok(())
}
