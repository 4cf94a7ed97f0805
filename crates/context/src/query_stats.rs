//! The cost of statements: `sys.dm_exec_query_stats`.
//!
//! Every connection stores the texts that it parses. The figures of a text's statements belong to the server,
//! so they add up over all connections and outlive them. DBCC FREEPROCCACHE discards all texts and figures.
//! When there are too many texts, the half that ran longest ago is discarded.
//!
//! Figures are taken at the end of each statement that reads or changes rows. For a statement shorter than
//! [`SHORT_NS`] the elapsed time is used for the processor time. A longer statement gets the thread's
//! processor time since the last call, less the short statements since then ([`Mark`]), and never more than
//! the elapsed time; and besides, the processor time of the threads of its parallel scans.

use crate::clock::{CpuMark, CpuSpan, SHORT_NS, StatementTime};
use furrow_io::time::{Moment, WallTime};
use furrow_observe::task::{PageWork, page_work};
use furrow_tsql::Span;
use furrow_tsql::lex::{Kind, Lexer};
use furrow_types::Value;
use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use twox_hash::XxHash3_64;

/// Most texts that are stored.
const MOST: usize = 1024;

/// A figure over all runs of a statement.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Figure {
    /// The sum over all runs.
    pub total: u64,
    /// Of the last run.
    pub last: u64,
    /// Of the cheapest run.
    pub min: u64,
    /// Of the most expensive run.
    pub max: u64,
}

impl Figure {
    fn add(&mut self, value: u64, is_first: bool) {
        self.total = self.total.saturating_add(value);
        self.last = value;
        self.min = if is_first { value } else { self.min.min(value) };
        self.max = self.max.max(value);
    }
}

/// The cost of a statement.
#[derive(Debug, Clone, Copy)]
pub struct StatementStats {
    /// When it ran first.
    pub first: WallTime,
    /// When it ran last.
    pub last: WallTime,
    /// How often it has run.
    pub runs: u64,
    /// Processor time.
    pub cpu_us: Figure,
    /// Time from start to end.
    pub elapsed_us: Figure,
    /// Pages read from the buffer pool.
    pub logical_reads: Figure,
    /// Pages read from disk.
    pub physical_reads: Figure,
    /// Pages changed.
    pub writes: Figure,
    /// Rows returned or changed.
    pub rows: Figure,
}

/// A text and the cost of its statements, by their position in the text.
#[derive(Debug)]
pub struct TextStats {
    /// The text of the batch.
    pub text: Arc<str>,
    handle: OnceLock<Value>,
    /// Whether the server has discarded it: a connection that still uses it has to get a new one.
    forgotten: AtomicBool,
    statements: Mutex<BTreeMap<(u32, u32), StatementStats>>,
}

impl TextStats {
    /// The handle of the text, computed on first use.
    pub fn handle(&self) -> &Value {
        self.handle.get_or_init(|| handle(&self.text))
    }

    /// Whether the server has forgotten it.
    pub(crate) fn is_forgotten(&self) -> bool {
        self.forgotten.load(Ordering::Relaxed)
    }

    /// Marks a text as discarded unless it stays.
    fn stays(&self, stays: bool) -> bool {
        self.forgotten.store(!stays, Ordering::Relaxed);
        stays
    }

    /// The statements that have run.
    pub fn statements(&self) -> Vec<(Span, StatementStats)> {
        let all = self.statements.lock();
        all.iter()
            .map(|((start, end), stats)| (Span::new(*start, *end), *stats))
            .collect()
    }

    fn last(&self) -> i64 {
        let all = self.statements.lock();
        all.values()
            .map(|s| s.last.unix_us())
            .max()
            .unwrap_or(i64::MAX)
    }
}

/// The texts of a server.
#[derive(Debug, Default)]
pub struct QueryStats {
    texts: Mutex<HashMap<Arc<str>, Arc<TextStats>>>,
}

impl QueryStats {
    /// The figures of a text.
    pub fn of(&self, text: &str) -> Arc<TextStats> {
        let mut texts = self.texts.lock();
        if let Some(known) = texts.get(text) {
            return Arc::clone(known);
        }
        if texts.len() >= MOST {
            let mut ages: Vec<i64> = texts.values().map(|t| t.last()).collect();
            ages.sort_unstable();
            let middle = ages.get(MOST / 2).copied().unwrap_or(i64::MAX);
            texts.retain(|_, t| t.stays(t.last() > middle));
        }
        // No text was older than the median: all ran at the same moment, or none has ended yet.
        if texts.len() >= MOST {
            texts.retain(|_, t| t.stays(false));
        }
        let text: Arc<str> = text.into();
        let new = Arc::new(TextStats {
            text: Arc::clone(&text),
            handle: OnceLock::new(),
            forgotten: AtomicBool::new(false),
            statements: Mutex::default(),
        });
        texts.insert(text, Arc::clone(&new));
        new
    }

    /// All texts, sorted by their text.
    pub fn texts(&self) -> Vec<Arc<TextStats>> {
        let mut all: Vec<Arc<TextStats>> = self.texts.lock().values().cloned().collect();
        all.sort_by(|a, b| a.text.cmp(&b.text));
        all
    }

    /// Forgets all.
    pub fn clear(&self) {
        self.texts.lock().retain(|_, t| t.stays(false));
    }
}

