//! The experiment "does this setting make a difference for my load?"
//!
//! # Purpose
//! "Validate a trace flag before you enable it", in one command: two sides that differ in settings and in
//! nothing else, on the load of the published test or on the reader's own scripts.
//!
//! # Invariants
//! 1. Every run has an instance and a database of its own. Both sides have the same files, the same pool, the
//!    same set-up and the same load.
//! 2. Settings of instance and database are applied before the set-up script, statements (`sql ...`) after
//!    it; none of it is in the measured time.
//! 3. The texts of the scripts are part of the plan: when a file changes, the experiment is not continued.
//!
//! # How a run goes
//! 1. *Set-up*: instance with the side's start options, database, settings, set-up script.
//! 2. *Measure*: sessions repeat the load script for a fixed time (the response is scripts a second), or
//!    insert a fixed amount of rows (the response is the elapsed time).
//! 3. *Tear-down*: stopped; what was made is removed.
//!
//! # What can fail
//! A [`StepError`] with the engine's number and text; options that make no sense ([`OptionsError`]).

mod options;

pub use options::{Options, Typed};

use crate::plugin::{NOT_SQL_SERVER, Plugin, Start};
use crate::settings::Settings;
use crate::targets::{DatabaseLayout, Embedded, Session, Startup, Target, quoted};
use crate::workloads::inserts::{self, Inserts, Layout};
use crate::workloads::load::{End, Load, Work, Worked};
use crate::workloads::place::{RunPlace, clear, failed, of_the_user};
use crate::workloads::script::Script;
use crate::workloads::{figures, latched};
use furrow_io::{Volume, thread};
use furrow_lab::design::{Cell, Factor};
use furrow_lab::experiment::{Experiment, OptionsError, RunContext, StepError};
use furrow_lab::plan::Forecast;
use furrow_lab::results::{self, Figure, Run};
use furrow_lab::size::size_text;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

const FACTOR: &str = "setting";
/// Megabytes a second that an insert load is thought to write before one has been seen.
const ASSUMED_MB_S: f64 = 160.0;
/// Seconds of set-up and tear-down that are thought to go with each run.
const ASSUMED_OVERHEAD_S: f64 = 1.0;

/// The experiment.
#[derive(Debug)]
pub struct Ab {
    options: Options,
    out_dir: PathBuf,
    target: Box<dyn Target>,
    place: Option<RunPlace>,
}

impl Ab {
    /// The experiment on this target.
    pub fn on(options: Options, out_dir: PathBuf, target: Box<dyn Target>) -> Ab {
        Ab {
            options,
            out_dir,
            target,
            place: None,
        }
    }

    fn side(&self, cell: &Cell) -> &Settings {
        let key = cell.level(FACTOR).map(|level| level.key.as_str());
        if key == Some(self.options.labels()[1].as_str()) {
            &self.options.b
        } else {
            &self.options.a
        }
    }

    fn startup(&self, directory: PathBuf) -> Startup {
        Startup {
            directory,
            pool_bytes: self.options.pool_bytes,
            ..Startup::default()
        }
    }

    fn layout(&self, place: &RunPlace) -> DatabaseLayout {
        let options = &self.options;
        let log = (place.log.as_path(), options.log_bytes);
        DatabaseLayout::even(&place.name, &place.data, options.file_bytes(), log)
    }

    fn load(&self, database: &str) -> Load {
        let options = &self.options;
        Load {
            database: database.to_owned(),
            sessions: options.sessions,
            end: match (&options.load, options.repeat) {
                (None, _) => options
                    .pace
                    .end(Layout::Sequential.rows(options.total_bytes)),
                (Some(_), Some(times)) => End::Units(times * u64::from(options.sessions)),
                (Some(_), None) => options.pace.end(u64::MAX),
            },
            rate: options.pace.rate,
            unit: self.unit(),
            looks_at_extents: false,
        }
    }

