//! Performance counters: what the engine does, counted.
//!
//! A [`CounterSet`] has a cell for each counter. The instance has one, the totals; each database and
//! lock type has its own beside it, and what is added there is added to the totals too.
//! Cells are split over shards by thread, so that threads on different processors do not pull one cache
//! line to and fro; reading adds the shards up.

mod kinds;
mod object;
mod set;
mod waits;

pub use kinds::{Counter, render_markdown};
pub use object::{CounterKind, Object};
pub use set::{CounterRow, CounterSet, Counters};
pub use waits::wait_statistics;
