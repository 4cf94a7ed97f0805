//! The experiment "do several data files make a difference on one array and on two?", on modelled arrays.
//!
//! # Purpose
//! The published test with its storage: 16 sessions insert rows of a page each, the data files lie on one
//! array of eight drives or in turn on two arrays of four, the log on an array of its own. The whole engine
//! works in real time; only the time of its requests comes from the model. Two further places show what the
//! test warns of: all files full except one that was added empty (`added`), and several files on one drive
//! (`spindle`).
//!
//! # Invariants
//! 1. Every figure is that of a model, and the title, the charts and `results.json` say so.
//! 2. Every run has a fresh database with the same room for the load, the same log, pool and rows. No file
//!    grows.
//! 3. The log is small enough that checkpoints happen during the load.
//! 4. Requests that the real drives answered later than the model are counted; a run that has many says so.
//!
//! # How a run goes
//! 1. *Prepare*, once: a directory for each array.
//! 2. *Set-up*: instance and database; with `added` the files but the last are filled up, then it is added.
//! 3. *Measure*: the load, and the figures of each array before and after it.
//! 4. *Verify*: rows counted. *Tear-down*: closed and removed.
//!
//! # What can fail
//! A [`StepError`] with the engine's own words; options that make no sense ([`OptionsError`]).

mod options;
mod section;
#[cfg(test)]
mod tests;

pub use options::{Options, Site, Typed};

use crate::drives::{described, modelled_volume};
use crate::plugin::{Plugin, Start};
use crate::proportional_fill::{Scenario, fill_up};
use crate::targets::{DataFile, DatabaseLayout, Embedded, Startup, Target, TargetError, quoted};
use crate::workloads::figures;
use crate::workloads::inserts::{self, Inserts, Layout};
use crate::workloads::load::{self, End, Load};
use crate::workloads::place::{RunPlace, clear, failed, wrong};
use furrow_disks::ModelledVolume;
use furrow_io::Volume;
use furrow_lab::design::{Cell, Factor};
use furrow_lab::experiment::{Experiment, OptionsError, RunContext, StepError};
use furrow_lab::plan::Forecast;
use furrow_lab::results::{self, Published, Results, Run, Section};
use options::LOG_DIRECTORY;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

/// Megabytes a second that a run is thought to write before one has been seen.
const ASSUMED_MB_S: f64 = 40.0;
/// Seconds of set-up and tear-down that are thought to go with each run.
const ASSUMED_OVERHEAD_S: f64 = 1.0;

/// The experiment.
#[derive(Debug)]
pub struct Arrays {
    options: Options,
    out_dir: PathBuf,
    target: Box<dyn Target>,
    /// The file systems with the models, once the runner has asked for them.
    drives: OnceLock<ModelledVolume>,
    run: Option<(RunPlace, u64)>,
}

impl Arrays {
    /// The experiment on this target.
    pub fn on(options: Options, out_dir: PathBuf, target: Box<dyn Target>) -> Arrays {
        Arrays {
            options,
            out_dir,
            target,
            drives: OnceLock::new(),
            run: None,
        }
    }

    fn base(&self) -> PathBuf {
        let volume = self.options.volume.as_ref();
        volume.unwrap_or(&self.out_dir).clone()
    }

    fn run_place(&self, files: u64, site: Site, tag: &str) -> RunPlace {
        let base = self.base();
        let directories = site.directories().iter().map(|name| base.join(name));
        let log = base.join(LOG_DIRECTORY);
        RunPlace::new(&directories.collect::<Vec<_>>(), Some(&log), files, tag)
    }

    /// The files of a run; none of them grows.
    fn layout(&self, scenario: Scenario, place: &RunPlace) -> DatabaseLayout {
        let files = place.data.len() as u64;
        let sizes = scenario.sizes(files, self.options.room_bytes());
        let log = (place.log.as_path(), self.options.log_bytes);
        let mut layout = DatabaseLayout::even(&place.name, &place.data, 0, log);
        for (file, size) in layout.data.iter_mut().zip(sizes) {
            file.size_bytes = size;
            file.can_grow = false;
        }
        layout
    }

