//! A file opened for writing keeps other processes out, and a process that is killed lets them in again.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use furrow_io::time::{Duration, Moment, sleep};
use furrow_io::{Access, IoErrorKind, Open, SystemVolume, Volume};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const PATH_VARIABLE: &str = "FURROW_TEST_LOCK_PATH";

/// The second process: holds the lock until it is killed. Does nothing when run as a test by itself.
#[test]
fn holder() {
    let Ok(path) = std::env::var(PATH_VARIABLE) else {
        return;
    };
    let path = PathBuf::from(path);
    let volume = SystemVolume::new();
    let file = volume.open(&path, Open::Existing, Access::Data).unwrap();
    file.write_at(0, &[2; 4096]).unwrap();
    drop(
        volume
            .open(&path.with_extension("ready"), Open::Create, Access::Data)
            .unwrap(),
    );
    sleep(Duration::from_secs(60));
}

fn start_holder(path: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["holder", "--exact"])
        .env(PATH_VARIABLE, path)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn a_second_process_gets_in_use_until_the_first_is_killed() {
    let dir = tempfile::tempdir_in(".").unwrap();
    let path = dir.path().join("a.mdf");
    let volume = SystemVolume::new();
    let file = volume.open(&path, Open::Create, Access::Data).unwrap();
    file.write_at(0, &[1; 8192]).unwrap();
    drop(file);
    let mut child = start_holder(&path);
    let begun = Moment::now();
    while !volume.exists(&path.with_extension("ready")).unwrap() {
        assert!(
            begun.elapsed_us() < 30_000_000,
            "the second process did not get ready"
        );
        assert!(
            child.try_wait().unwrap().is_none(),
            "the second process ended early"
        );
        sleep(Duration::from_millis(5));
    }
    for access in [Access::Data, Access::Log] {
        let refused = volume.open(&path, Open::Existing, access).unwrap_err();
        assert_eq!(refused.kind, IoErrorKind::InUse);
    }
    let reader = volume.open(&path, Open::ReadOnly, Access::Data).unwrap();
    drop(reader);
    child.kill().unwrap();
    child.wait().unwrap();
    let file = volume.open(&path, Open::Existing, Access::Data).unwrap();
    let mut bytes = vec![0; 8192];
    file.read_at(0, &mut bytes).unwrap();
    assert_eq!(
        (&bytes[..4096], &bytes[4096..]),
        (&[2; 4096][..], &[1; 4096][..])
    );
}
