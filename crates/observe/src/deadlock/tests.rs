use super::*;
use furrow_io::time::WallTime;

const AT: WallTime = WallTime::from_unix_us(1_125_919_362_733_000);

fn process(id: u64, spid: i32, wait_resource: &str, log_used_bytes: u64) -> Process {
    Process {
        id,
        spid,
        ecid: 0,
        priority: 0,
        log_used_bytes,
        wait_resource: wait_resource.to_owned(),
        wait_time_ms: 1359,
        lock_mode: "U".to_owned(),
        transaction_id: 310_444,
        transaction_name: "user_transaction".to_owned(),
        transaction_started: AT,
        transaction_count: 2,
        batch_started: AT,
        batch_completed: AT,
        client_app: "app".to_owned(),
        host_name: "host".to_owned(),
        host_pid: 2216,
        login_name: "sa".to_owned(),
        isolation_level: "read committed (2)".to_owned(),
        current_db: 6,
        lock_timeout_ms: None,
        statement_type: "UPDATE".to_owned(),
        stack: vec![Frame {
            procedure: "adhoc".to_owned(),
            line: 6,
            statement_start: 202,
            statement: "UPDATE T2 SET COL1 = 3 WHERE COL1 = 1;".to_owned(),
        }],
        input_buffer: "BEGIN TRANSACTION\n  EXEC usp_p1".to_owned(),
    }
}

fn holder(process: u64, mode: &str) -> Holder {
    Holder {
        process,
        mode: mode.to_owned(),
        converts: false,
    }
}

fn report() -> DeadlockReport {
    let rid = DeadlockResource {
        kind: ResourceKind::Rid {
            file: 1,
            page: 20_789,
        },
        text: "RID: 6:1:20789:0".to_owned(),
        db: 6,
        object_name: "Db.dbo.T2".to_owned(),
        lock_id: 0x3136940,
        mode: "X".to_owned(),
        associated_object_id: 72_057_594_057_392_128,
        owners: vec![holder(0x689978, "X")],
        waiters: vec![holder(0x6891f8, "U")],
    };
    let key = DeadlockResource {
        kind: ResourceKind::Key {
            hobt_id: 72_057_594_057_457_664,
            index_name: "nci_T1_COL1".to_owned(),
        },
        text: "KEY: 6:72057594057457664 (350007a4d329)".to_owned(),
        object_name: "Db.dbo.T1".to_owned(),
        lock_id: 0x3136fc0,
        associated_object_id: 72_057_594_057_457_664,
        owners: vec![holder(0x6891f8, "X")],
        waiters: vec![Holder {
            converts: true,
            ..holder(0x689978, "U")
        }],
        ..rid.clone()
    };
    DeadlockReport {
        victims: vec![0x689978],
        processes: vec![
            process(0x6891f8, 54, "RID: 6:1:20789:0", 868),
            process(0x689978, 55, "KEY: 6:72057594057457664 (350007a4d329)", 380),
        ],
        resources: vec![rid, key],
    }
}

#[test]
fn the_list_form_has_the_published_lines() {
    let lines = report().list_lines();
    assert_eq!(
        lines[..3],
        [
            "deadlock-list",
            " deadlock victim=process689978",
            "  process-list"
        ]
    );
    assert_eq!(
        lines[3],
        "   process id=process6891f8 taskpriority=0 logused=868 waitresource=RID: 6:1:20789:0 \
         waittime=1359 ownerId=310444 transactionname=user_transaction \
         lasttranstarted=2005-09-05T11:22:42.733 XDES=0x4bcac lockMode=U schedulerid=0 kpid=0 \
         status=suspended spid=54 sbid=0 ecid=0 priority=0 trancount=2 \
         lastbatchstarted=2005-09-05T11:22:42.733 lastbatchcompleted=2005-09-05T11:22:42.733 \
         clientapp=app hostname=host hostpid=2216 loginname=sa isolationlevel=read committed (2) \
         xactid=310444 currentdb=6 lockTimeout=4294967295"
    );
    assert_eq!(
        lines[4..10],
        [
            "    executionStack",
            "     frame procname=adhoc line=6 stmtstart=202",
            "     UPDATE T2 SET COL1 = 3 WHERE COL1 = 1;",
            "    inputbuf",
            "     BEGIN TRANSACTION",
            "       EXEC usp_p1",
        ]
    );
    assert_eq!(
        lines[17..],
        [
            "  resource-list",
            "   ridlock fileid=1 pageid=20789 dbid=6 objectname=Db.dbo.T2 id=lock3136940 mode=X \
             associatedObjectId=72057594057392128",
            "    owner-list",
            "     owner id=process689978 mode=X",
            "    waiter-list",
            "     waiter id=process6891f8 mode=U requestType=wait",
            "   keylock hobtid=72057594057457664 dbid=6 objectname=Db.dbo.T1 indexname=nci_T1_COL1 \
             id=lock3136fc0 mode=X associatedObjectId=72057594057457664",
            "    owner-list",
            "     owner id=process6891f8 mode=X",
            "    waiter-list",
            "     waiter id=process689978 mode=U requestType=convert",
        ]
    );
}

#[test]
fn the_node_form_has_a_node_for_each_resource_and_the_victim_last() {
    let lines = report().node_lines();
    assert_eq!(
        lines[..12],
        [
            "Deadlock encountered .... Printing deadlock information",
            "Wait-for graph",
            "",
            "Node:1",
            "",
            "RID: 6:1:20789:0               CleanCnt:2 Mode:X Flags: 0x0",
            " Grant List 0:",
            "   Owner:0x689978 Mode: X        Flg:0x0 Ref:0 Life:02000000 SPID:55 ECID:0 \
             XactLockInfo: 0x4bcac",
            "   SPID: 55 ECID: 0 Statement Type: UPDATE Line #: 6",
            "   Input Buf: Language Event: BEGIN TRANSACTION",
            "  EXEC usp_p1",
            " Requested By:",
        ]
    );
    let request = "ResType:LockOwner Stype:'OR'Xdes:0x4bcac Mode: U SPID:54 BatchID:0 ECID:0 \
                   TaskProxy:(0x6891f8) Value:0x6891f8 Cost:(0/868)";
    assert_eq!(lines[12], format!("   {request}"));
    assert_eq!(lines[14], "Node:2");
    let end = &lines[lines.len() - 2..];
    assert_eq!(end[0], "Victim Resource Owner:");
    assert!(end[1].starts_with(" ResType:LockOwner Stype:'OR'Xdes:0x4bcac Mode: U SPID:55 "));
    assert!(end[1].ends_with("Cost:(0/380)"));
}

#[test]
fn a_report_that_names_unknown_processes_leaves_them_out() {
    let mut report = report();
    report.processes.clear();
    assert!(
        report
            .node_lines()
            .iter()
            .all(|line| !line.contains("SPID"))
    );
    assert!(!report.list_lines().is_empty());
}
