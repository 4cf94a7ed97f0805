//! A backup of an open database.
//!
//! ```text
//! free buffers -> readers (one a volume) -> filled -> packers -> ready -> writers (one a stripe) -> free
//! ```
//!
//! 1. The media of all devices are proven or formatted; each stripe gets the begin of the set (`target`).
//! 2. Readers go through the allocated extents of the files of their volume, in the order of the file
//!    (`produce`). A writer takes the next chunk that is ready, whatever its stripe: a slow device gets less.
//! 3. When all files are read, the log is copied, and with it the pages that the engine names, by rounds.
//!    Between two rounds the pipeline runs empty: a page of a later round replaces an earlier copy.
//! 4. All stripes get the end of the set and are made durable, then all get their tail (`finish`).
//!
//! The session's thread starts the others and waits: it reports progress and looks for a cancel. When
//! anything fails, every queue is broken off, and what was written is removed or cut off.

mod pacer;
mod parts;
mod pipeline;
mod produce;
pub(crate) mod queue;
mod target;
mod tuner;

pub use pacer::Throttle;
pub use target::Device;
pub(crate) use target::MOST_DEVICES;

use crate::BackupError;
use crate::media::{
    BackupKey, BackupKind, Codec, MediaHeader, SetEncryption, SetFile, SetFork, SetInfo, SetLog,
};
use furrow_engine::{BackupScope, BackupSource, Database, Instance, SourceFile};
use furrow_format::{Fork, RecoveryModel};
use furrow_io::random;
use furrow_io::time::{Moment, WallTime};
use furrow_types::Guid;
use pipeline::Pipeline;
use std::path::PathBuf;
use std::sync::Arc;
use target::Target;

/// Smallest MAXTRANSFERSIZE.
pub const MIN_TRANSFER_BYTES: usize = 64 << 10;
/// Largest MAXTRANSFERSIZE.
pub const MAX_TRANSFER_BYTES: usize = 4 << 20;

/// How a backup is taken.
#[derive(Debug, Clone)]
pub struct BackupRequest {
    /// One device a stripe.
    pub devices: Vec<Device>,
    /// How payloads are packed.
    pub codec: Codec,
    /// The key that the set is encrypted with.
    pub key: Option<BackupKey>,
    /// How fast the data files and the log are read at most.
    pub throttle: Throttle,
    /// Whether page checksums are verified on the way.
    pub checksum: bool,
    /// Whether damaged pages are copied and recorded; else they end the backup (3043).
    pub continue_after_error: bool,
    /// BUFFERCOUNT, if it is stated.
    pub buffer_count: Option<usize>,
    /// MAXTRANSFERSIZE in bytes.
    pub transfer_bytes: usize,
    /// FORMAT: new media headers.
    pub format: bool,
    /// INIT: earlier sets are written over.
    pub init: bool,
    /// NAME.
    pub name: String,
    /// DESCRIPTION.
    pub description: String,
    /// MEDIANAME.
    pub media_name: String,
    /// MEDIADESCRIPTION.
    pub media_description: String,
    /// DIFFERENTIAL.
    pub differential: bool,
    /// COPY_ONLY.
    pub copy_only: bool,
    /// FILE and FILEGROUP: only these files.
    pub parts: Parts,
    /// Who asks for it.
    pub user: String,
    /// The server's name.
    pub server: String,
}

/// Files of a database, by their names and by those of their filegroups. None: all files.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Parts {
    /// Logical names of files.
    pub files: Vec<String>,
    /// Names of filegroups.
    pub filegroups: Vec<String>,
}

impl Parts {
    /// Whether all files are meant.
    pub fn is_all(&self) -> bool {
        self.files.is_empty() && self.filegroups.is_empty()
    }

