//! The boot page (1:9): what must be known of a database before its catalog can be read.
//!
//! The page holds one record of fixed bytes, without columns. Every field has its place on the page
//! ([`field`]), so that one field can be read, set, or logged as a change ([`Field::change`](crate::Field::change)). [`Boot`] is all of
//! them in one: for making the page and for tools.
//!
//! Own fields (recovery model, clean shutdown, ...) lie in bytes that are zero in real files of versions 611 to 706,
//! behind a magic: a page without it is a foreign one, and its own fields read as their defaults.

use crate::types::{DateTime, Guid, decode_utf16, encode_utf16};
use crate::{
    Lsn, Page, PageBuf, PageError, PageId, PageInit, PageMut, PageType, SYSTEM_MAPS_UNIT,
    stamp_checksum, stamp_nothing, stamp_torn_bits,
};

/// Where the boot page is.
pub const BOOT_PAGE: PageId = PageId::new(1, 9);
/// Version this engine writes: SQL Server 2012.
pub const WRITTEN_VERSION: u16 = 706;
/// Length of version 706's record.
const RECORD_SIZE: usize = 1504;
const MAGIC: [u8; 8] = *b"FURROW\x01\x00";
const NAME_BYTES: usize = 256;

/// The fields of the boot page, each at its place.
pub mod field {
    use crate::Field;

    /// The record's fixed end: its length. u16
    pub(super) const FIXED_END: Field<98, 2> = Field;
    /// Version of the format. u16
    pub const VERSION: Field<100, 2> = Field;
    /// Version the database was created with. u16
    pub const CREATE_VERSION: Field<102, 2> = Field;
    /// Status bits. u32
    pub const STATUS: Field<132, 4> = Field;
    /// Seed of object ids. i32
    pub const NEXT_OBJECT_ID: Field<136, 4> = Field;
    /// When the database was created: ticks u32, days i32.
    pub const CREATED: Field<140, 8> = Field;
    /// Name: UTF-16, padded with blanks.
    pub const NAME: Field<148, 256> = Field;
    /// Number of the database in its instance. u16
    pub const DATABASE_ID: Field<408, 2> = Field;
    /// Compatibility level. u16
    pub const COMPATIBILITY: Field<410, 2> = Field;
    /// Counter of `rowversion`. u64
    pub const ROW_VERSION: Field<412, 8> = Field;
    /// LSN of the last full backup.
    pub const FULL_BACKUP_LSN: Field<432, 10> = Field;
    /// LSN where recovery begins.
    pub const CHECKPOINT_LSN: Field<444, 10> = Field;
    /// Collation. u32
    pub const COLLATION: Field<488, 4> = Field;
    /// Family: the same in a database and everything restored from it.
    pub const FAMILY: Field<504, 16> = Field;
    /// Recovery fork: where the present one began.
    pub const FORK_LSN: Field<540, 10> = Field;
    /// Recovery fork.
    pub const FORK: Field<552, 16> = Field;
    /// The fork before: where it began.
    pub const OLD_FORK_LSN: Field<568, 10> = Field;
    /// The fork before.
    pub const OLD_FORK: Field<580, 16> = Field;
    /// The full backup that differential backups build on.
    pub const DIFFERENTIAL_BASE: Field<596, 16> = Field;
    /// First page of `sysallocunits`: the way into the catalog.
    pub const CATALOG_PAGE: Field<612, 6> = Field;
    /// A version that real files do not keep current: 611 in all of them. u16
    pub const OLD_VERSION: Field<618, 2> = Field;
    /// [`CREATED`] once more.
    pub const CREATED_COPY: Field<772, 8> = Field;
    /// Counter of allocation units: the next one's id is this shifted left by 16. u64
    pub const NEXT_UNIT: Field<832, 8> = Field;

    /// Own: says that the fields below mean something.
    pub const MAGIC: Field<1024, 8> = Field;
    /// Own: 1 = shut down cleanly, nothing to recover.
    pub const CLEAN_SHUTDOWN: Field<1032, 1> = Field;
    /// Own: recovery model.
    pub const RECOVERY_MODEL: Field<1033, 1> = Field;
    /// Own: page protection.
    pub const PAGE_VERIFY: Field<1034, 1> = Field;
    /// Own: target recovery time in seconds, 0 = by the instance's setting. u32
    pub const TARGET_RECOVERY_S: Field<1036, 4> = Field;
    /// Own: number of the log's life; a log file of another life is not this database's. u64
    pub const LOG_INCARNATION: Field<1040, 8> = Field;
    /// Own: LSN up to which the log is backed up.
    pub const LOG_BACKUP_LSN: Field<1048, 10> = Field;
    /// Own: end of the area.
    pub(super) const OWN_END: usize = 1064;
}