    /// Makes the table; fills up the files there are and adds the one that is `added`. Gives the rows that
    /// are in the table then.
    fn furnish(
        &self,
        place: &RunPlace,
        added: Option<(&DatabaseLayout, &DataFile)>,
    ) -> Result<u64, TargetError> {
        inserts::create_table(self.target.as_ref(), &place.name, Layout::Sequential)?;
        let Some((layout, file)) = added else {
            return Ok(0);
        };
        let mut session = self.target.connect()?;
        session.batch(&format!("USE {};", quoted(&place.name)))?;
        let rows = fill_up(session.as_mut())?;
        session.batch(&layout.add_statement(file))?;
        session.batch("CHECKPOINT;")?;
        Ok(rows)
    }
}

impl Plugin for Arrays {
    const NAME: &'static str = "arrays";
    const QUESTION: &'static str =
        "Do several data files make a difference on one array and on two? (modelled arrays)";
    type Options = Typed;

    fn new(typed: Typed, start: &Start) -> Result<Arrays, OptionsError> {
        let options = Options::of(typed, start)?;
        Ok(Arrays::on(
            options,
            start.out_dir.clone(),
            Box::new(Embedded::new()),
        ))
    }
}

impl Experiment for Arrays {
    fn subject(&self) -> results::Experiment {
        let one = self.factors().len() == 1;
        results::Experiment {
            name: Arrays::NAME.to_owned(),
            question: "Do several data files make a difference on one array and on two?".to_owned(),
            target: self.target.name(),
            database: "a fresh one for each run".to_owned(),
            workload: self.options.workload(),
            factor: results::Factor {
                singular: if one { "file" } else { "" }.to_owned(),
                plural: if one { "files" } else { "files / place" }.to_owned(),
                option: if one { "--files" } else { "" }.to_owned(),
            },
            response: results::Response::elapsed_time(),
        }
    }

    fn factors(&self) -> Vec<Factor> {
        self.options.factors()
    }

    fn settings(&self) -> BTreeMap<String, String> {
        self.options.settings()
    }

    fn volumes(&self) -> Vec<PathBuf> {
        vec![self.base()]
    }

    fn models(&self) -> Vec<String> {
        described(&self.options.drives(&self.base()))
    }

    fn drives(&self, real: &Arc<dyn Volume>) -> Result<Arc<dyn Volume>, StepError> {
        let made = modelled_volume(real, &self.options.drives(&self.base()))?;
        let volume = self.drives.get_or_init(|| made);
        Ok(Arc::new(volume.clone()))
    }

    fn memory_bytes(&self) -> u64 {
        self.options.pool_bytes
    }

    fn forecast(&self, cell: &Cell) -> Forecast {
        let (files, site) = self.options.of_cell(cell);
        let place = self.run_place(files, site, "HASH_START_rN_aN");
        let layout = self.layout(site.scenario(files), &place);
        let data: u64 = layout.data.iter().map(|file| file.size_bytes).sum();
        let extra = files * self.target.extra_bytes_per_file() + self.target.instance_bytes();
        let bytes_written = 2 * self.options.total_bytes;
        let create = layout.create_statement();
        let mut steps: Vec<String> = create.lines().map(str::to_owned).collect();
        if site.scenario(files) == Scenario::Added {
            steps.push("fill up all files but the last, which is added then".to_owned());
        }
        steps.push(format!(
            "insert {} rows by {} sessions, one a commit",
            self.options.rows(),
            self.options.connections
        ));
        Forecast {
            seconds: ASSUMED_OVERHEAD_S + bytes_written as f64 / 1e6 / ASSUMED_MB_S,
            peak_bytes: vec![(self.base(), data + self.options.log_bytes + extra)],
            shared_bytes: Vec::new(),
            bytes_written,
            steps,
        }
    }

