//! The history of backups and restores in `msdb`.

use super::{MSDB, foreign, is_ours, tables};
use furrow_backup::media::{BackupKind, MediaHeader, SetFile, SetInfo};
use furrow_context::run::Run;
use furrow_engine::{EngineError, ScanSpec, Session, Timeout};
use furrow_format::Lsn;
use furrow_io::time::WallTime;
use furrow_messages::Message;
use furrow_observe::task;
use furrow_sysviews::value::{datetime, lsn as lsn_of};
use furrow_types::{DateTime, Decimal, Guid, Value};
use std::path::PathBuf;

/// `software_vendor_id`: SQL Server's.
const VENDOR: i32 = 4608;
const DISK: u8 = 2;
/// The longest wait for a lock in `msdb`: the backup is complete, and must not hang because of its history.
const PATIENCE: Timeout = Timeout::Millis(5_000);
/// Length of the columns for paths, in characters.
const PATH_UNITS: usize = 260;

/// A backup set, and the stripes it is on.
pub(crate) struct SetOnMedia<'a> {
    pub(crate) stripes: &'a [(PathBuf, MediaHeader)],
    pub(crate) position: u16,
    pub(crate) info: &'a SetInfo,
}

/// A restore, for its history.
pub(crate) struct RestoreNote<'a> {
    pub(crate) set: SetOnMedia<'a>,
    pub(crate) database: &'a str,
    pub(crate) replace: bool,
    pub(crate) recovery: bool,
    /// The paths of the restored files.
    pub(crate) files: Vec<(u16, PathBuf)>,
}

/// Writes the history of a backup.
pub(crate) fn note_backup(run: &mut Run<'_>, set: &SetOnMedia<'_>) {
    note(run, |session| note_set(session, set).map(drop));
}

/// Writes the history of a restore, and of its backup if that is not in the history yet.
pub(crate) fn note_restore(run: &mut Run<'_>, restored: &RestoreNote<'_>) {
    note(run, |session| {
        let set = note_set(session, &restored.set)?;
        let table = session.table("restorehistory")?;
        let values = [
            datetime(WallTime::now()),
            text(restored.database),
            text("sa"),
            Value::Int(set),
            kind_of(restored.set.info),
            Value::Bit(restored.replace),
            Value::Bit(restored.recovery),
            Value::Bit(false),
            Value::Null,
            tiny(restored.set.stripes.len()),
            Value::Null,
            Value::Null,
        ];
        let id = number(session.insert(&table, &values)?);
        let table = session.table("restorefile")?;
        for (file, path) in &restored.files {
            let path = path_text(&path.display().to_string());
            session.insert(
                &table,
                &[Value::Int(id), whole(u64::from(*file)), Value::Null, path],
            )?;
        }
        Ok(())
    });
}

/// Runs `what` in a transaction of `msdb`; 3009 if it fails.
fn note(run: &mut Run<'_>, what: impl FnOnce(&mut Session) -> Result<(), EngineError>) {
    let instance = run.cx.server.instance();
    let noted = instance.database(MSDB).and_then(|msdb| {
        if !is_ours(&msdb) {
            return Err(foreign());
        }
        let mut session = Session::of_task(&msdb, &task::current())?;
        session.set_lock_timeout(PATIENCE);
        session.begin()?;
        what(&mut session)?;
        session.commit()
    });
    if let Err(error) = noted {
        run.inform(Message::new(3009, &[]));
        for message in error.messages() {
            run.inform(message);
        }
    }
}

fn text(text: &str) -> Value {
    Value::NVarChar(text.to_owned())
}

/// A path, cut to the length of its column so that the row is not lost.
fn path_text(path: &str) -> Value {
    let mut units = 0;
    let fits = |c: &char| {
        units += c.len_utf16();
        units <= PATH_UNITS
    };
    Value::NVarChar(path.chars().take_while(fits).collect())
}

fn text_or_null(said: &str) -> Value {
    match said {
        "" => Value::Null,
        said => text(said),
    }
}

fn tiny(number: usize) -> Value {
    Value::TinyInt(u8::try_from(number).unwrap_or(u8::MAX))
}

