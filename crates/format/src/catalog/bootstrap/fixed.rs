//! Rows that are the same in every new database but for its creation time: owners, schemas, types.

use crate::catalog::{ClassObject, Code, Owner, ScalarType, class, schema_id};
use furrow_types::{Collation, DataType, DateTime, TypeId};

pub(super) fn owners(created: DateTime) -> Vec<Owner> {
    let owner = |id, name: &str, kind, sid: Option<&[u8]>, schema: Option<&str>| Owner {
        id,
        name: name.to_owned(),
        kind: Code([kind]),
        sid: sid.map(<[u8]>::to_vec),
        password: None,
        dfltsch: schema.map(str::to_owned),
        status: 0,
        created,
        modified: created,
        deflanguage: None,
    };
    vec![
        owner(0, "public", b'R', None, None),
        owner(schema_id::DBO, "dbo", b'S', Some(&[1]), Some("dbo")),
        owner(schema_id::GUEST, "guest", b'S', Some(&[0]), Some("guest")),
        owner(
            schema_id::INFORMATION_SCHEMA,
            "INFORMATION_SCHEMA",
            b'S',
            None,
            None,
        ),
        owner(schema_id::SYS, "sys", b'S', None, None),
    ]
}

pub(super) fn class_objects<'a>(
    created: DateTime,
    filegroups: impl Iterator<Item = (u16, &'a str)>,
) -> Vec<ClassObject> {
    let object = |class, id, name: &str, status, kind| ClassObject {
        class,
        id,
        name: name.to_owned(),
        status,
        kind,
        intprop: 0,
        created,
        modified: created,
    };
    let schemas = [
        (schema_id::DBO, "dbo"),
        (schema_id::GUEST, "guest"),
        (schema_id::INFORMATION_SCHEMA, "INFORMATION_SCHEMA"),
        (schema_id::SYS, "sys"),
    ];
    filegroups
        .map(|(id, name)| {
            object(
                class::FILEGROUP,
                i32::from(id),
                name,
                i32::from(id == 1),
                Code(*b"FG"),
            )
        })
        .chain(schemas.map(|(id, name)| object(class::SCHEMA, id, name, 0, Code([0; 2]))))
        .collect()
}

/// Types of the system: each [`TypeId`] but the UDT, and `sysname`.
pub(super) fn scalar_types(created: DateTime) -> Vec<ScalarType> {
    let row = |id, name: &str, data_type: DataType, not_null: bool| ScalarType {
        id,
        schid: schema_id::SYS,
        name: name.to_owned(),
        xtype: data_type.id as u8,
        length: data_type.length,
        prec: data_type.precision,
        scale: data_type.scale,
        collationid: data_type.collation.0 as i32,
        status: i32::from(not_null),
        created,
        modified: created,
        dflt: 0,
        chk: 0,
    };
    let mut types = TypeId::ALL
        .iter()
        .filter(|&&id| id != TypeId::Udt)
        .map(|&id| row(id as i32, id.name(), widest(id), id == TypeId::RowVersion))
        .collect::<Vec<_>>();
    types.push(row(
        256,
        "sysname",
        DataType::sized(TypeId::NVarChar, 256),
        true,
    ));
    types
}

/// The widest type of an id: what `sysscalartypes` lists.
fn widest(id: TypeId) -> DataType {
    match id {
        TypeId::Decimal | TypeId::Numeric => {
            let collation = Collation::NONE;
            DataType {
                id,
                length: 17,
                precision: 38,
                scale: 38,
                collation,
            }
        }
        TypeId::Char
        | TypeId::VarChar
        | TypeId::NChar
        | TypeId::NVarChar
        | TypeId::Binary
        | TypeId::VarBinary => DataType::sized(id, 8000),
        _ => DataType::simple(id),
    }
}
