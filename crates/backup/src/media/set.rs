//! What a backup set says of itself: a text in JSON, in its begin and in its end.

use furrow_types::Guid;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// What was backed up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BackupKind {
    /// The database.
    Database,
    /// The log.
    Log,
    /// What has changed since a full backup.
    Differential,
    /// Some files.
    Files,
}

impl BackupKind {
    /// `BackupType` of RESTORE HEADERONLY.
    pub fn number(self) -> i16 {
        match self {
            BackupKind::Database => 1,
            BackupKind::Log => 2,
            BackupKind::Files => 4,
            BackupKind::Differential => 5,
        }
    }

    /// `BackupTypeDescription`.
    pub fn description(self) -> &'static str {
        match self {
            BackupKind::Database => "DATABASE",
            BackupKind::Log => "TRANSACTION LOG",
            BackupKind::Files => "FILE OR FILEGROUP",
            BackupKind::Differential => "DATABASE DIFFERENTIAL",
        }
    }
}

/// A GUID in the text of a set: 32 hexadecimal digits, in the order of the bytes.
mod hex {
    use super::{Deserialize, Deserializer, Guid, Serializer};
    use serde::de::Error;
    use std::fmt::Write;

    pub(super) fn serialize<S: Serializer>(guid: &Guid, to: S) -> Result<S::Ok, S::Error> {
        let mut text = String::with_capacity(32);
        for byte in guid.0 {
            let _ = write!(text, "{byte:02x}");
        }
        to.serialize_str(&text)
    }

    pub(super) fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<Guid, D::Error> {
        let text = String::deserialize(from)?;
        let bad = || D::Error::custom("a GUID has 32 hexadecimal digits");
        let mut guid = [0; 16];
        if text.len() != 32 || !text.is_ascii() {
            return Err(bad());
        }
        for (at, byte) in guid.iter_mut().enumerate() {
            let digits = text.get(2 * at..2 * at + 2).ok_or_else(bad)?;
            *byte = u8::from_str_radix(digits, 16).map_err(|_| bad())?;
        }
        Ok(Guid(guid))
    }
}

fn no_base() -> Guid {
    Guid([0; 16])
}

/// A data file, or the log, of a backup set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetFile {
    /// Its number; 2 is the log.
    pub id: u16,
    /// Its filegroup; 0 of the log.
    pub filegroup: u16,
    /// The filegroup's name; empty of the log.
    pub filegroup_name: String,
    /// Its logical name.
    pub name: String,
    /// Where it was.
    pub path: String,
    /// Its size.
    pub size_pages: u32,
    /// Its largest size, if it has one.
    pub max_pages: Option<u32>,
    /// Its own GUID.
    #[serde(with = "hex")]
    pub guid: Guid,
    /// Whether its filegroup is read-only.
    pub read_only: bool,
    /// Pages of it in this set.
    pub pages: u64,
    /// Where the log was when the file was made; 0 of the log.
    #[serde(default)]
    pub created_lsn: u64,
    /// The size it was made with; 0 of the log.
    #[serde(default)]
    pub first_pages: u32,
    /// Whether the set has pages of it; of the log: whether it has log.
    #[serde(default = "is_present")]
    pub present: bool,
}

fn is_present() -> bool {
    true
}

/// The log in a backup set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct SetLog {
    /// Blocks are padded to this many bytes.
    pub sector_bytes: u32,
    /// Number and size of the virtual log files that blocks are of, in order.
    pub vlfs: Vec<(u32, u64)>,
    /// Bytes of log in this set.
    pub bytes: u64,
}

/// A recovery fork of the database.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetFork {
    /// Its GUID.
    #[serde(with = "hex")]
    pub fork: Guid,
    /// Its first record; 0 of the one that the database was created with.
    pub first_lsn: u64,
}

/// How a backup set is encrypted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetEncryption {
    /// `AES_256`.
    pub algorithm: String,
    /// The name that the key had.
    pub key: String,
    /// The thumbprint of the key, in hexadecimal digits.
    pub thumbprint: String,
}