const _: () = {
    assert!(field::NAME.end() == field::NAME.start() + NAME_BYTES);
    assert!(field::NAME.end() <= field::DATABASE_ID.start());
    assert!(field::CHECKPOINT_LSN.start() >= field::FULL_BACKUP_LSN.end());
    assert!(field::OLD_FORK.end() == field::DIFFERENTIAL_BASE.start());
    assert!(field::DIFFERENTIAL_BASE.end() == field::CATALOG_PAGE.start());
    assert!(field::CATALOG_PAGE.end() == field::OLD_VERSION.start());
    assert!(field::NEXT_UNIT.end() <= field::MAGIC.start());
    assert!(field::LOG_BACKUP_LSN.end() <= field::OWN_END);
    assert!(field::OWN_END <= crate::HEADER_SIZE + RECORD_SIZE);
};

/// What the log must keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum RecoveryModel {
    /// Everything until it is backed up.
    #[default]
    Full,
    /// As full, but bulk work is logged in brief.
    BulkLogged,
    /// What recovery needs.
    Simple,
}

impl RecoveryModel {
    /// As `sys.databases` numbers it.
    pub const fn to_byte(self) -> u8 {
        match self {
            RecoveryModel::Full => 1,
            RecoveryModel::BulkLogged => 2,
            RecoveryModel::Simple => 3,
        }
    }

    /// From its number; anything unknown is `Full`, which loses nothing.
    pub const fn from_byte(byte: u8) -> RecoveryModel {
        match byte {
            2 => RecoveryModel::BulkLogged,
            3 => RecoveryModel::Simple,
            _ => RecoveryModel::Full,
        }
    }
}

/// How pages are protected when they are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum PageVerify {
    /// Not at all.
    None,
    /// By torn bits.
    TornPageDetection,
    /// By a checksum.
    #[default]
    Checksum,
}

impl PageVerify {
    /// As `sys.databases` numbers it.
    pub const fn to_byte(self) -> u8 {
        match self {
            PageVerify::None => 0,
            PageVerify::TornPageDetection => 1,
            PageVerify::Checksum => 2,
        }
    }

    /// From its number; anything unknown is `Checksum`.
    pub const fn from_byte(byte: u8) -> PageVerify {
        match byte {
            0 => PageVerify::None,
            1 => PageVerify::TornPageDetection,
            _ => PageVerify::Checksum,
        }
    }

    /// Protects a copy of a page that is about to be written.
    pub fn stamp(self, page: &mut PageBuf) {
        match self {
            PageVerify::None => stamp_nothing(page),
            PageVerify::TornPageDetection => stamp_torn_bits(page),
            PageVerify::Checksum => stamp_checksum(page),
        }
    }
}

/// All that the boot page says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Boot {
    /// Version of the format.
    pub version: u16,
    /// Version the database was created with.
    pub create_version: u16,
    /// Status bits.
    pub status: u32,
    /// Seed of object ids.
    pub next_object_id: i32,
    /// When the database was created.
    pub created: DateTime,
    /// Name.
    pub name: String,
    /// Number of the database in its instance.
    pub database_id: u16,
    /// Compatibility level.
    pub compatibility: u16,
    /// Counter of `rowversion`.
    pub row_version: u64,
    /// LSN of the last full backup.
    pub full_backup_lsn: Lsn,
    /// LSN where recovery begins.
    pub checkpoint_lsn: Lsn,
    /// Collation.
    pub collation: u32,
    /// Family.
    pub family: Guid,
    /// Recovery fork.
    pub fork: Guid,
    /// LSN at which the fork began.
    pub fork_lsn: Lsn,
    /// The full backup that differential backups build on.
    pub differential_base: Guid,
    /// First page of `sysallocunits`.
    pub catalog_page: PageId,
    /// Counter of allocation units.
    pub next_unit: u64,
    /// What this engine adds.
    pub own: OwnBoot,
}

