//! Performance counters of the engine's work.
//!
//! A [`CounterSet`] has a cell for each counter. The instance has one set, the totals; each database and lock
//! type has a set of its own, whose additions are added to the totals too. Cells are split over shards by
//! thread, so that threads on different processors rarely write to the same cache line; reading adds the
//! shards up.

mod kinds;
mod object;
mod set;
mod waits;

pub use kinds::{Counter, render_markdown};
pub use object::{CounterKind, Object};
pub use set::{CounterRow, CounterSet, Counters};
pub use waits::wait_statistics;
