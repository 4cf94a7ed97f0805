//! The instance's list of its databases, on disk.
//!
//! Two files, `databases.0` and `databases.1`, hold the whole list, each with a generation and a checksum.
//! The newer one that is whole counts. A change writes the older one, durably, then the other one: a crash in
//! the middle of writing leaves the list before or after, and at rest both say the same, so that one that
//! rots takes nothing away. An older list must never count then: it may say of a database that it was being
//! created, and what was being created is removed. A file:
//!
//! | bytes | field |
//! |---|---|
//! | 00-07 | magic |
//! | 08-15 | generation |
//! | 16-19 | bytes of the list |
//! | 20-23 | CRC-32C of bytes 00-19 and the list |
//! | 24-.. | the databases |
//!
//! A database: number u16, phase u8, binding GUID, name, count of paths u16, the paths. Phases 4 (temporary),
//! 5 (being restored), 6 and 7 (a snapshot), 8 (being reverted): the count of files u16 after that, and of
//! each number u16, filegroup u16, name, path, size in pages u32, largest size u32 (0 without limit), kind of
//! growth u8 (0 none, 1 pages, 2 percent) and step u32. Phases 6, 7 and 8: then the number of another
//! database u16, and an LSN u64. Phase 9 is 5, and then the binding GUID of the files that were
//! backed up. Phase 10 is 9, and then the count of recovery forks u16, and of each its GUID and its first LSN
//! u64, the present one first. A text: its length u32, and UTF-8.
//!
//! Phases 11 and 12 are 0 and 10 of a database with absent files. At their end: the count of these files u16,
//! and the files; an LSN u64; source GUID, and recovery forks as above. Then 0, or 1 and of the piece that is
//! being restored the same: files, source, forks.
//!
//! Phase 13 (in standby) is 10 with the path of the undo file at its end. Phase 14 is 10 with the path of an
//! undo file that is being made or removed.

use super::holds::Held;
use super::listed::{Absent, Link, Listed, Phase, Piece};
use crate::files::FilePlan;
use furrow_format::{FileGrowth, Fork, Forks, Lsn};
use furrow_io::{Access, File, Fill, IoError, IoErrorKind, IoOp, Open, Volume};
use furrow_messages::Message;
use furrow_tables::EngineError;
use furrow_types::Guid;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const MAGIC: [u8; 8] = *b"FURROWDB";
const HEADER_BYTES: usize = 24;
/// Phase of a database that is being restored from a backup of other files, which is noted.
const RESTORING_FROM: u8 = 9;
/// The same, with its recovery forks.
const RESTORING_ON: u8 = 10;
/// Phase of a database that is whole but for absent files.
const WHOLE_WITHOUT: u8 = 11;
/// Phase of a database that is being restored without some files.
const RESTORING_WITHOUT: u8 = 12;
/// Phase of a database in standby.
const STANDBY: u8 = 13;
/// Phase of a database that is being restored, whose undo file is being made or removed.
const RESTORING_UNDO: u8 = 14;
/// Files grow by whole units, so that most changes rewrite in place.
const UNIT_BYTES: u64 = 4096;

/// The list and where it is kept; nowhere for an instance without a directory.
#[derive(Debug)]
pub(crate) struct DatabaseList {
    home: Option<[Arc<dyn File>; 2]>,
    generation: u64,
    pub(crate) databases: Vec<Listed>,
    /// Databases whose closed files a repair or a backup of the log works on: they cannot be opened, replaced
    /// or removed meanwhile.
    pub(crate) repairing: Vec<u16>,
    /// Databases that a revert makes ready or reverts: one revert at a time.
    pub(crate) reverting: Vec<u16>,
    /// Databases that are being restored: one restore at a time.
    pub(crate) restoring: Held,
}

/// 952: another statement works on the database.
pub(crate) fn in_transition(name: &str) -> EngineError {
    let text = format!("Database '{name}' is in transition. Try the statement later.");
    EngineError::of(Message::custom(952, 16, 1, &text))
}

impl DatabaseList {
    /// The database of this name.
    pub(crate) fn named(&self, name: &str) -> Option<&Listed> {
        let lower = name.to_lowercase();
        let mut all = self.databases.iter();
        all.find(|d| d.name.to_lowercase() == lower)
    }

