//! How much memory this process may have: of the machine, of its address space (`ulimit -v`), of its cgroup.
//!
//! - The machine: `MemTotal` of `/proc/meminfo`.
//! - The address space and the data segment: `RLIMIT_AS` and `RLIMIT_DATA`.
//! - cgroup version 2: `memory.max` of the process's group and of each group around it.
//! - cgroup version 1: `memory.limit_in_bytes` of the group of the memory controller and of those around it.
//!
//! A source that can't be read sets no limit.

use crate::host::{memory_bytes, text_of};
use rustix::process::{Resource, getrlimit};
use std::path::{Path, PathBuf};

/// Where the groups are.
const GROUPS: &str = "/sys/fs/cgroup";

/// A group and where the figures of its version are.
#[derive(Debug, PartialEq, Eq)]
struct Group {
    path: PathBuf,
    /// The file with its limit.
    limit: &'static str,
    /// The line of `memory.stat` with what it uses and cannot give back.
    used: &'static str,
}

/// The limit and the use of one kind of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Share {
    limit: u64,
    used: u64,
}

/// The most memory this process may have in bytes; `None` where nothing limits it and the machine's memory is
/// unknown. It is read once.
pub fn memory_limit_bytes() -> Option<u64> {
    static BYTES: std::sync::OnceLock<Option<u64>> = std::sync::OnceLock::new();
    *BYTES.get_or_init(|| {
        let shares = shares().into_iter().map(|share| share.limit);
        shares.chain(memory_bytes()).min()
    })
}

/// How much more memory this process can have in bytes: what its limits leave, or the machine; `None` where
/// neither is known.
pub fn memory_left_bytes() -> Option<u64> {
    let left = |share: Share| share.limit.saturating_sub(share.used);
    let machine = text_of("/proc/meminfo").and_then(|text| kib(&text, "MemAvailable"));
    shares().into_iter().map(left).chain(machine).min()
}

/// The limit of this process's address space in bytes; `None` where it has none. The data segment counts as
/// one: it has the heap and all private memory.
pub(crate) fn address_space_limit() -> Option<u64> {
    let limits = [Resource::As, Resource::Data].map(|resource| getrlimit(resource).current);
    limits.into_iter().flatten().min()
}

/// All limits that are set.
fn shares() -> Vec<Share> {
    let status = text_of("/proc/self/status").unwrap_or_default();
    let used = |field: &str| kib(&status, field);
    let mut shares: Vec<Share> = [(Resource::As, "VmSize"), (Resource::Data, "VmData")]
        .into_iter()
        .filter_map(|(resource, field)| {
            let limit = getrlimit(resource).current?;
            let used = used(field)?;
            Some(Share { limit, used })
        })
        .collect();
    let groups = text_of("/proc/self/cgroup").unwrap_or_default();
    shares.extend(all_group_shares(&groups, Path::new(GROUPS)));
    shares
}

/// The limits of the groups that the lines of `/proc/self/cgroup` name, below `root`.
fn all_group_shares(lines: &str, root: &Path) -> Vec<Share> {
    let groups = lines.lines().filter_map(|line| group_of(line, root));
    groups
        .flat_map(|group| group_shares(&group, root))
        .collect()
}

fn kib(status: &str, field: &str) -> Option<u64> {
    let text = crate::host::labelled(status, field)?;
    let digits = text.split_ascii_whitespace().next()?;
    digits.parse::<u64>().ok()?.checked_mul(1024)
}

/// The group that a line of `/proc/self/cgroup` names (`hierarchy:controllers:path`), where it limits memory.
fn group_of(line: &str, root: &Path) -> Option<Group> {
    let (_, rest) = line.split_once(':')?;
    let (controllers, path) = rest.split_once(':')?;
    let path = path.trim_start_matches('/');
    if controllers.is_empty() {
        return Some(Group {
            path: root.join(path),
            limit: "memory.max",
            used: "anon",
        });
    }
    controllers
        .split(',')
        .any(|c| c == "memory")
        .then(|| Group {
            path: root.join("memory").join(path),
            limit: "memory.limit_in_bytes",
            used: "total_rss",
        })
}

