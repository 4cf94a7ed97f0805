//! Sums over the values of the sample databases: any decoder must come to these.

use furrow_datafile::{Database, Table};
use furrow_types::{TypeId, Value};

use crate::files::image;

/// A database with everything read, for queries.
struct Sample<'s> {
    database: Database<'s>,
}

impl Sample<'_> {
    fn table(&self, name: &str) -> Table {
        self.database.table(Some("dbo"), name).unwrap()
    }

    /// A column's values, in the order of the rows.
    fn column(&self, table: &str, column: &str) -> Vec<Value> {
        let table = self.table(table);
        let at = table.columns.iter().position(|c| c.name == column).unwrap();
        let rows = self.database.rows(&table).unwrap();
        rows.map(|row| row.unwrap().swap_remove(at)).collect()
    }

    /// Sum of integers, or of money in ten-thousandths, or of decimals unscaled.
    fn sum(&self, table: &str, column: &str) -> i128 {
        self.column(table, column).iter().map(number).sum()
    }

    fn nulls(&self, table: &str, column: &str) -> usize {
        self.column(table, column)
            .iter()
            .filter(|value| value.is_null())
            .count()
    }

    fn bytes(&self, table: &str, column: &str) -> usize {
        let lengths = self.column(table, column);
        lengths
            .iter()
            .map(|value| value.as_bytes().map_or(0, <[u8]>::len))
            .sum()
    }

    fn characters(&self, table: &str, column: &str) -> Vec<usize> {
        let texts = self.column(table, column);
        texts
            .iter()
            .map(|value| value.as_str().map_or(0, |text| text.chars().count()))
            .collect()
    }
}

fn number(value: &Value) -> i128 {
    match value {
        Value::Null => 0,
        Value::Money(n) => i128::from(*n),
        Value::Decimal(decimal) => decimal.unscaled,
        other => i128::from(other.as_i64().unwrap()),
    }
}

fn northwind(file: &str) {
    let Some(image) = image(file) else { return };
    let sample = Sample {
        database: Database::open(&image).unwrap(),
    };
    let freight = sample
        .column("Orders", "Freight")
        .iter()
        .map(number)
        .collect::<Vec<_>>();
    assert_eq!(freight.iter().sum::<i128>(), 649_426_900);
    assert_eq!(
        (freight.iter().min(), freight.iter().max()),
        (Some(&200), Some(&10_076_400))
    );
    let quantity = sample.column("Order Details", "Quantity");
    let price = sample.column("Order Details", "UnitPrice");
    assert_eq!(quantity.iter().map(number).sum::<i128>(), 51_317);
    let revenue = quantity
        .iter()
        .zip(&price)
        .map(|(q, p)| number(q) * number(p))
        .sum::<i128>();
    assert_eq!(revenue, 13_544_585_900);
    let discounts = sample.column("Order Details", "Discount");
    assert_eq!(
        discounts
            .iter()
            .filter(|d| matches!(d, Value::Real(x) if *x > 0.0))
            .count(),
        838
    );
    assert_eq!(sample.nulls("Orders", "ShipRegion"), 507);
    assert_eq!(sample.nulls("Orders", "ShippedDate"), 21);
    assert_eq!(sample.sum("Products", "UnitPrice"), 22_227_100);
    assert_eq!(sample.sum("Products", "Discontinued"), 8);
    assert_eq!(sample.bytes("Employees", "Photo"), 194_730);
    let photos = sample.column("Employees", "Photo");
    assert!(
        photos[..2]
            .iter()
            .all(|photo| photo.as_bytes().unwrap().len() == 21_626)
    );
    assert_eq!(
        sample
            .characters("Employees", "Notes")
            .iter()
            .sum::<usize>(),
        2383
    );
    assert_eq!(sample.bytes("Categories", "Picture"), 85_968);
    assert_eq!(
        sample
            .characters("Categories", "Description")
            .iter()
            .sum::<usize>(),
        233
    );
    assert_eq!(29 - sample.nulls("Suppliers", "HomePage"), 5);
    let dates = sample.column("Orders", "OrderDate");
    let last = dates.iter().map(ToString::to_string).max().unwrap();
    assert_eq!(last, "1998-05-06 00:00:00.000");
    let orders = sample.table("Orders");
    let identity = orders.columns[0].identity.unwrap();
    assert_eq!(
        (identity.last, identity.increment, identity.issued),
        (11_077, 1, true)
    );
    assert_eq!(orders.columns[1].data_type.to_string(), "nchar(5)");
}

