//! The scene of a page that is written while a backup reads it.
//!
//! The disk writes the first halves of all pages of a batch, then waits, then writes the second halves. A
//! backup that reads one of these pages meanwhile must get it whole.

use super::as_text;
use super::backups::Scene;
use crate::subject::Store as _;
use furrow_engine::BackupScope;
use furrow_format::{FileId, PAGE_SIZE, PageBuf, PageId, PageNo, verify};
use furrow_io::sync::{Condvar, Mutex};
use furrow_io::time::Duration;
use furrow_io::{
    Access, File, Fill, IoError, MemoryVolume, Open, ReadRun, Space, Volume, WriteRun, thread,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How long the disk waits for a reader between the halves.
const PATIENCE: Duration = Duration::from_millis(400);

#[derive(Debug, Default)]
struct Gate {
    state: Mutex<State>,
    moved: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Whether the next write of the file is one in halves.
    armed: bool,
    /// Offsets of pages of which one half is written.
    half: Vec<u64>,
    /// Whether the pages were read.
    read: bool,
}

#[derive(Debug)]
struct Halves {
    inner: Arc<dyn Volume>,
    gate: Arc<Gate>,
}

#[derive(Debug)]
struct HalvesFile {
    inner: Arc<dyn File>,
    gate: Arc<Gate>,
}

impl HalvesFile {
    fn write_halves(&self, runs: &[WriteRun<'_, '_>]) -> Result<(), IoError> {
        let mut pages: Vec<(u64, Vec<u8>)> = Vec::new();
        for run in runs {
            let bytes: Vec<u8> = run
                .bufs
                .iter()
                .flat_map(|buf| buf.iter().copied())
                .collect();
            let numbered = (run.offset..)
                .step_by(PAGE_SIZE)
                .zip(bytes.chunks(PAGE_SIZE));
            pages.extend(numbered.map(|(offset, page)| (offset, page.to_vec())));
        }
        let half = PAGE_SIZE / 2;
        for (offset, page) in &pages {
            self.inner
                .write_at(*offset, page.get(..half).unwrap_or(page))?;
        }
        let mut state = self.gate.state.lock();
        state.half = pages.iter().map(|page| page.0).collect();
        self.gate.moved.notify_all();
        if !state.read {
            self.gate.moved.wait_for(&mut state, PATIENCE);
        }
        drop(state);
        for (offset, page) in &pages {
            let rest = page.get(half..).unwrap_or_default();
            self.inner.write_at(offset + half as u64, rest)?;
        }
        Ok(())
    }
}

impl File for HalvesFile {
    fn read(&self, runs: &mut [ReadRun<'_, '_>]) -> Result<(), IoError> {
        self.inner.read(runs)
    }

    fn write(&self, runs: &[WriteRun<'_, '_>]) -> Result<(), IoError> {
        let armed = std::mem::take(&mut self.gate.state.lock().armed);
        match armed {
            true => self.write_halves(runs),
            false => self.inner.write(runs),
        }
    }

    fn sync(&self) -> Result<(), IoError> {
        self.inner.sync()
    }

    fn resize(&self, bytes: u64, fill: Fill) -> Result<(), IoError> {
        self.inner.resize(bytes, fill)
    }

    fn len_bytes(&self) -> Result<u64, IoError> {
        self.inner.len_bytes()
    }

    fn path(&self) -> &Path {
        self.inner.path()
    }
}

impl Volume for Halves {
    fn open(&self, path: &Path, how: Open, access: Access) -> Result<Arc<dyn File>, IoError> {
        let inner = self.inner.open(path, how, access)?;
        if path.extension().is_none_or(|e| e != "mdf") {
            return Ok(inner);
        }
        let gate = Arc::clone(&self.gate);
        Ok(Arc::new(HalvesFile { inner, gate }))
    }

    fn exists(&self, path: &Path) -> Result<bool, IoError> {
        self.inner.exists(path)
    }

    fn list(&self, dir: &Path) -> Result<Vec<PathBuf>, IoError> {
        self.inner.list(dir)
    }

    fn create_dir(&self, dir: &Path) -> Result<(), IoError> {
        self.inner.create_dir(dir)
    }

    fn remove(&self, path: &Path) -> Result<(), IoError> {
        self.inner.remove(path)
    }

    fn space(&self, dir: &Path) -> Result<Space, IoError> {
        self.inner.space(dir)
    }
}

/// A checkpoint writes pages in halves; a backup reads them between the halves.
pub(super) fn read_between_the_halves(_: u64) -> Result<(), String> {
    let gate = Arc::new(Gate::default());
    let volume: Arc<dyn Volume> = Arc::new(Halves {
        inner: Arc::new(MemoryVolume::new()),
        gate: Arc::clone(&gate),
    });
    let scene = Scene::new(volume)?;
    let db = scene.store.database();
    let source = db.begin_backup(BackupScope::CopyOnly).map_err(as_text)?;
    scene.change(0, 2)?;
    gate.state.lock().armed = true;
    thread::scope(|scope| {
        let store = &scene.store;
        let checkpoint = move || store.checkpoint().map_err(as_text);
        let writer = thread::spawn_scoped(scope, "checkpoint", checkpoint).map_err(as_text)?;
        let half = wait_for_half(&gate)?;
        let mut torn = Ok(());
        for offset in half {
            let page = PageNo((offset / PAGE_SIZE as u64) as u32);
            let id = PageId {
                file: FileId(1),
                page,
            };
            let mut bytes: Box<PageBuf> = Box::new([0; PAGE_SIZE]);
            source.read(id, &mut bytes[..]).map_err(as_text)?;
            let whole = verify(&bytes, id).map(drop);
            torn = torn.and(whole.map_err(|e| format!("page {id}: {e}")));
        }
        gate.state.lock().read = true;
        gate.moved.notify_all();
        writer
            .join()
            .map_err(|_| "the checkpoint panicked".to_owned())??;
        torn
    })
}

fn wait_for_half(gate: &Gate) -> Result<Vec<u64>, String> {
    let mut state = gate.state.lock();
    for _ in 0..50 {
        if !state.half.is_empty() {
            return Ok(state.half.clone());
        }
        gate.moved.wait_for(&mut state, Duration::from_millis(100));
    }
    Err("nothing was written: no scene".to_owned())
}