impl SetEncryption {
    /// The bytes of the thumbprint.
    pub fn thumbprint_bytes(&self) -> Vec<u8> {
        let pairs = self.thumbprint.as_bytes().as_chunks::<2>().0.iter();
        pairs
            .filter_map(|pair| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok())
            .collect()
    }
}

/// What a backup set says of itself. LSNs are the engine's 64-bit form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetInfo {
    /// What was backed up.
    pub kind: BackupKind,
    /// The set's own GUID.
    #[serde(with = "hex")]
    pub set: Guid,
    /// NAME.
    pub name: String,
    /// DESCRIPTION.
    pub description: String,
    /// The database.
    pub database: String,
    /// The family of the database: the same in all restored copies.
    #[serde(with = "hex")]
    pub family: Guid,
    /// Its recovery fork.
    #[serde(with = "hex")]
    pub fork: Guid,
    /// Its recovery forks, the present one first; absent of earlier versions, which had one alone.
    #[serde(default)]
    pub forks: Vec<SetFork>,
    /// Its files' binding.
    #[serde(with = "hex")]
    pub binding: Guid,
    /// The version of its format.
    pub database_version: u16,
    /// Its compatibility level.
    pub compatibility: u16,
    /// When it was created: days since 1900 and ticks of 1/300 s.
    pub created: (i32, u32),
    /// `SIMPLE`, `FULL` or `BULK_LOGGED`.
    pub recovery_model: String,
    /// Whether it takes no changes.
    pub read_only: bool,
    /// Who asked for the backup.
    pub user: String,
    /// The server.
    pub server: String,
    /// When it began, in microseconds since 1970.
    pub started_us: i64,
    /// When it ended; 0 in a begin.
    pub finished_us: i64,
    /// The first log record that a restore needs.
    pub first_lsn: u64,
    /// The last log record; 0 in a begin.
    pub last_lsn: u64,
    /// The checkpoint from which a restore recovers.
    pub checkpoint_lsn: u64,
    /// The last full backup before this one.
    pub database_backup_lsn: u64,
    /// Of a differential backup, the set that it builds on; zeros else.
    #[serde(with = "hex", default = "no_base")]
    pub base: Guid,
    /// The name of the codec; empty where it is not compressed.
    pub compression: String,
    /// Of an encrypted set, the key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encryption: Option<SetEncryption>,
    /// Whether page checksums were verified.
    pub checksums: bool,
    /// Whether damaged pages were found.
    pub damaged: bool,
    /// COPY_ONLY.
    pub copy_only: bool,
    /// The files.
    pub files: Vec<SetFile>,
    /// The log.
    pub log: SetLog,
    /// Bytes before packing.
    pub bytes: u64,
    /// Bytes written to all stripes.
    pub stored_bytes: u64,
    /// When the last commit in the log was, in microseconds since 1970; absent where there is none.
    #[serde(default)]
    pub last_commit_us: Option<i64>,
    /// Of an end: chunks of the set in each stripe, its end not counted.
    pub chunks: Vec<u64>,
}

impl SetInfo {
    /// The text.
    pub fn encode(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// The recovery fork of the first record, and where the present one began if that is another one.
    pub fn first_fork(&self) -> (Guid, Option<u64>) {
        let of = |fork: &&SetFork| fork.first_lsn <= self.first_lsn;
        match (self.forks.iter().find(of), self.forks.first()) {
            (Some(first), Some(last)) if first != last => (first.fork, Some(last.first_lsn)),
            _ => (self.fork, None),
        }
    }

    /// `Flags` of RESTORE HEADERONLY: 4 read-only, 16 with checksums, 32 damaged.
    pub fn flags(&self) -> i32 {
        i32::from(self.read_only) << 2
            | i32::from(self.checksums) << 4
            | i32::from(self.damaged) << 5
    }

    /// What an encrypted set says to those without its key: neither files nor log.
    #[must_use]
    pub(super) fn outline(&self) -> SetInfo {
        SetInfo {
            files: Vec::new(),
            log: SetLog::default(),
            ..self.clone()
        }
    }

    /// Reads the text.
    pub fn decode(text: &[u8]) -> Option<SetInfo> {
        let info: SetInfo = serde_json::from_slice(text).ok()?;
        // Something follows each record.
        (info.last_lsn < u64::MAX).then_some(info)
    }
}
