//! io_uring: all runs of a batch in flight at once.
//!
//! A pool stores the rings and lends each to one batch at a time, so that a ring has one user and new threads
//! need no ring of their own. A batch returns only when the kernel has reported every one of its runs: until
//! then the kernel writes into, or reads from, memory that the caller lent.

use io_uring::{IoUring, opcode, squeue, types};
use parking_lot::Mutex;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::OnceLock;

/// The most runs of a ring in flight.
const ENTRIES: u32 = 64;

static POOL: Mutex<Vec<IoUring>> = Mutex::new(Vec::new());

/// Whether the kernel allows io_uring; tested once, by a ring that does nothing.
pub(crate) fn available() -> bool {
    static ANSWER: OnceLock<bool> = OnceLock::new();
    *ANSWER.get_or_init(|| match make() {
        Ok(ring) => {
            POOL.lock().push(ring);
            true
        }
        Err(error) => {
            tracing::debug!(%error, "io_uring is refused, batches go by preadv and pwritev");
            false
        }
    })
}

/// A ring that has been tested: some sandboxes let rings be created and not entered.
#[expect(unsafe_code, reason = "the kernel's queues are filled by hand")]
fn make() -> std::io::Result<IoUring> {
    let mut ring = IoUring::builder()
        .setup_coop_taskrun()
        .build(ENTRIES)
        .or_else(|_| IoUring::new(ENTRIES))?;
    // SAFETY: a no-op refers to no memory.
    let pushed = unsafe { ring.submission().push(&opcode::Nop::new().build()) };
    pushed.map_err(std::io::Error::other)?;
    ring.submit_and_wait(1)?;
    let answer = ring.completion().next().map(|entry| entry.result());
    match answer {
        Some(0..) => Ok(ring),
        Some(negated) => Err(std::io::Error::from_raw_os_error(-negated)),
        None => Err(std::io::Error::other("the ring gave no completion")),
    }
}

/// One run for the ring: where its buffers are listed, and, afterwards, its result.
pub(crate) struct Job<'a> {
    fd: BorrowedFd<'a>,
    entry: squeue::Entry,
    /// Bytes moved, or a negated error number.
    pub(crate) result: i32,
}

/// Direction of a [`Job`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Read,
    Write,
}

impl<'a> Job<'a> {
    /// A run of the first `count` buffers of the system's `iovec` array at `iovec`.
    pub(crate) fn new(
        fd: BorrowedFd<'a>,
        direction: Direction,
        offset: u64,
        iovec: *const (),
        count: usize,
    ) -> Job<'a> {
        let place = types::Fd(fd.as_raw_fd());
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        let entry = match direction {
            Direction::Read => opcode::Readv::new(place, iovec.cast(), count)
                .offset(offset)
                .build(),
            Direction::Write => opcode::Writev::new(place, iovec.cast(), count)
                .offset(offset)
                .build(),
        };
        Job {
            fd,
            entry,
            result: 0,
        }
    }
}

/// Runs all jobs and waits for all of them. `false` when no ring could be had; then nothing was done.
///
/// # Safety
/// Each job's iovec array and the memory it lists must stay valid, and for reads unaliased, until this
/// function returns.
#[expect(
    unsafe_code,
    reason = "the kernel is given pointers that the caller vouches for"
)]
pub(crate) unsafe fn run(jobs: &mut [Job<'_>]) -> bool {
    let lent = POOL.lock().pop();
    let Some(mut ring) = lent.or_else(|| make().ok()) else {
        return false;
    };
    let (mut next, mut in_flight) = (0, 0);
    while next < jobs.len() || in_flight > 0 {
        while next < jobs.len() && in_flight < ENTRIES as usize {
            let entry = jobs[next].entry.clone().user_data(next as u64);
            // SAFETY: the caller keeps buffers and descriptors alive until `run` returns, and `run` returns
            // only after the completion of this entry was seen.
            if unsafe { ring.submission().push(&entry) }.is_err() {
                break;
            }
            next += 1;
            in_flight += 1;
        }
        // While more jobs wait to be submitted the ring is refilled as soon as it has space.
        let want = if next < jobs.len() { 1 } else { in_flight };
        if let Err(error) = ring.submit_and_wait(want)
            && !is_passing(&error)
        {
            // The kernel may hold pointers into the caller's memory, and the requests can no longer be
            // cancelled.
            tracing::error!(%error, "io_uring broke down with transfers under way");
            std::process::abort();
        }
        for entry in ring.completion() {
            if let Some(job) = usize::try_from(entry.user_data())
                .ok()
                .and_then(|at| jobs.get_mut(at))
            {
                job.result = entry.result();
            }
            in_flight -= 1;
        }
    }
    POOL.lock().push(ring);
    true
}

/// Errors of `io_uring_enter` after which the same call may be made again.
pub(crate) fn is_passing(error: &std::io::Error) -> bool {
    use rustix::io::Errno;
    let number = error.raw_os_error().unwrap_or(0);
    [Errno::INTR, Errno::AGAIN, Errno::BUSY, Errno::TIME]
        .iter()
        .any(|errno| errno.raw_os_error() == number)
}

impl std::fmt::Debug for Job<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Job({:?}, result {})", self.fd, self.result)
    }
}
