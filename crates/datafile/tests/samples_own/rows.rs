//! A heap with everything that rows can go through.

use furrow_datafile::{Database, MdfError, MdfImage, Table};
use furrow_format::catalog::{
    AllocUnit, BaseRow, ColumnSpec, NullBits, Rowset, RowsetColumn, RowsetKind, RowsetLayout,
    RowsetValue, SYSALLOCUNITS, SYSCOLPARS, SYSROWSETS, SYSRSCOLS, SYSSCHOBJS, SYSSEOBJVALUES,
    SchemaObject, column_row, lay_out, layout_status, object_type, row_layout, rowset_status,
    schema_id, unit_kind,
};
use furrow_format::{
    AllocUnitId, PageId, PageType, RecordKind, RowExtras, RowForm, RowId, RowLayout, RowsetId,
    Status, forwarding_stub,
};
use furrow_types::{DataType, MAX_LENGTH, TypeId, Value};

use crate::builder::{Builder, created};

const TABLE: i32 = 1_000_000;
const ROWSET: RowsetId = RowsetId(0x0100_0000_0001_0000);
const ROWS: AllocUnitId = AllocUnitId(0x0100_0000_0001_0000);
const LOBS: AllocUnitId = AllocUnitId(0x0100_0000_0002_0000);
const BLOB: u64 = 0x1234_0000;
const NOTE: u32 = 5000;

/// `id int NOT NULL, note varchar(8000), big varbinary(max), extra int`; between the last two one was
/// dropped.
fn layout() -> RowsetLayout {
    let spec = |column_id, data_type, nullable| ColumnSpec {
        column_id,
        data_type,
        nullable,
        key_ordinal: 0,
        descending: false,
        uniquifier: false,
    };
    let int = DataType::simple(TypeId::Int);
    let specs = [
        spec(1, int, false),
        spec(
            2,
            DataType::string(TypeId::VarChar, Some(8000)).unwrap(),
            true,
        ),
        spec(3, DataType::sized(TypeId::VarBinary, MAX_LENGTH), true),
        spec(0x0400_0001, int, true),
        spec(5, int, true),
    ];
    let mut layout = lay_out(ROWSET, RowsetKind::Heap, NullBits::Always, &specs);
    layout.columns[3].status |= layout_status::DROPPED;
    layout
}

struct Heap {
    builder: Builder,
    first: PageId,
    second: PageId,
    text: PageId,
}

impl Heap {
    fn new() -> Heap {
        let mut builder = Builder::new();
        let pages = [(); 3].map(|()| builder.allocate());
        let [first, second, text] = pages;
        let pminlen = layout().minleaf as u16;
        builder.format(first, PageType::Data, ROWS, pminlen);
        builder.format(second, PageType::Data, ROWS, pminlen);
        builder.format(text, PageType::TextMix, LOBS, 0);
        describe(&mut builder, &[first, second], &[text]);
        Heap {
            builder,
            first,
            second,
            text,
        }
    }

    /// Appends a record to the first page.
    fn put(&mut self, record: &[u8]) {
        let page = self.first;
        self.builder.page(page).append(record).unwrap();
    }

    fn put_text(&mut self, kind: u16, body: &[u8]) -> RowId {
        let mut record = vec![0x08, 0];
        record.extend((14 + body.len() as u16).to_le_bytes());
        record.extend(BLOB.to_le_bytes());
        record.extend(kind.to_le_bytes());
        record.extend(body);
        let page = self.text;
        let slot = self.builder.page(page).as_page().slot_count();
        self.builder.page(page).append(&record).unwrap();
        RowId { page, slot }
    }

    fn image(self) -> MdfImage {
        MdfImage::open(&self.builder.finish()).unwrap()
    }
}

