//! The library face over real files and in memory.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests: a failure is a failed test"
)]

use furrow::{
    BulkOptions, ColumnSpec, DataFile, Database, Error, Options, Table, TableSpec, Value, sql,
};
use furrow_io::time::Moment;
use std::sync::Arc;

fn accounts() -> TableSpec {
    TableSpec::new("accounts")
        .column(ColumnSpec::new("id", sql::BIGINT).not_null())
        .column(ColumnSpec::new("owner", sql::varchar(30)).not_null())
        .column(
            ColumnSpec::new("cents", sql::BIGINT)
                .not_null()
                .default_value(0_i64),
        )
        .column(ColumnSpec::new("note", sql::varbinary(16)))
        .primary_key(["id"])
}

fn in_memory() -> (Database, Arc<Table>) {
    let db = Database::create("bank")
        .file("bank.mdf")
        .log("bank.ldf")
        .in_memory()
        .open()
        .unwrap();
    let table = db.session().unwrap().create_table(&accounts()).unwrap();
    (db, table)
}

fn sum(db: &Database, table: &Arc<Table>) -> Result<i64, Error> {
    let mut total = 0;
    db.session()?.rows(table)?.for_each(|row| {
        total += row.get::<i64>("cents")?;
        Ok(())
    })?;
    Ok(total)
}

#[test]
fn what_was_committed_is_there_after_reopening_and_what_was_not_is_gone() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    let db = Database::create("bank")
        .file(DataFile::new(path("bank1.mdf")).size_mb(8))
        .file(DataFile::new(path("bank2.ndf")).size_mb(8))
        .log(DataFile::new(path("bank.ldf")).size_mb(4))
        .pool_mb(8)
        .open()
        .unwrap();
    let mut session = db.session().unwrap();
    let table = session.create_table(&accounts()).unwrap();
    let mut insert = session.inserter(&table, &["id", "owner", "cents"]).unwrap();
    for id in 0..500_i64 {
        insert.row((id, "somebody", 10_i64)).unwrap();
    }
    drop(insert);
    let mut open = session.transaction().unwrap();
    open.insert(&table, (900_i64, "nobody", 1_i64, None::<&[u8]>))
        .unwrap();
    drop(open);
    drop((session, table));
    db.close().unwrap();

    let db = Database::open(path("bank1.mdf")).unwrap();
    let table = db.session().unwrap().table("accounts").unwrap();
    assert_eq!(sum(&db, &table).unwrap(), 5000);
    assert!(
        db.session()
            .unwrap()
            .get(&table, 900_i64)
            .unwrap()
            .is_none()
    );
    assert_eq!(db.files().unwrap().len(), 3);
    assert!(db.file_stats().iter().any(|file| file.reads.count > 0));
}

#[test]
fn rows_are_read_changed_and_removed_by_key_and_in_ranges() {
    let (db, table) = in_memory();
    let mut session = db.session().unwrap();
    for id in 1..=20_i64 {
        session
            .insert(&table, (id, "x", id * 100, Some([id as u8; 4])))
            .unwrap();
    }
    assert!(
        session
            .update(
                &table,
                7_i64,
                &["owner", "note"],
                ("seven", None::<Vec<u8>>)
            )
            .unwrap()
    );
    assert!(
        !session
            .update(&table, 70_i64, &["owner"], ("none",))
            .unwrap()
    );
    assert!(session.delete(&table, 8_i64).unwrap());
    assert!(!session.delete(&table, 8_i64).unwrap());
    let row = session.get(&table, 7_i64).unwrap().unwrap();
    assert_eq!(row.get::<String>("owner").unwrap(), "seven");
    assert_eq!(row.get::<Option<Vec<u8>>>("note").unwrap(), None);
    assert_eq!(row.values().unwrap()[2], Value::BigInt(700));
    let wrong = row.get::<i64>("owner").unwrap_err();
    assert_eq!(
        (
            wrong.number(),
            row.get::<i64>("colour").unwrap_err().number()
        ),
        (8114, 207)
    );
    let mut ids = Vec::new();
    let mut rows = session.range(&table, 5_i64..10).unwrap();
    while let Some(row) = rows.next().unwrap() {
        ids.push(row.get::<i64>(0).unwrap());
    }
    drop(rows);
    assert_eq!(ids, [5, 6, 7, 9]);
    let mut last = Vec::new();
    let back = session.range_back(&table, ..=3_i64).unwrap();
    back.for_each(|row| {
        last.push(row.get::<i64>(0)?);
        Ok(())
    })
    .unwrap();
    assert_eq!(last, [3, 2, 1]);
}

