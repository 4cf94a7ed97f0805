//! The plain engine: `preadv` and `pwritev` until every byte has gone.

use super::lanes::{Lane, Lanes};
use crate::AlignedBuf;
use rustix::io::Errno;
use std::io::{IoSlice, IoSliceMut};
use std::os::fd::BorrowedFd;

/// Buffers that one call takes (`IOV_MAX` of every system we know).
pub(crate) const MAX_BUFFERS: usize = 1024;

/// Bytes that pass through a bounce buffer at a time.
const BOUNCE_BYTES: usize = 1 << 20;

/// How a transfer failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The file ended.
    PastEnd,
    /// The system's error.
    Errno(Errno),
}

/// Reads what is missing of `bufs` after the first `done` bytes.
pub(crate) fn read_rest(
    lanes: &Lanes,
    offset: u64,
    bufs: &mut [IoSliceMut<'_>],
    mut done: usize,
) -> Result<(), Failure> {
    let total: usize = bufs.iter().map(|buf| buf.len()).sum();
    while done < total {
        let mut rest = rest_mut(bufs, done);
        let at = offset + done as u64;
        let lane = lanes.choose(at, rest.iter().map(|buf| &**buf));
        let fd = lanes.fd(lane);
        let moved = if lane == Lane::Bounce {
            read_bounced(fd, at, &mut rest)
        } else {
            let first = rest.len().min(MAX_BUFFERS);
            rustix::io::preadv(fd, &mut rest[..first], at)
        };
        match moved {
            Ok(0) => return Err(Failure::PastEnd),
            Ok(count) => done += count,
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(errno) => return Err(Failure::Errno(errno)),
        }
    }
    Ok(())
}

/// Writes what is missing of `bufs` after the first `done` bytes; durably when `durable`, where the system
/// has a flag for that. Returns whether all of it is durable.
pub(crate) fn write_rest(
    lanes: &Lanes,
    offset: u64,
    bufs: &[IoSlice<'_>],
    mut done: usize,
    durable: bool,
) -> Result<bool, Failure> {
    let total: usize = bufs.iter().map(|buf| buf.len()).sum();
    let mut flagged = durable && done == 0;
    while done < total {
        let rest = rest_of(bufs, done);
        let at = offset + done as u64;
        let lane = lanes.choose(at, rest.iter().map(|buf| &**buf));
        let fd = lanes.fd(lane);
        let moved = if lane == Lane::Bounce {
            write_bounced(fd, at, &rest, &mut flagged)
        } else {
            write_once(fd, at, &rest[..rest.len().min(MAX_BUFFERS)], &mut flagged)
        };
        match moved {
            Ok(0) => return Err(Failure::Errno(Errno::IO)),
            Ok(count) => done += count,
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(errno) => return Err(Failure::Errno(errno)),
        }
    }
    Ok(flagged)
}

/// One write, with the durable flag while `flagged`; a system that has no such flag clears it for good.
fn write_once(
    fd: BorrowedFd<'_>,
    at: u64,
    bufs: &[IoSlice<'_>],
    flagged: &mut bool,
) -> Result<usize, Errno> {
    #[cfg(target_os = "linux")]
    if *flagged {
        match rustix::io::pwritev2(fd, bufs, at, rustix::io::ReadWriteFlags::DSYNC) {
            Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => {}
            outcome => return outcome,
        }
    }
    *flagged = false;
    rustix::io::pwritev(fd, bufs, at)
}

fn read_bounced(fd: BorrowedFd<'_>, at: u64, bufs: &mut [IoSliceMut<'_>]) -> Result<usize, Errno> {
    let total: usize = bufs.iter().map(|buf| buf.len()).sum();
    let mut bounce = AlignedBuf::new(total.min(BOUNCE_BYTES));
    let count = rustix::io::pread(fd, &mut bounce[..], at)?;
    let mut left = &bounce[..count];
    for buf in bufs {
        let (now, later) = left.split_at(left.len().min(buf.len()));
        buf[..now.len()].copy_from_slice(now);
        left = later;
    }
    Ok(count)
}

fn write_bounced(
    fd: BorrowedFd<'_>,
    at: u64,
    bufs: &[IoSlice<'_>],
    flagged: &mut bool,
) -> Result<usize, Errno> {
    let total: usize = bufs.iter().map(|buf| buf.len()).sum();
    let mut bounce = AlignedBuf::new(total.min(BOUNCE_BYTES));
    let mut filled = 0;
    for buf in bufs {
        let now = buf.len().min(bounce.len() - filled);
        bounce[filled..filled + now].copy_from_slice(&buf[..now]);
        filled += now;
    }
    write_once(fd, at, &[IoSlice::new(&bounce)], flagged)
}

/// The buffers without their first `done` bytes. The caller's own slices are not moved: it reads by them.
fn rest_mut<'a>(bufs: &'a mut [IoSliceMut<'_>], done: usize) -> Vec<IoSliceMut<'a>> {
    let mut skip = done;
    let mut rest = Vec::with_capacity(bufs.len());
    for buf in bufs {
        let start = skip.min(buf.len());
        skip -= start;
        if start < buf.len() {
            rest.push(IoSliceMut::new(&mut buf[start..]));
        }
    }
    rest
}

fn rest_of<'a>(bufs: &'a [IoSlice<'_>], done: usize) -> Vec<IoSlice<'a>> {
    let mut skip = done;
    let mut rest = Vec::with_capacity(bufs.len());
    for buf in bufs {
        let start = skip.min(buf.len());
        skip -= start;
        if start < buf.len() {
            rest.push(IoSlice::new(&buf[start..]));
        }
    }
    rest
}
