//! What transactions did and saw.

/// A value that is appended once in a history.
pub type Element = u32;

/// One thing a transaction did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Op {
    /// Put an element at the end of the list under a key.
    Append(i64, Element),
    /// Saw this list under a key; an absent key is an empty list.
    Read(i64, Vec<Element>),
}

/// How a transaction ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// It was acknowledged.
    Committed,
    /// It was rolled back.
    Aborted,
}

/// A transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Txn {
    /// What it did, in order.
    pub ops: Vec<Op>,
    /// How it ended.
    pub end: End,
}

/// Transactions of one database, and the lists as they were when all had ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct History {
    /// The transactions, in no order.
    pub txns: Vec<Txn>,
    /// The list under each key in the end.
    pub last: std::collections::BTreeMap<i64, Vec<Element>>,
}
