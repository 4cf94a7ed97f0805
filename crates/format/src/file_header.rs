//! Page 0 of each data file: which file of which database this is, how large, how it grows.
//!
//! The page holds one record, status 0x30, of variable columns only. Their number grew with the
//! versions (23 to 49); an upgraded file may keep an older, shorter record. The record need not lie at
//! 96: SQL Server rewrites it behind the old one. So everything goes through slot 0 and column numbers.
//!
//! Columns that this engine does not interpret stay as they are ([`FileHeader::updated_record`]); a fresh
//! header has the columns of version 706 with the lengths that real files have.

use crate::bytes::{chunk, u16_at, u32_at};
use crate::{
    FileId, Lsn, Page, PageBuf, PageError, PageId, PageInit, PageMut, PageType, Record,
    RecordBuilder, RecordKind, SYSTEM_MAPS_UNIT, VarColumn,
};
use furrow_types::{Guid, decode_utf16, encode_utf16};
use std::fmt;

/// Virtual log files between the boot page's LSN and a log that is created again. One would do; the rest is
/// for databases that were shut down when the flag was not yet the last thing written.
pub const NEW_LOG_APART: u32 = 1024;

/// Longest logical name, in UTF-16 units (`sysname`).
const MAX_NAME_UNITS: usize = 128;
/// Columns of a fresh header, as the null bitmap counts them.
const COLUMNS: u16 = 49;
/// What lies between record header and column count: zero in every file met.
const FIXED: [u8; 4] = [0; 4];
/// `m_status` bit: growth is in percent.
const STATUS_PERCENT: u32 = 0x0010_0000;

// Variable columns, from 0.
const BINDING: usize = 0; //           16 bytes
const FILE: usize = 2; //               2
const FILEGROUP: usize = 3; //          2
const SIZE: usize = 4; //               4, pages
const MAX_SIZE: usize = 5; //           4, pages, -1 = none
const GROWTH: usize = 6; //             4, pages or percent
const BACKUP_LSN: usize = 8; //        10
const FIRST_LSN: usize = 9; //         10
const MAX_LSN: usize = 10; //          10
const MIN_SIZE: usize = 12; //          4, pages
const STATUS: usize = 13; //            4
const SHRINK_SIZE: usize = 14; //       4, -1 = none
const SECTOR_SIZE: usize = 15; //       4, bytes
const DIFF_BASE_LSN_1: usize = 18; //  10
const DIFF_BASE_LSN_2: usize = 20; //  10
const DIFF_BASE_GUID_1: usize = 21; // 16
const FILE_GUID: usize = 23; //        16
const NAME: usize = 27; //              UTF-16
const DIFF_BASE_GUID_2: usize = 28; // 16

/// Lengths of a fresh header's columns; the name's varies.
const FRESH: [u16; 46] = [
    16, 0, 2, 2, 4, 4, 4, 4, 10, 10, 10, 0, 4, 4, 4, 4, 10, 28, 10, 10, 10, 16, 10, 16, 4, 10, 0,
    0, 16, 0, 0, 0, 0, 0, 0, 16, 0, 0, 10, 10, 28, 10, 16, 28, 8, 600,
];

/// How a file grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileGrowth {
    /// Not at all.
    None,
    /// By so many pages.
    Pages(u32),
    /// By so many percent of its size.
    Percent(u32),
}

impl fmt::Display for FileGrowth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FileGrowth::None => f.write_str("none"),
            FileGrowth::Pages(pages) => write!(f, "{pages} pages"),
            FileGrowth::Percent(percent) => write!(f, "{percent} %"),
        }
    }
}

