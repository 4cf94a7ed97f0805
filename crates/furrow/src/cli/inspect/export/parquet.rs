//! Parquet: each column of the type that is nearest to its own, rows in groups of bounded size.
//!
//! | column | Parquet |
//! |---|---|
//! | `bit` | boolean |
//! | `tinyint`, `smallint`, `int`, `bigint` | unsigned 8, signed 16, 32, 64 bits |
//! | `decimal`, `numeric`, `money`, `smallmoney` | decimal of the same digits |
//! | `real`, `float` | float, double |
//! | characters, `xml`, `sql_variant`, `datetimeoffset` | UTF-8 text, as it prints |
//! | bytes, UDTs, `rowversion` | bytes |
//! | `uniqueidentifier` | UUID |
//! | `date` | date |
//! | `time` | time of day in nanoseconds |
//! | `datetime`, `datetime2`, `smalldatetime` | timestamp without a zone, in microseconds |
//!
//! Parquet has no type for the seventh digit of a `datetime2` second: it is cut off, with a warning.

use super::Sink;
use crate::cli::out::OutFile;
use furrow_datafile::TableColumn;
use furrow_types::{DataType, Date, Decimal, TypeId, Value};
use parquet::basic::{LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DoubleType, FixedLenByteArray, FixedLenByteArrayType,
    FloatType, Int32Type, Int64Type,
};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{Type, TypePtr};
use std::io::Write;
use std::sync::Arc;

/// Rows of a row group, at most.
const GROUP_ROWS: usize = 65_536;
/// Bytes of a row group's values, about.
const GROUP_BYTES: usize = 32 << 20;
/// 1970-01-01 in days since 0001-01-01.
const UNIX_EPOCH_DAYS: i64 = 719_162;
const DAY_TICKS: i64 = 86_400 * 10_000_000;

fn io(error: ParquetError) -> std::io::Error {
    std::io::Error::other(error)
}

/// The values of a column that are collected until their row group is full.
enum Waiting {
    Bits(Vec<bool>),
    Small(Vec<i32>),
    Large(Vec<i64>),
    Single(Vec<f32>),
    Double(Vec<f64>),
    Bytes(Vec<ByteArray>),
    Fixed(Vec<FixedLenByteArray>),
}

struct ColumnBuffer {
    name: String,
    data_type: DataType,
    /// 1 where there is a value, 0 where there is none.
    present: Vec<i16>,
    values: Waiting,
    cut_off: bool,
}

/// Writes a Parquet file.
pub(super) struct Parquet<'a> {
    writer: SerializedFileWriter<&'a mut OutFile>,
    columns: Vec<ColumnBuffer>,
    rows: usize,
    bytes: usize,
}

impl<'a> Parquet<'a> {
    pub(super) fn new(
        out: &'a mut OutFile,
        columns: &[(usize, &TableColumn)],
    ) -> std::io::Result<Parquet<'a>> {
        let fields: Result<Vec<TypePtr>, ParquetError> = columns
            .iter()
            .map(|(_, column)| Ok(Arc::new(field(&column.name, &column.data_type)?)))
            .collect();
        let schema = Type::group_type_builder("row")
            .with_fields(fields.map_err(io)?)
            .build()
            .map_err(io)?;
        let properties = WriterProperties::builder()
            .set_created_by(format!("furrow version {}", env!("CARGO_PKG_VERSION")))
            .build();
        let writer = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties));
        let buffers = columns.iter().map(|(_, column)| ColumnBuffer {
            name: column.name.clone(),
            data_type: column.data_type,
            present: Vec::new(),
            values: waiting(physical(&column.data_type)),
            cut_off: false,
        });
        Ok(Parquet {
            writer: writer.map_err(io)?,
            columns: buffers.collect(),
            rows: 0,
            bytes: 0,
        })
    }

    /// Warnings about values that Parquet could not represent exactly.
    pub(super) fn warnings(&self) -> Vec<String> {
        let cut = self.columns.iter().filter(|column| column.cut_off);
        cut.map(|column| {
            format!(
                "column {}: digits below a microsecond are cut off",
                column.name
            )
        })
        .collect()
    }

    fn write_group(&mut self) -> std::io::Result<()> {
        if self.rows == 0 {
            return Ok(());
        }
        let mut group = self.writer.next_row_group().map_err(io)?;
        for column in &mut self.columns {
            let Some(mut writer) = group.next_column().map_err(io)? else {
                break;
            };
            column.write(&mut writer).map_err(io)?;
            writer.close().map_err(io)?;
            column.clear();
        }
        group.close().map_err(io)?;
        (self.rows, self.bytes) = (0, 0);
        Ok(())
    }
}

