//! Tables of the places of rows: files, rowsets, allocation units, column layouts.

use super::schema::base_table;
use crate::PageId;
use furrow_types::{DateTime, Guid};

base_table! {
    /// An allocation unit: the pages of one kind of one rowset.
    pub struct AllocUnit, SYSALLOCUNITS = 7 "sysallocunits" {
        /// Id; its two halves are in the header of each of its pages.
        auid: i64 = BIGINT, key 1;
        /// 1 in-row data, 2 large values, 3 row overflow.
        kind: u8 = TINYINT, named "type";
        /// The rowset.
        ownerid: i64 = BIGINT;
        /// 0 in every unit that has pages.
        status: i32 = INT;
        /// Filegroup.
        fgid: i16 = SMALLINT;
        /// First page; not trustworthy in real files.
        pgfirst: PageId = binary(6);
        /// Root of the index; of a heap nothing, or the first page.
        pgroot: PageId = binary(6);
        /// First page of the IAM chain.
        pgfirstiam: PageId = binary(6);
        /// Pages with content, IAM pages included. Advisory.
        pcused: i64 = BIGINT;
        /// Leaf pages. Advisory.
        pcdata: i64 = BIGINT;
        /// Pages set aside. Advisory.
        pcreserved: i64 = BIGINT;
    }
}

base_table! {
    /// A rowset: a heap, or one index.
    pub struct Rowset, SYSROWSETS = 5 "sysrowsets" {
        /// Id (`hobt_id`).
        rowsetid: i64 = BIGINT, key 1;
        /// 1 table or index.
        ownertype: u8 = TINYINT;
        /// Object id.
        idmajor: i32 = INT;
        /// Index id: 0 heap, 1 clustered index.
        idminor: i32 = INT;
        /// Partition number, from 1.
        numpart: i32 = INT;
        /// See [`rowset_status`](super::rowset_status).
        status: i32 = INT;
        /// FILESTREAM filegroup.
        fgidfs: i16 = SMALLINT;
        /// Rows.
        rcrows: i64 = BIGINT;
        /// Compression: 0 none, 1 row, 2 page.
        cmprlevel: u8 = TINYINT;
        /// Fill factor, 0 = 100.
        fillfact: u8 = TINYINT;
        /// Highest bit number of the null bitmap.
        maxnullbit: i16 = SMALLINT;
        /// Largest leaf row.
        maxleaf: i32 = INT;
        /// Largest non-leaf row.
        maxint: i16 = SMALLINT;
        /// Fixed part of a leaf row: pminlen of leaf pages.
        minleaf: i16 = SMALLINT;
        /// Fixed part of a non-leaf row: pminlen of non-leaf pages.
        minint: i16 = SMALLINT;
        /// GUID of replicated rowsets. `sysrscols` declares NOT NULL, rows contain NULL.
        rsguid: Option<Vec<u8>> = varbinary(16);
        /// Id that locks use, where it isn't the rowset's.
        lockres: Option<Vec<u8>> = varbinary(8);
        /// Scope.
        scope_id: Option<i32> = INT;
    }
}

base_table! {
    /// A column of a rowset as it lies in the row.
    pub struct RowsetColumn, SYSRSCOLS = 3 "sysrscols" {
        /// The rowset.
        rsid: i64 = BIGINT, key 1;
        /// Column id of the table, place in the index, or 0 for the uniquifier.
        rscolid: i32 = INT;
        /// Physical order.
        hbcolid: i32 = INT, key 2;
        /// Modifications, for statistics.
        rcmodified: i64 = BIGINT;
        /// Packed type: [`DataType::from_ti`](furrow_types::DataType::from_ti).
        ti: i32 = INT;
        /// Collation.
        cid: i32 = INT;
        /// Place in the key of the tree, from 1; 0 = not in it.
        ordkey: i16 = SMALLINT;
        /// Most bytes in the row, for types that may leave it; 0 otherwise.
        maxinrowlen: i16 = SMALLINT;
        /// See [`layout_status`](super::layout_status).
        status: i32 = INT;
        /// Leaf offset in the low half, non-leaf offset in the high half.
        offset: i32 = INT;
        /// Null bit numbers from 1, leaf in the low half.
        nullbit: i32 = INT;
        /// Bit positions of a `bit` column, leaf in the low byte.
        bitpos: i16 = SMALLINT;
        /// GUID of replicated columns.
        colguid: Option<Vec<u8>> = varbinary(16);
    }
}

base_table! {
    /// A file as the older views list it: data file 1 and the log. A heap, at (1:32) in real files.
    pub struct File1, SYSFILES1 = 8 "sysfiles1" {
        /// 2 data, 0x42 log, 0x100000 growth in percent.
        status: i32 = INT;
        /// File id.
        fileid: i16 = SMALLINT;
        /// Logical name.
        name: String = nchar(128);
        /// Physical name.
        filename: String = nchar(260);
    }
}

