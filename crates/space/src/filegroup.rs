//! A filegroup in memory.

use crate::config::FilegroupSpec;
use crate::fill::Fill;
use furrow_io::sync::Mutex;
use furrow_io::sync::atomic::{AtomicBool, Ordering};
use furrow_observe::latches::{ClassLatch, LatchClass};

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
    name: Mutex<String>,
    pub(crate) is_default: AtomicBool,
    pub(crate) autogrow_all: AtomicBool,
    pub(crate) fill: Fill,
    /// Held by a thread that adds, removes or grows a file (FGCB_ADD_REMOVE).
    pub(crate) growth: ClassLatch<GrowthTurn>,
}

impl Filegroup {
    pub(crate) fn new(spec: FilegroupSpec, fill: Fill) -> Filegroup {
        Filegroup {
            id: spec.id,
            name: Mutex::new(spec.name),
            is_default: AtomicBool::new(spec.is_default),
            autogrow_all: AtomicBool::new(spec.autogrow_all),
            fill,
            growth: ClassLatch::new(LatchClass::FgcbAddRemove, GrowthTurn::default()),
        }
    }

    /// Sets a new name and new properties. The object stays the same, because units refer to it: so there is
    /// only ever one latch under which its files grow.
    pub(crate) fn redefine(&self, spec: FilegroupSpec) {
        *self.name.lock() = spec.name;
        self.is_default.store(spec.is_default, Ordering::Relaxed);
        self.autogrow_all
            .store(spec.autogrow_all, Ordering::Relaxed);
    }

    pub(crate) fn name(&self) -> String {
        self.name.lock().clone()
    }

    pub(crate) fn spec(&self) -> FilegroupSpec {
        FilegroupSpec {
            id: self.id,
            name: self.name(),
            autogrow_all: self.autogrow_all.load(Ordering::Relaxed),
            is_default: self.is_default.load(Ordering::Relaxed),
        }
    }
}
