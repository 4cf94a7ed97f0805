//! A target with recorded answers, for tests: no engine, no instance, only the answers of a server.
//!
//! It counts the rows of INSERT statements, and answers the queries for counters from a recording in which
//! some figures depend on that count. A batch that is not in the recording is an error: an experiment that
//! sends another batch fails its test.

use super::{
    DatabaseLayout, Need, Reply, Session, Startup, StatementId, Target, TargetError, Value,
};
use furrow_io::{Access, Open, Volume};
use parking_lot::Mutex;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What all sessions of a recorded server share.
#[derive(Debug, Default)]
pub(crate) struct Tape {
    /// Rows that were inserted.
    pub(crate) rows: AtomicU64,
    /// Sessions that were opened.
    pub(crate) sessions: AtomicU64,
    /// Rows that get lost, to test whether the experiment counts them.
    pub(crate) lost: AtomicU64,
    /// Ctrl-C after so many rows; 0 for never.
    pub(crate) cancel_at: AtomicU64,
    pub(crate) cancel: Arc<AtomicBool>,
    /// Every batch, in order.
    pub(crate) heard: Mutex<Vec<String>>,
    files: Mutex<Vec<(PathBuf, bool)>>,
}

/// The server.
#[derive(Debug, Default)]
pub(crate) struct Recorded {
    pub(crate) tape: Arc<Tape>,
    volume: Option<Arc<dyn Volume>>,
}

impl Recorded {
    pub(crate) fn on(tape: &Arc<Tape>) -> Recorded {
        Recorded {
            tape: Arc::clone(tape),
            volume: None,
        }
    }
}

impl Target for Recorded {
    fn name(&self) -> String {
        "recorded".to_string()
    }

    fn version(&self) -> String {
        "a recording".to_string()
    }

    fn lacks(&self, needs: &[Need]) -> Vec<String> {
        let lack = |need: &Need| match need {
            Need::Startup(_) => Some("a recording cannot be started with options".to_owned()),
            _ => None,
        };
        needs.iter().filter_map(lack).collect()
    }

    fn paths(&self, layout: &DatabaseLayout) -> Vec<PathBuf> {
        let files = layout.data.iter().chain([&layout.log]);
        files.map(|file| file.path.clone()).collect()
    }

    fn start(&mut self, volume: &Arc<dyn Volume>, startup: &Startup) -> Result<(), TargetError> {
        assert!(startup.pool_bytes > 0);
        self.volume = Some(Arc::clone(volume));
        Ok(())
    }

    fn connect(&self) -> Result<Box<dyn Session>, TargetError> {
        let id = self.tape.sessions.fetch_add(1, Ordering::Relaxed) + 1;
        Ok(Box::new(Voice {
            id,
            tape: Arc::clone(&self.tape),
            texts: Vec::new(),
        }))
    }

    fn stop(&mut self) -> Result<(), TargetError> {
        self.volume = None;
        Ok(())
    }

    fn create_database(&self, layout: &DatabaseLayout) -> Result<(), TargetError> {
        let volume = self.volume.as_ref().unwrap();
        for path in self.paths(layout) {
            volume.open(&path, Open::Create, Access::Data).unwrap();
        }
        let data = layout.data.iter().map(|file| (file.path.clone(), false));
        *self.tape.files.lock() = data.chain([(layout.log.path.clone(), true)]).collect();
        self.tape.rows.store(0, Ordering::Relaxed);
        Ok(())
    }
}

struct Voice {
    id: u64,
    tape: Arc<Tape>,
    texts: Vec<String>,
}

fn int(value: u64) -> Value {
    Value::Int(i64::try_from(value).unwrap())
}

fn text(value: &str) -> Value {
    Value::Text(value.to_owned())
}

fn rows(rows: Vec<Vec<Value>>) -> Reply {
    Reply {
        count: rows.len() as u64,
        rows,
        ..Reply::default()
    }
}

impl Voice {
    /// One WRITELOG wait of 10 ms for each row. A session sees its own: none before the load.
    fn waits(&self, share: u64) -> Vec<Value> {
        let count = self.tape.rows.load(Ordering::Relaxed) / share;
        let name = text("WRITELOG");
        let figures = [count, 10 * count, 10, count].map(int);
        [name].into_iter().chain(figures).collect()
    }

    /// The same by session; loads have four.
    fn session_waits(&self) -> Reply {
        let of = |id: u64| {
            let mut row = self.waits(4);
            row.push(int(id));
            row
        };
        rows(
            (1..=self.tape.sessions.load(Ordering::Relaxed))
                .map(of)
                .collect(),
        )
    }

    fn files(&self) -> Reply {
        let files = self.tape.files.lock();
        let data = files.len() as u64 - 1;
        let inserted = self.tape.rows.load(Ordering::Relaxed);
        let file = |(place, (path, is_log)): (usize, &(PathBuf, bool))| {
            let mine = inserted / data + u64::from((place as u64) < inserted % data);
            let (writes, bytes) = match is_log {
                true => (inserted, 4096 * inserted),
                false => (mine, 8192 * mine),
            };
            let path = path.display().to_string();
            let figures = [0, 0, 0, writes, bytes, writes / 2, 1 << 20].map(int);
            let mut row = vec![int(place as u64 + 1), text(&path), int(u64::from(*is_log))];
            row.extend(figures);
            row
        };
        rows(files.iter().enumerate().map(file).collect())
    }
}

impl Session for Voice {
    fn batch(&mut self, batch: &str) -> Result<Reply, TargetError> {
        self.tape.heard.lock().push(batch.to_owned());
        let is = |part: &str| batch.contains(part);
        let reply = match () {
            () if is("COUNT_BIG(*)") => {
                let lost = self.tape.lost.swap(0, Ordering::Relaxed);
                rows(vec![vec![int(
                    self.tape.rows.load(Ordering::Relaxed) - lost
                )]])
            }
            () if is("dm_exec_session_wait_stats") => self.session_waits(),
            () if is("dm_os_wait_stats") => rows(vec![self.waits(1)]),
            () if is("SELECT @@SPID") => rows(vec![vec![int(self.id)]]),
            () if is("dm_io_virtual_file_stats") && is("master_files") => self.files(),
            () if is("sys.dm_") || batch.starts_with("USE ") || is("CREATE TABLE") => rows(vec![]),
            () => {
                return Err(TargetError {
                    number: 2812,
                    level: 16,
                    state: 62,
                    text: format!("not on the tape: {batch}"),
                });
            }
        };
        Ok(reply)
    }

    fn prepare(&mut self, text: &str, _parameters: &str) -> Result<StatementId, TargetError> {
        self.texts.push(text.to_owned());
        Ok(StatementId(self.texts.len() - 1))
    }

    fn execute(&mut self, statement: StatementId, _values: &[Value]) -> Result<u64, TargetError> {
        if !self.texts[statement.0].contains("INSERT") {
            return Ok(0);
        }
        let before = self.tape.rows.fetch_add(1, Ordering::Relaxed);
        let at = self.tape.cancel_at.load(Ordering::Relaxed);
        if at > 0 && before >= at {
            self.tape.cancel.store(true, Ordering::Relaxed);
        }
        Ok(1)
    }

    fn query(&mut self, statement: StatementId, values: &[Value]) -> Result<Reply, TargetError> {
        let count = self.execute(statement, values)?;
        Ok(Reply {
            count,
            ..Reply::default()
        })
    }

    fn canceller(&self) -> Box<dyn Fn() + Send + Sync> {
        Box::new(|| {})
    }
}
