//! What a base table is: its columns as data, its rows as structs, both from one declaration.

use crate::{AllocUnitId, ObjectId, PageId, RowsetId};
use furrow_types::{DataType, DateTime, Decimal, Guid, TypeId, Value};

/// A column of a base table.
#[derive(Debug, Clone, Copy)]
pub struct BaseColumn {
    /// The name, as `syscolpars` has it.
    pub name: &'static str,
    /// The declared type.
    pub data_type: DataType,
    /// `utype`: the user-visible type, 256 for `sysname`.
    pub user_type: i32,
    /// Whether the catalog declares the column NULL.
    pub nullable: bool,
    /// Place in the clustered key, from 1; 0 = not in it.
    pub key_ordinal: u8,
}

/// A base table of version 706.
#[derive(Debug)]
pub struct BaseTable {
    /// Object id.
    pub id: i32,
    /// The name.
    pub name: &'static str,
    /// The columns, in order; column ids are places from 1.
    pub columns: &'static [BaseColumn],
}

impl BaseTable {
    /// Whether the table is a heap (`sysfiles1` alone is).
    pub fn is_heap(&self) -> bool {
        self.columns.iter().all(|column| column.key_ordinal == 0)
    }

    /// Id of the table's object.
    pub const fn object_id(&self) -> ObjectId {
        ObjectId(self.id)
    }

    /// Id of the table's rowset: the hard-wired tables have no index part.
    pub const fn rowset_id(&self) -> RowsetId {
        let index_part = match self.id {
            3 | 5 | 7 | 8 => 0,
            _ => 1,
        };
        RowsetId(AllocUnitId::from_parts(index_part, self.id as u32).0)
    }

    /// Id of the allocation unit of the table's rows: in databases of ours that of the rowset.
    pub const fn unit_id(&self) -> AllocUnitId {
        AllocUnitId(self.rowset_id().0)
    }

    /// Id of the allocation unit of the table's large values, for tables that may have some.
    pub(crate) fn lob_unit_id(&self) -> Option<AllocUnitId> {
        let has_large = self.columns.iter().any(|column| column.data_type.is_max());
        has_large.then(|| AllocUnitId::from_parts(255, self.id as u32))
    }

    /// The clustered key: places of its columns from 0, in key order.
    pub fn key(&self) -> impl Iterator<Item = usize> + '_ {
        (1..=self.columns.len()).map_while(|ordinal| {
            self.columns
                .iter()
                .position(|column| usize::from(column.key_ordinal) == ordinal)
        })
    }
}

/// A row of a base table.
pub trait BaseRow: Sized {
    /// The table.
    const TABLE: &'static BaseTable;

    /// The values, in the order of [`BaseTable::columns`].
    fn to_values(&self) -> Vec<Value>;

    /// From values in that order. A column that an older version lacks is given as NULL and reads as 0 or
    /// empty; `None` when a value is of another kind than its column.
    fn from_values(values: Vec<Value>) -> Option<Self>;
}

/// The types of the fields of catalog rows.
pub(crate) trait CatalogField: Sized {
    const NULLABLE: bool = false;
    fn to_value(&self) -> Value;
    fn from_value(value: Value) -> Option<Self>;
}

macro_rules! plain_fields {
    ($($field:ty, $variant:ident, $absent:expr;)*) => {
        $(impl CatalogField for $field {
            fn to_value(&self) -> Value {
                Value::$variant(self.clone())
            }

            fn from_value(value: Value) -> Option<Self> {
                match value {
                    Value::$variant(inner) => Some(inner),
                    Value::Null => Some($absent),
                    _ => None,
                }
            }
        })*
    };
}

plain_fields! {
    i64, BigInt, 0;
    i32, Int, 0;
    i16, SmallInt, 0;
    u8, TinyInt, 0;
    String, NVarChar, String::new();
    Guid, Guid, Guid::default();
    Vec<u8>, Binary, Vec::new();
    DateTime, DateTime, DateTime::new(0, 0)?;
    Decimal, Decimal, Decimal { unscaled: 0, scale: 0 };
}

impl CatalogField for PageId {
    fn to_value(&self) -> Value {
        Value::Binary(self.to_bytes().to_vec())
    }

    fn from_value(value: Value) -> Option<Self> {
        match value {
            Value::Binary(bytes) => Some(PageId::from_bytes(bytes.try_into().ok()?)),
            Value::Null => Some(PageId::NONE),
            _ => None,
        }
    }
}

impl CatalogField for Value {
    const NULLABLE: bool = true;

    fn to_value(&self) -> Value {
        self.clone()
    }

    fn from_value(value: Value) -> Option<Self> {
        Some(value)
    }
}

impl<T: CatalogField> CatalogField for Option<T> {
    const NULLABLE: bool = true;

    fn to_value(&self) -> Value {
        self.as_ref().map_or(Value::Null, T::to_value)
    }

