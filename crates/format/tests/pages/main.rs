//! Pages and page changes under random and hostile input.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a failed unwrap is a failed test"
)]

mod changes;
mod damage;
mod hostile;
mod maps;
mod real;
mod support;
