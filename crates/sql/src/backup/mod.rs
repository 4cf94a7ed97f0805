//! BACKUP and RESTORE: reads the options, calls `furrow_backup`, sends its messages.

mod conflicts;
mod headers;
mod keys;
mod option_text;
mod options;
mod parts;
mod restore;
mod revert;
mod stop;
mod trace;

pub(crate) use restore::restore;

use crate::msdb::{SetOnMedia, note_backup};
use crate::paths::path;
use furrow_backup::media::{BackupKind, SetInfo};
use furrow_backup::{
    BackupError, BackupReport, BufferFigures, Device as Target, FilePages, Listener, Step,
    backup_closed_log, backup_database, backup_log, backup_tail,
};
use furrow_bind::evaluate;
use furrow_context::error::{Result, SqlError, refuse, unsupported};
use furrow_context::run::Run;
use furrow_context::system_databases::is_system;
use furrow_engine::Database;
use furrow_io::time::WallTime;
use furrow_messages::{Arg, Message};
use furrow_observe::errorlog::Source;
use furrow_observe::task;
use furrow_observe::traceflags::TraceFlag;
use furrow_tsql::ast::database::{Backup, Device, NameOrVariable};
use furrow_tsql::ast::expr::{Expr, ExprKind};
use std::path::Path;
use std::sync::Arc;

/// Evaluates an expression to a text.
fn text(run: &mut Run<'_>, written: &Expr) -> Result<String> {
    let (value, _) = evaluate(run, written)?;
    Ok(match value.as_str() {
        Some(text) => text.to_owned(),
        None => value.to_string(),
    })
}

/// The name of the database, from a name or a variable.
fn database_name(run: &mut Run<'_>, named: &NameOrVariable) -> Result<String> {
    match named {
        NameOrVariable::Name(name) => Ok(name.value.to_string()),
        NameOrVariable::Variable(variable) => {
            let kind = ExprKind::Variable(variable.clone());
            let span = variable.span;
            text(run, &Expr { kind, span })
        }
    }
}

/// Whether a path names the device that discards what is written to it.
fn is_nul(path: &str) -> bool {
    path.trim_end_matches(':').eq_ignore_ascii_case("NUL")
}

fn device(run: &mut Run<'_>, written: &Device) -> Result<Target> {
    match written {
        Device::Physical(kind, expr) if &**kind == "DISK" => {
            let named = text(run, expr)?;
            match is_nul(&named) {
                true => Ok(Target::Nul),
                false => Ok(Target::Disk(path(run.cx, &named)?)),
            }
        }
        Device::Physical(kind, _) => Err(unsupported(&format!("TO {kind}"))),
        Device::Logical(named) => {
            let name = database_name(run, named)?;
            refuse(3206, &[name.into()])
        }
    }
}

/// Refuses the statement within a transaction (3021).
fn outside_transaction(run: &Run<'_>) -> Result<()> {
    match run.cx.sessions.count() {
        0 => Ok(()),
        _ => refuse(3021, &[]),
    }
}

/// The messages of a failed backup or restore, followed by 3013.
fn terminated(error: &BackupError, statement: &str) -> Box<SqlError> {
    if let BackupError::Cancelled = error {
        return SqlError::cancelled();
    }
    if let BackupError::Engine(e) = error
        && e.is_cancelled()
    {
        return SqlError::cancelled();
    }
    abnormally(error.messages(), statement)
}

/// The messages, followed by 3013.
fn abnormally(mut messages: Vec<Message>, statement: &str) -> Box<SqlError> {
    messages.push(Message::new(3013, &[statement.into()]));
    let mut error: Box<SqlError> = Message::new(3013, &[statement.into()]).into();
    error.messages = messages;
    error
}

/// The error of a refused option: an unsupported option is refused by name, without 3013.
fn refused(error: Box<SqlError>, statement: &str) -> Box<SqlError> {
    match error.number() {
        40_514 => error,
        _ => abnormally(error.messages, statement),
    }
}

/// Sends percentages and page counts to the client while a backup or a restore runs.
struct Progress<'a, 'r> {
    run: &'a mut Run<'r>,
    database: String,
    /// STATS: percent between two messages.
    step: Option<u64>,
    reported: u64,
}

