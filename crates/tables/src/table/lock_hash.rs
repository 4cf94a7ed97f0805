//! The hash that a key is locked by: equal keys share it, whatever their bytes.

use furrow_access::{Key, Shape};
use furrow_types::{DataType, TypeId};

const SEED: u64 = 0x9E37_79B9_7F4A_7C15;

#[inline]
fn fold(hash: u64, word: u64) -> u64 {
    let wide = u128::from(hash ^ word) * u128::from(0xD6E8_FEB8_6659_FD93_u64 ^ SEED);
    wide as u64 ^ (wide >> 64) as u64
}

fn fold_bytes(mut hash: u64, bytes: &[u8]) -> u64 {
    let mut chunks = bytes.chunks_exact(8);
    for chunk in &mut chunks {
        hash = fold(
            hash,
            chunk.first_chunk().map_or(0, |c| u64::from_le_bytes(*c)),
        );
    }
    let mut last = bytes.len() as u64;
    for (at, &byte) in chunks.remainder().iter().enumerate() {
        last ^= u64::from(byte) << (8 * at);
    }
    fold(hash, last)
}

/// A letter of a case that does not count: the class that all its equals share. Classes may be wider
/// than equality, never narrower: i, k and s have relatives beyond ASCII, and accented letters share
/// one class.
fn class_of(code: u16) -> u8 {
    match code {
        0x20..0x7F => match (code as u8).to_ascii_lowercase() {
            b'i' | b'k' | b's' => 0xFF,
            byte => byte,
        },
        _ => 0xFF,
    }
}

fn fold_text(hash: u64, data_type: &DataType, units: impl Iterator<Item = u16> + Clone) -> u64 {
    let trimmed = units
        .clone()
        .enumerate()
        .filter(|u| u.1 != 0x20)
        .last()
        .map_or(0, |u| u.0 + 1);
    let units = units.take(trimmed);
    if data_type.collation.ignores_accents() {
        return fold(hash, trimmed as u64);
    }
    if data_type.collation.is_binary() {
        return units.fold(hash, |h, unit| fold(h, u64::from(unit)));
    }
    units.fold(hash, |h, unit| fold(h, u64::from(class_of(unit))))
}

fn fold_value(hash: u64, data_type: &DataType, value: &[u8]) -> u64 {
    match data_type.id {
        TypeId::Char | TypeId::VarChar => {
            fold_text(hash, data_type, value.iter().map(|&b| u16::from(b)))
        }
        TypeId::NChar | TypeId::NVarChar => {
            let unit = |pair: &[u8]| pair.first_chunk().map_or(0, |p| u16::from_le_bytes(*p));
            fold_text(hash, data_type, value.chunks(2).map(unit))
        }
        TypeId::Binary | TypeId::VarBinary => {
            let len = value.iter().rposition(|&b| b != 0).map_or(0, |at| at + 1);
            fold_bytes(hash, value.get(..len).unwrap_or_default())
        }
        // Two zeros are one number.
        TypeId::Decimal | TypeId::Numeric => match value.split_first() {
            Some((&sign, digits)) if digits.iter().any(|&b| b != 0) => {
                fold_bytes(fold(hash, u64::from(sign != 0)), digits)
            }
            _ => fold(hash, 0),
        },
        TypeId::Real => {
            let number = value.first_chunk().map_or(0.0, |b| f32::from_le_bytes(*b)) + 0.0;
            fold(hash, u64::from(number.to_bits()))
        }
        TypeId::Float => {
            let number = value.first_chunk().map_or(0.0, |b| f64::from_le_bytes(*b)) + 0.0;
            fold(hash, number.to_bits())
        }
        TypeId::DateTimeOffset => fold_bytes(
            hash,
            value
                .get(..value.len().saturating_sub(2))
                .unwrap_or_default(),
        ),
        TypeId::SqlVariant => hash,
        _ => match value.first_chunk() {
            Some(word) if value.len() == 8 => fold(hash, u64::from_le_bytes(*word)),
            _ => fold_bytes(hash, value),
        },
    }
}

/// The lock hash of the first `columns` columns of a key of a tree of this shape.
#[inline]
pub(crate) fn lock_hash(shape: &Shape, key: &Key, columns: usize) -> u64 {
    let mut hash = SEED;
    for (at, column) in shape.key.iter().enumerate().take(columns.min(key.len())) {
        hash = match key.column(at) {
            value if column.uniquifier => {
                let number = value
                    .and_then(|v| v.first_chunk())
                    .map_or(0, |c| i32::from_le_bytes(*c));
                fold(hash, u64::from(number as u32))
            }
            Some(value) => fold_value(hash, &column.data_type, value),
            None => fold(hash, u64::MAX),
        };
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;
    use furrow_types::{Collation, compare};
    use std::cmp::Ordering;

    #[test]
    fn values_that_compare_equal_hash_alike() {
        let types = [
            DataType::sized(TypeId::VarChar, 20),
            DataType::sized(TypeId::NVarChar, 40),
            DataType::sized(TypeId::VarChar, 20).with_collation(Collation::LATIN1_GENERAL_BIN2),
            DataType::sized(TypeId::VarBinary, 20),
            DataType::simple(TypeId::Float),
            DataType::decimal(TypeId::Decimal, 9, 2).unwrap(),
            DataType::simple(TypeId::DateTimeOffset),
        ];
        let mut rng = furrow_io::random::seeded(furrow_io::random::test_seed());
        let mut equal = 0;
        for data_type in types {
            for _ in 0..200_000 {
                let mut draw = |n: u32| rand_below(&mut rng, n);
                let text = |draw: &mut dyn FnMut(u32) -> u32| -> Vec<u8> {
                    let len = draw(4);
                    let unit = if data_type.id == TypeId::NVarChar {
                        2
                    } else {
                        1
                    };
                    let pool = [b'a', b'A', b' ', b'k', 0xE9, 0xC9, 0, b'I', 0x2A, 0x21];
                    (0..len * unit).map(|_| pool[draw(10) as usize]).collect()
                };
                let (a, b) = match data_type.fixed_len() {
                    None => (text(&mut draw), text(&mut draw)),
                    Some(len) => {
                        let mut bytes = || -> Vec<u8> {
                            (0..len)
                                .map(|_| [0, 0, 0, 1, 0x80][draw(5) as usize])
                                .collect()
                        };
                        (bytes(), bytes())
                    }
                };
                if compare(&data_type, &a, &b) == Ordering::Equal {
                    equal += 1;
                    let hash = |v: &[u8]| fold_value(SEED, &data_type, v);
                    assert_eq!(hash(&a), hash(&b), "{data_type}: {a:x?} {b:x?}");
                }
            }
        }
        assert!(equal > 10_000, "the draw must find equal pairs: {equal}");
    }

    fn rand_below(rng: &mut furrow_io::random::SeededRng, n: u32) -> u32 {
        use rand::Rng;
        rng.random_range(0..n)
    }
}
