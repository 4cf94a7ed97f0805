//! Repairs of tables and indexes whose IAM pages are damaged, of which some have their pages in two files.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use crate::repair_crash::{FILES, ROWS, findings, pages_of, repair, sound, start, units};
use crate::tables_common::rows_of;
use furrow_engine::Session;
use furrow_format::{PAGE_SIZE, Page, PageType};
use furrow_io::random::{seeded, test_seed};
use furrow_io::{Access, Open, Volume};
use std::path::Path;

/// Repairs a database without IAM pages; how many tables and indexes had two.
fn repair_without_iam_pages(seed: u64) -> usize {
    let damaged = sound(&mut seeded(seed));
    let units = units(&damaged);
    let mut spoiled = Vec::new();
    for (_, path) in FILES {
        let pages = pages_of(&damaged, path);
        let file = damaged
            .open(Path::new(path), Open::Existing, Access::Data)
            .unwrap();
        for (at, page) in pages.iter().enumerate() {
            let page = Page::new(page);
            if page.page_type() == PageType::Iam && units.contains(&page.unit().0) {
                file.write_at((at * PAGE_SIZE) as u64, &[0x5A; 512])
                    .unwrap();
                spoiled.push(page.unit());
            }
        }
        file.sync().unwrap();
    }
    spoiled.sort_unstable();
    let in_two_files = spoiled.windows(2).filter(|pair| pair[0] == pair[1]).count();

    let instance = start(&damaged).unwrap();
    let repaired = repair(&instance).unwrap();
    assert_eq!(repaired.left, [], "seed {seed}");
    assert_eq!(findings(&instance), Vec::<String>::new(), "seed {seed}");
    let database = instance.database("Db").unwrap();
    let mut session = Session::new(&database).unwrap();
    for name in ["c", "h"] {
        assert_eq!(
            rows_of(&mut session, name) as i64,
            ROWS,
            "seed {seed}, {name}"
        );
    }
    drop((session, database));
    instance.abandon();
    in_two_files
}

#[test]
fn no_row_is_lost_where_all_iam_pages_of_users_are_damaged() {
    let seed = test_seed();
    println!("FURROW_SEED={seed}");
    let seeds = [seed, 1, 2, 3];
    let in_two_files: usize = seeds.into_iter().map(repair_without_iam_pages).sum();
    assert!(in_two_files > 3, "{in_two_files}");
}
