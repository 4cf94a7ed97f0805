//! The undo file of RESTORE ... WITH STANDBY: what the files of a database held before it was opened.
//!
//! A database in standby was recovered, although more log is to come. Before a unit of one of its files is
//! written for the first time, the undo file gets what was there, durably. [`put_back`] writes all of it
//! back: the files are as the restore has left them, and the next log can be restored.
//!
//! # Format
//! Units of 4096 bytes. The first unit: magic, binding GUID of the database. Then entries: a unit with the
//! number of the file `u16`, the kind `u8` (0 an image, 1 the length of a file), an offset or length `u64`,
//! the bytes of the image `u32`, how much of the undo file was durable before `u64`, and the CRC-32C of the
//! binding, these fields and the image; then the image, filled up to 8192 bytes. The first entry that is not
//! whole ends the file: what it has the image of was not written yet. It is damaged if a later entry says
//! that it was durable. When the database is open, an entry with the number 0 and no image follows: only to
//! say so of all entries before it.
//!
//! # Invariants
//! 1. An image is durable before its place is written: asserted by the order in [`Journaled::write`]. Proof:
//!    the power losses of `soak::backups`.
//! 2. The file is there, with its header, before the list says that the database is in standby: one that is
//!    missing or strange is an error, and nothing of it is written back. Proof: `standby` of the tests of
//!    `furrow_backup`.
//! 3. The first image of a place counts, and there is only one in an undo file.

#![deny(clippy::indexing_slicing)]

use super::physical::head_of;
use furrow_io::sync::Mutex;
use furrow_io::{
    Access, AlignedBuf, File, Fill, IoError, Open, ReadRun, Volume, WriteRun, read_around,
};
use furrow_types::Guid;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

const MAGIC: [u8; 8] = *b"FURROWSC";
/// Units of the file, and the header of an entry.
const UNIT: u64 = 4096;
/// Bytes of an image.
const IMAGE: u64 = 8192;
/// Bytes of the fields of an entry that its checksum covers.
const FIELDS: usize = 24;
const OF_IMAGE: u8 = 0;
const OF_LENGTH: u8 = 1;
/// The number of no file.
const NO_FILE: u16 = 0;

/// An undo file that is being written.
#[derive(Debug)]
pub(crate) struct UndoFile {
    file: Arc<dyn File>,
    binding: Guid,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// Where the next entry goes.
    end: u64,
    /// Entries before this place are durable.
    durable: u64,
    /// Places whose images are there: file and number of the image.
    saved: BTreeSet<(u16, u64)>,
}

fn checksum(binding: Guid, fields: &[u8], image: &[u8]) -> u32 {
    let crc = crc32c::crc32c_append(crc32c::crc32c(&binding.0), fields);
    crc32c::crc32c_append(crc, image)
}

fn fields_of((id, kind, place): (u16, u8, u64), bytes: u32, durable: u64) -> [u8; FIELDS] {
    let mut fields = [0; FIELDS];
    let parts = [
        &id.to_le_bytes()[..],
        &[kind],
        &place.to_le_bytes(),
        &bytes.to_le_bytes(),
        &durable.to_le_bytes(),
    ];
    let all = parts.concat();
    for (field, byte) in fields.iter_mut().zip(all) {
        *field = byte;
    }
    fields
}

impl UndoFile {
    /// Writes the header of an undo file that was made, durably.
    pub(crate) fn write_header(file: &dyn File, binding: Guid) -> Result<(), IoError> {
        let mut head = AlignedBuf::new(UNIT as usize);
        for (place, byte) in head.iter_mut().zip(MAGIC.iter().chain(&binding.0)) {
            *place = *byte;
        }
        file.write_at(0, &head)?;
        file.sync()
    }

    /// An undo file that has been put back, to be written again: it has its header and no more, durably.
    pub(crate) fn reuse(
        volume: &dyn Volume,
        path: &Path,
        binding: Guid,
    ) -> Result<Arc<UndoFile>, IoError> {
        let file = volume.open(path, Open::Existing, Access::Data)?;
        file.resize(UNIT, Fill::Allocate)?;
        file.sync()?;
        let state = State {
            end: UNIT,
            durable: UNIT,
            saved: BTreeSet::new(),
        };
        Ok(Arc::new(UndoFile {
            file,
            binding,
            state: Mutex::new(state),
        }))
    }

    /// A file of the database, which saves what it held here before it is written.
    pub(crate) fn guard(
        self: &Arc<UndoFile>,
        file: Arc<dyn File>,
        id: u16,
    ) -> Result<Arc<dyn File>, IoError> {
        let len = file.len_bytes()?;
        let mut state = self.state.lock();
        self.append(&mut state, (id, OF_LENGTH, len), &[])?;
        self.sync(&mut state)?;
        drop(state);
        Ok(Arc::new(Journaled {
            file,
            id,
            len,
            undo: Arc::clone(self),
        }))
    }

