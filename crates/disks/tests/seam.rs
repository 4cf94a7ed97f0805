//! A modelled volume keeps the promises of the seam, whatever lies below it.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

#[path = "../../io/tests/suite/mod.rs"]
mod suite;

use furrow_disks::{ModelledVolume, Pace, VolumeSpec};
use furrow_io::sim::{SimOptions, SimVolume};
use furrow_io::system::{Engine, SystemOptions};
use furrow_io::{MemoryVolume, SystemVolume, Volume};
use std::path::Path;
use std::sync::Arc;

/// Fast enough for a test in real time.
const MODELS: [&str; 4] = [
    "model=raid10:4xnvme,offset=63s",
    "model=raid5:3xsata,cache=write-back:16M,unit=64K",
    "read=2GB/s,write=1GB/s,iops=50000",
    "model=raid6:5x15k,read-cache=16M,paths=2,path=1GB/s",
];

fn spec(dir: &Path, model: &str) -> VolumeSpec {
    format!("{},{model}", dir.display()).parse().unwrap()
}

fn each_promise(inner: Arc<dyn Volume>, root: &Path, model: &str, pace: Pace) {
    let volume = ModelledVolume::new(inner, &[spec(root, model)], pace).unwrap();
    for (name, promise) in suite::PROMISES {
        let dir = root.join(name);
        volume.create_dir(&dir).unwrap();
        promise(&volume, &dir);
    }
    let figures = volume.figures();
    println!("{figures:?}");
    assert!(figures[0].totals.requests > 1_000);
}

#[test]
fn models_over_memory_and_over_the_crash_simulation_keep_every_promise() {
    for model in MODELS {
        let root = Path::new("/data");
        each_promise(Arc::new(MemoryVolume::new()), root, model, Pace::Virtual);
        let sim = SimVolume::new(SimOptions::default());
        each_promise(Arc::new(sim), root, model, Pace::Virtual);
    }
}

#[test]
fn models_in_real_time_over_the_system_keep_every_promise_direct_and_buffered() {
    for direct in [true, false] {
        for model in &MODELS[..3] {
            let dir = tempfile::tempdir_in(".").unwrap();
            let engine = Engine::Auto;
            let volume = SystemVolume::with_options(SystemOptions { engine, direct });
            each_promise(Arc::new(volume), dir.path(), model, Pace::Real);
        }
    }
}
