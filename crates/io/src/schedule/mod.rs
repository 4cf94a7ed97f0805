//! One schedule of the engine's threads: what `weave` tries. Locks, atomics and clocks stand back for it.

#[cfg(feature = "weave")]
mod draw;
#[cfg(feature = "weave")]
pub(crate) mod run;
#[cfg(feature = "weave")]
pub(crate) mod strand;
mod tried;

pub use tried::{Finding, Tried};
