//! Callbacks from the space to the engine: growth, and the lines of trace flag 1165.

use super::Database;
use crate::keeper::SLOW_GROWTH_MS;
use furrow_format::{FileId, PAGE_SIZE};
use furrow_io::sync::Mutex;
use furrow_io::{Fill, IoError};
use furrow_messages::Message;
use furrow_observe::errorlog::Source;
use furrow_observe::task;
use furrow_observe::traceflags::TraceFlag;
use furrow_space::{FileCatalog, FillTrace, SpaceError};
use furrow_tables::os_error;
use std::fmt;
use std::sync::{Arc, OnceLock, Weak};

/// Gets the lines that trace flag 3604 sends to a client.
pub type ClientSink = Arc<dyn Fn(&str) + Send + Sync>;

/// Called by the space; passes the call on to the database once that is open.
#[derive(Default)]
pub(crate) struct Hooks {
    database: OnceLock<Weak<Database>>,
    client: Mutex<Option<ClientSink>>,
}

impl fmt::Debug for Hooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hooks").finish_non_exhaustive()
    }
}

impl Hooks {
    /// From now on there is a database to notify.
    pub(crate) fn bind(&self, database: &Arc<Database>) {
        let _ = self.database.set(Arc::downgrade(database));
    }

    pub(crate) fn set_client(&self, sink: Option<ClientSink>) {
        *self.client.lock() = sink;
    }

    fn database(&self) -> Option<Arc<Database>> {
        self.database.get().and_then(Weak::upgrade)
    }
}

impl FileCatalog for Hooks {
    fn resized(&self, file: FileId, size_pages: u32) -> Result<(), SpaceError> {
        if let Some(database) = self.database() {
            database.note_size(file, size_pages);
            let files = &database.shared.instruments.files;
            if let Some(stats) = files.get(database.id.0, file.0) {
                stats.set_size_bytes(u64::from(size_pages) * PAGE_SIZE as u64);
            }
        }
        Ok(())
    }

    fn fill(&self) -> Option<Fill> {
        self.database().map(|database| database.shared.file_fill())
    }

    fn grew(&self, file: FileId, took_ms: u64) {
        let Some(database) = self.database().filter(|_| took_ms >= SLOW_GROWTH_MS) else {
            return;
        };
        let name = database.file_name(file);
        let args = [name.into(), database.name().into(), took_ms.into()];
        database
            .error_log
            .write_message(session(), &Message::new(5145, &args));
    }

    fn not_expanded(&self, _: FileId, error: &IoError) {
        let Some(database) = self.database() else {
            return;
        };
        let path = error.path.display().to_string();
        let message = Message::new(5149, &[os_error(&error.kind).into(), path.into()]);
        database.error_log.write_message(session(), &message);
    }
}

fn session() -> Source {
    Source::Spid(task::current().session_id())
}

impl FillTrace for Hooks {
    fn recalculated(&self, lines: &[String]) {
        let Some(database) = self.database() else {
            return;
        };
        let on = |flag| {
            database.instruments.trace_flags.is_on_globally(flag) || task::trace_flag_on(flag)
        };
        if !on(TraceFlag::PRINT_PROPORTIONAL_FILL) {
            return;
        }
        if on(TraceFlag::OUTPUT_TO_ERROR_LOG) {
            let session = task::current().session_id();
            lines
                .iter()
                .for_each(|line| database.error_log.write(Source::Spid(session), line));
        }
        if on(TraceFlag::OUTPUT_TO_CLIENT)
            && let Some(sink) = self.client.lock().clone()
        {
            lines.iter().for_each(|line| sink(line));
        }
    }
}