    fn unit(&self) -> &'static str {
        match self.options.load {
            Some(_) => "scripts",
            None => "rows",
        }
    }

    /// Threads that may work for the sessions of a script: its scans are divided by themselves, at most among
    /// all processors.
    fn threads(&self, side: &Settings, cpus: u32) -> Option<u32> {
        self.options.load.as_ref()?;
        let dop = side.max_dop().map_or(cpus, |most| most.min(cpus));
        Some(self.options.sessions.saturating_mul(dop.max(1)))
    }

    fn in_database(&self, place: &RunPlace) -> Result<Box<dyn Session>, StepError> {
        let mut session = self.target.connect().map_err(failed)?;
        let into = format!("USE {};", quoted(&place.name));
        session.batch(&into).map_err(failed)?;
        Ok(session)
    }

    fn record(&self, worked: &Worked) -> Run {
        let mut run = Run::default();
        let volumes = self.volumes();
        let rate = worked.units as f64 / worked.seconds;
        if self.options.load.is_none() {
            figures::fill_inserts(&mut run, worked, &volumes);
            self.options.pace.respond(&mut run, worked);
            return run;
        }
        figures::fill(&mut run, worked, "scripts", "script", &volumes);
        self.options.pace.respond(&mut run, worked);
        run.figures
            .push(Figure::higher("throughput", "scripts/s", rate));
        let mean_us = run.latency.first().map_or(0.0, |latency| latency.mean_us);
        run.figures
            .push(Figure::lower("mean latency", "us", mean_us));
        run
    }
}

impl Plugin for Ab {
    const NAME: &'static str = "ab";
    const QUESTION: &'static str =
        "Does a setting make a difference for your load? (trace flags, sp_configure, options)";
    type Options = Typed;

    fn new(typed: Typed, start: &Start) -> Result<Ab, OptionsError> {
        let options = Options::of(&typed, start)?;
        let ab = Ab::on(options, start.out_dir.clone(), Box::new(Embedded::new()));
        // What the target lacks was asked for by a setting that was typed.
        match ab.refusals().as_slice() {
            [] => Ok(ab),
            reasons => Err(OptionsError(reasons.join("; "))),
        }
    }
}

impl Experiment for Ab {
    fn subject(&self) -> results::Experiment {
        let [a, b] = self.options.labels();
        results::Experiment {
            name: Ab::NAME.to_string(),
            question: format!("Does \"{b}\" make a difference against \"{a}\"?"),
            target: self.target.name(),
            database: "a fresh one for each run".to_string(),
            workload: self.options.workload(),
            factor: results::Factor {
                singular: String::new(),
                plural: FACTOR.to_string(),
                option: String::new(),
            },
            response: self.options.pace.response(self.unit()),
        }
    }

    fn factors(&self) -> Vec<Factor> {
        let [a, b] = self.options.labels();
        vec![Factor::words(FACTOR, &[&a, &b])]
    }

    fn settings(&self) -> BTreeMap<String, String> {
        self.options.settings(&self.target.version())
    }

    fn volumes(&self) -> Vec<PathBuf> {
        self.options.places.all(&self.out_dir)
    }

    fn models(&self) -> Vec<String> {
        self.options.places.models()
    }

    fn drives(&self, real: &Arc<dyn Volume>) -> Result<Arc<dyn Volume>, StepError> {
        self.options.places.drives(real)
    }

