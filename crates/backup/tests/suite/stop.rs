//! Restores that stop at a time or at a mark.

use crate::chain::{chained, full_model, log_backup, log_request, log_restore, wanted};
use crate::world::{Silent, World, ids, insert, numbers, request, world};
use furrow_backup::{
    BackupError, MediaSet, RestoreReport, RestoreRequest, backup_log, recover_only, restore_log,
};
use furrow_engine::{DatabaseState, Session, StopPoint, TxnMark};
use furrow_format::Lsn;
use furrow_io::time::WallTime;
use std::path::PathBuf;

pub fn stopping(
    world: &World,
    (log, name): (&str, &str),
    (stop, recovery): (StopPoint, bool),
) -> Result<RestoreReport, BackupError> {
    let media = MediaSet::open(&*world.volume, &[PathBuf::from(format!("d/{log}.trn"))])?;
    let request = RestoreRequest {
        stop: Some(stop),
        ..wanted(name, recovery)
    };
    restore_log(&world.instance, &media, &request, &mut Silent)
}

/// A moment after everything that was committed, and before everything that will be.
pub fn between() -> WallTime {
    let now = WallTime::now();
    while WallTime::now().unix_us() <= now.unix_us() + 1 {}
    WallTime::from_unix_us(now.unix_us() + 1)
}

/// The number of the notice of a restore that did not come to its point.
fn noticed(report: &RestoreReport) -> Option<u32> {
    report.notice.as_ref().map(|m| m.number)
}

#[test]
fn a_restore_stops_between_the_commits_that_its_time_lies_between() {
    let (world, table, full) = chained(2);
    let mut session = world.session();
    // One is under way all the time.
    let mut open = world.session();
    open.begin().unwrap();
    insert(&mut open, &table, 100_000, "never committed");
    let mut times = vec![between()];
    for id in 0..300 {
        insert(
            &mut session,
            &table,
            id,
            &"x".repeat(20 + 30 * (id as usize % 40)),
        );
        times.push(between());
        if id == 150 {
            log_backup(&world, "l0").unwrap();
        }
    }
    log_backup(&world, "l1").unwrap();
    open.rollback().unwrap();
    for (nth, last) in [0, 1, 77, 149, 151, 152, 222, 299].into_iter().enumerate() {
        let name = format!("copy{nth}");
        world.restore_only(&full, &name).unwrap();
        let point = StopPoint::Time(times[last]);
        let mut done = stopping(&world, ("l0", &name), (point.clone(), true)).unwrap();
        if last > 150 {
            assert_eq!(
                (noticed(&done), done.database.is_none()),
                (Some(4322), true)
            );
            done = stopping(&world, ("l1", &name), (point, true)).unwrap();
        }
        assert_eq!(noticed(&done), None, "stop behind {last} commits");
        let copy = done.database.unwrap();
        assert_eq!(ids(&copy, "t"), (0..last as i64).collect::<Vec<_>>());
        drop(copy);
        world.check(&name);
    }
    // What was cut off can be restored again: until recovery nothing is lost.
    world.restore_only(&full, "again").unwrap();
    let point = StopPoint::Time(times[10]);
    stopping(&world, ("l0", "again"), (point.clone(), false)).unwrap();
    let gap = log_restore(&world, ("l1", "again"), false).unwrap_err();
    assert_eq!(numbers(&gap), [4305]);
    log_restore(&world, ("l0", "again"), false).unwrap();
    let early = stopping(&world, ("l0", "again"), (point, true)).unwrap_err();
    assert_eq!(numbers(&early), [4335]);
    let copy = log_restore(&world, ("l1", "again"), true)
        .unwrap()
        .database
        .unwrap();
    assert_eq!(ids(&copy, "t").len(), 300);
    drop(copy);
    world.check("again");
}

