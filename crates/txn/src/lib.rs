//! Transactions, locks, deadlocks, mini-transactions.
