//! `furrow-soak`: crashes, faults and kills for any length of time; stops at the first finding and prints how
//! to see it again.

mod command;
mod fuzzed;
mod proof;

use command::{Command, Crashes, parse};
use furrow_io::random::random_seed;
use furrow_soak::crash::{Figures, Length};
use furrow_soak::engine::Engine;
use furrow_soak::{Finding, check, crash, faults, kill, pace, threads};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Cycles of a run with threads.
const CYCLES: u32 = 10;

fn main() -> ExitCode {
    match parse(std::env::args().skip(1)) {
        Ok(command) => carry_out(command),
        Err(why) => why.exit(),
    }
}

fn carry_out(command: Command) -> ExitCode {
    match command {
        Command::Crashes(Crashes {
            crashes,
            seed,
            jobs,
        }) => power_losses(crashes, seed, jobs.jobs),
        Command::Threads {
            crashes,
            seed,
            threads,
        } => under_threads(crashes, seed, threads.threads),
        Command::Faults {
            runs,
            seed,
            stride,
            jobs,
        } => failures((runs, jobs.jobs), seed, stride),
        Command::Kills {
            rounds,
            seed,
            threads,
            dir,
        } => kills(rounds, seed, threads.threads, dir),
        Command::Check {
            runs,
            injuries,
            seed,
            jobs,
        } => score((runs, injuries), seed, jobs.jobs),
        Command::Worlds { jobs } => proof::worlds(jobs.jobs),
        Command::Histories { runs, seed, jobs } => proof::histories(runs, seed, jobs.jobs),
        Command::Backups { runs, seed, jobs } => proof::backups(runs, seed, jobs.jobs),
        Command::Fuzz {
            inputs,
            seed,
            jobs,
            input,
            only,
        } => fuzzed::run(only.as_deref(), seed, (inputs, input), jobs.jobs),
        Command::Soak {
            hours,
            seed,
            jobs,
            dir,
        } => proof::soak(hours, seed, jobs.jobs, dir),
        Command::Mutations {
            seed,
            jobs,
            limit,
            only,
        } => proof::mutations(seed, jobs.jobs, limit, only),
        Command::Piece { sort, seed } => proof::piece(sort, seed),
        Command::Share { seed, first } => proof::share(seed, first.as_deref()),
        Command::Replay { seed } => {
            let done = crash::run(&Engine::default(), seed, Length::default());
            exit_code(done, "replay --seed")
        }
        Command::Child {
            seed,
            round,
            threads,
            dir,
        } => child(&dir, seed, round, threads.threads),
    }
}

fn under_threads(crashes: u64, seed: Option<u64>, threads: usize) -> ExitCode {
    let goal = pace::Goal {
        crashes,
        runs: u64::MAX,
        jobs: 1,
    };
    let one = |seed| threads::run(&Engine::default(), seed, threads, CYCLES);
    let again = format!("threads --threads {threads} --seed");
    soak(&goal, seed, &one, &again)
}

fn failures((runs, jobs): (u64, usize), seed: Option<u64>, stride: u64) -> ExitCode {
    let goal = pace::Goal {
        crashes: u64::MAX,
        runs,
        jobs,
    };
    let one = |seed| faults::run(&Engine::default(), seed, stride);
    let again = format!("faults --runs 1 --stride {stride} --seed");
    soak(&goal, seed, &one, &again)
}

/// The score of the consistency check over so many databases.
fn score((runs, injuries): (u64, u32), seed: Option<u64>, jobs: usize) -> ExitCode {
    let first = seed.unwrap_or_else(random_seed);
    println!("{runs} databases from seed {first} on, {jobs} at a time, {injuries} injuries each");
    match check::run_many((first, runs), injuries, jobs, &|line| println!("{line}")) {
        Ok(score) => {
            for missed in &score.missed {
                println!("missed: {missed}");
            }
            for left in &score.unrepaired {
                println!("not repaired: {left}");
            }
            for refused in &score.refused {
                println!("refused: {refused}");
            }
            println!("{score}");
            match score.unrepaired.is_empty() {
                true => ExitCode::SUCCESS,
                false => ExitCode::FAILURE,
            }
        }
        Err(alarm) => {
            println!("{alarm}");
            ExitCode::FAILURE
        }
    }
}

fn power_losses(crashes: u64, seed: Option<u64>, jobs: usize) -> ExitCode {
    let goal = pace::Goal {
        crashes,
        runs: u64::MAX,
        jobs,
    };
    let one = |seed| crash::run(&Engine::default(), seed, Length::default());
    soak(&goal, seed, &one, "replay --seed")
}

fn child(dir: &Path, seed: u64, round: u32, threads: usize) -> ExitCode {
    if let Err(failure) = kill::child(dir, seed, round, threads) {
        eprintln!("{failure}");
    }
    ExitCode::FAILURE
}

type One<'a> = &'a (dyn Fn(u64) -> Result<Figures, Box<Finding>> + Sync);

fn soak(goal: &pace::Goal, seed: Option<u64>, one: One<'_>, again: &str) -> ExitCode {
    let first = seed.unwrap_or_else(random_seed);
    println!("first seed {first}, {} at a time", goal.jobs);
    exit_code(
        pace::soak(first, goal, one, &|line| println!("{line}")),
        again,
    )
}

fn kills(rounds: u32, seed: Option<u64>, threads: usize, dir: Option<PathBuf>) -> ExitCode {
    let seed = seed.unwrap_or_else(random_seed);
    println!("{rounds} kills of {threads} writers, seed {seed}");
    let begun = std::env::current_exe().and_then(|program| Ok((program, tempfile::tempdir()?)));
    let (program, own_dir) = match begun {
        Ok(begun) => begun,
        Err(error) => {
            eprintln!("cannot begin: {error}");
            return ExitCode::FAILURE;
        }
    };
    let home = dir.unwrap_or_else(|| own_dir.path().to_path_buf());
    let rounds = kill::Rounds {
        program,
        home,
        seed,
        rounds,
        threads,
    };
    let done = kill::run(&rounds, &|line| println!("{line}"));
    if done.is_err() {
        println!("the files are kept in {}", own_dir.keep().display());
    }
    exit_code(done, &format!("kills --threads {threads} --seed"))
}

fn exit_code(done: Result<Figures, Box<Finding>>, again: &str) -> ExitCode {
    match done {
        Ok(figures) => {
            println!("{figures:#?}\nnothing found");
            ExitCode::SUCCESS
        }
        Err(finding) => {
            println!(
                "{finding}\nto see it again: furrow-soak {again} {}",
                finding.seed
            );
            ExitCode::FAILURE
        }
    }
}
