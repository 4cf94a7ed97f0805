//! What a session does with the rows of a table: methods of [`Session`](crate::Session).

mod batch;
mod bulk;
mod candidates;
mod change;
mod divide;
mod identity;
mod insert;
mod insert_many;
mod inserter;
mod load;
mod lock_waits;
mod locker;
mod locks;
mod moved;
mod pages;
mod point;
mod push;
mod read;
mod reading;
mod scan;

pub use bulk::{BulkInserter, BulkOptions};
pub use candidates::Claim;
pub use change::RowKey;
pub use divide::{Division, PART_PAGES};
pub use inserter::Inserter;
pub use load::BulkRows;
pub use moved::MovedRow;
pub use point::PointRow;
pub use push::PushValues;
pub use scan::{OpenScan, Scan};
