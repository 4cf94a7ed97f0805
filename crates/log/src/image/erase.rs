//! What ends a log that is put together: records that are left out, and an extension that is given up.

use super::{Behind, LogImage, shortened};
use crate::LogError;
use crate::directory::write_directory;
use crate::layout::{BlockHeader, SECTOR};
use crate::reader::read_block;
use furrow_format::Lsn;
use furrow_io::{AlignedBuf, File, read_around};

/// How much is made zero at once.
const ZERO_BYTES: usize = 1 << 20;

impl LogImage {
    /// Makes the log end before [`LogImage::stop_at`], whatever was written behind it before.
    pub fn cut(&self) -> Result<(), LogError> {
        match self.stop {
            Lsn::MAX => Ok(()),
            stop => self.erase_from(stop),
        }
    }

    /// Whether an extension was interrupted: its blocks may be put in again, or given up.
    pub fn is_interrupted(&self) -> bool {
        self.behind == Behind::Strays
    }

    /// Ends an extension that was interrupted, durably: the log ends where it ended before.
    /// [`LogError::Damaged`] of a log that has lost records; it stays as it is.
    pub fn give_up_extension(&mut self) -> Result<(), LogError> {
        match (self.behind, self.directory.growing) {
            (Behind::Lost, _) => return Err(LogError::Damaged(self.last_lsn())),
            (_, None) => return Ok(()),
            (_, Some(_)) => self.give_up_strays()?,
        }
        self.file.sync()?;
        (self.directory.growing, self.directory.reached) = (None, self.last_lsn());
        self.directory.version += 1;
        write_directory(&*self.file, &self.directory)
    }

    pub(super) fn give_up_strays(&mut self) -> Result<(), LogError> {
        match (self.behind, self.directory.growing) {
            (Behind::Lost, Some(_)) => Err(LogError::Damaged(self.last_lsn())),
            (Behind::Strays, _) => self.erase_behind(),
            (Behind::Lost | Behind::Nothing, _) => Ok(()),
        }
    }

    /// Erases what lies behind the last record. What an interrupted extension has left may be of another
    /// recovery fork than what comes; what is lost comes again.
    pub(super) fn erase_behind(&mut self) -> Result<(), LogError> {
        if std::mem::replace(&mut self.behind, Behind::Nothing) == Behind::Nothing {
            return Ok(());
        }
        self.erase_from(self.last_lsn().next())?;
        zero(
            &*self.file,
            (self.directory.file_bytes(), self.file.len_bytes()?),
        )
    }

    /// Erases records from `stop` on.
    fn erase_from(&self, stop: Lsn) -> Result<(), LogError> {
        let last = stop.vlf();
        if let Some((start, size)) = self.place(last) {
            let offset = u64::from(stop.block()) * SECTOR as u64;
            let (at, room) = (start + offset, size.saturating_sub(offset));
            let block = read_block(&*self.file, at, room, self.directory.log_id())?;
            let sector = self.directory.sector as usize;
            let used = match block {
                Some(b) if b.last_lsn() < stop => {
                    BlockHeader::padded(b.header.used as usize, sector)
                }
                Some(b) if b.header.lsn.next() < stop => {
                    let bytes = b.bytes.get(..b.header.used as usize).unwrap_or_default();
                    let kept = shortened(bytes, b.header, stop);
                    let (bytes, header) = kept.ok_or(LogError::Missing(stop))?;
                    self.put(at, bytes, header)?
                }
                _ => 0,
            };
            zero(&*self.file, (at + used as u64, start + size))?;
        }
        let vlfs = self.directory.vlfs().into_iter().zip(&self.seqs);
        for ((start, size), _) in vlfs.filter(|(_, seq)| **seq == 0 || **seq > last) {
            zero(&*self.file, (start, start + size))?;
        }
        Ok(())
    }
}

/// Writes zeros over a span of a file, where there are none, or nothing can be read.
fn zero(file: &dyn File, (from, end): (u64, u64)) -> Result<(), LogError> {
    let mut at = from;
    while at < end {
        let len = (end - at).min(ZERO_BYTES as u64) as usize;
        let mut bytes = AlignedBuf::new(len);
        let unreadable = read_around(file, at, &mut bytes)?;
        if !unreadable.is_empty() || bytes.iter().any(|&b| b != 0) {
            file.write_at(at, &AlignedBuf::new(len))?;
        }
        at += len as u64;
    }
    Ok(())
}
