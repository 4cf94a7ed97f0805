//! Whether the partition under a path fits pages, extents, and the stripes and blocks of its device.
//!
//! Everything comes from `/sys` and is `None` where that has no entry. A container or a virtual machine sees
//! its own virtual disk: what lies below it stays unknown, and the report states that.

use crate::host::{Mount, mount_of, text_of};
use std::fmt;
use std::path::{Path, PathBuf};

/// A page of a data file.
const PAGE_BYTES: u64 = 8192;
/// An extent of eight pages.
const EXTENT_BYTES: u64 = 65_536;

/// What a file system lies on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ground {
    /// A whole disk without a partition table.
    WholeDisk,
    /// A partition.
    Partition {
        /// Its first byte on the disk.
        start_bytes: u64,
    },
    /// A device mapper or md device; what it consists of.
    Composed {
        /// Names of the devices below.
        of: Vec<String>,
    },
    /// No block device: memory, an overlay, a network file system.
    NoDevice {
        /// The file system's type.
        filesystem: String,
    },
}

/// The facts of a volume on which alignment depends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alignment {
    /// The kernel's name of the device: `sda1`.
    pub device: Option<String>,
    /// What the file system lies on.
    pub ground: Ground,
    /// The smallest unit that the device takes.
    pub logical_block_bytes: Option<u64>,
    /// The smallest unit that it writes without reading first.
    pub physical_block_bytes: Option<u64>,
    /// The smallest request that it does well: a stripe unit, where the device is an array.
    pub minimum_io_bytes: Option<u64>,
    /// The best size of a request: a stripe width, where the device is an array.
    pub optimal_io_bytes: Option<u64>,
    /// How far the device's own blocks are from where it begins; -1 where it cannot be aligned.
    pub alignment_offset: Option<i64>,
}

/// The alignment of the volume that `path` lies on; `None` where the system does not report where it is
/// mounted.
pub fn alignment_of(path: &Path) -> Option<Alignment> {
    let mount = mount_of(path)?;
    Some(alignment(Path::new("/sys/dev/block"), &mount))
}

fn alignment(root: &Path, mount: &Mount) -> Alignment {
    let nowhere = || Alignment {
        device: None,
        ground: Ground::NoDevice {
            filesystem: mount.filesystem.clone(),
        },
        logical_block_bytes: None,
        physical_block_bytes: None,
        minimum_io_bytes: None,
        optimal_io_bytes: None,
        alignment_offset: None,
    };
    let (major, minor) = mount.device;
    let by_number =
        |major: u32, minor: u32| std::fs::canonicalize(root.join(format!("{major}:{minor}"))).ok();
    let of_source = || {
        let source = rustix::fs::stat(mount.source.as_str()).ok()?;
        by_number(
            rustix::fs::major(source.st_rdev),
            rustix::fs::minor(source.st_rdev),
        )
    };
    // File systems with numbers of their own (btrfs) still name the device they are on.
    let Some(sys) = by_number(major, minor).or_else(of_source) else {
        return nowhere();
    };
    let number = |path: PathBuf| text_of(path).and_then(|text| text.parse::<u64>().ok());
    let is_partition = sys.join("partition").exists();
    let whole = match sys.parent() {
        Some(parent) if is_partition => parent.to_path_buf(),
        _ => sys.clone(),
    };
    let below = slaves(&sys);
    let ground = if is_partition {
        Ground::Partition {
            start_bytes: number(sys.join("start")).unwrap_or(0).saturating_mul(512),
        }
    } else if below.is_empty() {
        Ground::WholeDisk
    } else {
        Ground::Composed { of: below }
    };
    let queue = |name: &str| number(whole.join("queue").join(name));
    Alignment {
        device: sys
            .file_name()
            .map(|name| name.to_string_lossy().into_owned()),
        ground,
        logical_block_bytes: queue("logical_block_size"),
        physical_block_bytes: queue("physical_block_size"),
        minimum_io_bytes: queue("minimum_io_size").filter(|bytes| *bytes > 0),
        optimal_io_bytes: queue("optimal_io_size").filter(|bytes| *bytes > 0),
        alignment_offset: text_of(sys.join("alignment_offset")).and_then(|text| text.parse().ok()),
    }
}

fn slaves(sys: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(sys.join("slaves"))
        .into_iter()
        .flatten()
        .flatten();
    let mut names: Vec<String> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

impl Alignment {
    /// Where the volume begins on its disk; 0 where it is the whole disk.
    pub fn start_bytes(&self) -> Option<u64> {
        match &self.ground {
            Ground::WholeDisk => Some(0),
            Ground::Partition { start_bytes } => Some(*start_bytes),
            Ground::Composed { .. } | Ground::NoDevice { .. } => None,
        }
    }

    /// What does not fit, one sentence each, with what to do; empty where everything fits or nothing is
    /// known.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if let Some(start) = self.start_bytes() {
            let fits = |unit: u64| unit == 0 || start.is_multiple_of(unit);
            if let Some(block) = self.physical_block_bytes
                && !fits(block)
            {
                warnings.push(format!(
                    "the partition begins at byte {start}, which is no multiple of the physical block of \
                     {block} bytes: every page that is written is read first; begin it at a multiple of 1 MiB"
                ));
            } else if !fits(PAGE_BYTES) {
                warnings.push(format!(
                    "the partition begins at byte {start}, which is no multiple of a page of {PAGE_BYTES} \
                     bytes: on striped drives one page in (stripe unit / {PAGE_BYTES}) needs two drives; \
                     begin it at a multiple of 1 MiB"
                ));
            } else if let Some(width) = self.optimal_io_bytes
                && !fits(width)
            {
                warnings.push(format!(
                    "the partition begins at byte {start}, which is no multiple of the stripe width of \
                     {width} bytes: large requests touch one stripe more; begin it at a multiple of the width"
                ));
            } else if !fits(EXTENT_BYTES) {
                warnings.push(format!(
                    "the partition begins at byte {start}, which is no multiple of an extent of \
                     {EXTENT_BYTES} bytes: on stripe units of that size every extent needs two drives; begin \
                     it at a multiple of 1 MiB"
                ));
            }
        }
        if self.alignment_offset.is_some_and(|offset| offset != 0) {
            warnings.push(
                "the kernel reports that the device does not begin on one of its own blocks; create the \
                 partition or the array again with the defaults of a current tool"
                    .to_owned(),
            );
        }
        if let Some(block) = self.physical_block_bytes
            && block > PAGE_BYTES
        {
            warnings.push(format!(
                "the device writes blocks of {block} bytes: a page of {PAGE_BYTES} bytes is a part of one, \
                 so that page writes are read-modify-write on the device; measure before relying on it"
            ));
        }
        warnings
    }
}

