//! Receivers of results: what a client gets, in the order in which it happens.

use furrow_messages::Message;
use furrow_types::{DataType, Value};

/// A column of a result.
#[derive(Debug, Clone, PartialEq)]
pub struct ResultColumn {
    /// Its name; empty if it has none.
    pub name: String,
    /// Its type.
    pub data_type: DataType,
    /// Whether it can be NULL.
    pub nullable: bool,
}

/// A message for the client: information (level 10 and below) or an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// Number, level, state, line, text.
    pub message: Message,
    /// The procedure that was running.
    pub procedure: Option<String>,
}

/// How a batch ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchEnd {
    /// The highest level of an error in it; 0 for none.
    pub worst_level: u8,
    /// Whether the client cancelled it.
    pub cancelled: bool,
}

/// Receives what a batch returns: result sets, counts, messages.
///
/// A result set is `columns`, then `row` for each row, then `done`. A statement without rows is `done` alone.
/// Rows and messages are not buffered: a client gets them as they are produced. Ends of statements are held
/// back while the transaction depends on a commit that is not durable yet.
pub trait Sink {
    /// A result set begins.
    fn columns(&mut self, columns: &[ResultColumn]);
    /// A row of it.
    fn row(&mut self, row: &[Value]);
    /// A statement has ended. `rows`: how many it returned or changed; `None` under SET NOCOUNT ON and for
    /// statements that count nothing.
    fn done(&mut self, rows: Option<u64>);
    /// A message.
    fn notice(&mut self, notice: &Notice);
}

/// A stored result set.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ResultSet {
    /// Its columns.
    pub columns: Vec<ResultColumn>,
    /// Its rows.
    pub rows: Vec<Vec<Value>>,
}

/// A sink that stores everything: for tests, and for callers that want small results as a whole.
#[derive(Debug, Default)]
pub struct Kept {
    /// The result sets.
    pub sets: Vec<ResultSet>,
    /// Counts of statements, in order.
    pub counts: Vec<u64>,
    /// Messages, in order.
    pub notices: Vec<Notice>,
}

impl Kept {
    /// The errors among the messages.
    pub fn errors(&self) -> Vec<&Message> {
        let messages = self.notices.iter().map(|n| &n.message);
        messages.filter(|m| m.is_error()).collect()
    }
}

impl Sink for Kept {
    fn columns(&mut self, columns: &[ResultColumn]) {
        self.sets.push(ResultSet {
            columns: columns.to_vec(),
            rows: Vec::new(),
        });
    }

    fn row(&mut self, row: &[Value]) {
        if let Some(set) = self.sets.last_mut() {
            set.rows.push(row.to_vec());
        }
    }

    fn done(&mut self, rows: Option<u64>) {
        self.counts.extend(rows);
    }

    fn notice(&mut self, notice: &Notice) {
        self.notices.push(notice.clone());
    }
}
