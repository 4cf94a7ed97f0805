//! Whole experiments on small databases and real files.

use super::*;
use crate::restore::Restore;
use crate::testing::{Spoiled, made, run_blocks, runner_of};
use furrow_io::{SystemVolume, Volume};
use furrow_lab::runner::Stop;

#[test]
fn backups_to_one_throttled_volume_to_two_and_to_nul_are_verified_and_held_against_bounds() {
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = (dir.path().join("a"), dir.path().join("b"));
    for dir in [&a, &b] {
        SystemVolume::new().create_dir(dir).unwrap();
    }
    let words = format!(
        "--stripes 1,2 --total 2MB --users 2 --backup-volume {},write=50MB/s --backup-volume {}",
        a.display(),
        b.display()
    );
    let results = run_blocks::<Backup>(&dir.path().join("out"), &words);
    assert_eq!(results.levels.len(), 6);
    assert_eq!(results.models.len(), 1);
    let names: Vec<&str> = results.ceilings.iter().map(|c| c.name.as_str()).collect();
    let wanted = [
        "reading the data files",
        "compressing with LZ4",
        "writing to one backup volume",
        "writing to several backup volumes",
    ];
    assert_eq!(names, wanted);
    let one = &results.ceilings[2];
    assert!(one.limit.is_some_and(|limit| limit < 60.0), "{one:?}");
    assert!(
        results
            .ceilings
            .iter()
            .all(|ceiling| ceiling.used.is_some())
    );
    for run in &results.runs {
        let figure = |name: &str| run.figures.iter().find(|figure| figure.name == name);
        assert!(figure("backed up").unwrap().value > 0.0);
        assert!(figure("users' commits alone").unwrap().value > 0.0);
    }
    let limit = results.sections.last().unwrap();
    assert!(limit.finding.contains("MB/s"), "{limit:?}");
    let published = results.published.unwrap();
    assert_eq!(published.points.len(), 6);
    assert!(
        published
            .comparisons
            .iter()
            .any(|(_, _, same)| same.is_none())
    );
}

#[test]
fn a_backup_of_each_setting_is_restored_and_checked() {
    let dir = tempfile::tempdir().unwrap();
    let words = "--stripes 1,3 --total 2MB --files 1,2 --codec none,zstd1";
    let results = run_blocks::<Restore>(&dir.path().join("out"), words);
    assert_eq!(results.levels.len(), 8);
    for run in &results.runs {
        assert!(run.figures[0].name == "restored" && run.figures[0].value > 0.0);
    }
}

#[test]
fn a_backup_that_is_not_valid_is_a_wrong_result_and_stays() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let mut backup = made::<Backup>(&out, "--stripes 1,2 --targets one --total 2MB").unwrap();
    backup.target = Box::new(Spoiled::refusing("VERIFYONLY", &[3189]));
    let mut runner = runner_of(&out, &backup);
    assert_eq!(
        runner.run(&mut backup, &mut |_| {}).unwrap(),
        Stop::Finished
    );
    let mut runs = runner.log().history().runs.values();
    let first = runs.next().unwrap();
    let reason = first.violation.as_ref().unwrap();
    assert!(
        first.attempts == 1 && reason.contains("error 3189"),
        "{reason}"
    );
    let directories = reason.rsplit_once("its files stay in ").unwrap().1;
    let has_stripe = |dir: &str| {
        let stripe = Path::new(dir).join("stripe1.bak");
        SystemVolume::new().exists(&stripe).unwrap()
    };
    assert!(directories.split(", ").any(has_stripe), "{directories}");
    assert!(runs.all(|run| run.violation.is_none() && run.record.is_some()));
}

#[test]
fn a_damaged_page_that_a_backup_meets_is_a_wrong_result() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let mut backup = made::<Backup>(&out, "--stripes 1,2 --targets one --total 2MB").unwrap();
    backup.target = Box::new(Spoiled::refusing("BACKUP DATABASE", &[3043]));
    let mut runner = runner_of(&out, &backup);
    runner.run(&mut backup, &mut |_| {}).unwrap();
    let mut runs = runner.log().history().runs.values();
    let first = runs.next().unwrap();
    assert_eq!(first.attempts, 1, "it is not tried again");
    assert!(first.violation.is_some(), "{first:?}");
    assert!(runs.all(|run| run.violation.is_none()));
}

#[test]
fn the_best_setting_is_printed_as_statements() {
    let setting = Setting {
        stripes: 2,
        devices: Devices::One,
        files: 2,
        codec: Codec::Zstd(3),
        buffers: 50,
        transfer: 1 << 20,
        throttle: Throttle::MbPerS(0),
    };
    let stripes = setting.paths(&["/b".into()]);
    assert_eq!(
        setting.statement("[d]", &stripes),
        "BACKUP DATABASE [d] TO DISK = N'/b/stripe1.bak', DISK = N'/b/stripe2.bak' WITH FORMAT, COPY_ONLY, \
         CHECKSUM, COMPRESSION (ALGORITHM = ZSTD, LEVEL = 3), BUFFERCOUNT = 50, MAXTRANSFERSIZE = 1048576, \
         THROTTLE = 0;"
    );
}

#[test]
fn a_backup_to_nul_is_a_probe_and_never_the_answer_and_no_backup_is_undone_by_a_restore() {
    let dir = tempfile::tempdir().unwrap();
    for (words, named) in [
        ("--stripes 1,2", 2),
        ("--stripes 1,2 --targets nul,one", 2),
        ("--stripes 1,2 --targets nul", 0),
    ] {
        let backup = made::<Backup>(dir.path(), words).unwrap();
        let cells = backup.plan(3).cells();
        let files = cells.iter().filter(|cell| backup.may_win(cell, &cells[0]));
        let statements: Vec<(String, String)> = files.map(|cell| backup.apply(cell)).collect();
        assert_eq!(statements.len(), named, "{words}");
        for (set, undo) in statements {
            assert!(set.contains("stripe1.bak") && !set.contains("NUL"), "{set}");
            assert_eq!(undo, "");
        }
    }
}

#[test]
fn options_that_make_no_sense_are_refused_with_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    for (words, part) in [
        ("--targets several", "--backup-volume twice"),
        ("--maxtransfersize 100KB", "multiples of 64KB"),
        ("--stripes 2 --targets one", "nothing to be compared"),
        ("--stripes 65", "1..=64"),
        ("--codec zip", "none, lz4, or zstd1"),
    ] {
        let refused = made::<Backup>(dir.path(), words).unwrap_err();
        assert!(refused.contains(part), "{words}: {refused}");
    }
    let refused = made::<Restore>(dir.path(), "--targets one,nul").unwrap_err();
    assert!(refused.contains("nothing to restore from"), "{refused}");
}