    /// Says that all entries so far were durable: one that cannot be read later is damage, and no end.
    pub(crate) fn seal(&self) -> Result<(), IoError> {
        let mut state = self.state.lock();
        debug_assert_eq!(state.durable, state.end, "what was saved is durable");
        self.append(&mut state, (NO_FILE, OF_LENGTH, 0), &[])?;
        self.sync(&mut state)
    }

    /// Makes what was appended durable.
    fn sync(&self, state: &mut State) -> Result<(), IoError> {
        self.file.sync()?;
        state.durable = state.end;
        Ok(())
    }

    /// Appends an entry, which is not durable yet.
    fn append(
        &self,
        state: &mut State,
        (id, kind, place): (u16, u8, u64),
        image: &[u8],
    ) -> Result<(), IoError> {
        let fields = fields_of((id, kind, place), image.len() as u32, state.durable);
        let crc = checksum(self.binding, &fields, image).to_le_bytes();
        let mut entry = AlignedBuf::new((UNIT + IMAGE) as usize);
        for (to, byte) in entry.iter_mut().zip(fields.iter().chain(&crc)) {
            *to = *byte;
        }
        for (to, byte) in entry.iter_mut().skip(UNIT as usize).zip(image) {
            *to = *byte;
        }
        self.file.write_at(state.end, &entry)?;
        state.end += UNIT + IMAGE;
        Ok(())
    }
}

/// A file whose bytes are saved before they are written over.
#[derive(Debug)]
struct Journaled {
    file: Arc<dyn File>,
    id: u16,
    /// Its length when it was opened: what lies behind it was not there.
    len: u64,
    undo: Arc<UndoFile>,
}

impl Journaled {
    /// Saves what lies in these ranges, durably.
    fn save(&self, ranges: impl Iterator<Item = (u64, u64)>) -> Result<(), IoError> {
        let mut state = self.undo.state.lock();
        let mut saved: Vec<(u16, u64)> = Vec::new();
        for (from, to) in ranges {
            let mut at = from / IMAGE;
            while at * IMAGE < to.min(self.len) {
                let place = (self.id, at);
                if !state.saved.contains(&place) && !saved.contains(&place) {
                    let bytes = (self.len - at * IMAGE).min(IMAGE) as usize;
                    let mut image = AlignedBuf::new(IMAGE as usize);
                    if let Some(part) = image.get_mut(..bytes) {
                        self.file.read_at(at * IMAGE, part)?;
                        self.undo
                            .append(&mut state, (self.id, OF_IMAGE, at * IMAGE), part)?;
                    }
                    saved.push(place);
                }
                at += 1;
            }
        }
        if !saved.is_empty() {
            self.undo.sync(&mut state)?;
            state.saved.extend(saved);
        }
        Ok(())
    }

    fn save_runs(&self, runs: &[WriteRun<'_, '_>]) -> Result<(), IoError> {
        self.save(
            runs.iter()
                .map(|run| (run.offset, run.offset + run.len_bytes())),
        )
    }
}

impl File for Journaled {
    fn read(&self, runs: &mut [ReadRun<'_, '_>]) -> Result<(), IoError> {
        self.file.read(runs)
    }

    fn write(&self, runs: &[WriteRun<'_, '_>]) -> Result<(), IoError> {
        self.save_runs(runs)?;
        self.file.write(runs)
    }

    fn write_durable(&self, runs: &[WriteRun<'_, '_>]) -> Result<(), IoError> {
        self.save_runs(runs)?;
        self.file.write_durable(runs)
    }

    fn sync(&self) -> Result<(), IoError> {
        self.file.sync()
    }

    fn resize(&self, bytes: u64, fill: Fill) -> Result<(), IoError> {
        self.save(std::iter::once((bytes, self.len)))?;
        self.file.resize(bytes, fill)
    }

    fn len_bytes(&self) -> Result<u64, IoError> {
        self.file.len_bytes()
    }

    fn path(&self) -> &Path {
        self.file.path()
    }
}

