use super::*;
use crate::{PageId, PageType, Record, RowId, record_len};

fn spec(id: u32, kind: TypeId, max_len: u16, nullable: bool) -> ColumnSpec {
    ColumnSpec::new(id, kind, max_len, nullable)
}

fn sample(form: RowForm) -> RowLayout {
    let columns = [
        spec(1, TypeId::Int, 4, false),
        spec(2, TypeId::VarChar, 20, true),
        spec(3, TypeId::Bit, 1, true),
        spec(4, TypeId::BigInt, 8, true),
        spec(5, TypeId::Bit, 1, false),
        spec(6, TypeId::NVarChar, 0, true),
    ];
    RowLayout::new(form, &columns).unwrap()
}

fn encoded(layout: &RowLayout, values: &[Option<&[u8]>]) -> Vec<u8> {
    let mut out = vec![0xEE];
    let len = layout.encode(values, &mut out).unwrap();
    assert_eq!(len, out.len() - 1);
    out.split_off(1)
}

fn decoded(layout: &RowLayout, row: &[u8]) -> Vec<Option<Vec<u8>>> {
    let record = layout.record(row, layout.pminlen()).unwrap();
    assert_eq!(record.bytes().len(), row.len());
    let value = |index| layout.value(record, index).unwrap().map(<[u8]>::to_vec);
    (0..layout.columns().len()).map(value).collect()
}

#[test]
fn columns_are_laid_out_by_the_rules() {
    let layout = sample(RowForm::ClusteredLeaf);
    let places: Vec<_> = layout
        .columns()
        .iter()
        .map(|column| (column.place, column.bit_pos))
        .collect();
    let (fixed, var) = (Place::Fixed, Place::Var);
    assert_eq!(
        places,
        [
            (fixed(4), 0),
            (var(0), 0),
            (fixed(8), 0),
            (fixed(9), 0),
            (fixed(8), 1),
            (var(1), 0)
        ]
    );
    assert_eq!(
        (layout.pminlen(), layout.null_columns(), layout.var_count()),
        (17, 6, 2)
    );
}

#[test]
fn the_ninth_bit_column_takes_a_second_byte() {
    let columns: Vec<_> = (0..9).map(|id| spec(id, TypeId::Bit, 1, false)).collect();
    let layout = RowLayout::new(RowForm::ClusteredLeaf, &columns).unwrap();
    assert_eq!(layout.pminlen(), 6);
    assert_eq!(layout.columns()[7].place, Place::Fixed(4));
    assert_eq!(
        layout.columns()[8],
        ColumnLayout {
            bit_pos: 0,
            ..layout.columns()[8]
        }
    );
    assert_eq!(layout.columns()[8].place, Place::Fixed(5));
    let values: Vec<Option<&[u8]>> = (0..9)
        .map(|i| Some(if i % 3 == 0 { &[1][..] } else { &[0] }))
        .collect();
    let row = encoded(&layout, &values);
    assert_eq!(row[4..6], [0b0100_1001, 0]);
    let back: Vec<_> = decoded(&layout, &row);
    assert!(back.iter().map(Option::as_deref).eq(values.iter().copied()));
}

#[test]
fn a_row_has_the_bytes_that_real_rows_have() {
    let layout = sample(RowForm::ClusteredLeaf);
    let name = b"ab";
    let row = encoded(
        &layout,
        &[
            Some(&[7, 0, 0, 0]),
            Some(name),
            None,
            None,
            Some(&[1]),
            None,
        ],
    );
    let expected = [
        &[0x30, 0, 17, 0, 7, 0, 0, 0, 0b10, 0, 0, 0, 0, 0, 0, 0, 0][..],
        &[6, 0, 0b10_1100, 1, 0, 26, 0][..],
        name,
    ];
    assert_eq!(row, expected.concat());
    let bigint_and_char = [
        spec(1, TypeId::BigInt, 8, false),
        spec(2, TypeId::Char, 4100, true),
    ];
    let layout = RowLayout::new(RowForm::ClusteredLeaf, &bigint_and_char).unwrap();
    let row = encoded(&layout, &[Some(&[0; 8]), Some(&[b'x'; 4100])]);
    assert_eq!(row.len(), 4115);
    assert_eq!(layout.max_row_size(), 4115);
}

