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

/// What a register holds. Each is written once in a history; [`NEVER_WRITTEN`] is there in the beginning.
pub type Value = u32;

/// What registers hold in the beginning.
pub const NEVER_WRITTEN: Value = 0;

/// One thing a transaction did with registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Touch {
    /// Put a value in the register of a key.
    Write(i64, Value),
    /// Saw this value there.
    Read(i64, Value),
}

/// A transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Txn<O = Op> {
    /// Its client. A client's transactions are in their order.
    pub client: usize,
    /// What it did, in order.
    pub ops: Vec<O>,
    /// How it ended.
    pub end: End,
}

/// Transactions on registers, and what these held when all had ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Registers {
    /// The transactions, those of one client in order.
    pub txns: Vec<Txn<Touch>>,
    /// The value of each register in the end.
    pub last: std::collections::BTreeMap<i64, Value>,
}

/// Transactions of one database, and the lists as they were when all had ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct History {
    /// The transactions, in no order.
    pub txns: Vec<Txn>,
    /// The list under each key in the end.
    pub last: std::collections::BTreeMap<i64, Vec<Element>>,
}
