//! Scenes of backups: what happens between the moments at which a backup looks.
//!
//! The scene calls the engine's own steps of a backup, so that something can be done between any two of them,
//! and the engine's own steps of a restore, too. The copy must have what was committed when the backup ended,
//! and nothing else.

use super::as_text;
use crate::engine::{Engine, EngineStore};
use crate::subject::{Failure, FullBackups, Layout, Session as _, Store as _};
use furrow_engine::{BackupScope, BackupSource, Instance, RestoreFile, RestoreSpec};
use furrow_format::{PAGE_SIZE, PageId};
use furrow_io::{MemoryVolume, Volume};
use furrow_types::Guid;
use std::collections::BTreeMap;
use std::sync::Arc;

pub(super) const LAYOUT: Layout = Layout {
    files: 2,
    pool_pages: 256,
    log_kb: 1024,
    log_grows: true,
    file_kb: 512,
    growth_kb: 256,
    grow_all: false,
    mixed_pages: false,
    double_write_pages: 64,
    waits_for_locks: false,
    full_backups: FullBackups::Sometimes,
    background: false,
};
/// Clustered, with other indexes; and the one that is loaded in bulk.
const WORKED: u16 = 0;
const DROPPED: u16 = 1;
const LOADED: u16 = crate::rows::TABLES;
const ROWS: i64 = 120;
/// More than a minimally logged load needs.
const LOADED_ROWS: i64 = 2000;

/// A version of a row: no two rows of a table have the same.
fn version(key: i64, round: u64) -> u64 {
    round * ROWS as u64 + key as u64
}

/// A database with rows, in an instance of its own.
pub(super) struct Scene {
    pub(super) volume: Arc<dyn Volume>,
    instance: Arc<Instance>,
    pub(super) store: EngineStore,
}

impl Scene {
    pub(super) fn new(volume: Arc<dyn Volume>) -> Result<Scene, String> {
        let engine = Engine::default();
        let instance = engine.lasting_instance(Arc::clone(&volume), &LAYOUT);
        let instance = instance.map_err(as_text)?;
        let made = engine.create_in(Arc::clone(&instance), Arc::clone(&volume), &LAYOUT);
        let scene = Scene {
            volume,
            instance,
            store: made.map_err(as_text)?,
        };
        let mut session = scene.store.session().map_err(as_text)?;
        for table in [WORKED, DROPPED, LOADED] {
            session.create_table(table, 1).map_err(as_text)?;
        }
        for key in 0..ROWS {
            session
                .insert(WORKED, key, version(key, 1))
                .map_err(as_text)?;
            session
                .insert(DROPPED, key, version(key, 1))
                .map_err(as_text)?;
        }
        drop(session);
        Ok(scene)
    }

    /// Another version of all rows of a table.
    pub(super) fn change(&self, table: u16, round: u64) -> Result<(), String> {
        let mut session = self.store.session().map_err(as_text)?;
        session.begin().map_err(as_text)?;
        for key in 0..ROWS {
            session
                .update(table, key, version(key, round))
                .map_err(as_text)?;
        }
        session.commit().map_err(as_text)
    }

    /// A backup, with something done before the maps are read and before the log is.
    fn back_up(
        &self,
        before_maps: &dyn Fn() -> Result<(), String>,
        before_log: &dyn Fn() -> Result<(), String>,
    ) -> Result<Copied, String> {
        let (copied, source) = self.copy(before_maps)?;
        before_log()?;
        copied.log(source)
    }

    /// The pages of a backup whose log is still to come.
    fn copy(
        &self,
        before_maps: &dyn Fn() -> Result<(), String>,
    ) -> Result<(Copied, BackupSource), String> {
        let db = self.store.database();
        let source = db.begin_backup(BackupScope::CopyOnly).map_err(as_text)?;
        before_maps()?;
        let mut copied = Copied::default();
        for file in db.file_list().map_err(as_text)? {
            if file.filegroup == 0 {
                continue;
            }
            let size = u32::try_from(file.size_pages).map_err(as_text)?;
            for interval in 0.. {
                let runs = source.allocated(file.id, size, interval).map_err(as_text)?;
                let Some(runs) = runs else { break };
                for (page, count) in runs {
                    let first = PageId {
                        file: file.id,
                        page,
                    };
                    copied.read(&source, (first, count))?;
                }
            }
        }
        Ok((copied, source))
    }

    /// The copy, recovered, must hold what `expected` holds.
    fn compare(&self, copied: &Copied, expected: &crate::model::State) -> Result<(), String> {
        let restoring = self.instance.begin_restore(&copied.spec).map_err(as_text)?;
        for (first, bytes) in &copied.pages {
            restoring.write_pages(*first, bytes).map_err(as_text)?;
        }
        for block in &copied.blocks {
            restoring.write_log(block).map_err(as_text)?;
        }
        let db = self.instance.recover_restored(restoring).map_err(as_text)?;
        let engine = Engine::default();
        let volume = Arc::clone(&self.volume);
        let copy = engine.store(Arc::clone(&self.instance), db, volume, &LAYOUT);
        let there = copy.read_all().map_err(as_text)?;
        copy.audit().map_err(as_text)?;
        match there == *expected {
            true => Ok(()),
            false => Err(format!(
                "the copy holds {} cells, not the {} that were committed, or others",
                there.len(),
                expected.len()
            )),
        }
    }
}

