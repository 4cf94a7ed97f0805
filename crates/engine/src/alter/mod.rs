//! ALTER DATABASE and DBCC SHRINKFILE: files and filegroups change while the database is in use.

mod empty;
mod groups;
mod online;
mod relocate;
mod shrink;

pub use online::FileChange;
pub use shrink::{Shrink, Shrunk};
