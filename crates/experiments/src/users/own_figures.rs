//! The figures of a run beside its response.

use crate::workloads::latched::allocation_figures;
use crate::workloads::order_entry::{Asked, Kind};
use crate::workloads::page_latches;
use furrow_io::process;
use furrow_lab::results::{Figure, Run};

/// Latency, page latches, deadlocks, memory.
pub(super) fn figures_of(run: &Run, asked: &Asked) -> Vec<Figure> {
    let latency = |kind: Kind| run.latency.iter().find(|l| l.operation == kind.name());
    let p99 = latency(Kind::NewOrder).map_or(0.0, |l| l.p99_us as f64 / 1e3);
    let mb = |bytes: Option<u64>| bytes.unwrap_or(0) as f64 / f64::from(1 << 20);
    let seconds = run.seconds.unwrap_or(1.0).max(1e-6);
    let mut figures = vec![
        Figure::lower("new order p99", "ms", p99),
        Figure::lower(
            "PAGELATCH on other pages",
            "ms/s",
            page_latches::ms_a_second(run, |latch| !page_latches::is_allocation(latch)),
        ),
        Figure::lower("deadlocks", "/s", asked.deadlocks as f64 / seconds),
        Figure::neutral("memory of the process", "MB", mb(process::memory())),
    ];
    figures.extend(allocation_figures(run));
    figures
}