    /// Refuses a database that is being repaired or restored.
    pub(crate) fn refuse_held(&self, listed: &Listed) -> Result<(), EngineError> {
        let restored = self.restoring.lock().contains(&listed.id);
        if !restored && !self.repairing.contains(&listed.id) {
            return Ok(());
        }
        Err(in_transition(&listed.name))
    }

    /// A list that is kept nowhere.
    pub(crate) fn unkept() -> DatabaseList {
        DatabaseList {
            home: None,
            generation: 0,
            databases: Vec::new(),
            repairing: Vec::new(),
            reverting: Vec::new(),
            restoring: Held::default(),
        }
    }

    /// The list of the instance in `dir`; an empty one where there is none yet. The files stay open, and
    /// locked. An error where neither of two that were written is whole.
    pub(crate) fn open(volume: &dyn Volume, dir: &Path) -> Result<DatabaseList, IoError> {
        volume.create_dir(dir)?;
        let file = |number: u8| -> Result<Arc<dyn File>, IoError> {
            let path = dir.join(format!("databases.{number}"));
            match volume.open(&path, Open::Existing, Access::Data) {
                Err(e) if e.kind == IoErrorKind::NotFound => {
                    volume.open(&path, Open::Create, Access::Data)
                }
                other => other,
            }
        };
        let home = [file(0)?, file(1)?];
        let copies = [copy_in(&*home[0])?, copy_in(&*home[1])?];
        // A device that reads nothing any more proves nothing.
        let still_there = || {
            home.iter()
                .any(|f| matches!(read(&**f), Ok(Copy::Whole(..))))
        };
        let unreadable = copies.iter().find_map(|copy| match copy {
            Copy::Unreadable(error) => Some(error.clone()),
            _ => None,
        });
        if let Some(error) = unreadable.filter(|_| !still_there()) {
            return Err(error);
        }
        let [first, second] = copies;
        let same = match (&first, &second) {
            (Copy::Whole(_, first), Copy::Whole(_, second)) => first == second,
            (Copy::Empty, Copy::Empty) => true,
            // The first write of all goes to one file, and leaves the other one empty until it is done.
            (Copy::Damaged, Copy::Damaged) => {
                let what = "neither it nor databases.1 holds a whole list of databases";
                let kind = IoErrorKind::Os(0, what.to_owned());
                return Err(IoError::new(IoOp::Open, &dir.join("databases.0"), 0, kind));
            }
            _ => false,
        };
        let (generation, databases) = match (first, second) {
            (Copy::Whole(one, first), Copy::Whole(two, _)) if one > two => (one, first),
            (_, Copy::Whole(generation, databases)) | (Copy::Whole(generation, databases), _) => {
                (generation, databases)
            }
            _ => Default::default(),
        };
        let mut list = DatabaseList {
            home: Some(home),
            generation,
            databases,
            repairing: Vec::new(),
            reverting: Vec::new(),
            restoring: Held::default(),
        };
        if !same {
            list.copy();
        }
        Ok(list)
    }

    /// Refuses a list that was copied with its directory: its paths are those of the original instance, whose
    /// files would be changed. It is a copy if the system's first database lies beside another list that no
    /// running instance has locked.
    pub(crate) fn refuse_copy(&self, volume: &dyn Volume, dir: &Path) -> Result<(), IoError> {
        let first = self.databases.iter().find(|d| d.id == 1);
        let home = first.and_then(|d| d.paths.first()?.parent());
        let Some(home) = home.filter(|home| *home != dir) else {
            return Ok(());
        };
        let other = home.join("databases.0");
        // Where it is the same directory by another name, we hold it.
        match volume.open(&other, Open::Existing, Access::Data) {
            Err(_) => Ok(()),
            Ok(_) => {
                let what = format!(
                    "it is a copy of '{}', and would work on the files that lie there",
                    other.display()
                );
                let kind = IoErrorKind::Os(0, what);
                let path = dir.join("databases.0");
                Err(IoError::new(IoOp::Open, &path, 0, kind))
            }
        }
    }

    /// Changes the list, durably: memory follows the disk, so that an error leaves it as it was.
    pub(crate) fn change(&mut self, change: impl FnOnce(&mut Vec<Listed>)) -> Result<(), IoError> {
        let mut databases = self.databases.clone();
        change(&mut databases);
        self.write(&databases)?;
        self.generation += 1;
        self.databases = databases;
        self.copy();
        Ok(())
    }

