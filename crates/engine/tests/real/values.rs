//! Known values of the samples, of each type that they have.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use crate::ground::{House, attached};
use furrow_engine::ScanSpec;
use furrow_format::{ColumnSpec, Held, RowExtras, RowForm, RowLayout};
use furrow_types::{TypeId, Value};

fn number(value: &Value) -> i128 {
    match value {
        Value::Null => 0,
        Value::Bit(bit) => i128::from(*bit),
        Value::Money(n) => i128::from(*n),
        Value::Decimal(decimal) => decimal.unscaled,
        other => i128::from(other.as_i64().unwrap()),
    }
}

fn sum(house: &House, table: &str, column: &str) -> i128 {
    house.column(table, column).iter().map(number).sum()
}

fn nulls(house: &House, table: &str, column: &str) -> usize {
    let values = house.column(table, column);
    values.iter().filter(|value| value.is_null()).count()
}

fn bytes(house: &House, table: &str, column: &str) -> usize {
    let values = house.column(table, column);
    values
        .iter()
        .map(|v| v.as_bytes().map_or(0, <[u8]>::len))
        .sum()
}

fn characters(house: &House, table: &str, column: &str) -> Vec<usize> {
    let values = house.column(table, column);
    let count = |v: &Value| v.as_str().map_or(0, |text| text.chars().count());
    values.iter().map(count).collect()
}

#[test]
fn both_northwinds_add_up() {
    for name in ["northwnd-655.mdf", "northwnd-611-torn.mdf"] {
        let Some(house) = attached(name) else { return };
        assert_eq!(house.column("Customers", "CustomerID").len(), 91);
        assert_eq!(sum(&house, "Orders", "Freight"), 649_426_900);
        assert_eq!(sum(&house, "Order Details", "Quantity"), 51_317);
        assert_eq!(nulls(&house, "Orders", "ShipRegion"), 507);
        assert_eq!(nulls(&house, "Orders", "ShippedDate"), 21);
        assert_eq!(sum(&house, "Products", "UnitPrice"), 22_227_100);
        assert_eq!(sum(&house, "Products", "Discontinued"), 8);
        let discounts = house.column("Order Details", "Discount");
        let given = |d: &&Value| matches!(d, Value::Real(x) if *x > 0.0);
        assert_eq!(discounts.iter().filter(given).count(), 838);
        // Large values: image, ntext.
        assert_eq!(bytes(&house, "Employees", "Photo"), 194_730);
        assert_eq!(bytes(&house, "Categories", "Picture"), 85_968);
        let notes = characters(&house, "Employees", "Notes");
        assert_eq!(notes.iter().sum::<usize>(), 2383);
        let descriptions = characters(&house, "Categories", "Description");
        assert_eq!(descriptions.iter().sum::<usize>(), 233);
        assert_eq!(29 - nulls(&house, "Suppliers", "HomePage"), 5);
        let dates = house.column("Orders", "OrderDate");
        let last = dates.iter().map(ToString::to_string).max().unwrap();
        assert_eq!(last, "1998-05-06 00:00:00.000");
        let orders = house.table("Orders");
        assert_eq!(orders.columns()[1].data_type.to_string(), "nchar(5)");
        assert!(orders.columns()[0].identity);
    }
}

#[test]
fn pubs_adds_up_with_its_alias_types() {
    let Some(house) = attached("pubs-655.mdf") else {
        return;
    };
    assert_eq!(sum(&house, "titles", "price"), 2_362_600);
    assert_eq!(nulls(&house, "titles", "price"), 2);
    assert_eq!(sum(&house, "titles", "ytd_sales"), 97_446);
    assert_eq!(sum(&house, "sales", "qty"), 493);
    assert_eq!(sum(&house, "authors", "contract"), 19);
    assert_eq!(sum(&house, "employee", "job_lvl"), 5705);
    assert_eq!(sum(&house, "discounts", "discount"), 2220);
    assert_eq!(bytes(&house, "pub_info", "logo"), 5216);
    assert_eq!(sum(&house, "roysched", "royalty"), 1310);
    let texts = characters(&house, "pub_info", "pr_info");
    assert_eq!(texts.iter().sum::<usize>(), 86_656);
    assert_eq!(texts.iter().max(), Some(&65_071));
    let authors = house.table("authors");
    let id = &authors.columns()[0];
    assert_eq!(
        (id.data_type.id, id.data_type.length),
        (TypeId::VarChar, 11)
    );
    assert!(id.user_type >= 257, "{}", id.user_type);
}

#[test]
fn the_music_store_adds_up() {
    let Some(house) = attached("mvcmusicstore-706.mdf") else {
        return;
    };
    assert_eq!(sum(&house, "Albums", "Price"), 221_154);
    assert_eq!(bytes(&house, "__MigrationHistory", "Model"), 1566);
}

#[test]
fn large_values_come_in_pieces_and_differ_from_those_in_the_row() {
    let Some(house) = attached("pubs-655.mdf") else {
        return;
    };
    let table = house.table("pub_info");
    let at = table.column("pr_info").unwrap();
    let mut session = house.session();
    let scan = session.scan(&table, &ScanSpec::default()).unwrap();
    let (mut all, mut largest) = (0, 0);
    scan.for_each(|row| {
        assert!(row.is_outside(at) && !row.is_outside(0));
        assert_eq!(row.bytes(at), None);
        assert!(row.bytes(0).is_some());
        let mut collected = Vec::new();
        let mut sink = |piece: &[u8]| {
            largest = largest.max(piece.len());
            collected.extend_from_slice(piece);
            Ok(())
        };
        assert!(row.read_bytes(at, &mut sink)?);
        let text = row.value(at)?;
        assert_eq!(text.as_str().unwrap().chars().count(), collected.len());
        all += collected.len();
        Ok(())
    })
    .unwrap();
    assert_eq!(all, 86_656);
    assert!(largest <= 8080, "{largest}");
}

#[test]
fn a_row_older_than_its_column_differs_from_one_with_null_and_a_pointer_from_a_value() {
    let int = |id| ColumnSpec::new(id, TypeId::Int, 4, true);
    let text = |id| ColumnSpec::new(id, TypeId::VarChar, 0, true);
    let old = RowLayout::new(RowForm::ClusteredLeaf, &[int(1), text(2)]).unwrap();
    let columns: Vec<_> = (3..12).map(int).collect();
    let wide = [&[int(1), text(2)][..], &columns[..]].concat();
    let new = RowLayout::new(RowForm::ClusteredLeaf, &wide).unwrap();
    let seven = 7_i32.to_le_bytes();
    let mut row = Vec::new();
    let outside = RowExtras {
        off_row: &[1],
        ..RowExtras::default()
    };
    old.encode_with(&[Some(&seven), Some(b"pointer")], outside, &mut row)
        .unwrap();
    let record = new.record(&row, new.pminlen()).unwrap();
    assert_eq!(new.held(record, 0), Ok(Held::Here(&seven)));
    assert_eq!(new.held(record, 1), Ok(Held::Elsewhere(b"pointer")));
    assert_eq!(new.held(record, 10), Ok(Held::Missing));
    row.clear();
    old.encode(&[None, Some(b"here")], &mut row).unwrap();
    let record = new.record(&row, new.pminlen()).unwrap();
    assert_eq!(new.held(record, 0), Ok(Held::Null));
    assert_eq!(new.held(record, 1), Ok(Held::Here(b"here")));
}
