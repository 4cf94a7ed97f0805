//! A database that the tests create, read back by the reader of real files.
//!
//! It has what the sample files do not contain: forwarded rows, rows older than a column, dropped columns,
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
