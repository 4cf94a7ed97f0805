//! Files that come and go, and databases that are opened again.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod common;

use common::{Base, Make, Spec, add_to_pool, audit, base, data_file, fixed, growing, make};
use furrow_format::FileId;
use furrow_io::sync::Mutex;
use furrow_pool::CheckpointOptions;
use furrow_space::{FileCatalog, Space, SpaceConfig, SpaceError, SpaceOptions, Unit};
use std::sync::{Arc, OnceLock};

fn add(db: &Base, spec: Spec) {
    let file = data_file(&db.volume, spec);
    add_to_pool(&db.pool, &file);
    db.space.add_file(&file).unwrap();
}

#[test]
fn only_an_empty_file_can_be_removed() {
    let db = base(&[fixed(1, 640)]);
    add(&db, fixed(3, 32_000));
    let twice = data_file_error(&db);
    assert!(
        matches!(twice, SpaceError::FileExists(FileId(3))),
        "{twice}"
    );
    let unit = db.unit(100);
    db.space.preallocate(&unit, 3).unwrap();
    let error = db.space.remove_file(FileId(3)).unwrap_err();
    assert_eq!(error.number(), Some(5042), "{error}");
    // It is filled as before.
    db.space.preallocate(&unit, 100).unwrap();
    assert!(db.space.free_extents()[1].1 < 3996 - 90);
    db.space.drop_unit(&unit).unwrap();
    db.space.remove_file(FileId(3)).unwrap();
    db.pool.remove_file(common::DB, FileId(3)).unwrap();
    assert_eq!(db.space.free_extents().len(), 1);
    let unit = db.unit(101);
    db.space.preallocate(&unit, 5).unwrap();
    let seen = audit(&db, std::slice::from_ref(&unit));
    assert!(
        seen.owned[&unit.id().0]
            .iter()
            .all(|extent| extent.file == FileId(1))
    );
}

fn data_file_error(db: &Base) -> SpaceError {
    let mut file = {
        let other = fixed(4, 640);
        data_file(&db.volume, other)
    };
    file.file_id = FileId(3);
    db.space.add_file(&file).unwrap_err()
}

#[test]
fn an_iam_page_alone_keeps_a_file_from_being_removed() {
    // The large file's IAM pages lie in the extent of a later PFS page: no extent of it is taken.
    let db = base(&[fixed(3, 16_000)]);
    let unit = db.unit(100);
    db.space.set_closed(FileId(3), true).unwrap();
    add(&db, fixed(4, 640));
    db.space.preallocate(&unit, 1).unwrap();
    let seen = audit(&db, std::slice::from_ref(&unit));
    assert_eq!(
        seen.owned[&unit.id().0]
            .iter()
            .filter(|e| e.file == FileId(3))
            .count(),
        1
    );
    assert!(matches!(
        db.space.remove_file(FileId(3)),
        Err(SpaceError::NotEmpty(_))
    ));
    db.space.drop_unit(&unit).unwrap();
    db.space.remove_file(FileId(3)).unwrap();
}

#[test]
fn a_closed_file_gets_nothing_and_an_opened_one_does_again() {
    let db = base(&[fixed(1, 640), fixed(3, 640)]);
    let unit = db.unit(100);
    db.space.set_closed(FileId(1), true).unwrap();
    db.space.preallocate(&unit, 10).unwrap();
    let owned = audit(&db, std::slice::from_ref(&unit)).owned[&unit.id().0].clone();
    assert_eq!(owned.iter().filter(|e| e.file == FileId(3)).count(), 10);
    db.space.set_closed(FileId(1), false).unwrap();
    db.space.preallocate(&unit, 10).unwrap();
    let owned = audit(&db, std::slice::from_ref(&unit)).owned[&unit.id().0].clone();
    assert_eq!(owned.iter().filter(|e| e.file == FileId(1)).count(), 6);
}

#[test]
fn a_database_opened_again_has_the_sizes_and_counts_it_was_closed_with() {
    let specs = [growing(1, 640, 80), growing(3, 640, 80)];
    let db = base(&specs);
    let unit = db.unit(100);
    db.allocate(&unit, 13, None).unwrap();
    db.space.preallocate(&unit, 170).unwrap();
    let before = audit(&db, std::slice::from_ref(&unit));
    let (id, first_iam) = (unit.id(), unit.first_iam());
    db.pool
        .checkpoint_pages(common::DB, CheckpointOptions::default())
        .unwrap();
    let volume = db.volume.clone();
    drop((unit, db));
    // The catalog still has 640 pages; the headers have the new size.
    let db = make(
        Make {
            volume,
            ..Make::default()
        },
        &specs,
    );
    let unit = db.space.open_unit(id, 1, first_iam).unwrap();
    assert_eq!(audit(&db, std::slice::from_ref(&unit)), before);
    assert_eq!(db.allocate(&unit, 3, None).unwrap().len(), 3);
    assert_eq!(
        audit(&db, &[unit]).owned,
        before.owned,
        "pages were left: no extent was needed"
    );
}

/// Records the sizes that it is called with, and needs space itself to do so, as rows of a catalog may.
#[derive(Debug, Default)]
struct Growths {
    sizes: Mutex<Vec<(u16, u32)>>,
    space: OnceLock<(Arc<Space>, Arc<Unit>)>,
}

impl FileCatalog for Growths {
    fn resized(&self, file: FileId, size_pages: u32) -> Result<(), SpaceError> {
        furrow_pool::assert_no_latches();
        self.sizes.lock().push((file.0, size_pages));
        let (space, unit) = self.space.get().unwrap();
        space.preallocate(unit, 1)
    }
}

#[test]
fn the_catalog_records_every_growth_and_may_need_space_for_that() {
    let db = base(&[]);
    let reported = Arc::new(Growths::default());
    let file = data_file(&db.volume, growing(3, 640, 80));
    add_to_pool(&db.pool, &file);
    let config = SpaceConfig {
        database: "Company".to_owned(),
        filegroups: db.space.filegroups(),
        files: vec![file],
        options: SpaceOptions::default(),
        catalog: Some(Arc::clone(&reported) as Arc<dyn FileCatalog>),
        trace: None,
    };
    let space = Space::open(Arc::clone(&db.store), config).unwrap();
    let catalog = space.create_unit(common::unit_id(3), 1).unwrap();
    reported.space.set((Arc::clone(&space), catalog)).unwrap();
    let unit = space.create_unit(common::unit_id(100), 1).unwrap();
    // 79 extents were free: one is mixed now, one is the catalog's, 77 are the unit's; then 10 with each
    // growth, of which the catalog takes one.
    space.preallocate(&unit, 76).unwrap();
    assert_eq!(*reported.sizes.lock(), []);
    space.preallocate(&unit, 9 + 9).unwrap();
    assert_eq!(*reported.sizes.lock(), [(3, 720), (3, 800)]);
    space.grow_to(FileId(3), 880).unwrap();
    assert_eq!(reported.sizes.lock().last(), Some(&(3, 880)));
}
