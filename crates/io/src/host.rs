//! Facts of the machine that must be published with every measured figure.
//!
//! Everything comes from `/proc` and `/sys` and degrades to `None` elsewhere; nothing here fails.

pub use crate::limits::{memory_left_bytes, memory_limit_bytes};
pub use crate::mount::{Mount, mount_of};
use std::path::Path;

/// The machine.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Host {
    /// The processor's own name for itself.
    pub cpu_model: Option<String>,
    /// Processors that this process may use.
    pub cpus: usize,
    /// Memory in bytes.
    pub memory_bytes: Option<u64>,
    /// Operating system and release of its kernel.
    pub kernel: Option<String>,
    /// Memory that could be had without swapping, when this was looked at.
    pub memory_free_bytes: Option<u64>,
    /// Whether this is a virtual machine; `None` where the processor does not show it.
    pub virtual_machine: Option<bool>,
    /// The maker of the (virtual) machine, as its firmware reports it: `QEMU Standard PC`.
    pub machine: Option<String>,
    /// The frequency governor of the first processor: `performance`, `powersave`.
    pub governor: Option<String>,
    /// Whether the kernel lets this process use io_uring.
    pub io_uring: bool,
}

/// The block device under a path.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Device {
    /// The kernel's name of the whole device, such as `nvme0n1`.
    pub name: String,
    /// The vendor's name of the model.
    pub model: Option<String>,
    /// Whether it reports that it rotates (virtual disks often do).
    pub rotational: Option<bool>,
    /// The I/O scheduler in force.
    pub scheduler: Option<String>,
    /// `write back` (volatile cache) or `write through`.
    pub write_cache: Option<String>,
    /// Whether it can make a single write durable without a flush.
    pub fua: Option<bool>,
    /// The smallest unit it takes, in bytes.
    pub logical_block_bytes: Option<u64>,
    /// The smallest unit it writes without reading first, in bytes.
    pub physical_block_bytes: Option<u64>,
    /// Its size in bytes.
    pub size_bytes: Option<u64>,
}

/// Time of all processors together since the machine started, in ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(missing_docs, reason = "the kernel's own names")]
pub struct CpuTicks {
    pub user: u64,
    pub nice: u64,
    pub system: u64,
    pub idle: u64,
    pub iowait: u64,
    pub irq: u64,
    pub softirq: u64,
    pub steal: u64,
}

impl CpuTicks {
    fn total(self) -> u64 {
        [
            self.user,
            self.nice,
            self.system,
            self.idle,
            self.iowait,
            self.irq,
            self.softirq,
            self.steal,
        ]
        .into_iter()
        .fold(0, u64::saturating_add)
    }

    /// Percent of the time since `earlier` that the hypervisor gave to others; `None` within one tick.
    pub fn steal_percent_since(self, earlier: CpuTicks) -> Option<f64> {
        self.percent_since(earlier, self.steal.saturating_sub(earlier.steal))
    }

    /// Percent of the time since `earlier` that processors were not idle.
    pub fn busy_percent_since(self, earlier: CpuTicks) -> Option<f64> {
        let rest = |ticks: CpuTicks| ticks.idle.saturating_add(ticks.iowait);
        let all = self.total().saturating_sub(earlier.total());
        self.percent_since(
            earlier,
            all.saturating_sub(rest(self).saturating_sub(rest(earlier))),
        )
    }

    fn percent_since(self, earlier: CpuTicks, part: u64) -> Option<f64> {
        let all = self.total().saturating_sub(earlier.total());
        (all > 0).then(|| part as f64 * 100.0 / all as f64)
    }
}

pub(crate) fn text_of(path: impl AsRef<Path>) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// The value of the first `name : value` line.
pub(crate) fn labelled(text: &str, name: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let (label, value) = line.split_once(':')?;
        (label.trim() == name).then(|| value.trim().to_owned())
    })
}

