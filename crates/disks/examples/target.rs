//! Measures an existing file without the program `furrow`: for a comparison with fio.
//! `cargo run --release -p furrow-disks --example target -- FILE DEPTH SECONDS READ_PERCENT`
//!
//! With less than 100 reads the content of the file is lost.

use furrow_disks::load::{Arrival, Load, Window, run_target};
use furrow_io::raw::{RawAccess, RawTarget};
use furrow_io::time::Duration;
use std::path::Path;
use std::sync::atomic::AtomicBool;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().collect();
    let [_, path, depth, seconds, reads] = &words[..] else {
        return Err("give FILE DEPTH SECONDS READ_PERCENT".into());
    };
    let read_percent: u32 = reads.parse()?;
    let access = if read_percent < 100 {
        RawAccess::Destroy
    } else {
        RawAccess::ReadOnly
    };
    let target = RawTarget::open(Path::new(path), access)?;
    let load = Load {
        read_percent,
        arrival: Arrival::Depth(depth.parse()?),
        ..Load::default()
    };
    let window = Window {
        warm_up: Duration::from_secs(1),
        measured: Duration::from_secs(seconds.parse()?),
        offset: 0,
    };
    let found = run_target(&target, &load, &window, &AtomicBool::new(false))?;
    println!(
        "{}: {:.0} IOPS, {:.1} MB/s, mean {:.1} us, p50 {:.1} us, p99 {:.1} us",
        target.engine(),
        found.iops(),
        found.megabytes_per_second(),
        found.latency.mean_ns as f64 / 1e3,
        found.latency.p50_ns as f64 / 1e3,
        found.latency.p99_ns as f64 / 1e3
    );
    Ok(())
}
