//! Devices and pipes: they have a path and are no array of bytes.
//!
//! `/dev/null`, `/dev/stdin`, a named pipe and the shell's `<(command)` have no length and no offsets, and
//! must never be removed to create a file in their place. [`reader`] and [`writer`] open them as they are and
//! leave ordinary files to a [`Volume`](crate::Volume).

use crate::{IoError, IoErrorKind, IoOp};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{QueueSelector, tcflush};
use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

fn failed(op: IoOp, path: &Path, error: &io::Error) -> IoError {
    IoError::new(op, path, 0, IoErrorKind::of_std(error))
}

/// Whether something is there that bytes flow through. A directory is for the caller to stumble over.
fn flows(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir())
}

/// The device or pipe at `path`, to be read to its end; `None` where there is a file, or nothing.
pub fn reader(path: &Path) -> Result<Option<Box<dyn io::Read>>, IoError> {
    if !flows(path) {
        return Ok(None);
    }
    let opened = File::open(path).map_err(|e| failed(IoOp::Open, path, &e))?;
    Ok(Some(Box::new(opened)))
}

/// The device or pipe at `path`, to be written from front to back; `None` where there is a file, or nothing.
/// What the program has open already, as `/dev/stdout`, is a stream also if it is a file.
pub fn writer(path: &Path) -> Result<Option<Box<dyn io::Write>>, IoError> {
    let mut how = OpenOptions::new();
    how.write(true);
    match path.to_str() {
        Some("/dev/stdout" | "/dev/fd/1" | "/proc/self/fd/1") => {
            return Ok(Some(Box::new(io::stdout())));
        }
        Some("/dev/stderr" | "/dev/fd/2" | "/proc/self/fd/2") => {
            return Ok(Some(Box::new(io::stderr())));
        }
        _ if flows(path) => {}
        _ if path.starts_with("/dev/fd") || path.starts_with("/proc/self/fd") => {
            // Opening it again begins at its first byte, not behind what was written already.
            how.append(true);
        }
        _ => return Ok(None),
    }
    let opened = how.open(path);
    let opened = opened.map_err(|e| failed(IoOp::Open, path, &e))?;
    Ok(Some(Box::new(opened)))
}

/// Drops what was typed at the terminal of standard input and not read yet, and what follows without a pause.
pub fn discard_terminal_input() {
    let input = io::stdin();
    let pause = Timespec {
        tv_sec: 0,
        tv_nsec: 100_000_000,
    };
    for _ in 0..MOST_DISCARDED {
        let dropped = tcflush(&input, QueueSelector::IFlush);
        let mut waiting = [PollFd::new(&input, PollFlags::IN)];
        if dropped.is_err() || !matches!(poll(&mut waiting, Some(&pause)), Ok(1..)) {
            break;
        }
    }
    // A line without an end is not reported to `poll`.
    let _ = tcflush(&input, QueueSelector::IFlush);
}

/// How often input is discarded before the user is heard again.
const MOST_DISCARDED: usize = 100;

/// The most links that are followed one after the other, as in the system's own calls.
const MOST_LINKS: usize = 40;

/// Where a path leads to: a link is followed, so that a caller that replaces the file leaves the link as it
/// is. A link may lead to a file that does not exist yet.
pub fn destination(path: &Path) -> PathBuf {
    let mut path = path.to_path_buf();
    for _ in 0..MOST_LINKS {
        if let Ok(found) = std::fs::canonicalize(&path) {
            return found;
        }
        let Ok(target) = std::fs::read_link(&path) else {
            break;
        };
        path = path
            .parent()
            .map_or(target.clone(), |dir| dir.join(&target));
    }
    path
}

/// Whether two paths lead to one file.
pub fn is_same_file(one: &Path, other: &Path) -> bool {
    let identity = |path: &Path| rustix::fs::stat(path).map(|found| (found.st_dev, found.st_ino));
    matches!((identity(one), identity(other)), (Ok(one), Ok(other)) if one == other)
}

/// Whether a path leads to the file that is the program's standard input.
pub fn is_standard_input(path: &Path) -> bool {
    let input = rustix::fs::fstat(io::stdin());
    let found = rustix::fs::stat(path);
    matches!((input, found), (Ok(input), Ok(found))
        if (input.st_dev, input.st_ino) == (found.st_dev, found.st_ino))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};

    #[test]
    fn a_device_is_opened_as_it_is_and_stays() {
        let null = Path::new("/dev/null");
        let mut text = String::new();
        let mut from = reader(null).unwrap().unwrap();
        assert_eq!(from.read_to_string(&mut text).unwrap(), 0);
        writer(null).unwrap().unwrap().write_all(b"gone").unwrap();
        assert!(flows(null));
    }

    #[test]
    fn files_directories_and_nothing_are_left_to_the_volume() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        std::fs::write(&file, "text").unwrap();
        for path in [file.as_path(), dir.path(), &dir.path().join("nothing")] {
            assert!(reader(path).unwrap().is_none(), "{}", path.display());
            assert!(writer(path).unwrap().is_none(), "{}", path.display());
        }
    }

    #[test]
    fn a_link_leads_to_its_file_and_a_new_name_to_itself() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().canonicalize().unwrap().join("file");
        std::fs::write(&file, "text").unwrap();
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert_eq!(destination(&link), file);
        let new = dir.path().join("new");
        assert_eq!(destination(&new), new);
        let ahead = dir.path().join("ahead");
        std::os::unix::fs::symlink("new", &ahead).unwrap();
        assert_eq!(destination(&ahead), new);
        let round = dir.path().join("round");
        std::os::unix::fs::symlink("round", &round).unwrap();
        assert_eq!(destination(&round), round);
        assert!(is_same_file(&link, &file) && !is_same_file(&new, &new));
        assert!(!is_standard_input(&file));
    }
}
