//! The experiment "do several backup files make a backup faster?"
//!
//! # Purpose
//! One database is backed up to 1, 2, 4 and 8 files, on one volume, on several, and to NUL. Further factors
//! are the number of data files, the codec, BUFFERCOUNT and MAXTRANSFERSIZE. With `--users` the
//! report says what running users notice.
//!
//! # Invariants
//! 1. All runs back up the same database, made once; each is a full COPY_ONLY backup with CHECKSUM into files
//!    of its own, which are removed after it.
//! 2. A run counts only when RESTORE VERIFYONLY finds its backup valid (NUL apart). One whose backup is not
//!    valid is not tried again: its files stay.
//! 3. Reading, compressing and writing are measured without the engine before the first run of each block,
//!    through the same volumes; reading before the first run of each number of data files in it.
//!
//! # How a run goes
//! 1. *Prepare*, once: instance, database, rows, a checkpoint.
//! 2. *Set-up*: bounds, at the beginning of a block; a directory on each backup volume in use.
//! 3. *Measure*: users alone, then beside the statement; the response is the statement's time.
//!
//! # What can fail
//! A [`StepError`] with the engine's number and text; options that make no sense ([`OptionsError`]).

mod bounds;
pub(crate) mod options;
mod published;
mod section;
#[cfg(test)]
mod tests;
mod uses;

pub use options::{Devices, Options, Setting, Throttle, Typed};

use crate::plugin::{NOT_SQL_SERVER, Plugin, Start};
use crate::targets::{Embedded, Target, Value, quoted};
use crate::workloads::beside::{self, BusyRows, Statement};
use crate::workloads::place::{RunPlace, failed, wrong, wrong_if_damaged};
use crate::workloads::prepared;
use furrow_backup::media::Codec;
use furrow_disks::volume::with_models;
use furrow_io::{Access, Open, Volume};
use furrow_lab::design::{Cell, Factor};
use furrow_lab::experiment::{Experiment, OptionsError, RunContext, StepError};
use furrow_lab::journal::History;
use furrow_lab::plan::{Forecast, Reset};
use furrow_lab::results::{self, Ceiling, Figure, Published, Results, Run, Section};
use furrow_lab::size::size_text;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use uses::{COMPRESSES_BY, RATE, WRITES_TO, WRITTEN};

const MIB: f64 = 1024.0 * 1024.0;
/// Megabytes a second that a run is thought to back up before one has been seen.
const ASSUMED_MB_S: f64 = 200.0;
/// Seconds in which users work alone before the statement.
pub(crate) const ALONE_S: f64 = 0.5;

/// The experiment.
#[derive(Debug)]
pub struct Backup {
    options: Options,
    out_dir: PathBuf,
    target: Box<dyn Target>,
    /// Databases by their number of data files, with the bytes of their extents in use.
    databases: Vec<(u64, RunPlace, u64)>,
    /// Files of the run under way.
    stripes: Vec<PathBuf>,
}

impl Backup {
    /// The experiment on this target.
    pub fn on(options: Options, out_dir: PathBuf, target: Box<dyn Target>) -> Backup {
        Backup {
            options,
            out_dir,
            target,
            databases: Vec::new(),
            stripes: Vec::new(),
        }
    }

    fn database_of(&self, files: u64) -> Result<&(u64, RunPlace, u64), StepError> {
        let mut all = self.databases.iter();
        let found = all.find(|(known, _, _)| *known == files);
        found.ok_or_else(|| StepError::Failed("the database is not prepared".to_owned()))
    }
}

/// Bytes of the extents in use of a database.
pub(crate) fn used_bytes(target: &dyn Target, database: &str) -> Result<u64, StepError> {
    let mut session = prepared::session_in(target, database).map_err(failed)?;
    let text = "SELECT SUM(allocated_extent_page_count) FROM sys.dm_db_file_space_usage;";
    let reply = session.batch(text).map_err(failed)?;
    Ok(reply.scalar().map_or(0, Value::count) * 8192)
}

/// Claims and makes a directory on each volume, and claims the stripes in them.
pub(crate) fn make_stripe_places(
    setting: &Setting,
    volumes: &[PathBuf],
    context: &mut RunContext<'_>,
) -> Result<Vec<PathBuf>, StepError> {
    let name = format!("backup_{}", context.tag());
    let directories: Vec<PathBuf> = volumes.iter().map(|volume| volume.join(&name)).collect();
    for directory in &directories {
        context.claim_directory(directory)?;
        context.volume().create_dir(directory)?;
    }
    let stripes = setting.paths(&directories);
    for stripe in &stripes {
        context.claim_file(stripe)?;
    }
    Ok(stripes)
}

/// Bytes of files.
fn bytes_of(volume: &dyn Volume, paths: &[PathBuf]) -> Result<u64, StepError> {
    let mut bytes = 0;
    for path in paths {
        bytes += volume
            .open(path, Open::ReadOnly, Access::Data)?
            .len_bytes()?;
    }
    Ok(bytes)
}

