//! A share of the consistency check's score: no error in sound databases, damage found and named.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use furrow_datafile::MemoryFiles;
use furrow_io::random::test_seed;
use furrow_io::{Access, Open, SystemVolume, Volume};
use furrow_soak::check::databases::Made;
use furrow_soak::check::{Score, run, score};
use std::path::PathBuf;

/// All that a checksum shows is named, and of the rest nine in ten: the score over thousands is above 95 in
/// 100, of these few it scatters.
fn judge(total: &Score) {
    println!("{total}");
    for missed in total.missed.iter().take(40) {
        println!("missed: {missed}");
    }
    let ((tried, named), (others, found)) = (total.total(true), total.total(false));
    for left in total.unrepaired.iter().take(40) {
        println!("not repaired: {left}");
    }
    // The command `check` ends with an error for any. One is known: seed 9060177100301092605, round 9. A bit
    // of a record header leaves an index row without its row.
    let left = total.unrepaired.len() as u64;
    assert!(left * 25 <= tried + others, "damage was not repaired");
    assert_eq!(tried, named, "damage that a checksum shows was not named");
    assert!(found * 10 >= others * 9, "{found} of {others} named");
}

#[test]
fn damage_done_on_purpose_to_random_databases_is_found_and_named() {
    let seed = test_seed();
    println!("seed {seed}");
    let mut total = Score::default();
    for at in 0..4 {
        total.add(&run(seed.wrapping_add(at), 25).unwrap());
    }
    judge(&total);
}

fn samples() -> Vec<PathBuf> {
    let Some(dir) = std::env::var_os("FURROW_SAMPLES") else {
        println!("skipped: FURROW_SAMPLES names no directory of real files");
        return Vec::new();
    };
    let mut files = SystemVolume::new().list(&PathBuf::from(dir)).unwrap();
    files.retain(|path| path.extension().is_some_and(|e| e == "mdf"));
    files
}

#[test]
fn damage_done_on_purpose_to_real_files_is_found_and_named() {
    let seed = test_seed();
    println!("seed {seed}");
    let mut total = Score::default();
    for path in samples() {
        let file = SystemVolume::new()
            .open(&path, Open::ReadOnly, Access::Data)
            .unwrap();
        let mut bytes = vec![0; file.len_bytes().unwrap() as usize];
        file.read_at(0, &mut bytes).unwrap();
        let mut files = MemoryFiles::new();
        files.add(&bytes).unwrap();
        let made = Made {
            files,
            earlier: None,
        };
        total.add(&score(seed, &made, 25).unwrap());
    }
    judge(&total);
}
