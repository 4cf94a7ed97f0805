//! Isolation levels, tested by what transactions read.
//!
//! Threads append numbers to lists under a few keys and read lists. Each number is unique, so a list shows
//! its writers in their order. All lists that were read give a graph of which transaction came before which,
//! and every phenomenon that a level forbids is a cycle in it ([`anomalies`]). The test uses no lock, no
//! clock and no internal of the engine.
//!
//! Other threads write and read registers ([`inference`]): a value that is overwritten leaves no trace, so
//! that updates can be lost, and the order of versions is inferred from what was read.
//!
//! # What each level must not show
//!
//! | level | forbidden |
//! |---|---|
//! | READ UNCOMMITTED | lost or doubled elements, writes through each other (G0) |
//! | READ COMMITTED | also: what was rolled back, half done, or flows in a circle (G1) |
//! | REPEATABLE READ | also: lost updates, read and write skew over rows that are there (G-single, G2-item) |
//! | SERIALIZABLE | every cycle, over rows that come as well |

pub mod anomalies;
pub mod cycles;
pub mod history;
pub mod inference;
mod registers;
mod run;

pub use anomalies::{Anomaly, Found, anomalies};
pub use history::{Element, End, History, Op, Registers, Touch, Txn, Value};
pub use registers::{SCRIPTS, Script, Step, play, run_registers};
pub use run::{Figures, Shape, level_name, record, run};
