//! Experiments, statistics, journal, report.

pub mod environment;
pub mod report;
pub mod results;
pub mod stats;
pub mod terminal;
