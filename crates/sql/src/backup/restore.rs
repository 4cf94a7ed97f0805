//! RESTORE.

use super::option_text::value_text;
use super::options::{self, number};
use super::{
    Progress, abnormally, closing, conflicts, database_name, device, headers, keys,
    not_of_the_system, outside_transaction, parts, refused, revert, shown_path, stop, terminated,
    text,
};
use crate::msdb::{RestoreNote, SetOnMedia, note_backup, note_restore};
use crate::paths::path;
use furrow_backup::media::SetInfo;
use furrow_backup::{
    Device as Target, FilePages, Listener, MediaSet, Parts, RestoreRequest, recover_only,
    restore_database, restore_files, restore_log, restore_pages, space_warnings, stay_restoring,
    verify,
};
use furrow_context::error::{Result, refuse, unsupported};
use furrow_context::run::Run;
use furrow_engine::Instance;
use furrow_format::PageId;
use furrow_messages::Message;
use furrow_observe::task;
use furrow_tsql::ast::database::{Restore, RestoreKind, RestoreOption};
use std::path::PathBuf;
use std::sync::Arc;

/// The options of a RESTORE statement.
struct Asked {
    request: RestoreRequest,
    stats: Option<u64>,
    /// LOADHISTORY: VERIFYONLY writes the set to the history.
    load_history: bool,
}

fn options(run: &mut Run<'_>, written: &Restore, name: &str) -> Result<Asked> {
    let mut request = RestoreRequest {
        name: name.to_owned(),
        recovery: true,
        ..RestoreRequest::default()
    };
    let (mut percent, mut load_history) = (None, false);
    conflicts::of_restore(written)?;
    for option in &written.options {
        let option = match option {
            RestoreOption::Move(logical, to) => {
                let (logical, to) = (text(run, logical)?, text(run, to)?);
                request.moves.push((logical, path(run.cx, &to)?));
                continue;
            }
            RestoreOption::Mark(option, after) => {
                request.stop = Some(stop::mark(run, option, after.as_ref())?);
                continue;
            }
            RestoreOption::Opt(option) => option,
        };
        match &*option.name {
            "STOPAT" => request.stop = Some(stop::time(run, option)?),
            "PARTIAL" => request.partial = Some(Parts::default()),
            "REPLACE" => request.replace = true,
            "RECOVERY" => request.recovery = true,
            "NORECOVERY" => request.recovery = false,
            "STANDBY" => {
                let undo = value_text(run, option)?;
                request.standby = Some(path(run.cx, &undo)?);
            }
            "CHECKSUM" => request.checksum = Some(true),
            "NO_CHECKSUM" => request.checksum = Some(false),
            "CONTINUE_AFTER_ERROR" => request.continue_after_error = true,
            "FILE" => {
                let position = number(run, option)?;
                let position = u16::try_from(position).ok().filter(|p| *p > 0);
                let Some(position) = position else {
                    return refuse(3217, &["FILE".into()]);
                };
                request.position = Some(position);
            }
            "LOADHISTORY" => load_history = true,
            "STATS" => percent = Some(options::stats(run, option)?),
            "BLOCKSIZE" => options::block_size(run, option)?,
            "BUFFERCOUNT" => drop(options::buffer_count(run, option)?),
            "MAXTRANSFERSIZE" => drop(options::transfer_bytes(run, option)?),
            "MEDIANAME" => drop(value_text(run, option)?),
            // Furrow's media have no password: a statement with a password means other media.
            "MEDIAPASSWORD" | "PASSWORD" => {
                let name = option.name.to_lowercase();
                return Err(Message::new(3032, &[name.into()]).into());
            }
            "STOP_ON_ERROR" | "REWIND" | "NOREWIND" | "UNLOAD" | "NOUNLOAD" | "RESTART" => {}
            other => return Err(unsupported(&format!("RESTORE WITH {other}"))),
        }
    }
    Ok(Asked {
        request,
        stats: percent,
        load_history,
    })
}

/// The statement's name in messages.
fn called(kind: RestoreKind) -> &'static str {
    match kind {
        RestoreKind::Database => "RESTORE DATABASE",
        RestoreKind::Log => "RESTORE LOG",
        RestoreKind::FileListOnly => "RESTORE FILELIST",
        RestoreKind::HeaderOnly => "RESTORE HEADERONLY",
        RestoreKind::LabelOnly => "RESTORE LABELONLY",
        RestoreKind::VerifyOnly => "VERIFY DATABASE",
        RestoreKind::RewindOnly => "RESTORE REWINDONLY",
    }
}

