//! SET STATISTICS IO and TIME: what a statement took.
//!
//! Pages are counted by the pool for each thread; they are charged to the table that the statement works with
//! at the time ([`Reads`]). Figures are told behind the statement's rows, one message for each table in the
//! order in which they were met.

use super::Run;
use furrow_engine::thread_read_ahead;
use furrow_io::process::thread_cpu_ns;
use furrow_io::time::Moment;
use furrow_messages::{Arg, Message};
use furrow_observe::task::page_work;

/// What a thread has read.
#[derive(Debug, Clone, Copy, Default)]
struct ThreadReads {
    logical: u64,
    physical: u64,
    ahead: u64,
}

fn thread_reads() -> ThreadReads {
    let work = page_work();
    ThreadReads {
        logical: work.logical_reads,
        physical: work.reads,
        ahead: thread_read_ahead(),
    }
}

/// What one table was read.
#[derive(Debug)]
struct OfTable {
    name: String,
    scans: u64,
    reads: ThreadReads,
}

/// What the tables of a statement were read.
#[derive(Debug, Default)]
pub(crate) struct Reads {
    tables: Vec<OfTable>,
    /// The table at work, and what the thread had read when it began to be.
    at: Option<usize>,
    since: ThreadReads,
}

impl Reads {
    /// From here on what is read is this table's.
    pub(crate) fn turn_to(&mut self, name: &str) {
        if self
            .at
            .and_then(|at| self.tables.get(at))
            .is_some_and(|t| t.name == name)
        {
            return;
        }
        self.charge();
        let known = self.tables.iter().position(|t| t.name == name);
        self.at = Some(known.unwrap_or(self.tables.len()));
        if known.is_none() {
            self.tables.push(OfTable {
                name: name.to_owned(),
                scans: 0,
                reads: ThreadReads::default(),
            });
        }
    }

    /// A scan of the table at work begins.
    pub(crate) fn scan(&mut self) {
        if let Some(table) = self.at.and_then(|at| self.tables.get_mut(at)) {
            table.scans += 1;
        }
    }

    /// Charges what was read since the last charge to the table at work.
    fn charge(&mut self) {
        let now = thread_reads();
        if let Some(table) = self.at.and_then(|at| self.tables.get_mut(at)) {
            let since = self.since;
            table.reads.logical += now.logical.saturating_sub(since.logical);
            table.reads.physical += now.physical.saturating_sub(since.physical);
            table.reads.ahead += now.ahead.saturating_sub(since.ahead);
        }
        self.since = now;
    }
}

/// A statement that is measured.
pub(super) struct Measure {
    began: Moment,
    cpu_ns: u64,
}

impl Measure {
    fn new() -> Measure {
        Measure {
            began: Moment::now(),
            cpu_ns: thread_cpu_ns(),
        }
    }

    /// CPU and elapsed milliseconds.
    fn figures(&self) -> [Arg; 2] {
        let cpu_ms = thread_cpu_ns().saturating_sub(self.cpu_ns) / 1_000_000;
        let elapsed_ms = Moment::now().since(self.began).as_millis();
        [
            cpu_ms.into(),
            u64::try_from(elapsed_ms).unwrap_or(u64::MAX).into(),
        ]
    }
}

/// A statement begins.
pub(super) fn begin(run: &mut Run<'_>) -> Option<Measure> {
    let set = &run.cx.set;
    if set.statistics_io {
        run.cx.sessions.reads = Some(Box::default());
    }
    set.statistics_time.then(Measure::new)
}

/// It is over.
pub(super) fn end(run: &mut Run<'_>, measure: Option<Measure>) {
    if let Some(mut reads) = run.cx.sessions.reads.take() {
        reads.charge();
        for table in &reads.tables {
            let ThreadReads {
                logical,
                physical,
                ahead,
            } = table.reads;
            let name = run.cx.own_name(&table.name).unwrap_or(&table.name);
            let zero = || Arg::from(0_u64);
            let args = [
                name.into(),
                table.scans.into(),
                logical.into(),
                physical.into(),
                ahead.into(),
                zero(),
                zero(),
                zero(),
            ];
            let message = Message::new(3615, &args);
            run.inform(message);
        }
    }
    if let Some(measure) = measure {
        run.inform(Message::new(3612, &measure.figures()));
    }
}

/// Reads a batch; under SET STATISTICS TIME ON gives what to tell of it.
pub(super) fn parsing<T>(wanted: bool, parse: impl FnOnce() -> T) -> (T, Option<Message>) {
    let measure = wanted.then(Measure::new);
    let parsed = parse();
    let told = measure.map(|m| Message::new(3613, &m.figures()));
    (parsed, told)
}
