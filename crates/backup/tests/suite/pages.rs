//! Single pages restored into an open database.

use crate::chain::{full_model, log_backup, log_request, log_restore, wanted};
use crate::world::{Silent, World, ids, insert, numbers, request, world};
use furrow_backup::{
    BackupError, BackupRequest, RestoreReport, RestoreRequest, backup_log, recover_only,
    restore_log, restore_pages,
};
use furrow_check::{Options, check};
use furrow_datafile::DataFiles;
use furrow_format::{FileId, PAGE_SIZE, PageId, PageNo};
use furrow_io::thread;
use furrow_io::{Access, Open, Volume, read_file};
use furrow_types::Value;
use std::path::{Path, PathBuf};

const DATA: &str = "d/data.mdf";

/// Data pages of the primary file with a checksum, as the file has them.
fn data_pages(volume: &dyn Volume) -> Vec<PageId> {
    let bytes = read_file(volume, Path::new(DATA)).unwrap();
    let pages = bytes.chunks_exact(PAGE_SIZE).enumerate();
    // Byte 1 is the type; the first ones are of the catalog.
    let data = pages.filter(|(at, page)| page[1] == 1 && *at > 200);
    data.map(|(at, _)| PageId {
        file: FileId(1),
        page: PageNo(at as u32),
    })
    .collect()
}

/// Overwrites the middle of pages.
fn damage(volume: &dyn Volume, pages: &[PageId]) {
    let file = volume
        .open(Path::new(DATA), Open::Existing, Access::Data)
        .unwrap();
    for page in pages {
        let at = u64::from(page.page.0) * PAGE_SIZE as u64;
        file.write_at(at + 4096, &[0x5A; 512]).unwrap();
    }
}

fn restored(
    world: &World,
    (from, pages): (&BackupRequest, &[PageId]),
    recovery: bool,
) -> Result<RestoreReport, BackupError> {
    let media = world.media(from)?;
    let request = wanted("test", recovery);
    restore_pages(&world.instance, &media, (&request, pages), &mut Silent)
}

/// Ends the instance and checks the files of the database itself.
fn check_own(world: World) {
    world.restart_after(|volume| {
        let paths: Vec<PathBuf> = [DATA, "d/more.ndf"].map(PathBuf::from).to_vec();
        let files = DataFiles::open(volume, &paths).unwrap();
        let report = check(&files, &Options::default(), None).unwrap();
        let reported: Vec<String> = report.findings.iter().map(|f| format!("{f:?}")).collect();
        assert!(report.is_clean(), "{}", reported.join("\n"));
    });
}

/// Every so many rows, a change that leaves its mark on most pages.
fn update(world: &World, text: &str) {
    let mut session = world.session();
    let table = session.table("t").unwrap();
    for id in (0..1500).step_by(5) {
        let key = table.row_key(&[Value::BigInt(id)]).unwrap();
        let set = [(1, Value::VarChar(text.to_owned()))];
        assert!(session.update(&table, &key, &set).unwrap());
    }
}

#[test]
fn damaged_pages_are_restored_from_a_full_backup_log_backups_and_the_log_itself() {
    let world = world();
    let table = world.table("t");
    full_model(&world);
    let mut session = world.session();
    (0..1500).for_each(|id| insert(&mut session, &table, id, &"x".repeat(900)));
    let full = request(2);
    world.backup(&full).unwrap();
    update(&world, &"first ".repeat(100));
    log_backup(&world, "l0").unwrap();
    update(&world, &"second ".repeat(80));
    log_backup(&world, "l1").unwrap();
    update(&world, &"third ".repeat(70));
    drop((session, table));
    let mut pages = Vec::new();
    let world = world.restart_after(|volume| {
        let all = data_pages(volume);
        pages = all.iter().step_by(all.len() / 7).copied().collect();
        damage(volume, &pages);
    });
    let mut session = world.session();
    let table = session.table("t").unwrap();
    let failed = session
        .scan(&table, &furrow_engine::ScanSpec::default())
        .and_then(|scan| scan.for_each(|_| Ok(())));
    assert!(failed.is_err(), "the pages are damaged");
    drop((session, table));
    // Without the log backups there is a gap.
    restored(&world, (&full, &pages), false).unwrap();
    let gap = recover_only(&world.instance, "test").unwrap_err();
    assert_eq!(numbers(&gap), [4318]);
    assert_eq!(
        numbers(&log_restore(&world, ("l1", "test"), false).unwrap_err()),
        [4305]
    );
    log_restore(&world, ("l0", "test"), false).unwrap();
    log_restore(&world, ("l0", "test"), false).unwrap();
    // The others work on meanwhile.
    let others = world.session();
    drop(others);
    log_restore(&world, ("l1", "test"), true).unwrap();
    assert_eq!(ids(&world.db, "t"), (0..1500).collect::<Vec<_>>());
    let mut session = world.session();
    let table = session.table("t").unwrap();
    for id in [0, 5, 745, 1495] {
        let row = session.get(&table, &[Value::BigInt(id)]).unwrap().unwrap();
        assert_eq!(
            row.values().unwrap()[1],
            Value::VarChar("third ".repeat(70)),
            "row {id}"
        );
    }
    drop((session, table));
    check_own(world);
}