#[test]
fn a_restore_that_stopped_goes_on_as_a_database_of_its_own_and_is_backed_up_again() {
    let (world, table, full) = chained(1);
    let mut session = world.session();
    (0..50).for_each(|id| insert(&mut session, &table, id, "kept"));
    let time = between();
    (50..3000).for_each(|id| insert(&mut session, &table, id, &"left out ".repeat(90)));
    log_backup(&world, "l0").unwrap();
    world.restore_only(&full, "copy").unwrap();
    let done = stopping(&world, ("l0", "copy"), (StopPoint::Time(time), true)).unwrap();
    let copy = done.database.unwrap();
    drop((session, table));
    let mut session = Session::new(&copy).unwrap();
    let table = session.table("t").unwrap();
    (50..90).for_each(|id| insert(&mut session, &table, id, "another way"));
    drop((session, table));
    // After a crash, too, the log that was left out stays out.
    copy.abandon();
    drop(copy);
    let world = world.restart_after(|_| {});
    let copy = world.instance.database("copy").unwrap();
    assert_eq!(ids(&copy, "t"), (0..90).collect::<Vec<_>>());
    drop(copy);
    world.check("copy");
}

#[test]
fn a_restore_stops_at_a_mark_and_before_it() {
    let (world, table, full) = chained(1);
    let mut session = world.session();
    let mut marked = |id: i64, name: &str| {
        session.begin().unwrap();
        let mark = TxnMark {
            name: name.to_owned(),
            description: "a description that is longer than one unit".to_owned(),
        };
        session.set_mark(&mark).unwrap();
        insert(&mut session, &table, id, "marked");
        session.commit().unwrap();
    };
    marked(0, "first");
    marked(1, "price");
    let between = between();
    marked(2, "price");
    marked(3, "last");
    log_backup(&world, "l0").unwrap();
    let mark = |name: &str, after, inclusive| StopPoint::Mark {
        name: name.to_owned(),
        after,
        inclusive,
    };
    let cases = [
        (mark("PRICE", None, true), 2),
        (mark("price", None, false), 1),
        (mark("price", Some(between), true), 3),
        (mark("price", Some(between), false), 2),
        (mark("last", None, true), 4),
    ];
    for (nth, (point, rows)) in cases.into_iter().enumerate() {
        let name = format!("copy{nth}");
        world.restore_only(&full, &name).unwrap();
        let done = stopping(&world, ("l0", &name), (point, true)).unwrap();
        let copy = done.database.unwrap();
        assert_eq!(ids(&copy, "t"), (0..rows).collect::<Vec<_>>(), "case {nth}");
        drop(copy);
        world.check(&name);
    }
    world.restore_only(&full, "none").unwrap();
    let done = stopping(&world, ("l0", "none"), (mark("unknown", None, true), true)).unwrap();
    assert_eq!(noticed(&done), Some(4329));
    let target = world.instance.restore_target("none").unwrap();
    assert_eq!(target.state, DatabaseState::Restoring);
    let copy = recover_only(&world.instance, "none").unwrap();
    assert_eq!(ids(&copy, "t").len(), 4);
}

#[test]
fn a_full_backup_refuses_a_point_before_its_end() {
    let world = world();
    let table = world.table("t");
    let mut session = world.session();
    let before = between();
    insert(&mut session, &table, 1, "one");
    let full = request(1);
    world.backup(&full).unwrap();
    let stop_at = |stop: StopPoint| {
        let moves = [("data", "mdf"), ("log", "ldf"), ("more", "ndf")];
        let to = |(f, e): (&str, &str)| (f.to_owned(), PathBuf::from(format!("d/c_{f}.{e}")));
        let wanted = RestoreRequest {
            moves: moves.into_iter().map(to).collect(),
            stop: Some(stop),
            ..wanted("c", true)
        };
        let media = world.media(&full).unwrap();
        furrow_backup::restore_database(&world.instance, &media, &wanted, &mut Silent)
    };
    let simple = stop_at(StopPoint::Time(between())).unwrap_err();
    assert_eq!(numbers(&simple), [3145]);
    full_model(&world);
    world.backup(&full).unwrap();
    let early = stop_at(StopPoint::Time(before)).unwrap_err();
    assert_eq!(numbers(&early), [4338]);
    let mark = StopPoint::Mark {
        name: "m".into(),
        after: None,
        inclusive: true,
    };
    assert_eq!(numbers(&stop_at(mark).unwrap_err()), [4340]);
    assert!(
        world.instance.restore_target("c").is_none(),
        "nothing was made"
    );
    let done = stop_at(StopPoint::Time(between())).unwrap();
    assert_eq!(
        (noticed(&done), done.database.is_none()),
        (Some(4322), true)
    );
}

