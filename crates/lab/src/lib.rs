//! Experiments, statistics, journal, report.

pub mod environment;
pub mod results;