impl fmt::Display for Alignment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.device.as_deref().unwrap_or("no block device");
        match &self.ground {
            Ground::WholeDisk => write!(f, "{name}: whole disk, begins at byte 0")?,
            Ground::Partition { start_bytes } => {
                write!(f, "{name}: partition that begins at byte {start_bytes}")?;
            }
            Ground::Composed { of } => write!(f, "{name}: made of {}", of.join(", "))?,
            Ground::NoDevice { filesystem } => {
                return write!(
                    f,
                    "{filesystem}: no block device of its own, so that its alignment is unknown"
                );
            }
        }
        let known = [
            ("logical block", self.logical_block_bytes),
            ("physical block", self.physical_block_bytes),
            ("minimum request", self.minimum_io_bytes),
            ("optimal request", self.optimal_io_bytes),
        ];
        for (what, bytes) in known {
            match bytes {
                Some(bytes) => write!(f, ", {what} {bytes} bytes")?,
                None => write!(f, ", {what} unknown")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree like `/sys/dev/block` with one disk and one partition of it.
    fn tree(start_sectors: u64, physical: u64, optimal: u64) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let disk = dir.path().join("devices/sda");
        let part = disk.join("sda1");
        let write = |path: PathBuf, value: u64| {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, value.to_string()).unwrap();
        };
        write(part.join("partition"), 1);
        write(part.join("start"), start_sectors);
        write(part.join("alignment_offset"), 0);
        write(disk.join("queue/logical_block_size"), 512);
        write(disk.join("queue/physical_block_size"), physical);
        write(disk.join("queue/minimum_io_size"), physical);
        write(disk.join("queue/optimal_io_size"), optimal);
        std::os::unix::fs::symlink(&part, dir.path().join("8:1")).unwrap();
        std::os::unix::fs::symlink(&disk, dir.path().join("8:0")).unwrap();
        dir
    }

    fn mount(device: (u32, u32), filesystem: &str) -> Mount {
        Mount {
            mount_point: "/".to_owned(),
            filesystem: filesystem.to_owned(),
            source: "/no/such/source".to_owned(),
            options: String::new(),
            device,
        }
    }

    #[test]
    fn a_partition_at_sector_63_is_warned_of_by_what_it_breaks() {
        let fine = tree(2048, 4096, 0);
        let found = alignment(fine.path(), &mount((8, 1), "ext4"));
        assert_eq!(found.start_bytes(), Some(1 << 20));
        assert_eq!((found.optimal_io_bytes, found.warnings()), (None, vec![]));
        for (start, physical, optimal, part) in [
            (63, 4096, 0, "physical block of 4096"),
            (63, 512, 0, "a page of 8192"),
            (64, 512, 0, "an extent of 65536"),
            (2048, 512, 3 << 19, "stripe width of 1572864"),
            (2048, 16_384, 0, "blocks of 16384"),
        ] {
            let dir = tree(start, physical, optimal);
            let warnings = alignment(dir.path(), &mount((8, 1), "ext4")).warnings();
            assert_eq!(warnings.len(), 1, "{warnings:?}");
            assert!(warnings[0].contains(part), "{warnings:?}");
        }
    }

    #[test]
    fn whole_disks_composed_devices_and_memory_are_distinguished() {
        let dir = tree(63, 512, 0);
        let whole = alignment(dir.path(), &mount((8, 0), "xfs"));
        assert_eq!(whole.ground, Ground::WholeDisk);
        assert!(whole.warnings().is_empty());
        assert!(whole.to_string().starts_with("sda: whole disk"));
        std::fs::create_dir_all(dir.path().join("devices/sda/slaves/sdb")).unwrap();
        let composed = alignment(dir.path(), &mount((8, 0), "xfs"));
        assert!(composed.to_string().starts_with("sda: made of sdb"));
        let memory = alignment(dir.path(), &mount((0, 30), "tmpfs"));
        assert!(memory.to_string().contains("alignment is unknown"));
        assert!(memory.warnings().is_empty() && memory.start_bytes().is_none());
    }

    #[test]
    fn the_volume_of_this_test_has_an_alignment() {
        let found = alignment_of(Path::new("."));
        println!("{found:?}");
        if cfg!(target_os = "linux") {
            assert!(found.is_some());
        }
    }
}