impl Plugin for Backup {
    const NAME: &'static str = "backup";
    const QUESTION: &'static str =
        "Do several backup files make a backup faster? (1 to 8 stripes; one volume, several, NUL)";
    type Options = Typed;

    fn new(typed: Typed, start: &Start) -> Result<Backup, OptionsError> {
        let options = Options::of(typed, start, true)?;
        Ok(Backup::on(
            options,
            start.out_dir.clone(),
            Box::new(Embedded::new()),
        ))
    }
}

/// The factor of stripes, in words.
pub(crate) fn factor_words(factors: &[Factor]) -> results::Factor {
    let names: Vec<&str> = factors.iter().map(|factor| factor.name.as_str()).collect();
    match names.as_slice() {
        [_] => results::Factor {
            singular: "stripe".to_owned(),
            plural: "stripes".to_owned(),
            option: "--stripes".to_owned(),
        },
        several => results::Factor {
            singular: String::new(),
            plural: several.join(" / "),
            option: String::new(),
        },
    }
}

impl Experiment for Backup {
    fn subject(&self) -> results::Experiment {
        results::Experiment {
            name: Backup::NAME.to_owned(),
            question: "Do several backup files make a backup faster?".to_owned(),
            target: self.target.name(),
            database: "one, made once".to_owned(),
            workload: format!(
                "full backups of a table of {} with CHECKSUM; pool {}{}",
                size_text(self.options.total_bytes),
                size_text(self.options.pool_bytes),
                beside::users_text(self.options.users)
            ),
            factor: factor_words(&self.factors()),
            response: results::Response::elapsed_time(),
        }
    }

    fn factors(&self) -> Vec<Factor> {
        self.options.factors()
    }

    fn settings(&self) -> BTreeMap<String, String> {
        self.options.settings()
    }

    fn reset(&self) -> Reset {
        Reset::Keep
    }

    fn volumes(&self) -> Vec<PathBuf> {
        self.options.volumes(&self.out_dir)
    }

    fn models(&self) -> Vec<String> {
        models(&self.options)
    }

    fn drives(&self, real: &Arc<dyn Volume>) -> Result<Arc<dyn Volume>, StepError> {
        drives(&self.options, real)
    }

    fn memory_bytes(&self) -> u64 {
        self.options.pool_bytes
    }

    fn forecast(&self, cell: &Cell) -> Forecast {
        let setting = self.options.of_cell(cell);
        let stripes = setting.paths(&self.options.stripe_volumes(setting.devices, &self.out_dir));
        forecast(
            &self.options,
            &self.out_dir,
            self.target.as_ref(),
            setting.statement("[YourDatabase]", &stripes),
        )
    }

    fn prepare(&mut self, context: &mut RunContext<'_>) -> Result<(), StepError> {
        for (n, files) in self.options.files.clone().into_iter().enumerate() {
            let pool = (n == 0).then_some(self.options.pool_bytes);
            let tag = format!("{}_{n}", context.tag());
            let place = prepared::make(
                self.target.as_mut(),
                (&self.options.places, &self.out_dir),
                (files, self.options.contents()),
                (&tag, pool),
                context,
            )?;
            let bytes = used_bytes(self.target.as_ref(), &place.name)?;
            self.databases.push((files, place, bytes));
        }
        Ok(())
    }

    fn setup(&mut self, cell: &Cell, context: &mut RunContext<'_>) -> Result<(), StepError> {
        let setting = self.options.of_cell(cell);
        let (_, place, _) = self.database_of(setting.files)?;
        bounds::measure(&self.options, place, context)?;
        let volumes = self.options.stripe_volumes(setting.devices, &self.out_dir);
        self.stripes = make_stripe_places(&setting, &volumes, context)?;
        Ok(())
    }

    fn measure(&mut self, cell: &Cell, context: &mut RunContext<'_>) -> Result<Run, StepError> {
        let setting = self.options.of_cell(cell);
        let (_, place, bytes) = self.database_of(setting.files)?;
        let statement = Statement {
            text: setting.statement(&quoted(&place.name), &self.stripes),
            database: &place.name,
            users: self.options.users,
            alone_s: ALONE_S,
            volumes: &self.volumes(),
            sessions: 1,
            work: &BusyRows,
            failure: wrong_if_damaged,
        };
        let mut run = beside::run(self.target.as_ref(), &statement, "backup", context)?;
        let seconds = run.response.unwrap_or(1.0).max(1e-6);
        let raw = *bytes as f64 / MIB;
        let mut figures = vec![Figure::higher(RATE, "MB/s", raw / seconds)];
        let set = |run: &mut Run, name: &str, value: String| {
            run.extra
                .insert(name.to_owned(), serde_json::Value::String(value));
        };
        if setting.codec != Codec::None {
            set(&mut run, COMPRESSES_BY, bounds::compressing(setting.codec));
        }
        if setting.devices != Devices::Nul {
            let written = bytes_of(context.volume().as_ref(), &self.stripes)? as f64 / MIB;
            figures.push(Figure::neutral(WRITTEN, "MB/s", written / seconds));
            figures.push(Figure::lower(
                "size of the backup",
                "% of the data",
                100.0 * written / raw,
            ));
            let bound = match setting.devices {
                Devices::Several => bounds::WRITING_SEVERAL,
                _ => bounds::WRITING_ONE,
            };
            set(&mut run, WRITES_TO, bound.to_owned());
        }
        figures.append(&mut run.figures);
        run.figures = figures;
        Ok(run)
    }

