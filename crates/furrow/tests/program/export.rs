//! `furrow inspect export` on real files: what comes out is what is in the tables.

use super::inspect::samples;
use super::*;
use sha2::{Digest, Sha256};

fn csv(file: &Path, table: &str) -> Vec<u8> {
    let output = run(&["inspect", "export", text(file), "--table", table, "--csv"]);
    assert_eq!(output.status.code(), Some(0), "{table}: {}", err(&output));
    output.stdout
}

/// One database that two releases wrote with two kinds of page protection: the same rows, byte for byte.
#[test]
fn northwind_of_2000_and_of_2008_give_the_same_csv() {
    let Some(dir) = samples() else { return };
    let hashes = NORTHWIND.iter().map(|(table, expected)| {
        let new = csv(&dir.join("northwnd-655.mdf"), table);
        let old = csv(&dir.join("northwnd-611-torn.mdf"), table);
        assert!(new == old, "{table}");
        let hash: String = Sha256::digest(&new)[..8]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        (*table, *expected, hash)
    });
    let hashes: Vec<_> = hashes.collect();
    let wrong: Vec<_> = hashes
        .iter()
        .filter(|(_, expected, hash)| expected != hash)
        .collect();
    assert!(wrong.is_empty(), "{wrong:?}");
    let customers = String::from_utf8(csv(&dir.join("northwnd-655.mdf"), "Customers")).unwrap();
    let mut lines = customers.lines();
    assert_eq!(
        lines.next().unwrap(),
        "CustomerID,CompanyName,ContactName,ContactTitle,Address,City,Region,PostalCode,Country,Phone,Fax"
    );
    assert_eq!(
        lines.next().unwrap(),
        "ALFKI,Alfreds Futterkiste,Maria Anders,Sales Representative,Obere Str. 57,Berlin,,12209,Germany,\
         030-0074321,030-0076545"
    );
}

/// The first eight bytes of each table's SHA-256.
const NORTHWIND: [(&str, &str); 13] = [
    ("Categories", "e78580051375c7ce"),
    ("CustomerCustomerDemo", "a9947728bc3eee2d"),
    ("CustomerDemographics", "f303867cd73fe77c"),
    ("Customers", "53ee75e920f348a0"),
    ("EmployeeTerritories", "e94be9335977b540"),
    ("Employees", "15d273b78c07eeaf"),
    ("Order Details", "72236026726bf89f"),
    ("Orders", "b25dc043773faf66"),
    ("Products", "25d9e54871873646"),
    ("Region", "d18cb17639350920"),
    ("Shippers", "cd00ef1f6e4f8e7b"),
    ("Suppliers", "9a14e20f9823dfdf"),
    ("Territories", "60351a57485a60f3"),
];

#[cfg(feature = "parquet")]
mod as_parquet {
    use super::super::inspect::{bytes as content_of, truth};
    use super::*;
    use bytes::Bytes;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::{Field, Row};

