//! Counters of process, machine and disk around a timed section.

use furrow_io::host::{CpuTicks, cpu_ticks};
use furrow_io::process::{cpu_times, peak_memory};
use furrow_io::thread::available_cpus;
use furrow_io::time::Moment;
use serde_json::{Map, Value, json};
use std::process::Command;

/// The output of a command; empty if it cannot be run.
pub(crate) fn printed(program: &str, words: &[&str]) -> String {
    let output = Command::new(program).args(words).output();
    output
        .map(|o| String::from_utf8_lossy(&o.stdout).into_owned())
        .unwrap_or_default()
}

/// Counters of the disk since the machine started.
#[derive(Debug, Clone, Copy, Default)]
struct Disk {
    sectors_read: u64,
    writes: u64,
    sectors_written: u64,
    flushes: u64,
}

fn disk() -> Disk {
    let wanted = std::env::var("PEERS_DISK").unwrap_or_else(|_| "vda".to_string());
    let text = printed("cat", &["/proc/diskstats"]);
    let line = text
        .lines()
        .find(|line| line.split_whitespace().nth(2) == Some(&wanted));
    let fields: Vec<&str> = line.unwrap_or("").split_whitespace().collect();
    let field = |at: usize| fields.get(at).and_then(|f| f.parse().ok()).unwrap_or(0);
    Disk {
        sectors_read: field(5),
        writes: field(7),
        sectors_written: field(9),
        flushes: field(18),
    }
}

fn load() -> f64 {
    let text = printed("cat", &["/proc/loadavg"]);
    text.split(' ')
        .next()
        .and_then(|word| word.parse().ok())
        .unwrap_or(0.0)
}

/// Started before a timed section, finished after it.
#[derive(Debug)]
pub(crate) struct Meter {
    load: f64,
    disk: Disk,
    ticks: Option<CpuTicks>,
    cpu_ns: u64,
    start: Moment,
}

/// To two decimals.
pub(crate) fn round2(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

impl Meter {
    pub(crate) fn start() -> Meter {
        let (load, disk) = (load(), disk());
        let (ticks, cpu_ns) = (cpu_ticks(), cpu_times().total_ns);
        Meter {
            load,
            disk,
            ticks,
            cpu_ns,
            start: Moment::now(),
        }
    }

    /// Seconds since the start.
    pub(crate) fn seconds(&self) -> f64 {
        self.start.elapsed_ns().max(1) as f64 / 1e9
    }

    /// Adds seconds, CPU and disk figures to a result; returns the seconds.
    pub(crate) fn finish(&self, result: &mut Map<String, Value>) -> f64 {
        let seconds = self.seconds();
        let own = cpu_times().total_ns.saturating_sub(self.cpu_ns) as f64 / 1e9 / seconds * 100.0;
        let ticks = cpu_ticks().zip(self.ticks);
        let disk = disk();
        let whole = 100.0 * available_cpus() as f64;
        let busy = ticks
            .and_then(|(now, before)| now.busy_percent_since(before))
            .unwrap_or(0.0);
        let busy = busy / 100.0 * whole;
        let steal = ticks
            .and_then(|(now, before)| now.steal_percent_since(before))
            .unwrap_or(0.0);
        let sectors =
            |now: u64, before: u64| round2(now.saturating_sub(before) as f64 * 512.0 / 1e6);
        let rate = |now: u64, before: u64| (now.saturating_sub(before) as f64 / seconds).round();
        let mut put = |name: &str, value: f64| result.insert(name.into(), json!(value));
        put("secs", (seconds * 1000.0).round() / 1000.0);
        put("cpu_self_pct", round2(own));
        put("cpu_machine_pct", round2(busy));
        put("cpu_other_pct", round2((busy - own).max(0.0)));
        put("steal_pct", round2(steal));
        put(
            "dev_read_mb",
            sectors(disk.sectors_read, self.disk.sectors_read),
        );
        put(
            "dev_write_mb",
            sectors(disk.sectors_written, self.disk.sectors_written),
        );
        put("dev_writes_s", rate(disk.writes, self.disk.writes));
        put("dev_flushes_s", rate(disk.flushes, self.disk.flushes));
        put("load_before", self.load);
        let peak = peak_memory().unwrap_or(0) as f64;
        put("peak_rss_mb", (peak / 1e6).round());
        seconds
    }
}

/// Prints a result.
pub(crate) fn emit(result: Map<String, Value>) {
    println!("{}", Value::Object(result));
}

/// Bytes that a directory takes on the disk.
pub(crate) fn disk_bytes(dir: &std::path::Path) -> u64 {
    let text = printed("du", &["-s", "--block-size=1", &dir.display().to_string()]);
    text.split_whitespace()
        .next()
        .and_then(|word| word.parse().ok())
        .unwrap_or(0)
}
