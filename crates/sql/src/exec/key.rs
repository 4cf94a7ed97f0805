//! Tables of keys: which of the rows so far has these values. For grouping, DISTINCT, hash joins.

use furrow_format::types::{DataType, Family, Value};
use furrow_scalar::ops::{hash_value, order};
use std::cmp::Ordering;
use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{BuildHasherDefault, Hasher};

/// A hash is its own hash.
#[derive(Default)]
pub(crate) struct Identity(u64);

impl Hasher for Identity {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(byte);
        }
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }
}

const NONE: u32 = u32::MAX;

/// The hash of a key: values that compare equal under the types hash alike, NULLs too.
pub(crate) fn hash_key(key: &[Value], types: &[DataType]) -> u64 {
    // Whole numbers of every size that are compared as such hash alike.
    if let ([value], [data_type]) = (key, types)
        && data_type.id.family() == Family::Integer
        && let Some(n) = value.as_i64()
    {
        return spread(n as u64);
    }
    let mut hasher = DefaultHasher::new();
    for (value, data_type) in key.iter().zip(types) {
        match value {
            Value::Null => hasher.write_u8(0),
            value => {
                hasher.write_u8(1);
                hash_value(value, data_type, &mut hasher);
            }
        }
    }
    hasher.finish()
}

fn spread(n: u64) -> u64 {
    let mixed = n.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed ^ (mixed >> 32)
}

/// Whether two keys are the same; NULL is the same as NULL.
pub(crate) fn same_key(a: &[Value], b: &[Value], types: &[DataType]) -> bool {
    a.iter().zip(b).zip(types).all(|((a, b), t)| match (a, b) {
        (Value::Int(a), Value::Int(b)) => a == b,
        _ => order(a, b, t) == Ordering::Equal,
    })
}

/// Keys by number, in the order in which they came.
#[derive(Debug)]
pub(crate) struct KeyTable {
    types: Vec<DataType>,
    heads: HashMap<u64, u32, BuildHasherDefault<Identity>>,
    keys: Vec<Vec<Value>>,
    next: Vec<u32>,
}

impl KeyTable {
    pub(crate) fn new(types: Vec<DataType>) -> KeyTable {
        KeyTable {
            types,
            heads: HashMap::default(),
            keys: Vec::new(),
            next: Vec::new(),
        }
    }

    /// The number of a key, and whether it is new.
    pub(crate) fn insert(&mut self, key: &[Value]) -> (usize, bool) {
        let hash = hash_key(key, &self.types);
        let head = self.heads.get(&hash).copied().unwrap_or(NONE);
        if let Some(found) = self.chain(head, key) {
            return (found, false);
        }
        let number = self.keys.len();
        self.keys.push(key.to_vec());
        self.next.push(head);
        self.heads.insert(hash, number as u32);
        (number, true)
    }

    /// The number of a key.
    pub(crate) fn find(&self, key: &[Value]) -> Option<usize> {
        let hash = hash_key(key, &self.types);
        self.chain(self.heads.get(&hash).copied()?, key)
    }

    fn chain(&self, head: u32, key: &[Value]) -> Option<usize> {
        let mut at = head;
        while at != NONE {
            let place = at as usize;
            if same_key(self.keys.get(place)?, key, &self.types) {
                return Some(place);
            }
            at = *self.next.get(place)?;
        }
        None
    }

    /// The keys.
    pub(crate) fn into_keys(self) -> Vec<Vec<Value>> {
        self.keys
    }
}