/// A backup.
struct Copied {
    pages: Vec<(PageId, Vec<u8>)>,
    blocks: Vec<Vec<u8>>,
    spec: RestoreSpec,
}

impl Default for Copied {
    fn default() -> Copied {
        Copied {
            pages: Vec::new(),
            blocks: Vec::new(),
            spec: RestoreSpec {
                name: "copy".to_owned(),
                files: Vec::new(),
                replace: false,
                checkpoint: furrow_format::Lsn::ZERO,
                last_lsn: furrow_format::Lsn::ZERO,
                vlfs: Vec::new(),
                log_sector_bytes: 0,
                base: Guid([0; 16]),
                source: Guid([0; 16]),
                forks: furrow_format::Forks::default(),
                absent: Vec::new(),
            },
        }
    }
}

impl Copied {
    fn read(&mut self, source: &BackupSource, (first, count): (PageId, u32)) -> Result<(), String> {
        let mut bytes = vec![0; count as usize * PAGE_SIZE];
        source.read(first, &mut bytes).map_err(as_text)?;
        self.pages.push((first, bytes));
        Ok(())
    }

    fn log(mut self, mut source: BackupSource) -> Result<Copied, String> {
        let mut vlfs = BTreeMap::new();
        loop {
            let blocks = &mut self.blocks;
            let needed = source.next_round(&mut |block| {
                vlfs.insert(block.lsn.vlf(), block.vlf_bytes);
                blocks.push(block.bytes);
                true
            });
            let Some(needed) = needed.map_err(as_text)? else {
                break;
            };
            for run in needed {
                self.read(&source, run)?;
            }
        }
        let db = source.database().ok_or("the database is not open")?;
        for file in db.file_list().map_err(as_text)? {
            let name = file.path.file_name().unwrap_or_default();
            let mut copy = std::ffi::OsString::from("copy_");
            copy.push(name);
            self.spec.files.push(RestoreFile {
                id: file.id,
                filegroup: file.filegroup,
                name: file.name.clone(),
                path: file.path.with_file_name(copy),
                size_pages: u32::try_from(file.size_pages).map_err(as_text)?,
                guid: file.guid,
                created: furrow_format::Lsn::ZERO,
                first_pages: 0,
                moved: true,
            });
        }
        self.spec.checkpoint = source.facts().checkpoint;
        self.spec.last_lsn = source.last_lsn();
        self.spec.forks = source.facts().boot.forks.clone();
        self.spec.log_sector_bytes = source.facts().log_sector_bytes;
        self.spec.vlfs = vlfs.into_iter().collect();
        Ok(self)
    }
}

fn nothing() -> Result<(), String> {
    Ok(())
}

/// A load that began before the backup fills pages past the log when all files are copied: they are copied
/// afterwards.
pub(super) fn loaded_behind_the_copy(_: u64) -> Result<(), String> {
    let scene = Scene::new(Arc::new(MemoryVolume::new()))?;
    let rows: Vec<(i64, u64)> = (0..LOADED_ROWS).map(|key| (key, 2)).collect();
    let mut session = scene.store.session().map_err(as_text)?;
    let mut begun = None;
    let mut copy = || {
        begun = Some(scene.copy(&nothing).map_err(Failure::Wrong)?);
        Ok(())
    };
    let loaded = session.load_after(LOADED, &rows, &mut copy);
    loaded.map_err(as_text)?;
    drop(session);
    let (copied, source) = begun.ok_or("the backup did not begin")?;
    let copied = copied.log(source)?;
    let expected = scene.store.read_all().map_err(as_text)?;
    scene.compare(&copied, &expected)
}

/// Pages are changed behind the checkpoint of a backup, and freed before it reads the maps: redo needs them.
pub(super) fn freed_before_the_maps(_: u64) -> Result<(), String> {
    let scene = Scene::new(Arc::new(MemoryVolume::new()))?;
    let free = || {
        scene.change(DROPPED, 2)?;
        let mut session = scene.store.session().map_err(as_text)?;
        session.drop_table(DROPPED).map_err(as_text)?;
        drop(session);
        scene.store.clean().map_err(as_text)
    };
    let copied = scene.back_up(&free, &nothing)?;
    let expected = scene.store.read_all().map_err(as_text)?;
    scene.compare(&copied, &expected)
}

/// Pages are copied with changes of a transaction that does not commit: the log has them, and the restore
/// undoes them.
pub(super) fn copied_and_not_committed(_: u64) -> Result<(), String> {
    let scene = Scene::new(Arc::new(MemoryVolume::new()))?;
    let expected = scene.store.read_all().map_err(as_text)?;
    let mut session = scene.store.session().map_err(as_text)?;
    let open = std::cell::RefCell::new(&mut session);
    let change = || {
        let mut session = open.borrow_mut();
        session.begin().map_err(as_text)?;
        for key in 0..ROWS {
            session
                .update(WORKED, key, version(key, 2))
                .map_err(as_text)?;
        }
        scene.store.checkpoint().map_err(as_text)
    };
    let copied = scene.back_up(&change, &nothing)?;
    let compared = scene.compare(&copied, &expected);
    session.rollback().map_err(as_text)?;
    compared
}
