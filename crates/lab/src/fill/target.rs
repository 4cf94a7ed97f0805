//! The built-in engine with the files of a scenario, and what it tells of its fill.

use super::history::Lines;
use super::scenario::Scenario;
use crate::datafiles::{Connection, Counters, DatabaseShape, Embedded, Pulse, Target};
use furrow_engine::{DatabaseSpec, FileSpec, InstanceConfig};
use furrow_io::Volume;
use furrow_observe::traceflags::Target as Scope;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Rows of a commit while files are filled up before the load.
const ROWS_AT_ONCE: u64 = 8;
/// 1165 prints skip targets, 3604 sends the lines to us.
const FLAGS: [i64; 2] = [1165, 3604];

/// The engine of a run.
#[derive(Debug)]
pub(super) struct FillTarget {
    inner: Embedded,
    scenario: Scenario,
    sizes: Vec<u64>,
    /// Rows that were in the table before the load.
    rows_before: u64,
    lines: Lines,
}

impl FillTarget {
    pub(super) fn new(scenario: Scenario, sizes: Vec<u64>) -> FillTarget {
        FillTarget {
            inner: Embedded::new(),
            scenario,
            sizes,
            rows_before: 0,
            lines: Lines::default(),
        }
    }

    /// What the engine has printed of its fill.
    pub(super) fn lines(&self) -> &Lines {
        &self.lines
    }

    fn file(&self, place: usize, path: &Path) -> FileSpec {
        let bytes = self.sizes.get(place).copied().unwrap_or(0);
        FileSpec::new(format!("data{}", place + 1), path)
            .size_kb(bytes / 1024)
            .no_growth()
    }

    /// Inserts until no file has a free extent.
    fn fill_up(&mut self) -> Result<(), String> {
        let mut session = self.inner.connect(0)?;
        loop {
            let free: u64 = self
                .inner
                .pulse()
                .free_extents
                .iter()
                .map(|file| file.1)
                .sum();
            if free == 0 {
                return Ok(());
            }
            session.insert(ROWS_AT_ONCE)?;
            self.rows_before += ROWS_AT_ONCE;
        }
    }
}

impl Target for FillTarget {
    fn name(&self) -> String {
        self.inner.name()
    }

    fn paths(&self, shape: &DatabaseShape) -> Vec<PathBuf> {
        self.inner.paths(shape)
    }

    fn extra_bytes_per_file(&self) -> u64 {
        self.inner.extra_bytes_per_file()
    }

    fn create(&mut self, volume: &Arc<dyn Volume>, shape: &DatabaseShape) -> Result<(), String> {
        let later = match self.scenario {
            Scenario::Added => shape.data.len() - 1,
            _ => shape.data.len(),
        };
        let mut data = shape.data.iter().enumerate();
        let (place, path) = data.next().ok_or("a database needs a data file")?;
        let mut spec = DatabaseSpec::new(&shape.name, self.file(place, path));
        for (place, path) in data.take(later.saturating_sub(1)) {
            spec.primary.push(self.file(place, path));
        }
        let log = FileSpec::new("log", &shape.log).size_kb(shape.log_bytes / 1024);
        let config = InstanceConfig {
            many_extents_a_turn: self.scenario == Scenario::EqualE,
            ..Embedded::config(shape)?
        };
        self.inner
            .create_as(volume, config, &spec.log(log), shape.layout)?;
        if self.scenario == Scenario::Added {
            self.fill_up()?;
            let path = shape.data.last().ok_or("no file to add")?;
            let added = self.file(shape.data.len() - 1, path);
            let (_, database) = self.inner.parts().ok_or("no database is open")?;
            database.add_file(&added, None).map_err(|e| e.to_string())?;
        }
        let (instance, database) = self.inner.parts().ok_or("no database is open")?;
        let flags = &instance.instruments().trace_flags;
        flags
            .turn_on(&FLAGS, Scope::Global)
            .map_err(|message| message.text)?;
        let lines = self.lines.clone();
        database.set_trace_client(Some(Arc::new(move |line: &str| lines.take(line))));
        Ok(())
    }

    fn connect(&self, place: u32) -> Result<Box<dyn Connection>, String> {
        self.inner.connect(place)
    }

    fn counters(&self) -> Counters {
        self.inner.counters()
    }

    fn pulse(&self) -> Pulse {
        self.inner.pulse()
    }

    fn count_rows(&self) -> Result<u64, String> {
        Ok(self.inner.count_rows()?.saturating_sub(self.rows_before))
    }

    fn close(&mut self) -> Result<(), String> {
        self.inner.close()
    }
}