impl Sink for Parquet<'_> {
    fn row(&mut self, values: &[&Value]) -> std::io::Result<()> {
        for (column, value) in self.columns.iter_mut().zip(values) {
            self.bytes += column.push(value)?;
        }
        self.rows += 1;
        if self.rows == GROUP_ROWS || self.bytes >= GROUP_BYTES {
            self.write_group()?;
        }
        Ok(())
    }

    fn finish(&mut self) -> std::io::Result<()> {
        self.write_group()?;
        self.writer.finish().map_err(io)?;
        self.writer.inner_mut().flush()
    }
}

/// The precision of a decimal type.
fn digits(data_type: &DataType) -> Option<(i32, i32)> {
    match data_type.id {
        TypeId::Decimal | TypeId::Numeric => {
            Some((i32::from(data_type.precision), i32::from(data_type.scale)))
        }
        TypeId::Money => Some((19, 4)),
        TypeId::SmallMoney => Some((10, 4)),
        _ => None,
    }
}

fn physical(data_type: &DataType) -> Physical {
    match data_type.id {
        TypeId::Bit => Physical::BOOLEAN,
        TypeId::TinyInt | TypeId::SmallInt | TypeId::Int | TypeId::Date => Physical::INT32,
        TypeId::BigInt
        | TypeId::Time
        | TypeId::DateTime
        | TypeId::DateTime2
        | TypeId::SmallDateTime => Physical::INT64,
        TypeId::Real => Physical::FLOAT,
        TypeId::Float => Physical::DOUBLE,
        TypeId::UniqueIdentifier => Physical::FIXED_LEN_BYTE_ARRAY,
        _ => match digits(data_type) {
            Some((..=9, _)) => Physical::INT32,
            Some((10..=18, _)) => Physical::INT64,
            Some(_) => Physical::FIXED_LEN_BYTE_ARRAY,
            None => Physical::BYTE_ARRAY,
        },
    }
}

fn logical(data_type: &DataType) -> Option<LogicalType> {
    let timestamp = LogicalType::timestamp(false, TimeUnit::MICROS);
    Some(match data_type.id {
        TypeId::TinyInt => LogicalType::integer(8, false),
        TypeId::SmallInt => LogicalType::integer(16, true),
        TypeId::Date => LogicalType::Date,
        TypeId::Time => LogicalType::time(false, TimeUnit::NANOS),
        TypeId::DateTime | TypeId::DateTime2 | TypeId::SmallDateTime => timestamp,
        TypeId::UniqueIdentifier => LogicalType::Uuid,
        TypeId::SqlVariant | TypeId::DateTimeOffset | TypeId::Xml => LogicalType::String,
        id if id.has_collation() => LogicalType::String,
        _ => {
            let (precision, scale) = digits(data_type)?;
            LogicalType::decimal(scale, precision)
        }
    })
}

fn field(name: &str, data_type: &DataType) -> Result<Type, ParquetError> {
    let (precision, scale) = digits(data_type).unwrap_or((-1, -1));
    let physical = physical(data_type);
    let mut builder = Type::primitive_type_builder(name, physical)
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(logical(data_type))
        .with_precision(precision)
        .with_scale(scale);
    if physical == Physical::FIXED_LEN_BYTE_ARRAY {
        builder = builder.with_length(16);
    }
    builder.build()
}

fn waiting(physical: Physical) -> Waiting {
    match physical {
        Physical::BOOLEAN => Waiting::Bits(Vec::new()),
        Physical::INT32 => Waiting::Small(Vec::new()),
        Physical::INT64 | Physical::INT96 => Waiting::Large(Vec::new()),
        Physical::FLOAT => Waiting::Single(Vec::new()),
        Physical::DOUBLE => Waiting::Double(Vec::new()),
        Physical::BYTE_ARRAY => Waiting::Bytes(Vec::new()),
        Physical::FIXED_LEN_BYTE_ARRAY => Waiting::Fixed(Vec::new()),
    }
}

