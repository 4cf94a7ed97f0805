//! Order of two values in their form on disk: the inner loop of every B+tree search.

use std::cmp::Ordering;

use super::collation::{compare_1252, compare_utf16};
use super::{DataType, TypeId};

/// Compares two values of one type in their form on disk, without allocating.
///
/// Numbers compare by value, dates by moment (offsets don't count), strings by their collation, byte
/// strings byte by byte as if the shorter one ended in zeros, GUIDs by their last six bytes first. Bytes too
/// short for the type compare as byte strings: never a panic, and still an order.
#[inline]
pub fn compare(data_type: &DataType, a: &[u8], b: &[u8]) -> Ordering {
    match data_type.id {
        TypeId::Bit | TypeId::TinyInt => by(a, b, |[x]: [u8; 1]| x),
        TypeId::SmallInt => by(a, b, i16::from_le_bytes),
        TypeId::Int | TypeId::SmallMoney => by(a, b, i32::from_le_bytes),
        TypeId::BigInt | TypeId::Money => by(a, b, i64::from_le_bytes),
        TypeId::Real => float(by_pair(a, b, |x| f64::from(f32::from_le_bytes(x))), a, b),
        TypeId::Float => float(by_pair(a, b, f64::from_le_bytes), a, b),
        TypeId::Decimal | TypeId::Numeric => compare_decimals(a, b),
        TypeId::Char | TypeId::VarChar | TypeId::Text => compare_1252(a, b, data_type.collation),
        TypeId::NChar | TypeId::NVarChar | TypeId::NText => {
            compare_utf16(a, b, data_type.collation)
        }
        TypeId::Binary
        | TypeId::VarBinary
        | TypeId::RowVersion
        | TypeId::Image
        | TypeId::Udt
        | TypeId::Xml => compare_bytes(a, b),
        TypeId::DateTime => by(a, b, |[t0, t1, t2, t3, d0, d1, d2, d3]: [u8; 8]| {
            (
                i32::from_le_bytes([d0, d1, d2, d3]),
                u32::from_le_bytes([t0, t1, t2, t3]),
            )
        }),
        TypeId::SmallDateTime => by(a, b, |[m0, m1, d0, d1]: [u8; 4]| {
            (u16::from_le_bytes([d0, d1]), u16::from_le_bytes([m0, m1]))
        }),
        TypeId::Date | TypeId::Time | TypeId::DateTime2 => compare_reversed(a, b),
        TypeId::DateTimeOffset => compare_reversed(without_offset(a), without_offset(b)),
        TypeId::UniqueIdentifier => by(a, b, guid_key),
        TypeId::SqlVariant => compare_variants(a, b),
    }
}

/// By a key of a fixed number of bytes.
#[inline]
fn by<const N: usize, K: Ord>(a: &[u8], b: &[u8], key: impl Fn([u8; N]) -> K) -> Ordering {
    match by_pair(a, b, key) {
        Some((a, b)) => a.cmp(&b),
        None => compare_bytes(a, b),
    }
}

#[inline]
fn by_pair<const N: usize, K>(a: &[u8], b: &[u8], key: impl Fn([u8; N]) -> K) -> Option<(K, K)> {
    Some((key(*a.first_chunk()?), key(*b.first_chunk()?)))
}

#[inline]
fn float(pair: Option<(f64, f64)>, a: &[u8], b: &[u8]) -> Ordering {
    match pair {
        // Adding zero makes one zero of two.
        Some((a, b)) => (a + 0.0).total_cmp(&(b + 0.0)),
        None => compare_bytes(a, b),
    }
}

/// Sign byte (0 = negative), then the magnitude.
fn compare_decimals(a: &[u8], b: &[u8]) -> Ordering {
    match (decimal_key(a), decimal_key(b)) {
        (Some(a), Some(b)) => a.cmp(&b),
        _ => compare_bytes(a, b),
    }
}

/// Positive numbers by magnitude, negative ones (and the negative zero, which is zero) against it.
fn decimal_key(bytes: &[u8]) -> Option<(bool, u128)> {
    let (&sign, digits) = bytes.split_first()?;
    let magnitude = magnitude(digits);
    Some(if sign == 0 && magnitude != 0 {
        (false, !magnitude)
    } else {
        (true, magnitude)
    })
}

/// A little-endian number of up to 16 bytes.
#[inline]
pub(super) fn magnitude(bytes: &[u8]) -> u128 {
    bytes
        .iter()
        .take(16)
        .rev()
        .fold(0, |sum, &byte| sum << 8 | u128::from(byte))
}

/// Byte strings: the shorter one counts as ending in zeros.
#[inline]
fn compare_bytes(a: &[u8], b: &[u8]) -> Ordering {
    let common = a.len().min(b.len());
    let (head_a, tail_a) = a.split_at_checked(common).unwrap_or((a, &[]));
    let (head_b, tail_b) = b.split_at_checked(common).unwrap_or((b, &[]));
    head_a.cmp(head_b).then_with(|| {
        tail_a
            .iter()
            .any(|&byte| byte != 0)
            .cmp(&tail_b.iter().any(|&byte| byte != 0))
    })
}

/// Little-endian numbers of equal length: the last byte counts most.
#[inline]
fn compare_reversed(a: &[u8], b: &[u8]) -> Ordering {
    a.iter().rev().cmp(b.iter().rev())
}

fn without_offset(bytes: &[u8]) -> &[u8] {
    bytes
        .split_last_chunk::<2>()
        .map_or(bytes, |(moment, _)| moment)
}

/// Bytes 10-15, then 8-9, then the three numbers from the last to the first, each by its bytes on disk.
#[inline]
fn guid_key(bytes: [u8; 16]) -> u128 {
    let [
        b0,
        b1,
        b2,
        b3,
        b4,
        b5,
        b6,
        b7,
        b8,
        b9,
        b10,
        b11,
        b12,
        b13,
        b14,
        b15,
    ] = bytes;
    u128::from_be_bytes([
        b10, b11, b12, b13, b14, b15, b8, b9, b6, b7, b4, b5, b0, b1, b2, b3,
    ])
}

/// Variants of one base type compare as that type, others by the rank of their families.
///
/// Approximate: SQL Server compares values of two types of one family after converting the lower one.
fn compare_variants(a: &[u8], b: &[u8]) -> Ordering {
    match (super::variant_type::split(a), super::variant_type::split(b)) {
        (Some((type_a, a)), Some((type_b, b))) => {
            let rank = |data_type: DataType| super::variant_type::rank(data_type.id);
            let same = type_a.id == type_b.id && type_a.scale == type_b.scale;
            match rank(type_a).cmp(&rank(type_b)) {
                Ordering::Equal if same => compare(&type_a, a, b),
                Ordering::Equal => (type_a.id, type_a.scale)
                    .cmp(&(type_b.id, type_b.scale))
                    .then_with(|| compare_bytes(a, b)),
                order => order,
            }
        }
        (a, b) => a.is_some().cmp(&b.is_some()),
    }
}