    /// Writes the list as it is to the older file. It is durable in the other one: where this fails, the next
    /// change writes here first.
    fn copy(&mut self) {
        if self.write(&self.databases).is_ok() {
            self.generation += 1;
        }
    }

    /// Writes a list to the older file, as the next generation.
    fn write(&self, databases: &[Listed]) -> Result<(), IoError> {
        let Some(home) = &self.home else {
            return Ok(());
        };
        let generation = self.generation + 1;
        let file = &home[(generation % 2) as usize];
        let mut bytes = encode(generation, databases);
        let wanted = (bytes.len() as u64).next_multiple_of(UNIT_BYTES);
        // Whole sectors: one that a power loss made unreadable is overwritten, not read first.
        bytes.resize(wanted as usize, 0);
        if file.len_bytes()? < wanted {
            file.resize(wanted, Fill::Allocate)?;
        }
        file.write(&[furrow_io::WriteRun {
            offset: 0,
            bufs: &[std::io::IoSlice::new(&bytes)],
        }])?;
        file.sync()
    }

    /// The number that is asked for, where it is free.
    pub(crate) fn id_for(&self, asked: Option<u16>) -> u16 {
        let free = |id: &u16| self.databases.iter().all(|d| d.id != *id);
        asked.filter(free).unwrap_or_else(|| self.free_id())
    }

    /// The smallest number from 5 up that no database has: below are the system's.
    pub(crate) fn free_id(&self) -> u16 {
        (5..=u16::MAX)
            .find(|id| self.databases.iter().all(|d| d.id != *id))
            .unwrap_or(u16::MAX)
    }
}

fn text(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(&(text.len() as u32).to_le_bytes());
    out.extend_from_slice(text.as_bytes());
}

fn encode_layout(out: &mut Vec<u8>, files: &[FilePlan]) {
    out.extend_from_slice(&(files.len() as u16).to_le_bytes());
    for file in files {
        out.extend_from_slice(&file.id.to_le_bytes());
        out.extend_from_slice(&file.filegroup.to_le_bytes());
        text(out, &file.name);
        text(out, &file.path.to_string_lossy());
        out.extend_from_slice(&file.size_pages.to_le_bytes());
        out.extend_from_slice(&file.max_pages.unwrap_or(0).to_le_bytes());
        let (kind, step) = match file.growth {
            FileGrowth::None => (0, 0),
            FileGrowth::Pages(pages) => (1, pages),
            FileGrowth::Percent(percent) => (2, percent),
        };
        out.push(kind);
        out.extend_from_slice(&step.to_le_bytes());
    }
}

/// Of a database that is being restored: what is in place.
fn encode_origin(out: &mut Vec<u8>, link: &Link) {
    let forks = link.forks.all();
    if link.source != [0; 16] || !forks.is_empty() {
        out.extend_from_slice(&link.source);
    }
    if !forks.is_empty() {
        encode_forks(out, &link.forks);
    }
}

fn decode_origin(body: &mut Reader<'_>, number: u8) -> Option<Link> {
    let mut link = Link::default();
    if matches!(number, RESTORING_FROM | RESTORING_ON | RESTORING_WITHOUT) {
        link.source = body.array()?;
    }
    if matches!(number, RESTORING_ON | RESTORING_WITHOUT) {
        link.forks = decode_forks(body)?;
    }
    Some(link)
}

fn encode_forks(out: &mut Vec<u8>, forks: &Forks) {
    out.extend_from_slice(&(forks.all().len() as u16).to_le_bytes());
    for fork in forks.all() {
        out.extend_from_slice(&fork.id.0);
        out.extend_from_slice(&fork.first.0.to_le_bytes());
    }
}

fn decode_forks(body: &mut Reader<'_>) -> Option<Forks> {
    let count = u16::from_le_bytes(body.array()?);
    let fork = |_| {
        let (id, first) = (Guid(body.array()?), u64::from_le_bytes(body.array()?));
        let first = Lsn(first);
        Some(Fork { id, first })
    };
    Some(Forks::of((0..count).map(fork).collect::<Option<Vec<_>>>()?))
}