#[test]
fn a_time_before_a_commit_that_is_in_place_is_too_early() {
    let (world, table, full) = chained(1);
    let mut session = world.session();
    insert(&mut session, &table, 1, "first");
    let early = between();
    insert(&mut session, &table, 2, "second");
    log_backup(&world, "l0").unwrap();
    let late = between();
    insert(&mut session, &table, 3, "third");
    log_backup(&world, "l1").unwrap();
    world.restore_only(&full, "copy").unwrap();
    log_restore(&world, ("l0", "copy"), false).unwrap();
    let point = StopPoint::Time(early);
    let passed = stopping(&world, ("l1", "copy"), (point, true)).unwrap_err();
    assert_eq!(numbers(&passed), [4335]);
    let done = stopping(&world, ("l1", "copy"), (StopPoint::Time(late), true)).unwrap();
    assert_eq!(ids(&done.database.unwrap(), "t"), [1, 2]);
}

#[test]
fn an_lsn_that_is_a_mark_is_that_of_a_record() {
    let (world, table, full) = chained(1);
    let mut session = world.session();
    (0..20).for_each(|id| insert(&mut session, &table, id, "row"));
    let report = backup_log(&world.db, &log_request("l0"), &mut Silent).unwrap();
    let last = Lsn(report.info.last_lsn);
    let point = |lsn| StopPoint::Lsn {
        lsn,
        inclusive: true,
    };
    world.restore_only(&full, "copy").unwrap();
    // Slot 0 is the block's own.
    let none = point(Lsn(last.0 - u64::from(last.slot())));
    let refused = stopping(&world, ("l0", "copy"), (none, true)).unwrap_err();
    assert_eq!(numbers(&refused), [40_514]);
    let behind = stopping(&world, ("l0", "copy"), (point(Lsn(last.0 + 500)), true)).unwrap();
    assert_eq!(
        (noticed(&behind), behind.database.is_none()),
        (Some(4329), true)
    );
    world.restore_only(&full, "other").unwrap();
    let done = stopping(&world, ("l0", "other"), (point(last), true)).unwrap();
    assert_eq!(ids(&done.database.unwrap(), "t").len(), 20);
}

#[test]
fn what_was_dropped_in_a_filegroup_that_is_left_out_is_freed_when_it_comes_back() {
    let world = world();
    let (t, o) = (world.table("t"), crate::files::other_table(&world));
    full_model(&world);
    let full = request(1);
    let mut session = world.session();
    crate::files::fill(&mut session, [&t, &o], 0..600);
    world.backup(&full).unwrap();
    drop(o);
    session.begin().unwrap();
    let mark = TxnMark {
        name: "dropped".into(),
        description: String::new(),
    };
    session.set_mark(&mark).unwrap();
    session.drop_table("o").unwrap();
    session.commit().unwrap();
    log_backup(&world, "l0").unwrap();
    let free = |db: &furrow_engine::Database| {
        let files = db.file_list().unwrap();
        let more = files.into_iter().find(|f| f.name == "more");
        more.map(|f| f.free_extents)
    };
    // The log that frees the pages comes behind the commit, and is not restored.
    crate::piecemeal::partial(&world, &full, false).unwrap();
    let stop = StopPoint::Mark {
        name: "dropped".into(),
        after: None,
        inclusive: true,
    };
    let copy = stopping(&world, ("l0", "copy"), (stop, true)).unwrap();
    let copy = copy.database.unwrap();
    assert_eq!(free(&copy), None);
    let other = crate::files::group("OTHER");
    crate::files::restored(&world, (&full, &other), &wanted("copy", false)).unwrap();
    log_restore(&world, ("l0", "copy"), true).unwrap();
    assert_eq!(free(&copy), free(&world.db));
    let session = Session::new(&copy).unwrap();
    assert!(session.table("o").is_err());
    drop((session, copy));
    world.check("copy");
}
