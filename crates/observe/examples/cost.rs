//! What observing costs: nanoseconds for each thing that the engine does with this crate.
//!
//! `cargo run --release -p furrow-observe --example cost`. Each figure is the best of several rounds.

use furrow_io::time::Moment;
use furrow_observe::Instruments;
use furrow_observe::counters::Counter;
use furrow_observe::files::IoKind;
use furrow_observe::latches::{ClassLatch, LatchClass};
use furrow_observe::spinlocks::{SpinClass, Spinlock};
use furrow_observe::task::{self, Resource, Task};
use furrow_observe::traceflags::TraceFlag;
use furrow_observe::waits::WaitType;
use std::hint::black_box;

const ROUNDS: u32 = 7;
const TURNS: u32 = 200_000;

fn measure(what: &str, mut work: impl FnMut()) {
    let mut best_ns = f64::INFINITY;
    for _ in 0..ROUNDS {
        let start = Moment::now();
        for _ in 0..TURNS {
            work();
        }
        best_ns = best_ns.min(start.elapsed_ns() as f64 / f64::from(TURNS));
    }
    println!("{best_ns:8.1} ns  {what}");
}

fn main() {
    let instruments = Instruments::new();
    let task = Task::new(&instruments, 51, "cost");
    let _guard = task::enter(&task);
    let plain = furrow_io::sync::Mutex::new(0u64);
    measure("a plain mutex, free, to compare with", || {
        *plain.lock() += 1;
    });
    let latch = ClassLatch::new(LatchClass::FgcbAddRemove, 0u64);
    measure("a class latch, free, exclusive", || *latch.exclusive() += 1);
    measure("a class latch, free, shared", || {
        black_box(*latch.shared());
    });
    let spin = Spinlock::new(SpinClass::FgcbPrpFill, 0u64);
    measure("a spinlock, free", || *spin.lock() += 1);
    measure("is a trace flag on", || {
        black_box(task::trace_flag_on(black_box(
            TraceFlag::PRINT_PROPORTIONAL_FILL,
        )));
    });
    let total = instruments.counters.total();
    measure("count one page lookup", || {
        total.add(Counter::PageLookups, 1);
    });
    let file = instruments.files.open(5, 1, "x");
    measure("record a read that ended", || {
        file.record(IoKind::Read, 0, 8192, black_box(117), 0);
    });
    measure("time and record a read", || {
        file.begin(IoKind::Read, 0).finish(8192);
    });
    measure("one clock reading", || {
        black_box(Moment::now());
    });
    measure(
        "a wait of no length, charged to session and instance",
        || {
            task::wait(WaitType::WriteLog, Resource::None).finish();
        },
    );
    let before = instruments.waits.snapshot();
    measure("a snapshot of all waits", || {
        black_box(instruments.waits.snapshot());
    });
    assert_eq!(
        before.row(WaitType::WriteLog).count,
        u64::from(ROUNDS * TURNS)
    );
}
