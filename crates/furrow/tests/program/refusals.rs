//! What the program refuses, by which code, in which words.

use super::*;

fn refused(words: &[&str], code: i32, part: &str) {
    let output = run(words);
    let reported = err(&output);
    assert_eq!(output.status.code(), Some(code), "{words:?}: {reported}");
    assert!(reported.contains(part), "{words:?}: {reported}");
}

#[test]
fn a_command_line_that_makes_no_sense_ends_with_2_and_says_what_to_do() {
    let lab = |rest: &[&'static str]| [&["lab", "run", "datafiles"], rest].concat();
    refused(&["lab", "run", "datafile"], 2, "'datafiles'");
    refused(&["lab", "run"], 2, "give the name of an experiment");
    refused(&["lab", "run", "--blocks", "3"], 2, "or --resume DIR");
    refused(&lab(&["--total", "12 parsecs"]), 2, "such as 64MB");
    refused(&lab(&["--total", "8KB"]), 2, "at least");
    refused(
        &lab(&["--files", "0,1"]),
        2,
        "--files takes numbers from 1 to 128",
    );
    refused(&lab(&["--files", "4"]), 2, "--files 4,16");
    refused(&lab(&["--files", "4,4"]), 2, "twice");
    refused(&lab(&["--blocks", "1"]), 2, "from 2 to 1000");
    refused(&lab(&["--delta", "2"]), 2, "write it as 2%");
    refused(&lab(&["--until", "6 am"]), 2, "HH:MM");
    refused(&lab(&["--layout", "heap"]), 2, "sequential or random-key");
    refused(
        &lab(&["--volume", "/no/such/directory"]),
        2,
        "make the directory first",
    );
    let twice = ["--volume", "/tmp", "--volume", "/tmp/"];
    refused(&lab(&twice), 2, "are the same directory");
    refused(
        &["lab", "run", "--resume", "/no/such/directory"],
        2,
        "no journal.jsonl",
    );
    refused(
        &lab(&["--plain", "--json-progress"]),
        2,
        "cannot be used with",
    );
}

#[test]
fn too_little_space_is_refused_with_what_is_missing_and_nothing_is_made() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("out");
    let words = [
        "lab",
        "run",
        "datafiles",
        "--total",
        "15TB",
        "--out",
        text(&target),
    ];
    refused(&words, 3, "are missing; make room, give a smaller --total");
    assert_eq!(names(dir.path()), Vec::<String>::new());
}

#[test]
fn a_directory_with_an_experiment_in_it_is_not_begun_again() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("out");
    let words = [SMALL, &["--plain", "--out", text(&target)]].concat();
    assert_eq!(run(&words).status.code(), Some(0));
    let before = content(&target.join("journal.jsonl"));
    refused(&words, 3, "--resume");
    assert_eq!(content(&target.join("journal.jsonl")), before);
}

#[test]
fn a_file_that_is_no_data_file_is_reported_as_such() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.mdf");
    furrow_lab::journal::write_file(&SystemVolume::new(), &path, &vec![7; 20_000]).unwrap();
    refused(
        &["inspect", text(&path)],
        1,
        "is not a data file: page 0 is no file header",
    );
    let missing = dir.path().join("y.mdf");
    refused(
        &["inspect", text(&missing)],
        1,
        "cannot be read: no such file or directory",
    );
}

#[test]
#[cfg(unix)]
fn one_directory_by_two_names_is_not_taken_for_two_volumes() {
    let dir = tempfile::tempdir().unwrap();
    let (v, w) = (dir.path().join("v"), dir.path().join("w"));
    SystemVolume::new().create_dir(&v).unwrap();
    std::os::unix::fs::symlink(&v, &w).unwrap();
    let around = v.join("..").join("v");
    let target = dir.path().join("out");
    for other in [&w, &around] {
        let more = ["--volume", text(&v), "--volume", text(other)];
        let words = [SMALL, &more, &["--out", text(&target)]].concat();
        let same = format!(
            "--volume {} and --volume {} are the same directory",
            text(&v),
            text(other)
        );
        refused(&words, 2, &same);
    }
    assert_eq!(names(dir.path()), ["v", "w"]);
}

#[test]
fn a_volume_that_is_a_file_is_refused_before_anything_is_made() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    furrow_lab::journal::write_file(&SystemVolume::new(), &file, b"x").unwrap();
    let target = dir.path().join("out");
    let more = ["--volume", text(&file), "--out", text(&target)];
    refused(&[SMALL, &more].concat(), 2, "is not a directory");
    assert_eq!(names(dir.path()), ["file"]);
}

#[test]
#[cfg(target_os = "linux")]
fn a_pool_larger_than_memory_is_refused_with_both_sizes_and_nothing_is_made() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("out");
    let more = ["--pool", "17TB", "--out", text(&target)];
    let words = [SMALL, &more].concat();
    refused(&words, 3, "the buffer pool needs 17.0 TB and ");
    refused(&words, 3, " are available; give a smaller --pool");
    assert_eq!(names(dir.path()), Vec::<String>::new());
}

