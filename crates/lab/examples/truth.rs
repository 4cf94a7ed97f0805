//! Counts how often the analysis is right about experiments with known results.
//!
//! `cargo run --release -p furrow-lab --example truth -- [TRIALS]`: so many experiments for each line, 2,000
//! unless given. The tests of `tests/truth` count the same with fewer. Ends with code 1 where a share lies
//! beyond its limit by more than chance explains.

#[path = "../tests/truth/questions.rs"]
mod questions;
#[path = "../tests/truth/trial.rs"]
mod trial;

use std::process::ExitCode;

fn main() -> ExitCode {
    let typed = std::env::args().nth(1).and_then(|text| text.parse().ok());
    let trials: u64 = typed.unwrap_or(2_000);
    let mut all_hold = true;
    for question in [
        questions::false_alarms,
        questions::growing_spread,
        questions::planted,
        questions::knees,
        questions::needless,
        questions::searches,
    ] {
        for share in question(trials) {
            println!("{share}");
            all_hold &= share.holds();
        }
    }
    if all_hold {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