#[test]
fn pages_come_from_a_differential_backup_over_its_base_alone() {
    let world = world();
    let table = world.table("t");
    full_model(&world);
    let mut session = world.session();
    (0..1500).for_each(|id| insert(&mut session, &table, id, &"x".repeat(900)));
    let full = request(1);
    world.backup(&full).unwrap();
    update(&world, "before the differential backup");
    let mut differential = request(1);
    differential.devices = log_request("diff").devices;
    differential.differential = true;
    world.backup(&differential).unwrap();
    log_backup(&world, "l0").unwrap();
    update(&world, "behind it");
    log_backup(&world, "l1").unwrap();
    drop((session, table));
    let mut pages = Vec::new();
    let world = world.restart_after(|volume| {
        let all = data_pages(volume);
        pages = vec![all[3], all[all.len() - 2]];
        damage(volume, &pages);
    });
    let alone = restored(&world, (&differential, &pages), false).unwrap_err();
    assert_eq!(numbers(&alone), [3136]);
    restored(&world, (&full, &pages), false).unwrap();
    restored(&world, (&differential, &pages), false).unwrap();
    log_restore(&world, ("l0", "test"), false).unwrap();
    log_restore(&world, ("l1", "test"), false).unwrap();
    // It would take back what the log has brought.
    let back = restored(&world, (&differential, &pages), false).unwrap_err();
    assert_eq!(numbers(&back), [3136]);
    recover_only(&world.instance, "test").unwrap();
    assert_eq!(ids(&world.db, "t").len(), 1500);
    check_own(world);
}

#[test]
fn pages_restored_beside_writers_have_all_that_was_committed() {
    let world = world();
    let table = world.table("t");
    full_model(&world);
    let mut session = world.session();
    (0..600).for_each(|id| insert(&mut session, &table, id, &"x".repeat(900)));
    let full = request(1);
    world.backup(&full).unwrap();
    world.db.checkpoint().unwrap();
    let pages = data_pages(&*world.volume);
    thread::scope(|scope| {
        let writers: Vec<_> = (0..3_i64)
            .map(|writer| {
                let (world, table) = (&world, &table);
                scope.spawn(move || {
                    let mut session = world.session();
                    for n in 0..400 {
                        let id = 600 + writer + 3 * n;
                        insert(&mut session, table, id, &"y".repeat(700));
                        let key = table.row_key(&[Value::BigInt(id % 600)]).unwrap();
                        let set = [(1, Value::VarChar(format!("{writer} {n}")))];
                        // Another writer may have the row.
                        let _ = session.update(table, &key, &set);
                    }
                })
            })
            .collect();
        let mut round = 0;
        while writers.iter().any(|w| !w.is_finished()) {
            round += 1;
            let name = format!("w{round}");
            restored(&world, (&full, &pages), false).unwrap();
            for n in 1..=round {
                if n == round {
                    backup_log(&world.db, &log_request(&name), &mut Silent).unwrap();
                }
                log_restore(&world, (&format!("w{n}"), "test"), n == round).unwrap();
            }
        }
        assert!(round > 0);
    });
    assert_eq!(ids(&world.db, "t"), (0..1800).collect::<Vec<_>>());
    drop((session, table));
    check_own(world);
}

