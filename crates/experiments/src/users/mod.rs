//! The experiment "how many users does this database carry, and do more data files carry more?"
//!
//! # Purpose
//! An order-entry load by 1 to 600 users on 1 to 64 data files, with and without a table that each
//! transaction creates, fills and drops: the published question of what the number of files does to a load
//! of many users.
//!
//! # Invariants
//! 1. For each number of files the tables are loaded once, by the same statements from the same seed. Each
//!    run begins with copies of those files and an instance of its own.
//! 2. A run begins with all tables in memory.
//! 3. A run counts only when the 12 consistency conditions hold after it, the tables hold what sessions
//!    got, and what sessions asked for has the specified distributions. A run in which one of the first two
//!    does not hold is not tried again: its files stay.
//! 4. A user is a session. Sessions share [`THREADS_PER_CPU`] threads for each processor, each with a bounded
//!    stack ([`thread::STACK_BYTES`]); a session that waits for a thread is charged `THREADPOOL`.
//!
//! # How a run goes
//! 1. *Prepare*, once: a database for each number of files; loaded, checked, detached.
//! 2. *Set-up*: copies of the files; instance; attached; scanned once.
//! 3. *Measure*: sessions run transactions for the time; the response is new orders per minute by the tables.
//! 4. *Verify*: conditions, totals, audit. *Tear-down*: stopped and removed.
//!
//! # What can fail
//! A [`StepError`] with the engine's number and text; options that make no sense ([`OptionsError`]).

mod options;
mod own_figures;
mod published;
mod section;
#[cfg(test)]
mod tests;

pub use options::{Options, Typed};

use crate::plugin::{NOT_SQL_SERVER, Plugin, Start};
use crate::targets::{DatabaseLayout, Embedded, Startup, Target, TargetError};
use crate::workloads::attached::{attach_copies, detach};
use crate::workloads::latched;
use crate::workloads::load::{ASSUMED_SESSION_BYTES, Load, THREADS_PER_CPU, Work};
use crate::workloads::order_entry::conditions::{self, Moment, Totals};
use crate::workloads::order_entry::{self as order_entry, Asked, OrderEntry, Population};
use crate::workloads::place::{RunPlace, clear, failed, wrong};
use crate::workloads::prepared::session_in;
use furrow_io::{Volume, thread};
use furrow_lab::design::{Cell, Factor};
use furrow_lab::experiment::{Experiment, OptionsError, RunContext, StepError};
use furrow_lab::plan::{Forecast, Reset};
use furrow_lab::results::{self, Better, Published, Results, Run, Section};
use options::Setting;
use own_figures::figures_of;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// What set-up scans, so that a run begins with it in memory: every clustered index and heap, then the
/// others.
const SCANNED: [(&str, &str); 11] = [
    ("warehouse", "1"),
    ("district", "1"),
    ("customer", "1"),
    ("history", "0"),
    ("orders", "1"),
    ("new_order", "1"),
    ("order_line", "1"),
    ("stock", "1"),
    ("item", "1"),
    ("customer", "customer_name"),
    ("orders", "orders_customer"),
];
/// The inputs of the load at the same place are the same in every experiment.
const SEED: u64 = 0x0E_5E_ED;
/// Seconds that copying, attaching, checking and removing a warehouse are thought to take.
const ASSUMED_OVERHEAD_S: f64 = 1.5;

/// The experiment.
#[derive(Debug)]
pub struct Users {
    options: Options,
    out_dir: PathBuf,
    target: Box<dyn Target>,
    /// The files of a detached database, for each number of files.
    prepared: Vec<(u64, RunPlace)>,
    run: Option<UsersRun>,
}

/// The run under way.
#[derive(Debug)]
struct UsersRun {
    place: RunPlace,
    before: Totals,
    asked: Asked,
}

impl Users {
    fn population(&self) -> Population {
        Population::new(self.options.scale, SEED)
    }

    fn place(&self, files: u64, tag: &str) -> RunPlace {
        let volumes = self.options.places.data(&self.out_dir);
        RunPlace::new(&volumes, self.options.places.log.as_deref(), files, tag)
    }

    fn layout(&self, place: &RunPlace) -> DatabaseLayout {
        let log = (place.log.as_path(), self.options.log_bytes);
        let each = self.options.file_bytes(place.data.len() as u64);
        DatabaseLayout::even(&place.name, &place.data, each, log)
    }

    fn startup(&self, place: &RunPlace) -> Startup {
        Startup {
            directory: place.instance(),
            pool_bytes: self.options.pool_bytes(),
            ..Startup::default()
        }
    }

