//! RESTORE.

use super::option_text::value_text;
use super::options::{self, number};
use super::{
    Progress, abnormally, closing, database_name, device, headers, keys, not_of_the_system,
    outside_transaction, shown_path, terminated, text,
};
use crate::msdb::{RestoreNote, SetOnMedia, note_backup, note_restore};
use crate::paths::path;
use furrow_backup::media::SetInfo;
use furrow_backup::{
    Device as Target, FilePages, Listener, MediaSet, RestoreRequest, recover_only,
    restore_database, restore_log, verify,
};
use furrow_context::error::{Result, refuse, unsupported};
use furrow_context::run::Run;
use furrow_messages::Message;
use furrow_observe::task;
use furrow_tsql::ast::database::{Restore, RestoreKind, RestoreOption};
use std::path::PathBuf;
use std::sync::Arc;

/// What a RESTORE statement asks for.
struct Asked {
    request: RestoreRequest,
    stats: Option<u64>,
    /// LOADHISTORY: VERIFYONLY writes the set to the history.
    load_history: bool,
}

fn options(run: &mut Run<'_>, written: &Restore, name: &str) -> Result<Asked> {
    let mut request = RestoreRequest {
        name: name.to_owned(),
        moves: Vec::new(),
        replace: false,
        recovery: true,
        position: None,
        checksum: None,
        continue_after_error: false,
    };
    let (mut percent, mut load_history) = (None, false);
    for option in &written.options {
        let option = match option {
            RestoreOption::Move(logical, to) => {
                let (logical, to) = (text(run, logical)?, text(run, to)?);
                request.moves.push((logical, path(run.cx, &to)?));
                continue;
            }
            RestoreOption::Mark(option, _) => {
                return Err(unsupported(&format!("RESTORE WITH {}", option.name)));
            }
            RestoreOption::Opt(option) => option,
        };
        match &*option.name {
            "REPLACE" => request.replace = true,
            "RECOVERY" => request.recovery = true,
            "NORECOVERY" => request.recovery = false,
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
            // No media of ours have a password: one that is stated belongs to other media.
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

/// The statement as messages call it.
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
    if !written.parts.is_empty() {
        return Err(unsupported("RESTORE of files, filegroups and pages"));
    }
    if written.snapshot.is_some() {
        return Err(unsupported("RESTORE FROM DATABASE_SNAPSHOT"));
    }
    let name = match &written.database {
        Some(named) => database_name(run, named)?,
        None => String::new(),
    };
    let asked = options(run, written, &name);
    let asked = asked.map_err(|mut e| match e.number() {
        40_514 => e,
        _ => abnormally(std::mem::take(&mut e.messages), statement),
    })?;
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
            database(run, (&asked, paths), (written.kind, statement))
        }
        RestoreKind::VerifyOnly => verify_only(run, &asked, &paths),
        _ => {
            let volume = Arc::clone(run.cx.server.instance().volume());
            let keys = keys::ring(run);
            let told = MediaSet::open(&*volume, &paths)
                .map(|media| media.with_keys(&keys))
                .and_then(|media| headers::rows(&media, written.kind, asked.request.position));
            let told = told.map_err(|e| terminated(&e, statement))?;
            headers::send(run, &told);
            Ok(())
        }
    }
}

fn database(
    run: &mut Run<'_>,
    (asked, paths): (&Asked, Vec<PathBuf>),
    (kind, statement): (RestoreKind, &str),
) -> Result<()> {
    let name = asked.request.name.as_str();
    not_of_the_system(name, statement)?;
    if run.cx.sessions.database().name().eq_ignore_ascii_case(name) {
        let args = ["RESTORE".into(), name.into()];
        return Err(abnormally(vec![Message::new(3102, &args)], statement));
    }
    let instance = Arc::clone(run.cx.server.instance());
    if paths.is_empty() {
        recover_only(&instance, name).map_err(|e| terminated(&e, statement))?;
        run.inform(closing(statement, 0, 1));
        run.done(None);
        return Ok(());
    }
    let media = MediaSet::open(&**instance.volume(), &paths);
    let media = media.map_err(|e| terminated(&e, statement))?;
    let media = media.with_keys(&keys::ring(run));
    let mut progress = Progress {
        run,
        database: name.to_owned(),
        step: asked.stats,
        told: 0,
    };
    let done = match kind {
        RestoreKind::Log => restore_log(&instance, &media, &asked.request, &mut progress),
        _ => restore_database(&instance, &media, &asked.request, &mut progress),
    };
    task::current().set_progress(0.0);
    let report = done.map_err(|e| terminated(&e, statement))?;
    progress.percent(100);
    let told = report.database.map(|d| d.take_told()).unwrap_or_default();
    told.into_iter().for_each(|message| run.inform(message));
    let restored = RestoreNote {
        set: SetOnMedia {
            stripes: &media.stripes(),
            position: asked.request.position.unwrap_or(1),
            info: &report.info,
        },
        database: name,
        replace: asked.request.replace,
        recovery: asked.request.recovery,
        files: placed(&report.info, &asked.request),
    };
    note_restore(run, &restored);
    run.inform(closing(statement, report.pages, report.elapsed_us));
    let devices: Vec<String> = paths
        .iter()
        .map(|p| format!("'{}'", shown_path(p)))
        .collect();
    let text = format!(
        "Database was restored: Database: {name}, devices: {}.",
        devices.join(", ")
    );
    let source = furrow_observe::errorlog::Source::Backup;
    instance.error_log().write(source, &text);
    run.done(None);
    Ok(())
}

/// Where the files of a set went.
fn placed(info: &SetInfo, request: &RestoreRequest) -> Vec<(u16, PathBuf)> {
    let placed = info.files.iter().map(|file| {
        let lower = file.name.to_lowercase();
        let moved = request.moves.iter().find(|m| m.0.to_lowercase() == lower);
        let path = moved.map_or_else(|| PathBuf::from(&file.path), |m| m.1.clone());
        (file.id, path)
    });
    placed.collect()
}

/// Percents alone.
struct Quiet<'a, 'b, 'r>(&'a mut Progress<'b, 'r>);

impl Listener for Quiet<'_, '_, '_> {
    fn progress(&mut self, done: u64, total: u64) {
        self.0.progress(done, total);
    }

    fn files_done(&mut self, _: u16, _: &[FilePages]) {}
}

fn verify_only(run: &mut Run<'_>, asked: &Asked, paths: &[PathBuf]) -> Result<()> {
    let volume = Arc::clone(run.cx.server.instance().volume());
    let statement = called(RestoreKind::VerifyOnly);
    let keys = keys::ring(run);
    let mut progress = Progress {
        run,
        database: String::new(),
        step: asked.stats,
        told: 0,
    };
    let request = &asked.request;
    let verified = MediaSet::open(&*volume, paths).and_then(|media| {
        let media = media.with_keys(&keys);
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
