//! The boot page (1:9): what must be known of a database before its catalog can be read.
//!
//! The page holds one record of fixed bytes, without columns. Every field has its place on the page
//! ([`field`]), so that one field can be read, set, or logged as a change
//! ([`Field::change`](crate::Field::change)). [`Boot`] is all of them in one: for making the page and
//! for tools.
//!
//! Own fields (recovery model, clean shutdown, ...) lie in bytes that are zero in real files of
//! versions 611 to 706, behind a magic: a page without it is a foreign one, and its own fields read as
//! their defaults.

pub mod field;
mod forks;
mod options;
#[cfg(test)]
mod tests;

use crate::{Lsn, Page, PageBuf, PageError, PageId, PageInit, PageMut, PageType, SYSTEM_MAPS_UNIT};
use furrow_types::{DateTime, Guid, decode_utf16, encode_utf16};

pub use forks::{Fork, Forks};
pub use options::{DelayedDurability, PageVerify, RecoveryModel, SessionDefaults, UserAccess};

/// Where the boot page is.
pub const BOOT_PAGE: PageId = PageId::new(1, 9);
/// Version this engine writes: SQL Server 2012.
pub const WRITTEN_VERSION: u16 = 706;
const MAGIC: [u8; 8] = *b"FURROW\x01\x00";
/// What the name is padded with: blanks byte by byte, which read as daggers in UTF-16.
const NAME_PADDING: [char; 2] = ['\u{2020}', ' '];

/// All contents of the boot page.
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
    /// Recovery forks.
    pub forks: Forks,
    /// The full backup that differential backups build on.
    pub differential_base: Guid,
    /// First page of `sysallocunits`.
    pub catalog_page: PageId,
    /// Counter of allocation units.
    pub next_unit: u64,
    /// What this engine adds.
    pub own: OwnBoot,
}

/// The fields of this engine on the boot page, beside SQL Server's.
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
    /// Incarnation of the log.
    pub log_incarnation: u64,
    /// LSN up to which the log is backed up.
    pub log_backup_lsn: Lsn,
    /// Read-only.
    pub read_only: bool,
    /// Whether commits may be acknowledged before they are durable.
    pub delayed_durability: DelayedDurability,
    /// Which sessions may use the database.
    pub user_access: UserAccess,
    /// Whether the first pages of tables and indexes come from mixed extents.
    pub mixed_pages: bool,
    /// AUTO_CREATE_STATISTICS as it was set.
    pub auto_create_statistics: bool,
    /// AUTO_UPDATE_STATISTICS as it was set.
    pub auto_update_statistics: bool,
    /// The SET options of sessions that set none.
    pub defaults: SessionDefaults,
    /// The compatibility level; 0 = the default of a new database.
    pub compatibility_level: u16,
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
            name: name.trim_end_matches(NAME_PADDING).to_owned(),
            database_id: field::DATABASE_ID.get_u16(page),
            compatibility: field::COMPATIBILITY.get_u16(page),
            row_version: u64::from_le_bytes(field::ROW_VERSION.get(page)),
            full_backup_lsn: lsn(field::FULL_BACKUP_LSN.get(page)),
            checkpoint_lsn: lsn(field::CHECKPOINT_LSN.get(page)),
            collation: field::COLLATION.get_u32(page),
            family: Guid(field::FAMILY.get(page)),
            forks: Forks::decode(page, is_own(page, len)),
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
        let mut name = Vec::with_capacity(field::NAME_BYTES);
        encode_utf16(&self.name, &mut name);
        if name.is_empty() || name.len() > field::NAME_BYTES {
            return Err(BootError::Name {
                units: name.len() / 2,
            });
        }
        let mut padded = [b' '; field::NAME_BYTES];
        for (place, &byte) in padded.iter_mut().zip(&name) {
            *place = byte;
        }
        let [a, b, c, d] = self.created.ticks().to_le_bytes();
        let [e, f, g, h] = self.created.days().to_le_bytes();
        let created = [a, b, c, d, e, f, g, h];
        let page = &mut page;
        field::FIXED_END.set_u16(page, field::RECORD_SIZE as u16);
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
        self.forks.set(page);
        field::DIFFERENTIAL_BASE.set(page, self.differential_base.0);
        field::CATALOG_PAGE.set_page(page, self.catalog_page);
        field::OLD_VERSION.set_u16(page, 611);
        field::CREATED_COPY.set(page, created);
        field::NEXT_UNIT.set(page, self.next_unit.to_le_bytes());
        self.own.encode(page);
        let record = page.get(crate::HEADER_SIZE..crate::HEADER_SIZE + field::RECORD_SIZE);
        Ok(record.unwrap_or_default().to_vec())
    }
}

