//! The command that fuzzes.

use furrow_io::random::random_seed;
use furrow_soak::fuzz::{self, Kind, TARGETS, target};
use std::process::ExitCode;

/// Damaged inputs for all targets, or for one; or a single input again.
pub(crate) fn run(
    only: Option<&str>,
    seed: Option<u64>,
    (inputs, input): (Option<u64>, Option<u64>),
    jobs: usize,
) -> ExitCode {
    let kinds: Vec<Kind> = match only {
        None => TARGETS.to_vec(),
        Some(name) => target(name).into_iter().collect(),
    };
    if kinds.is_empty() {
        let names: Vec<&str> = TARGETS.iter().map(|kind| kind.name).collect();
        eprintln!("no such target; there are {}, canary", names.join(", "));
        return ExitCode::from(2);
    }
    let seed = seed.unwrap_or_else(random_seed);
    println!("seed {seed}, {jobs} at a time");
    for kind in &kinds {
        let done = match input {
            Some(input) => fuzz::one(kind, seed, input).map(|()| None),
            None => {
                let inputs = inputs.unwrap_or(kind.whole);
                fuzz::run(kind, seed, inputs, jobs, &|line| println!("{line}"))
                    .map(|took| Some((inputs, took)))
            }
        };
        match done {
            Ok(None) => println!("{}: nothing found", kind.name),
            Ok(Some((inputs, took))) => {
                let seconds = took.as_secs_f64();
                let a_second = inputs as f64 / seconds.max(0.001);
                println!(
                    "{}: {inputs} inputs in {seconds:.0} s, {a_second:.0} a second: nothing found",
                    kind.name
                );
            }
            Err(caught) => {
                println!("{}: {}", kind.name, caught.what);
                println!(
                    "to see it again: furrow-soak fuzz --seed {seed} --input {} {}",
                    caught.input, kind.name
                );
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}
