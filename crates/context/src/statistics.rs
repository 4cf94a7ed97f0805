//! SET STATISTICS IO and TIME: the cost of a statement.
//!
//! The pool counts pages for each thread. They are charged to the table that the statement reads at the time
//! ([`Reads`](crate::table_reads::Reads)). The figures follow the statement's rows, one message for each
//! table, in the order in which the statement first read them.

use crate::run::Run;
use crate::table_reads::ThreadReads;
use furrow_io::process::thread_cpu_ns;
use furrow_io::time::Moment;
use furrow_messages::{Arg, Message};

/// A statement that is measured.
#[derive(Debug)]
pub struct Measure {
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
pub fn begin(run: &mut Run<'_>) -> Option<Measure> {
    let set = &run.cx.set;
    if set.statistics_io {
        run.cx.sessions.reads = Some(Box::default());
    }
    set.statistics_time.then(Measure::new)
}

/// The statement has ended.
pub fn end(run: &mut Run<'_>, measure: Option<Measure>) {
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

/// Parses a batch; under SET STATISTICS TIME ON also returns the message about it.
pub fn parsing<T>(wanted: bool, parse: impl FnOnce() -> T) -> (T, Option<Message>) {
    let measure = wanted.then(Measure::new);
    let parsed = parse();
    let reported = measure.map(|m| Message::new(3613, &m.figures()));
    (parsed, reported)
}