/// Whether a boot page has the fields of this engine.
fn is_own(page: &PageBuf, record_len: usize) -> bool {
    let inside = crate::HEADER_SIZE + record_len >= field::OWN_END;
    inside && field::MAGIC.get(page) == MAGIC
}

impl OwnBoot {
    fn decode(page: &PageBuf, record_len: usize) -> OwnBoot {
        if !is_own(page, record_len) {
            return OwnBoot::default();
        }
        let [clean] = field::CLEAN_SHUTDOWN.get(page);
        let [recovery_model] = field::RECOVERY_MODEL.get(page);
        let [page_verify] = field::PAGE_VERIFY.get(page);
        let [read_only] = field::READ_ONLY.get(page);
        let [delayed] = field::DELAYED_DURABILITY.get(page);
        let [access] = field::USER_ACCESS.get(page);
        let [mixed] = field::MIXED_PAGES.get(page);
        let [statistics] = field::AUTO_STATISTICS.get(page);
        OwnBoot {
            clean_shutdown: clean == 1,
            recovery_model: RecoveryModel::from_byte(recovery_model),
            page_verify: PageVerify::from_byte(page_verify),
            target_recovery_s: field::TARGET_RECOVERY_S.get_u32(page),
            log_incarnation: u64::from_le_bytes(field::LOG_INCARNATION.get(page)),
            log_backup_lsn: Lsn::from_bytes(field::LOG_BACKUP_LSN.get(page)),
            read_only: read_only == 1,
            delayed_durability: DelayedDurability::from_byte(delayed),
            user_access: UserAccess::from_byte(access),
            mixed_pages: mixed == 1,
            auto_create_statistics: statistics & 1 != 0,
            auto_update_statistics: statistics & 2 != 0,
            defaults: SessionDefaults::from_bits(field::SESSION_DEFAULTS.get_u16(page)),
            compatibility_level: field::COMPATIBILITY_LEVEL.get_u16(page),
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
        field::READ_ONLY.set(page, [u8::from(self.read_only)]);
        field::DELAYED_DURABILITY.set(page, [self.delayed_durability.to_byte()]);
        field::USER_ACCESS.set(page, [self.user_access.to_byte()]);
        field::MIXED_PAGES.set(page, [u8::from(self.mixed_pages)]);
        field::AUTO_STATISTICS.set(page, [self.auto_statistics()]);
        field::SESSION_DEFAULTS.set_u16(page, self.defaults.bits());
        field::COMPATIBILITY_LEVEL.set_u16(page, self.compatibility_level);
    }

    /// [`field::AUTO_STATISTICS`] of it.
    fn auto_statistics(&self) -> u8 {
        auto_statistics(self.auto_create_statistics, self.auto_update_statistics)
    }
}

/// [`field::AUTO_STATISTICS`] for the two options.
pub const fn auto_statistics(create: bool, update: bool) -> u8 {
    create as u8 | (update as u8) << 1
}

/// Length of the boot record, when the page is a boot page and the record reaches behind
/// [`field::OLD_VERSION`].
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