/// Source and recovery forks, both always.
fn encode_way(out: &mut Vec<u8>, link: &Link) {
    out.extend_from_slice(&link.source);
    encode_forks(out, &link.forks);
}

fn decode_way(body: &mut Reader<'_>) -> Option<Link> {
    Some(Link {
        source: body.array()?,
        forks: decode_forks(body)?,
        ..Link::default()
    })
}

fn decode_layout(body: &mut Reader<'_>) -> Option<Vec<FilePlan>> {
    let files = u16::from_le_bytes(body.array()?);
    (0..files).map(|_| decode_file(body)).collect()
}

fn encode_absent(out: &mut Vec<u8>, absent: &Absent) {
    encode_layout(out, &absent.files);
    out.extend_from_slice(&absent.point.0.to_le_bytes());
    encode_way(out, &absent.origin);
    out.push(u8::from(absent.piece.is_some()));
    if let Some(piece) = &absent.piece {
        encode_layout(out, &piece.layout);
        encode_way(out, &piece.link);
    }
}

fn decode_absent(body: &mut Reader<'_>) -> Option<Absent> {
    let files = decode_layout(body)?;
    let point = Lsn(u64::from_le_bytes(body.array()?));
    let origin = decode_way(body)?;
    let piece = match body.array()? {
        [0] => None,
        [1] => Some(Piece {
            layout: decode_layout(body)?,
            link: decode_way(body)?,
        }),
        _ => return None,
    };
    Some(Absent {
        files,
        point,
        origin,
        piece,
    })
}

fn decode_file(body: &mut Reader<'_>) -> Option<FilePlan> {
    let id = u16::from_le_bytes(body.array()?);
    let filegroup = u16::from_le_bytes(body.array()?);
    let (name, path) = (body.text()?, PathBuf::from(body.text()?));
    let size_pages = u32::from_le_bytes(body.array()?);
    let max_pages = Some(u32::from_le_bytes(body.array()?)).filter(|&max| max > 0);
    let [kind] = body.array()?;
    let step = u32::from_le_bytes(body.array()?);
    let growth = match kind {
        0 => FileGrowth::None,
        1 => FileGrowth::Pages(step),
        2 => FileGrowth::Percent(step),
        _ => return None,
    };
    Some(FilePlan {
        id,
        filegroup,
        name,
        path,
        size_pages,
        max_pages,
        growth,
    })
}

fn encode(generation: u64, databases: &[Listed]) -> Vec<u8> {
    let mut body = Vec::new();
    for database in databases {
        debug_assert!(
            database.phase != Phase::Piece,
            "it is part of the entry of its database"
        );
        debug_assert!(
            !database.absent.is_known() || database.link.undo.as_os_str().is_empty(),
            "a database without some files, or with a recovery behind it, is not in standby"
        );
        let phase = match database.phase {
            Phase::Whole if !database.absent.is_empty() => WHOLE_WITHOUT,
            Phase::Whole => 0,
            Phase::Creating => 1,
            Phase::Dropping => 2,
            Phase::ReadOnly => 3,
            Phase::Temporary => 4,
            Phase::Restoring if !database.link.undo.as_os_str().is_empty() => RESTORING_UNDO,
            Phase::Restoring if database.absent.is_known() => RESTORING_WITHOUT,
            Phase::Restoring if !database.link.forks.is_empty() => RESTORING_ON,
            Phase::Restoring if database.link.source != [0; 16] => RESTORING_FROM,
            Phase::Restoring => 5,
            Phase::Snapshot => 6,
            Phase::StaleSnapshot => 7,
            Phase::Reverting => 8,
            Phase::Standby => STANDBY,
            // It is part of the entry of its database.
            Phase::Piece => continue,
        };
        body.extend_from_slice(&database.id.to_le_bytes());
        body.push(phase);
        body.extend_from_slice(&database.binding);
        text(&mut body, &database.name);
        body.extend_from_slice(&(database.paths.len() as u16).to_le_bytes());
        for path in &database.paths {
            text(&mut body, &path.to_string_lossy());
        }
        if database.phase.has_layout() {
            encode_layout(&mut body, &database.layout);
        }
        if database.phase.has_link() {
            body.extend_from_slice(&database.link.database.to_le_bytes());
            body.extend_from_slice(&database.link.lsn.0.to_le_bytes());
        }
        match phase {
            RESTORING_WITHOUT => encode_way(&mut body, &database.link),
            STANDBY | RESTORING_UNDO => {
                encode_way(&mut body, &database.link);
                text(&mut body, &database.link.undo.to_string_lossy());
            }
            _ if database.phase == Phase::Restoring => encode_origin(&mut body, &database.link),
            _ => {}
        }
        if matches!(phase, WHOLE_WITHOUT | RESTORING_WITHOUT) {
            encode_absent(&mut body, &database.absent);
        }
    }
    let mut out = MAGIC.to_vec();
    out.extend_from_slice(&generation.to_le_bytes());
    out.extend_from_slice(&(body.len() as u32).to_le_bytes());
    let crc = crc32c::crc32c_append(crc32c::crc32c(&out), &body);
    out.extend_from_slice(&crc.to_le_bytes());
    out.extend_from_slice(&body);
    out
}

