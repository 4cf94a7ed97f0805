//! The clock.