    fn from_value(value: Value) -> Option<Self> {
        match value {
            Value::Null => Some(None),
            value => T::from_value(value).map(Some),
        }
    }
}

/// Code of `char(n)` columns of the catalog: an object type such as `U `, `PK`, or two zero bytes.
///
/// The codes themselves are in [`object_type`](super::object_type).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Code<const N: usize>(pub [u8; N]);

impl<const N: usize> CatalogField for Code<N> {
    fn to_value(&self) -> Value {
        Value::VarChar(self.0.iter().map(|&byte| char::from(byte)).collect())
    }

    fn from_value(value: Value) -> Option<Self> {
        let mut code = [b' '; N];
        if let Value::VarChar(text) = value {
            for (place, c) in code.iter_mut().zip(text.chars()) {
                *place = u8::try_from(c).unwrap_or(b'?');
            }
        } else if !value.is_null() {
            return None;
        }
        Some(Code(code))
    }
}

/// Declared types by the names that the declarations below use.
pub(crate) mod declared {
    use super::{DataType, TypeId};
    use furrow_types::{Collation, MAX_LENGTH};

    pub(crate) struct Declared(pub(crate) DataType, pub(crate) i32);

    macro_rules! simple {
        ($($name:ident $id:ident;)*) => {
            $(pub(crate) const $name: Declared =
                Declared(DataType::simple(TypeId::$id), TypeId::$id as i32);)*
        };
    }

    simple! {
        TINYINT TinyInt; SMALLINT SmallInt; INT Int; BIGINT BigInt; DATETIME DateTime;
        GUID UniqueIdentifier; VARIANT SqlVariant;
    }

    pub(crate) const SYSNAME: Declared = Declared(DataType::sized(TypeId::NVarChar, 256), 256);
    pub(crate) const VARBINARY_MAX: Declared = varbinary(MAX_LENGTH);

    pub(crate) const fn nvarchar(units: i16) -> Declared {
        Declared(
            DataType::sized(TypeId::NVarChar, units * 2),
            TypeId::NVarChar as i32,
        )
    }

    pub(crate) const fn nchar(units: i16) -> Declared {
        Declared(
            DataType::sized(TypeId::NChar, units * 2),
            TypeId::NChar as i32,
        )
    }

    /// Codes compare by byte, whatever the database's collation.
    pub(crate) const fn code(units: i16) -> Declared {
        let data_type = DataType::sized(TypeId::Char, units).with_collation(Collation(0x1008));
        Declared(data_type, TypeId::Char as i32)
    }

    pub(crate) const fn varbinary(bytes: i16) -> Declared {
        Declared(
            DataType::sized(TypeId::VarBinary, bytes),
            TypeId::VarBinary as i32,
        )
    }

    pub(crate) const fn binary(bytes: i16) -> Declared {
        Declared(
            DataType::sized(TypeId::Binary, bytes),
            TypeId::Binary as i32,
        )
    }
}

/// Declares a base table: a struct for its rows and the table as data.
///
/// `field: RustType = DECLARED, key ordinal, named "column";` A column is NULL where its Rust type is an
/// `Option` or a `Value`; `named` gives the name in the catalog where that is no fit name for a field.
macro_rules! base_table {
    (
        $(#[$doc:meta])*
        pub struct $row:ident, $table:ident = $id:literal $name:literal {
            $($(#[$field_doc:meta])*
              $field:ident: $rust:ty = $declared:expr $(, key $key:literal)? $(, named $column:literal)?;)*
        }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq)]
        pub struct $row {
            $($(#[$field_doc])* pub $field: $rust,)*
        }

        #[doc = concat!("`", $name, "`, base table ", stringify!($id), ".")]
        pub static $table: $crate::catalog::BaseTable = $crate::catalog::BaseTable {
            id: $id,
            name: $name,
            columns: &[$({
                use $crate::catalog::schema::declared::*;
                use $crate::catalog::schema::CatalogField;
                let declared = $declared;
                $crate::catalog::BaseColumn {
                    name: $crate::catalog::schema::base_table!(@name $field $($column)?),
                    data_type: declared.0,
                    user_type: declared.1,
                    nullable: <$rust as CatalogField>::NULLABLE,
                    key_ordinal: 0 $(+ $key)?,
                }
            },)*],
        };

        impl $crate::catalog::BaseRow for $row {
            const TABLE: &'static $crate::catalog::BaseTable = &$table;

            fn to_values(&self) -> Vec<furrow_types::Value> {
                use $crate::catalog::schema::CatalogField;
                vec![$(self.$field.to_value(),)*]
            }

            fn from_values(values: Vec<furrow_types::Value>) -> Option<Self> {
                use $crate::catalog::schema::CatalogField;
                let mut values = values.into_iter();
                Some($row {
                    $($field: CatalogField::from_value(
                        values.next().unwrap_or(furrow_types::Value::Null))?,)*
                })
            }
        }
    };
    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $column:literal) => { $column };
}

pub(crate) use base_table;
