//! `furrow backup key`: a new key for encrypted backups.

use crate::cli::outcome::{DONE, FAILED, Failure, REFUSED, print};
use furrow_backup::media::BackupKey;
use furrow_io::random::secret;
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
    let refused = |e: &dyn std::fmt::Display| {
        Failure::new(REFUSED, format!("cannot make {}: {e}", path.display()))
    };
    // A temporary file is readable for its owner alone; it gets the name of the key when it is complete.
    let mut file = tempfile::NamedTempFile::new_in(directory).map_err(|e| refused(&e))?;
    let written = writeln!(file, "{digits}").and_then(|()| file.as_file().sync_all());
    written.map_err(|e| Failure::new(FAILED, format!("cannot write {}: {e}", path.display())))?;
    file.persist_noclobber(path)
        .map_err(|e| refused(&e.error))?;
    let thumbprint = BackupKey::new("", bytes).thumbprint();
    let thumbprint: String = thumbprint.iter().map(|b| format!("{b:02X}")).collect();
    print(&format!(
        "{} holds a new key with the thumbprint 0x{thumbprint}. Keep a copy of it: without it no backup that \
         is encrypted with it can be restored.\n",
        path.display()
    ))?;
    Ok(DONE)
}