    fn verify(
        &mut self,
        cell: &Cell,
        _record: &Run,
        _context: &mut RunContext<'_>,
    ) -> Result<(), StepError> {
        let setting = self.options.of_cell(cell);
        if setting.devices == Devices::Nul {
            return Ok(());
        }
        let from = setting.devices_text(&self.stripes);
        let mut session = self.target.connect().map_err(failed)?;
        let text = format!("RESTORE VERIFYONLY FROM {from} WITH CHECKSUM;");
        session.batch(&text).map(|_| ()).map_err(wrong)
    }

    fn teardown(&mut self, _cell: &Cell, _context: &mut RunContext<'_>) -> Result<(), StepError> {
        self.stripes.clear();
        Ok(())
    }

    fn dispose(&mut self) -> Result<(), StepError> {
        self.databases.clear();
        self.target.stop().map_err(failed)
    }

    fn may_win(&self, cell: &Cell, _baseline: &Cell) -> bool {
        self.options.of_cell(cell).devices != Devices::Nul
    }

    fn apply(&self, cell: &Cell) -> (String, String) {
        let setting = self.options.of_cell(cell);
        let stripes = setting.paths(&self.options.stripe_volumes(setting.devices, &self.out_dir));
        // A backup changes nothing that could be undone.
        let statement = setting.statement("[YourDatabase]", &stripes);
        (statement, String::new())
    }

    fn limits(&self) -> Vec<String> {
        vec![
            "The table was filled with a text of which a quarter is random: other data compress otherwise."
                .to_owned(),
            "NUL discards what is written: it shows reading and compressing, and is no backup.".to_owned(),
            NOT_SQL_SERVER.to_owned(),
        ]
    }

    fn ceilings(&self, history: &History) -> Vec<Ceiling> {
        uses::ceilings(history)
    }

    fn limits_of(&self, level: &str, history: &History) -> Vec<Ceiling> {
        uses::limits_of(level, history)
    }

    fn published(&self, results: &Results) -> Option<Published> {
        Some(published::published(&self.options, results))
    }

    fn sections(&self, results: &Results) -> Vec<Section> {
        section::sections(&self.options, results)
    }
}

/// The models of both kinds of volumes, one line each.
pub(crate) fn models(options: &Options) -> Vec<String> {
    let mut all = options.places.models();
    all.extend(options.stripe_places.models());
    all
}

/// The file systems with the models of both kinds of volumes.
pub(crate) fn drives(
    options: &Options,
    real: &Arc<dyn Volume>,
) -> Result<Arc<dyn Volume>, StepError> {
    let specs = [
        options.places.models.clone(),
        options.stripe_places.models.clone(),
    ]
    .concat();
    with_models(Arc::clone(real), &specs).map_err(|error| StepError::Failed(error.to_string()))
}

/// Bytes and seconds of a run that reads the database and writes a backup of it.
pub(crate) fn forecast(
    options: &Options,
    out_dir: &Path,
    target: &dyn Target,
    statement: String,
) -> Forecast {
    let contents = options.contents();
    let mut shared_bytes = Vec::new();
    for files in &options.files {
        let volumes = options.places.data(out_dir);
        let place = RunPlace::new(
            &volumes,
            options.places.log.as_deref(),
            *files,
            "HASH_START_p1",
        );
        let each = contents.file_bytes(*files) + target.extra_bytes_per_file();
        shared_bytes.extend(place.peak(each, contents.log_bytes()));
    }
    let first = shared_bytes.first().map(|(volume, _)| volume.clone());
    shared_bytes.extend(first.map(|volume| (volume, target.instance_bytes())));
    let stripes = options.stripe_places.data(out_dir).into_iter();
    let peak_bytes = stripes.map(|volume| (volume, options.total_bytes));
    Forecast {
        seconds: options.total_bytes as f64 / 1e6 / ASSUMED_MB_S + 0.3,
        peak_bytes: peak_bytes.collect(),
        shared_bytes,
        bytes_written: options.total_bytes,
        steps: vec![
            format!("once: make {} databases", options.files.len()),
            statement,
            "verify the backup, remove its files".to_owned(),
        ],
    }
}
