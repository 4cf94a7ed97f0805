//! Raw requests by threads, one for each request under way, where io_uring is refused.

use super::{RawLoad, RawOp, RawTarget, buffer};
use crate::time::Moment;
use crate::{IoError, thread};
use parking_lot::Mutex;
use rustix::io::Errno;

struct Shared<'a> {
    load: &'a mut dyn RawLoad,
    failure: Option<IoError>,
}

impl Shared<'_> {
    fn next(&mut self) -> Option<RawOp> {
        if self.failure.is_some() {
            return None;
        }
        self.load.next()
    }
}

pub(super) fn run(
    target: &RawTarget,
    block_bytes: usize,
    depth: usize,
    load: &mut dyn RawLoad,
) -> Result<(), IoError> {
    let shared = Mutex::new(Shared {
        load,
        failure: None,
    });
    thread::scope(|scope| {
        for worker in 1..depth {
            let shared = &shared;
            let body = move || work(target, block_bytes, worker, shared);
            if let Err(error) = thread::spawn_scoped(scope, "furrow-raw", body) {
                let errno = Errno::from_io_error(&error).unwrap_or(Errno::AGAIN);
                let none = RawOp {
                    write: false,
                    offset: 0,
                };
                shared.lock().failure = Some(target.failed(none, errno));
            }
        }
        work(target, block_bytes, 0, &shared);
    });
    shared.into_inner().failure.map_or(Ok(()), Err)
}

fn work(target: &RawTarget, block_bytes: usize, worker: usize, shared: &Mutex<Shared<'_>>) {
    let mut buffer = buffer(block_bytes, worker as u64);
    while let Some(op) = { shared.lock().next() } {
        let begun = Moment::now();
        let moved = loop {
            let moved = if op.write {
                rustix::io::pwrite(&target.fd, &buffer, op.offset)
            } else {
                rustix::io::pread(&target.fd, &mut buffer[..], op.offset)
            };
            if moved != Err(Errno::INTR) {
                break moved;
            }
        };
        let latency = begun.elapsed_ns();
        let mut shared = shared.lock();
        match moved {
            Ok(moved) if moved == block_bytes => shared.load.done(op, latency),
            Ok(_) => shared.failure = Some(target.ended(op)),
            Err(errno) => shared.failure = Some(target.failed(op, errno)),
        }
    }
}
