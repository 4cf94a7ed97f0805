//! Transactions that change a row whose last commit still waits for the log.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use furrow_engine::{Instance, InstanceConfig};
use furrow_io::sim::SimOptions;
use furrow_io::sync::{Condvar, Mutex};
use furrow_io::thread::scope;
use furrow_io::time::{Duration, Moment, sleep};
use furrow_io::{SimVolume, Volume};
use furrow_sql::{BatchEnd, Connection, Kept, Notice, ResultColumn, Server, Sink};
use furrow_types::Value;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const LOG: &str = "d/d.ldf";

/// Writes of the log wait here while it is closed.
#[derive(Default)]
struct Gate {
    closed: Mutex<bool>,
    opened: Condvar,
    reached: AtomicBool,
}

impl Gate {
    fn pass(&self) {
        let mut closed = self.closed.lock();
        while *closed {
            self.reached.store(true, Ordering::SeqCst);
            self.opened.wait(&mut closed);
        }
    }

    fn close(&self) {
        *self.closed.lock() = true;
        self.reached.store(false, Ordering::SeqCst);
    }

    fn open(&self) {
        *self.closed.lock() = false;
        self.opened.notify_all();
    }

    fn is_closed(&self) -> bool {
        *self.closed.lock()
    }
}

/// Opens the gate when a test ends, well or not: threads wait there.
struct Opens(Arc<Gate>);

impl Drop for Opens {
    fn drop(&mut self) {
        self.0.open();
    }
}

/// A client that must get nothing while the gate is closed.
struct Behind<'a> {
    gate: &'a Gate,
    kept: Kept,
    /// How often it got something meanwhile.
    early: u32,
}

impl Behind<'_> {
    fn look(&mut self) {
        self.early += u32::from(self.gate.is_closed());
    }
}

impl Sink for Behind<'_> {
    fn columns(&mut self, columns: &[ResultColumn]) {
        self.look();
        self.kept.columns(columns);
    }

    fn row(&mut self, row: &[Value]) {
        self.look();
        self.kept.row(row);
    }

    fn done(&mut self, rows: Option<u64>) {
        // BEGIN TRAN ends before the transaction depends on anything.
        if rows.is_some() {
            self.look();
        }
        self.kept.done(rows);
    }

    fn notice(&mut self, notice: &Notice) {
        self.look();
        self.kept.notice(notice);
    }
}

struct House {
    gate: Arc<Gate>,
    server: Arc<Server>,
}

impl House {
    fn new() -> House {
        let volume = SimVolume::new(SimOptions::default());
        volume.create_dir(Path::new("d")).unwrap();
        let instance = Instance::start(Arc::new(volume.clone()), InstanceConfig::default());
        let server = Server::start(instance.unwrap()).unwrap();
        let house = House {
            gate: Arc::default(),
            server,
        };
        let mut connection = house.server.connect().unwrap();
        run(
            &mut connection,
            "CREATE DATABASE d ON (NAME = d, FILENAME = 'd/d.mdf') \
             LOG ON (NAME = dl, FILENAME = 'd/d.ldf')",
        );
        run(&mut connection, "USE d");
        run(
            &mut connection,
            "CREATE TABLE t (id INT PRIMARY KEY, v INT)",
        );
        run(&mut connection, "INSERT INTO t VALUES (1, 0), (2, 0)");
        let gate = Arc::clone(&house.gate);
        volume.on_boundary_of(move |path, _| {
            if path.ends_with(LOG) {
                gate.pass();
            }
        });
        house
    }

    fn connect(&self) -> Connection {
        let mut connection = self.server.connect().unwrap();
        run(&mut connection, "USE d");
        connection
    }

    /// Waits until so many connections, or more, have locked a row X.
    fn until_writers(&self, writers: i64) {
        let mut viewer = self.connect();
        let locks = "SELECT COUNT(*) FROM sys.dm_tran_locks WHERE resource_type = 'KEY' \
                     AND request_mode = 'X' AND request_status = 'GRANT'";
        until(&format!("{writers} writers of the row"), || {
            let kept = run(&mut viewer, locks);
            kept.sets[0].rows[0][0].as_i64() >= Some(writers)
        });
    }

    /// While a commit of `UPDATE t SET v = 1` waits for the log, another connection runs a batch, until both
    /// have the row's lock. Returns what each got.
    fn follow(&self, batch: &str) -> (Kept, (BatchEnd, Kept, u32)) {
        self.follow_by(&mut self.connect(), batch, || ())
    }