/// What one of the files holds.
enum Copy {
    /// It was never written.
    Empty,
    /// Generation and list.
    Whole(u64, Vec<Listed>),
    /// Anything else.
    Damaged,
    /// The device does not read it.
    Unreadable(IoError),
}

/// What one of the files holds. The one that was being written when the power went may be unreadable.
fn copy_in(file: &dyn File) -> Result<Copy, IoError> {
    match read(file).or_else(|_| read(file)) {
        Err(error) if error.kind.is_medium() => Ok(Copy::Unreadable(error)),
        read => read,
    }
}

fn read(file: &dyn File) -> Result<Copy, IoError> {
    let len = file.len_bytes()? as usize;
    if len < HEADER_BYTES {
        return Ok(Copy::Empty);
    }
    let mut bytes = vec![0; len];
    file.read_at(0, &mut bytes)?;
    Ok(match decode(&bytes) {
        Some((generation, databases)) => Copy::Whole(generation, databases),
        None => Copy::Damaged,
    })
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn text(&mut self) -> Option<String> {
        let len = u32::from_le_bytes(self.array()?) as usize;
        String::from_utf8(self.take(len)?.to_vec()).ok()
    }
}

fn decode(bytes: &[u8]) -> Option<(u64, Vec<Listed>)> {
    let mut header = Reader(bytes);
    let magic: [u8; 8] = header.array()?;
    let generation = u64::from_le_bytes(header.array()?);
    let len = u32::from_le_bytes(header.array()?) as usize;
    let crc = u32::from_le_bytes(header.array()?);
    let body = header.take(len)?;
    let right = crc32c::crc32c_append(crc32c::crc32c(bytes.get(..HEADER_BYTES - 4)?), body);
    if magic != MAGIC || crc != right {
        return None;
    }
    let mut body = Reader(body);
    let mut databases = Vec::new();
    while !body.0.is_empty() {
        let id = u16::from_le_bytes(body.array()?);
        let [number] = body.array()?;
        let phase = match number {
            0 | WHOLE_WITHOUT => Phase::Whole,
            1 => Phase::Creating,
            2 => Phase::Dropping,
            3 => Phase::ReadOnly,
            4 => Phase::Temporary,
            5 | RESTORING_FROM | RESTORING_ON | RESTORING_WITHOUT | RESTORING_UNDO => {
                Phase::Restoring
            }
            STANDBY => Phase::Standby,
            6 => Phase::Snapshot,
            7 => Phase::StaleSnapshot,
            8 => Phase::Reverting,
            _ => return None,
        };
        let (binding, name) = (body.array()?, body.text()?);
        let count = u16::from_le_bytes(body.array()?);
        let paths = (0..count)
            .map(|_| body.text().map(PathBuf::from))
            .collect::<Option<_>>()?;
        let layout = match phase.has_layout() {
            true => decode_layout(&mut body)?,
            false => Vec::new(),
        };
        let mut link = match phase.has_link() {
            true => Link {
                database: u16::from_le_bytes(body.array()?),
                lsn: Lsn(u64::from_le_bytes(body.array()?)),
                ..Link::default()
            },
            false if matches!(number, STANDBY | RESTORING_UNDO) => decode_way(&mut body)?,
            false => decode_origin(&mut body, number)?,
        };
        if matches!(number, STANDBY | RESTORING_UNDO) {
            link.undo = PathBuf::from(body.text()?);
        }
        let absent = match number {
            WHOLE_WITHOUT | RESTORING_WITHOUT => decode_absent(&mut body)?,
            _ => Absent::default(),
        };
        databases.push(Listed {
            id,
            phase,
            binding,
            name,
            paths,
            layout,
            link,
            absent,
        });
    }
    Some((generation, databases))
}

