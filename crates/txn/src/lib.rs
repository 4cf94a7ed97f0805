//! Transactions, locks, deadlocks, mini-transactions.

pub mod lock;
