//! The figures of a run beside its response.

use crate::workloads::latched::allocation_figures;
use crate::workloads::order_entry::{Asked, Kind};
use crate::workloads::page_latches;
use furrow_io::process;
use furrow_lab::results::{Figure, Latency, Run};

/// Latency, page latches, deadlocks, memory.
pub(super) fn figures_of(run: &Run, asked: &Asked) -> Vec<Figure> {
    let latency = |kind: Kind| run.latency.iter().find(|l| l.operation == kind.name());
    let p99 = latency(Kind::NewOrder).and_then(Latency::p99);
    let p99 = p99.map(|us| Figure::lower("new order p99", "ms", us as f64 / 1e3));
    let mb = |bytes: Option<u64>| bytes.unwrap_or(0) as f64 / f64::from(1 << 20);
    let seconds = run.seconds.unwrap_or(1.0).max(1e-6);
    let mut figures: Vec<Figure> = p99.into_iter().collect();
    figures.extend([
        Figure::lower(
            "PAGELATCH on other pages",
            "ms/s",
            page_latches::ms_a_second(run, |latch| !page_latches::is_allocation(latch)),
        )
        .additive(),
        Figure::lower("deadlocks", "/s", asked.deadlocks as f64 / seconds),
        Figure::neutral("memory of the process", "MB", mb(process::memory())),
    ]);
    figures.extend(allocation_figures(run));
    figures
}