/// What this engine keeps on the boot page beside the product's fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OwnBoot {
    /// Shut down cleanly: nothing to recover.
    pub clean_shutdown: bool,
    /// Recovery model.
    pub recovery_model: RecoveryModel,
    /// Page protection.
    pub page_verify: PageVerify,
    /// Target recovery time in seconds, 0 = by the instance's setting.
    pub target_recovery_s: u32,
    /// Number of the log's life.
    pub log_incarnation: u64,
    /// LSN up to which the log is backed up.
    pub log_backup_lsn: Lsn,
}

/// Why a page is no boot page, or one cannot be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BootError {
    /// Not a boot page.
    #[error("a {kind} page, not a boot page")]
    NotABootPage {
        /// What it is.
        kind: PageType,
    },
    /// The record is damaged, or too short for the fields that every version has.
    #[error("boot record of {len} bytes")]
    Damaged {
        /// Its length; 0 = no record.
        len: usize,
    },
    /// The name is empty or longer than 128 characters.
    #[error("database name of {units} characters")]
    Name {
        /// Its length in UTF-16 units.
        units: usize,
    },
    /// The page does not take the record.
    #[error(transparent)]
    Page(#[from] PageError),
}

impl Boot {
    /// Reads the boot page. Fields behind the end of an older version's record are zero.
    pub fn decode(page: &PageBuf) -> Result<Boot, BootError> {
        let len = check(page)?;
        let lsn = |bytes| Lsn::from_bytes(bytes);
        let next_unit = if len > field::NEXT_UNIT.end() - crate::HEADER_SIZE {
            u64::from_le_bytes(field::NEXT_UNIT.get(page))
        } else {
            0
        };
        let name = decode_utf16(&field::NAME.get(page));
        let [a, b, c, d, e, f, g, h] = field::CREATED.get(page);
        let (ticks, days) = (
            u32::from_le_bytes([a, b, c, d]),
            i32::from_le_bytes([e, f, g, h]),
        );
        Ok(Boot {
            version: field::VERSION.get_u16(page),
            create_version: field::CREATE_VERSION.get_u16(page),
            status: field::STATUS.get_u32(page),
            next_object_id: i32::from_le_bytes(field::NEXT_OBJECT_ID.get(page)),
            created: DateTime::new(days, ticks).unwrap_or(DateTime::EPOCH),
            name: name.trim_end_matches(' ').to_owned(),
            database_id: field::DATABASE_ID.get_u16(page),
            compatibility: field::COMPATIBILITY.get_u16(page),
            row_version: u64::from_le_bytes(field::ROW_VERSION.get(page)),
            full_backup_lsn: lsn(field::FULL_BACKUP_LSN.get(page)),
            checkpoint_lsn: lsn(field::CHECKPOINT_LSN.get(page)),
            collation: field::COLLATION.get_u32(page),
            family: Guid(field::FAMILY.get(page)),
            fork: Guid(field::FORK.get(page)),
            fork_lsn: lsn(field::FORK_LSN.get(page)),
            differential_base: Guid(field::DIFFERENTIAL_BASE.get(page)),
            catalog_page: field::CATALOG_PAGE.get_page(page),
            next_unit,
            own: OwnBoot::decode(page, len),
        })
    }

    /// Makes `page` the boot page. `m_lsn` stays: the caller stamps it.
    ///
    /// Logged, it is `Format(Boot::page_init())`, `HeapPut { slot: 0, bytes: &boot.record()? }`.
    pub fn format(&self, page: &mut PageBuf) -> Result<(), BootError> {
        let record = self.record()?;
        let mut page = PageMut::new(page);
        page.format(&Boot::page_init());
        Ok(page.append(&record)?)
    }

    /// The header of a fresh boot page.
    pub const fn page_init() -> PageInit {
        PageInit::new(BOOT_PAGE, PageType::Boot, SYSTEM_MAPS_UNIT, 0)
    }