#[test]
fn savepoints_and_guards_undo_what_they_should() {
    let (db, table) = in_memory();
    let mut session = db.session().unwrap();
    let mut transaction = session.transaction().unwrap();
    transaction
        .insert(&table, (1_i64, "kept", 1_i64, None::<&[u8]>))
        .unwrap();
    let here = transaction.savepoint().unwrap();
    transaction
        .insert(&table, (2_i64, "undone", 2_i64, None::<&[u8]>))
        .unwrap();
    transaction.rollback_to(here).unwrap();
    transaction.commit().unwrap();
    assert_eq!(sum(&db, &table).unwrap(), 1);
    session.transaction().unwrap().rollback().unwrap();
    assert_eq!(session.commit().unwrap_err().number(), 3902);
}

#[test]
fn errors_have_the_products_numbers_and_leave_the_session_usable() {
    let (db, table) = in_memory();
    let mut session = db.session().unwrap();
    session
        .insert(&table, (1_i64, "a", 0_i64, None::<&[u8]>))
        .unwrap();
    let twice = session
        .insert(&table, (1_i64, "b", 0_i64, None::<&[u8]>))
        .unwrap_err();
    assert_eq!((twice.number(), twice.level()), (2627, 14), "{twice}");
    assert!(
        twice.text().contains("accounts") && twice.to_string().starts_with("Msg 2627, Level 14")
    );
    let null = session
        .insert(&table, (2_i64, None::<&str>, 0_i64, None::<&[u8]>))
        .unwrap_err();
    assert_eq!(null.number(), 515, "{null}");
    let few = session.insert(&table, (2_i64,)).unwrap_err();
    assert_eq!(few.number(), 213, "{few}");
    let column = session.inserter(&table, &["colour"]).unwrap_err();
    assert_eq!(column.number(), 207, "{column}");
    session
        .insert(&table, (2_i64, "c", 5_i64, None::<&[u8]>))
        .unwrap();
    assert_eq!(sum(&db, &table).unwrap(), 5);
    let missing = Database::open("/no/such/primary.mdf").unwrap_err();
    assert_eq!(missing.number(), 5120, "{missing}");
}

#[test]
fn a_database_is_closed_with_its_last_handle_and_not_before() {
    let (db, table) = in_memory();
    let session = db.session().unwrap();
    let other = db.clone();
    assert_eq!(other.close().unwrap_err().number(), 3702);
    drop(db);
    let mut session = session;
    session
        .insert(&table, (1_i64, "still here", 0_i64, None::<&[u8]>))
        .unwrap();
}

#[test]
fn what_was_waited_for_has_the_names_of_sql_server() {
    let dir = tempfile::tempdir().unwrap();
    let db = Database::create("w")
        .file(dir.path().join("w.mdf"))
        .open()
        .unwrap();
    let mut session = db.session().unwrap();
    let table = session.create_table(&accounts()).unwrap();
    for id in 0..50_i64 {
        session
            .insert(&table, (id, "x", 0_i64, None::<&[u8]>))
            .unwrap();
    }
    let of_session = session.waits();
    let log = of_session
        .iter()
        .find(|wait| wait.wait_type.name() == "WRITELOG")
        .unwrap();
    assert!(log.count >= 50 && log.total_us > 0, "{log:?}");
    assert!(
        db.waits()
            .iter()
            .any(|wait| wait.wait_type == log.wait_type && wait.count >= log.count)
    );
    db.checkpoint().unwrap();
    assert!(db.log().flushes > 0 && !db.error_log(5).is_empty());
}

