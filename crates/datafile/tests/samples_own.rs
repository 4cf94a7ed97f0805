//! A database of our own making, read back by the reader of real files.
//!
//! What the sample files don't hold is made here: forwarded rows, rows older than a column, dropped columns,
//! large values in each of their forms.

#[cfg(test)]
#[path = "samples_own/builder.rs"]
mod builder;
#[cfg(test)]
#[path = "samples_own/catalog.rs"]
mod catalog;
#[cfg(test)]
#[path = "samples_own/rows.rs"]
mod rows;