/// The processor time of a connection's thread at the last system call.
#[derive(Debug, Clone, Copy)]
pub struct Mark {
    cpu: CpuMark,
    /// The time of short statements since then.
    short_ns: u64,
}

impl Mark {
    /// Begins at this processor time of the thread.
    pub fn at(cpu: CpuMark) -> Mark {
        Mark { cpu, short_ns: 0 }
    }
}

/// `None` if unmeasured work has run since the last measurement.
pub type Clock = Option<Mark>;

/// A statement under way.
#[derive(Debug)]
pub struct Running {
    mark: Mark,
    began: StatementTime,
    span: CpuSpan,
    pages: PageWork,
}

/// A statement has begun.
pub fn begin(clock: &mut Clock, began: StatementTime) -> Running {
    Running {
        mark: (clock.take()).unwrap_or_else(|| Mark::at(CpuMark::at(began.at()))),
        began,
        span: CpuSpan::begin(began.at()),
        pages: page_work(),
    }
}

/// The statement has ended and returned or changed `rows` rows. A failed statement is not counted.
pub fn end(clock: &mut Clock, of: &TextStats, at: Span, running: &Running, rows: u64) {
    let now = Moment::now();
    let elapsed_ns = now.since_ns(running.began.at());
    let mut mark = running.mark;
    let cpu_ns = match elapsed_ns < SHORT_NS {
        true => {
            let busy_ns = running.span.busy_ns(now);
            mark.short_ns += busy_ns;
            busy_ns
        }
        false => {
            let mut before = mark.cpu;
            before.ns += mark.short_ns;
            mark = Mark::at(CpuMark::measured(now));
            running.span.spent_ns(before, mark.cpu.ns, now)
        }
    };
    *clock = Some(mark);
    let pages = page_work().since(running.pages);
    let began = running.began.wall();
    let mut all = of.statements.lock();
    let stats = all
        .entry((at.start, at.end))
        .or_insert_with(|| StatementStats {
            first: began,
            last: began,
            runs: 0,
            cpu_us: Figure::default(),
            elapsed_us: Figure::default(),
            logical_reads: Figure::default(),
            physical_reads: Figure::default(),
            writes: Figure::default(),
            rows: Figure::default(),
        });
    let is_first = stats.runs == 0;
    stats.runs += 1;
    stats.last = began;
    stats.cpu_us.add(cpu_ns / 1000, is_first);
    stats.elapsed_us.add(elapsed_ns / 1000, is_first);
    stats.logical_reads.add(pages.logical_reads, is_first);
    stats.physical_reads.add(pages.reads, is_first);
    stats.writes.add(pages.writes, is_first);
    stats.rows.add(rows, is_first);
}

/// The same for statements that differ in their constants alone: `query_hash`.
pub fn query_hash(statement: &str) -> u64 {
    let mut words = String::with_capacity(statement.len());
    for token in Lexer::tokens(statement) {
        match token.kind {
            Kind::Integer
            | Kind::Decimal
            | Kind::Float
            | Kind::Money
            | Kind::Binary
            | Kind::String
            | Kind::National => words.push('?'),
            _ => words.push_str(&token.span.of(statement).to_lowercase()),
        }
        words.push(' ');
    }
    XxHash3_64::oneshot(words.as_bytes())
}

/// The handle of a text: `0x02`, three zeros, and five hashes of the text under five seeds.
pub fn handle(of: &str) -> Value {
    let mut bytes = vec![2, 0, 0, 0];
    for seed in 0..5 {
        bytes.extend(XxHash3_64::oneshot_with_seed(seed, of.as_bytes()).to_be_bytes());
    }
    Value::Binary(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_that_differ_in_constants_have_the_same_hash() {
        let hash = query_hash("SELECT a FROM t WHERE b = 1");
        assert_eq!(hash, query_hash("select a\n from T where b = 'x' -- why"));
        assert_ne!(hash, query_hash("SELECT a FROM t WHERE c = 1"));
    }

    #[test]
    fn the_handle_of_a_text_is_the_same_in_every_run() {
        let Value::Binary(bytes) = handle("SELECT 1") else {
            panic!("a handle is binary");
        };
        let known = [
            0x02, 0, 0, 0, 0x75, 0x14, 0x8B, 0x6C, 0xF8, 0x7D, 0x2A, 0xA1, 0x65, 0xE2,
        ];
        assert_eq!((bytes.len(), &bytes[..14]), (44, &known[..]));
        assert_ne!(handle("SELECT 1"), handle("select 1"));
    }

    #[test]
    fn of_too_many_texts_those_go_that_ran_longest_ago() {
        let stats = QueryStats::default();
        let at = |n: i64| StatementStats {
            first: WallTime::from_unix_us(n),
            last: WallTime::from_unix_us(n),
            runs: 1,
            cpu_us: Figure::default(),
            elapsed_us: Figure::default(),
            logical_reads: Figure::default(),
            physical_reads: Figure::default(),
            writes: Figure::default(),
            rows: Figure::default(),
        };
        for n in 0..=MOST as i64 {
            let text = stats.of(&format!("SELECT {n}"));
            text.statements.lock().insert((0, 8), at(n));
        }
        let texts = stats.texts();
        assert!(texts.len() <= MOST / 2 + 1, "{}", texts.len());
        assert!(texts.iter().all(|t| &*t.text != "SELECT 1"));
        assert!(texts.iter().any(|t| &*t.text == "SELECT 1024"));
        stats.clear();
        assert!(stats.texts().is_empty());
    }
}
