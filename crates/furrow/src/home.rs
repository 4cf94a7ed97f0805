//! The instance and the database that handles and sessions share.

use furrow_engine::{self as engine, Instance};
use std::sync::Arc;

/// What handles and sessions share: with the last of them the database is shut down.
#[derive(Debug)]
pub(crate) struct Home {
    pub(crate) instance: Arc<Instance>,
    pub(crate) database: Arc<engine::Database>,
}

impl Drop for Home {
    fn drop(&mut self) {
        // Whoever wants to know calls `close`. What is committed is durable either way.
        let _ = self.instance.shut_down();
    }
}
