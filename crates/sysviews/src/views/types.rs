//! Columns and types.

use super::server::COLLATION;
use super::{Rows, SystemView, ViewColumn, ViewContext, columns, joined, view_columns};
use crate::value::*;
use furrow_context::error::Result;
use furrow_engine::{Column, Table, TableChild};
use furrow_types::{DataType, TypeId, Value};

pub(super) const COLUMNS: [ViewColumn; 34] = *columns! {
    "object_id" INT; "name" SYSNAME null; "column_id" INT; "system_type_id" TINYINT; "user_type_id" INT;
    "max_length" SMALLINT; "precision" TINYINT; "scale" TINYINT; "collation_name" SYSNAME null;
    "is_nullable" BIT null; "is_ansi_padded" BIT; "is_rowguidcol" BIT; "is_identity" BIT;
    "is_computed" BIT; "is_filestream" BIT; "is_replicated" BIT null; "is_non_sql_subscribed" BIT null;
    "is_merge_published" BIT null; "is_dts_replicated" BIT null; "is_xml_document" BIT;
    "xml_collection_id" INT; "default_object_id" INT; "rule_object_id" INT; "is_sparse" BIT null;
    "is_column_set" BIT null; "generated_always_type" TINYINT null; "generated_always_type_desc" DESC null;
    "encryption_type" INT null; "encryption_type_desc" DESC null; "encryption_algorithm_name" SYSNAME null;
    "column_encryption_key_id" INT null; "column_encryption_key_database_name" SYSNAME null;
    "is_hidden" BIT; "is_masked" BIT;
};

static IDENTITY_COLUMNS: [ViewColumn; 38] = joined(
    &COLUMNS,
    columns! {
        "seed_value" NUMBER null; "increment_value" NUMBER null; "last_value" NUMBER null;
        "is_not_for_replication" BIT null;
    },
);

pub(super) static VIEWS: &[SystemView] = &[
    SystemView {
        schema: "sys",
        name: "columns",
        columns: &COLUMNS,
        parameters: None,
        text: "The columns of tables and views.",
        rows: columns_of_tables,
    },
    SystemView {
        schema: "sys",
        name: "identity_columns",
        columns: &IDENTITY_COLUMNS,
        parameters: None,
        text: "The identity columns, with their last values.",
        rows: identities,
    },
    SystemView {
        schema: "sys",
        name: "types",
        columns: columns! {
            "name" SYSNAME; "system_type_id" TINYINT; "user_type_id" INT; "schema_id" INT;
            "principal_id" INT null; "max_length" SMALLINT; "precision" TINYINT; "scale" TINYINT;
            "collation_name" SYSNAME null; "is_nullable" BIT null; "is_user_defined" BIT;
            "is_assembly_type" BIT; "default_object_id" INT; "rule_object_id" INT; "is_table_type" BIT;
        },
        parameters: None,
        text: "The types.",
        rows: types,
    },
    SystemView {
        schema: "dbo",
        name: "syscolumns",
        columns: columns! {
            "name" SYSNAME null; "id" INT; "xtype" TINYINT; "xusertype" SMALLINT null; "length" SMALLINT;
            "xprec" TINYINT; "xscale" TINYINT; "colid" SMALLINT null;
            "cdefault" INT; "colorder" SMALLINT null;
            "status" TINYINT null; "prec" SMALLINT null; "scale" INT null; "iscomputed" INT null;
            "isoutparam" INT null; "isnullable" INT null; "collation" SYSNAME null;
        },
        parameters: None,
        text: "The columns of tables and views under their old names: use sys.columns.",
        rows: syscolumns,
    },
];

/// `numeric(38, 0)`; SQL Server has sql_variant here.
const NUMBER: DataType = DataType {
    precision: 38,
    length: 17,
    ..DataType::simple(TypeId::Numeric)
};

pub(super) fn columns_of_tables(view: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    for table in view.tables()? {
        let children = table.children();
        for column in table.columns() {
            rows(column_row(&table, &children, column));
        }
    }
    for (module, columns) in view_columns(view)? {
        for (at, column) in columns.iter().enumerate() {
            rows(described(
                (module.id().0, at as i32 + 1, &column.name),
                (column.data_type, column.nullable),
                (false, 0),
            ));
        }
    }
    Ok(())
}

fn syscolumns(view: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    // A bit of the status says whether a column is an identity column.
    const IDENTITY: u8 = 0x80;
    const NULLABLE: u8 = 0x08;
    columns_of_tables(view, &mut |column| {
        let at = |place: usize| column.get(place).cloned().unwrap_or(Value::Null);
        let number = |place: usize| at(place).as_i64().unwrap_or(0);
        let (length, id) = (number(5), TypeId::from_u8(number(3) as u8));
        let unicode = id.is_some_and(TypeId::is_unicode);
        let is_text = id.is_some_and(TypeId::has_collation);
        let prec = match (is_text, unicode) {
            (true, true) if length > 0 => length / 2,
            (true, _) => length,
            _ => number(6),
        };
        let nullable = number(9) == 1;
        let identity = number(12) == 1;
        let status = u8::from(nullable) * NULLABLE + u8::from(identity) * IDENTITY;
        rows(vec![
            at(1),
            at(0),
            at(3),
            small(number(4)),
            at(5),
            at(6),
            at(7),
            small(number(2)),
            at(21),
            small(number(2)),
            tiny(status),
            small(prec),
            if is_text { Value::Null } else { int(number(7)) },
            int(0),
            int(0),
            int(i32::from(nullable)),
            at(8),
        ]);
    })
}

