//! What this process has used so far.

use rustix::time::{ClockId, clock_gettime};
use std::cell::Cell;

/// Processor time of this process since it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CpuTimes {
    /// User and system together, to the nanosecond.
    pub total_ns: u64,
    /// In user mode, in steps of the system's tick (mostly 10 ms); `None` where `/proc` is missing.
    pub user_us: Option<u64>,
    /// In the kernel, likewise.
    pub system_us: Option<u64>,
}

/// Bytes that this process has moved to and from devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DeviceBytes {
    /// Fetched from devices.
    pub read_bytes: u64,
    /// Sent to devices, or set down in the page cache to be sent.
    pub write_bytes: u64,
}

/// Makes a write past the limit of a file's size (`ulimit -f`) an error, [`crate::IoErrorKind::NoSpace`], and
/// not the end of the process by a signal. It applies to the whole process: a program calls it at its
/// beginning, a library leaves it to the program.
#[expect(unsafe_code, reason = "the system gets the handler of a signal")]
pub fn survive_file_size_limit() {
    // SAFETY: to ignore a signal runs no code of ours, and touches no memory of the process.
    let _before = unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// The number of this process.
pub fn id() -> u32 {
    std::process::id()
}

fn clock_ns(clock: ClockId) -> u64 {
    let at = clock_gettime(clock);
    let seconds = u64::try_from(at.tv_sec).unwrap_or(0);
    seconds
        .saturating_mul(1_000_000_000)
        .saturating_add(u64::try_from(at.tv_nsec).unwrap_or(0))
}

/// Processor time used by the process, all threads together.
pub fn cpu_times() -> CpuTimes {
    let ticks = std::fs::read_to_string("/proc/self/stat")
        .ok()
        .and_then(|text| stat_ticks(&text));
    let per_second = rustix::param::clock_ticks_per_second().max(1);
    let us = |ticks: u64| ticks.saturating_mul(1_000_000) / per_second;
    CpuTimes {
        total_ns: clock_ns(ClockId::ProcessCPUTime),
        user_us: ticks.map(|(user, _)| us(user)),
        system_us: ticks.map(|(_, system)| us(system)),
    }
}

thread_local! {
    static HELPERS_NS: Cell<u64> = const { Cell::new(0) };
}

/// Processor time used by the calling thread and its helpers ([`add_helper_cpu_ns`]), in nanoseconds.
pub fn thread_cpu_ns() -> u64 {
    clock_ns(ClockId::ThreadCPUTime) + helper_cpu_ns()
}

/// Adds the processor time of a thread that has worked for the calling one and has ended.
pub fn add_helper_cpu_ns(ns: u64) {
    HELPERS_NS.with(|all| all.set(all.get() + ns));
}

/// What [`add_helper_cpu_ns`] has added for the calling thread.
pub fn helper_cpu_ns() -> u64 {
    HELPERS_NS.with(Cell::get)
}

/// Fields 14 and 15 of `/proc/PID/stat`; field 2 is the name in brackets, which may hold anything.
fn stat_ticks(text: &str) -> Option<(u64, u64)> {
    let (_, after_name) = text.rsplit_once(')')?;
    let mut fields = after_name.split_ascii_whitespace().skip(11);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

/// The most memory the process has held at once, in bytes.
pub fn peak_memory() -> Option<u64> {
    status_bytes("VmHWM:")
}

/// Memory that the process holds now, in bytes.
pub fn memory() -> Option<u64> {
    status_bytes("VmRSS:")
}

fn status_bytes(field: &str) -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let kib = text.lines().find_map(|line| line.strip_prefix(field))?;
    let kib: u64 = kib.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kib * 1024)
}

/// Files, sockets and the like that the process has open, as their numbers lead to them.
pub fn open_files() -> Option<Vec<String>> {
    let mut open = Vec::new();
    for entry in std::fs::read_dir("/proc/self/fd").ok()? {
        let path = entry.ok()?.path();
        // The one that is open for the reading of this list is gone by now.
        if let Ok(leads_to) = std::fs::read_link(path) {
            open.push(leads_to.display().to_string());
        }
    }
    Some(open)
}

/// Bytes moved to and from devices since the process began.
#[cfg(test)]
pub(crate) fn device_bytes() -> Option<DeviceBytes> {
    let text = std::fs::read_to_string("/proc/self/io").ok()?;
    let field = |name: &str| {
        text.lines()
            .find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
    };
    Some(DeviceBytes {
        read_bytes: field("read_bytes:")?,
        write_bytes: field("write_bytes:")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_shows_in_the_processor_time() {
        let (before, mine) = (cpu_times(), thread_cpu_ns());
        let mut sum = 0_u64;
        while thread_cpu_ns() - mine < 20_000_000 {
            sum = std::hint::black_box(sum.wrapping_mul(31).wrapping_add(7));
        }
        assert!(cpu_times().total_ns - before.total_ns >= 20_000_000);
        assert!(id() > 0);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn what_linux_tells_is_read() {
        let times = cpu_times();
        assert!(times.user_us.is_some() && times.system_us.is_some());
        assert!(peak_memory().unwrap() > 1 << 20 && memory().unwrap() <= peak_memory().unwrap());
        assert!(open_files().unwrap().len() >= 3);
    }

    #[test]
    fn a_process_name_with_brackets_and_blanks_does_not_shift_the_fields() {
        let text = "12 (a) b) (c) S 1 1 1 0 -1 4194560 9 0 0 0 77 33 0 0 20 0 1 0";
        assert_eq!(stat_ticks(text), Some((77, 33)));
        assert_eq!(stat_ticks("12 (short) S 1"), None);
    }
}
