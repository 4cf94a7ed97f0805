//! The experiment "does a table scan get faster or slower with more data files?"; and reports, beside it or
//! in its place.
//!
//! # Purpose
//! One table of the same rows in databases that differ in their number of files and in the volumes that these
//! lie on; scanned with everything in memory, and with nothing in memory. Reports over the tables of the
//! order-entry load join, group and sort; users may run that load meanwhile.
//!
//! # Invariants
//! 1. All databases are made once, in one instance, by the same statements: the same rows, the same total of
//!    file sizes. All runs scan them; no run changes them but with `--beside`.
//! 2. A cold scan begins after DBCC DROPCLEANBUFFERS, a warm one after a scan that is not measured. The pool
//!    holds the whole table. Files are read past the page cache of the system where it allows that.
//! 3. A run counts only when each measured scan found all rows, and each measured report gave the rows that
//!    it gives in the first database. Beside users, whose changes a report sees, the consistency conditions
//!    have to hold after it instead, but for the eleventh, which holds before the first delivery alone.
//!
//! # How a run goes
//! 1. *Prepare*, once: instance, databases, rows, a checkpoint.
//! 2. *Set-up*: pages dropped, or read.
//! 3. *Measure*: each session asks once; the response is the time until the last one is done.
//!
//! # What can fail
//! A [`StepError`] with the engine's number and text; options that make no sense ([`OptionsError`]).

mod options;
mod queries;
mod reports;
mod table;
#[cfg(test)]
mod tests;

pub use options::{Cache, Options, Typed};

use crate::plugin::{NOT_SQL_SERVER, Plugin, Start};
use crate::targets::{DatabaseLayout, Embedded, Startup, Target};
use crate::workloads::beside::{self, Answers, BusyRows, Statement};
use crate::workloads::load::{ASSUMED_SESSION_BYTES, Work};
use crate::workloads::order_entry::{self as order_entry, Calling, Churn, Manner, OrderEntry};
use crate::workloads::place::{RunPlace, failed, start_instance, wrong_if_damaged};
use crate::workloads::prepared::session_in;
use furrow_lab::design::{Cell, Factor};
use furrow_lab::experiment::{Experiment, OptionsError, RunContext, StepError};
use furrow_lab::plan::{Forecast, Reset};
use furrow_lab::results::{self, Better, Figure, Run};
use queries::Query;
use reports::{Reports, SEED, population};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use table::ROW_BYTES;

const FILES: &str = "files";
const CACHE: &str = "cache";
const LAYOUT: &str = "layout";
const QUERY: &str = "query";
const DOP: &str = "dop";
/// Seconds in which users work alone before a query begins beside them.
const ALONE_S: f64 = 0.5;
/// Scans are divided among threads whatever they cost.
const ANY_COST: &str = "EXEC sp_configure 'show advanced options', 1; RECONFIGURE; \
                        EXEC sp_configure 'cost threshold for parallelism', 0; RECONFIGURE;";
/// Megabytes a second that loading and scanning are thought to take before any was seen.
const ASSUMED_MB_S: f64 = 300.0;

/// The experiment.
#[derive(Debug)]
pub struct Scan {
    options: Options,
    out_dir: PathBuf,
    target: Box<dyn Target>,
    /// Databases that are prepared, by files and layout.
    databases: Vec<(u64, String, String)>,
    reports: Reports,
    /// What the measured statement gave.
    answers: Answers,
}

impl Scan {
    /// The experiment on this target.
    pub fn on(options: Options, out_dir: PathBuf, target: Box<dyn Target>) -> Scan {
        Scan {
            options,
            out_dir,
            target,
            databases: Vec::new(),
            reports: Reports::default(),
            answers: Answers::default(),
        }
    }

    fn rows(&self) -> u64 {
        self.options.total_bytes / ROW_BYTES
    }

    fn volumes_of(&self, layout: &[PathBuf]) -> Vec<PathBuf> {
        match layout.is_empty() {
            true => vec![self.out_dir.clone()],
            false => layout.to_vec(),
        }
    }

