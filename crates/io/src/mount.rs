//! Where a path is mounted, according to `/proc/self/mountinfo`; `None` where there is no such file.

use std::path::Path;

/// Where a path is mounted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// The directory it is mounted on.
    pub mount_point: String,
    /// The file system's type, such as `ext4`.
    pub filesystem: String,
    /// What is mounted, mostly a device.
    pub source: String,
    /// Options of the mount and of the file system, comma-separated.
    pub options: String,
    /// Major and minor number of the device.
    pub(crate) device: (u32, u32),
}

/// The mount that `path` lies on, or would lie on once it is created.
pub fn mount_of(path: &Path) -> Option<Mount> {
    let existing = std::path::absolute(path).ok()?;
    let existing = existing
        .ancestors()
        .find_map(|step| std::fs::canonicalize(step).ok())?;
    find_mount(
        &std::fs::read_to_string("/proc/self/mountinfo").ok()?,
        &existing,
    )
}

/// The last mount whose point is the longest prefix of `path`: later mounts hide earlier ones.
fn find_mount(mountinfo: &str, path: &Path) -> Option<Mount> {
    mountinfo
        .lines()
        .filter_map(parse_mount)
        .filter(|mount| path.starts_with(&mount.mount_point))
        .max_by_key(|mount| Path::new(&mount.mount_point).components().count())
}

/// `36 35 98:0 /root /point options... - type source superoptions`
fn parse_mount(line: &str) -> Option<Mount> {
    let (left, right) = line.split_once(" - ")?;
    let left: Vec<&str> = left.split(' ').collect();
    let right: Vec<&str> = right.split(' ').collect();
    let (major, minor) = left.get(2)?.split_once(':')?;
    let options = match right.get(2) {
        Some(more) => format!("{},{more}", left.get(5)?),
        None => (*left.get(5)?).to_owned(),
    };
    Some(Mount {
        mount_point: unescape(left.get(4)?),
        filesystem: (*right.first()?).to_owned(),
        source: unescape(right.get(1)?),
        options,
        device: (major.parse().ok()?, minor.parse().ok()?),
    })
}

/// The kernel writes blank, tab, newline and backslash as a backslash and three octal digits.
fn unescape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        plain.push_str(before);
        match after
            .get(..3)
            .and_then(|digits| u8::from_str_radix(digits, 8).ok())
        {
            Some(byte) => {
                plain.push(char::from(byte));
                rest = after.get(3..).unwrap_or_default();
            }
            None => {
                plain.push('\\');
                rest = after;
            }
        }
    }
    plain + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard
30 22 0:26 / /mnt/my\\040disk rw,nosuid - tmpfs tmpfs rw,size=1g
31 22 0:27 / /mnt rw - xfs /dev/sdb1 rw";

    #[test]
    fn the_deepest_mount_of_a_path_is_found_and_its_blanks_are_blanks() {
        let found = find_mount(MOUNTS, Path::new("/mnt/my disk/a.mdf")).unwrap();
        assert_eq!(
            (found.filesystem.as_str(), found.mount_point.as_str()),
            ("tmpfs", "/mnt/my disk")
        );
        assert_eq!(
            find_mount(MOUNTS, Path::new("/mntx")).unwrap().filesystem,
            "ext4"
        );
        let root = find_mount(MOUNTS, Path::new("/srv")).unwrap();
        assert_eq!(
            (root.options.as_str(), root.device),
            ("rw,relatime,rw,discard", (254, 0))
        );
        assert!(parse_mount("nonsense").is_none());
    }
}
