//! A database of the instance's list.
//!
//! RESTORE DATABASE ... WITH PARTIAL restores some filegroups. The files of the others are *absent*: the
//! catalog names them, and the database is opened without them. They come back later, as they were when the
//! database was recovered ([`Absent::point`]), as a *piece*: files and a log of their own, which are put
//! together beside the open database.

use crate::files::FilePlan;
use furrow_format::{Forks, Lsn};
use furrow_messages::Message;
use furrow_tables::EngineError;
use furrow_types::Guid;
use std::collections::BTreeMap;
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
    /// It can be read between two restores of its log: `layout` has its files, `link` its undo file.
    Standby,
    /// No database: the files of one that are restored while it is open. It is a part of the database's
    /// entry.
    Piece,
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
    /// Of one in standby: the undo file. Of one that is being restored: the undo file that is being made or
    /// removed; else empty.
    pub(crate) undo: PathBuf,
}

impl Phase {
    pub(super) fn has_layout(self) -> bool {
        matches!(
            self,
            Phase::Temporary
                | Phase::Restoring
                | Phase::Standby
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
    /// Data files that it is opened without.
    pub(crate) absent: Absent,
    /// SET OFFLINE has closed it: it stays closed when the instance starts.
    pub(crate) offline: bool,
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

/// The absent files of a database.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Absent {
    /// The files, with the paths where they are to be.
    pub(crate) files: Vec<FilePlan>,
    /// The last record of the log with which the database was recovered; zero until it is.
    pub(crate) point: Lsn,
    /// What was in place then: its source and its recovery forks.
    pub(crate) origin: Link,
    /// Files that are being restored beside the open database.
    pub(crate) piece: Option<Piece>,
}

/// Absent files that are being restored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Piece {
    /// The files, and the log that is restored for them alone.
    pub(crate) layout: Vec<FilePlan>,
    /// What is in place.
    pub(crate) link: Link,
}

impl Absent {
    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Whether there is anything to note of a database that is being restored: absent files, or the point
    /// behind which a recovery that was interrupted has logged.
    pub(crate) fn is_known(&self) -> bool {
        !self.is_empty() || self.point != Lsn::ZERO
    }

    /// 40514 for a statement that needs all files.
    pub(crate) fn refuse(&self, statement: &str) -> Result<(), EngineError> {
        if self.is_empty() {
            return Ok(());
        }
        let text = format!(
            "'{statement} of a database with files that are not online' is not supported. Restore the files \
             first."
        );
        Err(EngineError::of(Message::custom(40_514, 16, 1, &text)))
    }

    /// Whether this file is absent.
    pub(crate) fn has(&self, file: u16) -> bool {
        self.files.iter().any(|plan| plan.id == file)
    }

    /// Whether files of this filegroup are absent.
    pub(crate) fn has_group(&self, filegroup: u16) -> bool {
        filegroup != 0 && self.files.iter().any(|plan| plan.filegroup == filegroup)
    }

    /// Where the files of a piece are, which belong to the database already.
    pub(crate) fn piece_paths(&self) -> Vec<PathBuf> {
        let piece = self.piece.iter().flat_map(|piece| &piece.layout);
        piece.map(|plan| plan.path.clone()).collect()
    }

    /// The absent files as the database is opened without them; `None` where there is none.
    pub(crate) fn at_open(&self) -> BTreeMap<u16, AbsentFile> {
        let restoring = |id| {
            let mut piece = self.piece.iter().flat_map(|piece| &piece.layout);
            piece.any(|plan| plan.id == id)
        };
        let files = self.files.iter().map(|plan| {
            let file = AbsentFile {
                plan: plan.clone(),
                restoring: restoring(plan.id),
            };
            (plan.id, file)
        });
        files.collect()
    }
}

/// An absent file of an open database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AbsentFile {
    /// Its number, its filegroup, its names, its size when it was last backed up.
    pub(crate) plan: FilePlan,
    /// Whether it is being restored.
    pub(crate) restoring: bool,
}

impl Listed {
    /// 40514 for a statement that a database in standby does not take.
    pub(crate) fn refuse_standby(&self, statement: &str) -> Result<(), EngineError> {
        if self.phase != Phase::Standby {
            return Ok(());
        }
        let text = format!("'{statement} of a database in standby' is not supported.");
        Err(EngineError::of(Message::custom(40_514, 16, 1, &text)))
    }

    /// The piece of a database that is being restored, as a database of its own would be listed; `None` where
    /// there is none.
    pub(crate) fn piece(&self) -> Option<Listed> {
        let piece = self.absent.piece.as_ref()?;
        Some(Listed {
            phase: Phase::Piece,
            paths: piece.layout.iter().map(|plan| plan.path.clone()).collect(),
            layout: piece.layout.clone(),
            link: piece.link.clone(),
            absent: Absent::default(),
            ..self.clone()
        })
    }

    /// Puts a database that is being restored, or a piece of one, in its place in the list.
    pub(crate) fn note_in(self, all: &mut Vec<Listed>) {
        match self.phase {
            Phase::Piece => {
                let piece = Piece {
                    layout: self.layout,
                    link: self.link,
                };
                if let Some(whole) = all.iter_mut().find(|d| d.id == self.id) {
                    whole.absent.piece = Some(piece);
                }
            }
            _ => {
                all.retain(|d| d.id != self.id);
                all.push(self);
            }
        }
    }
}
