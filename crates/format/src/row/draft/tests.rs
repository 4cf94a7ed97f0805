//! A draft gives the bytes that encoding all values at once gives.

use super::*;
use crate::RowForm;
use crate::row::{ColumnSpec, RowLayout};

/// SplitMix64.
struct Rng(u64);

impl Rng {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % end
    }
}

fn layout(form: RowForm, columns: &[(TypeId, u16, bool)]) -> RowLayout {
    let specs: Vec<_> = (1..)
        .zip(columns)
        .map(|(id, &(kind, len, nullable))| ColumnSpec::new(id, kind, len, nullable))
        .collect();
    RowLayout::new(form, &specs).unwrap()
}

fn sample() -> (RowLayout, Arc<RowTemplate>) {
    let layout = layout(
        RowForm::ClusteredLeaf,
        &[
            (TypeId::BigInt, 8, false),
            (TypeId::VarChar, 10, true),
            (TypeId::Bit, 1, true),
            (TypeId::VarChar, 0, true),
            (TypeId::Bit, 1, true),
            (TypeId::VarBinary, 4, true),
        ],
    );
    let template = Arc::new(RowTemplate::new(&layout).unwrap());
    (layout, template)
}

/// The row that a draft gives, and whether it is the one that encoding gives.
fn finished(draft: &RowDraft, layout: &RowLayout, template: &Arc<RowTemplate>) -> Option<Vec<u8>> {
    let mut row = vec![0xEE; 5];
    if !draft.finish(template, &mut row) {
        assert_eq!(row, [0xEE; 5], "nothing is appended");
        return None;
    }
    let values: Vec<_> = (0..layout.columns().len()).map(|c| draft.get(c)).collect();
    let mut encoded = vec![0xEE; 5];
    layout.encode(&values, &mut encoded).unwrap();
    assert_eq!(row, encoded);
    Some(row.split_off(5))
}

#[test]
fn a_row_written_in_the_order_of_its_columns_is_finished_with_its_last_value() {
    let (layout, template) = sample();
    let mut draft = RowDraft::default();
    draft.begin(6, Some(&template));
    let values: [&[u8]; 6] = [&[7; 8], b"seven", &[1], b"", &[0], b"\x01\x02"];
    for (column, value) in values.into_iter().enumerate() {
        draft.set(column, Some(value));
    }
    let row = finished(&draft, &layout, &template).unwrap();
    // 4 + 8 + a byte of two bits; 6 columns; 3 ends; values.
    assert_eq!(row.len(), 13 + 3 + 2 + 6 + 5 + 2);
    for (column, value) in values.into_iter().enumerate() {
        assert_eq!(draft.get(column), Some(value));
    }
}

#[test]
fn ends_of_columns_without_bytes_at_the_end_of_a_row_are_removed() {
    let (layout, template) = sample();
    let mut draft = RowDraft::default();
    for (last, len) in [
        (None, 16),
        (Some(1), 16 + 2 + 2 + 1),
        (Some(3), 16 + 2 + 4 + 1),
    ] {
        draft.begin(6, Some(&template));
        draft.set(0, Some(&[1; 8]));
        if let Some(column) = last {
            draft.set(column, Some(b"x"));
        }
        draft.set(5, Some(b""));
        assert_eq!(finished(&draft, &layout, &template).unwrap().len(), len);
    }
}

#[test]
fn values_out_of_order_set_twice_or_of_wrong_length_have_to_be_encoded() {
    let (layout, template) = sample();
    let mut draft = RowDraft::default();
    let mut after = |sets: &[(usize, Option<&[u8]>)]| {
        draft.begin(6, Some(&template));
        draft.set(0, Some(&[1; 8]));
        for &(column, value) in sets {
            draft.set(column, value);
        }
        for &(column, value) in sets {
            let last = sets.iter().rev().find(|(c, _)| *c == column);
            assert_eq!(
                draft.get(column),
                last.and_then(|(_, value)| *value),
                "{value:?}"
            );
        }
        finished(&draft, &layout, &template).is_some()
    };
    assert!(after(&[(1, Some(b"a")), (3, Some(b"b"))]));
    assert!(!after(&[(3, Some(b"b")), (1, Some(b"a"))]));
    assert!(!after(&[(1, Some(b"a")), (1, Some(b"b"))]));
    assert!(!after(&[(1, Some(b"a")), (1, None)]));
    assert!(!after(&[(5, Some(b"12345"))]));
    assert!(!after(&[(0, Some(&[2; 7]))]));
    // What is fixed has its place, in whatever order and however often.
    assert!(after(&[
        (4, Some(&[1])),
        (2, Some(&[1])),
        (2, Some(&[0])),
        (0, Some(&[9; 8]))
    ]));
}

