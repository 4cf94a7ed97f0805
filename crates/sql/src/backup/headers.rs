//! RESTORE FILELISTONLY, HEADERONLY and LABELONLY: the contents of media as result sets.

use furrow_backup::media::{BackupKind, SetFile, SetInfo};
use furrow_backup::{BackupError, MediaSet};
use furrow_context::run::Run;
use furrow_context::sink::ResultColumn;
use furrow_format::Lsn;
use furrow_io::time::WallTime;
use furrow_sysviews::value::{
    BIGINT, BIT, DATETIME, GUID, INT, LSN, SMALLINT, TINYINT, char, datetime, lsn as lsn_of,
    nvarchar, varbinary,
};
use furrow_tsql::ast::database::RestoreKind;
use furrow_types::{DataType, DateTime, Decimal, TypeId, Value};

/// `numeric(20, 0)`, the type of sizes.
const SIZE: DataType = DataType {
    precision: 20,
    length: 13,
    ..DataType::simple(TypeId::Numeric)
};
/// `MaxSize` of a file without a limit.
const UNLIMITED_BYTES: u64 = 35_184_372_080_640;
/// `SoftwareVendorId`: SQL Server's, so that tools accept the rows.
const VENDOR: i32 = 4608;

/// A result set.
pub(super) struct Rows {
    columns: Vec<ResultColumn>,
    rows: Vec<Vec<Value>>,
}

/// Sends a result set.
pub(super) fn send(run: &mut Run<'_>, reported: &Rows) {
    run.sink.columns(&reported.columns);
    for row in &reported.rows {
        run.sink.row(row);
    }
    run.done(Some(reported.rows.len() as u64));
}

