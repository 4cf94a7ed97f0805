//! The fields of the boot page, each at its place.

use crate::Field;

/// Length of version 706's record.
pub(super) const RECORD_SIZE: usize = 1504;

pub(super) const NAME_BYTES: usize = 256;

/// The record's fixed end: its length. u16
pub(super) const FIXED_END: Field<98, 2> = Field;
/// Version of the format. u16
pub const VERSION: Field<100, 2> = Field;
/// Version the database was created with. u16
pub const CREATE_VERSION: Field<102, 2> = Field;
/// Status bits. u32
pub(crate) const STATUS: Field<132, 4> = Field;
/// Seed of object ids. i32
pub const NEXT_OBJECT_ID: Field<136, 4> = Field;
/// When the database was created: ticks u32, days i32.
pub const CREATED: Field<140, 8> = Field;
/// Name: UTF-16, padded with bytes 0x20.
pub const NAME: Field<148, 256> = Field;
/// Number of the database in its instance. u16
pub const DATABASE_ID: Field<408, 2> = Field;
/// Compatibility level. u16
pub const COMPATIBILITY: Field<410, 2> = Field;
/// Counter of `rowversion`. u64
pub(crate) const ROW_VERSION: Field<412, 8> = Field;
/// LSN of the last full backup.
pub const FULL_BACKUP_LSN: Field<432, 10> = Field;
/// LSN where recovery begins.
pub const CHECKPOINT_LSN: Field<444, 10> = Field;
/// Collation. u32
pub const COLLATION: Field<488, 4> = Field;
/// Family: the same in a database and everything restored from it.
pub(crate) const FAMILY: Field<504, 16> = Field;
/// Recovery forks, the present one and the one before: each its first LSN, 2 bytes, its number.
pub const FORKS: Field<540, 56> = Field;
/// The full backup that differential backups build on.
pub const DIFFERENTIAL_BASE: Field<596, 16> = Field;
/// First page of `sysallocunits`: the way into the catalog.
pub const CATALOG_PAGE: Field<612, 6> = Field;
/// A version that real files do not keep current: 611 in all of them. u16
pub(crate) const OLD_VERSION: Field<618, 2> = Field;
/// [`CREATED`] once more.
pub(crate) const CREATED_COPY: Field<772, 8> = Field;
/// Counter of allocation units: the next one's id is this shifted left by 16. u64
pub const NEXT_UNIT: Field<832, 8> = Field;

/// Own: shows that the fields below are valid.
pub const MAGIC: Field<1024, 8> = Field;
/// Own: 1 = shut down cleanly, nothing to recover.
pub const CLEAN_SHUTDOWN: Field<1032, 1> = Field;
/// Own: recovery model.
pub const RECOVERY_MODEL: Field<1033, 1> = Field;
/// Own: page protection.
pub const PAGE_VERIFY: Field<1034, 1> = Field;
/// Own: target recovery time in seconds, 0 = by the instance's setting. u32
pub const TARGET_RECOVERY_S: Field<1036, 4> = Field;
/// Own: incarnation of the log; a log file of another incarnation does not belong to this database. u64
pub(crate) const LOG_INCARNATION: Field<1040, 8> = Field;
/// Own: LSN up to which the log is backed up.
pub const LOG_BACKUP_LSN: Field<1048, 10> = Field;
/// Own: 1 = read-only.
pub const READ_ONLY: Field<1058, 1> = Field;
/// Own: whether commits may be acknowledged before they are durable.
pub const DELAYED_DURABILITY: Field<1059, 1> = Field;
/// Own: which sessions may use the database.
pub const USER_ACCESS: Field<1060, 1> = Field;
/// Own: 1 = the first pages of tables and indexes come from mixed extents.
pub const MIXED_PAGES: Field<1061, 1> = Field;
/// Own: bits of the statistics that are maintained automatically: 1 = create, 2 = update.
pub const AUTO_STATISTICS: Field<1062, 1> = Field;
/// Own: the SET options of sessions that set none, a bit for each option that is ON. u16
pub const SESSION_DEFAULTS: Field<1064, 2> = Field;
/// Own: the compatibility level; 0 = the default of a new database. u16
pub const COMPATIBILITY_LEVEL: Field<1066, 2> = Field;
/// Own: the largest number of a data file that was removed while the log was held for log backups; 0 = none.
/// u16
pub const REMOVED_FILE: Field<1068, 2> = Field;
/// Own: when a consistency check last found the database clean, as `datetime`: ticks, then days.
pub const KNOWN_GOOD: Field<1096, 8> = Field;
/// Bytes of [`OLDER_FORKS`].
pub(super) const OLDER_FORKS_BYTES: usize = 392;
/// Own: the forks before those of [`FORKS`].
pub const OLDER_FORKS: Field<1104, OLDER_FORKS_BYTES> = Field;
/// Own: end of the area that every own boot page has.
pub(super) const OWN_END: usize = 1068;

const _: () = {
    assert!(NAME.end() == NAME.start() + NAME_BYTES);
    assert!(NAME.end() <= DATABASE_ID.start());
    assert!(CHECKPOINT_LSN.start() >= FULL_BACKUP_LSN.end());
    assert!(FAMILY.end() <= FORKS.start());
    assert!(FORKS.end() == DIFFERENTIAL_BASE.start());
    assert!(KNOWN_GOOD.end() <= OLDER_FORKS.start());
    assert!(OLDER_FORKS.end() <= crate::HEADER_SIZE + RECORD_SIZE);
    assert!(DIFFERENTIAL_BASE.end() == CATALOG_PAGE.start());
    assert!(CATALOG_PAGE.end() == OLD_VERSION.start());
    assert!(NEXT_UNIT.end() <= MAGIC.start());
    assert!(LOG_BACKUP_LSN.end() <= READ_ONLY.start());
    assert!(READ_ONLY.end() <= DELAYED_DURABILITY.start());
    assert!(DELAYED_DURABILITY.end() <= USER_ACCESS.start());
    assert!(USER_ACCESS.end() <= MIXED_PAGES.start());
    assert!(MIXED_PAGES.end() <= AUTO_STATISTICS.start());
    assert!(AUTO_STATISTICS.end() <= SESSION_DEFAULTS.start());
    assert!(SESSION_DEFAULTS.end() <= COMPATIBILITY_LEVEL.start());
    assert!(COMPATIBILITY_LEVEL.end() <= OWN_END);
    assert!(OWN_END <= REMOVED_FILE.start());
    assert!(REMOVED_FILE.end() <= KNOWN_GOOD.start());
    assert!(KNOWN_GOOD.end() <= crate::HEADER_SIZE + RECORD_SIZE);
    assert!(OWN_END <= crate::HEADER_SIZE + RECORD_SIZE);
};
