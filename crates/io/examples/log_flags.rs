//! Measures the ways to make a log block durable, so that the choice in `system::file` rests on numbers.
//!
//! `cargo run --release -p furrow-io --example log_flags -- DIRECTORY [ROUNDS]`
//!
//! A file is allocated and zero-written first, as the log's own file is; then 4096-byte blocks are written
//! in sequence by 1, 2 and 3 threads. Ways and thread counts are interleaved, each combination runs once a
//! round, and the medians of all rounds are printed with their ratio to the first way.

#[cfg(target_os = "linux")]
fn main() -> std::io::Result<()> {
    linux::main()
}

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("only Linux has these flags");
}

#[cfg(target_os = "linux")]
mod linux {
    use furrow_io::time::Moment;
    use furrow_io::{AlignedBuf, thread};
    use rustix::fs::{Mode, OFlags};
    use rustix::io::ReadWriteFlags;
    use std::io::IoSlice;
    use std::os::fd::OwnedFd;
    use std::path::Path;
    use std::sync::atomic::{AtomicU64, Ordering};

    const FILE_BYTES: u64 = 64 << 20;
    const BLOCK: usize = 4096;
    const WRITES: u64 = 300;

    #[derive(Clone, Copy)]
    enum Way {
        BufferedSync,
        DirectSync,
        DirectDsync,
        BufferedRwf,
        DirectRwf,
    }

    const WAYS: [(&str, Way); 5] = [
        ("buffered, pwrite + fdatasync", Way::BufferedSync),
        ("O_DIRECT, pwrite + fdatasync", Way::DirectSync),
        ("O_DIRECT | O_DSYNC, pwrite", Way::DirectDsync),
        ("buffered, pwritev2(RWF_DSYNC)", Way::BufferedRwf),
        ("O_DIRECT, pwritev2(RWF_DSYNC)", Way::DirectRwf),
    ];

    fn open(path: &Path, way: Way) -> std::io::Result<OwnedFd> {
        let flags = OFlags::RDWR
            | match way {
                Way::BufferedSync | Way::BufferedRwf => OFlags::empty(),
                Way::DirectSync | Way::DirectRwf => OFlags::DIRECT,
                Way::DirectDsync => OFlags::DIRECT | OFlags::DSYNC,
            };
        Ok(rustix::fs::open(path, flags, Mode::empty())?)
    }

    fn write(fd: &OwnedFd, way: Way, offset: u64, block: &[u8]) -> std::io::Result<()> {
        match way {
            Way::BufferedSync | Way::DirectSync => {
                rustix::io::pwrite(fd, block, offset)?;
                rustix::fs::fdatasync(fd)?;
            }
            Way::DirectDsync => {
                rustix::io::pwrite(fd, block, offset)?;
            }
            Way::BufferedRwf | Way::DirectRwf => {
                rustix::io::pwritev2(fd, &[IoSlice::new(block)], offset, ReadWriteFlags::DSYNC)?;
            }
        }
        Ok(())
    }

    /// Microseconds per write, over all threads.
    fn measure(path: &Path, way: Way, threads: u64) -> std::io::Result<f64> {
        let fd = open(path, way)?;
        let next = AtomicU64::new(0);
        let begun = Moment::now();
        thread::scope(|scope| {
            let workers: Vec<_> = (0..threads)
                .map(|_| {
                    scope.spawn(|| {
                        let block = AlignedBuf::copy_of(&[0x5A; BLOCK]);
                        loop {
                            let turn = next.fetch_add(1, Ordering::Relaxed);
                            if turn >= WRITES {
                                return Ok(());
                            }
                            write(&fd, way, turn * BLOCK as u64, &block)?;
                        }
                    })
                })
                .collect();
            workers.into_iter().try_for_each(|worker| {
                worker
                    .join()
                    .unwrap_or_else(|_| Err(std::io::Error::other("a writer panicked")))
            })
        })?;
        Ok(begun.elapsed_ns() as f64 / 1e3 / WRITES as f64)
    }

    fn prepare(path: &Path) -> std::io::Result<()> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::TRUNC;
        let fd = rustix::fs::open(path, flags, Mode::from_raw_mode(0o600))?;
        rustix::fs::fallocate(&fd, rustix::fs::FallocateFlags::empty(), 0, FILE_BYTES)?;
        let zeros = vec![0; 1 << 20];
        for offset in (0..FILE_BYTES).step_by(zeros.len()) {
            rustix::io::pwrite(&fd, &zeros, offset)?;
        }
        Ok(rustix::fs::fsync(&fd)?)
    }

    pub(super) fn main() -> std::io::Result<()> {
        let mut words = std::env::args().skip(1);
        let dir = words.next().unwrap_or_else(|| ".".into());
        let rounds: usize = words.next().and_then(|word| word.parse().ok()).unwrap_or(7);
        let path = Path::new(&dir).join("log_flags.tmp");
        prepare(&path)?;
        let mut times = vec![Vec::new(); WAYS.len() * 3];
        for round in 0..rounds {
            for turn in 0..times.len() {
                // Every round starts elsewhere, so that no combination always follows the same one.
                let cell = (turn + round * 4) % times.len();
                times[cell].push(measure(&path, WAYS[cell / 3].1, cell as u64 % 3 + 1)?);
            }
        }
        std::fs::remove_file(&path)?;
        let medians: Vec<f64> = times
            .iter_mut()
            .map(|cell| {
                cell.sort_by(f64::total_cmp);
                cell[cell.len() / 2]
            })
            .collect();
        println!(
            "{:32} {:>18} {:>18} {:>18}",
            "us per 4 KB write (ratio)", "1 thread", "2", "3"
        );
        for (way, (name, _)) in WAYS.iter().enumerate() {
            print!("{name:32}");
            for threads in 0..3 {
                let us = medians[way * 3 + threads];
                print!(" {us:>10.0} ({:>4.2}x)", us / medians[threads]);
            }
            println!();
        }
        Ok(())
    }
}
