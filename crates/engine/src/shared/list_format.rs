//! The bytes of the instance's list of its databases: `docs/format/instance-list.md`.

use super::listed::{Absent, Link, Listed, Phase, Piece};
use crate::files::FilePlan;
use furrow_format::{FileGrowth, Fork, Forks, Lsn};
use furrow_types::Guid;
use std::path::PathBuf;

const MAGIC: [u8; 8] = *b"FURROWDB";
pub(super) const HEADER_BYTES: usize = 24;
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
/// Bit of the phase of a database that SET OFFLINE has closed.
const OFFLINE: u8 = 0x80;

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

/// A file of the list.
pub(super) fn encode(generation: u64, databases: &[Listed]) -> Vec<u8> {
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
        body.push(phase | if database.offline { OFFLINE } else { 0 });
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

/// Generation and databases of a file of the list; `None` where it is damaged.
pub(super) fn decode(bytes: &[u8]) -> Option<(u64, Vec<Listed>)> {
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
    let (mut body, mut databases) = (Reader(body), Vec::new());
    while !body.0.is_empty() {
        databases.push(decode_database(&mut body)?);
    }
    Some((generation, databases))
}

fn decode_database(body: &mut Reader<'_>) -> Option<Listed> {
    let id = u16::from_le_bytes(body.array()?);
    let [phase] = body.array()?;
    let (number, offline) = (phase & !OFFLINE, phase & OFFLINE != 0);
    let phase = match number {
        0 | WHOLE_WITHOUT => Phase::Whole,
        1 => Phase::Creating,
        2 => Phase::Dropping,
        3 => Phase::ReadOnly,
        4 => Phase::Temporary,
        5 | RESTORING_FROM | RESTORING_ON | RESTORING_WITHOUT | RESTORING_UNDO => Phase::Restoring,
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
        true => decode_layout(body)?,
        false => Vec::new(),
    };
    let mut link = match phase.has_link() {
        true => Link {
            database: u16::from_le_bytes(body.array()?),
            lsn: Lsn(u64::from_le_bytes(body.array()?)),
            ..Link::default()
        },
        false if matches!(number, STANDBY | RESTORING_UNDO) => decode_way(body)?,
        false => decode_origin(body, number)?,
    };
    if matches!(number, STANDBY | RESTORING_UNDO) {
        link.undo = PathBuf::from(body.text()?);
    }
    let absent = match number {
        WHOLE_WITHOUT | RESTORING_WITHOUT => decode_absent(body)?,
        _ => Absent::default(),
    };
    Some(Listed {
        id,
        phase,
        binding,
        name,
        paths,
        layout,
        link,
        absent,
        offline,
    })
}