#[cfg(test)]
mod tests {
    use super::*;
    use furrow_io::sim::{Effect, Fault, Ops, SimOptions};
    use furrow_io::{MemoryVolume, SimVolume};

    fn listed(id: u16, phase: Phase) -> Listed {
        let paths = vec![
            PathBuf::from(format!("data/{id}.mdf")),
            PathBuf::from("log/x.ldf"),
        ];
        Listed {
            id,
            phase,
            binding: [id as u8; 16],
            name: format!("Name {id}"),
            paths,
            layout: Vec::new(),
            link: Link::default(),
            absent: Absent::default(),
        }
    }

    #[test]
    fn a_restore_names_the_files_that_were_backed_up() {
        let volume = MemoryVolume::new();
        let dir = Path::new("inst");
        let mut list = DatabaseList::open(&volume, dir).unwrap();
        let link = Link {
            source: [3; 16],
            ..Link::default()
        };
        let of = Listed {
            link,
            ..listed(6, Phase::Restoring)
        };
        let forked = Listed {
            link: Link {
                forks: Forks::new(Guid([4; 16])).renewed(Guid([5; 16]), Lsn(99)),
                ..of.link.clone()
            },
            ..listed(9, Phase::Restoring)
        };
        let in_standby = |id, phase| Listed {
            link: Link {
                undo: PathBuf::from("x.undo"),
                ..forked.link.clone()
            },
            ..listed(id, phase)
        };
        let all = vec![
            of,
            in_standby(10, Phase::Standby),
            in_standby(11, Phase::Restoring),
            forked,
            listed(7, Phase::Restoring),
            listed(8, Phase::Whole),
        ];
        list.change(|there| there.clone_from(&all)).unwrap();
        drop(list);
        let list = DatabaseList::open(&volume, dir).unwrap();
        assert_eq!(list.databases, all);
    }

    #[test]
    fn a_snapshot_names_its_source() {
        let volume = MemoryVolume::new();
        let dir = Path::new("inst");
        let mut list = DatabaseList::open(&volume, dir).unwrap();
        for phase in [Phase::Snapshot, Phase::StaleSnapshot, Phase::Reverting] {
            let link = Link {
                database: 9,
                lsn: Lsn(77),
                ..Link::default()
            };
            let of = Listed {
                link,
                ..listed(6, phase)
            };
            list.change(|all| *all = vec![of.clone(), listed(7, Phase::Whole)])
                .unwrap();
            drop(list);
            list = DatabaseList::open(&volume, dir).unwrap();
            assert_eq!(list.databases, [of, listed(7, Phase::Whole)]);
        }
    }

    #[test]
    fn a_list_comes_back_as_it_was_last_changed() {
        let volume = MemoryVolume::new();
        let dir = Path::new("inst");
        let mut list = DatabaseList::open(&volume, dir).unwrap();
        assert_eq!((list.databases.len(), list.free_id()), (0, 5));
        list.change(|all| all.push(listed(5, Phase::Creating)))
            .unwrap();
        list.change(|all| all[0].phase = Phase::Whole).unwrap();
        for id in 6..200 {
            list.change(|all| all.push(listed(id, Phase::Dropping)))
                .unwrap();
        }
        list.change(|all| all.retain(|d| d.id != 7)).unwrap();
        let wanted = list.databases.clone();
        drop(list);
        let list = DatabaseList::open(&volume, dir).unwrap();
        assert_eq!(list.databases, wanted);
        assert_eq!(list.free_id(), 7);
    }

    #[test]
    fn two_instances_in_one_directory_are_refused() {
        let volume = MemoryVolume::new();
        let _first = DatabaseList::open(&volume, Path::new("inst")).unwrap();
        let second = DatabaseList::open(&volume, Path::new("inst")).unwrap_err();
        assert_eq!(second.kind, IoErrorKind::InUse);
    }

