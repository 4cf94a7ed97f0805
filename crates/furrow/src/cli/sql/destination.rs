//! Where results go: standard output, a device or pipe, or a file.
//!
//! # A file gets its name late
//! The old content of `-o FILE` and `:out FILE` stays until there is something new to show. The new file gets
//! the name when the first of these happens:
//! 1. Its part of the script ended, whether by an error or not. If no batch was run, the old content stays.
//! 2. A batch ended that came from a prompt or a pipe, whose other end may wait for the results.
//! 3. A batch printed a message that must be seen at once (`RAISERROR ... WITH NOWAIT`).

use crate::cli::out::{OutFile, other};
use furrow_io::{Existing, stream};
use furrow_sql::Server;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where results go.
pub(super) enum Destination {
    Stream(Box<dyn Write>),
    File(OutFile),
}

impl Destination {
    pub(super) fn stream(out: impl Write + 'static) -> Destination {
        Destination::Stream(Box::new(out))
    }

    /// Shows what was written so far: a file gets its name.
    pub(super) fn show(&mut self) -> io::Result<()> {
        match self {
            Destination::Stream(out) => out.flush(),
            Destination::File(out) => out.publish(),
        }
    }
}

impl Write for Destination {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Destination::Stream(out) => out.write(bytes),
            Destination::File(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Destination::Stream(out) => out.flush(),
            Destination::File(out) if out.is_published() => out.flush(),
            Destination::File(_) => Ok(()),
        }
    }
}

/// The files that results must not replace.
pub(super) struct Guarded {
    /// Scripts of the command line, then the scripts that are being read.
    pub(super) scripts: Vec<PathBuf>,
    server: Arc<Server>,
}

impl Guarded {
    pub(super) fn new(scripts: &[PathBuf], server: &Arc<Server>) -> Guarded {
        Guarded {
            scripts: scripts.to_vec(),
            server: Arc::clone(server),
        }
    }

    /// Opens a file for results. A device or pipe is written to as it is.
    pub(super) fn open(&self, path: &Path) -> io::Result<Destination> {
        if let Some(device) = stream::writer(path).map_err(other)? {
            return Ok(Destination::Stream(device));
        }
        if let Some(reason) = self.reason(path) {
            return Err(io::Error::other(reason));
        }
        Ok(Destination::File(OutFile::create(path, Existing::Replace)?))
    }

    /// Why results must not replace the file.
    fn reason(&self, path: &Path) -> Option<String> {
        let is_it = |other: &PathBuf| stream::is_same_file(path, other);
        if self.scripts.iter().any(is_it) || stream::is_standard_input(path) {
            return Some("the results would replace the script".to_owned());
        }
        let instance = self.server.instance();
        let mut databases = instance.databases().into_iter();
        let found = databases.find(|view| {
            let database = instance.database(&view.name).ok();
            let files = database.and_then(|database| database.all_files().ok());
            let mut files = files.unwrap_or_default().into_iter();
            is_it(&view.primary) || files.any(|file| is_it(&file.path))
        });
        if let Some(view) = found {
            return Some(format!("it is a file of the open database {}", view.name));
        }
        // Of a database that is offline or being restored.
        let path = std::path::absolute(stream::destination(path)).ok()?;
        let refused = instance.may_write_over(&path).err()?;
        Some(refused.to_string())
    }
}