#[test]
fn northwind_of_2008_adds_up() {
    northwind("northwnd-655.mdf");
}

#[test]
fn northwind_of_2000_on_2005_with_torn_bits_adds_up() {
    northwind("northwnd-611-torn.mdf");
}

/// Both come from the same script: their tables are equal, value by value, pictures included.
#[test]
fn the_two_northwinds_hold_the_same_rows() {
    let (Some(old), Some(new)) = (image("northwnd-611-torn.mdf"), image("northwnd-655.mdf")) else {
        return;
    };
    let (old, new) = (Database::open(&old).unwrap(), Database::open(&new).unwrap());
    let (old_tables, new_tables) = (old.tables(), new.tables());
    assert_eq!(old_tables.len(), 13);
    for (a, b) in old_tables.iter().zip(&new_tables) {
        assert_eq!(a.name, b.name);
        let types = |table: &Table| {
            table
                .columns
                .iter()
                .map(|c| (c.name.clone(), c.data_type.to_string()))
                .collect::<Vec<_>>()
        };
        assert_eq!(types(a), types(b), "{}", a.name);
        let rows = |database: &Database<'_>, table| {
            let rows = database.rows(table).unwrap();
            let mut rows = rows
                .map(|row| format!("{:?}", row.unwrap()))
                .collect::<Vec<_>>();
            rows.sort_unstable();
            rows
        };
        assert_eq!(rows(&old, a), rows(&new, b), "{}", a.name);
    }
}

#[test]
fn pubs_adds_up() {
    let Some(image) = image("pubs-655.mdf") else {
        return;
    };
    let sample = Sample {
        database: Database::open(&image).unwrap(),
    };
    assert_eq!(sample.sum("titles", "price"), 2_362_600);
    assert_eq!(sample.nulls("titles", "price"), 2);
    assert_eq!(sample.sum("titles", "ytd_sales"), 97_446);
    assert_eq!(sample.sum("sales", "qty"), 493);
    assert_eq!(sample.sum("authors", "contract"), 19);
    assert_eq!(sample.sum("employee", "job_lvl"), 5705);
    assert_eq!(sample.sum("discounts", "discount"), 2220);
    assert_eq!(sample.bytes("pub_info", "logo"), 5216);
    let texts = sample.characters("pub_info", "pr_info");
    assert_eq!(
        (texts.iter().sum::<usize>(), texts.iter().max()),
        (86_656, Some(&65_071))
    );
    assert_eq!(sample.sum("roysched", "royalty"), 1310);
    let titles = sample.table("titles");
    assert_eq!(titles.columns[0].name, "title_id");
    let indexes = sample.database.indexes(titles.id);
    assert!(indexes[0].primary_key && indexes[0].unique && indexes[0].kind == 1);
    assert_eq!(indexes[0].key, [(1, false)]);
    // A clustered key that isn't unique: rows come in its order all the same.
    let employee = sample.table("employee");
    assert!(!sample.database.indexes(employee.id)[0].unique);
    let names = sample.column("employee", "lname");
    assert!(names.is_sorted_by_key(|name| name.to_string().to_lowercase()));
}

#[test]
fn the_music_store_adds_up() {
    let Some(image) = image("mvcmusicstore-706.mdf") else {
        return;
    };
    let sample = Sample {
        database: Database::open(&image).unwrap(),
    };
    assert_eq!(sample.sum("Albums", "Price"), 221_154);
    assert_eq!(sample.bytes("__MigrationHistory", "Model"), 1566);
    let albums = sample.table("Albums");
    let price = albums
        .columns
        .iter()
        .find(|column| column.name == "Price")
        .unwrap();
    assert_eq!(price.data_type.to_string(), "decimal(18,2)");
    assert_eq!(price.data_type.id, TypeId::Decimal);
    let indexes = sample.database.indexes(albums.id);
    let names = indexes
        .iter()
        .map(|index| index.name.as_str())
        .collect::<Vec<_>>();
    assert_eq!(names, ["PK_dbo.Albums", "IX_GenreId", "IX_ArtistId"]);
    let files = sample.database.files();
    assert_eq!((files.len(), files[0].size, files[1].filetype), (2, 392, 1));
}