    #[test]
    fn a_crash_while_writing_leaves_the_list_before_or_after() {
        let run = |volume: &SimVolume, done: &mut usize| -> Result<(), IoError> {
            let mut list = DatabaseList::open(volume, Path::new("inst"))?;
            for id in 5..12 {
                list.change(|all| all.push(listed(id, Phase::Whole)))?;
                *done += 1;
            }
            Ok(())
        };
        let dry = SimVolume::new(SimOptions::default());
        run(&dry, &mut 0).unwrap();
        let mut crashes = 0;
        for n in 1..=dry.counts().matching(Ops::Changes) {
            let volume = SimVolume::new(SimOptions::default());
            volume.inject(Fault::new(Ops::Changes, Effect::PowerLoss).nth(n));
            let mut done = 0;
            let ended = run(&volume, &mut done);
            assert!(ended.is_err() || done == 7);
            for outcome in volume.outcomes() {
                let after = volume.crash(&outcome);
                let list = DatabaseList::open(&after, Path::new("inst")).unwrap();
                let ids: Vec<u16> = list.databases.iter().map(|d| d.id).collect();
                let count = ids.len() as u16;
                assert!(ids.len() >= done, "operation {n}, {outcome:?}");
                assert_eq!(
                    ids,
                    (5..5 + count).collect::<Vec<_>>(),
                    "operation {n}, {outcome:?}"
                );
                crashes += 1;
            }
        }
        assert!(crashes > 50);
    }

    fn spoil(volume: &MemoryVolume, number: u8, at: u64) {
        let path = Path::new("inst").join(format!("databases.{number}"));
        let file = volume.open(&path, Open::Existing, Access::Data).unwrap();
        let mut byte = [0];
        file.read_at(at, &mut byte).unwrap();
        byte[0] = !byte[0];
        let bufs = &[std::io::IoSlice::new(&byte)];
        file.write(&[furrow_io::WriteRun { offset: at, bufs }])
            .unwrap();
    }

    #[test]
    fn either_file_of_the_list_may_rot_and_is_written_again() {
        for number in [0, 1] {
            for at in [0, 9, 20, 30, 60] {
                let volume = MemoryVolume::new();
                let open = || DatabaseList::open(&volume, Path::new("inst")).unwrap();
                let mut list = open();
                list.change(|all| all.push(listed(5, Phase::Creating)))
                    .unwrap();
                list.change(|all| all[0].phase = Phase::Whole).unwrap();
                drop(list);
                spoil(&volume, number, at);
                assert_eq!(open().databases, [listed(5, Phase::Whole)]);
                // The other one may follow: the first is whole again.
                spoil(&volume, 1 - number, at);
                assert_eq!(open().databases, [listed(5, Phase::Whole)]);
            }
        }
    }

    #[test]
    fn a_list_that_was_copied_with_its_directory_is_refused() {
        let volume = MemoryVolume::new();
        let master = |dir: &Path| Listed {
            id: 1,
            paths: vec![dir.join("master.mdf")],
            ..listed(1, Phase::Whole)
        };
        let (home, copy) = (Path::new("inst"), Path::new("copy"));
        for dir in [home, copy] {
            let mut list = DatabaseList::open(&volume, dir).unwrap();
            list.change(|all| all.push(master(home))).unwrap();
        }
        let list = DatabaseList::open(&volume, home).unwrap();
        list.refuse_copy(&volume, home).unwrap();
        // By another name.
        list.refuse_copy(&volume, &Path::new(".").join(home))
            .unwrap();
        drop(list);
        let list = DatabaseList::open(&volume, copy).unwrap();
        let refused = list.refuse_copy(&volume, copy).unwrap_err();
        assert!(refused.to_string().contains("is a copy of"), "{refused}");
    }

    #[test]
    fn a_list_of_which_nothing_is_whole_is_refused() {
        let volume = MemoryVolume::new();
        let mut list = DatabaseList::open(&volume, Path::new("inst")).unwrap();
        list.change(|all| all.push(listed(5, Phase::Whole)))
            .unwrap();
        drop(list);
        spoil(&volume, 0, 30);
        spoil(&volume, 1, 30);
        let refused = DatabaseList::open(&volume, Path::new("inst")).unwrap_err();
        assert!(refused.to_string().contains("databases.1"), "{refused}");
    }
}
