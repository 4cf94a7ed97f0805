//! `furrow inspect` on damaged files: reported as SQL Server does, and the reading goes on.

use super::inspect::{bytes, json, samples};
use super::*;
use serde_json::Value;

fn write(path: &Path, bytes: &[u8]) {
    use furrow_io::{Access, Open};
    let volume = SystemVolume::new();
    let file = volume.open(path, Open::Create, Access::Data).unwrap();
    file.write_at(0, bytes).unwrap();
}

#[test]
fn a_damaged_page_is_reported_as_824_and_everything_else_is_read() {
    let Some(dir) = samples() else { return };
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("hurt.mdf");
    let mut damaged = bytes(&dir.join("northwnd-655.mdf"));
    // Its leaf pages follow each other: one is found by the rows it shows.
    let sound = dir.join("northwnd-655.mdf");
    let number = (100..damaged.len() / 8192)
        .find(|number| {
            let word = number.to_string();
            let page = json(&["inspect", "page", text(&sound), &word, "--json"]);
            page["in_use"] == true
                && page["owner"]["table"] == "dbo.Order Details"
                && page["header"]["type"] == 1
        })
        .unwrap();
    damaged[number * 8192 + 5000] ^= 4;
    write(&path, &damaged);
    let output = run(&["inspect", text(&path), "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let reported: Value = serde_json::from_str(&out(&output)).unwrap();
    assert_eq!(reported["bad_pages"], serde_json::json!([number]));
    assert!(
        err(&output).contains("Msg 824, Level 24"),
        "{}",
        err(&output)
    );
    let rows = |name: &str| {
        let tables = reported["tables"].as_array().unwrap();
        tables.iter().find(|t| t["name"] == name).unwrap()["rows"]
            .as_u64()
            .unwrap()
    };
    assert_eq!((rows("Orders"), rows("Customers")), (830, 91));
    assert!((1000..2155).contains(&rows("Order Details")));
    let shown = run(&[
        "inspect",
        text(&path),
        "--table",
        "Order Details",
        "--rows",
        "9999",
    ]);
    assert_eq!(
        out(&shown).lines().count() as u64,
        1 + rows("Order Details")
    );
    assert_eq!(err(&shown).matches("Msg 824").count(), 1);
    let printed = run(&["inspect", text(&path)]);
    assert_eq!(printed.status.code(), Some(1));
}

#[test]
fn a_file_that_is_cut_off_is_reported_so_before_all_that_it_lacks() {
    let Some(dir) = samples() else { return };
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("short.mdf");
    let mut whole = bytes(&dir.join("northwnd-655.mdf"));
    let pages = whole.len() / 8192;
    whole.truncate((pages - 8) * 8192);
    write(&path, &whole);
    let inspected = run(&["inspect", text(&path), "--verify"]);
    assert_eq!(inspected.status.code(), Some(1));
    let reported = format!("its header counts {pages} pages, it has {}", pages - 8);
    assert!(err(&inspected).contains(&reported), "{}", err(&inspected));
    let checked = run(&["check", text(&path), "--json"]);
    assert_eq!(checked.status.code(), Some(1));
    let reported: Value = serde_json::from_str(&out(&checked)).unwrap();
    assert_eq!(reported["findings"][0]["number"], 5125);
    let findings = reported["findings"].as_array().unwrap().len() as u64;
    assert!(reported["errors"].as_u64().unwrap() >= findings / 2);
}

#[test]
fn a_page_is_shown_with_its_header_its_rows_and_what_maps_say() {
    let Some(dir) = samples() else { return };
    let path = dir.join("northwnd-655.mdf");
    let page = |word: &str| json(&["inspect", "page", text(&path), word, "--json"]);
    let boot = page("9");
    assert_eq!(boot["header"]["type"], 13);
    assert_eq!(boot["content"]["version"], "655");
    assert_eq!(page("1:0")["content"]["file"], "1");
    // The maps agree with the figures of the whole file.
    let extents = |map: &Value, says: &str| -> u64 {
        let number = |id: &Value| {
            let id = id.as_str().unwrap().trim_matches(['(', ')']);
            id.split_once(':').unwrap().1.parse::<u64>().unwrap()
        };
        let ranges = map["map"].as_array().unwrap().iter();
        let of = ranges.filter(|range| range["says"].as_str().unwrap().starts_with(says));
        of.map(|range| number(&range["last"]) + 1 - number(&range["first"]))
            .sum()
    };
    let gam = page("2");
    assert_eq!(extents(&gam, "not allocated"), 8);
    assert_eq!(extents(&gam, "allocated"), 51 * 8);
    let pfs = page("1");
    assert_eq!(extents(&pfs, "in use"), 375);
    let shown = out(&run(&["inspect", "page", text(&path), "9"]));
    assert!(
        shown.contains("BOOT_PAGE") && shown.to_lowercase().contains("northw"),
        "{shown}"
    );
    for wrong in ["999999", "x", "7:1"] {
        assert_ne!(
            run(&["inspect", "page", text(&path), wrong]).status.code(),
            Some(0)
        );
    }
}

#[test]
fn rows_are_shown_by_the_names_of_their_columns_on_leaves_and_above() {
    let Some(dir) = samples() else { return };
    let path = dir.join("northwnd-655.mdf");
    let page = |word: &str| json(&["inspect", "page", text(&path), word, "--json"]);
    let pages = (10..416).map(|number| page(&number.to_string()));
    let pages: Vec<Value> = pages
        .filter(|page| page["owner"]["table"] == "dbo.Orders")
        .collect();
    let leaf = pages
        .iter()
        .find(|page| page["header"]["type"] == 1)
        .unwrap();
    let row = &leaf["slots"][0]["columns"];
    assert!(
        row["OrderID"].is_i64() && row["CustomerID"].is_string(),
        "{row}"
    );
    assert_eq!(
        leaf["slots"].as_array().unwrap().len() as u64,
        leaf["header"]["slots"].as_u64().unwrap()
    );
    let is_upper = |page: &&Value| page["header"]["type"] == 2 && page["owner"]["index_id"] == 1;
    let upper = pages.iter().find(is_upper).unwrap();
    let child = upper["slots"][1]["note"]
        .as_str()
        .unwrap()
        .strip_prefix("leads to ")
        .unwrap();
    let below = json(&["inspect", "page", text(&path), child, "--json"]);
    assert_eq!(
        below["slots"][0]["columns"]["OrderID"],
        upper["slots"][1]["columns"]["OrderID"]
    );
    let rows: usize = pages
        .iter()
        .filter(|page| page["header"]["type"] == 1)
        .map(|page| page["slots"].as_array().unwrap().len())
        .sum();
    assert_eq!(rows, 830);
}

#[test]
fn what_a_damaged_catalog_leaves_unsure_is_not_exported_as_if_it_were_whole() {
    let Some(dir) = samples() else { return };
    let scratch = tempfile::tempdir().unwrap();
    let sound = dir.join("northwnd-655.mdf");
    let path = scratch.path().join("hurt.mdf");
    let mut damaged = bytes(&sound);
    // A page of sys.sysrscols: where the columns of some tables lie.
    damaged[51 * 8192..52 * 8192].fill(0);
    write(&path, &damaged);
    let (mut refused, mut whole) = (Vec::new(), 0);
    for table in [
        "Categories",
        "Customers",
        "Orders",
        "Region",
        "Shippers",
        "Suppliers",
    ] {
        let export = |path| run(&["inspect", "export", text(path), "--table", table, "--csv"]);
        let (before, after) = (export(&sound), export(&path));
        assert_eq!(after.status.code(), Some(1), "{table}");
        let shown = run(&["inspect", text(&path), "--table", table]);
        assert_eq!(shown.status.code(), Some(1), "{table}");
        if out(&after) == out(&before) {
            whole += 1;
            assert!(
                err(&after).contains("the catalog is damaged"),
                "{}",
                err(&after)
            );
        } else {
            assert!(out(&after).lines().count() <= 1, "{table}: {}", out(&after));
            assert_eq!(out(&shown), "", "{table}");
            refused.push(table);
        }
    }
    assert!(
        refused.contains(&"Categories") && whole > 0,
        "{refused:?}, {whole}"
    );
    let export = run(&[
        "inspect",
        "export",
        text(&path),
        "--table",
        "Categories",
        "--csv",
    ]);
    let named = "column CategoryID of table dbo.Categories";
    assert!(err(&export).contains(named), "{}", err(&export));
}
