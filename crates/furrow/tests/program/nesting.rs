//! Statements that nest deeper than the stack of the main thread.

use super::*;
use furrow_io::thread::spawn_named;
use std::io::Write;
use std::process::Stdio;

#[path = "../../../sql/tests/support/nesting.rs"]
mod shapes;

/// Runs a script, batch by batch, on the main thread of a process.
fn run_script(script: String) -> Output {
    let dir = tempfile::tempdir().unwrap();
    let mut child = furrow()
        .args(["sql", "--pool", "16MB", "--instance", text(dir.path())])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let writer = spawn_named("script", move || input.write_all(script.as_bytes()));
    let output = child.wait_with_output().unwrap();
    // A process that died reads no more: its output shows it.
    let _ = writer.unwrap().join().unwrap();
    output
}

#[test]
fn nesting_of_every_kind_works_or_is_refused_on_the_main_thread() {
    for depth in [shapes::WORKS, 2500] {
        let batches = shapes::shapes(depth)
            .into_iter()
            .flat_map(|(_, batches)| batches);
        let script: String = batches.map(|batch| batch + "\nGO\n").collect();
        let output = run_script(script);
        assert_eq!(output.status.code(), Some(0), "{depth}: {}", err(&output));
        let shown = out(&output) + &err(&output);
        let numbers = shown.lines().filter_map(|line| line.strip_prefix("Msg "));
        let numbers = numbers.filter_map(|line| line.split(',').next()?.parse::<u32>().ok());
        for number in numbers {
            // A view over one that was refused is not there.
            let refused = shapes::REFUSALS.contains(&number) || number == 208;
            assert!(depth > shapes::WORKS && refused, "{number}");
        }
    }
}