/// The rows that make the table known.
fn describe(builder: &mut Builder, rows: &[PageId], lobs: &[PageId]) {
    let layout = layout();
    let object = SchemaObject {
        id: TABLE,
        name: "t".to_owned(),
        nsid: schema_id::DBO,
        nsclass: 0,
        status: 0,
        kind: object_type::USER_TABLE,
        pid: 0,
        pclass: 1,
        intprop: 5,
        created: created(),
        modified: created(),
        status2: 0,
    };
    builder.add(&SYSSCHOBJS, object.to_values());
    for (row, name) in layout
        .columns
        .iter()
        .zip(["id", "note", "big", "", "extra"])
    {
        builder.add(&SYSRSCOLS, row.to_values());
        let data_type = furrow_datafile::StoredColumn::from_layout(row)
            .unwrap()
            .data_type;
        if row.status & layout_status::DROPPED == 0 {
            let column = column_row(TABLE, row.rscolid, name, &data_type, row.rscolid != 1);
            builder.add(&SYSCOLPARS, column.to_values());
        }
    }
    describe_space(builder, &layout, rows, lobs);
    let seven = (DataType::simple(TypeId::Int), Value::Int(7));
    let default = RowsetValue {
        valclass: 1,
        id: ROWSET.0 as i64,
        subid: 5,
        valnum: 0,
        value: Value::Variant(Box::new(seven)),
        imageval: None,
    };
    builder.add(&SYSSEOBJVALUES, default.to_values());
}

fn describe_space(builder: &mut Builder, layout: &RowsetLayout, rows: &[PageId], lobs: &[PageId]) {
    let rowset = Rowset {
        rowsetid: ROWSET.0 as i64,
        ownertype: 1,
        idmajor: TABLE,
        idminor: 0,
        numpart: 1,
        status: rowset_status::DATA | rowset_status::USER,
        fgidfs: 0,
        rcrows: 0,
        cmprlevel: 0,
        fillfact: 0,
        maxnullbit: layout.maxnullbit,
        maxleaf: layout.maxleaf,
        maxint: 0,
        minleaf: layout.minleaf,
        minint: 0,
        rsguid: None,
        lockres: None,
        scope_id: None,
    };
    builder.add(&SYSROWSETS, rowset.to_values());
    for (unit, kind, pages) in [
        (ROWS, unit_kind::IN_ROW, rows),
        (LOBS, unit_kind::LOB, lobs),
    ] {
        let unit = AllocUnit {
            auid: unit.0 as i64,
            kind,
            ownerid: ROWSET.0 as i64,
            status: 0,
            fgid: 1,
            pgfirst: PageId::NONE,
            pgroot: PageId::NONE,
            pgfirstiam: builder.own(unit, pages),
            pcused: pages.len() as i64 + 1,
            pcdata: 0,
            pcreserved: 0,
        };
        builder.add(&SYSALLOCUNITS, unit.to_values());
    }
}

/// Rows as of now, and as they were before `extra` came and `gone` went.
fn layouts() -> (RowLayout, RowLayout) {
    let rows = layout();
    let mut old: Vec<RowsetColumn> = rows.columns[..4].to_vec();
    old[3].status &= !layout_status::DROPPED;
    let old = row_layout(RowForm::Heap, &old, 12).unwrap();
    (rows.leaf(RowsetKind::Heap).unwrap(), old)
}

fn new_row(id: i32, note: &[u8], extra: i32, extras: RowExtras<'_>) -> Vec<u8> {
    let (id, extra, mut record) = (id.to_le_bytes(), extra.to_le_bytes(), Vec::new());
    let values = [Some(&id[..]), Some(note), None, Some(&extra[..])];
    layouts()
        .0
        .encode_with(&values, extras, &mut record)
        .unwrap();
    record
}

fn read(image: &MdfImage) -> (Table, Vec<Result<Vec<Value>, MdfError>>) {
    let database = Database::open(image).unwrap();
    let table = database.table(Some("dbo"), "T").unwrap();
    let rows = database.rows(&table).unwrap().collect();
    (table, rows)
}

fn ids(rows: &[Result<Vec<Value>, MdfError>]) -> Vec<i64> {
    rows.iter()
        .map(|row| row.as_ref().unwrap()[0].as_i64().unwrap())
        .collect()
}

