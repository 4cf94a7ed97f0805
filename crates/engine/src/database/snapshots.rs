//! A database and its snapshots.

use super::Database;
use furrow_format::DatabaseId;
use furrow_io::sync::Mutex;
use furrow_messages::Message;
use furrow_pool::SnapshotGuard;
use furrow_tables::EngineError;
use std::sync::Arc;

/// What a snapshot reads: pages of its source at one LSN.
#[derive(Debug, Clone)]
pub(crate) struct SnapshotOf {
    pub(crate) guard: Arc<SnapshotGuard>,
}

/// The snapshots of a database. Held by the source too: pages are copied for a snapshot until the source has
/// written its last one, also where the snapshot was closed before.
#[derive(Debug, Default)]
pub(crate) struct Kept(Mutex<Vec<(DatabaseId, String, Arc<SnapshotGuard>)>>);

impl Kept {
    pub(crate) fn add(&self, id: DatabaseId, name: &str, guard: &Arc<SnapshotGuard>) {
        let mut kept = self.0.lock();
        debug_assert!(kept.iter().all(|k| k.0 != id), "a snapshot is kept once");
        kept.push((id, name.to_owned(), Arc::clone(guard)));
    }

    pub(crate) fn remove(&self, id: DatabaseId) {
        self.0.lock().retain(|kept| kept.0 != id);
    }

    fn any(&self) -> bool {
        !self.0.lock().is_empty()
    }
}

impl Database {
    /// Whether it is a snapshot of another database.
    pub(crate) fn is_snapshot(&self) -> bool {
        self.snapshot.is_some()
    }

    /// Of a snapshot: pages that it has copied, in all files.
    pub fn snapshot_images(&self) -> Option<u64> {
        let of = self.snapshot.as_ref()?;
        Some(of.guard.snapshot().images())
    }

    /// 5093 of a snapshot.
    pub fn refuse_of_snapshot(&self) -> Result<(), EngineError> {
        match self.is_snapshot() {
            true => Err(EngineError::of(Message::new(5093, &[]))),
            false => Ok(()),
        }
    }

    /// 5094 while the database has snapshots.
    pub(crate) fn refuse_with_snapshots(&self) -> Result<(), EngineError> {
        match self.kept.any() {
            true => Err(EngineError::of(Message::new(5094, &[]))),
            false => Ok(()),
        }
    }
}
