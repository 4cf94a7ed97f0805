//! `furrow disk`, and `--volume` of `furrow sql`, as somebody at a terminal meets them.

use super::*;
use furrow_io::time::Moment;
use serde_json::Value;

fn json(words: &[&str]) -> Value {
    let output = run(words);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    serde_json::from_str(&out(&output)).unwrap()
}

fn refused(words: &[&str], code: i32, part: &str) {
    let output = run(words);
    assert_eq!(
        output.status.code(),
        Some(code),
        "{words:?}: {}",
        err(&output)
    );
    assert!(err(&output).contains(part), "{words:?}: {}", err(&output));
}

#[test]
fn a_model_says_that_it_is_one_and_the_same_seed_prints_the_same() {
    let words = [
        "disk",
        "model",
        "--stripe",
        "64K",
        "--unit",
        "64K",
        "--reads",
        "100",
        "--depth",
        "8",
        "--requests",
        "3000",
        "--seed",
        "5",
    ];
    let text = out(&run(&words));
    assert!(text.starts_with("MODEL, not a measurement"), "{text}");
    assert!(text.contains("32256 B -> 64K"), "{text}");
    assert_eq!(text, out(&run(&words)));
    let all = json(&[&words[..], &["--json"]].concat());
    assert_eq!(
        (&all["modelled"], &all["version"]),
        (&Value::from(true), &Value::from(1))
    );
    let cells = all["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 2);
    assert_eq!(cells[0]["crossing_percent"], 12.5);
    assert_eq!(cells[0]["measurement"]["source"]["kind"], "model");
}

#[test]
fn published_gains_stand_beside_the_range_of_the_model() {
    let all = json(&["disk", "published", "--requests", "4000", "--json"]);
    let both = all["comparisons"].as_array().unwrap();
    assert_eq!(both.len(), 4);
    let levels = [&both[0]["level"], &both[3]["level"]];
    assert_eq!(levels, ["raid10", "raid5"]);
    assert_eq!(both[0]["published"]["iops_percent"], 11.0);
    assert_eq!(both[1]["modelled"].as_array().unwrap().len(), 16);
    let text = out(&run(&["disk", "published", "--requests", "500"]));
    assert!(text.contains("neither drives nor queue depth"), "{text}");
}

#[test]
fn a_directory_is_measured_in_a_file_that_is_gone_afterwards() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let words = [
        "disk",
        "measure",
        text(dir.path()),
        "--size",
        "8M",
        "--reads",
        "100,0",
        "--depth",
        "2",
        "--time",
        "200ms",
        "--warm-up",
        "10ms",
        "--json",
    ];
    let all = json(&words);
    assert_eq!(all["modelled"], false);
    let found = all["measurements"].as_array().unwrap();
    assert_eq!(found.len(), 2);
    assert!(found.iter().all(|one| one["iops"].as_f64().unwrap() > 1.0));
    assert_eq!(names(dir.path()), Vec::<String>::new());
}

#[test]
fn an_existing_file_is_read_and_only_written_when_it_is_named_twice() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = dir.path().join("kept");
    let bytes = vec![7; 1 << 20];
    furrow_io::write_file(&SystemVolume::new(), &path, &bytes).unwrap();
    let short = ["--time", "50ms", "--warm-up", "1ms", "--depth", "1"];
    let words = |more: &[&'static str]| {
        let mut words: Vec<String> = ["disk", "measure", text(&path)].map(str::to_owned).into();
        words.extend(short.iter().chain(more).map(|word| (*word).to_owned()));
        words
    };
    let as_words = |words: &[String]| run(&words.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(as_words(&words(&[])).status.code(), Some(0));
    let refused = as_words(&words(&["--reads", "50"]));
    assert_eq!(refused.status.code(), Some(3));
    assert!(err(&refused).contains("add --destroy"), "{}", err(&refused));
    let other = as_words(&words(&["--reads", "50", "--destroy", "/dev/null"]));
    assert_eq!(other.status.code(), Some(2), "{}", err(&other));
    assert_eq!(read_file(&SystemVolume::new(), &path).unwrap(), bytes);
    let mut named = words(&["--reads", "0", "--destroy"]);
    named.push(text(&path).to_owned());
    let output = as_words(&named);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert_ne!(read_file(&SystemVolume::new(), &path).unwrap(), bytes);
}

#[test]
fn a_disk_command_that_makes_no_sense_says_what_to_do() {
    let model = |spec: &'static str| ["disk", "model", "--requests", "100", "--array", spec];
    refused(&model("raid10:5x15k"), 2, "even number of drives");
    refused(&model("raid10:4x20k"), 2, "there is: 7k2");
    refused(&["disk", "model", "--stripe", "1000"], 2, "multiple of 512");
    refused(&["disk", "model", "--offset", "fast"], 2, "64K, 1M or 63s");
    refused(&["disk", "measure", "/no/such/thing"], 3, "no such file");
    refused(
        &["disk", "measure", "/dev/null"],
        3,
        "neither a regular file",
    );
    let huge = ["disk", "measure", "/tmp", "--size", "900T"];
    refused(&huge, 3, "give a smaller --size");
}

#[test]
fn facts_are_printed_for_every_path() {
    let text = out(&run(&["disk", "facts", "/", "/proc"]));
    assert_eq!(
        text.lines().filter(|line| line.starts_with('/')).count(),
        2,
        "{text}"
    );
    let all = json(&["disk", "facts", "/proc", "--json"]);
    assert_eq!(all["volumes"][0]["partition_start_bytes"], Value::Null);
}

#[test]
fn statements_on_a_throttled_volume_take_their_time_and_the_start_says_so() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let (home, slow) = (dir.path().join("home"), dir.path().join("slow"));
    SystemVolume::new().create_dir(&slow).unwrap();
    let volume = format!("{},latency=20ms", text(&slow));
    let create = format!(
        "CREATE DATABASE d ON (NAME=d, FILENAME='{0}/d.mdf', SIZE=8MB) \
         LOG ON (NAME=l, FILENAME='{0}/d.ldf', SIZE=4MB)",
        text(&slow)
    );
    let query = format!(
        "{create};\nGO\nUSE d;\nCREATE TABLE t (a int);\nGO\nDECLARE @n int = 0;\n\
         WHILE @n < 25 BEGIN INSERT t VALUES (@n); SET @n += 1 END;\nSELECT COUNT(*) FROM t;"
    );
    let begun = Moment::now();
    let output = run(&[
        "sql",
        "--instance",
        text(&home),
        "--volume",
        &volume,
        "-b",
        "-Q",
        &query,
    ]);
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}{}",
        out(&output),
        err(&output)
    );
    assert!(out(&output).contains("25"), "{}", out(&output));
    assert!(
        err(&output).contains("model: volume capped at"),
        "{}",
        err(&output)
    );
    assert!(begun.elapsed_us() > 25 * 20_000, "25 commits of 20 ms");
    let plain = text(&slow);
    refused(
        &["sql", "--volume", plain, "-Q", "SELECT 1"],
        2,
        "has no drives",
    );
    refused(
        &["sql", "--volume", "/d,reed=1", "-Q", "SELECT 1"],
        2,
        "there is: model",
    );
    let missing = "/no/such,iops=5";
    refused(
        &["sql", "--volume", missing, "-Q", "SELECT 1"],
        2,
        "make the directory first",
    );
}