    fn fixed_text(&self) -> Option<&'static str> {
        Some("settings and scripts")
    }

    fn refusals(&self) -> Vec<String> {
        let startup = self.startup(PathBuf::new());
        let sides = [&self.options.a, &self.options.b];
        let needs: Vec<_> = sides.iter().flat_map(|s| s.needs(&startup)).collect();
        self.target.lacks(&needs)
    }

    fn forecast(&self, _cell: &Cell) -> Forecast {
        let options = &self.options;
        let volumes = options.places.data(&self.out_dir);
        let tag = "HASH_START_rN_aN";
        let place = RunPlace::new(&volumes, options.places.log.as_deref(), options.files, tag);
        let each = options.file_bytes() + self.target.extra_bytes_per_file();
        let mut peak_bytes: Vec<(PathBuf, u64)> = place.peak(each, options.log_bytes);
        peak_bytes.push((volumes[0].clone(), self.target.instance_bytes()));
        let bytes_written = 2 * options.total_bytes;
        let unpaced_s = match (&options.load, options.pace.seconds) {
            (Some(_), Some(seconds)) => seconds,
            _ => bytes_written as f64 / 1e6 / ASSUMED_MB_S,
        };
        let rows = options.total_bytes as f64 / 8192.0;
        let pieces = match options.load {
            Some(_) => 0.0,
            None => rows / options.rows_per_commit as f64,
        };
        let load_s = options.pace.forecast_s(unpaced_s, pieces);
        let mut steps = vec![self.layout(&place).create_statement()];
        steps.extend(
            options
                .setup
                .as_ref()
                .map(|_| "run the set-up script".to_owned()),
        );
        steps.push(options.workload());
        steps.push("stop the instance, remove every file".to_owned());
        Forecast {
            seconds: ASSUMED_OVERHEAD_S + load_s,
            peak_bytes,
            shared_bytes: Vec::new(),
            bytes_written,
            steps,
        }
    }

    fn memory_bytes(&self) -> u64 {
        self.options.pool_bytes
    }

    fn setup(&mut self, cell: &Cell, context: &mut RunContext<'_>) -> Result<(), StepError> {
        let options = &self.options;
        let volumes = options.places.data(&self.out_dir);
        let log = options.places.log.as_deref();
        let place = RunPlace::new(&volumes, log, options.files, &context.tag());
        place.make_directories(context)?;
        let side = self.side(cell).clone();
        let startup = side.startup(self.startup(place.instance()));
        let layout = self.layout(&place);
        place.start(self.target.as_mut(), &startup, &layout, context)?;
        if self.options.load.is_none() {
            inserts::create_table(self.target.as_ref(), &place.name, Layout::Sequential)
                .map_err(failed)?;
        }
        let mut session = self.in_database(&place)?;
        let applied = side.apply(session.as_mut(), &place.name);
        applied.map_err(|error| of_the_user("a setting", &error))?;
        if let Some(setup) = &self.options.setup {
            let filled = session.script(setup);
            filled.map_err(|error| of_the_user("the script of --setup", &error))?;
        }
        let applied = side.apply_late(session.as_mut());
        applied.map_err(|error| of_the_user("a setting", &error))?;
        self.place = Some(place);
        Ok(())
    }

    fn measure(&mut self, cell: &Cell, context: &mut RunContext<'_>) -> Result<Run, StepError> {
        let place = self.place.as_ref();
        let place = place.ok_or_else(|| StepError::Failed("no database is open".to_owned()))?;
        let load = self.load(&place.name);
        let work: Box<dyn Work> = match &self.options.load {
            Some(text) => Box::new(Script { text: text.clone() }),
            None => Box::new(Inserts {
                rows_per_commit: self.options.rows_per_commit,
            }),
        };
        let target = self.target.as_ref();
        let (worked, latches) = latched::measured(target, &load, work.as_ref(), context)?;
        let mut run = self.record(&worked);
        let cpus = u32::try_from(thread::available_cpus()).unwrap_or(u32::MAX);
        run.threads = self.threads(self.side(cell), cpus);
        latched::keep(&mut run, &latches)?;
        Ok(run)
    }

    fn teardown(&mut self, _cell: &Cell, context: &mut RunContext<'_>) -> Result<(), StepError> {
        self.place = None;
        clear(self.target.as_mut(), context)
    }

    fn apply(&self, cell: &Cell) -> (String, String) {
        self.side(cell).shown()
    }

    fn limits(&self) -> Vec<String> {
        let mut limits = vec![
            NOT_SQL_SERVER.to_owned(),
            "Every run begins with a fresh database: what a setting does to one that has grown for years is \
             not measured."
                .to_owned(),
        ];
        if self.options.load.is_none() {
            limits.push(format!(
                "The load inserts {} of rows and reads nothing: give your own by --setup and --load.",
                size_text(self.options.total_bytes)
            ));
        }
        limits
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Args, FromArgMatches};

    /// How an experiment of a script with this setting, set-up and load ends, and how many attempts it took.
    fn ended(b: &str, setup: &str, load: &str) -> (String, usize) {
        let dir = tempfile::tempdir().unwrap();
        let words = "--b -T1118 --sessions 1 --seconds 0.1 --data 8MB --pool 8MB --log 4MB";
        let mut ab: Ab = crate::testing::made(dir.path(), words).unwrap();
        ab.options.b = Settings::parse(b).unwrap();
        ab.options.setup = Some(setup.to_owned());
        ab.options.load = Some(load.to_owned());
        let mut runner = crate::testing::runner_of(dir.path(), &ab);
        let went = runner.run(&mut ab, &mut |_| {});
        let runs = &runner.log().history().runs;
        let attempts = runs.values().map(|run| run.failures.len()).sum();
        let left = furrow_io::SystemVolume::new().list(dir.path()).unwrap();
        assert_eq!(left, [dir.path().join("journal.jsonl")]);
        (format!("{went:?}"), attempts)
    }

    #[test]
    fn an_error_of_a_setting_or_of_the_set_up_ends_the_experiment_at_its_first_run() {
        let (setup, load) = ("CREATE TABLE t (i INT);", "SELECT i FROM t;");
        for (b, setup, load, part) in [
            ("sp_configure foo = 1", setup, load, "error 15123"),
            ("database RECOVERY FOO", setup, load, "a setting: error"),
            ("sql SELEC 1", setup, load, "a setting: error"),
            (
                "-T1118",
                "CREATE TABLE t (i INTT);",
                load,
                "the script of --setup: error",
            ),
        ] {
            let (end, failures) = ended(b, setup, load);
            assert!(end.starts_with("Err(Statement"), "{b}: {end}");
            assert!(end.contains(part), "{b}: {end}");
            assert_eq!(failures, 1, "{b}");
        }
        assert_eq!(ended("-T1118", setup, load), ("Ok(Finished)".to_owned(), 0));
        // An error of the load may be one of its data, or of the moment.
        let (end, failures) = ended("-T1118", setup, "SELEC 1;");
        assert_eq!((end.as_str(), failures), ("Ok(Failures)", 6));
    }

    #[test]
    fn a_trace_flag_that_the_engine_does_not_have_is_an_invalid_option() {
        let out = PathBuf::from("/out");
        for side in ["trace flag 999999", "-T999999"] {
            let start = Start::new(out.clone(), "/".into(), true);
            let command = Typed::augment_args(clap::Command::new("ab").no_binary_name(true));
            let matches = command
                .try_get_matches_from([&format!("--b={side}")])
                .unwrap();
            let typed = Typed::from_arg_matches(&matches).unwrap();
            let refused = Ab::new(typed, &start).unwrap_err();
            assert!(refused.to_string().contains("999999"), "{refused}");
        }
    }

    #[test]
    fn statements_of_a_script_are_divided_among_the_processors() {
        let out = PathBuf::from("/out");
        let mut ab: Ab = crate::testing::made(&out, "--b -T1118 --sessions 3").unwrap();
        ab.options.load = Some("SELECT 1;".to_owned());
        assert_eq!(ab.threads(&Settings::default(), 8), Some(24));
        let one = Settings::parse("sp_configure max degree of parallelism = 2").unwrap();
        assert_eq!(ab.threads(&one, 8), Some(6));
        assert_eq!(ab.threads(&one, 1), Some(3));
        // An insert of one row is not divided.
        ab.options.load = None;
        assert_eq!(ab.threads(&one, 8), None);
    }
}
