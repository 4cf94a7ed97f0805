//! Tables that list objects, columns, types, indexes, schemas, owners, values, references.

use super::Code;
use super::schema::base_table;
use furrow_types::{DateTime, Value};

base_table! {
    /// An object of a schema: table, constraint, view, procedure.
    pub struct SchemaObject, SYSSCHOBJS = 34 "sysschobjs" {
        /// Object id.
        id: i32 = INT, key 1;
        /// Name.
        name: String = SYSNAME;
        /// Schema.
        nsid: i32 = INT;
        /// 0 schema.
        nsclass: u8 = TINYINT;
        /// 0x1 shipped with SQL Server, 0x4 named by the system.
        status: i32 = INT;
        /// Type code: [`object_type`](super::object_type).
        kind: Code<2> = code(2), named "type";
        /// Parent object, of constraints and triggers.
        pid: i32 = INT;
        /// 1 object.
        pclass: u8 = TINYINT;
        /// Of tables the highest column id used.
        intprop: i32 = INT;
        /// Created.
        created: DateTime = DATETIME;
        /// Last changed.
        modified: DateTime = DATETIME;
        /// More status.
        status2: i32 = INT;
    }
}

base_table! {
    /// A column of a table or view, or a parameter.
    pub struct Column, SYSCOLPARS = 41 "syscolpars" {
        /// Object id.
        id: i32 = INT, key 1;
        /// 0 for columns, 1 for parameters.
        number: i16 = SMALLINT, key 2;
        /// Column id.
        colid: i32 = INT, key 3;
        /// Name.
        name: Option<String> = SYSNAME;
        /// System type.
        xtype: u8 = TINYINT;
        /// Type as declared: the system type's id, 256 `sysname`, from 257 user types.
        utype: i32 = INT;
        /// Bytes, -1 for (max).
        length: i16 = SMALLINT;
        /// Precision.
        prec: u8 = TINYINT;
        /// Scale.
        scale: u8 = TINYINT;
        /// Collation.
        collationid: i32 = INT;
        /// See [`column_status`](super::column_status).
        status: i32 = INT;
        /// Most bytes in the row.
        maxinrow: i16 = SMALLINT;
        /// XML schema collection.
        xmlns: i32 = INT;
        /// Object id of the default.
        dflt: i32 = INT;
        /// Object id of the rule.
        chk: i32 = INT;
        /// Identity: last value, increment, seed, one byte: [`Identity`](super::Identity).
        idtval: Option<Vec<u8>> = varbinary(64);
    }
}

base_table! {
    /// A type: the system's, or a user's (from 257).
    pub struct ScalarType, SYSSCALARTYPES = 50 "sysscalartypes" {
        /// Id.
        id: i32 = INT, key 1;
        /// Schema.
        schid: i32 = INT;
        /// Name.
        name: String = SYSNAME;
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
        /// 1 NOT NULL.
        status: i32 = INT;
        /// Created.
        created: DateTime = DATETIME;
        /// Last changed.
        modified: DateTime = DATETIME;
        /// Default.
        dflt: i32 = INT;
        /// Rule.
        chk: i32 = INT;
    }
}

base_table! {
    /// An index, a heap, or statistics.
    pub struct IndexStat, SYSIDXSTATS = 54 "sysidxstats" {
        /// Object id.
        id: i32 = INT, key 1;
        /// Index id: 0 heap, 1 clustered.
        indid: i32 = INT, key 2;
        /// Name; a heap has none.
        name: Option<String> = SYSNAME;
        /// See [`index_status`](super::index_status).
        status: i32 = INT;
        /// 0.
        intprop: i32 = INT;
        /// Fill factor.
        fillfact: u8 = TINYINT;
        /// 0 heap or statistics, 1 clustered, 2 nonclustered.
        kind: u8 = TINYINT, named "type";
        /// 0.
        tinyprop: u8 = TINYINT;
        /// Filegroup or partition scheme; 0 in base tables.
        dataspace: i32 = INT;
        /// Filegroup of large values.
        lobds: i32 = INT;
        /// Rowset of the first partition.
        rowset: i64 = BIGINT;
    }
}