fn whole(number: u64) -> Value {
    Value::Decimal(Decimal {
        unscaled: i128::from(number),
        scale: 0,
    })
}

fn lsn(lsn: u64) -> Value {
    lsn_of(Lsn(lsn))
}

fn number(identity: Option<i64>) -> i32 {
    debug_assert!(identity.is_some(), "the table has an identity column");
    identity.and_then(|id| i32::try_from(id).ok()).unwrap_or(0)
}

/// The number of the row with this GUID in a column, if there is one.
fn row_of(
    session: &mut Session,
    (name, column): (&str, &str),
    guid: Guid,
) -> Result<Option<i32>, EngineError> {
    let table = session.table(name)?;
    let column = tables::place(name, column).unwrap_or_default();
    let mut found = None;
    let scan = session.scan(&table, &ScanSpec::default())?;
    scan.for_each(|row| {
        if row.value(column)? == Value::Guid(guid) {
            found = row.i32(0);
        }
        Ok(())
    })?;
    Ok(found)
}

/// The row of a backup set; inserted if it does not exist.
fn note_set(session: &mut Session, set: &SetOnMedia<'_>) -> Result<i32, EngineError> {
    let known = row_of(session, ("backupset", "backup_set_uuid"), set.info.set)?;
    if let Some(known) = known {
        return Ok(known);
    }
    let media = note_media(session, set)?;
    let table = session.table("backupset")?;
    let id = number(session.insert(&table, &backup_set(media, set))?);
    let table = session.table("backupfile")?;
    for file in &set.info.files {
        session.insert(&table, &backup_file(id, file, set.info))?;
    }
    Ok(id)
}

fn note_media(session: &mut Session, set: &SetOnMedia<'_>) -> Result<i32, EngineError> {
    let Some((_, header)) = set.stripes.first() else {
        return Err(EngineError::Damaged("a backup without stripes".into()));
    };
    let known = row_of(session, ("backupmediaset", "media_uuid"), header.media_set)?;
    if let Some(known) = known {
        return Ok(known);
    }
    let table = session.table("backupmediaset")?;
    let values = [
        Value::Guid(header.media_set),
        Value::TinyInt(u8::try_from(header.families).unwrap_or(u8::MAX)),
        text_or_null(&header.name),
        text_or_null(&header.description),
        text("Furrow"),
        Value::Int(VENDOR),
        Value::TinyInt(1),
        Value::TinyInt(1),
        Value::Bit(false),
        Value::Bit(header.compressed),
        Value::Bit(header.key.is_some()),
    ];
    let id = number(session.insert(&table, &values)?);
    let table = session.table("backupmediafamily")?;
    for (path, header) in set.stripes {
        let values = [
            Value::Int(id),
            tiny(usize::from(header.family)),
            Value::Guid(header.family_guid()),
            Value::Int(1),
            Value::Null,
            path_text(&path.display().to_string()),
            Value::TinyInt(DISK),
            Value::Int(4096),
            Value::TinyInt(0),
        ];
        session.insert(&table, &values)?;
    }
    Ok(id)
}

/// The base of a differential backup: its LSN and its set.
fn base_of(info: &SetInfo) -> (Value, Value) {
    match info.kind {
        BackupKind::Differential => (lsn(info.database_backup_lsn), Value::Guid(info.base)),
        BackupKind::Database | BackupKind::Log | BackupKind::Files => (Value::Null, Value::Null),
    }
}

fn time(us: i64) -> Value {
    datetime(WallTime::from_unix_us(us))
}

/// `type` of a set; `restore_type` has the same values.
fn kind_of(info: &SetInfo) -> Value {
    let kind = match info.kind {
        BackupKind::Database => "D",
        BackupKind::Differential => "I",
        BackupKind::Log => "L",
        BackupKind::Files => "F",
    };
    Value::VarChar(kind.to_owned())
}

/// The row of a set, in the order of the columns in `tables`.
fn backup_set(media: i32, set: &SetOnMedia<'_>) -> Vec<Value> {
    let mut values = of_media(media, set);
    values.extend(of_backup(set.info));
    values.extend(of_database(set.info));
    values
}