impl Progress<'_, '_> {
    fn percent(&mut self, percent: u64) {
        task::current().set_progress(percent as f32);
        let Some(step) = self.step else { return };
        while self.reported + step <= percent {
            self.reported += step;
            self.run.inform(Message::new(3211, &[self.reported.into()]));
        }
    }

    fn pages(&mut self, position: u16, file: &FilePages) {
        let args = [
            file.pages.into(),
            self.database.as_str().into(),
            file.name.as_str().into(),
            position.into(),
        ];
        self.run.inform(Message::new(4035, &args));
    }
}

impl Listener for Progress<'_, '_> {
    fn progress(&mut self, done: u64, total: u64) {
        // 100 percent is reported when everything is done.
        self.percent((done * 100 / total.max(1)).min(99));
    }

    fn files_done(&mut self, position: u16, files: &[FilePages]) {
        for file in files {
            self.pages(position, file);
        }
    }

    fn buffers(&mut self, figures: &BufferFigures) {
        trace::buffers(self.run, figures);
    }

    fn step(&mut self, step: &Step) {
        trace::step(self.run, &self.database, step);
    }
}

/// 3014: pages, time and rate.
fn closing(statement: &str, pages: u64, elapsed_us: u64) -> Message {
    let us = elapsed_us.max(1);
    let rate = u128::from(pages) * 8192 * 1_000_000_000 / (u128::from(us) * 1_048_576);
    let args: [Arg; 6] = [
        statement.into(),
        pages.into(),
        (us / 1_000_000).into(),
        (us / 1000 % 1000).into(),
        ((rate / 1000) as u64).into(),
        ((rate % 1000) as u64).into(),
    ];
    Message::new(3014, &args)
}

/// Runs BACKUP.
pub(crate) fn backup(run: &mut Run<'_>, written: &Backup) -> Result<()> {
    outside_transaction(run)?;
    let statement = match written.log {
        true => "BACKUP LOG",
        false => "BACKUP DATABASE",
    };
    if !written.mirrors.is_empty() {
        return Err(unsupported("MIRROR TO"));
    }
    let name = database_name(run, &written.database)?;
    let devices = written.to.iter().map(|to| device(run, to));
    let devices = devices.collect::<Result<Vec<_>>>()?;
    let asked = options::backup(run, &written.options, written.log);
    let asked = asked.map_err(|e| refused(e, statement))?;
    let db = database(run, (&name, statement), &asked)?;
    let mut request = asked.request;
    may_write_over(run, &devices).map_err(|e| refused(e.into(), statement))?;
    request.devices = devices;
    request.parts = parts::named(run, &written.parts, "BACKUP")?.0;
    if request.differential && !request.parts.is_all() {
        return Err(unsupported("BACKUP of files WITH DIFFERENTIAL"));
    }
    request.server = furrow_sysviews::SERVER_NAME.to_owned();
    let mut progress = Progress {
        database: db
            .as_ref()
            .map_or_else(|| name.clone(), |db| db.name().to_owned()),
        run,
        step: asked.stats,
        reported: 0,
    };
    let instance = Arc::clone(progress.run.cx.server.instance());
    let done = match (&db, written.log) {
        (None, _) => backup_closed_log(&instance, &name, &request, &mut progress),
        (Some(db), true) if asked.tail => backup_tail(&instance, db, &request, &mut progress),
        (Some(db), true) => backup_log(db, &request, &mut progress),
        (Some(db), false) => backup_database(db, &request, &mut progress),
    };
    task::current().set_progress(0.0);
    let report = match done {
        Ok(report) => report,
        Err(error) => {
            let failed = terminated(&error, statement);
            let text = format!("{statement} {name}");
            let log = progress.run.cx.server.instance().error_log();
            let reported = Message::new(3041, &[text.into()]);
            log.write_message(Source::Spid(task::current().session_id()), &reported);
            return Err(failed);
        }
    };
    progress.percent(100);
    progress.pages(report.position, &report.log);
    if report.info.damaged {
        run.inform(Message::new(3042, &[]));
    }
    let called = called(&report.info, statement);
    let set = SetOnMedia {
        stripes: &report.stripes,
        position: report.position,
        info: &report.info,
    };
    note_backup(run, &set);
    run.inform(closing(&called, report.pages(), report.elapsed_us));
    log_backup(run, &report, &request.devices);
    run.done(None);
    Ok(())
}