/// Why an undo file cannot be put back.
#[derive(Debug)]
pub(crate) enum BadUndo {
    /// It is not what the database needs.
    Strange(&'static str),
    /// A device refused.
    Io(IoError),
}

impl From<IoError> for BadUndo {
    fn from(error: IoError) -> BadUndo {
        BadUndo::Io(error)
    }
}

/// Whether a file begins as an undo file of the database with this binding.
fn has_header(file: &dyn File, binding: Guid) -> Result<bool, IoError> {
    let mut head = AlignedBuf::new(UNIT as usize);
    if file.len_bytes()? < UNIT {
        return Ok(false);
    }
    file.read_at(0, &mut head)?;
    Ok(is_header(&head, binding))
}

/// Whether the file at a path is an undo file of the database with this binding. What cannot be read of it
/// was being written.
pub(crate) fn undo_file_is_of(
    volume: &dyn Volume,
    path: &Path,
    binding: Guid,
) -> Result<bool, IoError> {
    let head = head_of(volume, path)?;
    Ok(is_header(&head, binding))
}

fn is_header(head: &[u8], binding: Guid) -> bool {
    let behind = head.strip_prefix(&MAGIC);
    behind.is_some_and(|behind| behind.starts_with(&binding.0))
}

/// Whether the file at a path has nothing yet: no bytes, or no more than the zeros of a header that was not
/// written. No data is lost with it.
pub(crate) fn undo_file_is_blank(volume: &dyn Volume, path: &Path) -> Result<bool, IoError> {
    let head = head_of(volume, path)?;
    Ok(head.len() as u64 <= UNIT && head.iter().all(|&byte| byte == 0))
}

/// Whether the file at a path is no longer than the header of an undo file.
pub(crate) fn undo_file_is_short(volume: &dyn Volume, path: &Path) -> Result<bool, IoError> {
    let file = volume.open(path, Open::ReadOnly, Access::Data)?;
    Ok(file.len_bytes()? <= UNIT)
}

/// Writes back what an undo file has of these files, by number, durably. It may be done again. Nothing is
/// written of one that is missing, strange or damaged.
pub(crate) fn put_back(
    volume: &dyn Volume,
    path: &Path,
    binding: Guid,
    files: &[(u16, Arc<dyn File>)],
) -> Result<(), BadUndo> {
    if !volume.exists(path)? {
        return Err(BadUndo::Strange("it is not there"));
    }
    let undo = volume.open(path, Open::ReadOnly, Access::Data)?;
    if !has_header(&*undo, binding)? {
        return Err(BadUndo::Strange("it is not of this database"));
    }
    let end = end_of_entries(&*undo, binding)?;
    let (mut at, mut bytes) = (UNIT, AlignedBuf::new((UNIT + IMAGE) as usize));
    while at < end {
        undo.read_at(at, &mut bytes)?;
        let damaged = BadUndo::Strange("it is damaged");
        let entry = entry_of(&bytes, binding).ok_or(damaged)?;
        if let Some((_, file)) = files.iter().find(|(of, _)| *of == entry.id) {
            match entry.kind {
                OF_LENGTH if file.len_bytes()? != entry.place => {
                    file.resize(entry.place, Fill::Allocate)?;
                }
                OF_LENGTH => {}
                _ => file.write_at(entry.place, &AlignedBuf::copy_of(entry.image))?,
            }
        }
        at += UNIT + IMAGE;
    }
    for (_, file) in files {
        file.sync()?;
    }
    Ok(())
}

/// Where the entries end that count.
fn end_of_entries(undo: &dyn File, binding: Guid) -> Result<u64, BadUndo> {
    let len = undo.len_bytes()?;
    let (mut at, mut bytes) = (UNIT, AlignedBuf::new((UNIT + IMAGE) as usize));
    let mut broken: Option<u64> = None;
    while at + UNIT + IMAGE <= len {
        // A power loss may have left the last one unreadable, or torn.
        let unreadable = read_around(undo, at, &mut bytes)?;
        let entry = entry_of(&bytes, binding).filter(|_| unreadable.is_empty());
        match (entry, broken) {
            (None, None) => broken = Some(at),
            (Some(entry), Some(broken)) if entry.durable > broken => {
                return Err(BadUndo::Strange("it is damaged"));
            }
            _ => {}
        }
        at += UNIT + IMAGE;
    }
    Ok(broken.unwrap_or(at))
}

/// An entry that is whole.
struct Entry<'a> {
    id: u16,
    kind: u8,
    place: u64,
    durable: u64,
    image: &'a [u8],
}

fn entry_of(entry: &[u8], binding: Guid) -> Option<Entry<'_>> {
    let fields = entry.first_chunk::<FIELDS>()?;
    let id = u16::from_le_bytes(*fields.first_chunk()?);
    let kind = *fields.get(2)?;
    let place = u64::from_le_bytes(*fields.get(3..)?.first_chunk()?);
    let bytes = u32::from_le_bytes(*fields.get(11..)?.first_chunk()?) as usize;
    let durable = u64::from_le_bytes(*fields.get(15..)?.first_chunk()?);
    let crc = u32::from_le_bytes(*entry.get(FIELDS..)?.first_chunk()?);
    let image = entry.get(UNIT as usize..)?.get(..bytes)?;
    let whole = kind <= OF_LENGTH && crc == checksum(binding, fields, image);
    whole.then_some(Entry {
        id,
        kind,
        place,
        durable,
        image,
    })
}