#[test]
fn pages_that_cannot_be_restored_alone_are_refused() {
    let world = world();
    let table = world.table("t");
    let mut session = world.session();
    (0..200).for_each(|id| insert(&mut session, &table, id, &"x".repeat(900)));
    let full = request(1);
    world.backup(&full).unwrap();
    let page = |file, page| PageId {
        file: FileId(file),
        page: PageNo(page),
    };
    let refused = |page: PageId| numbers(&restored(&world, (&full, &[page]), false).unwrap_err());
    assert_eq!(refused(page(1, 300)), [4346]);
    full_model(&world);
    world.backup(&full).unwrap();
    for control in [0, 1, 2, 3, 6, 7, 9] {
        assert_eq!(refused(page(1, control)), [3111], "page {control}");
    }
    assert_eq!(refused(page(1, 1_000_000)), [3194]);
    assert_eq!(refused(page(7, 10)), [3194]);
    // One that was not allocated when the backup was taken.
    assert_eq!(refused(page(3, 200)), [3195]);
    assert!(!world.db.restores_pages());
}

#[test]
fn pages_of_a_fork_that_was_left_behind_are_refused() {
    let mut world = world();
    let table = world.table("t");
    full_model(&world);
    let mut session = world.session();
    (0..1500).for_each(|id| insert(&mut session, &table, id, &"x".repeat(900)));
    // The log chain begins before the backup that is restored.
    world.backup(&log_request("first")).unwrap();
    let full = request(1);
    world.backup(&full).unwrap();
    update(&world, &"left behind ".repeat(60));
    log_backup(&world, "l0").unwrap();
    let later = BackupRequest {
        copy_only: true,
        devices: log_request("later").devices,
        ..request(1)
    };
    world.backup(&later).unwrap();
    drop((session, table));
    crate::chain::take_tail(&mut world);
    // All of its files go back to the full backup, and it is recovered there.
    let all = furrow_backup::Parts {
        files: vec!["data".into(), "more".into()],
        ..furrow_backup::Parts::default()
    };
    let done = crate::files::restored(&world, (&full, &all), &wanted("test", true)).unwrap();
    world.db = done.database.unwrap();
    // Its own log goes past the end of the other one.
    update(&world, &"another way ".repeat(70));
    update(&world, &"its own way ".repeat(70));
    world.db.checkpoint().unwrap();
    let pages = data_pages(&*world.volume);
    let pages = [pages[3], pages[pages.len() - 2]];
    let strays = restored(&world, (&later, &pages), true).unwrap_err();
    assert_eq!(numbers(&strays), [3116]);
    // What both have in common is taken, and the log of the other one is not.
    restored(&world, (&full, &pages), false).unwrap();
    let strays = log_restore(&world, ("l0", "test"), true).unwrap_err();
    assert_eq!(numbers(&strays), [4330]);
    recover_only(&world.instance, "test").unwrap();
    let mut session = world.session();
    let table = session.table("t").unwrap();
    for id in (0..1500).step_by(5) {
        let row = session.get(&table, &[Value::BigInt(id)]).unwrap().unwrap();
        let text = Value::VarChar("its own way ".repeat(70));
        assert_eq!(row.values().unwrap()[1], text, "row {id}");
    }
    drop((session, table));
    check_own(world);
}

#[test]
fn options_that_a_restore_of_pages_does_not_have_are_refused() {
    let world = world();
    let table = world.table("t");
    full_model(&world);
    let mut session = world.session();
    (0..1500).for_each(|id| insert(&mut session, &table, id, &"x".repeat(900)));
    let full = request(1);
    world.backup(&full).unwrap();
    log_backup(&world, "l0").unwrap();
    world.db.checkpoint().unwrap();
    let pages = [data_pages(&*world.volume)[3]];
    let standby = RestoreRequest {
        standby: Some("d/undo.tuf".into()),
        ..wanted("test", true)
    };
    let moved = RestoreRequest {
        moves: vec![("more".into(), "d/moved.ndf".into())],
        ..wanted("test", false)
    };
    let full = world.media(&full).unwrap();
    let log = world.media(&log_request("l0")).unwrap();
    for request in [&standby, &moved] {
        let refused = restore_pages(&world.instance, &full, (request, &pages), &mut Silent);
        assert_eq!(numbers(&refused.unwrap_err()), [40_514]);
        assert!(!world.db.restores_pages());
    }
    let plain = wanted("test", false);
    restore_pages(&world.instance, &full, (&plain, &pages), &mut Silent).unwrap();
    for request in [&standby, &moved] {
        let refused = restore_log(&world.instance, &log, request, &mut Silent);
        assert_eq!(numbers(&refused.unwrap_err()), [40_514]);
        assert!(world.db.restores_pages());
    }
    log_restore(&world, ("l0", "test"), true).unwrap();
    assert!(!world.db.restores_pages());
}
