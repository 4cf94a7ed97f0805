//! `furrow backup key`: a new key for encrypted backups.

use crate::cli::outcome::{DONE, FAILED, Failure, REFUSED, print};
use furrow_backup::media::BackupKey;
use furrow_io::random::secret;
use furrow_io::{IoErrorKind, SystemVolume, Volume};
use std::io::Write;
use std::path::Path;

/// Creates the file, readable for its owner alone, and prints the thumbprint of the key.
pub(super) fn make(path: &Path) -> Result<u8, Failure> {
    let Some(bytes) = secret() else {
        return Err(Failure::new(FAILED, "the system gives no random numbers"));
    };
    let digits: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let refused = |reason: &IoErrorKind| {
        Failure::new(REFUSED, format!("cannot make {}: {reason}", path.display()))
    };
    // An instance has no directory `keys` before its first key.
    let made = SystemVolume::new().create_dir(directory);
    made.map_err(|e| refused(&e.kind))?;
    // A temporary file is readable for its owner alone; it gets the name of the key when it is complete.
    let mut file = tempfile::NamedTempFile::new_in(directory)
        .map_err(|e| refused(&IoErrorKind::of_std(&e)))?;
    let written = writeln!(file, "{digits}").and_then(|()| file.as_file().sync_all());
    written.map_err(|e| {
        let reason = IoErrorKind::of_std(&e);
        Failure::new(FAILED, format!("cannot write {}: {reason}", path.display()))
    })?;
    file.persist_noclobber(path)
        .map_err(|e| refused(&IoErrorKind::of_std(&e.error)))?;
    let thumbprint = BackupKey::new("", bytes).thumbprint();
    let thumbprint: String = thumbprint.iter().map(|b| format!("{b:02X}")).collect();
    print(&format!(
        "{} holds a new key with the thumbprint 0x{thumbprint}. Keep a copy of it: without it no backup that \
         is encrypted with it can be restored.\n",
        path.display()
    ))?;
    Ok(DONE)
}
