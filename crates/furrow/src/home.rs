//! The instance and the database that handles and sessions share.

use furrow_engine::{self as engine, Instance};
use std::sync::Arc;

/// What handles and sessions share. Dropping the last of them shuts the database down.
#[derive(Debug)]
pub(crate) struct Home {
    pub(crate) instance: Arc<Instance>,
    pub(crate) database: Arc<engine::Database>,
}

impl Drop for Home {
    fn drop(&mut self) {
        // The error is ignored here; a caller that needs it calls `close`. Commits are durable either way.
        let _ = self.instance.shut_down();
    }
}