#[test]
fn every_kind_of_time_goes_in_and_comes_out_as_itself() {
    use furrow::{Date, DateTime, DateTime2, DateTimeOffset, SmallDateTime, Time};
    let db = Database::create("times")
        .file("times.mdf")
        .in_memory()
        .open()
        .unwrap();
    let mut session = db.session().unwrap();
    let columns = [
        ("day", sql::DATE),
        ("clock", sql::time(3)),
        ("at", sql::DATETIME),
        ("at2", sql::datetime2(7)),
        ("there", sql::datetimeoffset(0)),
        ("small", sql::SMALLDATETIME),
        ("share", sql::REAL),
    ];
    let spec = TableSpec::new("times").column(ColumnSpec::new("id", sql::INT).not_null());
    let spec = columns.iter().fold(spec, |spec, (name, data_type)| {
        spec.column(ColumnSpec::new(name, *data_type))
    });
    let table = session.create_table(&spec.primary_key(["id"])).unwrap();
    let date = Date::from_days(739_000).unwrap();
    let time = |scale| Time::from_hms(23, 59, 58, 0, scale).unwrap();
    let at2 = DateTime2 {
        date,
        time: time(7),
    };
    let there = DateTimeOffset {
        utc: DateTime2 {
            date,
            time: time(0),
        },
        offset_minutes: 120,
    };
    let small = SmallDateTime::new(45_000, 1439).unwrap();
    let row = (
        1,
        date,
        time(3),
        DateTime::EPOCH,
        at2,
        there,
        small,
        0.5_f32,
    );
    session.insert(&table, row).unwrap();
    let row = session.get(&table, 1).unwrap().unwrap();
    assert_eq!(row.get::<Date>("day").unwrap(), date);
    assert_eq!(row.get::<Time>("clock").unwrap(), time(3));
    assert_eq!(row.get::<DateTime>("at").unwrap(), DateTime::EPOCH);
    assert_eq!(row.get::<DateTime2>("at2").unwrap(), at2);
    assert_eq!(row.get::<DateTimeOffset>("there").unwrap(), there);
    assert_eq!(row.get::<SmallDateTime>("small").unwrap(), small);
    assert_eq!(row.get::<f32>("share").unwrap(), 0.5);
}

#[test]
fn an_update_with_more_values_than_columns_is_refused() {
    let (db, table) = in_memory();
    let mut session = db.session().unwrap();
    session
        .insert(&table, (1_i64, "Ada", 5_i64, Value::Null))
        .unwrap();
    let too_many = session.update(&table, 1_i64, &["cents"], (6_i64, 7_i64));
    assert_eq!(too_many.unwrap_err().number(), 213);
    let row = session.get(&table, 1_i64).unwrap().unwrap();
    assert_eq!(row.get::<i64>("cents").unwrap(), 5);
}

#[test]
fn a_data_file_of_which_nothing_was_said_has_eight_megabytes() {
    let db = Database::create("sizes")
        .file("one.mdf")
        .file(DataFile::new("two.ndf"))
        .log("log.ldf")
        .in_memory()
        .open()
        .unwrap();
    db.add_file(DataFile::new("three.ndf"), None).unwrap();
    db.add_file(DataFile::new("small.ndf").max_mb(2), None)
        .unwrap();
    let sizes: Vec<u64> = db
        .files()
        .unwrap()
        .iter()
        .map(|f| f.size_pages / 128)
        .collect();
    assert_eq!(sizes, [8, 8, 8, 8, 2]);
}

