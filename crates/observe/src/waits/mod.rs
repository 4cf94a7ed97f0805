//! Wait statistics: how often and how long threads waited, by type.
//!
//! A wait has a start and an end. At its start the count of its type goes up; at its end its time is added.
//! So a wait in progress is in the count, but not in the times; the registry of tasks lists it. All figures
//! are cumulative since the start or since the last [`WaitTable::clear`].
//!
//! The time of a wait has two parts: the resource part, until another thread signals that the resource is
//! there, and the *signal* part, from then until the thread runs again. Totals include both.

mod kinds;
mod table;

pub use kinds::{WaitCategory, WaitType, render_markdown};
pub use table::{TopWait, WaitRow, WaitSnapshot, WaitTable};