    /// Every database: its files, its layout's name and directories.
    fn variants(&self) -> Vec<(u64, String, Vec<PathBuf>)> {
        let files = self.options.files.iter();
        let of = |&files: &u64| {
            let layouts = self.options.layouts.iter();
            layouts.map(move |(name, dirs)| (files, name.clone(), self.volumes_of(dirs)))
        };
        files.flat_map(of).collect()
    }

    fn database_of(&self, cell: &Cell) -> Option<&str> {
        let files = cell
            .count(FILES)
            .or_else(|| self.options.files.first().copied())?;
        let layout = cell.level(LAYOUT).map(|level| level.key.as_str());
        let found = self
            .databases
            .iter()
            .find(|(f, l, _)| *f == files && layout.is_none_or(|layout| layout == l));
        found.map(|(_, _, name)| name.as_str())
    }

    fn is_cold(&self, cell: &Cell) -> bool {
        match cell.level(CACHE) {
            Some(level) => level.key == Cache::Cold.word(),
            None => self.options.caches.first() == Some(&Cache::Cold),
        }
    }

    fn layout(&self, place: &RunPlace, files: u64) -> DatabaseLayout {
        let log = (place.log.as_path(), self.options.log_bytes());
        DatabaseLayout::even(
            &place.name,
            &place.data,
            self.options.file_bytes(files),
            log,
        )
    }

    fn query_of(&self, cell: &Cell) -> Query {
        let of_cell = cell
            .level(QUERY)
            .and_then(|level| Query::parse(&level.key).ok());
        let first = self.options.queries.first().copied();
        of_cell.or(first).unwrap_or(Query::Count)
    }

    /// The statement of a cell.
    fn text_of(&self, cell: &Cell) -> String {
        self.query_of(cell).text_at(self.dop_of(cell))
    }

    /// Threads that a scan of a cell is divided among.
    fn dop_of(&self, cell: &Cell) -> u32 {
        let of_cell = cell.count(DOP).and_then(|dop| u32::try_from(dop).ok());
        let dop = of_cell.or_else(|| self.options.dops.first().copied());
        dop.unwrap_or(1)
    }

    /// Fails where the measured statement did not give the rows that it has to give, in any session; and,
    /// where users worked beside it, where their tables are not consistent.
    fn check_answers(&self, database: &str, query: Query) -> Result<(), StepError> {
        let answers = std::mem::take(&mut *self.answers.lock());
        debug_assert_eq!(answers.len(), self.options.sessions as usize);
        for rows in &answers {
            match query {
                Query::Count => table::check_count(rows, self.rows())?,
                // Users change what a report reads.
                _ if self.options.beside > 0 => {}
                _ => self.reports.check(query, rows)?,
            }
        }
        if self.options.beside == 0 {
            return Ok(());
        }
        reports::check_conditions(self.target.as_ref(), database, &self.options)
    }
}

impl Plugin for Scan {
    const NAME: &'static str = "scan";
    const QUESTION: &'static str =
        "Does a table scan get faster or slower with more data files? (warm and cold)";
    type Options = Typed;

    fn new(typed: Typed, start: &Start) -> Result<Scan, OptionsError> {
        let options = Options::of(&typed, start)?;
        Ok(Scan::on(
            options,
            start.out_dir.clone(),
            Box::new(Embedded::new()),
        ))
    }
}

impl Experiment for Scan {
    fn subject(&self) -> results::Experiment {
        let one = self.factors().len() == 1;
        results::Experiment {
            name: Scan::NAME.to_string(),
            question: "Does a table scan get faster or slower with more data files?".to_string(),
            target: self.target.name(),
            database: "one for each number of files and layout, made once".to_string(),
            workload: self.options.workload(),
            factor: results::Factor {
                singular: if one { "file" } else { "" }.to_string(),
                plural: match one {
                    true => FILES.to_string(),
                    false => {
                        let names = self.factors().into_iter().map(|factor| factor.name);
                        names.collect::<Vec<_>>().join(" / ")
                    }
                },
                option: if one { "--files" } else { "" }.to_string(),
            },
            response: results::Response {
                name: "elapsed time".to_string(),
                unit: "s".to_string(),
                better: Better::Lower,
            },
        }
    }

