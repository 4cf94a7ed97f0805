//! Experiments, statistics, journal, report.