    /// Whether a data file is among them.
    pub fn has(&self, file: &SetFile) -> bool {
        let is = |names: &[String], name: &str| {
            let lower = name.to_lowercase();
            names.iter().any(|n| n.to_lowercase() == lower)
        };
        file.filegroup != 0
            && (self.is_all()
                || is(&self.files, &file.name)
                || is(&self.filegroups, &file.filegroup_name))
    }

    /// 3234 for a file that is not there, 3027 for a filegroup.
    pub(crate) fn exist(&self, files: &[SetFile], database: &str) -> Result<(), BackupError> {
        let one = |file: Option<&String>, group: Option<&String>| Parts {
            files: file.into_iter().cloned().collect(),
            filegroups: group.into_iter().cloned().collect(),
        };
        for name in &self.files {
            if !files.iter().any(|f| one(Some(name), None).has(f)) {
                let args = [name.as_str().into(), database.into()];
                return Err(BackupError::refused(3234, &args));
            }
        }
        for name in &self.filegroups {
            if !files.iter().any(|f| one(None, Some(name)).has(f)) {
                let args = [name.as_str().into(), database.into()];
                return Err(BackupError::refused(3027, &args));
            }
        }
        Ok(())
    }
}

/// Pages of a file in a backup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePages {
    /// The file's logical name.
    pub name: String,
    /// Pages; of the log, its bytes in units of 8 KB.
    pub pages: u64,
}

/// What a backup has done.
#[derive(Debug, Clone)]
pub struct BackupReport {
    /// The end of the set.
    pub info: SetInfo,
    /// The stripes: where they are, and their headers.
    pub stripes: Vec<(PathBuf, MediaHeader)>,
    /// The set's position on the media.
    pub position: u16,
    /// Pages of each data file.
    pub files: Vec<FilePages>,
    /// The log.
    pub log: FilePages,
    /// How long it took.
    pub elapsed_us: u64,
}

impl BackupReport {
    /// Pages of data files and log.
    pub fn pages(&self) -> u64 {
        self.files.iter().map(|f| f.pages).sum::<u64>() + self.log.pages
    }
}

/// The buffers of a backup (trace flag 3213).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BufferFigures {
    /// Buffers that readers fill.
    pub buffers: usize,
    /// 2 where packers fill as many again.
    pub sets: usize,
    /// Bytes of a buffer.
    pub transfer_bytes: usize,
    /// Volumes that are read side by side.
    pub volumes: usize,
    /// Stripes that are written side by side.
    pub stripes: usize,
}

/// What a backup does next (trace flags 3004 and 3014).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// The media are open and the begin of the set is written.
    MediaOpen,
    /// The data files are read, so many bytes by the maps.
    Reading(u64),
    /// The data files are read; the log follows.
    ReadingLog,
    /// All is written; the end of the set follows.
    Ending,
    /// The set is whole.
    Done,
}

/// Hears of a backup or a restore while it runs, on the thread that asked for it.
pub trait Listener {
    /// So many bytes of about so many are done.
    fn progress(&mut self, done: u64, total: u64);
    /// All data files are done.
    fn files_done(&mut self, position: u16, files: &[FilePages]);
    /// A backup has chosen its buffers.
    fn buffers(&mut self, _: &BufferFigures) {}
    /// A backup goes on to its next step.
    fn step(&mut self, _: &Step) {}
}

/// Takes a backup of the log.
pub fn backup_log(
    db: &Arc<Database>,
    request: &BackupRequest,
    listener: &mut dyn Listener,
) -> Result<BackupReport, BackupError> {
    run(db.begin_log_backup()?, request, listener)
}

/// Takes a backup of the log of a database that cannot be opened: BACKUP LOG ... WITH NO_TRUNCATE. Nothing is
/// noted in the database.
pub fn backup_closed_log(
    instance: &Arc<Instance>,
    name: &str,
    request: &BackupRequest,
    listener: &mut dyn Listener,
) -> Result<BackupReport, BackupError> {
    let request = BackupRequest {
        copy_only: true,
        ..request.clone()
    };
    run(instance.begin_closed_log_backup(name)?, &request, listener)
}