impl ColumnBuffer {
    /// Appends a value; returns the bytes that it takes.
    fn push(&mut self, value: &Value) -> std::io::Result<usize> {
        if value.is_null() {
            self.present.push(0);
            return Ok(2);
        }
        self.present.push(1);
        let cut_off = &mut self.cut_off;
        let taken = match &mut self.values {
            Waiting::Bits(bits) => value.as_i64().map(|bit| {
                bits.push(bit != 0);
                1
            }),
            Waiting::Small(numbers) => whole(value, cut_off)
                .and_then(|number| i32::try_from(number).ok())
                .map(|number| {
                    numbers.push(number);
                    4
                }),
            Waiting::Large(numbers) => whole(value, cut_off)
                .and_then(|number| i64::try_from(number).ok())
                .map(|number| {
                    numbers.push(number);
                    8
                }),
            Waiting::Single(numbers) => match value {
                Value::Real(number) => {
                    numbers.push(*number);
                    Some(4)
                }
                _ => None,
            },
            Waiting::Double(numbers) => match value {
                Value::Float(number) => {
                    numbers.push(*number);
                    Some(8)
                }
                _ => None,
            },
            Waiting::Bytes(all) => {
                let bytes = match value {
                    Value::Binary(bytes) => bytes.clone(),
                    Value::VarChar(text) | Value::NVarChar(text) => text.clone().into_bytes(),
                    _ => value.to_string().into_bytes(),
                };
                let weight = bytes.len() + 4;
                all.push(ByteArray::from(bytes));
                Some(weight)
            }
            Waiting::Fixed(all) => fixed(value).map(|bytes| {
                all.push(FixedLenByteArray::from(bytes));
                16
            }),
        };
        taken.ok_or_else(|| {
            let what = format!("column {}: {value} is no {}", self.name, self.data_type);
            std::io::Error::other(what)
        })
    }

    fn write(&self, writer: &mut SerializedColumnWriter<'_>) -> Result<(), ParquetError> {
        let present = Some(&self.present[..]);
        match &self.values {
            Waiting::Bits(values) => writer
                .typed::<BoolType>()
                .write_batch(values, present, None),
            Waiting::Small(values) => writer
                .typed::<Int32Type>()
                .write_batch(values, present, None),
            Waiting::Large(values) => writer
                .typed::<Int64Type>()
                .write_batch(values, present, None),
            Waiting::Single(values) => writer
                .typed::<FloatType>()
                .write_batch(values, present, None),
            Waiting::Double(values) => writer
                .typed::<DoubleType>()
                .write_batch(values, present, None),
            Waiting::Bytes(values) => writer
                .typed::<ByteArrayType>()
                .write_batch(values, present, None),
            Waiting::Fixed(values) => writer
                .typed::<FixedLenByteArrayType>()
                .write_batch(values, present, None),
        }
        .map(|_| ())
    }

    fn clear(&mut self) {
        self.present.clear();
        self.values = waiting(physical(&self.data_type));
    }
}

/// Whole numbers, unscaled decimals, days since 1970, ticks of the day, microseconds since 1970.
fn whole(value: &Value, cut_off: &mut bool) -> Option<i128> {
    let days = |date: Date| i64::from(date.days()) - UNIX_EPOCH_DAYS;
    let moment = match value {
        Value::Decimal(Decimal { unscaled, .. }) => return Some(*unscaled),
        Value::Money(n) => return Some(i128::from(*n)),
        Value::SmallMoney(n) => return Some(i128::from(*n)),
        Value::Date(date) => return Some(i128::from(days(*date))),
        Value::Time(time) => return Some(i128::from(time.ticks()) * 100),
        Value::DateTime(moment) => moment.to_datetime2(),
        Value::SmallDateTime(moment) => moment.to_datetime2(),
        Value::DateTime2(moment) => *moment,
        _ => return value.as_i64().map(i128::from),
    };
    let ticks =
        i128::from(days(moment.date)) * i128::from(DAY_TICKS) + i128::from(moment.time.ticks());
    *cut_off |= ticks % 10 != 0;
    Some(ticks.div_euclid(10))
}

/// The bytes of a GUID in the order in which its text is written, or of a decimal, highest byte first.
fn fixed(value: &Value) -> Option<Vec<u8>> {
    match value {
        Value::Guid(guid) => {
            let [a, b, c, d, e, f, g, h, rest @ ..] = guid.0;
            let mut bytes = vec![d, c, b, a, f, e, h, g];
            bytes.extend(rest);
            Some(bytes)
        }
        Value::Decimal(decimal) => Some(decimal.unscaled.to_be_bytes().to_vec()),
        Value::Money(n) => Some(i128::from(*n).to_be_bytes().to_vec()),
        _ => None,
    }
}
