//! One schedule of the engine's threads, which `weave` tries. Locks, atomics and clocks are points of the
//! schedule.

#[cfg(feature = "weave")]
mod draw;
#[cfg(feature = "weave")]
pub(crate) mod run;
#[cfg(feature = "weave")]
pub(crate) mod strand;
mod tried;

pub use tried::{Finding, Tried};