#[test]
fn every_value_and_every_null_comes_back() {
    for form in [RowForm::Heap, RowForm::ClusteredLeaf, RowForm::IndexLeaf] {
        let layout = sample(form);
        let values: [&[u8]; 6] = [&[1, 2, 3, 4], b"some text", &[1], &[9; 8], &[1], b"u\0"];
        for nulls in 0..64_u32 {
            let nulls = nulls & 0b10_1110;
            let row: Vec<_> = (0..6)
                .map(|i| (nulls & (1 << i) == 0).then_some(values[i]))
                .collect();
            let bytes = encoded(&layout, &row);
            let back = decoded(&layout, &bytes);
            assert!(
                back.iter().map(Option::as_deref).eq(row.iter().copied()),
                "{form:?} {nulls:b}"
            );
        }
    }
}

#[test]
fn index_rows_have_a_null_bitmap_only_if_a_column_is_nullable() {
    let key = spec(1, TypeId::VarChar, 6, false);
    let rid = spec(0, TypeId::Binary, 8, false);
    let layout = RowLayout::new(RowForm::IndexLeaf, &[key, rid]).unwrap();
    let rid = [0xC2, 0, 0, 0, 1, 0, 0, 0];
    let row = encoded(&layout, &[Some(b"BU1032"), Some(&rid)]);
    let expected = [&[0x26][..], &rid, &[1, 0, 0x13, 0], b"BU1032"].concat();
    assert_eq!(row, expected);
    assert_eq!(layout.pminlen(), 9);
}

#[test]
fn node_rows_end_their_fixed_part_with_the_child() {
    let columns = [spec(1, TypeId::Int, 4, false), ColumnSpec::uniquifier()];
    let layout = RowLayout::new(RowForm::IndexNode, &columns).unwrap();
    assert_eq!(layout.pminlen(), 11);
    let child = PageId::new(4, 0x0102_0304);
    let mut row = Vec::new();
    layout
        .encode_node(&[Some(&[5, 0, 0, 0]), Some(&[])], child, &mut row)
        .unwrap();
    assert_eq!(row, [0x06, 5, 0, 0, 0, 4, 3, 2, 1, 4, 0]);
    let record = layout.record(&row, 11).unwrap();
    assert_eq!(record.child(), Some(child));
    assert_eq!(layout.fixed_value(&row, 0), Some(&[5, 0, 0, 0][..]));
    assert_eq!(layout.value(record, 1), Ok(Some(&[][..])));
    let mut first = Vec::new();
    layout
        .encode_node(&[None, None], child, &mut first)
        .unwrap();
    assert_eq!(layout.record(&first, 11).unwrap().child(), Some(child));
    let values = [Some(&[5, 0, 0, 0][..]), None];
    assert_eq!(layout.encode(&values, &mut first), Err(RowError::Child));
}

#[test]
fn the_shortest_heap_row_leaves_room_for_a_stub() {
    let layout = RowLayout::new(RowForm::Heap, &[spec(1, TypeId::TinyInt, 1, true)]).unwrap();
    for value in [Some(&[3][..]), None] {
        assert_eq!(
            encoded(&layout, &[value]).len(),
            crate::FORWARDING_STUB_SIZE
        );
    }
}

#[test]
fn forwarded_tagged_and_off_row_rows_read_as_plain_ones() {
    let layout = sample(RowForm::Heap);
    let pointer = [4; 24];
    let values: [Option<&[u8]>; 6] = [
        Some(&[1; 4]),
        Some(b""),
        Some(&[0]),
        None,
        Some(&[1]),
        Some(&pointer),
    ];
    let home = RowId {
        page: PageId::new(1, 9),
        slot: 2,
    };
    let extras = RowExtras {
        forwarded_from: Some(home),
        version_tag: Some([8; 14]),
        off_row: &[5],
        ..RowExtras::default()
    };
    let mut row = Vec::new();
    let len = layout.encode_with(&values, extras, &mut row).unwrap();
    assert_eq!(record_len(PageType::Data, 0, &row), Some(len));
    assert!(
        decoded(&layout, &row)
            .iter()
            .map(Option::as_deref)
            .eq(values)
    );
    let record = Record::data(&row).unwrap();
    assert_eq!(record.forwarded_from(), Some(home));
    assert!(layout.is_off_row(record, 5) && !layout.is_off_row(record, 1));
}

#[test]
fn columns_added_later_are_null_in_older_rows() {
    let old = sample(RowForm::ClusteredLeaf);
    let row = encoded(
        &old,
        &[Some(&[1; 4]), Some(b"x"), None, None, Some(&[1]), None],
    );
    let mut columns = old.columns().to_vec();
    let added = ColumnLayout {
        place: Place::Fixed(17),
        null_bit: Some(6),
        ..columns[0]
    };
    columns.push(added);
    columns.push(ColumnLayout {
        place: Place::Var(2),
        null_bit: Some(7),
        ..columns[1]
    });
    let new = RowLayout::from_columns(RowForm::ClusteredLeaf, columns, 21).unwrap();
    let record = new.record(&row, 21).unwrap();
    assert_eq!(new.value(record, 6), Ok(None));
    assert_eq!(new.value(record, 7), Ok(None));
    assert_eq!(
        new.value(record, 8),
        Err(RowError::NoSuchColumn { index: 8 })
    );
    assert_eq!(new.value(record, 0), Ok(Some(&[1; 4][..])));
}