/// Refuses files of databases (1834).
fn may_write_over(
    run: &Run<'_>,
    devices: &[Target],
) -> std::result::Result<(), furrow_engine::EngineError> {
    let instance = run.cx.server.instance();
    devices.iter().try_for_each(|device| match device {
        Target::Disk(path) => instance.may_write_over(path),
        Target::Nul => Ok(()),
    })
}

/// The database that is backed up. `None`: it cannot be opened, and the tail of its log is asked for.
fn database(
    run: &Run<'_>,
    (name, statement): (&str, &str),
    asked: &options::Asked,
) -> Result<Option<Arc<Database>>> {
    match run.cx.server.instance().database(name) {
        Ok(db) => Ok(Some(db)),
        Err(_) if asked.damaged && is_closed(run, name) => match asked.tail {
            true => Err(unsupported(
                "BACKUP LOG WITH NORECOVERY of a database that is not online",
            )),
            false => Ok(None),
        },
        Err(e) => Err(abnormally(e.messages(), statement)),
    }
}

/// The statement's name in its closing message.
fn called(info: &SetInfo, statement: &str) -> String {
    match info.kind {
        BackupKind::Differential => "BACKUP DATABASE WITH DIFFERENTIAL".to_owned(),
        BackupKind::Files => format!("BACKUP DATABASE...FILE={}", parts::names(info)),
        _ => statement.to_owned(),
    }
}

/// Whether a database exists and is closed.
fn is_closed(run: &Run<'_>, name: &str) -> bool {
    let target = run.cx.server.instance().restore_target(name);
    target.is_some_and(|target| target.database.is_none())
}

/// When a database was created, as messages of backups print it: date and time.
fn creation((days, ticks): (i32, u32)) -> (String, String) {
    /// 1970-01-01, in days since 1900.
    const EPOCH_DAYS: i64 = 25_567;
    let us = (i64::from(days) - EPOCH_DAYS) * 86_400_000_000 + i64::from(ticks) * 1_000_000 / 300;
    let at = WallTime::from_unix_us(us).civil();
    let date = format!("{:04}/{:02}/{:02}", at.year, at.month, at.day);
    (
        date,
        format!("{:02}:{:02}:{:02}", at.hour, at.minute, at.second),
    )
}

/// 18264 or 18265 in the error log, unless trace flag 3226 is on.
fn log_backup(run: &Run<'_>, report: &BackupReport, devices: &[Target]) {
    let instance = run.cx.server.instance();
    let flags = &instance.instruments().trace_flags;
    if flags.is_on_globally(TraceFlag::QUIET_BACKUPS) {
        return;
    }
    let info = &report.info;
    let quoted = |d: &Target| format!("'{}'", shown_path(&d.path()));
    let names: Vec<String> = devices.iter().map(quoted).collect();
    let names = names.join(", ");
    let device = format!("FILE={}, TYPE=DISK: {{{names}}}", report.position);
    let (date, time) = creation(info.created);
    let lsn = |lsn: u64| Arg::from(furrow_format::Lsn(lsn).to_string());
    let mut args = vec![info.database.as_str().into(), date.into(), time.into()];
    if info.kind != BackupKind::Log {
        args.push(report.pages().into());
    }
    args.extend([lsn(info.first_lsn), lsn(info.last_lsn)]);
    let number = match info.kind {
        BackupKind::Log => 18_265,
        BackupKind::Differential => {
            args.push(lsn(info.database_backup_lsn));
            18_270
        }
        BackupKind::Database | BackupKind::Files => 18_264,
    };
    args.extend([(devices.len() as u32).into(), device.into()]);
    let message = Message::new(number, &args);
    instance.error_log().write_message(Source::Backup, &message);
}

fn shown_path(path: &Path) -> String {
    path.display().to_string()
}

/// 3108 and similar: databases that cannot be backed up or restored.
fn not_of_the_system(name: &str, statement: &str) -> Result<()> {
    if name.eq_ignore_ascii_case("tempdb") {
        return Err(abnormally(vec![Message::new(3147, &[])], statement));
    }
    match is_system(name) && statement.starts_with("RESTORE") {
        true => Err(unsupported(&format!("{statement} {name}"))),
        false => Ok(()),
    }
}
