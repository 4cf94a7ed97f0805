//! The pages under docs/reference are made from the tables in the code, so that they cannot drift apart.
//!
//! After a change of a table, an option or the schema:
//! `FURROW_BLESS=1 cargo test -p furrow --test reference`

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use furrow_io::{SystemVolume, Volume};
use furrow_lab::journal::{read_file, write_file};
use std::path::{Path, PathBuf};
use std::process::Command;

const REWRITE: &str = "FURROW_BLESS=1 cargo test -p furrow --test reference";

/// The commands whose options are documented.
const COMMANDS: &[&[&str]] = &[
    &["--help"],
    &["lab", "--help"],
    &["lab", "list", "--help"],
    &["lab", "run", "--help"],
    &["sql", "--help"],
    &["inspect", "--help"],
    &["inspect", "fill", "--help"],
    &["inspect", "page", "--help"],
    &["inspect", "export", "--help"],
    &["check", "--help"],
    &["backup", "--help"],
    &["backup", "script", "--help"],
    &["backup", "rehearse", "--help"],
    &["backup", "key", "--help"],
    &["disk", "--help"],
    &["disk", "model", "--help"],
    &["disk", "published", "--help"],
    &["disk", "measure", "--help"],
    &["disk", "facts", "--help"],
];

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference")
}

/// What the program says of itself.
fn command_line() -> String {
    let mut page = "# Command line\n\nWhat `--help` prints.\n".to_string();
    let runs: Vec<Vec<&str>> = furrow_experiments::REGISTRY
        .iter()
        .map(|entry| vec!["lab", "run", entry.name, "--help"])
        .collect();
    let all = COMMANDS.iter().map(|words| words.to_vec()).chain(runs);
    for words in all {
        let program = env!("CARGO_BIN_EXE_furrow");
        let output = Command::new(program).args(&words).output().unwrap();
        let help = String::from_utf8(output.stdout).unwrap();
        let called = ["furrow"].iter().chain(&words).copied().collect::<Vec<_>>();
        let called = called.join(" ").replace(" --help", "");
        page.push_str(&format!("\n## {called}\n\n```text\n"));
        for line in help.lines() {
            page.push_str(line.trim_end());
            page.push('\n');
        }
        page.push_str("```\n");
    }
    page.push_str(
        "\n## Exit codes\n\n| code | meaning |\n|---|---|\n| 0 | done |\n| 1 | failed |\n\
         | 2 | the command line makes no sense |\n\
         | 3 | refused before anything began: too little space, a directory in use, a name taken, no such \
          file |\n\
         | 130 | interrupted; what was made is removed, `--resume` goes on |\n\n\
         `check` has codes of its own: 0 nothing is wrong, 1 something is, 2 it could not be checked, or the \
         command line makes no sense.\n\n\
         `sql` ends with 0 whatever its statements said, unless it was asked otherwise: with `-b` an error \
         ends it with 1; with `-V LEVEL` the status is the highest level of an error, if that is LEVEL or \
         more. `:exit(QUERY)` ends it with the number that the query gives, of which the system keeps the \
         lowest byte: 156 (-100) where the query fails, 155 (-101) where it gives no row, 154 (-102) where \
         its value is no integer. An error with state 127 ends it with its number.\n",
    );
    page
}

/// Every page: the name of its file and what should stand in it.
fn pages() -> Vec<(String, String)> {
    let note = format!("\nGenerated from the tables in the code; regenerate it by `{REWRITE}`.\n");
    let tables = furrow_observe::reference_pages()
        .into_iter()
        .chain([furrow_txn::reference_page()])
        .chain(furrow_sql::reference_pages())
        .map(|(name, text)| (name.to_string(), text));
    let mut pages: Vec<(String, String)> = tables
        .chain([("command-line.md".to_string(), command_line())])
        .map(|(name, text)| (name, text + &note))
        .collect();
    let title = |text: &str| text.lines().next().unwrap()[2..].to_string();
    let mut index = "# Reference\n\n".to_string();
    for (name, text) in &pages {
        index.push_str(&format!("- [{}]({name})\n", title(text)));
    }
    index.push_str("- [JSON Schema of results.json](results.schema.json)\n");
    pages.push(("README.md".to_string(), index + &note));
    let schema = furrow_lab::results::json_schema();
    pages.push(("results.schema.json".to_string(), schema));
    pages
}

#[test]
fn the_committed_pages_are_those_of_the_tables() {
    let volume = SystemVolume::new();
    let bless = std::env::var_os("FURROW_BLESS").is_some();
    let mut differ = Vec::new();
    for (name, wanted) in pages() {
        let path = directory().join(&name);
        let found = read_file(&volume, &path).ok();
        if found.as_deref() == Some(wanted.as_bytes()) {
            continue;
        }
        if bless {
            volume.create_dir(&directory()).unwrap();
            if found.is_some() {
                volume.remove(&path).unwrap();
            }
            write_file(&volume, &path, wanted.as_bytes()).unwrap();
        } else {
            differ.push(name);
        }
    }
    assert!(
        differ.is_empty(),
        "docs/reference differs from the code in {differ:?}; rewrite it by: {REWRITE}"
    );
}

#[test]
fn no_page_is_left_over_from_a_table_that_is_gone() {
    let known: Vec<String> = pages().into_iter().map(|(name, _)| name).collect();
    for path in SystemVolume::new().list(&directory()).unwrap() {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        assert!(
            known.contains(&name),
            "docs/reference/{name} is made by nothing"
        );
    }
}
