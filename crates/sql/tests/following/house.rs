//! A server whose writes of the log can be held up, and connections that follow a commit meanwhile.

#![expect(unreachable_pub, reason = "the tests share it")]

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
use std::sync::atomic::{AtomicU32, Ordering};

pub const LOG: &str = "d/d.ldf";

/// Locks X of rows.
pub const X_OF_ROWS: &str =
    "resource_type = 'KEY' AND request_mode = 'X' AND request_status = 'GRANT'";

/// Writes of the log wait here while it is closed.
#[derive(Default)]
pub struct Gate {
    closed: Mutex<bool>,
    opened: Condvar,
    /// Writes that have waited since it was closed.
    reached: AtomicU32,
}

impl Gate {
    fn pass(&self) {
        let mut closed = self.closed.lock();
        self.reached.fetch_add(u32::from(*closed), Ordering::SeqCst);
        while *closed {
            self.opened.wait(&mut closed);
        }
    }

    pub fn close(&self) {
        *self.closed.lock() = true;
        self.reached.store(0, Ordering::SeqCst);
    }

    /// Returns once so many writes wait.
    pub fn until_reached(&self, writes: u32) {
        until("the log is written", || {
            self.reached.load(Ordering::SeqCst) >= writes
        });
    }

    pub fn open(&self) {
        *self.closed.lock() = false;
        self.opened.notify_all();
    }

    pub fn is_closed(&self) -> bool {
        *self.closed.lock()
    }
}

/// Opens the gate when a test ends, well or not: threads wait there.
pub struct Opens(pub Arc<Gate>);

impl Drop for Opens {
    fn drop(&mut self) {
        self.0.open();
    }
}

/// A client that must get nothing while the gate is closed.
pub struct Behind<'a> {
    pub gate: &'a Gate,
    pub kept: Kept,
    /// How often it got something meanwhile.
    pub early: u32,
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

pub struct House {
    pub gate: Arc<Gate>,
    pub volume: SimVolume,
    pub server: Arc<Server>,
}

impl House {
    pub fn new() -> House {
        let volume = SimVolume::new(SimOptions::default());
        volume.create_dir(Path::new("d")).unwrap();
        let instance = Instance::start(Arc::new(volume.clone()), InstanceConfig::default());
        let server = Server::start(instance.unwrap()).unwrap();
        let house = House {
            gate: Arc::default(),
            volume,
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
        run(
            &mut connection,
            "INSERT INTO t VALUES (1, 0), (2, 0), (3, 0)",
        );
        let gate = Arc::clone(&house.gate);
        house.volume.on_boundary_of(move |path, _| {
            if path.ends_with(LOG) {
                gate.pass();
            }
        });
        house
    }

    pub fn connect(&self) -> Connection {
        let mut connection = self.server.connect().unwrap();
        run(&mut connection, "USE d");
        connection
    }

    /// Waits until so many locks X of rows, or more, are held.
    pub fn until_writers(&self, writers: i64) {
        self.until_locks(X_OF_ROWS, writers);
    }

    /// Waits until so many requests, or more, are as this condition says.
    pub fn until_locks(&self, which: &str, many: i64) {
        let mut viewer = self.connect();
        let locks = format!("SELECT COUNT(*) FROM sys.dm_tran_locks WHERE {which}");
        until(&format!("{many} requests with {which}"), || {
            let kept = run(&mut viewer, &locks);
            kept.sets[0].rows[0][0].as_i64() >= Some(many)
        });
    }

    /// While a commit of `UPDATE t SET v = 1` waits for the log, another connection runs a batch, until both
    /// have the row's lock. Returns what each got.
    pub fn follow(&self, batch: &str) -> (Kept, (BatchEnd, Kept, u32)) {
        self.follow_by(&mut self.connect(), batch, || ())
    }

    /// The same by this connection; `meanwhile` is called before the log is written.
    pub fn follow_by(
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
            self.gate.until_reached(1);
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

pub fn until(what: &str, done: impl FnMut() -> bool) {
    let (began, mut done) = (Moment::now(), done);
    while !done() {
        assert!(began.elapsed() < Duration::from_secs(30), "never: {what}");
        sleep(Duration::from_millis(1));
    }
}

pub fn tried(connection: &mut Connection, batch: &str) -> Kept {
    let mut kept = Kept::default();
    connection.execute(batch, &mut kept);
    kept
}

pub fn run(connection: &mut Connection, batch: &str) -> Kept {
    let kept = tried(connection, batch);
    assert!(kept.errors().is_empty(), "{batch}: {:?}", kept.errors());
    kept
}

pub fn values(house: &House) -> Vec<Value> {
    let kept = run(&mut house.connect(), "SELECT v FROM t WHERE id = 1");
    kept.sets[0].rows[0].clone()
}
