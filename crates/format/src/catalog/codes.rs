//! Codes and status bits of the base tables.

/// Type codes of `sysschobjs`.
pub mod object_type {
    use super::super::Code;

    /// User table.
    pub const USER_TABLE: Code<2> = Code(*b"U ");
    /// Base table.
    pub const SYSTEM_TABLE: Code<2> = Code(*b"S ");
    /// Primary key.
    pub const PRIMARY_KEY: Code<2> = Code(*b"PK");
    /// Unique constraint.
    pub const UNIQUE_CONSTRAINT: Code<2> = Code(*b"UQ");
    /// Foreign key.
    pub const FOREIGN_KEY: Code<2> = Code(*b"F ");
    /// Default.
    pub const DEFAULT: Code<2> = Code(*b"D ");
    /// Check constraint.
    pub const CHECK: Code<2> = Code(*b"C ");
    /// View.
    pub const VIEW: Code<2> = Code(*b"V ");
    /// Procedure.
    pub const PROCEDURE: Code<2> = Code(*b"P ");
    /// Scalar function.
    pub const SCALAR_FUNCTION: Code<2> = Code(*b"FN");
    /// Function that is a query.
    pub const INLINE_FUNCTION: Code<2> = Code(*b"IF");
    /// Function that fills a table.
    pub const TABLE_FUNCTION: Code<2> = Code(*b"TF");
    /// Trigger.
    pub const TRIGGER: Code<2> = Code(*b"TR");
}

/// Where `sysschobjs.status` of a foreign key keeps its actions, two bits each: 0 no action, 1 cascade, 2 set
/// NULL, 3 set default. That of deletes is what real files have, that of updates is our own.
pub mod foreign_key_status {
    /// What happens to rows when the referenced one is deleted.
    pub const DELETE_SHIFT: u32 = 14;
    /// What happens to rows when the referenced key changes.
    pub const UPDATE_SHIFT: u32 = 16;
}

/// Classes of `syssingleobjrefs`, as real files have them.
pub mod reference_class {
    /// A foreign key to the referenced table, and the index of its key.
    pub const KEY_TO_TABLE: u8 = 27;
    /// A place of a foreign key to its own table and the referencing column.
    pub const KEY_COLUMN: u8 = 28;
    /// A place of a foreign key to the referenced table and column.
    pub const KEY_TO_COLUMN: u8 = 29;
}

/// Bits of `sysschobjs.status`.
pub mod object_status {
    /// Named by the system.
    pub const SYSTEM_NAMED: i32 = 0x4;
    /// A constraint that is not checked.
    pub const DISABLED: i32 = 0x100;
    /// A constraint that existing rows were not checked against.
    pub const NOT_TRUSTED: i32 = 0x200;
    /// Own: LOCK_ESCALATION = DISABLE of a table.
    pub const NO_ESCALATION: i32 = 0x400_0000;
    /// Own: LOCK_ESCALATION = AUTO of a table.
    pub const AUTO_ESCALATION: i32 = 0x800_0000;
    /// Own: both.
    pub const ESCALATION: i32 = NO_ESCALATION | AUTO_ESCALATION;
    /// What base tables carry.
    pub(crate) const BASE_TABLE: i32 = 0xE_0001;
}

/// Kinds of allocation units, `sysallocunits.type`.
pub mod unit_kind {
    /// Rows.
    pub const IN_ROW: u8 = 1;
    /// Large values.
    pub const LOB: u8 = 2;
    /// Columns that left rows that were too long.
    pub const ROW_OVERFLOW: u8 = 3;
}

/// Bits of `sysrscols.status`.
pub mod layout_status {
    /// Dropped: the place remains, and may be used again.
    pub const DROPPED: i32 = 0x2;
    /// Descending key.
    pub const DESCENDING: i32 = 0x8;
    /// The uniquifier of a clustered index that isn't unique.
    pub const UNIQUIFIER: i32 = 0x10;
    /// NOT NULL.
    pub const NOT_NULL: i32 = 0x80;
    /// Sparse.
    pub const SPARSE: i32 = 0x100;
}

