//! The experiment "do several backup files make a restore faster?"
//!
//! # Purpose
//! The backups of the experiment `backup`, restored: from 1, 2, 4 and 8 files, on one volume and on several.
//!
//! # Invariants
//! 1. Each run restores a backup of its own setting, made in the run's set-up from the same database.
//! 2. A run counts only when the restored database has every row and DBCC CHECKDB finds nothing in it. One
//!    whose copy is wrong is not tried again: the copy and the backup stay.
//!
//! # How a run goes
//! 1. *Prepare*, once: instance, database, rows.
//! 2. *Set-up*: the backup.
//! 3. *Measure*: RESTORE DATABASE into files of its own, recovery included; the response is its time.
//! 4. *Verify*: rows counted, CHECKDB. *Tear-down*: the copy is dropped, the backup removed.
//!
//! # What can fail
//! A [`StepError`] with the engine's number and text; options that make no sense ([`OptionsError`]).

#[cfg(test)]
mod tests;

use crate::backup::{self, Options, Setting, Typed};
use crate::plugin::{NOT_SQL_SERVER, Plugin, Start};
use crate::targets::{Embedded, Target, quoted};
use crate::workloads::beside::{self, BusyRows, Statement};
use crate::workloads::place::{RunPlace, failed, wrong};
use crate::workloads::prepared::{self, literal};
use furrow_io::Volume;
use furrow_lab::design::{Cell, Factor};
use furrow_lab::experiment::{Experiment, OptionsError, RunContext, StepError};
use furrow_lab::journal::Kind;
use furrow_lab::plan::{Forecast, Reset};
use furrow_lab::results::{self, Figure, Run};
use furrow_lab::size::size_text;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

const MIB: f64 = 1024.0 * 1024.0;

/// The experiment.
#[derive(Debug)]
pub struct Restore {
    options: Options,
    out_dir: PathBuf,
    target: Box<dyn Target>,
    /// Databases by their number of data files, with the bytes of their extents in use.
    databases: Vec<(u64, RunPlace, u64)>,
    run: Option<Copy>,
}

/// The copy that a run restores.
#[derive(Debug)]
struct Copy {
    name: String,
    statement: String,
    bytes: u64,
    source: String,
}

impl Restore {
    /// The experiment on this target.
    pub fn on(options: Options, out_dir: PathBuf, target: Box<dyn Target>) -> Restore {
        Restore {
            options,
            out_dir,
            target,
            databases: Vec::new(),
            run: None,
        }
    }

    fn batch(&self, text: &str) -> Result<(), StepError> {
        let mut session = self.target.connect().map_err(failed)?;
        session.batch(text).map(|_| ()).map_err(failed)
    }

    /// Claims the files of the copy, each beside the volume of the one it is restored from.
    fn copy_of(
        &self,
        (setting, stripes): (&Setting, &[PathBuf]),
        (source, bytes): (&RunPlace, u64),
        context: &mut RunContext<'_>,
    ) -> Result<Copy, StepError> {
        let volumes = self.options.places.data(&self.out_dir);
        let log = self.options.places.log.as_deref();
        let place = RunPlace::new(&volumes, log, setting.files, &context.tag());
        place.make_directories(context)?;
        let mut moves = Vec::new();
        for (path, n) in place.data.iter().zip(1..) {
            context.claim_file(path)?;
            let mut beside = path.as_os_str().to_owned();
            beside.push(".dw");
            context.claim_file(&PathBuf::from(beside))?;
            moves.push(format!("MOVE N'data{n}' TO {}", literal(path)));
        }
        context.claim_file(&place.log)?;
        moves.push(format!("MOVE N'log' TO {}", literal(&place.log)));
        let statement = format!(
            "RESTORE DATABASE {} FROM {} WITH CHECKSUM, {};",
            quoted(&place.name),
            setting.devices_text(stripes),
            moves.join(", ")
        );
        Ok(Copy {
            name: place.name,
            statement,
            bytes,
            source: source.name.clone(),
        })
    }
}

/// The script that puts a backup of a database back as a copy. The logical names of the files of the
/// reader's database are not known here, so it lists them.
fn restore_script(setting: &Setting, stripes: &[PathBuf]) -> String {
    let from = setting.devices_text(stripes);
    format!(
        "RESTORE FILELISTONLY FROM {from};\n\
         -- While the files of YourDatabase exist, add for each logical name of this list:\n\
         --     , MOVE N'logical name' TO N'path of the copy'\n\
         RESTORE DATABASE YourCopy FROM {from} WITH CHECKSUM, STATS = 10;"
    )
}

impl Plugin for Restore {
    const NAME: &'static str = "restore";
    const QUESTION: &'static str =
        "Do several backup files make a restore faster? (every restored database is checked)";
    type Options = Typed;

    fn new(typed: Typed, start: &Start) -> Result<Restore, OptionsError> {
        let options = Options::of(typed, start, false)?;
        Ok(Restore::on(
            options,
            start.out_dir.clone(),
            Box::new(Embedded::new()),
        ))
    }
}

