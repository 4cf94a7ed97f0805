//! What uses a block device: mounts, swap, and devices built on it.

use std::path::{Path, PathBuf};

/// What uses the block device of this number, or one of its partitions, as text; empty when it is not in use.
pub(crate) fn users_of(major: u32, minor: u32) -> Vec<String> {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let root = Path::new("/sys/dev/block");
    users(
        root,
        (major, minor),
        &read("/proc/self/mountinfo"),
        &read("/proc/swaps"),
    )
}

fn users(root: &Path, device: (u32, u32), mountinfo: &str, swaps: &str) -> Vec<String> {
    let numbers = |(major, minor): (u32, u32)| format!("{major}:{minor}");
    let mut found = Vec::new();
    let mut devices = vec![(numbers(device), String::new())];
    let sys = root.join(numbers(device));
    let sys = std::fs::canonicalize(&sys).unwrap_or(sys);
    let names = |dir: PathBuf| {
        let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    };
    if let Some(name) = sys.file_name() {
        devices[0].1 = name.to_string_lossy().into_owned();
    }
    for name in names(sys.clone()) {
        let part = sys.join(&name);
        if part.join("partition").exists()
            && let Some(number) = crate::host::text_of(part.join("dev"))
        {
            devices.push((number, name));
        }
    }
    for (number, name) in &devices {
        for line in mountinfo.lines() {
            let fields: Vec<&str> = line.split(' ').collect();
            if fields.get(2) == Some(&number.as_str()) {
                let point = fields.get(4).copied().unwrap_or("?");
                found.push(format!("{name} is mounted on {point}"));
            }
        }
        let device = format!("/dev/{name}");
        if swaps
            .lines()
            .any(|line| line.split_ascii_whitespace().next() == Some(device.as_str()))
        {
            found.push(format!("{name} is swap space"));
        }
        let holders = if *name == devices[0].1 {
            sys.join("holders")
        } else {
            sys.join(name).join("holders")
        };
        found.extend(
            names(holders)
                .into_iter()
                .map(|by| format!("{name} is part of {by}")),
        );
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mounted_partition_swap_and_a_holder_are_found() {
        let dir = tempfile::tempdir().unwrap();
        let sys = dir.path().join("8:0");
        for (name, number) in [("sda1", "8:1"), ("sda2", "8:2")] {
            let part = sys.join(name);
            std::fs::create_dir_all(part.join("holders/md0")).unwrap();
            std::fs::write(part.join("partition"), "1").unwrap();
            std::fs::write(part.join("dev"), number).unwrap();
        }
        std::fs::remove_dir(sys.join("sda1/holders/md0")).unwrap();
        let mounts =
            "36 35 8:1 / /srv rw - ext4 /dev/sda1 rw\n37 35 8:17 / /x rw - ext4 /dev/sdb1 rw";
        let swaps = "Filename Type\n/dev/sda2 partition 100 0 -2";
        assert_eq!(
            users(dir.path(), (8, 0), mounts, swaps),
            [
                "sda1 is mounted on /srv",
                "sda2 is swap space",
                "sda2 is part of md0"
            ]
        );
        assert_eq!(
            users(dir.path(), (9, 9), mounts, swaps),
            Vec::<String>::new()
        );
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_device_under_the_root_is_in_use() {
        let Some(mount) = crate::host::mount_of(Path::new("/")) else {
            return;
        };
        let (major, minor) = mount.device;
        if major == 0 {
            println!("skipped: the root is on no block device");
            return;
        }
        let users = users_of(major, minor);
        assert!(
            users.iter().any(|user| user.contains("is mounted on")),
            "{users:?}"
        );
    }
}
