//! `furrow disk measure`: a real target by direct I/O.
//!
//! An existing target is read and never written, unless `--destroy` names it too. In a directory the command
//! creates a file, writes it once, measures it and removes it.

use super::super::interrupt;
use super::super::{FAILED, Failure, INTERRUPTED, REFUSED, USAGE, print};
use super::args::MeasureArguments;
use super::table::{lines, ms, size};
use super::{JSON_VERSION, facts_json, facts_lines, print_json};
use furrow_disks::load::{Arrival, Load, LoadError, Measurement, Pattern, Window, run_target};
use furrow_io::alignment::alignment_of;
use furrow_io::raw::{RawAccess, RawError, RawTarget};
use furrow_io::time::Duration;
use furrow_io::{IoErrorKind, SystemVolume, Volume, process};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// The default size of a new file.
const NEW_BYTES: u64 = 1 << 30;

/// A target, and the file that is removed when the measurement ends.
struct Opened {
    target: RawTarget,
    made: Option<PathBuf>,
}

impl Drop for Opened {
    fn drop(&mut self) {
        if let Some(path) = &self.made {
            let _stays = SystemVolume::new().remove(path);
        }
    }
}

fn refused(text: impl Into<String>) -> Failure {
    Failure::new(REFUSED, text)
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "the shape that map_err takes"
)]
fn raw_failure(error: RawError) -> Failure {
    let code = match &error {
        RawError::InUse { .. } | RawError::NotATarget(_) => REFUSED,
        RawError::Unaligned { .. } => USAGE,
        RawError::Io(e) => match e.kind {
            IoErrorKind::NotFound | IoErrorKind::Denied | IoErrorKind::ReadOnly => REFUSED,
            _ => FAILED,
        },
    };
    Failure::new(code, error.to_string())
}

fn load_failure(error: LoadError) -> Failure {
    match error {
        LoadError::Target(error) => raw_failure(error),
        other => Failure::new(USAGE, other.to_string()),
    }
}

fn open(options: &MeasureArguments, writes: bool) -> Result<Opened, Failure> {
    let path = &options.target;
    if path.is_dir() {
        if options.destroy.is_some() {
            let text = "--destroy names a file or a device; in a directory a new file is made";
            return Err(Failure::new(USAGE, text));
        }
        return make(path, options.size.unwrap_or(NEW_BYTES));
    }
    let same = |other: &Path| matches!((path.canonicalize(), other.canonicalize()), (Ok(a), Ok(b)) if a == b);
    let access = match &options.destroy {
        Some(named) if same(named) && writes => RawAccess::Destroy,
        Some(named) if !same(named) => {
            let text = format!(
                "--destroy names {}, and the target is {}; name the same one twice",
                named.display(),
                path.display()
            );
            return Err(Failure::new(USAGE, text));
        }
        None if writes => {
            let text = format!(
                "writes would overwrite {}; if its content may be lost, add --destroy {0}; else measure in \
                 a directory, or leave --reads at 100",
                path.display()
            );
            return Err(refused(text));
        }
        _ => RawAccess::ReadOnly,
    };
    let target = RawTarget::open(path, access).map_err(raw_failure)?;
    Ok(Opened { target, made: None })
}

fn make(dir: &Path, bytes: u64) -> Result<Opened, Failure> {
    let space = SystemVolume::new().space(dir);
    let free = space.map_err(|e| refused(e.to_string()))?.free_bytes;
    if bytes.saturating_add(64 << 20) > free {
        return Err(refused(format!(
            "{} has {free} bytes free, and the file takes {bytes}; give a smaller --size",
            dir.display()
        )));
    }
    let path = dir.join(format!("furrow-disk-{}.tmp", process::id()));
    let target = RawTarget::create(&path, bytes).map_err(raw_failure)?;
    Ok(Opened {
        target,
        made: Some(path),
    })
}

