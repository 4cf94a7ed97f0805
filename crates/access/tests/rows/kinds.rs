//! Kinds of trees: how rows look, and how their keys order by rules that owe nothing to the tree's own.

use furrow_access::{Key, KeyColumn, Shape};
use furrow_format::{ColumnSpec, RowForm, RowLayout};
use furrow_io::random::{Rng, SeededRng};
use furrow_types::{DataType, TypeId};
use std::cmp::Reverse;
use std::fmt::Debug;
use std::hash::Hash;

/// A column of a test's shape.
struct Column {
    data_type: DataType,
    nullable: bool,
    uniquifier: bool,
}

impl Column {
    fn of(id: TypeId, length: i16, nullable: bool) -> Column {
        let data_type = if length == 0 {
            DataType::simple(id)
        } else {
            DataType::sized(id, length)
        };
        Column {
            data_type,
            nullable,
            uniquifier: false,
        }
    }

    fn uniquifier() -> Column {
        let data_type = DataType::simple(TypeId::Int);
        Column {
            data_type,
            nullable: false,
            uniquifier: true,
        }
    }

    fn spec(&self, id: u32) -> ColumnSpec {
        if self.uniquifier {
            return ColumnSpec::uniquifier();
        }
        ColumnSpec::new(
            id,
            self.data_type.id,
            self.data_type.max_in_row_len(),
            self.nullable,
        )
    }
}

/// A shape of these columns; `key` names some of them, each with whether it descends.
fn shape(form: RowForm, columns: &[Column], key: &[(usize, bool)]) -> Shape {
    let specs: Vec<ColumnSpec> = (1..).zip(columns).map(|(id, c)| c.spec(id)).collect();
    let node: Vec<ColumnSpec> = key.iter().map(|&(leaf, _)| specs[leaf]).collect();
    let keyed = key
        .iter()
        .enumerate()
        .map(|(node, &(leaf, descending))| KeyColumn {
            leaf,
            node,
            data_type: columns[leaf].data_type,
            descending,
            uniquifier: columns[leaf].uniquifier,
        });
    Shape {
        leaf: RowLayout::new(form, &specs).unwrap(),
        node: (form != RowForm::Heap).then(|| RowLayout::new(RowForm::IndexNode, &node).unwrap()),
        key: keyed.collect(),
        unique: true,
        at_rest: false,
    }
}

/// A kind of tree.
pub trait Kind: 'static {
    /// A key as the model orders it.
    type Id: Ord + Clone + Debug + Hash + Send + Sync;
    /// Its rows.
    fn shape() -> Shape;
    /// A key out of about `span`.
    fn id(rng: &mut SeededRng, span: u64) -> Self::Id;
    /// The values of the key's columns, in the order of the leaf's columns, the payload left out.
    fn values(id: &Self::Id) -> Vec<Option<Vec<u8>>>;
    /// The key of a row.
    fn key(id: &Self::Id) -> Key;
    /// A payload.
    fn payload(rng: &mut SeededRng) -> Vec<u8>;

    /// A row.
    fn row(id: &Self::Id, payload: &[u8]) -> Vec<u8> {
        let values = Self::values(id);
        let mut values: Vec<Option<&[u8]>> = values.iter().map(Option::as_deref).collect();
        values.push(Some(payload));
        let mut row = Vec::new();
        Self::shape().leaf.encode(&values, &mut row).unwrap();
        row
    }
}

fn bytes(rng: &mut SeededRng, len: usize) -> Vec<u8> {
    let seed: u8 = rng.random();
    (0..len).map(|i| seed.wrapping_add(i as u8)).collect()
}

/// A bigint key and rows of middling length in a clustered index.
pub struct Big;

impl Kind for Big {
    type Id = i64;
    fn shape() -> Shape {
        let columns = [
            Column::of(TypeId::BigInt, 0, false),
            Column::of(TypeId::VarBinary, 8000, true),
        ];
        shape(RowForm::ClusteredLeaf, &columns, &[(0, false)])
    }
    fn id(rng: &mut SeededRng, span: u64) -> i64 {
        rng.random_range(0..span as i64) - span as i64 / 2
    }
    fn values(id: &i64) -> Vec<Option<Vec<u8>>> {
        vec![Some(id.to_le_bytes().to_vec())]
    }
    fn key(id: &i64) -> Key {
        Key::of(&[Some(&id.to_le_bytes())])
    }
    fn payload(rng: &mut SeededRng) -> Vec<u8> {
        let len = rng.random_range(0..300);
        bytes(rng, len)
    }
}

/// The same with rows of one byte to the most a page takes.
pub struct Long;