    /// The record of a fresh boot page, for its slot 0.
    pub fn record(&self) -> Result<Vec<u8>, BootError> {
        let mut page = [0; crate::PAGE_SIZE];
        let mut name = Vec::with_capacity(NAME_BYTES);
        encode_utf16(&self.name, &mut name);
        if name.is_empty() || name.len() > NAME_BYTES {
            return Err(BootError::Name {
                units: name.len() / 2,
            });
        }
        let blanks = [b' ', 0].into_iter().cycle();
        let mut padded = [0; NAME_BYTES];
        for (place, byte) in padded.iter_mut().zip(name.iter().copied().chain(blanks)) {
            *place = byte;
        }
        let [a, b, c, d] = self.created.ticks().to_le_bytes();
        let [e, f, g, h] = self.created.days().to_le_bytes();
        let created = [a, b, c, d, e, f, g, h];
        let page = &mut page;
        field::FIXED_END.set_u16(page, RECORD_SIZE as u16);
        field::VERSION.set_u16(page, self.version);
        field::CREATE_VERSION.set_u16(page, self.create_version);
        field::STATUS.set_u32(page, self.status);
        field::NEXT_OBJECT_ID.set(page, self.next_object_id.to_le_bytes());
        field::CREATED.set(page, created);
        field::NAME.set(page, padded);
        field::DATABASE_ID.set_u16(page, self.database_id);
        field::COMPATIBILITY.set_u16(page, self.compatibility);
        field::ROW_VERSION.set(page, self.row_version.to_le_bytes());
        field::FULL_BACKUP_LSN.set(page, self.full_backup_lsn.to_bytes());
        field::CHECKPOINT_LSN.set(page, self.checkpoint_lsn.to_bytes());
        field::COLLATION.set_u32(page, self.collation);
        field::FAMILY.set(page, self.family.0);
        field::FORK_LSN.set(page, self.fork_lsn.to_bytes());
        field::FORK.set(page, self.fork.0);
        field::DIFFERENTIAL_BASE.set(page, self.differential_base.0);
        field::CATALOG_PAGE.set_page(page, self.catalog_page);
        field::OLD_VERSION.set_u16(page, 611);
        field::CREATED_COPY.set(page, created);
        field::NEXT_UNIT.set(page, self.next_unit.to_le_bytes());
        self.own.encode(page);
        let record = page.get(crate::HEADER_SIZE..crate::HEADER_SIZE + RECORD_SIZE);
        Ok(record.unwrap_or_default().to_vec())
    }
}

impl OwnBoot {
    fn decode(page: &PageBuf, record_len: usize) -> OwnBoot {
        let inside = crate::HEADER_SIZE + record_len >= field::OWN_END;
        if !inside || field::MAGIC.get(page) != MAGIC {
            return OwnBoot::default();
        }
        let [clean] = field::CLEAN_SHUTDOWN.get(page);
        let [recovery_model] = field::RECOVERY_MODEL.get(page);
        let [page_verify] = field::PAGE_VERIFY.get(page);
        OwnBoot {
            clean_shutdown: clean == 1,
            recovery_model: RecoveryModel::from_byte(recovery_model),
            page_verify: PageVerify::from_byte(page_verify),
            target_recovery_s: field::TARGET_RECOVERY_S.get_u32(page),
            log_incarnation: u64::from_le_bytes(field::LOG_INCARNATION.get(page)),
            log_backup_lsn: Lsn::from_bytes(field::LOG_BACKUP_LSN.get(page)),
        }
    }

    fn encode(&self, page: &mut PageBuf) {
        field::MAGIC.set(page, MAGIC);
        field::CLEAN_SHUTDOWN.set(page, [u8::from(self.clean_shutdown)]);
        field::RECOVERY_MODEL.set(page, [self.recovery_model.to_byte()]);
        field::PAGE_VERIFY.set(page, [self.page_verify.to_byte()]);
        field::TARGET_RECOVERY_S.set_u32(page, self.target_recovery_s);
        field::LOG_INCARNATION.set(page, self.log_incarnation.to_le_bytes());
        field::LOG_BACKUP_LSN.set(page, self.log_backup_lsn.to_bytes());
    }
}

