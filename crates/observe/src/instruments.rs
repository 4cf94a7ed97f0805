//! All instruments of one instance.

use crate::counters::{Counter, CounterRow, Counters, wait_statistics};
use crate::files::FileTable;
use crate::latches::{LatchClass, LatchStats};
use crate::spinlocks::SpinStats;
use crate::suspects::SuspectPages;
use crate::task::{Admission, Registry};
use crate::traceflags::TraceFlags;
use crate::waits::WaitTable;
use std::sync::{Arc, LazyLock};

/// All instruments of one instance: what its tasks charge, and what its views read.
#[derive(Debug, Default)]
pub struct Instruments {
    /// Wait statistics.
    pub waits: WaitTable,
    /// Latch statistics.
    pub latches: LatchStats,
    /// Spinlock statistics.
    pub spinlocks: SpinStats,
    /// Statistics of open files.
    pub files: FileTable,
    /// Performance counters.
    pub counters: Counters,
    /// Trace flags.
    pub trace_flags: TraceFlags,
    /// Pages that were found damaged.
    pub suspects: SuspectPages,
    /// Live tasks.
    pub tasks: Registry,
    /// How many batches run at once.
    pub admission: Admission,
}

impl Instruments {
    /// New instruments, all zero. An instance creates its own; tests create theirs.
    pub fn new() -> Arc<Instruments> {
        Arc::new(Instruments::default())
    }

    /// Those of the process: charged by threads that entered no task.
    pub fn process() -> &'static Arc<Instruments> {
        static PROCESS: LazyLock<Arc<Instruments>> = LazyLock::new(Instruments::new);
        &PROCESS
    }

    /// Adds a latch wait that ended to its class and to the counters; page latches charge
    /// [`LatchClass::Buffer`].
    pub fn charge_latch(&self, class: LatchClass, wait_us: u64) {
        self.latches.charge(class, wait_us);
        self.counters.add(Counter::LatchWaits, 1);
        self.counters.add(Counter::AverageLatchWaitTime, wait_us);
        self.counters.add(Counter::AverageLatchWaitTimeBase, 1);
        self.counters.add(Counter::TotalLatchWaitTime, wait_us);
    }

    /// The view of performance counters: what was counted, and the wait statistics as counters.
    pub fn counter_rows(&self) -> Vec<CounterRow> {
        let mut rows = self.counters.rows();
        rows.extend(wait_statistics(
            &self.waits.snapshot(),
            &self.tasks.waiting_tasks(),
        ));
        rows
    }
}