/// All combinations of the options, in order.
fn loads(options: &MeasureArguments) -> Vec<(u64, Load)> {
    let one = |given: &Option<Vec<u64>>, usual: u64| given.clone().unwrap_or_else(|| vec![usual]);
    let mut loads = Vec::new();
    for &block_bytes in &one(&options.block, furrow_disks::PAGE_BYTES) {
        for &read_percent in options.reads.as_deref().unwrap_or(&[100]) {
            for &depth in options.depth.as_deref().unwrap_or(&[1, 32]) {
                for &offset in &one(&options.offset, 0) {
                    let load = Load {
                        pattern: if options.sequential {
                            Pattern::Sequential
                        } else {
                            Pattern::Random
                        },
                        read_percent,
                        block_bytes,
                        arrival: Arrival::Depth(depth),
                        file_bytes: options.size.unwrap_or(0),
                        seed: options.seed,
                    };
                    loads.push((offset, load));
                }
            }
        }
    }
    loads
}

pub(super) fn run(options: &MeasureArguments) -> Result<u8, Failure> {
    let loads = loads(options);
    let writes = loads.iter().any(|(_, load)| load.read_percent < 100);
    let cancel = interrupt::flag(interrupt::OF_A_RUN)?;
    let opened = open(options, writes)?;
    let target = &opened.target;
    for (offset, load) in &loads {
        target.check_aligned(*offset).map_err(raw_failure)?;
        target
            .check_aligned(load.block_bytes)
            .map_err(raw_failure)?;
        let usable = target.bytes().saturating_sub(*offset);
        load.check(usable).map_err(load_failure)?;
    }
    let results = measured(options, target, &loads, &cancel)?;
    let alignment = alignment_of(&options.target);
    if options.json {
        let each = results.iter().map(|(offset, found)| {
            json!({
                "offset_bytes": offset,
                "iops": found.iops(),
                "megabytes_per_second": found.megabytes_per_second(),
                "measurement": found,
            })
        });
        return print_json(&json!({
            "version": JSON_VERSION,
            "modelled": false,
            "target": options.target.display().to_string(),
            "engine": target.engine(),
            "volume": facts_json(&options.target, alignment.as_ref()),
            "measurements": each.collect::<Vec<_>>(),
        }));
    }
    let mut text = format!(
        "Measured on {} ({}, {} bytes)\n",
        options.target.display(),
        target.engine(),
        target.bytes()
    );
    text.push_str(&facts_lines(&options.target, alignment.as_ref()));
    text.push_str(&table(&results));
    print(&text)?;
    Ok(0)
}

fn measured(
    options: &MeasureArguments,
    target: &RawTarget,
    loads: &[(u64, Load)],
    cancel: &AtomicBool,
) -> Result<Vec<(u64, Measurement)>, Failure> {
    let mut results = Vec::new();
    for (offset, load) in loads {
        let window = Window {
            warm_up: Duration::from_nanos(options.warm_up),
            measured: Duration::from_nanos(options.time.max(1_000_000)),
            offset: *offset,
        };
        let found = run_target(target, load, &window, cancel);
        if cancel.load(Ordering::Relaxed) {
            return Err(Failure::new(INTERRUPTED, "interrupted; nothing was kept"));
        }
        results.push((*offset, found.map_err(load_failure)?));
    }
    Ok(results)
}

fn table(results: &[(u64, Measurement)]) -> String {
    let row = |(offset, found): &(u64, Measurement)| {
        let load = &found.load;
        let depth = match load.arrival {
            Arrival::Depth(depth) => depth.to_string(),
            Arrival::PerSecond(rate) => format!("{rate}/s"),
        };
        vec![
            "measured".to_owned(),
            size(*offset),
            size(load.block_bytes),
            format!("{}%", load.read_percent),
            depth,
            format!("{:.0}", found.iops()),
            format!("{:.2}", found.megabytes_per_second()),
            ms(found.latency.mean_ns),
            ms(found.latency.p50_ns),
            ms(found.latency.p99_ns),
            ms(found.latency.p999_ns),
            ms(found.latency.max_ns),
        ]
    };
    let heads = [
        "source", "offset", "block", "reads", "depth", "IOPS", "MB/s", "mean ms", "p50 ms",
        "p99 ms", "p99.9 ms", "max ms",
    ];
    lines(&heads, &results.iter().map(row).collect::<Vec<_>>())
}