#[test]
fn values_that_do_not_fit_are_refused_and_leave_nothing_behind() {
    let layout = sample(RowForm::Heap);
    let good: [Option<&[u8]>; 6] = [Some(&[1; 4]), None, None, None, Some(&[1]), None];
    let with = |index: usize, value: Option<&'static [u8]>| {
        let mut values = good;
        values[index] = value;
        let mut out = vec![7];
        let error = layout.encode(&values, &mut out).unwrap_err();
        assert_eq!(out, [7]);
        error
    };
    assert_eq!(with(0, None), RowError::NotNullable { column_id: 1 });
    let length = |column_id, max_len, actual| RowError::ValueLength {
        column_id,
        max_len,
        actual,
    };
    assert_eq!(with(0, Some(&[1; 3])), length(1, 4, 3));
    assert_eq!(with(1, Some(&[1; 21])), length(2, 20, 21));
    assert_eq!(with(2, Some(&[])), length(3, 1, 0));
    assert_eq!(
        with(5, Some(&[1; 8060])),
        RowError::RowTooLarge {
            len: 8060 + 17 + 3 + 6
        }
    );
    let count = RowError::ValueCount {
        expected: 6,
        actual: 5,
    };
    assert_eq!(layout.encode(&good[..5], &mut Vec::new()), Err(count));
    let too_long = vec![1; 40_000];
    let mut values = good;
    values[5] = Some(&too_long);
    let error = layout.encode(&values, &mut Vec::new());
    assert_eq!(error, Err(RowError::RowTooLarge { len: 65535 }));
    let most = 8060 - 17 - 3 - 6;
    let text = vec![1; most];
    values[5] = Some(&text);
    assert_eq!(encoded(&layout, &values).len(), 8060);
}

#[test]
fn a_heap_row_is_padded_only_where_the_page_has_space_for_the_padding() {
    let specs = [
        spec(1, TypeId::VarChar, 8000, true),
        spec(2, TypeId::VarChar, 8000, true),
    ];
    let layout = RowLayout::new(RowForm::Heap, &specs).unwrap();
    assert_eq!(encoded(&layout, &[None, None]).len(), 9);
    let bytes = [7; 8000];
    for (second, len) in [(1, 8016), (45, 8060), (46, 8059), (47, 8060)] {
        let values = [Some(&bytes[..]), Some(&bytes[..second])];
        let row = encoded(&layout, &values);
        assert_eq!(row.len(), len);
        let record = layout.record(&row, layout.pminlen()).unwrap();
        assert_eq!(layout.value(record, 0).unwrap(), values[0]);
        assert_eq!(layout.value(record, 1).unwrap(), values[1]);
    }
    let values = [Some(&bytes[..]), Some(&bytes[..48])];
    let error = layout.encode(&values, &mut Vec::new());
    assert_eq!(error, Err(RowError::RowTooLarge { len: 8061 }));
}

#[test]
fn layouts_that_make_no_sense_are_refused() {
    let wide = [
        spec(1, TypeId::Char, 8000, true),
        spec(2, TypeId::Char, 60, true),
    ];
    assert_eq!(
        RowLayout::new(RowForm::Heap, &wide),
        Err(RowError::Layout { column_id: 2 })
    );
    let good = sample(RowForm::Heap).columns().to_vec();
    let refused = |change: &dyn Fn(&mut Vec<ColumnLayout>), fixed_end| {
        let mut columns = good.clone();
        change(&mut columns);
        RowLayout::from_columns(RowForm::Heap, columns, fixed_end).is_err()
    };
    assert!(!refused(&|_| {}, 17));
    assert!(refused(&|_| {}, 16));
    assert!(refused(&|_| {}, 3));
    assert!(refused(&|columns| columns[0].place = Place::Fixed(3), 17));
    assert!(refused(&|columns| columns[0].place = Place::Var(1), 17));
    assert!(refused(&|columns| columns[0].place = Place::Var(65535), 17));
    assert!(refused(&|columns| columns[0].null_bit = Some(65535), 17));
    assert!(refused(&|columns| columns[2].bit_pos = 8, 17));
}