    fn rows(file: &Path, table: &str) -> Vec<Row> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out.parquet");
        let words = [
            "inspect",
            "export",
            text(file),
            "--parquet",
            "--table",
            table,
            "--out",
            text(&path),
        ];
        let output = run(&words);
        assert_eq!(output.status.code(), Some(0), "{table}: {}", err(&output));
        let reader = SerializedFileReader::new(Bytes::from(content_of(&path))).unwrap();
        reader
            .get_row_iter(None)
            .unwrap()
            .map(Result::unwrap)
            .collect()
    }

    fn field(row: &Row, name: &str) -> Field {
        let found = row.get_column_iter().find(|(column, _)| *column == name);
        found.unwrap().1.clone()
    }

    fn sum(rows: &[Row], name: &str) -> i128 {
        rows.iter()
            .map(|row| match field(row, name) {
                Field::Null => 0,
                Field::Short(n) => i128::from(n),
                Field::Int(n) => i128::from(n),
                Field::Bool(bit) => i128::from(bit),
                Field::Bytes(bytes) => bytes.len() as i128,
                Field::Str(text) => text.chars().count() as i128,
                Field::Decimal(decimal) => {
                    let digits = decimal.data();
                    let start = if digits[0] & 0x80 == 0 { 0 } else { -1_i128 };
                    digits
                        .iter()
                        .fold(start, |all, byte| all << 8 | i128::from(*byte))
                }
                other => panic!("{name}: {other:?}"),
            })
            .sum()
    }

    #[test]
    fn every_table_of_every_real_file_has_its_rows() {
        for (path, known) in truth() {
            let before = content_of(&path);
            for (table, count) in known["tables"].as_object().unwrap() {
                let rows = rows(&path, table);
                assert_eq!(
                    rows.len() as u64,
                    count.as_u64().unwrap(),
                    "{} {table}",
                    path.display()
                );
            }
            assert!(
                content_of(&path) == before,
                "{} has changed",
                path.display()
            );
        }
    }

    #[test]
    fn values_of_every_kind_are_the_published_ones() {
        let Some(dir) = samples() else { return };
        let northwind = dir.join("northwnd-611-torn.mdf");
        let details = rows(&northwind, "Order Details");
        assert_eq!(sum(&details, "Quantity"), 51_317);
        let orders = rows(&northwind, "Orders");
        assert_eq!(sum(&orders, "Freight"), 649_426_900);
        let missing = |rows: &[Row], name: &str| {
            rows.iter()
                .filter(|row| field(row, name) == Field::Null)
                .count()
        };
        assert_eq!(
            (
                missing(&orders, "ShipRegion"),
                missing(&orders, "ShippedDate")
            ),
            (507, 21)
        );
        let last = orders.iter().map(|row| match field(row, "OrderDate") {
            Field::TimestampMicros(micros) => micros,
            other => panic!("{other:?}"),
        });
        // 1998-05-06 in microseconds since 1970.
        assert_eq!(last.max().unwrap(), 10_352 * 86_400 * 1_000_000);
        let products = rows(&northwind, "Products");
        assert_eq!(sum(&products, "UnitPrice"), 22_227_100);
        assert_eq!(sum(&products, "Discontinued"), 8);
        let employees = rows(&northwind, "Employees");
        assert_eq!(
            (sum(&employees, "Photo"), sum(&employees, "Notes")),
            (194_730, 2383)
        );
        assert_eq!(sum(&rows(&northwind, "Categories"), "Picture"), 85_968);
        let pubs = dir.join("pubs-655.mdf");
        assert_eq!(sum(&rows(&pubs, "discounts"), "discount"), 2220);
        let info = rows(&pubs, "pub_info");
        assert_eq!((sum(&info, "logo"), sum(&info, "pr_info")), (5216, 86_656));
        let store = rows(&dir.join("mvcmusicstore-706.mdf"), "Albums");
        assert_eq!(sum(&store, "Price"), 221_154);
        let model = rows(&dir.join("mvcmusicstore-706.mdf"), "__MigrationHistory");
        assert_eq!(sum(&model, "Model"), 1566);
    }

    #[test]
    fn a_file_that_is_there_is_not_written_over() {
        let Some(dir) = samples() else { return };
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("kept");
        let northwind = dir.join("northwnd-655.mdf");
        let export = |format: &str| {
            let table = ["--table", "Shippers", "--out", text(&path), format];
            let words: Vec<&str> = ["inspect", "export", text(&northwind)]
                .into_iter()
                .chain(table)
                .collect();
            run(&words).status.code()
        };
        assert_eq!(export("--csv"), Some(0));
        let first = content_of(&path);
        assert!(first.starts_with(b"ShipperID,"));
        assert_eq!((export("--parquet"), export("--csv")), (Some(1), Some(1)));
        assert!(content_of(&path) == first);
    }
}