/// The contents of page 0 about its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileHeader {
    /// The same in all files of a database.
    pub binding: Guid,
    /// Number of the file.
    pub file: FileId,
    /// Its filegroup.
    pub filegroup: u16,
    /// Size.
    pub size_pages: u32,
    /// Largest size; `None` = until the disk is full.
    pub max_size_pages: Option<u32>,
    /// How it grows.
    pub growth: FileGrowth,
    /// Size it was created with, below which it does not shrink.
    pub min_size_pages: u32,
    /// Status bits; [`FileHeader::growth`] decides the one that distinguishes pages from percent.
    pub status: u32,
    /// Sector size of the disk it was created on.
    pub sector_size_bytes: u32,
    /// LSN of the last backup of the file.
    pub backup_lsn: Lsn,
    /// LSN at which the file was created.
    pub first_lsn: Lsn,
    /// Where the last checkpoint begins that wrote the file; before the first one, where the file was
    /// created. Zero: it was not recorded.
    pub max_lsn: Lsn,
    /// LSN of the full backup that differential backups build on.
    pub differential_base_lsn: Lsn,
    /// That backup.
    pub differential_base: Guid,
    /// The file's own id.
    pub file_guid: Guid,
    /// Logical name.
    pub name: String,
}

/// Why a page is no file header, or a header cannot be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FileHeaderError {
    /// Not a file header page.
    #[error("a {kind} page, not a file header")]
    NotAHeader {
        /// What it is.
        kind: PageType,
    },
    /// The record, or a column that no header lacks, is damaged.
    #[error("file header: column {column} is damaged")]
    Damaged {
        /// The column.
        column: usize,
    },
    /// The logical name is empty or longer than 128 characters.
    #[error("logical file name of {units} characters")]
    Name {
        /// Its length in UTF-16 units.
        units: usize,
    },
    /// The page does not take the record.
    #[error(transparent)]
    Page(#[from] PageError),
}

impl FileHeader {
    /// A header for a new file that neither grows nor has a limit; the caller fills in the rest.
    pub fn new(binding: Guid, file: FileId, filegroup: u16, size_pages: u32) -> FileHeader {
        FileHeader {
            binding,
            file,
            filegroup,
            size_pages,
            max_size_pages: None,
            growth: FileGrowth::None,
            min_size_pages: size_pages,
            status: 0,
            sector_size_bytes: 4096,
            backup_lsn: Lsn::ZERO,
            first_lsn: Lsn::ZERO,
            max_lsn: Lsn::ZERO,
            differential_base_lsn: Lsn::ZERO,
            differential_base: Guid([0; 16]),
            file_guid: Guid([0; 16]),
            name: String::new(),
        }
    }

    /// Reads page 0. Columns that an older record lacks read as zero or none.
    pub fn decode(page: &PageBuf) -> Result<FileHeader, FileHeaderError> {
        let record = header_record(page)?;
        let column = |index: usize| record.var(index as u16).map_or(&[][..], |(bytes, _)| bytes);
        let damaged = |column| FileHeaderError::Damaged { column };
        let number = |index| u32_at(column(index), 0);
        let lsn = |index| chunk(column(index), 0).map_or(Lsn::ZERO, Lsn::from_bytes);
        let guid = |index| Guid(chunk(column(index), 0).unwrap_or_default());
        let status = number(STATUS).unwrap_or(0);
        let growth = match number(GROWTH).unwrap_or(0) {
            0 => FileGrowth::None,
            percent if status & STATUS_PERCENT != 0 => FileGrowth::Percent(percent),
            pages => FileGrowth::Pages(pages),
        };
        Ok(FileHeader {
            binding: Guid(chunk(column(BINDING), 0).ok_or(damaged(BINDING))?),
            file: FileId(u16_at(column(FILE), 0).ok_or(damaged(FILE))?),
            filegroup: u16_at(column(FILEGROUP), 0).ok_or(damaged(FILEGROUP))?,
            size_pages: number(SIZE).ok_or(damaged(SIZE))?,
            max_size_pages: number(MAX_SIZE).filter(|&pages| pages != u32::MAX),
            growth,
            min_size_pages: number(MIN_SIZE).unwrap_or(0),
            status,
            sector_size_bytes: number(SECTOR_SIZE).unwrap_or(0),
            backup_lsn: lsn(BACKUP_LSN),
            first_lsn: lsn(FIRST_LSN),
            max_lsn: lsn(MAX_LSN),
            differential_base_lsn: lsn(DIFF_BASE_LSN_2),
            differential_base: guid(DIFF_BASE_GUID_1),
            file_guid: guid(FILE_GUID),
            name: decode_utf16(column(NAME)),
        })
    }