/// Length of the boot record, when the page is a boot page and the record reaches behind [`field::OLD_VERSION`].
fn check(page: &PageBuf) -> Result<usize, BootError> {
    let view = Page::new(page);
    if view.page_type() != PageType::Boot {
        return Err(BootError::NotABootPage {
            kind: view.page_type(),
        });
    }
    let at_start = view.slot_offset(0).map(usize::from) == Some(crate::HEADER_SIZE);
    let len = view
        .record(0)
        .filter(|_record| at_start)
        .map_or(0, <[u8]>::len);
    if crate::HEADER_SIZE + len < field::OLD_VERSION.end() {
        return Err(BootError::Damaged { len });
    }
    Ok(len)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Change, PAGE_SIZE, apply};

    fn sample() -> Boot {
        Boot {
            version: WRITTEN_VERSION,
            create_version: 655,
            status: 0x4001_0009,
            next_object_id: 2_073_058_421,
            created: DateTime::new(41_000, 16_774_428).unwrap(),
            name: "Company \u{e9}".to_owned(),
            database_id: 7,
            compatibility: 110,
            row_version: 2000,
            full_backup_lsn: Lsn::new(30, 1, 2).unwrap(),
            checkpoint_lsn: Lsn::new(32, 280, 2).unwrap(),
            collation: 872_468_488,
            family: Guid([7; 16]),
            fork: Guid([8; 16]),
            fork_lsn: Lsn::new(1, 2, 3).unwrap(),
            differential_base: Guid([9; 16]),
            catalog_page: PageId::new(1, 20),
            next_unit: 0x0100_0000_005F,
            own: OwnBoot {
                clean_shutdown: true,
                recovery_model: RecoveryModel::Simple,
                page_verify: PageVerify::TornPageDetection,
                target_recovery_s: 60,
                log_incarnation: 0x1122_3344_5566_7788,
                log_backup_lsn: Lsn::new(31, 5, 6).unwrap(),
            },
        }
    }

    #[test]
    fn a_boot_page_survives_the_round_trip_and_has_the_frame_of_real_ones() {
        let mut page = [0xEE; PAGE_SIZE];
        sample().format(&mut page).unwrap();
        let view = Page::new(&page);
        view.audit().unwrap();
        assert_eq!((view.page_id(), view.unit()), (BOOT_PAGE, SYSTEM_MAPS_UNIT));
        assert_eq!(
            (view.free_count(), view.free_data(), view.slot_count()),
            (6590, 1600, 1)
        );
        assert_eq!(page[96..104], [0, 0, 0xe0, 0x05, 0xc2, 0x02, 0x8f, 0x02]);
        assert_eq!(page[400..404], [b' ', 0, b' ', 0]);
        assert_eq!(Boot::decode(&page).unwrap(), sample());
    }

    #[test]
    fn the_logged_form_makes_the_same_page() {
        let (mut direct, mut redone) = ([1; PAGE_SIZE], [1; PAGE_SIZE]);
        sample().format(&mut direct).unwrap();
        apply(&Change::Format(Boot::page_init()), &mut redone).unwrap();
        let record = sample().record().unwrap();
        apply(
            &Change::HeapPut {
                slot: 0,
                bytes: &record,
            },
            &mut redone,
        )
        .unwrap();
        assert!(direct == redone);
        let lsn = Lsn::new(40, 1, 1).unwrap();
        apply(&field::CHECKPOINT_LSN.change(&lsn.to_bytes()), &mut redone).unwrap();
        apply(&field::CLEAN_SHUTDOWN.change(&[0]), &mut redone).unwrap();
        let own = OwnBoot {
            clean_shutdown: false,
            ..sample().own
        };
        let changed = Boot {
            checkpoint_lsn: lsn,
            own,
            ..sample()
        };
        assert_eq!(Boot::decode(&redone).unwrap(), changed);
    }

    #[test]
    fn a_foreign_boot_page_has_default_own_fields() {
        let mut page = [0; PAGE_SIZE];
        sample().format(&mut page).unwrap();
        field::MAGIC.set(&mut page, [0; 8]);
        assert_eq!(Boot::decode(&page).unwrap().own, OwnBoot::default());
    }

    #[test]
    fn other_pages_and_short_records_are_no_boot_pages() {
        let mut page = [0; PAGE_SIZE];
        let error = BootError::NotABootPage {
            kind: PageType::Unknown(0),
        };
        assert_eq!(Boot::decode(&page), Err(error));
        sample().format(&mut page).unwrap();
        page[98..100].copy_from_slice(&500_u16.to_le_bytes());
        assert_eq!(Boot::decode(&page), Err(BootError::Damaged { len: 500 }));
        page[98..100].copy_from_slice(&9000_u16.to_le_bytes());
        assert_eq!(Boot::decode(&page), Err(BootError::Damaged { len: 0 }));
        // Version 611 ends its record before the counter of allocation units.
        page[98..100].copy_from_slice(&732_u16.to_le_bytes());
        let old = Boot::decode(&page).unwrap();
        assert_eq!((old.next_unit, old.own), (0, OwnBoot::default()));
        let nameless = Boot {
            name: String::new(),
            ..sample()
        };
        assert_eq!(nameless.record(), Err(BootError::Name { units: 0 }));
    }
}
