//! Tables of keys: which of the rows so far has these values. For grouping, DISTINCT, hash joins.

use foldhash::SharedSeed;
use foldhash::quality::FoldHasher;
use furrow_context::error::Result;
use furrow_context::memory::{Grant, LEAST_BYTES, row_bytes};
use furrow_io::random::random_seed;
use furrow_scalar::ops::{hash_value, order};
use furrow_types::{DataType, Family, Value};
use std::cmp::Ordering;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::OnceLock;

/// Pass-through hasher for keys that are already hashed.
#[derive(Debug, Default)]
pub struct Identity(u64);

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

/// A hasher under the seeds of this process. Rows come from outside: with known seeds a user could send rows
/// that all have the same hash.
fn hasher() -> FoldHasher<'static> {
    static SEEDS: OnceLock<(u64, SharedSeed)> = OnceLock::new();
    let (own, shared) = SEEDS.get_or_init(|| (random_seed(), SharedSeed::from_u64(random_seed())));
    FoldHasher::with_seed(*own, shared)
}

const NONE: u32 = u32::MAX;
/// What a key takes in the tables besides itself.
const ENTRY: usize = 32;

/// The hash of a key: values that compare equal under the types hash alike, NULLs too.
pub(crate) fn hash_key(key: &[Value], types: &[DataType]) -> u64 {
    let mut hasher = hasher();
    // Whole numbers of every size that are compared as such hash alike.
    if let ([value], [data_type]) = (key, types)
        && data_type.id.family() == Family::Integer
        && let Some(n) = value.as_i64()
    {
        hasher.write_u64(n as u64);
        return hasher.finish();
    }
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

/// Whether two keys are the same; NULL is the same as NULL.
pub(crate) fn same_key(a: &[Value], b: &[Value], types: &[DataType]) -> bool {
    a.iter().zip(b).zip(types).all(|((a, b), t)| match (a, b) {
        (Value::Int(a), Value::Int(b)) => a == b,
        _ => order(a, b, t) == Ordering::Equal,
    })
}

/// Where a key is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// It is there: its number.
    Known(usize),
    /// It has come for the first time.
    New(usize),
    /// It is not there, and there is no memory for it: its hash.
    Full(u64),
}

/// Keys by number, in the order in which they came.
#[derive(Debug)]
pub struct KeyTable {
    types: Vec<DataType>,
    /// Bytes that the owner of the table stores beside each key.
    beside: usize,
    /// What it may take however little memory is left.
    least: usize,
    /// Whether it has refused a key. Then it refuses all that are not there: refused keys are read again
    /// later and must not come twice.
    full: bool,
    heads: HashMap<u64, u32, BuildHasherDefault<Identity>>,
    keys: Vec<Vec<Value>>,
    next: Vec<u32>,
    grant: Grant,
}

impl KeyTable {
    /// A table without keys, of these types.
    pub fn new(types: Vec<DataType>, grant: Grant) -> KeyTable {
        KeyTable {
            types,
            beside: 0,
            least: LEAST_BYTES,
            full: false,
            heads: HashMap::default(),
            keys: Vec::new(),
            next: Vec::new(),
            grant,
        }
    }

    /// The same, with so many bytes stored beside each key.
    pub(crate) fn with(mut self, beside: usize) -> KeyTable {
        self.beside = beside;
        self
    }

    /// The same as one of many: it takes nothing where there is no memory.
    pub(crate) fn among_many(mut self) -> KeyTable {
        self.least = 0;
        self
    }

    /// The number of a key, and whether it is new: 701 where there is no memory for one more.
    pub(crate) fn insert(&mut self, key: &[Value]) -> Result<(usize, bool)> {
        let hash = hash_key(key, &self.types);
        let head = self.heads.get(&hash).copied().unwrap_or(NONE);
        if let Some(found) = self.chain(head, key) {
            return Ok((found, false));
        }
        self.grant.take(row_bytes(key) + ENTRY + self.beside)?;
        Ok((self.add(hash, head, key), true))
    }

    /// The number of a key, if there is memory for it.
    pub fn place(&mut self, key: &[Value]) -> Place {
        let hash = hash_key(key, &self.types);
        let head = self.heads.get(&hash).copied().unwrap_or(NONE);
        if let Some(found) = self.chain(head, key) {
            return Place::Known(found);
        }
        let bytes = row_bytes(key) + ENTRY + self.beside;
        if self.full || !self.grant.fits(bytes, self.least) {
            if !self.full {
                self.grant.give_back(bytes);
                self.full = true;
            }
            return Place::Full(hash);
        }
        Place::New(self.add(hash, head, key))
    }

    fn add(&mut self, hash: u64, head: u32, key: &[Value]) -> usize {
        let number = self.keys.len();
        self.keys.push(key.to_vec());
        self.next.push(head);
        self.heads.insert(hash, number as u32);
        number
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

    /// The keys, and what they take.
    pub(crate) fn into_keys(self) -> (Vec<Vec<Value>>, Grant) {
        (self.keys, self.grant)
    }
}