    /// The header of a fresh page 0.
    pub const fn page_init(file: FileId) -> PageInit {
        PageInit::new(
            PageId::new(file.0, 0),
            PageType::FileHeader,
            SYSTEM_MAPS_UNIT,
            0,
        )
    }

    /// The record of a fresh page 0, for its slot 0.
    pub fn record(&self) -> Result<Vec<u8>, FileHeaderError> {
        let mut columns: Vec<_> = FRESH.iter().map(|&len| vec![0; usize::from(len)]).collect();
        if let Some(none) = columns.get_mut(SHRINK_SIZE) {
            none.fill(0xFF);
        }
        self.build(columns, COLUMNS, &FIXED)
    }

    /// The record of an existing page 0 with this header's values put in: for a change that replaces slot 0.
    pub fn updated_record(&self, page: &PageBuf) -> Result<Vec<u8>, FileHeaderError> {
        let record = header_record(page)?;
        let column = |index| {
            record
                .var(index)
                .map_or(Vec::new(), |(bytes, _)| bytes.to_vec())
        };
        let columns = (0..record.var_count()).map(column).collect();
        self.build(columns, record.column_count(), record.fixed())
    }

    /// Puts another [`FileHeader::max_lsn`] into page 0.
    pub fn set_max_lsn(page: &mut PageBuf, lsn: Lsn) -> Result<(), FileHeaderError> {
        let mut header = FileHeader::decode(page)?;
        header.max_lsn = lsn;
        let record = header.updated_record(page)?;
        Ok(PageMut::new(page).replace(0, &record)?)
    }

    /// Puts another [`FileHeader::binding`] into page 0.
    pub fn set_binding(page: &mut PageBuf, binding: Guid) -> Result<(), FileHeaderError> {
        let mut header = FileHeader::decode(page)?;
        header.binding = binding;
        let record = header.updated_record(page)?;
        Ok(PageMut::new(page).replace(0, &record)?)
    }

    /// Whether a file was closed together with the primary file of a cleanly shut down Furrow database. The
    /// last checkpoint of the shutdown wrote the boot page, and its LSN is in all headers. An older LSN is
    /// from before the boot page's change; a different one is from another shutdown. A log that was being
    /// created again may have put its first checkpoint into some of the headers already.
    pub fn rests_with(&self, primary: &FileHeader, boot_lsn: Lsn) -> bool {
        let first = boot_lsn.vlf().saturating_add(NEW_LOG_APART);
        let in_new_log = |header: &FileHeader| header.max_lsn.vlf() >= first;
        let alike = self.max_lsn == primary.max_lsn || in_new_log(self) || in_new_log(primary);
        // Older versions stored nothing there.
        self.max_lsn == Lsn::ZERO || (self.max_lsn > boot_lsn && alike)
    }

    /// Makes `page` this header. `m_lsn` stays: the caller stamps it.
    pub fn format(&self, page: &mut PageBuf) -> Result<(), FileHeaderError> {
        let record = self.record()?;
        let mut page = PageMut::new(page);
        page.format(&FileHeader::page_init(self.file));
        Ok(page.append(&record)?)
    }