    /// Makes, loads, checks and detaches a database of so many files.
    fn prepare_files(&mut self, files: u64, context: &mut RunContext<'_>) -> Result<(), StepError> {
        let place = self.place(files, &format!("{}_{files}", context.tag()));
        place.make_directories(context)?;
        let (layout, startup) = (self.layout(&place), self.startup(&place));
        place.start(self.target.as_mut(), &startup, &layout, context)?;
        let population = self.population();
        let cancel = context.cancel_flag();
        let mut live = |share: f64| context.live_share(share);
        let target = self.target.as_ref();
        order_entry::load(
            target,
            &place.name,
            &population,
            self.options.hot_rows,
            cancel,
            &mut live,
        )?;
        let broken = conditions::broken(target, &place.name, population.scale, Moment::Loaded);
        let broken = broken.map_err(failed)?;
        if !broken.is_empty() {
            return Err(StepError::Violation(broken.join("; ")));
        }
        detach(self.target.as_mut(), &place)?;
        self.prepared.push((files, place));
        Ok(())
    }

    /// Copies of the prepared files under an instance of the run's own.
    fn attach(
        &mut self,
        files: u64,
        place: &RunPlace,
        context: &mut RunContext<'_>,
    ) -> Result<(), StepError> {
        let prepared = self.prepared.iter().find(|(of, _)| *of == files);
        let (_, from) =
            prepared.ok_or_else(|| StepError::Failed("no files are prepared".to_owned()))?;
        let (startup, layout) = (self.startup(place), self.layout(place));
        let target = self.target.as_mut();
        attach_copies(target, (from, place), (&startup, &layout), context)
    }

    fn scan(&self, database: &str) -> Result<Totals, TargetError> {
        let mut session = session_in(self.target.as_ref(), database)?;
        for (table, index) in SCANNED {
            session.batch(&format!(
                "SELECT COUNT_BIG(*) FROM dbo.{table} WITH (INDEX ({index}));"
            ))?;
        }
        conditions::totals(self.target.as_ref(), database)
    }

    fn measured(
        &self,
        setting: Setting,
        (place, before): (&RunPlace, Totals),
        context: &mut RunContext<'_>,
    ) -> Result<(Run, Asked), StepError> {
        let database = place.name.as_str();
        let target = self.target.as_ref();
        let manner = self.options.manner(setting.churn);
        let seed = SEED + u64::from(context.run_id());
        let work = OrderEntry::new(target, database, self.population(), manner, seed)?;
        let load = Load {
            database: database.to_owned(),
            sessions: setting.users,
            end: self.options.end,
            rate: None,
            unit: "transactions",
            looks_at_extents: false,
        };
        let piece = (&work as &dyn Work, "transaction");
        let (mut run, worked) = latched::run(target, &load, piece, &self.volumes(), context)?;
        let totals = conditions::totals(target, database).map_err(failed)?;
        let asked = work.asked();
        run.latency = work.latencies();
        let minutes = worked.seconds / 60.0;
        let new_orders = totals.next_orders.saturating_sub(before.next_orders);
        run.response = Some(new_orders as f64 / minutes);
        run.commits_per_s = Some(asked.commits() as f64 / worked.seconds);
        run.figures = figures_of(&run, &asked);
        section::keep(&mut run, &asked)?;
        Ok((run, asked))
    }
}

/// Fails with all sentences, if there are any.
fn refuse(faults: &[String]) -> Result<(), StepError> {
    if faults.is_empty() {
        Ok(())
    } else {
        Err(StepError::Failed(faults.join("; ")))
    }
}

impl Plugin for Users {
    const NAME: &'static str = "users";
    const QUESTION: &'static str =
        "How many users does a database carry, and do more data files carry more? (order entry)";
    type Options = Typed;

    fn new(typed: Typed, start: &Start) -> Result<Users, OptionsError> {
        Ok(Users {
            options: Options::of(typed, start)?,
            out_dir: start.out_dir.clone(),
            target: Box::new(Embedded::new()),
            prepared: Vec::new(),
            run: None,
        })
    }
}

impl Experiment for Users {
    fn subject(&self) -> results::Experiment {
        results::Experiment {
            name: Users::NAME.to_owned(),
            question: "How many users does this database carry, and do more data files carry more?"
                .to_owned(),
            target: self.target.name(),
            database: "one for each number of files, loaded once and copied for each run"
                .to_owned(),
            workload: self.options.workload(),
            factor: latched::factor_words(&self.factors(), ("user", "--users")),
            response: results::Response {
                name: "new orders per minute".to_owned(),
                unit: "NOPM".to_owned(),
                better: Better::Higher,
            },
        }
    }

    fn factors(&self) -> Vec<Factor> {
        self.options.factors()
    }

    fn settings(&self) -> BTreeMap<String, String> {
        self.options.settings(&self.target.version())
    }

