//! What trace flags 1204 and 1222 write of a real deadlock.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

use crate::tables_common;

use furrow_engine::{ColumnSpec, EngineError, LockHints, Session, Table, TableSpec, Timeout};
use furrow_io::thread;
use furrow_observe::traceflags::TraceFlag;
use std::sync::Arc;
use tables_common::{House, bigint, house, i, int, n, s, varchar};

fn set_up() -> (House, Arc<Table>) {
    let house = house();
    let spec = TableSpec::new("accounts")
        .column(ColumnSpec::new("id", bigint()).not_null())
        .column(ColumnSpec::new("v", int()).not_null())
        .primary_key(["id"]);
    let table = house.session().create_table(&spec).unwrap();
    for id in 1..=2 {
        house.session().insert(&table, &[n(id), i(0)]).unwrap();
    }
    (house, table)
}

fn set(session: &mut Session, table: &Arc<Table>, id: i64) -> Result<bool, EngineError> {
    let key = table.row_key(&[n(id)])?;
    session.update(table, &key, &[(1, i(7))])
}

/// Two sessions take one row each, and then ask for the other's. Gives (victim, survivor).
fn deadlock(house: &House, table: &Arc<Table>) -> (i32, i32) {
    deadlock_of(house, table, set)
}

type Set = fn(&mut Session, &Arc<Table>, i64) -> Result<bool, EngineError>;

fn deadlock_of(house: &House, table: &Arc<Table>, set: Set) -> (i32, i32) {
    let mut sessions = [house.session(), house.session()];
    for (at, session) in sessions.iter_mut().enumerate() {
        session.begin().unwrap();
        assert!(set(session, table, at as i64 + 1).unwrap());
    }
    sessions[1].set_deadlock_priority(-5);
    sessions[0].set_lock_timeout(Timeout::Millis(60_000));
    let done: Vec<_> = thread::scope(|scope| {
        let running: Vec<_> = sessions
            .iter_mut()
            .zip([2, 1])
            .map(|(session, other)| {
                scope.spawn(move || {
                    let done = set(session, table, other);
                    if done.is_ok() {
                        session.commit().unwrap();
                    }
                    done
                })
            })
            .collect();
        running.into_iter().map(|r| r.join().unwrap()).collect()
    });
    assert!(done[0].is_ok());
    let lost = done[1].as_ref().unwrap_err();
    assert_eq!(lost.number(), 1205);
    let message = &lost.messages()[0];
    assert_eq!((message.level, message.state), (13, 51));
    assert_eq!(
        message.text,
        format!(
            "Transaction (Process ID {}) was deadlocked on lock resources with another process and has \
             been chosen as the deadlock victim. Rerun the transaction.",
            sessions[1].id()
        )
    );
    (sessions[1].id(), sessions[0].id())
}

fn logged(house: &House) -> Vec<String> {
    let lines = house.instance.error_log().tail(400);
    let monitor = lines.into_iter().filter(|line| line.source == "spid5s");
    monitor.map(|line| line.text).collect()
}

/// The lines from the first that begins with `from`; all must come in this order.
fn in_order(lines: &[String], wanted: &[String]) {
    let mut rest = lines.iter();
    for want in wanted {
        assert!(
            rest.any(|line| line.starts_with(want.as_str())),
            "missing, or out of order: {want:?} in\n{}",
            lines.join("\n")
        );
    }
}

#[test]
fn without_a_trace_flag_a_deadlock_leaves_no_report() {
    let (house, table) = set_up();
    deadlock(&house, &table);
    assert!(logged(&house).is_empty());
}