#[test]
fn a_database_on_slower_drives_takes_their_time_and_a_wrong_text_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let drives = format!("{},latency=10ms", dir.path().display());
    let options = Options::default().with_drives(&[&drives]).unwrap();
    let db = Database::create("slow")
        .file(dir.path().join("slow.mdf"))
        .log(DataFile::new(dir.path().join("slow.ldf")).size_mb(4))
        .options(options)
        .open()
        .unwrap();
    let mut session = db.session().unwrap();
    let table = session.create_table(&accounts()).unwrap();
    let begun = Moment::now();
    for id in 0..20_i64 {
        let mut insert = session.inserter(&table, &["id", "owner"]).unwrap();
        insert.row((id, "somebody")).unwrap();
    }
    let us = begun.elapsed_us();
    assert!(us >= 20 * 10_000, "20 commits of 10 ms took {us} us");
    let wrong = Options::default().with_drives(&["/d,model=raid10:3x15k"]);
    let text = wrong.unwrap_err().text().to_owned();
    assert!(text.contains("even number of drives"), "{text}");
}

#[test]
fn a_trace_flag_that_cannot_be_is_an_error() {
    let (db, _) = in_memory();
    db.set_trace_flag(1165).unwrap();
    for number in [0, 17_799, u16::MAX] {
        let refused = db.set_trace_flag(number).unwrap_err();
        assert!(refused.text().contains(&number.to_string()), "{refused}");
    }
}

#[test]
fn rows_of_an_iterator_go_in_as_one_by_one_in_a_load_in_a_transaction_and_outside() {
    let (db, table) = in_memory();
    let mut session = db.session().unwrap();
    let row = |id: i64| (id, "somebody", id * 10);
    let columns = ["id", "owner", "cents"];
    let mut insert = session.inserter(&table, &columns).unwrap();
    assert_eq!(insert.rows((0..100).map(row)).unwrap(), 100);
    insert.begin().unwrap();
    assert_eq!(insert.rows((100..200).map(row)).unwrap(), 100);
    assert_eq!(
        insert.rows(std::iter::empty::<(i64, &str, i64)>()).unwrap(),
        0
    );
    insert.rollback().unwrap();
    insert.begin().unwrap();
    insert.rows((200..300).map(row)).unwrap();
    insert.commit().unwrap();
    drop(insert);
    let mut load = session
        .bulk_inserter(&table, &columns, BulkOptions::default())
        .unwrap();
    assert_eq!(load.rows((300..1000).map(row)).unwrap(), 700);
    assert_eq!(load.finish().unwrap(), 700);
    assert_eq!(
        sum(&db, &table).unwrap(),
        (0..100).chain(200..1000).sum::<i64>() * 10
    );
}

#[test]
fn rows_before_a_refused_one_are_in_and_the_next_row_is_whole() {
    let (db, table) = in_memory();
    let mut session = db.session().unwrap();
    let long = "x".repeat(5000);
    let rows = [
        (1_i64, "a", 1_i64),
        (2, "b", 2),
        (3, long.as_str(), 4),
        (4, "d", 8),
    ];
    let columns = ["id", "owner", "cents"];
    for inside in [false, true] {
        let mut insert = session.inserter(&table, &columns).unwrap();
        if inside {
            insert.begin().unwrap();
        }
        let more = i64::from(inside) * 100;
        let shifted = rows
            .iter()
            .map(|&(id, owner, cents)| (id + more, owner, cents));
        assert_eq!(insert.rows(shifted).unwrap_err().number(), 2628);
        insert.row((50 + more, "after", 16_i64)).unwrap();
        if inside {
            insert.commit().unwrap();
        }
    }
    assert_eq!(sum(&db, &table).unwrap(), 2 * (1 + 2 + 16));
    let mut load = session
        .bulk_inserter(&table, &columns, BulkOptions::default())
        .unwrap();
    assert!(load.row((300_i64, long.as_str(), 1_i64)).is_err());
    load.row((301_i64, "after", 32_i64)).unwrap();
    assert_eq!(load.finish().unwrap(), 1);
    assert_eq!(sum(&db, &table).unwrap(), 2 * (1 + 2 + 16) + 32);
}