#[test]
fn an_option_that_would_have_no_effect_is_refused() {
    for words in [
        &["sql", "--csv", "-W", "-Q", "SELECT 1"][..],
        &["sql", "--csv", "-s", ";", "-Q", "SELECT 1"],
        &["sql", "--json", "-w", "80", "-Q", "SELECT 1"],
        &["sql", "--json", "-h", "-1", "-Q", "SELECT 1"],
        &["inspect", "--rows", "5", "a.mdf"],
    ] {
        let output = run(words);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {}", err(&output));
    }
}

#[test]
fn a_check_with_a_file_of_another_database_ends_with_5173_and_no_findings() {
    let directory = tempfile::tempdir().unwrap();
    let place = |name: &str| directory.path().join(name);
    for name in ["a", "b"] {
        let [first, second] = ["1", "2"].map(|number| place(&format!("{name}{number}")));
        let create = format!(
            "CREATE DATABASE {name} ON (NAME = one, FILENAME = '{}'), (NAME = two, FILENAME = '{}'); \
             CREATE TABLE {name}.dbo.t (i INT); \
             INSERT {name}.dbo.t SELECT value FROM GENERATE_SERIES(1, 20000)",
            text(&first),
            text(&second)
        );
        let instance = place("instance");
        let made = run(&["sql", "--instance", text(&instance), "-b", "-Q", &create]);
        assert!(made.status.success(), "{name}: {}", out(&made));
    }
    let check = |files: [&str; 2]| {
        let [first, second] = files.map(place);
        run(&["check", text(&first), text(&second)])
    };
    let sound = check(["a1", "a2"]);
    assert_eq!(sound.status.code(), Some(0), "{}", out(&sound));
    let mixed = check(["a1", "b2"]);
    assert_eq!((mixed.status.code(), out(&mixed)), (Some(2), String::new()));
    let reported = err(&mixed);
    assert!(reported.contains("Msg 5173, Level 16"), "{reported}");
    let named = format!("{} is a file of another database", text(&place("b2")));
    assert!(reported.contains(&named), "{reported}");
}

#[test]
fn paths_that_are_no_text_are_refused_before_anything_is_made() {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(OsString::from_vec(b"caf\xe9".to_vec()));
    SystemVolume::new().create_dir(&path).unwrap();
    let refused = |words: &[&str], code: i32| {
        let output = furrow().args(words).arg(&path).output().unwrap();
        let reported = err(&output);
        assert_eq!(output.status.code(), Some(code), "{words:?}: {reported}");
        assert!(reported.contains("is not UTF-8"), "{words:?}: {reported}");
        assert_eq!(out(&output), "");
    };
    refused(&["backup", "script"], 3);
    refused(&["backup", "script", "a.bak", "--to"], 3);
    refused(&[SMALL, &["--out"]].concat(), 2);
    refused(&["lab", "run", "--resume"], 2);
    assert_eq!(
        SystemVolume::new().list(&path).unwrap(),
        Vec::<PathBuf>::new()
    );
}

#[test]
fn facts_need_a_path_and_a_check_takes_no_more_threads_than_there_can_be() {
    refused(
        &["disk", "facts", "/", "/nope"],
        3,
        "about /nope: no such file",
    );
    refused(&["check", "a.mdf", "--threads", "100000"], 2, "0..=256");
}

#[test]
fn files_of_two_databases_and_one_file_twice_are_told_apart() {
    let Some(dir) = inspect::samples() else {
        return;
    };
    let (northwind, pubs) = (dir.join("northwnd-655.mdf"), dir.join("pubs-655.mdf"));
    let check =
        |other: &Path, part: &str| refused(&["check", text(&northwind), text(other)], 2, part);
    check(&pubs, "pubs-655.mdf is a file of another database than");
    check(&northwind, "northwnd-655.mdf is given twice");
}

#[test]
fn a_database_in_use_is_reported_as_such_with_its_process() {
    let directory = tempfile::tempdir().unwrap();
    let made = shell_run::sql(directory.path(), &["-Q", "CREATE DATABASE d"], "");
    assert_eq!(made.status.code(), Some(0), "{}{}", out(&made), err(&made));
    let instance = directory.path().join("instance");
    let mut holder = furrow()
        .args(["sql", "--pool", "8MB", "--instance", text(&instance)])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = holder.stdin.take().unwrap();
    std::io::Write::write_all(&mut input, b"PRINT 'up'\nGO\n").unwrap();
    let mut up = [0; 2];
    std::io::Read::read_exact(holder.stdout.as_mut().unwrap(), &mut up).unwrap();
    let data = instance.join("d.mdf");
    let part = format!("in use by process {}", holder.id());
    refused(&["check", text(&data)], 2, &part);
    refused(&["sql", "--open", text(&data), "-Q", "PRINT 1"], 3, &part);
    drop(input);
    assert!(holder.wait().unwrap().success());
    assert_eq!(run(&["check", text(&data)]).status.code(), Some(0));
}

#[test]
fn a_key_is_made_with_its_directory() {
    let dir = tempfile::tempdir().unwrap();
    let key = dir.path().join("instance/keys/offsite.key");
    assert_eq!(run(&["backup", "key", text(&key)]).status.code(), Some(0));
    let before = content(&key);
    refused(&["backup", "key", text(&key)], 3, "the file exists already");
    assert_eq!(content(&key), before);
}