base_table! {
    /// A column of an index or of statistics.
    pub struct IndexColumn, SYSISCOLS = 55 "sysiscols" {
        /// Object id.
        idmajor: i32 = INT, key 1;
        /// Index id.
        idminor: i32 = INT, key 2;
        /// Place in the index, from 1.
        subid: i32 = INT, key 3;
        /// See [`index_column_status`](super::index_column_status).
        status: i32 = INT;
        /// Column id of the table.
        intprop: i32 = INT;
        /// Place in the key, from 1; 0 = included.
        tinyprop1: u8 = TINYINT;
        /// Place in the partitioning key.
        tinyprop2: u8 = TINYINT;
        /// 0.
        tinyprop3: u8 = TINYINT;
    }
}

base_table! {
    /// A value of an object: the text of a module, constraint or default.
    pub struct ObjectValue, SYSOBJVALUES = 60 "sysobjvalues" {
        /// 1 the text of a module, constraint or default.
        valclass: u8 = TINYINT, key 1;
        /// Object id.
        objid: i32 = INT, key 2;
        /// Part of the object.
        subobjid: i32 = INT, key 3;
        /// Number among several.
        valnum: i32 = INT, key 4;
        /// A small value.
        value: Value = VARIANT;
        /// A large one; texts are of one byte a character.
        imageval: Option<Vec<u8>> = VARBINARY_MAX;
    }
}

base_table! {
    /// Something that isn't an object: a schema, a filegroup.
    pub struct ClassObject, SYSCLSOBJS = 64 "sysclsobjs" {
        /// See [`class`](super::class).
        class: u8 = TINYINT, key 1;
        /// Id within the class.
        id: i32 = INT, key 2;
        /// Name.
        name: String = SYSNAME;
        /// Of filegroups 0x10 the default one.
        status: i32 = INT;
        /// `FG` of filegroups, zeros otherwise.
        kind: Code<2> = code(2), named "type";
        /// Depends on the class.
        intprop: i32 = INT;
        /// Created.
        created: DateTime = DATETIME;
        /// Last changed.
        modified: DateTime = DATETIME;
    }
}

base_table! {
    /// A user or role.
    pub struct Owner, SYSOWNERS = 27 "sysowners" {
        /// Id.
        id: i32 = INT, key 1;
        /// Name.
        name: String = SYSNAME;
        /// `S` user, `R` role, `U` Windows user.
        kind: Code<1> = code(1), named "type";
        /// Security id.
        sid: Option<Vec<u8>> = varbinary(85);
        /// Password hash.
        password: Option<Vec<u8>> = varbinary(256);
        /// Default schema.
        dfltsch: Option<String> = SYSNAME;
        /// 0.
        status: i32 = INT;
        /// Created.
        created: DateTime = DATETIME;
        /// Last changed.
        modified: DateTime = DATETIME;
        /// Language.
        deflanguage: Option<String> = SYSNAME;
    }
}

base_table! {
    /// A reference to one object: a class has at most one a dependent (schema owner, default of a column).
    pub struct SingleReference, SYSSINGLEOBJREFS = 74 "syssingleobjrefs" {
        /// Class of the reference.
        class: u8 = TINYINT, key 2;
        /// Dependent.
        depid: i32 = INT, key 1;
        /// Part of the dependent.
        depsubid: i32 = INT, key 3;
        /// What it depends on.
        indepid: i32 = INT;
        /// Part of that.
        indepsubid: i32 = INT;
        /// 0.
        status: i32 = INT;
    }
}

base_table! {
    /// A reference to one object of many: columns of a foreign key.
    pub struct MultiReference, SYSMULTIOBJREFS = 75 "sysmultiobjrefs" {
        /// Class of the reference.
        class: u8 = TINYINT, key 2;
        /// Dependent.
        depid: i32 = INT, key 1;
        /// Part of the dependent.
        depsubid: i32 = INT, key 3;
        /// What it depends on.
        indepid: i32 = INT, key 4;
        /// Part of that.
        indepsubid: i32 = INT, key 5;
        /// 0.
        status: i32 = INT;
    }
}

base_table! {
    /// The value of a column that rows older than the column don't store (2012 and later).
    pub struct RowsetValue, SYSSEOBJVALUES = 9 "sysseobjvalues" {
        /// 1.
        valclass: u8 = TINYINT, key 1;
        /// Rowset.
        id: i64 = BIGINT, key 2;
        /// Physical column.
        subid: i64 = BIGINT, key 3;
        /// 0.
        valnum: i32 = INT, key 4;
        /// The value.
        value: Value = VARIANT;
        /// A large one.
        imageval: Option<Vec<u8>> = VARBINARY_MAX;
    }
}
