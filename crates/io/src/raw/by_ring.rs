//! Raw requests by io_uring: one thread, one ring, a buffer for each request under way.

use super::{RawLoad, RawOp, RawTarget, buffer};
use crate::time::Moment;
use crate::{AlignedBuf, IoError};
use io_uring::{IoUring, opcode, types};
use rustix::io::Errno;
use std::os::fd::AsRawFd;

/// A request under way; its buffer has the same index.
#[derive(Clone, Copy)]
struct UnderWay {
    op: RawOp,
    begun: Moment,
}

/// Requests, buffers and the ring that uses them.
struct Run<'a> {
    target: &'a RawTarget,
    ring: IoUring,
    buffers: Vec<AlignedBuf>,
    under_way: Vec<Option<UnderWay>>,
    free: Vec<usize>,
    failure: Option<IoError>,
}

pub(super) fn run(
    target: &RawTarget,
    block_bytes: usize,
    depth: usize,
    load: &mut dyn RawLoad,
) -> Result<(), IoError> {
    let entries = u32::try_from(depth.next_power_of_two()).unwrap_or(1024);
    let first = RawOp {
        write: false,
        offset: 0,
    };
    let ring = IoUring::new(entries).map_err(|error| target.failed(first, errno_of(&error)))?;
    let mut run = Run {
        target,
        ring,
        buffers: (0..depth)
            .map(|at| buffer(block_bytes, at as u64))
            .collect(),
        under_way: vec![None; depth],
        free: (0..depth).rev().collect(),
        failure: None,
    };
    let mut more = true;
    loop {
        while more
            && run.failure.is_none()
            && let Some(slot) = run.free.pop()
        {
            match load.next() {
                Some(op) => {
                    run.push(slot, op);
                    // Each request is on its way before the next one is drawn: requests that are submitted
                    // together leave a fast device idle meanwhile. An error comes again below.
                    let _again_below = run.ring.submit();
                }
                None => {
                    run.free.push(slot);
                    more = false;
                }
            }
        }
        if run.free.len() == depth {
            break;
        }
        if let Err(error) = run.ring.submit_and_wait(1)
            && !crate::system::is_passing_error(&error)
        {
            // The kernel may still write into the buffers, and the requests cannot be cancelled: the buffers
            // must stay allocated.
            std::mem::forget(std::mem::take(&mut run.buffers));
            return Err(target.failed(first, errno_of(&error)));
        }
        run.reap(block_bytes, load);
    }
    run.failure.map_or(Ok(()), Err)
}

fn errno_of(error: &std::io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

impl Run<'_> {
    #[expect(unsafe_code, reason = "the kernel is given the address of a buffer")]
    fn push(&mut self, slot: usize, op: RawOp) {
        let buffer = &mut self.buffers[slot];
        let length = u32::try_from(buffer.len()).unwrap_or(u32::MAX);
        let fd = types::Fd(self.target.fd.as_raw_fd());
        let entry = if op.write {
            opcode::Write::new(fd, buffer.as_ptr(), length)
                .offset(op.offset)
                .build()
        } else {
            opcode::Read::new(fd, buffer.as_mut_ptr(), length)
                .offset(op.offset)
                .build()
        };
        self.under_way[slot] = Some(UnderWay {
            op,
            begun: Moment::now(),
        });
        // SAFETY: the buffer belongs to this slot alone until its completion is seen; `run` returns only when
        // all slots are free, or leaks the buffers.
        let pushed = unsafe { self.ring.submission().push(&entry.user_data(slot as u64)) };
        assert!(pushed.is_ok(), "the ring has an entry for every slot");
    }

    fn reap(&mut self, block_bytes: usize, load: &mut dyn RawLoad) {
        let now = Moment::now();
        for entry in self.ring.completion() {
            let slot = entry.user_data() as usize;
            let Some(done) = self.under_way.get_mut(slot).and_then(Option::take) else {
                continue;
            };
            self.free.push(slot);
            match usize::try_from(entry.result()) {
                Ok(moved) if moved == block_bytes => load.done(done.op, now.since_ns(done.begun)),
                Ok(_) => self.failure = Some(self.target.ended(done.op)),
                Err(_) => {
                    let errno = Errno::from_raw_os_error(-entry.result());
                    self.failure = Some(self.target.failed(done.op, errno));
                }
            }
        }
    }
}
