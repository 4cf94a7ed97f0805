//! Measures what io_uring and threads gain for batches of pages: 8 KB reads and writes at random, direct.
//!
//! `cargo run --release -p furrow-io --example batches -- DIRECTORY [ROUNDS]`
//!
//! Engines and batch sizes are interleaved; medians of all rounds, and the ratios of the plain engine's
//! time to the others'.

use furrow_io::random::{Rng, seeded};
use furrow_io::system::{Engine, SystemOptions};
use furrow_io::time::Moment;
use furrow_io::{
    Access, AlignedBuf, File, Fill, IoError, Open, ReadRun, SystemVolume, Volume, WriteRun,
};
use std::io::{IoSlice, IoSliceMut};
use std::path::Path;

const PAGE: usize = 8192;
const PAGES: u64 = 64 * 1024;
const SIZES: [usize; 4] = [2, 8, 32, 128];
const BATCHES: usize = 20;

/// Microseconds per page.
fn measure(file: &dyn File, size: usize, write: bool, seed: u64) -> Result<f64, IoError> {
    let mut rng = seeded(seed);
    let mut bufs: Vec<AlignedBuf> = (0..size).map(|_| AlignedBuf::copy_of(&[1; PAGE])).collect();
    let begun = Moment::now();
    for _ in 0..BATCHES {
        let mut offset = || rng.random_range(0..PAGES) * PAGE as u64;
        if write {
            let slices: Vec<_> = bufs.iter().map(|buf| [IoSlice::new(buf)]).collect();
            let runs: Vec<_> = slices
                .iter()
                .map(|bufs| WriteRun {
                    offset: offset(),
                    bufs,
                })
                .collect();
            file.write(&runs)?;
        } else {
            let mut slices: Vec<_> = bufs.iter_mut().map(|buf| [IoSliceMut::new(buf)]).collect();
            let mut runs: Vec<_> = slices
                .iter_mut()
                .map(|bufs| ReadRun {
                    offset: offset(),
                    bufs,
                })
                .collect();
            file.read(&mut runs)?;
        }
    }
    Ok(begun.elapsed_ns() as f64 / 1e3 / (BATCHES * size) as f64)
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() -> Result<(), IoError> {
    let mut words = std::env::args().skip(1);
    let dir = words.next().unwrap_or_else(|| ".".into());
    let rounds: u64 = words.next().and_then(|word| word.parse().ok()).unwrap_or(7);
    let path = Path::new(&dir).join("batches.tmp");
    let engines = [Engine::Plain, Engine::Threads, Engine::Auto];
    let volumes = engines.map(|engine| {
        SystemVolume::with_options(SystemOptions {
            engine,
            direct: true,
        })
    });
    volumes[0]
        .open(&path, Open::Create, Access::Data)?
        .resize(PAGES * PAGE as u64, Fill::Zero)?;
    println!(
        "io_uring available: {}",
        furrow_io::system::io_uring_available()
    );
    for write in [false, true] {
        for size in SIZES {
            let mut times = [const { Vec::new() }; 3];
            for round in 0..rounds {
                for (volume, times) in volumes.iter().zip(&mut times) {
                    let file = volume.open(&path, Open::Existing, Access::Data)?;
                    times.push(measure(&*file, size, write, round)?);
                }
            }
            let [plain, threads, ring] = times.each_mut().map(|times| median(times));
            let what = if write { "write" } else { "read" };
            println!(
                "{what:5} batches of {size:3}: plain {plain:5.1} us a page, threads {threads:5.1} ({:.2}x), \
                 ring {ring:5.1} ({:.2}x)",
                plain / threads,
                plain / ring
            );
        }
    }
    volumes[0].remove(&path)
}