#[test]
fn a_heap_gives_each_row_once_wherever_it_moved() {
    let mut heap = Heap::new();
    let plain = RowExtras::default();
    heap.put(&new_row(1, b"one", 41, plain));
    let moved_to = RowId {
        page: heap.second,
        slot: 0,
    };
    heap.put(&forwarding_stub(moved_to));
    let from = RowExtras {
        forwarded_from: Some(RowId {
            page: heap.first,
            slot: 1,
        }),
        ..plain
    };
    let long = vec![b'x'; NOTE as usize];
    let moved = new_row(2, &long, 42, from);
    let second = heap.second;
    heap.builder.page(second).append(&moved).unwrap();
    let mut ghost = new_row(99, b"deleted", 0, plain);
    ghost[0] = Status(ghost[0]).with_kind(RecordKind::GhostData).0;
    heap.put(&ghost);
    heap.put(&new_row(98, b"gone", 0, plain));
    let first = heap.first;
    heap.builder.page(first).heap_free(3).unwrap();
    heap.put(&new_row(3, b"", 43, plain));
    let image = heap.image();
    let (table, rows) = read(&image);
    assert!(table.is_heap);
    assert_eq!(
        table.columns.iter().map(|c| c.id).collect::<Vec<_>>(),
        [1, 2, 3, 5]
    );
    assert_eq!(ids(&rows), [1, 2, 3]);
    let note = |row: usize| rows[row].as_ref().unwrap()[1].as_str().unwrap().len();
    assert_eq!((note(0), note(1), note(2)), (3, NOTE as usize, 0));
    assert_eq!(rows[1].as_ref().unwrap()[3], Value::Int(42));
}

#[test]
fn a_stub_that_leads_to_another_row_is_an_error_and_the_next_row_follows() {
    let mut heap = Heap::new();
    let wrong = RowId {
        page: heap.first,
        slot: 1,
    };
    heap.put(&forwarding_stub(wrong));
    heap.put(&new_row(1, b"one", 1, RowExtras::default()));
    let (_, rows) = read(&heap.image());
    assert!(matches!(rows[0], Err(MdfError::DamagedRecord { at, .. }) if at.slot == 0));
    assert_eq!(ids(&rows[1..]), [1]);
}

#[test]
fn a_row_older_than_a_column_has_its_default_and_nothing_of_the_dropped_one() {
    let mut heap = Heap::new();
    let (id, gone, mut record) = (1i32.to_le_bytes(), (-1i32).to_le_bytes(), Vec::new());
    let values = [Some(&id[..]), None, Some(&b"raw"[..]), Some(&gone[..])];
    layouts().1.encode(&values, &mut record).unwrap();
    heap.put(&record);
    let (_, rows) = read(&heap.image());
    let raw = Value::Binary(b"raw".to_vec());
    assert_eq!(
        rows,
        [Ok(vec![Value::Int(1), Value::Null, raw, Value::Int(7)])]
    );
}

fn link(end: u32, at: RowId) -> Vec<u8> {
    [&end.to_le_bytes()[..], &at.to_bytes()].concat()
}

/// A pointer of 12 bytes and its links: kind 4 the root of a (max) value, 2 a column that left its row.
fn pointer(kind: u8, links: &[Vec<u8>]) -> Vec<u8> {
    let mut pointer = vec![kind, 0, 0, 0, 1, 0, 0, 0];
    pointer.extend(((BLOB >> 16) as u32).to_le_bytes());
    pointer.extend(links.concat());
    pointer
}

/// A row whose note and large value lie elsewhere.
fn row_with(note: &[u8], big: &[u8]) -> Vec<u8> {
    let (id, mut record) = (1i32.to_le_bytes(), Vec::new());
    let values = [Some(&id[..]), Some(note), Some(big), None];
    let extras = RowExtras {
        off_row: &[1, 2],
        ..RowExtras::default()
    };
    layouts()
        .0
        .encode_with(&values, extras, &mut record)
        .unwrap();
    record
}

