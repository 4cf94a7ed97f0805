//! Checks that there is space for the largest run.

use super::GuardError;
use crate::report::words::bytes;
use furrow_io::host::mount_of;
use furrow_io::{IoError, IoErrorKind, Space, Volume};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

/// One device, its free space and the space that the plan needs on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpaceCheck {
    /// The volumes that lie on it.
    pub volumes: Vec<PathBuf>,
    /// Predicted peak times the factor.
    pub needed_bytes: u64,
    /// The free space.
    pub free_bytes: u64,
}

impl SpaceCheck {
    /// Bytes missing; 0 when there is enough space.
    pub fn missing_bytes(&self) -> u64 {
        self.needed_bytes.saturating_sub(self.free_bytes)
    }
}

impl fmt::Display for SpaceCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let volumes: Vec<String> = self
            .volumes
            .iter()
            .map(|v| v.display().to_string())
            .collect();
        write!(
            f,
            "{} needs {} and has {} free",
            volumes.join(", "),
            bytes(self.needed_bytes),
            bytes(self.free_bytes)
        )?;
        match self.missing_bytes() {
            0 => Ok(()),
            missing => write!(f, ": {} are missing", bytes(missing)),
        }
    }
}

/// Checks every device; gives what was found, or the refusal with all that is missing.
pub fn check_space(
    volume: &dyn Volume,
    peaks: &BTreeMap<PathBuf, u64>,
    factor: f64,
) -> Result<Vec<SpaceCheck>, GuardError> {
    let mut devices: BTreeMap<String, SpaceCheck> = BTreeMap::new();
    for (path, &peak) in peaks {
        let free_bytes = space_at(volume, path)?.free_bytes;
        let device = mount_of(path).map_or_else(
            || path.display().to_string(),
            |mount| format!("{} {}", mount.source, mount.mount_point),
        );
        let needed = (peak as f64 * factor).ceil() as u64;
        let check = devices.entry(device).or_insert(SpaceCheck {
            volumes: Vec::new(),
            needed_bytes: 0,
            free_bytes,
        });
        check.volumes.push(path.clone());
        check.needed_bytes = check.needed_bytes.saturating_add(needed);
        check.free_bytes = check.free_bytes.min(free_bytes);
    }
    let checks: Vec<SpaceCheck> = devices.into_values().collect();
    let missing: Vec<SpaceCheck> = checks
        .iter()
        .filter(|check| check.missing_bytes() > 0)
        .cloned()
        .collect();
    if missing.is_empty() {
        Ok(checks)
    } else {
        Err(GuardError::Space { missing })
    }
}

/// Checks that so much memory is available; if the machine does not report it, the check passes.
pub fn check_memory(needed_bytes: u64, free_bytes: Option<u64>) -> Result<(), GuardError> {
    match free_bytes {
        Some(free_bytes) if needed_bytes > free_bytes => Err(GuardError::Memory {
            needed_bytes,
            free_bytes,
        }),
        _ => Ok(()),
    }
}

/// The free space at a directory, also one that does not exist yet: that of the nearest existing one above
/// it.
fn space_at(volume: &dyn Volume, path: &Path) -> Result<Space, IoError> {
    let above = path.ancestors().skip(1).filter(|dir| dir.is_absolute());
    let found = volume.space(path);
    match &found {
        Err(e) if e.kind == IoErrorKind::NotFound => above
            .map(|dir| volume.space(dir))
            .find(Result::is_ok)
            .unwrap_or(found),
        _ => found,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use furrow_io::MemoryVolume;

    #[test]
    fn what_is_missing_is_said_in_full() {
        let volume = MemoryVolume::with_capacity(100 << 20);
        let dir = PathBuf::from("/lab-volume-a");
        volume.create_dir(&dir).unwrap();
        let peaks = |mib: u64| BTreeMap::from([(dir.clone(), mib << 20)]);
        let checks = check_space(&volume, &peaks(80), 1.2).unwrap();
        assert_eq!(checks[0].needed_bytes, (96 << 20));
        let refused = check_space(&volume, &peaks(90), 1.2)
            .unwrap_err()
            .to_string();
        assert_eq!(
            refused,
            "not enough space: /lab-volume-a needs 108 MB and has 100 MB free: 8.00 MB are missing"
        );
    }

    #[test]
    fn a_directory_that_is_still_to_be_made_has_the_space_of_its_parent() {
        let volume = MemoryVolume::with_capacity(100 << 20);
        volume.create_dir(Path::new("/lab")).unwrap();
        let peaks = BTreeMap::from([(PathBuf::from("/lab/new/deeper"), 50 << 20)]);
        let checks = check_space(&volume, &peaks, 1.0).unwrap();
        assert_eq!(checks[0].free_bytes, 100 << 20);
        assert!(!volume.exists(Path::new("/lab/new")).unwrap());
    }

    #[test]
    fn volumes_on_one_device_share_its_space() {
        // Both lie on whatever the system mounts at the root.
        let volume = MemoryVolume::with_capacity(100 << 20);
        let dirs = [
            PathBuf::from("/lab-volume-a"),
            PathBuf::from("/lab-volume-b"),
        ];
        for dir in &dirs {
            volume.create_dir(dir).unwrap();
        }
        let peaks: BTreeMap<PathBuf, u64> =
            dirs.iter().map(|dir| (dir.clone(), 60 << 20)).collect();
        if mount_of(&dirs[0]).is_none() {
            println!("skipped: the system does not list its mounts");
            return;
        }
        let Err(GuardError::Space { missing }) = check_space(&volume, &peaks, 1.0) else {
            panic!("120 MiB were promised on a device of 100");
        };
        assert_eq!(missing[0].volumes.len(), 2);
        assert_eq!(missing[0].missing_bytes(), 20 << 20);
    }
}
