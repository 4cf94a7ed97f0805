//! The base tables of a new database, through the reader of real files.

use furrow_datafile::{Database, MdfImage, summarize};
use furrow_format::FileId;
use furrow_format::catalog::{
    BASE_TABLES, Column, RowsetColumn, SYSCOLPARS, SYSRSCOLS, base_layout,
};

use crate::builder::{Builder, created, in_file};

#[test]
fn a_new_database_of_ours_is_opened_by_the_reader_of_real_files() {
    let image = MdfImage::open(&Builder::new().finish()).unwrap();
    let database = Database::open(&image).unwrap();
    assert_eq!((database.version(), database.create_version()), (706, 706));
    assert!(database.tables().is_empty());
    for table in BASE_TABLES {
        let found = database.table(Some("sys"), table.name).unwrap();
        assert_eq!(found.is_heap, table.is_heap());
        let rows = database.rows(&found).unwrap().map(Result::unwrap).count();
        assert_eq!(rows as i64, found.row_count, "{}", table.name);
        let types = found
            .columns
            .iter()
            .map(|column| (column.name.as_str(), column.data_type));
        assert!(
            types.eq(table.columns.iter().map(|c| (c.name, c.data_type))),
            "{}",
            table.name
        );
    }
    let layouts: Vec<RowsetColumn> = database.read_table(&SYSRSCOLS, 3).unwrap();
    let expected = BASE_TABLES
        .iter()
        .flat_map(|table| base_layout(table).columns);
    let mut expected = expected.collect::<Vec<_>>();
    expected.sort_by_key(|row| (row.rsid, row.hbcolid));
    assert_eq!(layouts, expected);
    let columns: Vec<Column> = database.read_table(&SYSCOLPARS, 41).unwrap();
    assert!(columns.is_sorted_by_key(|row| (row.id, row.number, row.colid)));
    let files = database.files();
    assert_eq!((files.len(), files[1].pname.as_str()), (2, "/data/own2"));
    assert!(
        database
            .objects()
            .iter()
            .all(|object| object.created == created())
    );
}

#[test]
fn its_pages_are_sound_and_each_belongs_to_its_unit() {
    let image = MdfImage::open(&Builder::new().finish()).unwrap();
    let database = Database::open(&image).unwrap();
    let summary = summarize(&image, FileId(1));
    assert_eq!((summary.bad_pages.len(), summary.unprotected), (0, 0));
    assert_eq!(summary.checksum_ok, summary.allocated_pages);
    let mut owned = 0;
    for unit in database.alloc_units() {
        let pages = database.owned_pages(unit).unwrap();
        let all = pages.pages.iter().chain(&pages.iam_pages);
        assert!(all.clone().all(|page| in_file(page.page)));
        assert_eq!(all.clone().count() as i64, unit.pcused, "{unit:?}");
        owned += all.count();
    }
    // The header, the boot page, and five maps have no owner.
    assert_eq!(owned as u32 + 7, summary.allocated_pages);
}
