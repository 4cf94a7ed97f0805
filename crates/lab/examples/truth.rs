//! Counts how often the analysis is right about experiments with known results.
//!
//! `cargo run --release -p furrow-lab --example truth -- [TRIALS] [QUESTION...]`: so many experiments for
//! each line, 2,000 unless given, and these questions, all unless given. The tests of `tests/truth` count the
//! same with fewer. Ends with code 1 where a share lies beyond its limit by more than chance explains.

#[path = "../tests/truth/questions.rs"]
mod questions;
#[path = "../tests/truth/trial.rs"]
mod trial;

use std::process::ExitCode;

type Question = fn(u64) -> Vec<questions::Share>;

const QUESTIONS: [(&str, Question); 6] = [
    ("false-alarms", questions::false_alarms),
    ("growing-spread", questions::growing_spread),
    ("planted", questions::planted),
    ("knees", questions::knees),
    ("needless", questions::needless),
    ("searches", questions::searches),
];

fn main() -> ExitCode {
    let (mut trials, mut chosen) = (2_000, Vec::new());
    for word in std::env::args().skip(1) {
        match (word.parse(), QUESTIONS.iter().find(|q| q.0 == word)) {
            (Ok(count), _) => trials = count,
            (_, Some(question)) => chosen.push(question),
            _ => {
                let names = QUESTIONS.map(|q| q.0).join(", ");
                eprintln!("`{word}` is neither a number nor one of {names}");
                return ExitCode::from(2);
            }
        }
    }
    if chosen.is_empty() {
        chosen = QUESTIONS.iter().collect();
    }
    let mut all_hold = true;
    for (_, question) in chosen {
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