    /// Puts this header's values in the columns and makes the record.
    fn build(
        &self,
        mut columns: Vec<Vec<u8>>,
        count: u16,
        fixed: &[u8],
    ) -> Result<Vec<u8>, FileHeaderError> {
        let mut name = Vec::new();
        encode_utf16(&self.name, &mut name);
        let units = name.len() / 2;
        if units == 0 || units > MAX_NAME_UNITS {
            return Err(FileHeaderError::Name { units });
        }
        // An older record may end before: it grows up to the last column we keep.
        columns.resize(columns.len().max(DIFF_BASE_GUID_2 + 1), Vec::new());
        for (column, value) in self.values(name) {
            if let Some(place) = columns.get_mut(column) {
                *place = value;
            }
        }
        let var = |bytes| VarColumn {
            bytes,
            complex: false,
        };
        let vars: Vec<_> = columns.iter().map(|bytes| var(bytes)).collect();
        let builder = RecordBuilder {
            columns: count.max(vars.len() as u16),
            vars: &vars,
            ..RecordBuilder::new(RecordKind::Primary, fixed)
        };
        let mut record = Vec::new();
        let built = builder.build(&mut record);
        built.ok_or(FileHeaderError::Damaged {
            column: columns.len(),
        })?;
        Ok(record)
    }

    /// The columns that this engine interprets.
    fn values(&self, name: Vec<u8>) -> [(usize, Vec<u8>); 18] {
        let (growth, percent) = match self.growth {
            FileGrowth::None => (0, 0),
            FileGrowth::Pages(pages) => (pages, 0),
            FileGrowth::Percent(percent) => (percent, STATUS_PERCENT),
        };
        let status = self.status & !STATUS_PERCENT | percent;
        let number = |value: u32| value.to_le_bytes().to_vec();
        let lsn = |lsn: Lsn| lsn.to_bytes().to_vec();
        let guid = |guid: Guid| guid.0.to_vec();
        [
            (BINDING, guid(self.binding)),
            (FILE, self.file.0.to_le_bytes().to_vec()),
            (FILEGROUP, self.filegroup.to_le_bytes().to_vec()),
            (SIZE, number(self.size_pages)),
            (MAX_SIZE, number(self.max_size_pages.unwrap_or(u32::MAX))),
            (GROWTH, number(growth)),
            (BACKUP_LSN, lsn(self.backup_lsn)),
            (FIRST_LSN, lsn(self.first_lsn)),
            (MAX_LSN, lsn(self.max_lsn)),
            (MIN_SIZE, number(self.min_size_pages)),
            (STATUS, number(status)),
            (SECTOR_SIZE, number(self.sector_size_bytes)),
            (DIFF_BASE_LSN_1, lsn(self.differential_base_lsn)),
            (DIFF_BASE_LSN_2, lsn(self.differential_base_lsn)),
            (DIFF_BASE_GUID_1, guid(self.differential_base)),
            (FILE_GUID, guid(self.file_guid)),
            (NAME, name),
            (DIFF_BASE_GUID_2, guid(self.differential_base)),
        ]
    }
}