    fn reset(&self) -> Reset {
        Reset::Restore
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

    fn memory_bytes(&self) -> u64 {
        let users = self.options.users.iter().max().copied().unwrap_or(1);
        self.options.pool_bytes() + u64::from(users) * ASSUMED_SESSION_BYTES
    }

    fn forecast(&self, cell: &Cell) -> Forecast {
        let setting = self.options.of_cell(cell);
        let place = self.place(setting.files, "HASH_START_rN_aN");
        // A database with its instance.
        let bytes = |files: u64| {
            let each = self.options.file_bytes(files) + self.target.extra_bytes_per_file();
            let place = self.place(files, "HASH_START_p1");
            let mut bytes = place.peak(each, self.options.log_bytes);
            let first = bytes.first().map(|(volume, _)| volume.clone());
            bytes.extend(first.map(|volume| (volume, self.target.instance_bytes())));
            bytes
        };
        let prepared = self.options.files.iter();
        let shared_bytes = prepared.flat_map(|&files| bytes(files)).collect();
        let warehouses = self.options.scale.warehouses_text();
        let create = self.layout(&place).create_statement();
        let mut steps = vec![format!(
            "once for each number of files: load {warehouses}, detach"
        )];
        steps.extend(create.lines().map(str::to_owned));
        steps.push("copy the files, attach them, scan every table".to_owned());
        steps.push(format!(
            "{} users run transactions for {} s",
            setting.users, self.options.seconds
        ));
        steps.push("check the 12 consistency conditions, stop, remove every file".to_owned());
        Forecast {
            seconds: self.options.seconds
                + ASSUMED_OVERHEAD_S * f64::from(self.options.scale.warehouses.max(1)),
            peak_bytes: bytes(setting.files),
            shared_bytes,
            bytes_written: self.options.scale.bytes() + self.options.seconds as u64 * (4 << 20),
            steps,
        }
    }

    fn prepare(&mut self, context: &mut RunContext<'_>) -> Result<(), StepError> {
        for files in self.options.files.clone() {
            self.prepare_files(files, context)?;
        }
        Ok(())
    }

    fn setup(&mut self, cell: &Cell, context: &mut RunContext<'_>) -> Result<(), StepError> {
        let setting = self.options.of_cell(cell);
        let place = self.place(setting.files, &context.tag());
        place.make_directories(context)?;
        self.attach(setting.files, &place, context)?;
        let before = self.scan(&place.name).map_err(failed)?;
        self.run = Some(UsersRun {
            place,
            before,
            asked: Asked::default(),
        });
        Ok(())
    }

    fn measure(&mut self, cell: &Cell, context: &mut RunContext<'_>) -> Result<Run, StepError> {
        let run = self.run.as_ref();
        let run = run.ok_or_else(|| StepError::Failed("no database is open".to_owned()))?;
        let setting = self.options.of_cell(cell);
        let (record, asked) = self.measured(setting, (&run.place, run.before), context)?;
        if let Some(run) = &mut self.run {
            run.asked = asked;
        }
        Ok(record)
    }

    fn verify(
        &mut self,
        cell: &Cell,
        _record: &Run,
        _context: &mut RunContext<'_>,
    ) -> Result<(), StepError> {
        let run = self.run.as_ref();
        let run = run.ok_or_else(|| StepError::Failed("no database is open".to_owned()))?;
        let (name, scale) = (run.place.name.as_str(), self.options.scale);
        let users = self.options.of_cell(cell).users;
        let broken = conditions::broken(self.target.as_ref(), name, scale, Moment::Run(&run.asked));
        let mut violations = broken.map_err(wrong)?;
        let after = conditions::totals(self.target.as_ref(), name).map_err(wrong)?;
        violations.extend(conditions::differences(run.before, after, &run.asked));
        violations.extend(run.asked.wrong.clone());
        if !violations.is_empty() {
            return Err(StepError::Violation(violations.join("; ")));
        }
        refuse(&run.asked.faults(users, scale.warehouses))
    }

    fn teardown(&mut self, _cell: &Cell, context: &mut RunContext<'_>) -> Result<(), StepError> {
        self.run = None;
        clear(self.target.as_mut(), context)
    }

    fn dispose(&mut self) -> Result<(), StepError> {
        self.prepared.clear();
        self.target.stop().map_err(failed)
    }

    fn limits(&self) -> Vec<String> {
        let mut limits = vec![order_entry::DISCLAIMER.to_owned()];
        limits.extend(self.options.deviations());
        limits.push(format!(
            "A user is a session in the process of the engine; no network is in between. All users share \
             at most {} threads, with stacks of {} KB at most: a user whose turn has not come waits for a \
             thread (THREADPOOL), which is part of the latencies.",
            THREADS_PER_CPU as usize * thread::available_cpus(),
            thread::STACK_BYTES >> 10
        ));
        limits.extend([latched::FEW_PROCESSORS, NOT_SQL_SERVER].map(str::to_owned));
        limits
    }

    fn warnings(&self, results: &Results) -> Vec<String> {
        section::skipped_note(results).into_iter().collect()
    }

    fn sections(&self, results: &Results) -> Vec<Section> {
        section::sections(&self.options, results)
    }

    fn published(&self, results: &Results) -> Option<Published> {
        Some(published::published(&self.options, results))
    }
}
