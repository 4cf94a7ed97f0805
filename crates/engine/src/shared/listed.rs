//! A database of the instance's list.

use crate::files::FilePlan;
use furrow_format::{Forks, Lsn};
use furrow_types::Guid;
use std::path::PathBuf;

/// How far a database of the list has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// It is whole.
    Whole,
    /// It is being created, or was when the process died: what there is of it is to be removed.
    Creating,
    /// It is being dropped, or was when the process died: the same.
    Dropping,
    /// It is whole, and attached READ_ONLY: nothing of it is ever written or removed.
    ReadOnly,
    /// It is being restored: `paths` and `layout` name all of its files.
    Restoring,
    /// It is temporary: each start removes its files and creates them by its layout.
    Temporary,
    /// A snapshot of another database: `paths` and `layout` name its sparse files, `link` its source.
    Snapshot,
    /// A snapshot whose source was opened without it: it can only be dropped.
    StaleSnapshot,
    /// It is being reverted to a snapshot, which `link` names: `layout` has its data files and its log.
    Reverting,
}

/// Another database that one belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Link {
    pub(crate) database: u16,
    /// Of one that is being reverted: no page of it has a greater LSN.
    pub(crate) lsn: Lsn,
    /// Of one that is being restored: the binding of the files whose backup is in place. Zeros: its own.
    pub(crate) source: [u8; 16],
    /// Of one that is being restored: the recovery forks of what is in place. None are known of one that was
    /// left so by an earlier version.
    pub(crate) forks: Forks,
}

impl Phase {
    pub(super) fn has_layout(self) -> bool {
        matches!(
            self,
            Phase::Temporary
                | Phase::Restoring
                | Phase::Snapshot
                | Phase::StaleSnapshot
                | Phase::Reverting
        )
    }

    pub(super) fn has_link(self) -> bool {
        self.is_snapshot() || self == Phase::Reverting
    }

    pub(crate) fn is_snapshot(self) -> bool {
        matches!(self, Phase::Snapshot | Phase::StaleSnapshot)
    }
}

/// A database of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Listed {
    pub(crate) id: u16,
    pub(crate) phase: Phase,
    /// Binding GUID: proof that a file is this database's.
    pub(crate) binding: [u8; 16],
    pub(crate) name: String,
    /// The primary file first. The others are listed while the database is created, dropped or restored, and
    /// of one that is attached READ_ONLY, temporary, or a snapshot.
    pub(crate) paths: Vec<PathBuf>,
    /// Of a temporary one: the files to create, by number. Of one that is being restored: its files.
    pub(crate) layout: Vec<FilePlan>,
    /// Of a snapshot: its source. Of one that is being reverted: the snapshot.
    pub(crate) link: Link,
}

impl Listed {
    /// Whether what is in place, of a database that is being restored, has the history of the files with this
    /// binding.
    pub(crate) fn is_of(&self, source: Guid) -> bool {
        match self.link.source {
            own if own == [0; 16] => self.binding == source.0,
            from => from == source.0,
        }
    }
}
