//! Shared by the programs for the model checker: the crate's latch and marks, and a sleeper that reports no
//! waits.

#![expect(dead_code, reason = "each program has a part of the latch under test")]

#[path = "../../src/latch.rs"]
pub mod latch;
#[path = "../../src/mode.rs"]
pub mod mode;
#[path = "../../src/park.rs"]
pub mod park;
#[path = "../../src/watch.rs"]
pub mod watch;

pub struct Silent;

impl latch::Sleeps for Silent {
    fn begin(&mut self, _: bool) {}
    fn end(&mut self, _: u64) {}
}
