//! Differential backups: what they copy, what they are restored over.

use crate::world::{Silent, World, ids, insert, numbers, request, world};
use furrow_backup::{BackupRequest, Device, restore_database};
use furrow_engine::{FileSpec, Session};
use std::path::PathBuf;

fn differential(name: &str, stripes: usize) -> BackupRequest {
    let device = |n| Device::Disk(PathBuf::from(format!("d/{name}{n}.dif")));
    BackupRequest {
        devices: (0..stripes).map(device).collect(),
        differential: true,
        ..request(1)
    }
}

/// A table of many extents that nothing changes.
fn fill(world: &World, name: &str) {
    let table = world.table(name);
    let mut session = world.session();
    session.begin().unwrap();
    (0..400).for_each(|id| insert(&mut session, &table, id, &"x".repeat(4000)));
    session.commit().unwrap();
}

#[test]
fn a_differential_backup_has_what_changed_since_the_full_one_and_little_else() {
    let world = world();
    fill(&world, "quiet");
    let table = world.table("t");
    let full = request(2);
    let all = world.backup(&full).unwrap();
    let mut session = world.session();
    (0..10).for_each(|id| insert(&mut session, &table, id, "one"));
    let first = world.backup(&differential("first", 3)).unwrap();
    assert!(
        first.pages() * 3 < all.pages(),
        "{} of {}",
        first.pages(),
        all.pages()
    );
    assert_eq!(first.info.base, all.info.set);
    world.db.checkpoint().unwrap();
    (10..20).for_each(|id| insert(&mut session, &table, id, "two"));
    let second = differential("second", 1);
    world.backup(&second).unwrap();
    world.restore_only(&full, "copy").unwrap();
    let copy = world.restore(&second, "copy").unwrap().database.unwrap();
    assert_eq!(ids(&copy, "t"), (0..20).collect::<Vec<i64>>());
    assert_eq!(ids(&copy, "quiet").len(), 400);
    drop(copy);
    world.check("copy");
}

#[test]
fn a_full_backup_that_fails_leaves_the_base_and_its_map() {
    let world = world();
    let table = world.table("t");
    let full = request(1);
    world.backup(&full).unwrap();
    let mut session = world.session();
    (0..200).for_each(|id| insert(&mut session, &table, id, &"x".repeat(3000)));
    // A directory cannot be written as a file.
    let nowhere = BackupRequest {
        devices: vec![Device::Disk(PathBuf::from("none/b.bak"))],
        ..request(1)
    };
    assert_eq!(numbers(&world.backup(&nowhere).unwrap_err()), [3201]);
    let source = world
        .db
        .begin_backup(furrow_engine::BackupScope::Full)
        .unwrap();
    (200..300).for_each(|id| insert(&mut session, &table, id, &"x".repeat(3000)));
    drop(source);
    let second = differential("d", 1);
    world.backup(&second).unwrap();
    world.restore_only(&full, "copy").unwrap();
    let copy = world.restore(&second, "copy").unwrap().database.unwrap();
    assert_eq!(ids(&copy, "t").len(), 300);
    drop(copy);
    world.check("copy");
}

#[test]
fn the_base_and_its_map_survive_a_restart() {
    let world = world();
    fill(&world, "quiet");
    let table = world.table("t");
    let full = request(1);
    let all = world.backup(&full).unwrap();
    let mut session = world.session();
    (0..20).for_each(|id| insert(&mut session, &table, id, "one"));
    drop((session, table));
    let world = world.restart_after(|_| {});
    let mut session = Session::new(&world.db).unwrap();
    let table = session.table("t").unwrap();
    insert(&mut session, &table, 20, "two");
    let second = differential("d", 1);
    let copied = world.backup(&second).unwrap();
    assert!(
        copied.pages() * 3 < all.pages(),
        "{} of {}",
        copied.pages(),
        all.pages()
    );
    world.restore_only(&full, "copy").unwrap();
    let copy = world.restore(&second, "copy").unwrap().database.unwrap();
    assert_eq!(ids(&copy, "t").len(), 21);
    drop(copy);
    world.check("copy");
}