/// The limits of a group and of those around it. In a container the group's own path may be missing, but the
/// root of the visible tree is there.
fn group_shares(group: &Group, root: &Path) -> Vec<Share> {
    let around = group.path.ancestors();
    let around = around.take_while(|path| path.starts_with(root));
    let share = |path: &Path| {
        let limit = text_of(path.join(group.limit))?.parse::<u64>().ok()?;
        let stat = text_of(path.join("memory.stat")).unwrap_or_default();
        let line = stat.lines().find_map(|line| {
            let (name, number) = line.split_once(' ')?;
            (name == group.used).then(|| number.parse::<u64>().ok())?
        });
        let used = line.unwrap_or(0);
        // Without a limit the file contains `max`, or in version 1 a number beyond all memory.
        (limit < 1 << 60).then_some(Share { limit, used })
    };
    around.filter_map(share).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_both_versions_are_found() {
        let root = Path::new(GROUPS);
        let unified = group_of("0::/user.slice/a", root).unwrap();
        assert_eq!(unified.path, Path::new("/sys/fs/cgroup/user.slice/a"));
        assert_eq!((unified.limit, unified.used), ("memory.max", "anon"));
        let memory = group_of("7:cpu,memory:/docker/1", root).unwrap();
        assert_eq!(memory.path, Path::new("/sys/fs/cgroup/memory/docker/1"));
        assert_eq!(group_of("5:cpuset:/docker/1", root), None);
        assert_eq!(group_of("none", root), None);
    }

    /// A tree of groups: each file with its text.
    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        root
    }

    fn share(limit: u64, used: u64) -> Share {
        Share { limit, used }
    }

    #[test]
    fn groups_of_version_2_are_limited_by_themselves_and_by_those_around_them() {
        let stat = "anon 5000\nfile 900000\nkernel_stack 16384\n";
        let root = tree(&[
            ("a/b/memory.max", "max\n"),
            ("a/b/memory.stat", stat),
            ("a/memory.max", "1073741824\n"),
            ("a/memory.stat", "file 1\nanon 6000\n"),
            ("memory.stat", "anon 7000\n"),
        ]);
        let of = |lines: &str| all_group_shares(lines, root.path());
        assert_eq!(of("0::/a/b\n"), [share(1 << 30, 6000)]);
        // A limit of its own comes first; what surrounds it still counts.
        std::fs::write(root.path().join("a/b/memory.max"), "1048576").unwrap();
        assert_eq!(
            of("0::/a/b\n"),
            [share(1 << 20, 5000), share(1 << 30, 6000)]
        );
        // In a container the group's path is missing, but the root of the visible tree has its figures.
        std::fs::write(root.path().join("memory.max"), "2097152\n").unwrap();
        assert_eq!(of("0::/system.slice/docker-1\n"), [share(2 << 20, 7000)]);
        assert_eq!(of(""), []);
    }

    #[test]
    fn groups_of_version_1_are_limited_by_the_memory_controller_alone() {
        let root = tree(&[
            ("memory/docker/1/memory.limit_in_bytes", "536870912\n"),
            ("memory/docker/1/memory.stat", "rss 1\ntotal_rss 4096\n"),
            ("memory/memory.limit_in_bytes", "9223372036854771712\n"),
            ("cpu/docker/1/memory.limit_in_bytes", "1\n"),
        ]);
        let lines = "12:cpu,cpuacct:/docker/1\n7:memory:/docker/1\n1:name=systemd:/docker/1\n";
        assert_eq!(
            all_group_shares(lines, root.path()),
            [share(512 << 20, 4096)]
        );
        // A limit that is no number limits nothing.
        let path = root.path().join("memory/docker/1/memory.limit_in_bytes");
        std::fs::write(path, "much").unwrap();
        assert_eq!(all_group_shares(lines, root.path()), []);
    }

    #[test]
    fn no_limit_is_more_than_the_machine_has() {
        let limit = memory_limit_bytes();
        if let (Some(limit), Some(all)) = (limit, memory_bytes()) {
            assert!(limit > 0 && limit <= all);
        }
        println!("limit {limit:?}, left {:?}", memory_left_bytes());
    }
}
