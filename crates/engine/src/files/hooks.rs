//! What the space tells the engine: growth, and the lines of trace flag 1165.

use crate::database::Database;
use furrow_format::FileId;
use furrow_observe::errorlog::Source;
use furrow_observe::task;
use furrow_observe::traceflags::TraceFlag;
use furrow_space::{FileCatalog, FillTrace, SpaceError};
use parking_lot::Mutex;
use std::fmt;
use std::sync::{Arc, OnceLock, Weak};

/// Gets the lines that trace flag 3604 sends to a client.
pub type ClientSink = Arc<dyn Fn(&str) + Send + Sync>;

/// Told by the space; tells a database that may not be there yet.
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
    /// From now on there is a database to tell.
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
        }
        Ok(())
    }
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