/// Runs RESTORE.
pub(crate) fn restore(run: &mut Run<'_>, written: &Restore) -> Result<()> {
    outside_transaction(run)?;
    let statement = called(written.kind);
    if written.kind == RestoreKind::RewindOnly {
        return Err(unsupported(statement));
    }
    if let Some(snapshot) = &written.snapshot {
        return revert::revert(run, written, (snapshot, statement));
    }
    let name = match &written.database {
        Some(named) => database_name(run, named)?,
        None => String::new(),
    };
    let asked = options(run, written, &name);
    let mut asked = asked.map_err(|e| refused(e, statement))?;
    let (parts, pages) = parts::named(run, &written.parts, "RESTORE")?;
    let parts = match &mut asked.request.partial {
        Some(_) if !pages.is_empty() => {
            let messages = vec![Message::new(3032, &["partial".into()])];
            return Err(abnormally(messages, statement));
        }
        Some(partial) => {
            *partial = parts;
            Parts::default()
        }
        None => parts,
    };
    let what = match (parts.is_all(), pages.is_empty()) {
        (true, true) => What::All,
        (false, true) => What::Files(parts),
        (true, false) => What::Pages(pages),
        (false, false) => return Err(unsupported("RESTORE of files and pages at once")),
    };
    if asked.request.stop.is_some() && !matches!(what, What::All) {
        return Err(unsupported("RESTORE of files and pages WITH STOPAT"));
    }
    let mut paths = Vec::new();
    for written in &written.from {
        match device(run, written)? {
            Target::Disk(path) => paths.push(path),
            Target::Nul => {
                let messages = vec![Message::new(3254, &["NUL".into()])];
                return Err(abnormally(messages, statement));
            }
        }
    }
    match written.kind {
        RestoreKind::Database | RestoreKind::Log => {
            database(run, (&asked, paths), (written.kind, statement, &what))
        }
        RestoreKind::VerifyOnly => verify_only(run, &asked, &paths),
        _ => {
            let volume = Arc::clone(run.cx.server.instance().volume());
            let keys = keys::ring(run);
            let reported = MediaSet::open(&*volume, &paths)
                .map(|media| media.with_keys(&keys))
                .and_then(|media| headers::rows(&media, written.kind, asked.request.position));
            let reported = reported.map_err(|e| terminated(&e, statement))?;
            headers::send(run, &reported);
            Ok(())
        }
    }
}

/// The parts of a database that are restored.
enum What {
    All,
    Files(Parts),
    Pages(Vec<PageId>),
}

impl What {
    /// The statement's name in its closing message.
    fn called(&self, statement: &str, info: &SetInfo) -> String {
        match self {
            What::All if info.files.iter().all(|f| f.present) => statement.to_owned(),
            What::All | What::Files(_) => format!("{statement} ... FILE={}", parts::names(info)),
            What::Pages(_) => format!("{statement} ... PAGE"),
        }
    }
}

/// RESTORE DATABASE without FROM: recovers the restored database, or leaves it RESTORING.
fn without_media(
    run: &mut Run<'_>,
    request: &RestoreRequest,
    (kind, statement, what): (RestoreKind, &str, &What),
) -> Result<()> {
    let refused = match what {
        _ if kind == RestoreKind::Log => Some("RESTORE LOG without FROM"),
        What::Files(_) => Some("RESTORE of files without FROM"),
        What::Pages(_) => Some("RESTORE of pages without FROM"),
        What::All if request.stop.is_some() => Some("RESTORE WITH STOPAT without FROM"),
        What::All if request.standby.is_some() => Some("RESTORE WITH STANDBY without FROM"),
        What::All if request.partial.is_some() => Some("RESTORE WITH PARTIAL without FROM"),
        What::All if !request.moves.is_empty() => Some("RESTORE WITH MOVE without FROM"),
        What::All if request.position.is_some() => Some("RESTORE WITH FILE without FROM"),
        What::All => None,
    };
    if let Some(refused) = refused {
        return Err(unsupported(refused));
    }
    let (instance, name) = (run.cx.server.instance(), request.name.as_str());
    let done = match request.recovery {
        true => recover_only(instance, name).map(drop),
        false => stay_restoring(instance, name),
    };
    done.map_err(|e| terminated(&e, statement))?;
    run.inform(closing(statement, 0, 1));
    run.done(None);
    Ok(())
}