/// Takes a backup of the tail of the log, and leaves the database RESTORING: BACKUP LOG ... WITH NORECOVERY.
pub fn backup_tail(
    instance: &Arc<Instance>,
    db: &Arc<Database>,
    request: &BackupRequest,
    listener: &mut dyn Listener,
) -> Result<BackupReport, BackupError> {
    // What refuses a log backup comes first: the database goes on as it was.
    drop(db.begin_log_backup()?);
    if let Err(error) = db.begin_tail() {
        // Who was refused because of another tail, of users, or of snapshots leaves them as they are.
        if !error.has(3101) && !error.has(5094) {
            db.give_up_tail()?;
        }
        return Err(error.into());
    }
    // The boot page is not written any more: a database that is recovered begins a chain of its own.
    let tail = BackupRequest {
        copy_only: true,
        ..request.clone()
    };
    let done = db
        .begin_log_backup()
        .map_err(BackupError::from)
        .and_then(|source| run(source, &tail, listener));
    match done {
        Ok(report) => match instance.become_restoring(db) {
            Ok(()) => Ok(report),
            Err(error) => {
                db.give_up_tail()?;
                Err(error.into())
            }
        },
        Err(error) => {
            db.give_up_tail()?;
            Err(error)
        }
    }
}

/// Takes a backup of the database: full, differential, or some of its files.
pub fn backup_database(
    db: &Arc<Database>,
    request: &BackupRequest,
    listener: &mut dyn Listener,
) -> Result<BackupReport, BackupError> {
    let scope = match (request.differential, request.copy_only) {
        _ if !request.parts.is_all() => {
            let simple = db.options().recovery_model == RecoveryModel::Simple;
            if simple && !db.is_read_only() {
                return Err(BackupError::refused(3004, &[]));
            }
            BackupScope::Files
        }
        (true, _) => BackupScope::Differential,
        (false, true) => BackupScope::CopyOnly,
        (false, false) => BackupScope::Full,
    };
    run(db.begin_backup(scope)?, request, listener)
}

fn run(
    source: BackupSource,
    request: &BackupRequest,
    listener: &mut dyn Listener,
) -> Result<BackupReport, BackupError> {
    let begun = Moment::now();
    let started_us = WallTime::now().unix_us();
    let info = begin_info(&source, request, started_us)?;
    let volume = Arc::clone(source.volume());
    let mut target = Target::open(&volume, request, &info)?;
    listener.step(&Step::MediaOpen);
    let ran = Pipeline::run(source, request, &info, &mut target, listener);
    let done = ran.and_then(|(info, source)| {
        listener.step(&Step::Ending);
        target.finish(&info)?;
        listener.step(&Step::Done);
        if !request.copy_only {
            source.note_done(info.set)?;
        }
        Ok(info)
    });
    let info = match done {
        Ok(info) => info,
        Err(error) => {
            target.give_up();
            return Err(error);
        }
    };
    let named = |f: &SetFile| FilePages {
        name: f.name.clone(),
        pages: f.pages,
    };
    let data = info.files.iter().filter(|f| f.filegroup != 0 && f.present);
    let log = info.files.iter().find(|f| f.filegroup == 0).map(named);
    Ok(BackupReport {
        stripes: target.stripes(),
        position: target.position(),
        files: data.map(named).collect(),
        log: log.unwrap_or(FilePages {
            name: String::new(),
            pages: 0,
        }),
        elapsed_us: begun.elapsed_us(),
        info,
    })
}

fn model_name(model: RecoveryModel) -> &'static str {
    match model {
        RecoveryModel::Simple => "SIMPLE",
        RecoveryModel::Full => "FULL",
        RecoveryModel::BulkLogged => "BULK_LOGGED",
    }
}

