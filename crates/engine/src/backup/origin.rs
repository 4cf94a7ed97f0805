//! Where a backup comes from: an open database, or the log of one that cannot be opened.

use crate::EngineError;
use crate::database::{Database, Registration};
use crate::shared::Reserved;
use furrow_format::{FileId, Lsn};
use furrow_io::Volume;
use furrow_txn::Store;
use furrow_types::Guid;
use std::path::PathBuf;
use std::sync::Arc;

/// A file of the database that is backed up.
#[derive(Debug, Clone)]
pub struct SourceFile {
    /// Its number; 2 is the log.
    pub id: FileId,
    /// Its filegroup; 0 of the log.
    pub filegroup: u16,
    /// The filegroup's name; empty of the log.
    pub group_name: String,
    /// Its logical name.
    pub name: String,
    /// Where it is.
    pub path: PathBuf,
    /// Its size.
    pub size_pages: u32,
    /// Its largest size, if it has one.
    pub max_pages: Option<u32>,
    /// Its own GUID.
    pub guid: Guid,
    /// Whether its filegroup is read-only.
    pub read_only: bool,
    /// Where the log was when it was made; zero of the log.
    pub created: Lsn,
    /// The size it was made with; 0 of the log.
    pub first_pages: u32,
    /// Whether the database is open with it.
    pub online: bool,
}

/// A database that is closed, while its log is backed up.
#[derive(Debug)]
pub(crate) struct ClosedDatabase {
    pub(crate) name: String,
    pub(crate) binding: Guid,
    pub(crate) volume: Arc<dyn Volume>,
    pub(crate) store: Arc<Store>,
    pub(crate) files: Vec<SourceFile>,
    /// The pool forgets it before others may have it.
    pub(crate) _registration: Registration,
    pub(crate) _reserved: Reserved,
}

/// Where a backup comes from.
#[derive(Debug, Clone)]
pub(crate) enum Origin {
    Open(Arc<Database>),
    Closed(Arc<ClosedDatabase>),
}

impl Origin {
    pub(super) fn store(&self) -> &Arc<Store> {
        match self {
            Origin::Open(db) => &db.store,
            Origin::Closed(closed) => &closed.store,
        }
    }

    pub(super) fn name(&self) -> &str {
        match self {
            Origin::Open(db) => db.name(),
            Origin::Closed(closed) => &closed.name,
        }
    }

    pub(super) fn binding(&self) -> Guid {
        match self {
            Origin::Open(db) => db.files.binding,
            Origin::Closed(closed) => closed.binding,
        }
    }

    pub(super) fn volume(&self) -> &Arc<dyn Volume> {
        match self {
            Origin::Open(db) => &db.shared.volume,
            Origin::Closed(closed) => &closed.volume,
        }
    }

    /// The files as they are now.
    pub(super) fn files(&self) -> Result<Vec<SourceFile>, EngineError> {
        match self {
            Origin::Open(db) => db.source_files(),
            Origin::Closed(closed) => Ok(closed.files.clone()),
        }
    }
}

impl Database {
    fn source_files(&self) -> Result<Vec<SourceFile>, EngineError> {
        let groups = self.filegroups();
        let group_name = |id: u16| {
            let group = groups.iter().find(|g| g.id == id);
            group.map_or_else(String::new, |g| g.name.clone())
        };
        let mut files = Vec::new();
        for file in self.file_list()? {
            let origin = match file.filegroup {
                0 => None,
                _ => Some(self.file_origin(file.id)?),
            };
            files.push(SourceFile {
                id: file.id,
                filegroup: file.filegroup,
                group_name: group_name(file.filegroup),
                name: file.name,
                path: file.path,
                size_pages: u32::try_from(file.size_pages).unwrap_or(u32::MAX),
                max_pages: file.max_pages,
                guid: file.guid,
                read_only: file.read_only,
                created: origin.map_or(Lsn::ZERO, |o| o.created),
                first_pages: origin.map_or(0, |o| o.size_pages),
                online: true,
            });
        }
        for file in self.files.absent() {
            files.push(SourceFile {
                id: FileId(file.plan.id),
                filegroup: file.plan.filegroup,
                group_name: group_name(file.plan.filegroup),
                name: file.plan.name,
                path: file.plan.path,
                size_pages: file.plan.size_pages,
                max_pages: file.plan.max_pages,
                guid: file.guid,
                read_only: self.space.is_read_only(file.plan.filegroup),
                created: file.created,
                first_pages: file.plan.size_pages,
                online: false,
            });
        }
        files.sort_by_key(|file| file.id);
        Ok(files)
    }
}
