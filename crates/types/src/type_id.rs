//! The ids of SQL Server's system types.

use std::fmt;

/// Declares the types once: id, variant, T-SQL name, family, bytes on disk (0 = declared or by scale).
macro_rules! types {
    ($($id:literal $variant:ident $name:literal $family:ident $bytes:literal;)*) => {
        /// A system type (`xtype` in the catalog).
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum TypeId {
            $(#[doc = concat!("`", $name, "`")] $variant = $id,)*
        }

        impl TypeId {
            /// Every type, by id.
            pub const ALL: &'static [TypeId] = &[$(TypeId::$variant,)*];

            /// The type with this id.
            pub const fn from_u8(id: u8) -> Option<TypeId> {
                match id {
                    $($id => Some(TypeId::$variant),)*
                    _ => None,
                }
            }

            /// The type of a name in lower case, without length or precision.
            pub fn from_name(name: &str) -> Option<TypeId> {
                match name {
                    $($name => Some(TypeId::$variant),)*
                    _ => None,
                }
            }

            /// The name in T-SQL, without length or precision.
            pub const fn name(self) -> &'static str {
                match self {
                    $(TypeId::$variant => $name,)*
                }
            }

            /// What kind of type it is.
            pub const fn family(self) -> Family {
                match self {
                    $(TypeId::$variant => Family::$family,)*
                }
            }

            /// Bytes on disk, for types whose declaration has no length.
            pub const fn implied_len(self) -> Option<u16> {
                let bytes: u16 = match self {
                    $(TypeId::$variant => $bytes,)*
                };
                if bytes == 0 { None } else { Some(bytes) }
            }
        }
    };
}

types! {
    34 Image "image" Lob 16;
    35 Text "text" Lob 16;
    36 UniqueIdentifier "uniqueidentifier" Guid 16;
    40 Date "date" DateTime 3;
    41 Time "time" DateTime 0;
    42 DateTime2 "datetime2" DateTime 0;
    43 DateTimeOffset "datetimeoffset" DateTime 0;
    48 TinyInt "tinyint" Integer 1;
    52 SmallInt "smallint" Integer 2;
    56 Int "int" Integer 4;
    58 SmallDateTime "smalldatetime" DateTime 4;
    59 Real "real" Approximate 4;
    60 Money "money" Exact 8;
    61 DateTime "datetime" DateTime 8;
    62 Float "float" Approximate 8;
    98 SqlVariant "sql_variant" Variant 0;
    99 NText "ntext" Lob 16;
    104 Bit "bit" Integer 1;
    106 Decimal "decimal" Exact 0;
    108 Numeric "numeric" Exact 0;
    122 SmallMoney "smallmoney" Exact 4;
    127 BigInt "bigint" Integer 8;
    165 VarBinary "varbinary" Binary 0;
    167 VarChar "varchar" Char 0;
    173 Binary "binary" Binary 0;
    175 Char "char" Char 0;
    189 RowVersion "timestamp" Binary 8;
    231 NVarChar "nvarchar" NChar 0;
    239 NChar "nchar" NChar 0;
    240 Udt "udt" Binary 0;
    241 Xml "xml" Binary 0;
}

/// Kinds of types that are handled alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Family {
    /// `bit` to `bigint`.
    Integer,
    /// `decimal`, `numeric`, `money`, `smallmoney`.
    Exact,
    /// `real`, `float`.
    Approximate,
    /// Dates and times.
    DateTime,
    /// Strings of one byte a character.
    Char,
    /// Strings of UTF-16.
    NChar,
    /// Byte strings.
    Binary,
    /// `uniqueidentifier`.
    Guid,
    /// `text`, `ntext`, `image`: a pointer in the row.
    Lob,
    /// `sql_variant`.
    Variant,
}

impl TypeId {
    /// Whether values lie among the variable columns of a row.
    pub const fn is_variable(self) -> bool {
        matches!(
            self,
            TypeId::VarChar
                | TypeId::NVarChar
                | TypeId::VarBinary
                | TypeId::SqlVariant
                | TypeId::Udt
                | TypeId::Xml
                | TypeId::Text
                | TypeId::NText
                | TypeId::Image
        )
    }

    /// Whether values are characters and so have a collation.
    pub const fn has_collation(self) -> bool {
        matches!(self.family(), Family::Char | Family::NChar)
            || matches!(self, TypeId::Text | TypeId::NText)
    }

    /// Whether values are UTF-16.
    pub const fn is_unicode(self) -> bool {
        matches!(self, TypeId::NChar | TypeId::NVarChar | TypeId::NText)
    }
}

impl fmt::Display for TypeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_is_found_again_by_its_id_and_no_other_id_is() {
        let known = (0..=255u8).filter_map(TypeId::from_u8).collect::<Vec<_>>();
        assert_eq!(known, TypeId::ALL);
        for &id in TypeId::ALL {
            assert_eq!(TypeId::from_u8(id as u8), Some(id));
        }
        assert_eq!(TypeId::from_u8(231).map(TypeId::name), Some("nvarchar"));
        assert_eq!(TypeId::from_u8(0), None);
    }
}