    fn factors(&self) -> Vec<Factor> {
        let mut factors = vec![Factor::counts(FILES, &self.options.files)];
        if self.options.caches.len() > 1 {
            let words: Vec<&str> = self.options.caches.iter().map(|c| c.word()).collect();
            factors.push(Factor::words(CACHE, &words));
        }
        if self.options.layouts.len() > 1 {
            let words: Vec<&str> = self.options.layouts.iter().map(|l| l.0.as_str()).collect();
            factors.push(Factor::words(LAYOUT, &words));
        }
        if self.options.queries.len() > 1 {
            let words: Vec<&str> = self.options.queries.iter().map(|q| q.word()).collect();
            factors.push(Factor::words(QUERY, &words));
        }
        if self.options.dops.len() > 1 {
            let dops: Vec<u64> = self.options.dops.iter().map(|n| u64::from(*n)).collect();
            factors.push(Factor::counts(DOP, &dops));
        }
        factors
    }

    fn settings(&self) -> BTreeMap<String, String> {
        self.options.settings(&self.target.version())
    }

    fn reset(&self) -> Reset {
        Reset::Keep
    }

    fn volumes(&self) -> Vec<PathBuf> {
        let mut all: Vec<PathBuf> = Vec::new();
        for (_, _, volumes) in self.variants() {
            for volume in volumes {
                if !all.contains(&volume) {
                    all.push(volume);
                }
            }
        }
        all
    }

    fn memory_bytes(&self) -> u64 {
        let sessions = u64::from(self.options.sessions + self.options.beside);
        self.options.pool_bytes() + sessions * ASSUMED_SESSION_BYTES
    }

    fn forecast(&self, cell: &Cell) -> Forecast {
        let mut shared_bytes: Vec<(PathBuf, u64)> = Vec::new();
        for (files, _, volumes) in self.variants() {
            let place = RunPlace::new(&volumes, None, files, "HASH_START_p1");
            let each = self.options.file_bytes(files) + self.target.extra_bytes_per_file();
            shared_bytes.extend(place.peak(each, self.options.log_bytes()));
        }
        let first = shared_bytes.first().map(|(volume, _)| volume.clone());
        shared_bytes.extend(first.map(|volume| (volume, self.target.instance_bytes())));
        let scan_s = self.options.total_bytes as f64 / 1e6 / ASSUMED_MB_S;
        Forecast {
            seconds: 2.0 * scan_s,
            peak_bytes: Vec::new(),
            shared_bytes,
            bytes_written: 0,
            steps: vec![
                format!("once: make {} databases", self.variants().len()),
                "cold: DBCC DROPCLEANBUFFERS; warm: one scan unmeasured".to_owned(),
                self.text_of(cell),
            ],
        }
    }

    fn prepare(&mut self, context: &mut RunContext<'_>) -> Result<(), StepError> {
        let tag = context.tag();
        let mut is_started = false;
        for (n, (files, layout, volumes)) in self.variants().into_iter().enumerate() {
            let place = RunPlace::new(&volumes, None, files, &format!("{tag}_{n}"));
            place.make_directories(context)?;
            if !is_started {
                let startup = Startup {
                    directory: place.instance(),
                    pool_bytes: self.options.pool_bytes(),
                    ..Startup::default()
                };
                start_instance(self.target.as_mut(), &startup, context)?;
                if self.options.is_parallel() {
                    let mut session = self.target.connect().map_err(failed)?;
                    session.batch(ANY_COST).map_err(failed)?;
                }
                is_started = true;
            }
            let made = self.layout(&place, files);
            for path in self.target.paths(&made) {
                context.claim_file(&path)?;
            }
            self.target.create_database(&made).map_err(failed)?;
            if self.options.has_scanned() {
                table::fill(self.target.as_ref(), &place.name, self.rows(), context)?;
            }
            if self.options.has_orders() {
                let target = self.target.as_ref();
                self.reports
                    .fill(target, &place.name, &self.options, context)?;
            }
            self.databases.push((files, layout, place.name));
        }
        Ok(())
    }

    fn setup(&mut self, cell: &Cell, _context: &mut RunContext<'_>) -> Result<(), StepError> {
        let database = self.database_of(cell).unwrap_or_default().to_owned();
        let mut session = session_in(self.target.as_ref(), &database).map_err(failed)?;
        let text = match self.is_cold(cell) {
            true => "CHECKPOINT; DBCC DROPCLEANBUFFERS WITH NO_INFOMSGS;".to_owned(),
            false => self.text_of(cell),
        };
        session.batch(&text).map(|_| ()).map_err(failed)
    }

