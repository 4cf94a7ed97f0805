//! Rows as bytes: the contents of a spill file. Each value is a tag and its contents; a row begins with the
//! number of its values. The bytes are read back by the process that wrote them, but from a disk: nothing in
//! them is trusted.

use furrow_types::{
    Collation, DataType, Date, DateTime, DateTime2, DateTimeOffset, Decimal, Guid, SmallDateTime,
    Time, TypeId, Value,
};

/// Appends a row: the number of values, then the values.
pub(super) fn encode<'v>(row: impl ExactSizeIterator<Item = &'v Value>, out: &mut Vec<u8>) {
    out.extend_from_slice(&(row.len() as u32).to_le_bytes());
    for value in row {
        put(value, out);
    }
}

fn put_bytes(tag: u8, bytes: &[u8], out: &mut Vec<u8>) {
    out.push(tag);
    out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    out.extend_from_slice(bytes);
}

fn put_fixed(tag: u8, bytes: &[u8], out: &mut Vec<u8>) {
    out.push(tag);
    out.extend_from_slice(bytes);
}

fn put_time(time: Time, out: &mut Vec<u8>) {
    out.extend_from_slice(&time.ticks().to_le_bytes());
    out.push(time.scale());
}

fn put_moment(moment: DateTime2, out: &mut Vec<u8>) {
    out.extend_from_slice(&moment.date.days().to_le_bytes());
    put_time(moment.time, out);
}

fn put(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.push(0),
        Value::Bit(v) => put_fixed(1, &[u8::from(*v)], out),
        Value::TinyInt(v) => put_fixed(2, &[*v], out),
        Value::SmallInt(v) => put_fixed(3, &v.to_le_bytes(), out),
        Value::Int(v) => put_fixed(4, &v.to_le_bytes(), out),
        Value::BigInt(v) => put_fixed(5, &v.to_le_bytes(), out),
        Value::Decimal(v) => {
            put_fixed(6, &v.unscaled.to_le_bytes(), out);
            out.push(v.scale);
        }
        Value::Money(v) => put_fixed(7, &v.to_le_bytes(), out),
        Value::SmallMoney(v) => put_fixed(8, &v.to_le_bytes(), out),
        Value::Real(v) => put_fixed(9, &v.to_le_bytes(), out),
        Value::Float(v) => put_fixed(10, &v.to_le_bytes(), out),
        Value::VarChar(v) => put_bytes(11, v.as_bytes(), out),
        Value::NVarChar(v) => put_bytes(12, v.as_bytes(), out),
        Value::Binary(v) => put_bytes(13, v, out),
        Value::Date(v) => put_fixed(14, &v.days().to_le_bytes(), out),
        Value::Time(v) => {
            out.push(15);
            put_time(*v, out);
        }
        Value::DateTime(v) => {
            put_fixed(16, &v.days().to_le_bytes(), out);
            out.extend_from_slice(&v.ticks().to_le_bytes());
        }
        Value::DateTime2(v) => {
            out.push(17);
            put_moment(*v, out);
        }
        Value::DateTimeOffset(v) => {
            put_fixed(18, &v.offset_minutes.to_le_bytes(), out);
            put_moment(v.utc, out);
        }
        Value::SmallDateTime(v) => {
            put_fixed(19, &v.days().to_le_bytes(), out);
            out.extend_from_slice(&v.minutes().to_le_bytes());
        }
        Value::Guid(v) => put_fixed(20, &v.0, out),
        Value::Variant(v) => {
            let (of, value) = &**v;
            put_fixed(21, &[of.id as u8, of.precision, of.scale], out);
            out.extend_from_slice(&of.length.to_le_bytes());
            out.extend_from_slice(&of.collation.0.to_le_bytes());
            put(value, out);
        }
    }
}

/// The row that `bytes` are; `None` where they are none.
pub(super) fn decode(bytes: &[u8]) -> Option<Vec<Value>> {
    let mut from = Bytes(bytes);
    let count = u32::from_le_bytes(from.fixed()?) as usize;
    // A value takes at least a byte: no more memory is reserved than there are bytes.
    let mut row = Vec::with_capacity(count.min(bytes.len()));
    for _ in 0..count {
        row.push(from.value()?);
    }
    from.0.is_empty().then_some(row)
}

struct Bytes<'b>(&'b [u8]);

