//! The files of an error log.

use super::{Encoding, Entry};
use furrow_io::{Access, File, Fill, IoError, Open, Volume};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes of one copying step.
const COPY_BYTES: usize = 64 * 1024;

/// The current file and the place of the older ones.
#[derive(Debug)]
pub(super) struct LogFile {
    volume: Arc<dyn Volume>,
    dir: PathBuf,
    archives: usize,
    encoding: Encoding,
    /// Open, except after a failure: then the next append opens it again.
    file: Option<Arc<dyn File>>,
    /// Everything before it is durable.
    end_bytes: u64,
    /// A crash left the last line without its end.
    torn: bool,
}

impl LogFile {
    /// Opens or creates the current file; its content stays.
    pub(super) fn open(
        volume: Arc<dyn Volume>,
        dir: &Path,
        archives: usize,
        encoding: Encoding,
    ) -> Result<LogFile, IoError> {
        volume.create_dir(dir)?;
        let path = dir.join("ERRORLOG");
        let how = if volume.exists(&path)? {
            Open::Existing
        } else {
            Open::Create
        };
        let file = volume.open(&path, how, Access::Log)?;
        let mut end_bytes = file.len_bytes()?;
        if encoding == Encoding::Utf16 {
            // Half a unit, left by a crash, would shift all that follow.
            end_bytes &= !1;
        }
        let torn = end_bytes > 0 && !ends_a_line(&*file, end_bytes)?;
        Ok(LogFile {
            volume,
            dir: dir.to_path_buf(),
            archives,
            encoding,
            file: Some(file),
            end_bytes,
            torn,
        })
    }

    /// Where a file lies: 0 is the current one.
    pub(super) fn path(&self, number: usize) -> PathBuf {
        match number {
            0 => self.dir.join("ERRORLOG"),
            _ => self.dir.join(format!("ERRORLOG.{number}")),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.end_bytes == 0
    }

    /// Adds lines to the current file, durably. After a failure the file ends where it ended before;
    /// bytes of the failed attempt are overwritten by the next.
    pub(super) fn append(&mut self, entries: &[Entry]) -> Result<(), IoError> {
        let mut text = String::from(if self.torn { "\n" } else { "" });
        for entry in entries {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{entry}");
        }
        let mut bytes = Vec::new();
        match self.encoding {
            Encoding::Utf8 => bytes.extend_from_slice(text.as_bytes()),
            Encoding::Utf16 => {
                let mark = self.is_empty().then_some(0xfeff);
                mark.into_iter()
                    .chain(text.encode_utf16())
                    .for_each(|unit| bytes.extend_from_slice(&unit.to_le_bytes()));
            }
        }
        let result = self.append_bytes(&bytes);
        if result.is_err() {
            self.file = None;
        }
        result
    }

    fn append_bytes(&mut self, bytes: &[u8]) -> Result<(), IoError> {
        let file = self.current()?;
        file.write_at(self.end_bytes, bytes)?;
        file.sync()?;
        self.end_bytes += bytes.len() as u64;
        self.torn = false;
        Ok(())
    }

    fn current(&mut self) -> Result<Arc<dyn File>, IoError> {
        if let Some(file) = &self.file {
            return Ok(Arc::clone(file));
        }
        let file = self
            .volume
            .open(&self.path(0), Open::Existing, Access::Log)?;
        file.resize(self.end_bytes, Fill::Zero)?;
        self.file = Some(Arc::clone(&file));
        Ok(file)
    }

    /// Moves every file one number up; the oldest goes, the current one is empty afterwards. After a
    /// failure it may be tried again: some files are there twice then, none is missing.
    pub(super) fn cycle(&mut self) -> Result<(), IoError> {
        let result = self.cycle_files();
        if result.is_err() {
            self.file = None;
        }
        result
    }

    fn cycle_files(&mut self) -> Result<(), IoError> {
        for number in (0..self.archives).rev() {
            if number == 0 || self.volume.exists(&self.path(number))? {
                self.copy(number, number + 1)?;
            }
        }
        self.current()?.resize(0, Fill::Zero)?;
        self.end_bytes = 0;
        self.torn = false;
        Ok(())
    }

    fn copy(&mut self, from: usize, to: usize) -> Result<(), IoError> {
        let target = self.path(to);
        if self.volume.exists(&target)? {
            self.volume.remove(&target)?;
        }
        let old = match from {
            0 => self.current()?,
            _ => self
                .volume
                .open(&self.path(from), Open::ReadOnly, Access::Log)?,
        };
        let new = self.volume.open(&target, Open::Create, Access::Log)?;
        let len = old.len_bytes()?;
        let mut buf = vec![0; COPY_BYTES];
        let mut at = 0;
        while at < len {
            let step = usize::try_from(len - at)
                .unwrap_or(COPY_BYTES)
                .min(COPY_BYTES);
            let part = &mut buf[..step];
            old.read_at(at, part)?;
            new.write_at(at, part)?;
            at += step as u64;
        }
        new.sync()
    }

    /// The lines of a file; `None` where there is none of that number.
    pub(super) fn read(&self, number: usize) -> Result<Option<Vec<Entry>>, IoError> {
        let path = self.path(number);
        if !self.volume.exists(&path)? {
            return Ok(None);
        }
        let file = match (&self.file, number) {
            (Some(file), 0) => Arc::clone(file),
            _ => self.volume.open(&path, Open::ReadOnly, Access::Log)?,
        };
        let len = usize::try_from(file.len_bytes()?).unwrap_or(usize::MAX);
        let mut bytes = vec![0; len];
        if len > 0 {
            file.read_at(0, &mut bytes)?;
        }
        Ok(Some(parse(&bytes)))
    }
}

/// Whether the last bytes are a line break, in either encoding.
fn ends_a_line(file: &dyn File, len_bytes: u64) -> Result<bool, IoError> {
    let mut last = vec![0; usize::try_from(len_bytes.min(2)).unwrap_or(2)];
    file.read_at(len_bytes - last.len() as u64, &mut last)?;
    Ok(last.ends_with(b"\n") || last == b"\n\0")
}

/// The lines of a file of either encoding. A line without a prefix, as other programs or a crash leave
/// them, has time and source of the line before it.
fn parse(bytes: &[u8]) -> Vec<Entry> {
    let text = match bytes.strip_prefix(&[0xff, 0xfe]) {
        Some(rest) => {
            let units = rest
                .chunks_exact(2)
                .filter_map(|pair| <[u8; 2]>::try_from(pair).ok());
            String::from_utf16_lossy(&units.map(u16::from_le_bytes).collect::<Vec<u16>>())
        }
        None => String::from_utf8_lossy(bytes).into_owned(),
    };
    let mut entries: Vec<Entry> = Vec::new();
    for line in text.lines() {
        let line = line.trim_matches('\0');
        let entry = Entry::parse(line).or_else(|| {
            let before = entries.last().filter(|_| !line.is_empty())?;
            Some(Entry {
                text: line.to_owned(),
                ..before.clone()
            })
        });
        entries.extend(entry);
    }
    entries
}
