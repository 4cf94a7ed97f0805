//! How the pages of an index lie, where the pages are not what they should be.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use crate::tables_common;

use furrow_engine::{Closely, Database, EngineError, LevelStats};
use furrow_format::{PAGE_SIZE, Page, PageId, Record, stamp_checksum};
use furrow_io::{Access, Open, Volume};
use std::path::Path;
use std::sync::Arc;
use tables_common::long_rows::{fill, spec};
use tables_common::{House, house};

const DATA: &str = "d/data.mdf";

/// Changes a page of the first file as somebody would who writes it.
fn change(volume: &dyn Volume, id: PageId, with: impl FnOnce(&mut [u8; PAGE_SIZE])) {
    let file = volume
        .open(Path::new(DATA), Open::Existing, Access::Data)
        .unwrap();
    let at = u64::from(id.page.0) * PAGE_SIZE as u64;
    let mut page = [0; PAGE_SIZE];
    file.read_at(at, &mut page).unwrap();
    with(&mut page);
    stamp_checksum(&mut page);
    file.write_at(at, &page).unwrap();
}

/// Lets all children of an index page be this one.
fn lead_to(page: &mut [u8; PAGE_SIZE], child: PageId) {
    let view = Page::new(page);
    let mut places = Vec::new();
    for slot in 0..view.slot_count() {
        let record = Record::index(view.record_start(slot).unwrap(), view.pminlen()).unwrap();
        let old = record.child().unwrap().to_bytes();
        let from = usize::from(view.slot_offset(slot).unwrap());
        let at = page[from..].windows(6).position(|bytes| bytes == old);
        places.push(from + at.unwrap());
    }
    assert!(places.len() > 50);
    for at in places {
        page[at..at + 6].copy_from_slice(&child.to_bytes());
    }
}

/// What is reported of the table's clustered index, and how many pages were read for it.
fn level_stats(db: &Database, closely: Closely) -> (Result<Vec<LevelStats>, EngineError>, u32) {
    let tables = db.catalog().tables();
    let table = tables.iter().find(|table| table.name() == "t").unwrap();
    let mut reads = 0;
    let stats = db.physical_stats(&table.indexes()[0], closely, &mut || {
        reads += 1;
        match reads {
            0..5_000 => Ok(()),
            _ => Err(EngineError::Damaged("it reads on and on".into())),
        }
    });
    (stats, reads)
}

/// A table of one level above the leaves, after somebody changed its root: the page, its own number and that
/// of the root of another index of it.
fn after(damage: impl FnOnce(&mut [u8; PAGE_SIZE], PageId, PageId)) -> House {
    let house = house();
    let mut session = house.session();
    let table = session.create_table(&spec("t", true)).unwrap();
    fill(&mut session, &table, 1_000);
    let root = |at: usize| table.indexes()[at].rowset().tree().unwrap().root();
    let (root, other) = (root(0), root(1));
    let (stats, reads) = level_stats(&house.db, Closely::Limited);
    let stats = stats.unwrap();
    assert_eq!((stats[0].depth, reads), (2, 2));
    assert!(stats[0].pages > 50);
    drop(table);
    drop(session);
    let volume = Arc::clone(&house.volume);
    house.restart_after(|| change(&*volume, root, |page| damage(page, root, other)))
}

#[test]
fn a_circle_of_pages_is_not_followed() {
    let house = after(|page, root, _| lead_to(page, root));
    for closely in [Closely::Limited, Closely::Sampled, Closely::Detailed] {
        let (stats, reads) = level_stats(&house.db, closely);
        assert_eq!(stats.unwrap(), []);
        assert!(reads < 500, "{reads}");
    }
}

#[test]
fn pages_of_another_index_are_not_taken_for_its_own() {
    let house = after(|page, _, other| lead_to(page, other));
    let (stats, reads) = level_stats(&house.db, Closely::Detailed);
    assert_eq!(stats.unwrap(), []);
    assert!(reads < 500, "{reads}");
}

#[test]
fn whoever_asks_can_end_it() {
    let house = after(|_, _, _| ());
    let tables = house.db.catalog().tables();
    let table = tables.iter().find(|table| table.name() == "t").unwrap();
    let mut left = 20;
    let ended = house
        .db
        .physical_stats(&table.indexes()[0], Closely::Detailed, &mut || {
            left -= 1;
            match left {
                0 => Err(EngineError::Damaged("enough".into())),
                _ => Ok(()),
            }
        });
    assert!(ended.unwrap_err().to_string().contains("enough"));
    assert_eq!(left, 0);
}