fn encryption(key: &BackupKey) -> SetEncryption {
    let thumbprint = key.thumbprint();
    SetEncryption {
        algorithm: "AES_256".to_owned(),
        key: key.name().to_owned(),
        thumbprint: thumbprint.iter().map(|b| format!("{b:02X}")).collect(),
    }
}

/// The files of a database, the log among them.
fn set_files(source: &BackupSource) -> Result<Vec<SetFile>, BackupError> {
    let set_file = |file: SourceFile| SetFile {
        id: file.id.0,
        filegroup: file.filegroup,
        filegroup_name: file.group_name,
        name: file.name,
        path: file.path.to_string_lossy().into_owned(),
        size_pages: file.size_pages,
        max_pages: file.max_pages,
        guid: file.guid,
        read_only: file.read_only,
        pages: 0,
        created_lsn: file.created.0,
        first_pages: file.first_pages,
        present: file.online,
    };
    Ok(source.files()?.into_iter().map(set_file).collect())
}

fn set_fork(fork: &Fork) -> SetFork {
    SetFork {
        fork: fork.id,
        first_lsn: fork.first.0,
    }
}

/// The files of a database, and which of them are backed up. 3007 for one that is not online.
fn asked_files(source: &BackupSource, parts: &Parts) -> Result<Vec<SetFile>, BackupError> {
    let mut files = set_files(source)?;
    let asked = |file: &SetFile| parts.is_all() || parts.has(file);
    if !parts.is_all() {
        parts.exist(&files, source.name())?;
    }
    let absent = files.iter().find(|f| !f.present && asked(f));
    if let Some(absent) = absent.filter(|_| !source.is_log()) {
        let args = [
            absent.name.as_str().into(),
            "RecoveryPending".into(),
            3.into(),
            0.into(),
        ];
        return Err(BackupError::refused(3007, &args));
    }
    for file in files.iter_mut().filter(|f| f.filegroup != 0) {
        file.present &= asked(file);
    }
    Ok(files)
}

fn begin_info(
    source: &BackupSource,
    request: &BackupRequest,
    started_us: i64,
) -> Result<SetInfo, BackupError> {
    let facts = source.facts();
    let boot = &facts.boot;
    let files = asked_files(source, &request.parts)?;
    Ok(SetInfo {
        kind: match facts.scope {
            BackupScope::Log => BackupKind::Log,
            BackupScope::Differential => BackupKind::Differential,
            BackupScope::Files => BackupKind::Files,
            BackupScope::Full | BackupScope::CopyOnly => BackupKind::Database,
        },
        set: Guid(random::guid_v4()),
        name: request.name.clone(),
        description: request.description.clone(),
        database: source.name().to_owned(),
        family: boot.family,
        fork: boot.forks.present(),
        forks: boot.forks.all().iter().map(set_fork).collect(),
        binding: source.binding(),
        database_version: boot.version,
        compatibility: boot.own.compatibility_level.max(boot.compatibility),
        created: (boot.created.days(), boot.created.ticks()),
        recovery_model: model_name(facts.recovery_model).to_owned(),
        read_only: facts.read_only,
        user: request.user.clone(),
        server: request.server.clone(),
        started_us,
        finished_us: 0,
        first_lsn: facts.first_lsn.0,
        last_lsn: 0,
        checkpoint_lsn: facts.checkpoint.0,
        database_backup_lsn: boot.full_backup_lsn.0,
        base: match facts.scope {
            BackupScope::Differential => boot.differential_base,
            _ => Guid([0; 16]),
        },
        compression: request.codec.name().to_owned(),
        encryption: request.key.as_ref().map(encryption),
        checksums: request.checksum,
        damaged: false,
        copy_only: request.copy_only,
        files,
        log: SetLog {
            sector_bytes: facts.log_sector_bytes,
            ..SetLog::default()
        },
        last_commit_us: None,
        bytes: 0,
        stored_bytes: 0,
        chunks: Vec::new(),
    })
}