    fn measure(&mut self, cell: &Cell, context: &mut RunContext<'_>) -> Result<Run, StepError> {
        let database = self.database_of(cell).unwrap_or_default().to_owned();
        let query = self.query_of(cell);
        let target = self.target.as_ref();
        let orders;
        let work: &dyn Work = if self.options.beside > 0 {
            let manner = Manner {
                calling: Calling::Statements,
                churn: Churn::Off,
                has_pauses: false,
            };
            let seed = SEED + u64::from(context.run_id());
            orders = OrderEntry::new(target, &database, population(&self.options), manner, seed)?;
            &orders
        } else {
            &BusyRows
        };
        let statement = Statement {
            text: self.text_of(cell),
            database: &database,
            users: self.options.beside,
            alone_s: ALONE_S,
            volumes: &self.volumes(),
            sessions: self.options.sessions,
            work,
            failure: wrong_if_damaged,
        };
        self.answers.lock().clear();
        let kept = ("scan", Some(Arc::clone(&self.answers)));
        let mut run = beside::run_keeping(target, &statement, kept, context)?;
        run.threads = Some(self.options.sessions * self.dop_of(cell) + self.options.beside);
        let seconds = run.response.unwrap_or(1.0).max(1e-9);
        let read: u64 = run.files.iter().map(|file| file.bytes_read).sum();
        let mut figures = Vec::new();
        if query == Query::Count {
            let rows = self.rows() * u64::from(self.options.sessions);
            let megabytes = (rows * ROW_BYTES) as f64 / f64::from(1 << 20);
            run.rows = Some(rows);
            run.rows_per_s = Some(rows as f64 / seconds);
            figures.push(Figure::higher("scanned", "MB/s", megabytes / seconds));
        }
        let megabytes = read as f64 / f64::from(1 << 20);
        figures.push(Figure::neutral("read from files", "MB", megabytes));
        figures.append(&mut run.figures);
        run.figures = figures;
        Ok(run)
    }

    fn verify(
        &mut self,
        cell: &Cell,
        record: &Run,
        _context: &mut RunContext<'_>,
    ) -> Result<(), StepError> {
        let database = self.database_of(cell).unwrap_or_default().to_owned();
        let query = self.query_of(cell);
        self.check_answers(&database, query)?;
        let read: u64 = record.files.iter().map(|file| file.bytes_read).sum();
        let (least, most) = match query {
            Query::Count => table::cold_and_warm(self.rows()),
            _ => (self.reports.cold_bytes(), self.options.scale.bytes() / 10),
        };
        match self.is_cold(cell) {
            true => table::check_cold(read, least),
            // Users beside it read what they need.
            false if self.options.beside > 0 => Ok(()),
            false => table::check_warm(read, most),
        }
    }

    fn teardown(&mut self, _cell: &Cell, _context: &mut RunContext<'_>) -> Result<(), StepError> {
        Ok(())
    }

    fn dispose(&mut self) -> Result<(), StepError> {
        self.databases.clear();
        self.target.stop().map_err(failed)
    }

    fn limits(&self) -> Vec<String> {
        let mut limits = vec![
            "A count scans the table in key order: a plan that sorts or joins spends its time elsewhere, as \
             the reports do."
                .to_owned(),
            match self.options.is_parallel() {
                true => "A count is divided among the threads of --dop. Of a report only scans with a \
                         condition and aggregates right above a scan are; joins and sorts run in the thread \
                         of its session."
                    .to_owned(),
                false => "Every plan runs in the thread of its session (MAXDOP 1): see --dop.".to_owned(),
            },
            "The databases are freshly loaded: fragmented tables are not measured.".to_owned(),
            NOT_SQL_SERVER.to_owned(),
        ];
        if self.options.has_orders() {
            limits.push(order_entry::DISCLAIMER.to_owned());
        }
        if self.options.beside > 0 {
            limits.push(
                "Users add orders in every run, so that a later run has more rows to report on: the order of \
                 the runs is random in blocks."
                    .to_owned(),
            );
        }
        limits
    }
}