impl Bytes<'_> {
    fn fixed<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*first)
    }

    fn byte(&mut self) -> Option<u8> {
        self.fixed::<1>().map(|[byte]| byte)
    }

    fn sized(&mut self) -> Option<&[u8]> {
        let len = u32::from_le_bytes(self.fixed()?) as usize;
        let (first, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(first)
    }

    fn text(&mut self) -> Option<String> {
        self.sized()
            .and_then(|bytes| String::from_utf8(bytes.to_vec()).ok())
    }

    fn time(&mut self) -> Option<Time> {
        let ticks = u64::from_le_bytes(self.fixed()?);
        Time::new(ticks, self.byte()?)
    }

    fn date(&mut self) -> Option<Date> {
        Date::from_days(u32::from_le_bytes(self.fixed()?))
    }

    fn moment(&mut self) -> Option<DateTime2> {
        let date = self.date()?;
        let time = self.time()?;
        Some(DateTime2 { date, time })
    }

    fn variant(&mut self) -> Option<Value> {
        let [id, precision, scale] = self.fixed()?;
        let of = DataType {
            id: TypeId::from_u8(id)?,
            length: i16::from_le_bytes(self.fixed()?),
            precision,
            scale,
            collation: Collation(u32::from_le_bytes(self.fixed()?)),
        };
        let value = match self.0.first() {
            // A variant holds none.
            Some(21) | None => return None,
            Some(_) => self.value()?,
        };
        Some(Value::Variant(Box::new((of, value))))
    }

    fn value(&mut self) -> Option<Value> {
        Some(match self.byte()? {
            0 => Value::Null,
            1 => Value::Bit(self.byte()? != 0),
            2 => Value::TinyInt(self.byte()?),
            3 => Value::SmallInt(i16::from_le_bytes(self.fixed()?)),
            4 => Value::Int(i32::from_le_bytes(self.fixed()?)),
            5 => Value::BigInt(i64::from_le_bytes(self.fixed()?)),
            6 => Value::Decimal(Decimal {
                unscaled: i128::from_le_bytes(self.fixed()?),
                scale: self.byte()?,
            }),
            7 => Value::Money(i64::from_le_bytes(self.fixed()?)),
            8 => Value::SmallMoney(i32::from_le_bytes(self.fixed()?)),
            9 => Value::Real(f32::from_le_bytes(self.fixed()?)),
            10 => Value::Float(f64::from_le_bytes(self.fixed()?)),
            11 => Value::VarChar(self.text()?),
            12 => Value::NVarChar(self.text()?),
            13 => Value::Binary(self.sized()?.to_vec()),
            14 => Value::Date(self.date()?),
            15 => Value::Time(self.time()?),
            16 => {
                let days = i32::from_le_bytes(self.fixed()?);
                Value::DateTime(DateTime::new(days, u32::from_le_bytes(self.fixed()?))?)
            }
            17 => Value::DateTime2(self.moment()?),
            18 => {
                let offset_minutes = i16::from_le_bytes(self.fixed()?);
                let utc = self.moment()?;
                Value::DateTimeOffset(DateTimeOffset {
                    utc,
                    offset_minutes,
                })
            }
            19 => {
                let days = u16::from_le_bytes(self.fixed()?);
                Value::SmallDateTime(SmallDateTime::new(days, u16::from_le_bytes(self.fixed()?))?)
            }
            20 => Value::Guid(Guid(self.fixed()?)),
            21 => self.variant()?,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_every_kind() -> Vec<Value> {
        let time = Time::new(123_456_789, 7).unwrap();
        let moment = DateTime2 {
            date: Date::from_days(700_000).unwrap(),
            time,
        };
        let variant = (DataType::simple(TypeId::SmallInt), Value::SmallInt(-3));
        vec![
            Value::Null,
            Value::Bit(true),
            Value::TinyInt(200),
            Value::SmallInt(-200),
            Value::Int(i32::MIN),
            Value::BigInt(i64::MAX),
            Value::Decimal(Decimal {
                unscaled: -(10_i128.pow(37)),
                scale: 20,
            }),
            Value::Money(-1),
            Value::SmallMoney(7),
            Value::Real(1.5),
            Value::Float(-0.0),
            Value::VarChar("na\u{EF}ve".into()),
            Value::NVarChar("\u{1F600}".into()),
            Value::Binary(vec![0, 255]),
            Value::Date(moment.date),
            Value::Time(time),
            Value::DateTime(DateTime::new(-53_690, 25_919_999).unwrap()),
            Value::DateTime2(moment),
            Value::DateTimeOffset(DateTimeOffset {
                utc: moment,
                offset_minutes: -840,
            }),
            Value::SmallDateTime(SmallDateTime::new(65_535, 1439).unwrap()),
            Value::Guid(Guid([9; 16])),
            Value::Variant(Box::new(variant)),
        ]
    }

    #[test]
    fn values_of_every_kind_come_back_as_they_were() {
        let row = of_every_kind();
        let mut bytes = Vec::new();
        encode(row.iter(), &mut bytes);
        assert_eq!(decode(&bytes), Some(row));
        assert_eq!(decode(&[0; 4]), Some(Vec::new()));
    }

    #[test]
    fn bytes_that_are_cut_or_changed_are_refused_or_read_but_never_panic() {
        let mut bytes = Vec::new();
        encode(of_every_kind().iter(), &mut bytes);
        for end in 0..bytes.len() {
            assert_eq!(decode(&bytes[..end]), None, "cut at {end}");
        }
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 0x5A;
            let _ = decode(&changed);
        }
    }
}
