//! A check with little memory finds what a check with much finds, word for word. Files that are absent are
//! skipped.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod support {
    pub(crate) mod page_damage;
}

use furrow_check::{CheckError, Options, Report, Scratch, check, check_within};
use furrow_datafile::MemoryFiles;
use furrow_io::{MemoryVolume, Volume};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use support::page_damage::{ALL, victims};

fn sample(name: &str) -> Option<Vec<u8>> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/samples");
    let dir = std::env::var_os("FURROW_SAMPLES").map_or(beside, Into::into);
    let read = furrow_io::read_file(&furrow_io::SystemVolume::new(), &dir.join(name));
    if read.is_err() {
        println!("skipped: samples absent ({name})");
    }
    read.ok()
}

fn files(bytes: &[u8]) -> MemoryFiles {
    let mut files = MemoryFiles::new();
    files.add(bytes).unwrap();
    files
}

fn with_memory(files: &MemoryFiles, bytes: u64, workers: usize) -> Report {
    let volume = MemoryVolume::new();
    volume.create_dir(Path::new("t")).unwrap();
    let scratch = Scratch::new(Arc::new(volume), PathBuf::from("t/facts"));
    let options = Options {
        workers,
        memory_bytes: bytes,
        ..Options::default()
    };
    check_within(files, &options, (Some(&scratch), None)).unwrap()
}

fn alike(files: &MemoryFiles, what: &str) {
    let free = check(files, &Options::default(), None).unwrap();
    for (bytes, workers) in [(1, 1), (1 << 12, 3), (1 << 16, 2)] {
        let bound = with_memory(files, bytes, workers);
        assert!(bound.spilled_bytes > 0, "{what}: {bytes} bytes spill");
        assert_eq!(free.findings, bound.findings, "{what}, {bytes} bytes");
        assert_eq!(free.objects, bound.objects, "{what}, {bytes} bytes");
        assert_eq!(
            (free.rows, free.pages_checked),
            (bound.rows, bound.pages_checked)
        );
    }
}

#[test]
fn findings_are_the_same_in_any_memory() {
    let Some(sound) = sample("northwnd-655.mdf") else {
        return;
    };
    alike(&files(&sound), "sound");
    for (at, (number, protection)) in victims(&sound).into_iter().enumerate() {
        let Some(damage) = ALL
            .into_iter()
            .cycle()
            .skip(at)
            .find(|d| d.shows(protection))
        else {
            continue;
        };
        let damaged = files(&damage.of(&sound, number));
        alike(&damaged, &format!("page {number}, {damage:?}"));
    }
    // Rows of an index without their partners, in several passes: every tenth page is gone.
    let mut gone = files(&sound);
    let pages = gone.pages_mut(furrow_format::FileId(1)).unwrap();
    for page in pages.iter_mut().skip(200).step_by(10) {
        page.fill(0);
    }
    alike(&gone, "every tenth page");
}

#[test]
fn a_scratch_file_that_cannot_be_written_ends_the_check() {
    let Some(sound) = sample("northwnd-655.mdf") else {
        return;
    };
    let nowhere = Scratch::new(Arc::new(MemoryVolume::new()), PathBuf::from("absent/facts"));
    let options = Options {
        memory_bytes: 1,
        ..Options::default()
    };
    let ended = check_within(&files(&sound), &options, (Some(&nowhere), None));
    assert!(matches!(ended, Err(CheckError::Scratch(_))), "{ended:?}");
}