    /// The same by this connection; `meanwhile` is called before the log is written.
    fn follow_by(
        &self,
        second: &mut Connection,
        batch: &str,
        meanwhile: impl FnOnce(),
    ) -> (Kept, (BatchEnd, Kept, u32)) {
        let mut first = self.connect();
        self.gate.close();
        scope(|s| {
            let _opens = Opens(Arc::clone(&self.gate));
            let committing = s.spawn(|| tried(&mut first, "UPDATE t SET v = 1 WHERE id = 1"));
            until("the log is written", || {
                self.gate.reached.load(Ordering::SeqCst)
            });
            let following = s.spawn(|| {
                let mut sink = Behind {
                    gate: &self.gate,
                    kept: Kept::default(),
                    early: 0,
                };
                let end = second.execute(batch, &mut sink);
                (end, sink.kept, sink.early)
            });
            self.until_writers(2);
            // Time for the batch to give something away.
            sleep(Duration::from_millis(20));
            meanwhile();
            self.gate.open();
            (committing.join().unwrap(), following.join().unwrap())
        })
    }
}

fn until(what: &str, done: impl FnMut() -> bool) {
    let (began, mut done) = (Moment::now(), done);
    while !done() {
        assert!(began.elapsed() < Duration::from_secs(30), "never: {what}");
        sleep(Duration::from_millis(1));
    }
}

fn tried(connection: &mut Connection, batch: &str) -> Kept {
    let mut kept = Kept::default();
    connection.execute(batch, &mut kept);
    kept
}

fn run(connection: &mut Connection, batch: &str) -> Kept {
    let kept = tried(connection, batch);
    assert!(kept.errors().is_empty(), "{batch}: {:?}", kept.errors());
    kept
}

fn values(house: &House) -> Vec<Value> {
    let kept = run(&mut house.connect(), "SELECT v FROM t WHERE id = 1");
    kept.sets[0].rows[0].clone()
}

#[test]
fn a_row_is_changed_while_the_commit_before_waits_and_the_client_gets_nothing_of_it() {
    let house = House::new();
    let batch = "DECLARE @v INT; BEGIN TRAN; UPDATE t SET @v = v = v + 10 WHERE id = 1; \
                 SELECT @v; UPDATE t SET v = @v WHERE id = 2; COMMIT";
    let (first, (end, second, early)) = house.follow(batch);
    assert_eq!(first.counts, [1]);
    assert_eq!((end.worst_level, early), (0, 0));
    assert_eq!(second.counts, [1, 1, 1]);
    assert_eq!(second.sets[0].rows, [[Value::Int(11)]]);
    assert_eq!(values(&house), [Value::Int(11)]);
}

#[test]
fn an_open_transaction_a_rollback_and_a_print_wait_for_the_commit_that_they_follow() {
    for batch in [
        "BEGIN TRAN; UPDATE t SET v = 5 WHERE id = 1",
        "BEGIN TRAN; UPDATE t SET v = 5 WHERE id = 1; ROLLBACK",
        "SET NOCOUNT ON; BEGIN TRAN; UPDATE t SET v = 5 WHERE id = 1; PRINT 'changed'; ROLLBACK",
        "SET NOCOUNT ON; BEGIN TRAN; UPDATE t SET v = 5 WHERE id = 1; SAVE TRAN s; INSERT t VALUES (2, 2)",
    ] {
        let house = House::new();
        let (first, (_, second, early)) = house.follow(batch);
        assert_eq!((first.counts.len(), early), (1, 0), "{batch}: {second:?}");
        assert_eq!(values(&house), [Value::Int(1)], "{batch}");
    }
}

#[test]
fn a_delayed_commit_that_follows_one_is_made_durable_with_it() {
    let house = House::new();
    let allowed = "ALTER DATABASE d SET DELAYED_DURABILITY = ALLOWED";
    run(&mut house.connect(), allowed);
    let batch = "DECLARE @v INT; BEGIN TRAN; UPDATE t SET @v = v = v + 10 WHERE id = 1; \
                 COMMIT WITH (DELAYED_DURABILITY = ON); SELECT @v";
    let (_, (end, second, early)) = house.follow(batch);
    assert_eq!((end.worst_level, early), (0, 0));
    assert_eq!(second.sets[0].rows, [[Value::Int(11)]]);
}

#[test]
fn tempdb_shows_nothing_of_a_transaction_that_follows_a_commit_elsewhere() {
    let house = House::new();
    let mut second = house.server.connect().unwrap();
    run(&mut second, "USE tempdb; CREATE TABLE ##g (v INT)");
    let batch = "SET NOCOUNT ON; DECLARE @v INT; BEGIN TRAN; INSERT ##g VALUES (0); \
                 UPDATE d.dbo.t SET @v = v = v + 10 WHERE id = 1; UPDATE ##g SET v = @v; COMMIT";
    let seen = || {
        let mut third = house.server.connect().unwrap();
        let count = "SELECT COUNT(*) FROM ##g WITH (READPAST) WHERE v > 0";
        let kept = run(&mut third, count);
        assert_eq!(kept.sets[0].rows, [[Value::Int(0)]]);
    };
    let (_, (end, _, early)) = house.follow_by(&mut second, batch, seen);
    assert_eq!((end.worst_level, early), (0, 0));
    let kept = run(&mut second, "SELECT v FROM ##g");
    assert_eq!(kept.sets[0].rows, [[Value::Int(11)]]);
}