/// The facts of this machine.
pub fn host() -> Host {
    let cpu = text_of("/proc/cpuinfo").unwrap_or_default();
    let memory = text_of("/proc/meminfo").unwrap_or_default();
    let kib = |name| {
        labelled(&memory, name)?
            .split(' ')
            .next()?
            .parse::<u64>()
            .ok()
    };
    let flags = labelled(&cpu, "flags");
    let uname = rustix::system::uname();
    let kernel = format!(
        "{} {}",
        uname.sysname().to_string_lossy(),
        uname.release().to_string_lossy()
    );
    Host {
        cpu_model: labelled(&cpu, "model name").or_else(|| labelled(&cpu, "Model")),
        cpus: crate::thread::available_cpus(),
        memory_bytes: kib("MemTotal").map(|kib| kib.saturating_mul(1024)),
        memory_free_bytes: kib("MemAvailable").map(|kib| kib.saturating_mul(1024)),
        kernel: Some(kernel),
        virtual_machine: flags.map(|flags| flags.split(' ').any(|flag| flag == "hypervisor")),
        machine: machine(),
        governor: text_of("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        io_uring: crate::system::io_uring_available(),
    }
}

/// Maker and product of the machine; in a container without `/sys` the hypervisor's own name, if any.
fn machine() -> Option<String> {
    let of = |name: &str| text_of(format!("/sys/class/dmi/id/{name}"));
    match (of("sys_vendor"), of("product_name")) {
        (Some(maker), Some(product)) if !product.starts_with(&maker) => {
            Some(format!("{maker} {product}"))
        }
        (maker, product) => product
            .or(maker)
            .or_else(|| text_of("/sys/hypervisor/type")),
    }
}

/// Ticks of all processors together, to be compared with an earlier reading.
pub fn cpu_ticks() -> Option<CpuTicks> {
    parse_ticks(&text_of("/proc/stat")?)
}

fn parse_ticks(text: &str) -> Option<CpuTicks> {
    let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let mut fields = line
        .split_ascii_whitespace()
        .map_while(|field| field.parse::<u64>().ok());
    let mut next = || fields.next();
    Some(CpuTicks {
        user: next()?,
        nice: next()?,
        system: next()?,
        idle: next()?,
        iowait: next().unwrap_or(0),
        irq: next().unwrap_or(0),
        softirq: next().unwrap_or(0),
        steal: next().unwrap_or(0),
    })
}

/// All memory of the machine; `None` where the system does not report it.
pub fn memory_bytes() -> Option<u64> {
    static BYTES: std::sync::OnceLock<Option<u64>> = std::sync::OnceLock::new();
    *BYTES.get_or_init(|| {
        let text = text_of("/proc/meminfo")?;
        let kib = labelled(&text, "MemTotal")?;
        let digits = kib.split_ascii_whitespace().next()?;
        digits.parse::<u64>().ok()?.checked_mul(1024)
    })
}

/// The block device under `path`; `None` for memory and network file systems.
pub fn device_of(path: &Path) -> Option<Device> {
    let mount = mount_of(path)?;
    let by_number = |(major, minor): (u32, u32)| {
        std::fs::canonicalize(format!("/sys/dev/block/{major}:{minor}")).ok()
    };
    let found = by_number(mount.device).or_else(|| {
        // File systems with numbers of their own (btrfs) still name the device they are on.
        let source = rustix::fs::stat(mount.source.as_str()).ok()?;
        by_number((
            rustix::fs::major(source.st_rdev),
            rustix::fs::minor(source.st_rdev),
        ))
    })?;
    let whole = if found.join("partition").exists() {
        found.parent()?.to_path_buf()
    } else {
        found
    };
    Some(read_device(&whole))
}

fn read_device(sys: &Path) -> Device {
    let queue = |name: &str| text_of(sys.join("queue").join(name));
    let number = |text: Option<String>| text.and_then(|text| text.parse::<u64>().ok());
    let truth = |text: Option<String>| number(text).map(|value| value != 0);
    let scheduler = queue("scheduler");
    let in_force = scheduler
        .as_ref()
        .and_then(|text| text.split(['[', ']']).nth(1).map(str::to_owned));
    Device {
        name: sys
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default(),
        model: text_of(sys.join("device/model")),
        rotational: truth(queue("rotational")),
        scheduler: in_force.or(scheduler),
        write_cache: queue("write_cache"),
        fua: truth(queue("fua")),
        logical_block_bytes: number(queue("logical_block_size")),
        physical_block_bytes: number(queue("physical_block_size")),
        size_bytes: number(text_of(sys.join("size"))).map(|sectors| sectors.saturating_mul(512)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_become_percent_of_the_time_between_two_readings() {
        let first = parse_ticks("cpu  10 0 10 80 0 0 0 0 0 0\ncpu0 1 1 1 1").unwrap();
        let second = parse_ticks("cpu  20 0 20 140 10 0 0 10").unwrap();
        assert_eq!(second.steal_percent_since(first), Some(10.0));
        assert_eq!(second.busy_percent_since(first), Some(30.0));
        assert_eq!(second.steal_percent_since(second), None);
    }

    #[test]
    fn this_machine_is_described_without_a_failure() {
        let found = host();
        assert!(found.cpus >= 1 && found.kernel.is_some());
        let here = Path::new("no/such/directory/yet");
        println!("{found:?}\n{:?}\n{:?}", mount_of(here), device_of(here));
        if cfg!(target_os = "linux") {
            assert!(
                found.memory_bytes.is_some() && mount_of(here).is_some() && cpu_ticks().is_some()
            );
        }
    }
}