base_table! {
    /// A file of the database.
    pub struct DatabaseFile, SYSPRUFILES = 24 "sysprufiles" {
        /// 1.
        dbfragid: i32 = INT;
        /// File id.
        fileid: i32 = INT, key 1;
        /// Filegroup, 0 for the log.
        grpid: i32 = INT;
        /// 0x200 set, 0x20 growth in percent, 0x10 read only.
        status: i32 = INT;
        /// 0 data, 1 log.
        filetype: u8 = TINYINT;
        /// 0 online.
        filestate: u8 = TINYINT;
        /// Pages.
        size: i32 = INT;
        /// Most pages, -1 for no limit.
        maxsize: i32 = INT;
        /// Pages, or percent.
        growth: i32 = INT;
        /// Logical name.
        lname: String = SYSNAME;
        /// Physical name.
        pname: String = nvarchar(260);
        /// LSN of creation.
        createlsn: Option<Vec<u8>> = binary(10);
        /// LSN of removal.
        droplsn: Option<Vec<u8>> = binary(10);
        /// The file's GUID.
        fileguid: Option<Guid> = GUID;
        /// 0.
        internalstatus: i32 = INT;
        /// LSN at which it became read only.
        readonlylsn: Option<Vec<u8>> = binary(10);
        /// LSN at which it became writable.
        readwritelsn: Option<Vec<u8>> = binary(10);
        /// Base of read-only backups.
        readonlybaselsn: Option<Vec<u8>> = binary(10);
        /// First update.
        firstupdatelsn: Option<Vec<u8>> = binary(10);
        /// Last update.
        lastupdatelsn: Option<Vec<u8>> = binary(10);
        /// LSN of the last backup.
        backuplsn: Option<Vec<u8>> = binary(10);
        /// LSN of the differential base.
        diffbaselsn: Option<Vec<u8>> = binary(10);
        /// GUID of the differential base.
        diffbaseguid: Option<Guid> = GUID;
        /// Time of the differential base.
        diffbasetime: DateTime = DATETIME;
        /// Second LSN of the differential base.
        diffbaseseclsn: Option<Vec<u8>> = binary(10);
        /// Where redo starts.
        redostartlsn: Option<Vec<u8>> = binary(10);
        /// Where redo may stop.
        redotargetlsn: Option<Vec<u8>> = binary(10);
        /// Recovery fork.
        forkguid: Option<Guid> = GUID;
        /// LSN of the fork.
        forklsn: Option<Vec<u8>> = binary(10);
        /// Version of the fork.
        forkvc: i64 = BIGINT;
        /// Fork in which redo starts.
        redostartforkguid: Option<Guid> = GUID;
    }
}

base_table! {
    /// A physical filegroup.
    pub struct PhysicalFilegroup, SYSPHFG = 23 "sysphfg" {
        /// 1.
        dbfragid: i32 = INT;
        /// Id.
        phfgid: i32 = INT, key 1;
        /// Filegroup.
        fgid: i32 = INT;
        /// `FG`.
        kind: super::Code<2> = code(2), named "type";
        /// GUID, of filegroups other than PRIMARY.
        fgguid: Option<Guid> = GUID;
        /// Log filegroup.
        lgfgid: Option<i32> = INT;
        /// 8 read only.
        status: i32 = INT;
        /// Name.
        name: String = SYSNAME;
    }
}

impl DatabaseFile {
    /// The row of a file of which no more than this is known: online, without a limit, never backed up.
    pub fn plain(fileid: i32, grpid: i32, fileguid: Guid) -> DatabaseFile {
        DatabaseFile {
            dbfragid: 1,
            fileid,
            grpid,
            status: 0x200,
            filetype: u8::from(grpid == 0),
            filestate: 0,
            size: 0,
            maxsize: -1,
            growth: 0,
            lname: String::new(),
            pname: String::new(),
            createlsn: None,
            droplsn: None,
            fileguid: Some(fileguid),
            internalstatus: 0,
            readonlylsn: None,
            readwritelsn: None,
            readonlybaselsn: None,
            firstupdatelsn: None,
            lastupdatelsn: None,
            backuplsn: None,
            diffbaselsn: None,
            diffbaseguid: None,
            diffbasetime: DateTime::EPOCH,
            diffbaseseclsn: None,
            redostartlsn: None,
            redotargetlsn: None,
            forkguid: None,
            forklsn: None,
            forkvc: 0,
            redostartforkguid: None,
        }
    }
}
