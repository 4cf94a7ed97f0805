//! The files of one database, opened.

use crate::SpaceError;
use crate::config::{DataFile, FileCatalog, FilegroupSpec, SpaceConfig, SpaceOptions};
use crate::error::damaged;
use crate::file::{FileSpace, IntervalCount};
use crate::filegroup::Filegroup;
use crate::fill::Tracer;
use crate::fill::{Fill, filling_order};
use furrow_format::{
    Bitmap, EXTENT_PAGES, FileHeader, FileId, GAM_INTERVAL, PAGE_SIZE, PageId, PageNo, gam_page_of,
    interval_extents, sgam_page_of,
};
use furrow_io::sync::RwLock;
use furrow_io::sync::atomic::{AtomicBool, Ordering};
use furrow_pool::LatchRank;
use furrow_txn::Store;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The space of an open database: its data files and filegroups, and the allocation of extents.
#[derive(Debug)]
pub struct Space {
    store: Arc<Store>,
    pub(crate) options: SpaceOptions,
    pub(crate) catalog: Option<Arc<dyn FileCatalog>>,
    pub(crate) tracer: Tracer,
    pub(crate) files: RwLock<BTreeMap<FileId, Arc<FileSpace>>>,
    pub(crate) filegroups: RwLock<BTreeMap<u16, Arc<Filegroup>>>,
    /// Filegroups in which nothing may change.
    read_only: GroupSet,
    /// Filegroups of which the database has no files.
    offline: GroupSet,
    /// Whether the first pages of units come from mixed extents.
    pub(crate) mixed_pages: AtomicBool,
}

/// A set of filegroups, empty as a rule. Whether it is empty costs one load.
#[derive(Debug, Default)]
struct GroupSet {
    groups: RwLock<BTreeSet<u16>>,
    any: AtomicBool,
}

impl GroupSet {
    fn set(&self, filegroup: u16, is_in: bool) {
        let mut all = self.groups.write();
        match is_in {
            true => drop(all.insert(filegroup)),
            false => drop(all.remove(&filegroup)),
        }
        debug_assert_eq!(all.contains(&filegroup), is_in);
        self.any.store(!all.is_empty(), Ordering::Release);
    }

    fn has(&self, filegroup: u16) -> bool {
        self.groups.read().contains(&filegroup)
    }

    #[inline]
    fn has_any(&self) -> bool {
        self.any.load(Ordering::Acquire)
    }
}

impl Space {
    /// Opens the space of a database. The pool has the files already, and redo is done: sizes are read from
    /// the file headers and free extents counted from the maps.
    pub fn open(store: Arc<Store>, config: SpaceConfig) -> Result<Arc<Space>, SpaceError> {
        let mut files = BTreeMap::new();
        for file in &config.files {
            let opened = Arc::new(open_file(&store, file, config.options)?);
            if files.insert(file.file_id, opened).is_some() {
                return Err(SpaceError::FileExists(file.file_id));
            }
        }
        let tracer = Tracer {
            database: config.database,
            sink: config.trace,
        };
        let space = Space {
            store,
            options: config.options,
            catalog: config.catalog,
            tracer,
            files: RwLock::new(files),
            filegroups: RwLock::new(BTreeMap::new()),
            read_only: GroupSet::default(),
            offline: GroupSet::default(),
            mixed_pages: AtomicBool::new(false),
        };
        for spec in config.filegroups {
            space.add_filegroup(spec);
        }
        for file in space.files.read().values() {
            space.filegroup(file.filegroup)?;
        }
        Ok(Arc::new(space))
    }

    /// Registers a filegroup; the files that name it already are filled from now on. One that is known takes
    /// on the name and the properties.
    pub fn add_filegroup(&self, spec: FilegroupSpec) {
        let mut groups = self.filegroups.write();
        if let Some(known) = groups.get(&spec.id) {
            known.redefine(spec);
            return;
        }
        let members: Vec<_> = {
            let files = self.files.read();
            let mine = files
                .values()
                .filter(|file| file.filegroup == spec.id && !file.is_closed());
            mine.map(Arc::clone).collect()
        };
        let fill = Fill::new(
            filling_order(members),
            self.options.extents_a_turn,
            self.tracer.clone(),
        );
        groups.insert(spec.id, Arc::new(Filegroup::new(spec, fill)));
    }

    /// Records that a filegroup is read-only, or that it no longer is. This does not prevent changes: code
    /// that changes rows checks it first.
    pub fn set_read_only(&self, filegroup: u16, read_only: bool) {
        self.read_only.set(filegroup, read_only);
    }

