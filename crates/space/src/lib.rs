//! Files, filegroups, proportional fill, allocation maps.

mod config;
mod drop;
mod error;
mod extents;
mod file;
mod filegroup;
pub mod fill;
mod free;
mod grow;
mod heap;
mod new_file;
mod promise;
mod reserve;
mod space;
mod unit;
mod usage;

pub use config::{
    DataFile, FileCatalog, FileState, FilegroupSpec, FillTrace, SpaceConfig, SpaceOptions,
};
pub use error::SpaceError;
pub use free::FreedPages;
pub use new_file::new_file_pages;
pub use reserve::Reservation;
pub use space::Space;
pub use unit::Unit;
pub use usage::FileUsage;