fn database(
    run: &mut Run<'_>,
    (asked, paths): (&Asked, Vec<PathBuf>),
    (kind, statement, what): (RestoreKind, &str, &What),
) -> Result<()> {
    let name = asked.request.name.as_str();
    not_of_the_system(name, statement)?;
    if run.cx.sessions.database().name().eq_ignore_ascii_case(name) {
        let args = ["RESTORE".into(), name.into()];
        return Err(abnormally(vec![Message::new(3102, &args)], statement));
    }
    let instance = Arc::clone(run.cx.server.instance());
    if paths.is_empty() {
        return without_media(run, &asked.request, (kind, statement, what));
    }
    let media = MediaSet::open(&**instance.volume(), &paths);
    let media = media.map_err(|e| terminated(&e, statement))?;
    let media = media.with_keys(&keys::ring(run));
    let mut progress = Progress {
        run,
        database: name.to_owned(),
        step: asked.stats,
        reported: 0,
    };
    let request = &asked.request;
    let done = match (kind, what) {
        (RestoreKind::Log, What::All) => restore_log(&instance, &media, request, &mut progress),
        (_, What::All) => restore_database(&instance, &media, request, &mut progress),
        (_, What::Files(parts)) => {
            restore_files(&instance, &media, (request, parts), &mut progress)
        }
        (_, What::Pages(pages)) => {
            restore_pages(&instance, &media, (request, pages), &mut progress)
        }
    };
    task::current().set_progress(0.0);
    let report = done.map_err(|e| terminated(&e, statement))?;
    progress.percent(100);
    let reported = report
        .database
        .map(|d| d.take_messages())
        .unwrap_or_default();
    reported.into_iter().for_each(|message| run.inform(message));
    if let Some(notice) = report.notice {
        run.inform(notice);
    }
    let stripes = media.stripes();
    let restored = RestoreNote {
        set: SetOnMedia {
            stripes: &stripes,
            position: asked.request.position.unwrap_or(1),
            info: &report.info,
        },
        database: name,
        replace: asked.request.replace,
        recovery: asked.request.recovery,
        files: placed(&report.info, &asked.request),
    };
    note_restore(run, &restored);
    let called = what.called(statement, &report.info);
    run.inform(closing(&called, report.pages, report.elapsed_us));
    log_restore(&instance, name, &paths);
    run.done(None);
    Ok(())
}

/// Reports a restore in the error log.
fn log_restore(instance: &Instance, name: &str, paths: &[PathBuf]) {
    let shown = |path: &PathBuf| format!("'{}'", shown_path(path));
    let devices: Vec<String> = paths.iter().map(shown).collect();
    let devices = devices.join(", ");
    let text = format!("Database was restored: Database: {name}, devices: {devices}.");
    let source = furrow_observe::errorlog::Source::Backup;
    instance.error_log().write(source, &text);
}

/// The paths to which the files of a set were restored.
fn placed(info: &SetInfo, request: &RestoreRequest) -> Vec<(u16, PathBuf)> {
    let placed = info.files.iter().map(|file| {
        let lower = file.name.to_lowercase();
        let moved = request.moves.iter().find(|m| m.0.to_lowercase() == lower);
        let path = moved.map_or_else(|| PathBuf::from(&file.path), |m| m.1.clone());
        (file.id, path)
    });
    placed.collect()
}

/// Reports percentages only.
struct Quiet<'a, 'b, 'r>(&'a mut Progress<'b, 'r>);

impl Listener for Quiet<'_, '_, '_> {
    fn progress(&mut self, done: u64, total: u64) {
        self.0.progress(done, total);
    }

    fn files_done(&mut self, _: u16, _: &[FilePages]) {}
}

fn verify_only(run: &mut Run<'_>, asked: &Asked, paths: &[PathBuf]) -> Result<()> {
    let instance = Arc::clone(run.cx.server.instance());
    let statement = called(RestoreKind::VerifyOnly);
    let keys = keys::ring(run);
    let mut progress = Progress {
        run,
        database: String::new(),
        step: asked.stats,
        reported: 0,
    };
    let request = &asked.request;
    let verified = MediaSet::open(&**instance.volume(), paths).and_then(|media| {
        let media = media.with_keys(&keys);
        let warnings = space_warnings(&instance, &media, request)?;
        warnings
            .into_iter()
            .for_each(|warning| progress.run.inform(warning));
        let mut quiet = Quiet(&mut progress);
        let position = verify(&media, request.position, request.checksum, &mut quiet)?;
        Ok((position, media.info(position)?, media.stripes()))
    });
    task::current().set_progress(0.0);
    let (position, info, stripes) = verified.map_err(|e| terminated(&e, statement))?;
    progress.percent(100);
    if asked.load_history {
        let set = SetOnMedia {
            stripes: &stripes,
            position,
            info: &info,
        };
        note_backup(run, &set);
    }
    run.inform(Message::new(3262, &[position.into()]));
    run.done(None);
    Ok(())
}