#[test]
fn files_that_were_added_and_removed_since_the_base_come_and_go() {
    let world = world();
    let full = request(1);
    let spec = FileSpec::new("gone", "d/gone.ndf").size_mb(1);
    world.db.add_file(&spec, None).unwrap();
    world.backup(&full).unwrap();
    world.db.remove_file("gone").unwrap();
    let spec = FileSpec::new("new", "d/new.ndf").size_mb(1);
    world.db.add_file(&spec, Some("OTHER")).unwrap();
    fill(&world, "t");
    let second = differential("d", 2);
    world.backup(&second).unwrap();
    // The new file at the place of the one that goes.
    world.restore_with(&full, "copy", &["gone"]).unwrap();
    let request = furrow_backup::RestoreRequest {
        moves: vec![("new".into(), "d/copy_gone.ndf".into())],
        ..crate::chain::wanted("copy", true)
    };
    let media = world.media(&second).unwrap();
    let there = restore_database(&world.instance, &media, &request, &mut Silent).unwrap();
    assert_eq!(ids(&there.database.unwrap(), "t").len(), 400);
    world.instance.drop_database("copy").unwrap();
    world.restore_with(&full, "copy", &["gone"]).unwrap();
    let exists = |path: &str| world.volume.exists(path.as_ref()).unwrap();
    assert!(exists("d/copy_gone.ndf"));
    let copy = world.restore_finally(&second, "copy", &["new"]).unwrap();
    let copy = copy.database.unwrap();
    assert!(!exists("d/copy_gone.ndf"));
    let names: Vec<String> = copy
        .file_list()
        .unwrap()
        .into_iter()
        .map(|f| f.name)
        .collect();
    assert_eq!(names, ["data", "log", "more", "new"]);
    assert_eq!(ids(&copy, "t").len(), 400);
}

#[test]
fn a_differential_restore_that_fails_half_way_is_not_recovered() {
    let world = world();
    let table = world.table("t");
    let full = request(1);
    world.backup(&full).unwrap();
    let mut session = world.session();
    (0..500).for_each(|id| insert(&mut session, &table, id, &"x".repeat(3000)));
    let second = differential("d", 1);
    world.backup(&second).unwrap();
    world.restore_only(&full, "copy").unwrap();
    let path = PathBuf::from("d/d0.dif");
    let file = world
        .volume
        .open(&path, furrow_io::Open::Existing, furrow_io::Access::Data)
        .unwrap();
    let middle = file.len_bytes().unwrap() / 2;
    let mut unit = furrow_io::AlignedBuf::new(4096);
    file.read_at(middle / 4096 * 4096, &mut unit).unwrap();
    let sound = furrow_io::AlignedBuf::copy_of(&unit);
    unit[100] ^= 1;
    file.write_at(middle / 4096 * 4096, &unit).unwrap();
    assert_eq!(
        numbers(&world.restore(&second, "copy").unwrap_err()),
        [3189, 3203]
    );
    let half = furrow_backup::recover_only(&world.instance, "copy").unwrap_err();
    assert_eq!(numbers(&half), [4333]);
    file.write_at(middle / 4096 * 4096, &sound).unwrap();
    assert_eq!(
        numbers(&world.restore(&second, "copy").unwrap_err()),
        [3117]
    );
    world.restore_only(&full, "copy").unwrap();
    let copy = world.restore(&second, "copy").unwrap().database.unwrap();
    assert_eq!(ids(&copy, "t").len(), 500);
}

#[test]
fn a_differential_backup_goes_over_a_file_that_was_renamed() {
    let world = world();
    let (t, o) = (world.table("t"), crate::files::other_table(&world));
    let mut session = world.session();
    crate::files::fill(&mut session, [&t, &o], 0..500);
    let full = request(1);
    world.backup(&full).unwrap();
    let change = furrow_engine::FileChange {
        new_name: Some("renamed".into()),
        ..furrow_engine::FileChange::default()
    };
    world.db.modify_file("more", &change).unwrap();
    crate::files::fill(&mut session, [&t, &o], 500..510);
    let second = differential("d", 1);
    world.backup(&second).unwrap();
    world.restore_only(&full, "copy").unwrap();
    let request = furrow_backup::RestoreRequest {
        moves: vec![("renamed".into(), "d/copy_renamed.ndf".into())],
        ..crate::chain::wanted("copy", true)
    };
    let media = world.media(&second).unwrap();
    let instance = &world.instance;
    let done = restore_database(instance, &media, &request, &mut Silent);
    let copy = done.unwrap().database.unwrap();
    for table in ["t", "o"] {
        assert_eq!(ids(&copy, table), (0..510).collect::<Vec<_>>(), "{table}");
    }
    let files = copy.file_list().unwrap();
    assert!(
        files
            .iter()
            .any(|f| f.name == "renamed" && f.path.ends_with("copy_more.ndf"))
    );
    drop(copy);
    world.check("copy");
}
