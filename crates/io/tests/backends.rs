//! Every volume fulfils the contract of the seam, wherever its bytes are stored.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod suite;

use furrow_io::sim::{SimOptions, SimVolume};
use furrow_io::system::{Engine, SystemOptions};
use furrow_io::{MemoryVolume, SystemVolume, Volume};
use std::path::Path;

fn each_promise(volume: &dyn Volume, root: &Path) {
    for (name, promise) in suite::PROMISES {
        println!("{name}");
        let dir = root.join(name);
        volume.create_dir(&dir).unwrap();
        promise(volume, &dir);
    }
}

#[test]
fn memory_keeps_every_promise() {
    each_promise(&MemoryVolume::new(), Path::new("/data"));
}

#[test]
fn a_simulated_machine_keeps_every_promise_also_a_weak_one() {
    for weak in [false, true] {
        let options = SimOptions {
            weak_lengths: weak,
            weak_names: weak,
            ..SimOptions::default()
        };
        each_promise(&SimVolume::new(options), Path::new("/data"));
    }
}

#[test]
fn the_system_keeps_every_promise_with_each_engine_with_and_without_direct_io() {
    for engine in [Engine::Auto, Engine::Threads, Engine::Plain] {
        for direct in [true, false] {
            println!("{engine:?}, direct {direct}");
            let dir = tempfile::tempdir_in(".").unwrap();
            let volume = SystemVolume::with_options(SystemOptions { engine, direct });
            each_promise(&volume, dir.path());
        }
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_file_system_without_disk_keeps_every_promise() {
    let Ok(dir) = tempfile::tempdir_in("/dev/shm") else {
        println!("skipped: no /dev/shm");
        return;
    };
    each_promise(&SystemVolume::new(), dir.path());
}