/// Bits of `syscolpars.status`.
pub mod column_status {
    /// NOT NULL.
    pub const NOT_NULL: i32 = 0x1;
    /// ANSI padding: set on character and binary types.
    pub(crate) const ANSI_PADDED: i32 = 0x2;
    /// Identity.
    pub const IDENTITY: i32 = 0x4;
    /// ROWGUIDCOL.
    pub const ROWGUID: i32 = 0x8;
    /// Computed.
    pub const COMPUTED: i32 = 0x10;
    /// Sparse.
    pub const SPARSE: i32 = 0x100_0000;
    /// The column set of the sparse ones.
    pub const COLUMN_SET: i32 = 0x200_0000;
}

/// Bits of `sysschobjs.status` of modules.
pub mod module_status {
    /// Created with ANSI_NULLS ON.
    pub const ANSI_NULLS: i32 = 0x4_0000;
    /// Created with QUOTED_IDENTIFIER ON.
    pub const QUOTED_IDENTIFIER: i32 = 0x8_0000;
    /// Own: the other two bits are recorded.
    pub const KEPT: i32 = 0x4000_0000;
}

/// Bits of `sysidxstats.status`.
pub mod index_status {
    /// An index or heap, not only statistics.
    pub const INDEX: i32 = 0x1;
    /// Created on request; an index has it always.
    pub const NAMED: i32 = 0x2;
    /// Unique.
    pub const UNIQUE: i32 = 0x8;
    /// PAD_INDEX.
    pub const PADDED: i32 = 0x10;
    /// Of a primary key.
    pub const PRIMARY_KEY: i32 = 0x20;
    /// Of a unique constraint.
    pub const UNIQUE_CONSTRAINT: i32 = 0x40;
    /// Disabled.
    pub const DISABLED: i32 = 0x80;
    /// Hypothetical: statistics that a tuning tool made, without rows.
    pub const HYPOTHETICAL: i32 = 0x100;
    /// No row locks.
    pub const NO_ROW_LOCKS: i32 = 0x200;
    /// No page locks.
    pub const NO_PAGE_LOCKS: i32 = 0x400;
    /// Statistics.
    pub const STATISTICS: i32 = 0x2000;
    /// Filtered.
    pub const FILTERED: i32 = 0x2_0000;
    /// What indexes of base tables carry since 2012.
    pub(crate) const BASE_TABLE: i32 = 0x8_0000;
}

/// `sysidxstats.type`.
pub mod index_kind {
    /// Heap, or statistics.
    pub const HEAP: u8 = 0;
    /// Clustered index.
    pub const CLUSTERED: u8 = 1;
    /// Nonclustered index.
    pub const NONCLUSTERED: u8 = 2;
}

/// Bits of `sysiscols.status`.
pub mod index_column_status {
    /// Column of an index or of statistics.
    pub const COLUMN: i32 = 0x1;
    /// Key column.
    pub const KEY: i32 = 0x2;
    /// Descending.
    pub const DESCENDING: i32 = 0x4;
    /// Included.
    pub const INCLUDED: i32 = 0x10;
}

/// Bits of `sysrowsets.status`.
pub mod rowset_status {
    /// What rowsets of user tables carry; its meaning is not known.
    pub const USER: i32 = 0x2;
    /// Unique.
    pub const UNIQUE: i32 = 0x4;
    /// Keys may be NULL: rows of every level have a null bitmap.
    pub const NULLABLE_KEYS: i32 = 0x40;
    /// Holds the table's rows: heap or clustered index.
    pub const DATA: i32 = 0x200;
}

/// Classes of `sysclsobjs`.
pub mod class {
    /// Assembly.
    pub const ASSEMBLY: u8 = 10;
    /// Filegroup.
    pub const FILEGROUP: u8 = 31;
    /// Schema.
    pub const SCHEMA: u8 = 50;
}

/// Classes of `sysobjvalues`.
pub mod value_class {
    /// The text of a module, constraint or default.
    pub const TEXT: u8 = 1;
}

/// Ids of schemas that every database has.
pub mod schema_id {
    /// `dbo`.
    pub const DBO: i32 = 1;
    /// `guest`.
    pub(crate) const GUEST: i32 = 2;
    /// `INFORMATION_SCHEMA`.
    pub const INFORMATION_SCHEMA: i32 = 3;
    /// `sys`.
    pub(crate) const SYS: i32 = 4;
}
