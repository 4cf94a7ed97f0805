//! Wait statistics: how often and how long threads waited, by type.
//!
//! A wait has a start and an end. At its start the count of its type goes up; at its end its time is
//! added. A wait under way is thus in the count, but not in the times: those who want to see it ask the
//! registry of tasks. All figures are cumulative since the start or since the last [`WaitTable::clear`].
//!
//! The time of a wait has two parts: the resource part, until somebody signals that the thing is there,
//! and the *signal* part, from then until the thread runs again. Totals hold both.

mod kinds;
mod table;

pub use kinds::{WaitCategory, WaitType, render_markdown};
pub use table::{TopWait, WaitRow, WaitSnapshot, WaitTable};