type Column = (&'static str, DataType);

fn columns(of: &[Column]) -> Vec<ResultColumn> {
    let column = |&(name, data_type): &Column| ResultColumn {
        name: name.to_owned(),
        data_type,
        nullable: true,
    };
    of.iter().map(column).collect()
}

/// The result set of one of the three statements.
pub(super) fn rows(
    media: &MediaSet,
    kind: RestoreKind,
    position: Option<u16>,
) -> Result<Rows, BackupError> {
    let (of, rows) = match kind {
        RestoreKind::LabelOnly => (LABEL, label(media)),
        RestoreKind::HeaderOnly => {
            let sets = media.sets()?;
            let wanted = |p: u16| position.is_none_or(|wanted| wanted == p);
            let compressed = media.header().is_some_and(|h| h.compressed);
            let sets = sets.iter().filter(|s| wanted(s.0));
            (
                HEADER,
                sets.map(|(p, info)| header(*p, info, compressed)).collect(),
            )
        }
        _ => {
            let info = media.info(position.unwrap_or(1))?;
            (FILES, info.files.iter().map(|f| file(f, &info)).collect())
        }
    };
    Ok(Rows {
        columns: columns(of),
        rows,
    })
}

fn text(text: &str) -> Value {
    Value::NVarChar(text.to_owned())
}

fn size(bytes: u64) -> Value {
    Value::Decimal(Decimal {
        unscaled: i128::from(bytes),
        scale: 0,
    })
}

fn time(us: i64) -> Value {
    datetime(WallTime::from_unix_us(us))
}

fn lsn(lsn: u64) -> Value {
    lsn_of(Lsn(lsn))
}

const FILES: &[Column] = &[
    ("LogicalName", nvarchar(128)),
    ("PhysicalName", nvarchar(260)),
    ("Type", char(1)),
    ("FileGroupName", nvarchar(128)),
    ("Size", SIZE),
    ("MaxSize", SIZE),
    ("FileId", BIGINT),
    ("CreateLSN", LSN),
    ("DropLSN", LSN),
    ("UniqueId", GUID),
    ("ReadOnlyLSN", LSN),
    ("ReadWriteLSN", LSN),
    ("BackupSizeInBytes", BIGINT),
    ("SourceBlockSize", INT),
    ("FileGroupId", INT),
    ("LogGroupGUID", GUID),
    ("DifferentialBaseLSN", LSN),
    ("DifferentialBaseGUID", GUID),
    ("IsReadOnly", BIT),
    ("IsPresent", BIT),
    ("TDEThumbprint", varbinary(32)),
    ("SnapshotUrl", nvarchar(360)),
];

fn file(file: &SetFile, info: &SetInfo) -> Vec<Value> {
    let is_log = file.filegroup == 0;
    let bytes = |pages: u32| u64::from(pages) * 8192;
    vec![
        text(&file.name),
        text(&file.path),
        Value::VarChar(if is_log { "L" } else { "D" }.to_owned()),
        if is_log {
            Value::Null
        } else {
            text(&file.filegroup_name)
        },
        size(bytes(file.size_pages)),
        size(file.max_pages.map_or(UNLIMITED_BYTES, bytes)),
        Value::BigInt(i64::from(file.id)),
        lsn(0),
        Value::Null,
        Value::Guid(file.guid),
        lsn(0),
        lsn(0),
        Value::BigInt(i64::try_from(file.pages.saturating_mul(8192)).unwrap_or(i64::MAX)),
        Value::Int(4096),
        Value::Int(i32::from(file.filegroup)),
        Value::Null,
        base_of(info).0,
        base_of(info).1,
        Value::Bit(file.read_only),
        Value::Bit(file.present),
        Value::Null,
        Value::Null,
    ]
}

/// The base of a differential backup: its LSN and its set.
fn base_of(info: &SetInfo) -> (Value, Value) {
    match info.kind {
        BackupKind::Differential => (lsn(info.database_backup_lsn), Value::Guid(info.base)),
        BackupKind::Database | BackupKind::Files | BackupKind::Log => (Value::Null, Value::Null),
    }
}

const LABEL: &[Column] = &[
    ("MediaName", nvarchar(128)),
    ("MediaSetId", GUID),
    ("FamilyCount", INT),
    ("FamilySequenceNumber", INT),
    ("MediaFamilyId", GUID),
    ("MediaSequenceNumber", INT),
    ("MediaLabelPresent", TINYINT),
    ("MediaDescription", nvarchar(255)),
    ("SoftwareName", nvarchar(128)),
    ("SoftwareVendorId", INT),
    ("MediaDate", DATETIME),
    ("Mirror_Count", INT),
    ("IsCompressed", BIT),
];

fn label(media: &MediaSet) -> Vec<Vec<Value>> {
    let row = media.header().map(|header| {
        let named = |name: &str| match name {
            "" => Value::Null,
            name => text(name),
        };
        vec![
            named(&header.name),
            Value::Guid(header.media_set),
            Value::Int(i32::from(header.families)),
            Value::Int(i32::from(header.family)),
            Value::Guid(header.family_guid()),
            Value::Int(1),
            Value::TinyInt(0),
            named(&header.description),
            text("Furrow"),
            Value::Int(VENDOR),
            time(header.formatted_us),
            Value::Int(1),
            Value::Bit(header.compressed),
        ]
    });
    row.into_iter().collect()
}

const HEADER: &[Column] = &[
    ("BackupName", nvarchar(128)),
    ("BackupDescription", nvarchar(255)),
    ("BackupType", SMALLINT),
    ("ExpirationDate", DATETIME),
    ("Compressed", BIT),
    ("Position", SMALLINT),
    ("DeviceType", TINYINT),
    ("UserName", nvarchar(128)),
    ("ServerName", nvarchar(128)),
    ("DatabaseName", nvarchar(128)),
    ("DatabaseVersion", INT),
    ("DatabaseCreationDate", DATETIME),
    ("BackupSize", SIZE),
    ("FirstLSN", LSN),
    ("LastLSN", LSN),
    ("CheckpointLSN", LSN),
    ("DatabaseBackupLSN", LSN),
    ("BackupStartDate", DATETIME),
    ("BackupFinishDate", DATETIME),
    ("SortOrder", SMALLINT),
    ("CodePage", SMALLINT),
    ("UnicodeLocaleId", INT),
    ("UnicodeComparisonStyle", INT),
    ("CompatibilityLevel", TINYINT),
    ("SoftwareVendorId", INT),
    ("SoftwareVersionMajor", INT),
    ("SoftwareVersionMinor", INT),
    ("SoftwareVersionBuild", INT),
    ("MachineName", nvarchar(128)),
    ("Flags", INT),
    ("BindingID", GUID),
    ("RecoveryForkID", GUID),
    ("Collation", nvarchar(128)),
    ("FamilyGUID", GUID),
    ("HasBulkLoggedData", BIT),
    ("IsSnapshot", BIT),
    ("IsReadOnly", BIT),
    ("IsSingleUser", BIT),
    ("HasBackupChecksums", BIT),
    ("IsDamaged", BIT),
    ("BeginsLogChain", BIT),
    ("HasIncompleteMetaData", BIT),
    ("IsForceOffline", BIT),
    ("IsCopyOnly", BIT),
    ("FirstRecoveryForkID", GUID),
    ("ForkPointLSN", LSN),
    ("RecoveryModel", nvarchar(60)),
    ("DifferentialBaseLSN", LSN),
    ("DifferentialBaseGUID", GUID),
    ("BackupTypeDescription", nvarchar(60)),
    ("BackupSetGUID", GUID),
    ("CompressedBackupSize", BIGINT),
    ("Containment", TINYINT),
    ("KeyAlgorithm", nvarchar(32)),
    ("EncryptorThumbprint", varbinary(20)),
    ("EncryptorType", nvarchar(32)),
];

fn header(position: u16, info: &SetInfo, compressed: bool) -> Vec<Value> {
    let named = |name: &str| match name {
        "" => Value::Null,
        name => text(name),
    };
    let bit = Value::Bit;
    let encryption = info.encryption.as_ref();
    let created = DateTime::new(info.created.0, info.created.1).unwrap_or(DateTime::EPOCH);
    vec![
        named(&info.name),
        named(&info.description),
        Value::SmallInt(info.kind.number()),
        Value::Null,
        bit(compressed),
        Value::SmallInt(i16::try_from(position).unwrap_or(i16::MAX)),
        Value::TinyInt(2),
        text(&info.user),
        text(&info.server),
        text(&info.database),
        Value::Int(i32::from(info.database_version)),
        Value::DateTime(created),
        size(info.bytes),
        lsn(info.first_lsn),
        lsn(info.last_lsn),
        lsn(info.checkpoint_lsn),
        lsn(info.database_backup_lsn),
        time(info.started_us),
        time(info.finished_us),
        Value::SmallInt(52),
        Value::SmallInt(0),
        Value::Int(1033),
        Value::Int(196_609),
        Value::TinyInt(u8::try_from(info.compatibility).unwrap_or(u8::MAX)),
        Value::Int(VENDOR),
        Value::Int(13),
        Value::Int(0),
        Value::Int(0),
        text(&info.server),
        Value::Int(info.flags()),
        Value::Guid(info.binding),
        Value::Guid(info.fork),
        text("SQL_Latin1_General_CP1_CI_AS"),
        Value::Guid(info.family),
        bit(false),
        bit(false),
        bit(info.read_only),
        bit(false),
        bit(info.checksums),
        bit(info.damaged),
        bit(false),
        bit(false),
        bit(false),
        bit(info.copy_only),
        Value::Guid(info.first_fork().0),
        info.first_fork().1.map_or(Value::Null, lsn),
        text(&info.recovery_model),
        base_of(info).0,
        base_of(info).1,
        text(info.kind.description()),
        Value::Guid(info.set),
        Value::BigInt(info.stored_bytes as i64),
        Value::TinyInt(0),
        encryption.map_or(Value::Null, |e| text(&e.algorithm.to_lowercase())),
        encryption.map_or(Value::Null, |e| Value::Binary(e.thumbprint_bytes())),
        encryption.map_or(Value::Null, |_| text("CERTIFICATE")),
    ]
}