/// The columns up to `mtf_minor_version`: the position and the name of the set.
fn of_media(media: i32, set: &SetOnMedia<'_>) -> Vec<Value> {
    let (info, families) = (set.info, set.stripes.len());
    let one = || Value::SmallInt(1);
    let mut values = vec![Value::Guid(info.set), Value::Int(media)];
    values.extend([tiny(1), one(), tiny(families), one(), tiny(families), one()]);
    values.extend([Value::Int(i32::from(set.position)), Value::Null]);
    values.extend([Value::Int(VENDOR), text_or_null(&info.name)]);
    values.extend([text_or_null(&info.description), text(&info.user)]);
    values.extend([tiny(13), tiny(0), Value::SmallInt(0)]);
    // The time zone, in quarters of an hour: UTC.
    values.extend([Value::SmallInt(0), tiny(0)]);
    values
}

/// The columns from `first_lsn` to `collation_name`: the range of the backup.
fn of_backup(info: &SetInfo) -> Vec<Value> {
    let created = DateTime::new(info.created.0, info.created.1).unwrap_or(DateTime::EPOCH);
    let lsns = [
        info.first_lsn,
        info.last_lsn,
        info.checkpoint_lsn,
        info.database_backup_lsn,
    ];
    let mut values = Vec::from(lsns.map(lsn));
    values.push(Value::DateTime(created));
    values.extend([info.started_us, info.finished_us].map(time));
    values.extend([kind_of(info), Value::SmallInt(52), Value::SmallInt(0)]);
    values.push(tiny(usize::from(info.compatibility)));
    let version = Value::Int(i32::from(info.database_version));
    values.extend([version, whole(info.bytes), text(&info.database)]);
    values.extend([text(&info.server), text(&info.server)]);
    values.extend([info.flags(), 1033, 196_609].map(Value::Int));
    values.push(text("SQL_Latin1_General_CP1_CI_AS"));
    values
}

/// The columns from `is_password_protected` on: the state of the database, and the key.
fn of_database(info: &SetInfo) -> Vec<Value> {
    let (bit, key) = (Value::Bit, info.encryption.as_ref());
    let mut values = vec![bit(false), text(&info.recovery_model)];
    // Bulk-logged data, a snapshot, read-only, single user.
    values.extend([false, false, info.read_only, false].map(bit));
    values.extend([info.checksums, info.damaged].map(bit));
    // Begins the log chain, incomplete metadata, offline.
    values.extend([false, false, false, info.copy_only].map(bit));
    let (first_fork, fork_point) = info.first_fork();
    values.extend([first_fork, info.fork].map(Value::Guid));
    values.push(fork_point.map_or(Value::Null, lsn));
    values.extend([info.binding, info.family].map(Value::Guid));
    let (base_lsn, base) = base_of(info);
    values.extend([base_lsn, base, whole(info.stored_bytes)]);
    let key_columns = key.map(|key| {
        [
            text(&key.algorithm.to_lowercase()),
            Value::Binary(key.thumbprint_bytes()),
            text("CERTIFICATE"),
        ]
    });
    values.extend(key_columns.unwrap_or([Value::Null, Value::Null, Value::Null]));
    values
}

/// The row of a file, in the order of the columns in `tables`.
fn backup_file(set: i32, file: &SetFile, info: &SetInfo) -> Vec<Value> {
    let is_log = file.filegroup == 0;
    let (base_lsn, base) = base_of(info);
    vec![
        Value::Int(set),
        tiny(1),
        Value::SmallInt(1),
        text_or_null(&file.filegroup_name),
        Value::Int(8192),
        whole(u64::from(file.id)),
        whole(file.pages),
        Value::VarChar(if is_log { "L" } else { "D" }.to_owned()),
        whole(512),
        whole(u64::from(file.size_pages) * 8192),
        text(&file.name),
        Value::Null,
        path_text(&file.path),
        tiny(0),
        text("ONLINE"),
        lsn(file.created_lsn),
        Value::Null,
        Value::Guid(file.guid),
        Value::Null,
        Value::Null,
        base_lsn,
        base,
        whole(file.pages.saturating_mul(8192)),
        Value::Null,
        Value::Bit(file.read_only),
        Value::Bit(true),
    ]
}