    /// Records that the files of a filegroup are not there, or that they are again. As with a read-only
    /// filegroup, callers check it before they come to its pages.
    pub fn set_offline(&self, filegroup: u16, offline: bool) {
        self.offline.set(filegroup, offline);
    }

    /// Whether the files of a filegroup are not there.
    #[inline]
    pub fn is_offline(&self, filegroup: u16) -> bool {
        self.offline.has_any() && self.offline.has(filegroup)
    }

    /// Whether there is a filegroup whose files are not there.
    #[inline]
    pub fn has_offline(&self) -> bool {
        self.offline.has_any()
    }

    /// Whether nothing in a filegroup may change.
    pub fn is_read_only(&self, filegroup: u16) -> bool {
        self.has_read_only() && self.read_only.has(filegroup)
    }

    /// Whether there is a read-only filegroup.
    #[inline]
    pub fn has_read_only(&self) -> bool {
        self.read_only.has_any()
    }

    /// The filegroups.
    pub fn filegroups(&self) -> Vec<FilegroupSpec> {
        self.filegroups
            .read()
            .values()
            .map(|group| group.spec())
            .collect()
    }

    /// Recalculates the skip targets of all filegroups, and traces them if the trace flag is on. Called when
    /// tracing starts, to print targets that were calculated before.
    pub fn recalculate(&self) {
        let groups: Vec<Arc<Filegroup>> = self.filegroups.read().values().cloned().collect();
        for group in groups {
            group.fill.set_files(|_| {});
        }
    }

    /// Pool, log and active transactions of the database.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Pages of all its files: an upper bound for a walk over pages without cycles.
    pub fn all_pages(&self) -> u64 {
        let files = self.files.read();
        files
            .values()
            .map(|file| u64::from(file.size_pages()))
            .sum()
    }

    pub(crate) fn filegroup(&self, id: u16) -> Result<Arc<Filegroup>, SpaceError> {
        let groups = self.filegroups.read();
        groups
            .get(&id)
            .map(Arc::clone)
            .ok_or(SpaceError::UnknownFilegroup(id))
    }

    pub(crate) fn file(&self, id: FileId) -> Result<Arc<FileSpace>, SpaceError> {
        self.files
            .read()
            .get(&id)
            .map(Arc::clone)
            .ok_or(SpaceError::UnknownFile(id))
    }
}

/// Reads a file's header and counts its free extents.
pub(crate) fn open_file(
    store: &Store,
    file: &DataFile,
    options: SpaceOptions,
) -> Result<FileSpace, SpaceError> {
    let header = {
        let page = PageId {
            file: file.file_id,
            page: PageNo(0),
        };
        let guard = store.read(page, LatchRank::FileHeader)?;
        let read = FileHeader::decode(&guard);
        read.map_err(|source| SpaceError::Header {
            file: file.file_id,
            source,
        })?
    };
    // The header changes in one step with the maps; the catalog follows it.
    let size_pages = header.size_pages / EXTENT_PAGES * EXTENT_PAGES;
    let bytes = file.file.len_bytes();
    let bytes = bytes.map_err(|source| SpaceError::Io {
        file: file.file_id,
        source,
    })?;
    let actual_pages = bytes / PAGE_SIZE as u64;
    if actual_pages < u64::from(size_pages) {
        return Err(SpaceError::Truncated {
            file: file.file_id,
            expected_pages: size_pages,
            actual_pages,
        });
    }
    let mut counts = Vec::new();
    for start in (0..size_pages).step_by(GAM_INTERVAL as usize) {
        let counted = count_interval(store, file.file_id, PageNo(start), size_pages);
        counts.push(match counted {
            Err(error) if options.at_rest => {
                tracing::warn!(%error, "the allocation maps of a file at rest cannot be read");
                IntervalCount { free: 0, mixed: 0 }
            }
            other => other?,
        });
    }
    Ok(FileSpace::new(file, size_pages, &counts))
}

fn count_interval(
    store: &Store,
    file: FileId,
    start: PageNo,
    size_pages: u32,
) -> Result<IntervalCount, SpaceError> {
    let extents = interval_extents(start, size_pages);
    let count = |page, rank| {
        let id = PageId { file, page };
        let guard = store.read(id, rank)?;
        let map = Bitmap::new(&guard).ok_or(damaged(id, "no sound bitmap page"))?;
        Ok::<u32, SpaceError>(map.count(extents))
    };
    Ok(IntervalCount {
        free: count(gam_page_of(start), LatchRank::Gam)?,
        mixed: count(sgam_page_of(start), LatchRank::Sgam)?,
    })
}
