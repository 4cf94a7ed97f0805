//! Rows of results, and conversions from columns to Rust's types.

#![expect(clippy::needless_pass_by_value, reason = "columns are named in place")]

use crate::{
    Date, DateTime, DateTime2, DateTimeOffset, Decimal, Error, Guid, Result, SmallDateTime, Table,
    Time, Value,
};
use furrow_engine as engine;

/// A column, by its position from 0 or by its name.
pub trait ColumnRef {
    /// Its position in the table.
    fn place(&self, table: &Table) -> Option<usize>;
    /// Its name for messages.
    fn shown(&self) -> String;
}

impl ColumnRef for usize {
    fn place(&self, table: &Table) -> Option<usize> {
        (*self < table.columns().len()).then_some(*self)
    }

    fn shown(&self) -> String {
        self.to_string()
    }
}

impl ColumnRef for &str {
    fn place(&self, table: &Table) -> Option<usize> {
        table.column(self)
    }

    fn shown(&self) -> String {
        (*self).to_owned()
    }
}

/// A row: a column is decoded when it is read.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    table: &'a Table,
    row: engine::Row<'a>,
}

impl<'a> Row<'a> {
    #[inline]
    pub(crate) fn new(table: &'a Table, row: engine::Row<'a>) -> Row<'a> {
        Row { table, row }
    }

    /// The value of a column as this type. NULL needs an `Option`. A whole number can be read as any type of
    /// Rust that can represent it. A value that does not fit is error 8114.
    pub fn get<T: FromColumn>(&self, column: impl ColumnRef) -> Result<T> {
        let place = column.place(self.table).ok_or_else(|| {
            Error::custom(
                207,
                1,
                &format!("Invalid column name '{}'.", column.shown()),
            )
        })?;
        let value = self.row.value(place)?;
        let null = value.is_null();
        T::from_value(value).ok_or_else(|| {
            let name = self
                .table
                .columns()
                .get(place)
                .map_or("", |c| c.name.as_str());
            let what = if null { "is NULL" } else { "has another type" };
            Error::custom(
                8114,
                5,
                &format!("Column '{name}' {what}; it cannot be read so."),
            )
        })
    }

    /// All values.
    pub fn values(&self) -> Result<Vec<Value>> {
        Ok(self.row.values()?)
    }

    /// The bytes of a column as they are stored; `None` for NULL.
    #[inline]
    pub fn bytes(&self, column: usize) -> Option<&'a [u8]> {
        self.row.bytes(column)
    }

    /// The engine's row.
    pub fn engine(&self) -> engine::Row<'a> {
        self.row
    }
}

/// Rows of a scan, one after the other.
///
/// A row borrows from the scan, and the scan from its session: the session cannot be used until the scan
/// is dropped. Under READ COMMITTED a row's lock is released when the next row is read.
///
/// ```
/// # use furrow::{ColumnSpec, Database, TableSpec, sql};
/// # fn main() -> Result<(), furrow::Error> {
/// # let db = Database::create("t").file("t.mdf").in_memory().open()?;
/// # let mut session = db.session()?;
/// # let table = session.create_table(
/// #     &TableSpec::new("t").column(ColumnSpec::new("id", sql::INT).not_null()).primary_key(["id"]),
/// # )?;
/// for id in 1..=5 {
///     session.insert(&table, id)?;
/// }
/// let mut rows = session.range(&table, 2..)?;
/// let mut sum = 0;
/// while let Some(row) = rows.next()? {
///     sum += row.get::<i64>("id")?;
///     if sum > 4 {
///         break;
///     }
/// }
/// assert_eq!(sum, 2 + 3);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Rows<'a> {
    table: &'a Table,
    scan: engine::Scan<'a>,
}

impl<'a> Rows<'a> {
    pub(crate) fn new(table: &'a Table, scan: engine::Scan<'a>) -> Rows<'a> {
        Rows { table, scan }
    }

    /// The next row; `None` at the end. After an error the scan has ended.
    #[expect(
        clippy::should_implement_trait,
        reason = "each row borrows from the scan: no Iterator can do that"
    )]
    #[inline]
    pub fn next(&mut self) -> Result<Option<Row<'_>>> {
        let table = self.table;
        Ok(self.scan.next_row()?.map(|row| Row::new(table, row)))
    }

    /// Calls `each` for the remaining rows.
    #[inline]
    pub fn for_each(mut self, mut each: impl FnMut(Row<'_>) -> Result<()>) -> Result<()> {
        while self.scan.step()? {
            each(Row::new(self.table, self.scan.row()?))?;
        }
        Ok(())
    }
}

/// A Rust type as which columns can be read.
pub trait FromColumn: Sized {
    /// Converts the engine's value; `None` if it has another type.
    fn from_value(value: Value) -> Option<Self>;
}

/// Whole numbers of any width, if they fit.
fn whole(value: &Value) -> Option<i64> {
    match value {
        Value::Bit(bit) => Some(i64::from(*bit)),
        Value::TinyInt(n) => Some(i64::from(*n)),
        Value::SmallInt(n) => Some(i64::from(*n)),
        Value::Int(n) => Some(i64::from(*n)),
        Value::BigInt(n) => Some(*n),
        _ => None,
    }
}

macro_rules! whole {
    ($($kind:ty),*) => {
        $(impl FromColumn for $kind {
            fn from_value(value: Value) -> Option<$kind> {
                whole(&value)?.try_into().ok()
            }
        })*
    };
}

whole!(i64, i32, i16, u8, u32, u64, usize);

macro_rules! variants {
    ($($kind:ty: $($pattern:pat => $value:expr),+;)*) => {
        $(impl FromColumn for $kind {
            fn from_value(value: Value) -> Option<$kind> {
                match value {
                    $($pattern => Some($value),)+
                    _ => None,
                }
            }
        })*
    };
}

variants! {
    bool: Value::Bit(bit) => bit;
    f64: Value::Float(x) => x, Value::Real(x) => f64::from(x);
    String: Value::VarChar(text) => text, Value::NVarChar(text) => text;
    Vec<u8>: Value::Binary(bytes) => bytes;
    Guid: Value::Guid(guid) => guid;
    Decimal: Value::Decimal(number) => number;
    f32: Value::Real(x) => x;
    Date: Value::Date(date) => date;
    Time: Value::Time(time) => time;
    DateTime: Value::DateTime(at) => at;
    DateTime2: Value::DateTime2(at) => at;
    DateTimeOffset: Value::DateTimeOffset(at) => at;
    SmallDateTime: Value::SmallDateTime(at) => at;
}

impl FromColumn for Value {
    fn from_value(value: Value) -> Option<Value> {
        Some(value)
    }
}

impl<T: FromColumn> FromColumn for Option<T> {
    fn from_value(value: Value) -> Option<Option<T>> {
        match value {
            Value::Null => Some(None),
            other => T::from_value(other).map(Some),
        }
    }
}
