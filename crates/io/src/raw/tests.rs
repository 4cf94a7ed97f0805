use super::*;
use crate::random::{Rng, SeededRng, seeded};

struct Random {
    rng: SeededRng,
    base: u64,
    block: u64,
    blocks: u64,
    left: u32,
    write: bool,
    done: u32,
}

impl RawLoad for Random {
    fn next(&mut self) -> Option<RawOp> {
        self.left = self.left.checked_sub(1)?;
        Some(RawOp {
            write: self.write,
            offset: self.base + self.rng.random_range(0..self.blocks) * self.block,
        })
    }

    fn done(&mut self, _: RawOp, latency_ns: u64) {
        assert!(latency_ns > 0);
        self.done += 1;
    }
}

fn random(write: bool, base: u64, left: u32) -> Random {
    Random {
        rng: seeded(3),
        base,
        block: 8192,
        blocks: 200,
        left,
        write,
        done: 0,
    }
}

fn made(dir: &Path) -> RawTarget {
    RawTarget::create(&dir.join("raw"), 2 << 20).unwrap()
}

#[test]
fn every_request_is_answered_once_at_every_depth_by_ring_and_by_threads() {
    let dir = tempfile::tempdir_in(".").unwrap();
    let target = made(dir.path());
    assert_eq!(target.bytes(), 2 << 20);
    for depth in [1, 7, 64] {
        for write in [false, true] {
            let mut load = random(write, 0, 500);
            target.run(8192, depth, &mut load).unwrap();
            assert_eq!(load.done, 500);
            let mut load = random(write, 0, 500);
            by_threads::run(&target, 8192, depth, &mut load).unwrap();
            assert_eq!(load.done, 500);
        }
    }
}

#[test]
fn sector_63_works_where_direct_io_takes_sectors_and_is_refused_elsewhere() {
    let dir = tempfile::tempdir_in(".").unwrap();
    let target = made(dir.path());
    let base = 63 * 512;
    println!("{:?}", target.direct_unit);
    match target.check_aligned(base) {
        Ok(()) => {
            let mut load = random(false, base, 100);
            target.run(8192, 4, &mut load).unwrap();
            assert_eq!(load.done, 100);
        }
        Err(error) => assert!(error.to_string().contains("choose another offset")),
    }
}

#[test]
fn a_request_past_the_end_fails_and_ends_the_run() {
    let dir = tempfile::tempdir_in(".").unwrap();
    let target = made(dir.path());
    let mut load = random(false, 2 << 20, 1000);
    let error = target.run(8192, 8, &mut load).unwrap_err();
    assert!(
        matches!(&error, RawError::Io(e) if e.kind == IoErrorKind::PastEnd),
        "{error}"
    );
    assert!(load.left > 900, "the first failure ends the run");
}

#[test]
fn a_mounted_device_is_not_opened_for_writing_and_a_directory_not_at_all() {
    let here = RawTarget::open(Path::new("."), RawAccess::ReadOnly).unwrap_err();
    assert!(matches!(here, RawError::NotATarget(_)));
    let Some(device) = crate::host::device_of(Path::new("/")) else {
        println!("skipped: the root is on no block device");
        return;
    };
    let path = Path::new("/dev").join(&device.name);
    match RawTarget::open(&path, RawAccess::Destroy) {
        Err(RawError::InUse { users, .. }) => println!("{users}"),
        Err(RawError::Io(error)) => println!("not to be opened at all: {error}"),
        other => panic!("{other:?}"),
    }
}