    fn prepare(&mut self, context: &mut RunContext<'_>) -> Result<(), StepError> {
        for spec in self.options.drives(&self.base()) {
            context.claim_directory(&spec.dir)?;
            context.volume().create_dir(&spec.dir)?;
        }
        Ok(())
    }

    fn setup(&mut self, cell: &Cell, context: &mut RunContext<'_>) -> Result<(), StepError> {
        let (files, site) = self.options.of_cell(cell);
        let place = self.run_place(files, site, &context.tag());
        place.make_directories(context)?;
        let startup = Startup {
            // Not on a modelled array: starting the instance is no part of the question.
            directory: self.base().join(format!("{}_instance", place.name)),
            pool_bytes: self.options.pool_bytes,
            ..Startup::default()
        };
        let scenario = site.scenario(files);
        let whole = self.layout(scenario, &place);
        for path in self.target.paths(&whole) {
            context.claim_file(&path)?;
        }
        let mut layout = whole.clone();
        let added = match scenario {
            Scenario::Added => layout.data.pop(),
            _ => None,
        };
        place.start_claimed(self.target.as_mut(), &startup, &layout, context)?;
        let before = self.furnish(&place, added.as_ref().map(|file| (&whole, file)));
        self.run = Some((place, *before.as_ref().unwrap_or(&0)));
        before.map(|_| ()).map_err(failed)
    }

    fn measure(&mut self, cell: &Cell, context: &mut RunContext<'_>) -> Result<Run, StepError> {
        let run_place = self.run.as_ref().map(|(place, _)| place);
        let place = run_place.ok_or_else(|| StepError::Failed("no database is open".to_owned()))?;
        let load = Load {
            database: place.name.clone(),
            sessions: self.options.connections,
            end: End::Units(self.options.rows()),
            rate: None,
            unit: "rows",
            looks_at_extents: false,
        };
        let read = || self.drives.get().map(ModelledVolume::figures);
        let before = read().unwrap_or_default();
        let work = Inserts { rows_per_commit: 1 };
        let worked = load::run(self.target.as_ref(), &load, &work, context)?;
        let after = read().unwrap_or_default();
        let mut run = Run::default();
        let base = self.base();
        let volumes: Vec<PathBuf> = self
            .options
            .drives(&base)
            .into_iter()
            .map(|s| s.dir)
            .collect();
        figures::fill_inserts(&mut run, &worked, &volumes);
        let (files, site) = self.options.of_cell(cell);
        section::keep(&mut run, &worked, (files, site), &before, &after);
        Ok(run)
    }

    fn verify(
        &mut self,
        _cell: &Cell,
        _record: &Run,
        _context: &mut RunContext<'_>,
    ) -> Result<(), StepError> {
        let (name, before) = match &self.run {
            Some((place, rows)) => (place.name.as_str(), *rows),
            None => ("", 0),
        };
        let wanted = before + self.options.rows();
        let found = inserts::count_rows(self.target.as_ref(), name).map_err(wrong)?;
        if found == wanted {
            return Ok(());
        }
        Err(StepError::Violation(format!(
            "the table holds {found} rows where {wanted} were inserted"
        )))
    }

    fn teardown(&mut self, _cell: &Cell, context: &mut RunContext<'_>) -> Result<(), StepError> {
        self.run = None;
        clear(self.target.as_mut(), context)
    }

    fn limits(&self) -> Vec<String> {
        vec![
            "The arrays are models; no real array was used. The engine and its threads are real.".to_owned(),
            "The models of the data arrays have no write cache: a load of this size would fit into it."
                .to_owned(),
            "The two-array place has the same number of drives as the one array, in two halves.".to_owned(),
            "The time ends with the last commit: pages that checkpoints had not written are not in it."
                .to_owned(),
        ]
    }

    fn sections(&self, results: &Results) -> Vec<Section> {
        section::sections(results)
    }

    fn published(&self, results: &Results) -> Option<Published> {
        Some(section::published(results))
    }
}