#[test]
fn a_row_without_a_value_that_it_requires_is_refused_and_so_is_one_that_is_too_long() {
    let (layout, template) = sample();
    let mut draft = RowDraft::default();
    draft.begin(6, Some(&template));
    draft.set(1, Some(b"a"));
    assert!(finished(&draft, &layout, &template).is_none());
    draft.begin(6, Some(&template));
    draft.set(0, Some(&[1; 8]));
    let long = vec![b'x'; 100_000];
    draft.set(3, Some(&long));
    assert!(finished(&draft, &layout, &template).is_none());
    assert_eq!(draft.get(3), Some(&long[..]));
    // The next row has nothing of it.
    draft.begin(6, Some(&template));
    draft.set(0, Some(&[1; 8]));
    assert!(finished(&draft, &layout, &template).is_some());
    // Nor does a template give rows of another one.
    assert!(!draft.finish(
        &Arc::new(RowTemplate::new(&layout).unwrap()),
        &mut Vec::new()
    ));
}

#[test]
fn a_value_that_cannot_be_encoded_leaves_the_row_as_it_was() {
    let (layout, template) = sample();
    let mut draft = RowDraft::default();
    draft.begin(6, Some(&template));
    draft.set(0, Some(&[1; 8]));
    let failed = draft.set_with(1, |out| {
        out.extend_from_slice(b"half");
        Err("no")
    });
    assert_eq!((failed, draft.get(1)), (Err("no"), None));
    let row = finished(&draft, &layout, &template).unwrap();
    assert_eq!(row.len(), 16);
}

#[test]
fn layouts_of_indexes_have_no_template() {
    let columns = [(TypeId::BigInt, 8, false)];
    for form in [RowForm::IndexLeaf, RowForm::IndexNode] {
        assert!(RowTemplate::new(&layout(form, &columns)).is_none());
    }
    assert!(RowTemplate::new(&layout(RowForm::Heap, &columns)).is_some());
}

#[test]
fn random_rows_of_random_layouts_are_those_that_encoding_gives() {
    let seed = 20_261_127;
    println!("seed {seed}");
    let mut rng = Rng(seed);
    let kinds = [
        (TypeId::BigInt, 8),
        (TypeId::Int, 4),
        (TypeId::Bit, 1),
        (TypeId::Char, 13),
        (TypeId::VarChar, 30),
        (TypeId::VarBinary, 0),
    ];
    let (mut whole, mut draft) = (0, RowDraft::default());
    for _ in 0..300 {
        let columns: Vec<_> = (0..=rng.below(20))
            .map(|_| {
                let (kind, len) = kinds[rng.below(6) as usize];
                (kind, len, rng.below(3) > 0)
            })
            .collect();
        let form = [RowForm::Heap, RowForm::ClusteredLeaf][rng.below(2) as usize];
        let layout = layout(form, &columns);
        let template = Arc::new(RowTemplate::new(&layout).unwrap());
        for _ in 0..20 {
            draft.begin(columns.len(), Some(&template));
            for (column, &(kind, len, nullable)) in columns.iter().enumerate() {
                let mut value = vec![rng.below(256) as u8; usize::from(len)];
                match kind {
                    TypeId::Bit => value[0] &= 1,
                    TypeId::VarChar | TypeId::VarBinary => value.resize(rng.below(30) as usize, 1),
                    _ => {}
                }
                let null = nullable && rng.below(4) == 0;
                if null || rng.below(50) == 0 {
                    draft.set(column, None);
                } else if rng.below(2) == 0 {
                    draft.set(column, Some(&value));
                } else {
                    let encode = |out: &mut Vec<u8>| {
                        out.extend_from_slice(&value);
                        Ok::<_, ()>(())
                    };
                    draft.set_with(column, encode).unwrap();
                }
            }
            whole += usize::from(finished(&draft, &layout, &template).is_some());
        }
    }
    assert!(whole > 3000, "{whole} rows were finished");
}
