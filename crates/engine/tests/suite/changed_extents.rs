//! The changed-extent map of a file when its page is damaged.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use furrow_engine::{
    ColumnSpec, Database, DatabaseSpec, FileSpec, Instance, InstanceConfig, Session, TableSpec,
};
use furrow_format::{FileId, PAGE_SIZE};
use furrow_io::{Access, File, MemoryVolume, Open, Volume};
use furrow_types::{DataType, TypeId, Value};
use std::path::Path;
use std::sync::Arc;

const FILE_PAGES: u32 = 640;
/// The changed-extent map of the first interval.
const MAP_PAGE: u64 = 6;

fn start(volume: &Arc<dyn Volume>) -> Arc<Instance> {
    let config = InstanceConfig {
        directory: Some("inst".into()),
        pool_pages: 512,
        double_write_pages: 64,
        ..InstanceConfig::default()
    };
    Instance::start(Arc::clone(volume), config).unwrap()
}

fn modified(database: &Database) -> u64 {
    database.modified_extents(FileId(1), FILE_PAGES).unwrap()
}

/// Runs `damage` on the map's page in the file.
fn with_map(volume: &Arc<dyn Volume>, damage: impl FnOnce(&mut [u8])) {
    let path = Path::new("d/p.mdf");
    let file: Arc<dyn File> = volume.open(path, Open::Existing, Access::Data).unwrap();
    let mut page = vec![0; PAGE_SIZE];
    file.read_at(MAP_PAGE * PAGE_SIZE as u64, &mut page)
        .unwrap();
    damage(&mut page);
    file.write_at(MAP_PAGE * PAGE_SIZE as u64, &page).unwrap();
}

#[test]
fn all_extents_count_as_changed_from_the_damage_of_their_map_on() {
    let volume: Arc<dyn Volume> = Arc::new(MemoryVolume::new());
    volume.create_dir(Path::new("d")).unwrap();
    let log = FileSpec::new("L", "d/l.ldf").size_mb(1);
    let spec = DatabaseSpec::new("Db", FileSpec::new("P", "d/p.mdf").size_mb(5)).log(log);
    let instance = start(&volume);
    let database = instance.create_database(&spec).unwrap();
    let sound = modified(&database);
    assert!(sound > 0 && sound < u64::from(FILE_PAGES / 8), "{sound}");
    drop(database);
    instance.shut_down().unwrap();
    drop(instance);
    let all = u64::from(FILE_PAGES / 8);
    // A byte that the checksum finds; and a page of nothing but zeros, which has no checksum.
    let damages: [fn(&mut [u8]); 2] = [|page| page[200] ^= 0x10, |page| page.fill(0)];
    for (round, damage) in damages.into_iter().enumerate() {
        with_map(&volume, damage);
        let instance = start(&volume);
        let database = instance.database("Db").unwrap();
        let mut session = Session::new(&database).unwrap();
        // A checkpoint meets the page before any reader does, and succeeds.
        let name = format!("t{round}");
        let column = ColumnSpec::new("n", DataType::simple(TypeId::Int));
        let table = session
            .create_table(&TableSpec::new(&name).column(column))
            .unwrap();
        session.insert(&table, &[Value::Int(1)]).unwrap();
        database.checkpoint().unwrap();
        assert_eq!(modified(&database), all);
        drop((session, table, database));
        instance.shut_down().unwrap();
        drop(instance);
        // The next start has only the page to go by.
        let instance = start(&volume);
        let database = instance.database("Db").unwrap();
        assert_eq!(modified(&database), all);
        drop(database);
        instance.shut_down().unwrap();
    }
}