#[test]
fn trace_flag_1222_lists_processes_and_resources() {
    let (house, table) = set_up();
    let flags = &house.instance.instruments().trace_flags;
    flags.set_at_start(TraceFlag::DEADLOCK_LIST);
    let (victim, survivor) = deadlock(&house, &table);
    let lines = logged(&house);
    let process = |session: i32| {
        let mark = format!(" spid={session} ");
        let line = lines.iter().find(|line| line.contains(&mark)).unwrap();
        let id = line.split_whitespace().nth(1).unwrap();
        (id.strip_prefix("id=").unwrap().to_owned(), line)
    };
    let ((lost, lost_line), (won, won_line)) = (process(victim), process(survivor));
    let hobt = table.indexes()[0].rowset().id().0;
    let index = table.indexes()[0].name();
    let db = house.db.id().0;
    let key = format!(
        "   keylock hobtid={hobt} dbid={db} objectname=test.dbo.accounts indexname={index} id=lock"
    );
    let wanted = [
        "deadlock-list".to_owned(),
        format!(" deadlock victim={lost}"),
        "  process-list".to_owned(),
        "   process id=process".to_owned(),
        "    executionStack".to_owned(),
        "    inputbuf".to_owned(),
        "   process id=process".to_owned(),
        "  resource-list".to_owned(),
        key.clone(),
        "    owner-list".to_owned(),
        "     owner id=process".to_owned(),
        "    waiter-list".to_owned(),
        "     waiter id=process".to_owned(),
        key,
    ];
    in_order(&lines, &wanted);
    for (process, line, other) in [(&lost, lost_line, &won), (&won, won_line, &lost)] {
        let wait = format!("waitresource=KEY: {db}:{hobt} (");
        for part in [
            wait.as_str(),
            "lockMode=X",
            "transactionname=user_transaction",
            "isolationlevel=read committed (2)",
            "status=suspended",
        ] {
            assert!(line.contains(part), "{part:?} in {line}");
        }
        assert!(!line.contains("lasttranstarted=1970"), "{line}");
        in_order(
            &lines,
            &[
                format!("     owner id={process} mode=X"),
                format!("     waiter id={other} mode=X requestType=wait"),
            ],
        );
    }
    assert!(won_line.contains("lockTimeout=60000"), "{won_line}");
    assert!(lost_line.contains("lockTimeout=4294967295") && lost_line.contains(" priority=-5 "));
}

#[test]
fn trace_flag_1204_prints_a_node_for_each_resource() {
    let (house, table) = set_up();
    let flags = &house.instance.instruments().trace_flags;
    flags.set_at_start(TraceFlag::DEADLOCK_NODES);
    let (victim, _) = deadlock(&house, &table);
    let lines = logged(&house);
    let key = format!(
        "KEY: {}:{} (",
        house.db.id().0,
        table.indexes()[0].rowset().id().0
    );
    let node = |number: u32| {
        [
            format!("Node:{number}"),
            key.clone(),
            " Grant List 0:".to_owned(),
            "   Owner:0x".to_owned(),
            "   SPID: ".to_owned(),
            " Requested By:".to_owned(),
            "   ResType:LockOwner Stype:'OR'Xdes:0x".to_owned(),
        ]
    };
    let mut wanted = vec![
        "Deadlock encountered .... Printing deadlock information".to_owned(),
        "Wait-for graph".to_owned(),
    ];
    wanted.extend(node(1));
    wanted.extend(node(2));
    wanted.push("Victim Resource Owner:".to_owned());
    wanted.push(" ResType:LockOwner".to_owned());
    in_order(&lines, &wanted);
    let last = lines.last().unwrap();
    assert!(
        last.contains(&format!(" SPID:{victim} ")) && last.contains("Cost:(0/"),
        "{last}"
    );
}

fn set_page(session: &mut Session, table: &Arc<Table>, id: i64) -> Result<bool, EngineError> {
    session.hinted(LockHints::page(), |session| set(session, table, id))
}

#[test]
fn a_deadlock_over_pages_is_reported_with_file_page_and_table() {
    let house = house();
    let spec = TableSpec::new("accounts")
        .column(ColumnSpec::new("id", bigint()).not_null())
        .column(ColumnSpec::new("v", int()).not_null())
        .column(ColumnSpec::new("pad", varchar(6000)).not_null())
        .primary_key(["id"]);
    let table = house.session().create_table(&spec).unwrap();
    for id in 1..=2 {
        let row = [n(id), i(0), s(&"x".repeat(6000))];
        house.session().insert(&table, &row).unwrap();
    }
    let flags = &house.instance.instruments().trace_flags;
    flags.set_at_start(TraceFlag::DEADLOCK_LIST);
    flags.set_at_start(TraceFlag::DEADLOCK_NODES);
    deadlock_of(&house, &table, set_page);
    let lines = logged(&house);
    let db = house.db.id().0;
    let hobt = table.indexes()[0].rowset().id().0;
    let nodes: Vec<_> = (lines.iter())
        .filter(|line| line.starts_with(&format!("PAGE: {db}:1:")))
        .collect();
    assert_eq!(nodes.len(), 2, "{}", lines.join("\n"));
    let listed: Vec<_> = (lines.iter())
        .filter(|line| line.starts_with("   pagelock fileid=1 pageid="))
        .collect();
    assert_eq!(listed.len(), 2, "{}", lines.join("\n"));
    for line in listed {
        for part in [
            format!(" dbid={db} objectname=test.dbo.accounts id=lock"),
            format!(" mode=X associatedObjectId={hobt}"),
        ] {
            assert!(line.contains(&part), "{part:?} in {line}");
        }
    }
}