fn column_row(table: &Table, children: &[TableChild], column: &Column) -> Vec<Value> {
    let named = |c: &&TableChild| Some(&c.name) == column.default_name.as_ref();
    let default = children.iter().find(named).map_or(0, |c| c.id.0);
    described(
        (table.id().0, column.id, &column.name),
        (column.data_type, column.nullable),
        (column.identity, default),
    )
}

/// A row of `sys.columns`: object, number and name; type and whether it can be NULL; whether it is an
/// identity column, and the object of its default.
pub(super) fn described(
    (object, id, name): (i32, i32, &str),
    (of, nullable): (DataType, bool),
    (identity, default): (bool, i32),
) -> Vec<Value> {
    let (off, is_text) = (bit(false), of.id.has_collation());
    let padded = is_text || of.id.family() == furrow_types::Family::Binary;
    let mut row = vec![
        int(object),
        text(name),
        int(id),
        tiny(of.id as u8),
        int(of.id as u8),
        small(of.length),
        tiny(of.precision),
        tiny(of.scale),
        maybe_text(of.collation.name().filter(|_| is_text)),
        bit(nullable),
        bit(padded),
        off.clone(),
        bit(identity),
    ];
    // Computed, filestream, replicated in five ways, whole XML documents.
    row.extend(vec![off.clone(); 7]);
    row.extend([int(0), int(default), int(0), off.clone(), off.clone()]);
    row.extend([tiny(0), text("NOT_APPLICABLE")]);
    row.extend(vec![Value::Null; 5]);
    row.extend([off.clone(), off]);
    row
}

fn identities(view: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    for table in view.tables()? {
        let Some(column) = table.columns().iter().find(|c| c.identity) else {
            continue;
        };
        let Some(state) = table.identity_values() else {
            continue;
        };
        let mut row = column_row(&table, &table.children(), column);
        row.extend([
            number(state.seed),
            number(state.increment),
            if state.issued {
                number(state.last)
            } else {
                Value::Null
            },
            bit(false),
        ]);
        rows(row);
    }
    Ok(())
}

/// `numeric(38, 0)`.
pub(crate) fn number(n: i128) -> Value {
    Value::Decimal(furrow_types::Decimal {
        unscaled: n,
        scale: 0,
    })
}

fn types(_: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    for id in TypeId::ALL.iter().copied().filter(|id| *id != TypeId::Udt) {
        let (length, precision, scale) = limits(id);
        rows(type_row(
            id.name(),
            id,
            i32::from(id as u8),
            (length, precision, scale),
        ));
    }
    rows(type_row("sysname", TypeId::NVarChar, 256, (256, 0, 0)));
    Ok(())
}

fn type_row(name: &str, id: TypeId, user: i32, limits: (i16, u8, u8)) -> Vec<Value> {
    vec![
        text(name),
        tiny(id as u8),
        int(user),
        int(4),
        Value::Null,
        small(limits.0),
        tiny(limits.1),
        tiny(limits.2),
        maybe_text(id.has_collation().then_some(COLLATION)),
        bit(user != 256 && id != TypeId::RowVersion),
        bit(false),
        bit(false),
        int(0),
        int(0),
        bit(false),
    ]
}

/// Largest length, precision and scale of a type.
fn limits(id: TypeId) -> (i16, u8, u8) {
    match id {
        TypeId::TinyInt => (1, 3, 0),
        TypeId::SmallInt => (2, 5, 0),
        TypeId::Int => (4, 10, 0),
        TypeId::BigInt => (8, 19, 0),
        TypeId::Bit => (1, 1, 0),
        TypeId::Decimal | TypeId::Numeric => (17, 38, 38),
        TypeId::Money => (8, 19, 4),
        TypeId::SmallMoney => (4, 10, 4),
        TypeId::Real => (4, 24, 0),
        TypeId::Float => (8, 53, 0),
        TypeId::Date => (3, 10, 0),
        TypeId::Time => (5, 16, 7),
        TypeId::DateTime => (8, 23, 3),
        TypeId::DateTime2 => (8, 27, 7),
        TypeId::DateTimeOffset => (10, 34, 7),
        TypeId::SmallDateTime => (4, 16, 0),
        TypeId::UniqueIdentifier | TypeId::Text | TypeId::NText | TypeId::Image => (16, 0, 0),
        TypeId::RowVersion => (8, 0, 0),
        TypeId::SqlVariant => (8016, 0, 0),
        TypeId::Xml | TypeId::Udt => (-1, 0, 0),
        _ => (8000, 0, 0),
    }
}
