//! Tables of SQL Server 2005 that later versions replaced by `sysrscols`. Read only.

use super::schema::base_table;

base_table! {
    /// A column of a rowset.
    pub struct RowsetColumn611, SYSROWSETCOLUMNS = 4 "sysrowsetcolumns" {
        /// Rowset.
        rowsetid: i64 = BIGINT, key 1;
        /// Column id.
        rowsetcolid: i32 = INT, key 2;
        /// Physical column.
        hobtcolid: i32 = INT;
        /// Status.
        status: i32 = INT;
        /// Modifications.
        rcmodified: i64 = BIGINT;
        /// Most bytes in the row.
        maxinrowlen: i16 = SMALLINT;
    }
}

base_table! {
    /// A physical column.
    pub struct HobtColumn, SYSHOBTCOLUMNS = 13 "syshobtcolumns" {
        /// Rowset.
        hobtid: i64 = BIGINT, key 1;
        /// Physical column.
        hobtcolumnid: i32 = INT, key 2;
        /// Status.
        status: i32 = INT;
        /// Place in the key.
        ordkey: i16 = SMALLINT;
        /// System type.
        xtype: u8 = TINYINT;
        /// Bytes.
        length: i16 = SMALLINT;
        /// Precision.
        prec: u8 = TINYINT;
        /// Scale.
        scale: u8 = TINYINT;
        /// Collation.
        collationid: i32 = INT;
        /// Leaf offset.
        offsetleaf: i16 = SMALLINT;
        /// Non-leaf offset.
        offsetint: i16 = SMALLINT;
        /// Leaf bit.
        bitposleaf: u8 = TINYINT;
        /// Non-leaf bit.
        bitposint: u8 = TINYINT;
        /// Leaf null bit.
        nullbitleaf: i16 = SMALLINT;
        /// Non-leaf null bit.
        nullbitint: i16 = SMALLINT;
    }
}
