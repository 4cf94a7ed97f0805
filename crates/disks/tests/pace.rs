//! Modelled volumes in real time: requests take the modelled time, no less, and little more.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use furrow_disks::volume::{VolumeError, with_models};
use furrow_disks::{ModelledVolume, Pace, VolumeSpec};
use furrow_io::system::{Engine, SystemOptions};
use furrow_io::time::Moment;
use furrow_io::{
    Access, AlignedBuf, File, Fill, IoErrorKind, MemoryVolume, Open, SystemVolume, Volume, thread,
};
use std::path::Path;
use std::sync::Arc;

fn spec(dir: &Path, model: &str) -> VolumeSpec {
    format!("{},{model}", dir.display()).parse().unwrap()
}

fn file_of(volume: &dyn Volume, path: &Path, bytes: u64) -> Arc<dyn File> {
    let file = volume.open(path, Open::Create, Access::Data).unwrap();
    file.resize(bytes, Fill::Allocate).unwrap();
    file
}

/// Seconds that `work` takes.
fn seconds(work: impl FnOnce()) -> f64 {
    let begun = Moment::now();
    work();
    begun.elapsed_us() as f64 / 1e6
}

/// A machine under load wakes threads late: the upper bound is wide, the lower one is not.
fn took(what: &str, seconds: f64, expected: f64) {
    println!("{what}: {seconds:.3} s against {expected:.3} s");
    assert!(
        seconds >= expected * 0.97 && seconds <= expected * 1.6 + 0.1,
        "{what}: {seconds} s, not {expected} s"
    );
}

#[test]
fn a_throttled_volume_keeps_its_rates_latency_and_operations_direct_and_buffered() {
    for direct in [true, false] {
        let dir = tempfile::tempdir_in(".").unwrap();
        let engine = Engine::Auto;
        let system = SystemVolume::with_options(SystemOptions { engine, direct });
        let text = "read=100MB/s,write=50MB/s,latency=2ms,iops=500";
        let specs = [spec(dir.path(), text)];
        let volume = with_models(Arc::new(system), &specs).unwrap();
        let file = file_of(&*volume, &dir.path().join("f"), 64 << 20);
        let block = AlignedBuf::new(1 << 20);
        let write = |count: u64| (0..count).for_each(|k| file.write_at(k << 20, &block).unwrap());
        let each = (1 << 20) as f64 / 50e6 + 0.002;
        took("writes", seconds(|| write(20)), 20.0 * each);
        let mut into = AlignedBuf::new(1 << 20);
        let read = || (0..20).for_each(|k| file.read_at(k << 20, &mut into).unwrap());
        took(
            "reads",
            seconds(read),
            20.0 * ((1 << 20) as f64 / 100e6 + 0.002),
        );
        let pages = || {
            thread::scope(|scope| {
                for worker in 0..8_u64 {
                    let file = &file;
                    scope.spawn(move || {
                        let mut page = AlignedBuf::new(8192);
                        for k in 0..50 {
                            file.read_at((k * 8 + worker) * 8192, &mut page).unwrap();
                        }
                    });
                }
            });
        };
        took("operations", seconds(pages), 400.0 / 500.0);
        took("sync", seconds(|| file.sync().unwrap()), 0.002);
    }
}

#[test]
fn a_slow_disk_in_real_time_agrees_with_the_same_model_in_virtual_time() {
    let root = Path::new("/data");
    let run = |pace| {
        let inner = Arc::new(MemoryVolume::new());
        inner.create_dir(root).unwrap();
        let specs = [spec(root, "model=15k,queue=fifo,unit=64K,seed=4")];
        let volume = ModelledVolume::new(inner, &specs, pace).unwrap();
        let file = file_of(&volume, &root.join("f"), 4 << 30);
        let before = volume.figures()[0].elapsed_ns;
        let begun = Moment::now();
        let mut page = AlignedBuf::new(8192);
        for k in 0..100_u64 {
            file.read_at(k * 7_919 % 524_288 * 8192, &mut page).unwrap();
        }
        let modelled = (volume.figures()[0].elapsed_ns - before) as f64 / 1e9;
        (modelled, begun.elapsed_us() as f64 / 1e6)
    };
    let (expected, at_once) = run(Pace::Virtual);
    assert!(
        expected > 0.2 && at_once < expected / 2.0,
        "{expected} {at_once}"
    );
    let (_, real) = run(Pace::Real);
    // Rotation depends on the nanosecond of the request, so that both agree on average only.
    println!("{real:.3} s against {expected:.3} s");
    assert!(
        real > expected * 0.85 && real < expected * 1.6,
        "{real} {expected}"
    );
}

#[test]
fn two_directories_are_two_arrays_and_others_are_passed_on() {
    let inner = Arc::new(MemoryVolume::new());
    let specs = [
        spec(Path::new("/a"), "model=raid10:4xnvme"),
        spec(Path::new("/a/deep"), "model=15k"),
        spec(Path::new("/plain"), "iops=100"),
    ];
    let volume = ModelledVolume::new(inner, &specs, Pace::Virtual).unwrap();
    for dir in ["/a/deep", "/b"] {
        volume.create_dir(Path::new(dir)).unwrap();
    }
    for path in ["/a/x", "/a/deep/y", "/b/z"] {
        let file = file_of(&volume, Path::new(path), 1 << 20);
        file.read_at(0, &mut [0; 8192]).unwrap();
    }
    let requests = |dir: &str| {
        let figures = volume.figures();
        let of = figures.iter().find(|of| of.dir == Path::new(dir)).unwrap();
        assert!(of.model.starts_with("model: "), "{}", of.model);
        of.totals.requests
    };
    assert!(requests("/a") > 0 && requests("/a/deep") > 0);
    assert_eq!(requests("/plain"), 0);
    let twice = [
        spec(Path::new("/a"), "iops=1"),
        spec(Path::new("/a/"), "iops=2"),
    ];
    let refused = ModelledVolume::new(Arc::new(MemoryVolume::new()), &twice, Pace::Virtual);
    assert!(matches!(refused, Err(VolumeError::Twice { .. })));
}

#[test]
fn a_full_array_says_that_it_is_full_and_has_space_again_after_a_removal() {
    let inner = Arc::new(MemoryVolume::with_capacity(1 << 50));
    let root = Path::new("/data");
    inner.create_dir(root).unwrap();
    let specs = [spec(root, "model=15k")];
    let volume = ModelledVolume::new(inner, &specs, Pace::Virtual).unwrap();
    let large = 200_000_000_000;
    let first = file_of(&volume, &root.join("first"), large);
    let second = volume
        .open(&root.join("second"), Open::Create, Access::Data)
        .unwrap();
    let refused = second.resize(large, Fill::Allocate).unwrap_err();
    assert_eq!(refused.kind, IoErrorKind::NoSpace);
    let free = volume.space(root).unwrap();
    assert!(free.free_bytes < large && free.total_bytes <= 300_000_000_000);
    drop(first);
    volume.remove(&root.join("first")).unwrap();
    second.resize(large, Fill::Allocate).unwrap();
}