fn header_record(page: &PageBuf) -> Result<Record<'_>, FileHeaderError> {
    let view = Page::new(page);
    if view.page_type() != PageType::FileHeader {
        return Err(FileHeaderError::NotAHeader {
            kind: view.page_type(),
        });
    }
    let record = view.record(0).and_then(Record::data);
    record.ok_or(FileHeaderError::Damaged { column: BINDING })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PAGE_SIZE;

    #[test]
    fn another_largest_lsn_changes_nothing_else_of_the_header() {
        let mut page = [0; PAGE_SIZE];
        sample().format(&mut page).unwrap();
        let before = FileHeader::decode(&page).unwrap();
        let lsn = Lsn::new(70, 80, 9).unwrap();
        FileHeader::set_max_lsn(&mut page, lsn).unwrap();
        let expected = FileHeader {
            max_lsn: lsn,
            ..before
        };
        assert_eq!(FileHeader::decode(&page).unwrap(), expected);
    }

    fn sample() -> FileHeader {
        FileHeader {
            max_size_pages: Some(4096),
            growth: FileGrowth::Percent(10),
            status: 2,
            backup_lsn: Lsn::new(5, 6, 7).unwrap(),
            first_lsn: Lsn::new(1, 2, 3).unwrap(),
            max_lsn: Lsn::new(8, 9, 10).unwrap(),
            differential_base_lsn: Lsn::new(4, 4, 4).unwrap(),
            differential_base: Guid([3; 16]),
            file_guid: Guid([2; 16]),
            name: "Company_data".to_owned(),
            ..FileHeader::new(Guid([1; 16]), FileId(3), 1, 640)
        }
    }

    #[test]
    fn a_header_survives_the_round_trip() {
        let mut page = [0xEE; PAGE_SIZE];
        let header = sample();
        header.format(&mut page).unwrap();
        let view = Page::new(&page);
        view.audit().unwrap();
        assert_eq!((view.page_id(), view.slot_count()), (PageId::new(3, 0), 1));
        let record = Record::data(view.record(0).unwrap()).unwrap();
        assert_eq!(record.status().0, 0x30);
        assert_eq!(
            (record.column_count(), record.var_count(), record.fixed()),
            (49, 46, &[0; 4][..])
        );
        assert_eq!(record.bytes().len(), 1093 + 24 - 34);
        let back = FileHeader::decode(&page).unwrap();
        assert_eq!(
            back,
            FileHeader {
                status: 2 | STATUS_PERCENT,
                ..header
            }
        );
    }

    #[test]
    fn an_update_keeps_the_columns_it_does_not_know() {
        let mut page = [0; PAGE_SIZE];
        let header = sample();
        header.format(&mut page).unwrap();
        // As an older version would have written it, with something in the unknown columns 7 and 22.
        let fresh = page;
        let record = Record::data(Page::new(&fresh).record(0).unwrap()).unwrap();
        let (marked, short) = ([0xAA; 4], [0xBB; 10]);
        let vars: Vec<_> = (0..23)
            .map(|index| {
                let (bytes, complex) = record.var(index).unwrap();
                let bytes = match index {
                    7 => &marked[..],
                    22 => &short,
                    _ => bytes,
                };
                VarColumn { bytes, complex }
            })
            .collect();
        let mut old = Vec::new();
        let base = RecordBuilder::new(RecordKind::Primary, &FIXED);
        RecordBuilder {
            columns: 23,
            vars: &vars,
            ..base
        }
        .build(&mut old)
        .unwrap();
        PageMut::new(&mut page).replace(0, &old).unwrap();
        assert_eq!(FileHeader::decode(&page).unwrap().name, "");

        let mut grown = FileHeader {
            size_pages: 1280,
            growth: FileGrowth::Pages(80),
            ..header
        };
        let updated = grown.updated_record(&page).unwrap();
        PageMut::new(&mut page).replace(0, &updated).unwrap();
        grown.status = 2;
        assert_eq!(FileHeader::decode(&page).unwrap(), grown);
        let record = Record::data(Page::new(&page).record(0).unwrap()).unwrap();
        assert_eq!(record.var(7), Some((&marked[..], false)));
        assert_eq!(record.var(22), Some((&short[..], false)));
        Page::new(&page).audit().unwrap();
    }

    #[test]
    fn names_that_no_catalog_takes_are_refused() {
        let mut header = sample();
        header.name.clear();
        assert_eq!(header.record(), Err(FileHeaderError::Name { units: 0 }));
        header.name = "x".repeat(129);
        assert_eq!(header.record(), Err(FileHeaderError::Name { units: 129 }));
        header.name = "x".repeat(128);
        assert!(header.record().is_ok());
    }

    #[test]
    fn other_pages_and_cut_records_are_no_headers() {
        let mut page = [0; PAGE_SIZE];
        let error = FileHeaderError::NotAHeader {
            kind: PageType::Unknown(0),
        };
        assert_eq!(FileHeader::decode(&page), Err(error));
        sample().format(&mut page).unwrap();
        PageMut::new(&mut page)
            .replace(0, &[0x10, 0, 8, 0, 0, 0, 0, 0, 1, 0, 0])
            .unwrap();
        let error = FileHeaderError::Damaged { column: BINDING };
        assert_eq!(FileHeader::decode(&page), Err(error));
    }
}
