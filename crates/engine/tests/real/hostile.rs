//! Files that somebody has written anything into: whatever they say, reading them ends, with rows or with an
//! error, and in an order of keys that is not ours everything is still found.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use crate::ground::{House, bytes, memory};
use furrow_datafile::{Database as MdfDatabase, MdfImage};
use furrow_engine::{EngineError, Index, ScanSpec, Session, Table};
use furrow_format::catalog::unit_kind;
use furrow_format::{PAGE_SIZE, Page, PageBuf, PageType, Protection, stamp_checksum, verify};
use furrow_types::Value;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::ops::Bound;
use std::sync::Arc;

const ROUNDS: u64 = 60;

fn seed() -> u64 {
    let given = std::env::var("FURROW_SEED")
        .ok()
        .and_then(|s| s.parse().ok());
    let seed = given.unwrap_or_else(|| rand::rng().random());
    println!("FURROW_SEED={seed}");
    seed
}

fn page_at(bytes: &mut [u8], number: usize) -> &mut PageBuf {
    bytes[number * PAGE_SIZE..].first_chunk_mut().unwrap()
}

/// Changes some bytes of some pages, which are whole afterwards as far as their checksums show: mostly where
/// headers, slots and the starts of records lie.
fn injure(bytes: &mut [u8], random: &mut StdRng) {
    let pages = bytes.len() / PAGE_SIZE;
    for _ in 0..random.random_range(1..12) {
        let number = random.random_range(1..pages);
        let page = page_at(bytes, number);
        let id = Page::new(page).page_id();
        if !matches!(verify(page, id), Ok(Protection::Checksum)) {
            continue;
        }
        for _ in 0..random.random_range(1..6) {
            let at = match random.random_range(0..4) {
                0 => random.random_range(1..32),
                1 => random.random_range(PAGE_SIZE - 60..PAGE_SIZE),
                2 => random.random_range(96..400),
                _ => random.random_range(96..PAGE_SIZE),
            };
            page[at] = match random.random_range(0..3) {
                0 => 0,
                1 => 0xFF,
                _ => random.random(),
            };
        }
        stamp_checksum(page);
    }
}

fn read_all(house: &House) -> (usize, usize) {
    let (mut rows, mut errors) = (0, 0);
    for table in house.tables() {
        for index in 0..table.indexes().len() {
            for backward in [false, true] {
                let spec = ScanSpec {
                    index,
                    backward,
                    ..ScanSpec::default()
                };
                let mut session = house.session();
                let read = read_table(&mut session, &table, &spec, &mut rows);
                errors += usize::from(read.is_err());
            }
        }
    }
    (rows, errors)
}

fn read_table(
    session: &mut Session,
    table: &Arc<Table>,
    spec: &ScanSpec,
    rows: &mut usize,
) -> Result<(), EngineError> {
    let mut keys = Vec::new();
    session.scan(table, spec)?.for_each(|row| {
        *rows += 1;
        let values = row.values()?;
        let key = table.indexes().first().map(Index::key).unwrap_or_default();
        keys.push(
            key.iter()
                .map(|k| values[k.column].clone())
                .collect::<Vec<_>>(),
        );
        Ok(())
    })?;
    for key in keys.iter().step_by(7).filter(|key| !key.is_empty()) {
        let spec = ScanSpec::equal(0, key.clone());
        session
            .scan(table, &spec)?
            .for_each(|row| row.values().map(drop))?;
    }
    Ok(())
}

#[test]
fn whatever_a_file_says_reading_it_ends() {
    let Some(whole) = bytes("pubs-655.mdf") else {
        return;
    };
    let seed = seed();
    let (mut refused, mut rows, mut errors) = (0, 0, 0);
    for round in 0..ROUNDS {
        let mut random = StdRng::seed_from_u64(seed.wrapping_add(round));
        let mut bytes = whole.clone();
        injure(&mut bytes, &mut random);
        let instance = House::over(&memory(&[("x.mdf", &bytes)]));
        match instance.attach_read_only(Some("x"), &["d/x.mdf".into()]) {
            Ok(db) => {
                let house = House { instance, db };
                let (read, failed) = read_all(&house);
                rows += read;
                errors += failed;
            }
            Err(_) => refused += 1,
        }
    }
    // The injuries do harm, and not always all.
    assert!(
        rows > 1000 && errors + refused > 0,
        "{rows} {errors} {refused}"
    );
}

/// The number of the first leaf page of Customers.
fn first_leaf(bytes: &[u8]) -> usize {
    let image = MdfImage::open(bytes).unwrap();
    let database = MdfDatabase::open(&image).unwrap();
    let mut objects = database.objects().iter();
    let object = objects.find(|o| o.name == "Customers").unwrap();
    let mut rowsets = database.rowsets().iter();
    let rowset = rowsets.find(|r| r.idmajor == object.id && r.idminor == 1);
    let rowset = rowset.unwrap().rowsetid;
    let mut units = database.alloc_units().iter();
    let unit = units.find(|u| u.ownerid == rowset && u.kind == unit_kind::IN_ROW);
    let pages = database.owned_pages(unit.unwrap()).unwrap().pages;
    let mut numbers = pages.iter().map(|p| p.page.0 as usize);
    let is_leaf = |number: &usize| bytes[number * PAGE_SIZE + 1] == PageType::Data.to_byte();
    numbers.find(is_leaf).unwrap()
}

#[test]
fn text_keys_sorted_by_other_weights_are_found_all_the_same() {
    let Some(mut bytes) = bytes("northwnd-655.mdf") else {
        return;
    };
    let leaf = first_leaf(&bytes);
    // Two rows of a leaf change their places in its order.
    let page = page_at(&mut bytes, leaf);
    let slot = |number: usize| PAGE_SIZE - 2 * (number + 1);
    for byte in 0..2 {
        page.swap(slot(2) + byte, slot(9) + byte);
    }
    stamp_checksum(page);
    let instance = House::over(&memory(&[("x.mdf", &bytes)]));
    let db = instance
        .attach_read_only(Some("x"), &["d/x.mdf".into()])
        .unwrap();
    let house = House { instance, db };
    let customers = house.table("Customers");
    let base = customers.indexes()[0].rowset().tree().unwrap();
    assert!(!base.is_in_our_order().unwrap());
    let all = house.rows(&customers, &ScanSpec::default());
    assert_eq!(all.len(), 91);
    let mut session = house.session();
    for row in &all {
        let found = session.get(&customers, &row[..1]).unwrap().unwrap();
        assert_eq!(&found.values().unwrap(), row);
        let equal = ScanSpec::equal(0, row[..1].to_vec());
        assert_eq!(house.rows(&customers, &equal), std::slice::from_ref(row));
    }
    assert!(
        session
            .get(&customers, &[Value::NVarChar("NOONE".into())])
            .unwrap()
            .is_none()
    );
    for index in 1..customers.indexes().len() {
        let spec = ScanSpec {
            index,
            ..ScanSpec::default()
        };
        assert_eq!(house.rows(&customers, &spec).len(), 91);
    }
    let text = |s: &str| vec![Value::NVarChar(s.to_owned())];
    let mut between = ScanSpec {
        low: Bound::Included(text("B")),
        high: Bound::Excluded(text("C")),
        ..ScanSpec::default()
    };
    assert_eq!(house.rows(&customers, &between).len(), 7);
    between.backward = true;
    assert_eq!(house.rows(&customers, &between).len(), 7);
    // Numbers come in one order only.
    let orders = house.table("Orders");
    let base = orders.indexes()[0].rowset().tree().unwrap();
    assert!(base.is_in_our_order().unwrap());
}
