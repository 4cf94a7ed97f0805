//! A filegroup in memory.

use crate::config::FilegroupSpec;
use crate::fill::Fill;
use furrow_observe::latches::ClassLatch;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whose turn it is to grow.
#[derive(Debug, Default)]
pub(crate) struct GrowthTurn {
    /// Place in the filling order of the file that grows next.
    pub(crate) next: usize,
}

/// A filegroup with its files.
#[derive(Debug)]
pub(crate) struct Filegroup {
    pub(crate) id: u16,
    pub(crate) name: String,
    pub(crate) is_default: AtomicBool,
    pub(crate) autogrow_all: AtomicBool,
    pub(crate) fill: Fill,
    /// Held by who adds, removes or grows a file (FGCB_ADD_REMOVE).
    pub(crate) growth: ClassLatch<GrowthTurn>,
}

impl Filegroup {
    pub(crate) fn spec(&self) -> FilegroupSpec {
        FilegroupSpec {
            id: self.id,
            name: self.name.clone(),
            autogrow_all: self.autogrow_all.load(Ordering::Relaxed),
            is_default: self.is_default.load(Ordering::Relaxed),
        }
    }
}