#[test]
fn large_values_are_gathered_over_roots_inner_nodes_and_pieces() {
    let mut heap = Heap::new();
    let a = heap.put_text(3, b"alpha");
    let b = heap.put_text(3, b"beta");
    let c = heap.put_text(3, b"gamma");
    let d = heap.put_text(3, b"a note");
    let long = |end: u64, at: RowId| [&end.to_le_bytes()[..], &at.to_bytes()].concat();
    let inner = [&[0xF5, 1, 2, 0, 0, 0][..], &long(4, b), &long(9, c)].concat();
    let inner = heap.put_text(2, &inner);
    let big = pointer(4, &[link(5, a), link(14, inner)]);
    heap.put(&row_with(&pointer(2, &[link(6, d)]), &big));
    let (_, rows) = read(&heap.image());
    let row = rows[0].as_ref().unwrap();
    assert_eq!(row[1].as_str(), Some("a note"));
    assert_eq!(row[2].as_bytes(), Some(&b"alphabetagamma"[..]));
}

#[test]
fn large_values_that_contradict_themselves_are_errors() {
    let damage = |make: &dyn Fn(&mut Heap) -> Vec<u8>| {
        let mut heap = Heap::new();
        let big = make(&mut heap);
        let note = heap.put_text(3, b"n");
        heap.put(&row_with(&pointer(2, &[link(1, note)]), &big));
        let (_, mut rows) = read(&heap.image());
        rows.remove(0).unwrap_err()
    };
    let wrong_end = damage(&|heap| {
        let piece = heap.put_text(3, b"alpha");
        pointer(4, &[link(6, piece)])
    });
    assert!(
        wrong_end.to_string().contains("5 bytes where"),
        "{wrong_end}"
    );
    let twice = damage(&|heap| {
        let piece = heap.put_text(3, b"alpha");
        pointer(4, &[link(5, piece), link(10, piece)])
    });
    assert!(twice.to_string().contains("twice"), "{twice}");
    let other_blob = damage(&|heap| {
        let piece = heap.put_text(3, b"alpha");
        let mut pointer = pointer(4, &[link(5, piece)]);
        pointer[8] ^= 1;
        pointer
    });
    assert!(other_blob.to_string().contains("blob id"), "{other_blob}");
    let nowhere = damage(&|heap| {
        pointer(
            4,
            &[link(
                5,
                RowId {
                    page: heap.text,
                    slot: 9,
                },
            )],
        )
    });
    assert!(matches!(nowhere, MdfError::WrongPage { .. }), "{nowhere}");
    let circle = damage(&|heap| {
        let itself = RowId {
            page: heap.text,
            slot: 0,
        };
        let body = [&[5, 0, 1, 0, 1, 0, 0, 0, 0, 0][..], &link(5, itself)].concat();
        heap.put_text(5, &body);
        pointer(4, &[link(5, itself)])
    });
    assert!(circle.to_string().contains("twice"), "{circle}");
}

#[test]
fn pages_that_run_in_a_circle_or_belong_to_another_are_errors() {
    let mut heap = Heap::new();
    heap.put(&new_row(1, b"one", 1, RowExtras::default()));
    let iam = {
        let rows = &heap
            .builder
            .tables
            .iter()
            .find(|(table, _)| table.id == 7)
            .unwrap()
            .1;
        let mut unit = rows
            .iter()
            .filter_map(|row| AllocUnit::from_values(row.clone()));
        let unit = unit.rfind(|unit| unit.auid == ROWS.0 as i64);
        unit.unwrap().pgfirstiam
    };
    heap.builder.page(iam).set_next(iam);
    let image = heap.image();
    let database = Database::open(&image).unwrap();
    let table = database.table(None, "t").unwrap();
    let rows: Vec<_> = database.rows(&table).unwrap().collect();
    assert!(
        matches!(&rows[0], Err(MdfError::Circle { page, .. }) if *page == iam),
        "{rows:?}"
    );
    // What the chain does not give is found by the pages' own headers.
    assert_eq!(ids(&rows[1..]), [1]);

    let mut heap = Heap::new();
    let second = heap.second;
    heap.builder.format(second, PageType::Data, LOBS, 8);
    heap.put(&new_row(1, b"one", 1, RowExtras::default()));
    let (_, rows) = read(&heap.image());
    assert_eq!(ids(&rows[..1]), [1]);
    assert!(matches!(&rows[1], Err(MdfError::WrongPage { page, .. }) if *page == second));
}
