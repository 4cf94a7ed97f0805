//! `furrow-soak`: crashes, faults and kills for as long as one likes; stops at the first finding and says how to see it again.

mod command;

use command::{Command, USAGE, parse};
use furrow_io::random::random_seed;
use furrow_soak::crash::{Length, run};
use furrow_soak::engine::Engine;
use furrow_soak::pace;
use std::process::ExitCode;

fn main() -> ExitCode {
    let command = match parse(std::env::args().skip(1)) {
        Ok(command) => command,
        Err(why) => {
            eprintln!("{why}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match command {
        Command::Help => {
            println!("{USAGE}");
            ExitCode::SUCCESS
        }
        Command::Crashes {
            crashes,
            seed,
            jobs,
        } => soak_crashes(crashes, seed, jobs),
        Command::Replay { seed } => replay(seed),
    }
}

fn soak_crashes(crashes: u64, seed: Option<u64>, jobs: usize) -> ExitCode {
    let first = seed.unwrap_or_else(random_seed);
    println!("power losses: {crashes}, first seed {first}, {jobs} at a time");
    let engine = Engine::default();
    let one = |seed| run(&engine, seed, Length::default());
    match pace::soak(first, crashes, jobs, &one, &|line| println!("{line}")) {
        Ok(figures) => {
            println!("{figures:#?}\nnothing found");
            ExitCode::SUCCESS
        }
        Err(finding) => {
            println!(
                "{finding}\nto see it again: furrow-soak replay --seed {}",
                finding.seed
            );
            ExitCode::FAILURE
        }
    }
}

fn replay(seed: u64) -> ExitCode {
    match run(&Engine::default(), seed, Length::default()) {
        Ok(figures) => {
            println!("{figures:#?}\nnothing found");
            ExitCode::SUCCESS
        }
        Err(finding) => {
            println!("{finding}");
            ExitCode::FAILURE
        }
    }
}