impl Experiment for Restore {
    fn subject(&self) -> results::Experiment {
        results::Experiment {
            name: Restore::NAME.to_owned(),
            question: "Do several backup files make a restore faster?".to_owned(),
            target: self.target.name(),
            database: "a copy, restored and checked in each run".to_owned(),
            workload: format!(
                "restores of a table of {}, recovery included; pool {}{}",
                size_text(self.options.total_bytes),
                size_text(self.options.pool_bytes),
                beside::users_text(self.options.users)
            ),
            factor: backup::factor_words(&self.factors()),
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
        backup::models(&self.options)
    }

    fn drives(&self, real: &Arc<dyn Volume>) -> Result<Arc<dyn Volume>, StepError> {
        backup::drives(&self.options, real)
    }

    fn memory_bytes(&self) -> u64 {
        self.options.pool_bytes
    }

    fn forecast(&self, cell: &Cell) -> Forecast {
        let setting = self.options.of_cell(cell);
        let volumes = self.options.stripe_volumes(setting.devices, &self.out_dir);
        let from = setting.devices_text(&setting.paths(&volumes));
        let step =
            format!("RESTORE DATABASE YourCopy FROM {from} WITH CHECKSUM, MOVE of each file");
        let target = self.target.as_ref();
        let once = backup::forecast(&self.options, &self.out_dir, target, step);
        let place = RunPlace::new(
            &self.options.places.data(&self.out_dir),
            self.options.places.log.as_deref(),
            setting.files,
            "HASH_START_rN_aN",
        );
        let contents = self.options.contents();
        let each = contents.file_bytes(setting.files) + target.extra_bytes_per_file();
        let mut peak_bytes = once.peak_bytes.clone();
        peak_bytes.extend(place.peak(each, contents.log_bytes()));
        Forecast {
            seconds: 4.0 * once.seconds,
            peak_bytes,
            bytes_written: 3 * once.bytes_written,
            ..once
        }
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
            let bytes = backup::used_bytes(self.target.as_ref(), &place.name)?;
            self.databases.push((files, place, bytes));
        }
        Ok(())
    }

    fn setup(&mut self, cell: &Cell, context: &mut RunContext<'_>) -> Result<(), StepError> {
        let setting = self.options.of_cell(cell);
        let mut known = self.databases.iter();
        let found = known.find(|(files, _, _)| *files == setting.files);
        let missing = || StepError::Failed("the database is not prepared".to_owned());
        let (_, source, bytes) = found.ok_or_else(missing)?;
        let volumes = self.options.stripe_volumes(setting.devices, &self.out_dir);
        let stripes = backup::make_stripe_places(&setting, &volumes, context)?;
        self.batch(&setting.statement(&quoted(&source.name), &stripes))?;
        let copy = self.copy_of((&setting, &stripes), (source, *bytes), context)?;
        context.claim(Kind::Database, copy.name.clone())?;
        self.run = Some(copy);
        Ok(())
    }

    fn measure(&mut self, _cell: &Cell, context: &mut RunContext<'_>) -> Result<Run, StepError> {
        let missing = || StepError::Failed("there is no backup to restore".to_owned());
        let copy = self.run.as_ref().ok_or_else(missing)?;
        let statement = Statement {
            text: copy.statement.clone(),
            database: &copy.source,
            users: self.options.users,
            alone_s: backup::ALONE_S,
            volumes: &self.volumes(),
            sessions: 1,
            work: &BusyRows,
            failure: wrong,
        };
        let mut run = beside::run(self.target.as_ref(), &statement, "restore", context)?;
        let rate = copy.bytes as f64 / MIB / run.response.unwrap_or(1.0).max(1e-6);
        run.figures
            .insert(0, Figure::higher("restored", "MB/s", rate));
        Ok(run)
    }

    fn verify(
        &mut self,
        _cell: &Cell,
        _record: &Run,
        _context: &mut RunContext<'_>,
    ) -> Result<(), StepError> {
        let name = self.run.as_ref().map_or("", |copy| &copy.name);
        prepared::verify_rows(self.target.as_ref(), name, self.options.contents())?;
        let mut session = self.target.connect().map_err(failed)?;
        let check = format!("DBCC CHECKDB ({}) WITH NO_INFOMSGS;", quoted(name));
        session.batch(&check).map(|_| ()).map_err(wrong)
    }

    fn teardown(&mut self, _cell: &Cell, context: &mut RunContext<'_>) -> Result<(), StepError> {
        let Some(copy) = self.run.take() else {
            return Ok(());
        };
        // A copy that is evidence of a wrong result is not the run's any more.
        let mut owned = context.owned().into_iter();
        if owned.any(|thing| thing.kind == Kind::Database && thing.name == copy.name) {
            self.target.drop_database(&copy.name).map_err(failed)?;
            context.database_removed(&copy.name)?;
        }
        Ok(())
    }

    /// The instance of an interrupted experiment is gone with its directory, and its databases with it.
    fn remove_database(&mut self, name: &str) -> Result<(), StepError> {
        match self.databases.is_empty() {
            true => Ok(()),
            false => self.target.drop_database(name).map_err(failed),
        }
    }

    fn dispose(&mut self) -> Result<(), StepError> {
        self.databases.clear();
        self.target.stop().map_err(failed)
    }

    fn apply(&self, cell: &Cell) -> (String, String) {
        let setting = self.options.of_cell(cell);
        let volumes = self.options.stripe_volumes(setting.devices, &self.out_dir);
        let stripes = setting.paths(&volumes);
        let script = restore_script(&setting, &stripes);
        let both = format!(
            "{}\n{script}",
            setting.statement("[YourDatabase]", &stripes)
        );
        (both, "DROP DATABASE YourCopy;".to_owned())
    }

    fn limits(&self) -> Vec<String> {
        vec![
            "The backup was written just before: the system may hold a part of it in memory."
                .to_owned(),
            "The log of the backups is short: a backup taken under load has more to recover."
                .to_owned(),
            NOT_SQL_SERVER.to_owned(),
        ]
    }
}
