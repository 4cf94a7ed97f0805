//! Keys of backups: found by name for a backup, by thumbprint for a restore.
//!
//! A key is 64 hexadecimal digits: in the file `NAME.key` of a directory, or in the environment variable
//! `FURROW_BACKUP_KEY_NAME`. Case does not matter in names.

use crate::media::{BackupKey, Thumbprint};
use furrow_io::{IoError, Volume, read_file};
use std::path::{Path, PathBuf};

/// What a variable of the environment with a key begins with.
const VARIABLE: &str = "FURROW_BACKUP_KEY_";
/// What a file with a key ends with.
const EXTENSION: &str = "key";

/// Why a key cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// Its file cannot be read.
    #[error("the key in {} cannot be read: {}", .0.display(), .1)]
    Io(PathBuf, IoError),
    /// It is no key.
    #[error("{0} is no key: a key is 64 hexadecimal digits")]
    Malformed(String),
}

/// The keys that there are.
#[derive(Debug, Clone, Default)]
pub struct KeyRing {
    keys: Vec<BackupKey>,
    /// Names of what should be keys, and why they are none.
    bad: Vec<(String, KeyError)>,
}

impl KeyRing {
    /// The keys in the environment.
    pub fn from_environment() -> KeyRing {
        let mut ring = KeyRing::default();
        for (variable, value) in std::env::vars_os() {
            let Some(name) = variable.to_str().and_then(|v| v.strip_prefix(VARIABLE)) else {
                continue;
            };
            let malformed = || KeyError::Malformed(format!("the variable {VARIABLE}{name}"));
            match BackupKey::parse(name, value.as_encoded_bytes()) {
                Some(key) => ring.keys.push(key),
                None => ring.bad.push((name.to_owned(), malformed())),
            }
        }
        ring
    }

    /// One key alone.
    pub fn of(key: BackupKey) -> KeyRing {
        KeyRing {
            keys: vec![key],
            bad: Vec::new(),
        }
    }

    /// Adds the keys in a directory, if it is there.
    pub fn add_directory(&mut self, volume: &dyn Volume, directory: &Path) {
        let mut paths = volume.list(directory).unwrap_or_default();
        paths.sort();
        for path in paths {
            if path.extension().is_some_and(|e| e == EXTENSION)
                && let Err(error) = self.add_file(volume, &path)
            {
                self.bad.push((stem(&path), error));
            }
        }
    }

    /// Adds the key in a file.
    pub fn add_file(&mut self, volume: &dyn Volume, path: &Path) -> Result<(), KeyError> {
        let text = read_file(volume, path);
        let text = text.map_err(|e| KeyError::Io(path.to_path_buf(), e))?;
        let malformed = || KeyError::Malformed(path.display().to_string());
        let key = BackupKey::parse(stem(path), &text).ok_or_else(malformed)?;
        self.keys.push(key);
        Ok(())
    }

    /// The key of a name; `None` where there is none, an error where it is no key.
    pub fn named(&self, name: &str) -> Result<Option<&BackupKey>, KeyError> {
        let lower = name.to_lowercase();
        if let Some(key) = self.keys.iter().find(|k| k.name().to_lowercase() == lower) {
            return Ok(Some(key));
        }
        match self.bad.iter().find(|b| b.0.to_lowercase() == lower) {
            Some((_, error)) => Err(error.clone()),
            None => Ok(None),
        }
    }

    /// The key of a thumbprint.
    pub fn find(&self, thumbprint: &Thumbprint) -> Option<&BackupKey> {
        self.keys.iter().find(|k| k.thumbprint() == *thumbprint)
    }
}

fn stem(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default();
    stem.to_string_lossy().into_owned()
}