impl Kind for Long {
    type Id = i64;
    fn shape() -> Shape {
        Big::shape()
    }
    fn id(rng: &mut SeededRng, span: u64) -> i64 {
        Big::id(rng, span)
    }
    fn values(id: &i64) -> Vec<Option<Vec<u8>>> {
        Big::values(id)
    }
    fn key(id: &i64) -> Key {
        Big::key(id)
    }
    fn payload(rng: &mut SeededRng) -> Vec<u8> {
        let len = match rng.random_range(0..4) {
            0 => rng.random_range(1..100),
            1 => rng.random_range(7900..=8000),
            _ => rng.random_range(1..=8000),
        };
        bytes(rng, len)
    }
}

/// Two nullable columns, one ascending, one descending, in a nonclustered index.
pub struct Pair;

impl Kind for Pair {
    type Id = (Option<i32>, Reverse<Option<Vec<u8>>>);
    fn shape() -> Shape {
        let columns = [
            Column::of(TypeId::Int, 0, true),
            Column::of(TypeId::VarBinary, 40, true),
            Column::of(TypeId::VarBinary, 500, true),
        ];
        shape(RowForm::IndexLeaf, &columns, &[(0, false), (1, true)])
    }
    fn id(rng: &mut SeededRng, span: u64) -> Self::Id {
        let side = (span as f64).sqrt().ceil() as u64 + 1;
        let (a, b) = (rng.random_range(0..side), rng.random_range(0..side));
        let text = || b.to_be_bytes()[8 - (b as usize % 8 + 1).max(4)..].to_vec();
        (
            (a > 0).then_some(a as i32 - side as i32 / 2),
            Reverse((b > 0).then(text)),
        )
    }
    fn values(id: &Self::Id) -> Vec<Option<Vec<u8>>> {
        vec![id.0.map(|a| a.to_le_bytes().to_vec()), id.1.0.clone()]
    }
    fn key(id: &Self::Id) -> Key {
        let values = Self::values(id);
        Key::of(&[values[0].as_deref(), values[1].as_deref()])
    }
    fn payload(rng: &mut SeededRng) -> Vec<u8> {
        let len = rng.random_range(0..60);
        bytes(rng, len)
    }
}

/// Long texts as keys: few entries a page, so that trees grow high.
pub struct Text;

impl Kind for Text {
    type Id = Vec<u8>;
    fn shape() -> Shape {
        let columns = [
            Column::of(TypeId::VarChar, 900, false),
            Column::of(TypeId::VarBinary, 500, true),
        ];
        shape(RowForm::ClusteredLeaf, &columns, &[(0, false)])
    }
    fn id(rng: &mut SeededRng, span: u64) -> Vec<u8> {
        // Letters of one case and a fixed number of digits: every collation orders them like their bytes.
        let number = rng.random_range(0..span);
        let filler = (number.wrapping_mul(0x9E37_79B9) % 700) as usize;
        let mut text = format!("{number:010}").into_bytes();
        text.extend(std::iter::repeat_n(b'a' + (number % 26) as u8, filler));
        text
    }
    fn values(id: &Vec<u8>) -> Vec<Option<Vec<u8>>> {
        vec![Some(id.clone())]
    }
    fn key(id: &Vec<u8>) -> Key {
        Key::of(&[Some(id)])
    }
    fn payload(rng: &mut SeededRng) -> Vec<u8> {
        let len = rng.random_range(0..200);
        bytes(rng, len)
    }
}

/// An int that is not unique, and the uniquifier that distinguishes equal ones; the first has none.
pub struct Many;

impl Kind for Many {
    type Id = (i32, i32);
    fn shape() -> Shape {
        let columns = [
            Column::uniquifier(),
            Column::of(TypeId::Int, 0, false),
            Column::of(TypeId::VarBinary, 500, true),
        ];
        shape(RowForm::ClusteredLeaf, &columns, &[(1, false), (0, false)])
    }
    fn id(rng: &mut SeededRng, span: u64) -> (i32, i32) {
        (
            rng.random_range(0..span as i32 / 50 + 1),
            rng.random_range(0..50),
        )
    }
    fn values(id: &(i32, i32)) -> Vec<Option<Vec<u8>>> {
        let number = if id.1 == 0 {
            Vec::new()
        } else {
            id.1.to_le_bytes().to_vec()
        };
        vec![Some(number), Some(id.0.to_le_bytes().to_vec())]
    }
    fn key(id: &(i32, i32)) -> Key {
        let values = Self::values(id);
        Key::of(&[values[1].as_deref(), values[0].as_deref()])
    }
    fn payload(rng: &mut SeededRng) -> Vec<u8> {
        let len = rng.random_range(0..160);
        bytes(rng, len)
    }
}
