//! Runs `furrow sql` with words on its command line and a script on its standard input.

use super::{furrow, text};
use std::io::Write;
use std::path::Path;
use std::process::{Output, Stdio};

pub(super) fn sql(directory: &Path, words: &[&str], input: &str) -> Output {
    sql_of_bytes(directory, words, input.as_bytes())
}

pub(super) fn sql_of_bytes(directory: &Path, words: &[&str], input: &[u8]) -> Output {
    let instance = directory.join("instance");
    let mut child = furrow()
        .args(["sql", "--pool", "8MB", "--instance", text(&instance)])
        .args(words)
        .current_dir(directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input).unwrap();
    drop(stdin);
    child.wait_with_output().unwrap()
}
