//! The truth table: versions, extents, pages, verification, tables, row counts, owners.

use furrow_datafile::{Database, FileSummary, MdfImage, summarize};
use furrow_format::catalog::{AllocUnit, Rowset, unit_kind};
use furrow_format::{FileId, Page, PageType};
use serde_json::{Map, Value, json};

use crate::files::{FILES, bytes, image};

fn truth() -> Option<Value> {
    Some(serde_json::from_slice(&bytes("truth.json")?).unwrap())
}

#[test]
fn every_figure_of_the_truth_table_is_found_again() {
    let Some(truth) = truth() else { return };
    for name in FILES {
        let image = image(name).unwrap();
        let mut found = figures(&image);
        let mut expected = truth[name].as_object().unwrap().clone();
        // Counts of things that have no name in the file's own terms: none was seen, none may be seen.
        assert_eq!(expected.remove("other_failures"), Some(json!(0)));
        let foreign = expected.remove("unallocated_pages_with_byte0_1_but_foreign");
        assert_eq!(foreign, Some(json!([])));
        for (key, value) in &expected {
            assert_eq!(found.remove(key).as_ref(), Some(value), "{name}: {key}");
        }
        assert!(found.is_empty(), "{name}: the truth table lacks {found:?}");
    }
}

fn figures(image: &MdfImage) -> Map<String, Value> {
    let database = Database::open(image).unwrap();
    let summary = summarize(image, FileId(1));
    let mut found = file_figures(&summary);
    let mut put = |key: &str, value: Value| found.insert(key.to_owned(), value);
    put("version", json!(database.version()));
    put("create_version", json!(database.create_version()));
    let tables = database.tables();
    let mut names = Map::new();
    let mut total = 0;
    for table in &tables {
        let rows = database.rows(table).unwrap().map(Result::unwrap).count();
        assert_eq!(rows as i64, table.row_count, "{}", table.name);
        total += rows;
        names.insert(format!("{}.{}", table.schema, table.name), json!(rows));
    }
    put("tables", Value::Object(names));
    put("rows_total", json!(total));
    let matching = |rowset: &&Rowset| {
        let rows = database
            .rowset_rows(rowset)
            .unwrap()
            .map(Result::unwrap)
            .count();
        let counted = database.rowset_rows(rowset).unwrap().count_rows().unwrap();
        let by_maps = database
            .rowset_rows_by_allocation(rowset)
            .unwrap()
            .count_rows()
            .unwrap();
        assert_eq!((rows as u64, counted), (counted, by_maps), "{rowset:?}");
        rows as i64 == rowset.rcrows
    };
    let (same, different): (Vec<_>, Vec<_>) = database.rowsets().iter().partition(matching);
    put("rowsets_with_matching_row_count", json!(same.len()));
    put("rowsets_with_different_row_count", json!(different.len()));
    let units = database.alloc_units();
    let used = |unit: &&AllocUnit| {
        let owned = database.owned_pages(unit).unwrap();
        (owned.pages.len() + owned.iam_pages.len()) as i64 != unit.pcused
    };
    put(
        "pcused_mismatches",
        json!(units.iter().filter(used).count()),
    );
    let stale = units
        .iter()
        .filter(|unit| first_page_is_stale(image, unit))
        .count();
    put("allocation_units_with_stale_pgfirst", json!(stale));
    found
}

/// Whether `pgfirst` of a unit of rows names a page that can't be its first leaf: of another unit, or an
/// inner one.
fn first_page_is_stale(image: &MdfImage, unit: &AllocUnit) -> bool {
    if unit.kind != unit_kind::IN_ROW || unit.pgfirst.is_none() {
        return false;
    }
    let bytes = image.page(unit.pgfirst).unwrap();
    let page = Page::new(&bytes);
    let own = page.unit().0 == unit.auid as u64
        || page.page_type() == PageType::Data && page.object_part() == (unit.auid >> 16) as u32;
    let inner = page.page_type() == PageType::Index && page.level() > 0;
    !own || inner || page.page_type() == PageType::Iam
}

fn file_figures(summary: &FileSummary) -> Map<String, Value> {
    let types = summary.allocated_by_type.iter();
    let types = types
        .map(|(kind, pages)| (kind.to_string(), json!(pages)))
        .collect::<Map<_, _>>();
    let mut unallocated = Map::new();
    for (key, pages) in [
        ("zero", summary.unallocated_zero),
        ("stale_formatted", summary.unallocated_stale),
        ("garbage", summary.unallocated_garbage),
    ] {
        if pages > 0 {
            unallocated.insert(key.to_owned(), json!(pages));
        }
    }
    let sgam = summary
        .sgam_set_on_full
        .iter()
        .map(|extent| extent.0)
        .collect::<Vec<_>>();
    let bad = summary
        .bad_pages
        .iter()
        .map(|(page, _)| page.to_string())
        .collect::<Vec<_>>();
    let figures = json!({
        "pages": summary.pages,
        "extents": summary.extents,
        "free_extents": summary.free_extents,
        "allocated_pages": summary.allocated_pages,
        "page_type_histogram": types,
        "unallocated_pages": unallocated,
        "sgam_bits_set_on_full_extents": sgam,
        "bad_pages": bad,
        "verify": {
            "checksum_ok": summary.checksum_ok,
            "torn_ok": summary.torn_bits_ok,
            "none": summary.unprotected,
        },
    });
    figures.as_object().unwrap().clone()
}
