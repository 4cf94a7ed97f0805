//! The command line.

use clap::{Args, Parser, Subcommand};
use furrow_io::thread::available_cpus;
use std::path::PathBuf;

/// Crashes, faults and kills for as long as one likes, held against a model of what must have survived.
#[derive(Debug, Parser)]
#[command(name = "furrow-soak", version, args_conflicts_with_subcommands = true)]
struct Line {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    crashes: Crashes,
}

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Subcommand)]
pub(crate) enum Command {
    /// Simulated power losses (also without a command)
    Crashes(Crashes),
    /// Simulated power losses while many threads work and wait for each other
    Threads {
        /// Power losses in all
        #[arg(long, default_value_t = 1_000, value_name = "N")]
        crashes: u64,
        /// First seed (drawn)
        #[arg(long)]
        seed: Option<u64>,
        #[command(flatten)]
        threads: ThreadCount,
    },
    /// Workloads in which every read, write, sync or resize fails once
    Faults {
        /// Workloads
        #[arg(long, default_value_t = 20, value_name = "N")]
        runs: u64,
        /// First seed (drawn)
        #[arg(long)]
        seed: Option<u64>,
        /// Only every D-th operation fails
        #[arg(long, default_value_t = 1, value_name = "D", value_parser = stride)]
        stride: u64,
        #[command(flatten)]
        jobs: Jobs,
    },
    /// Processes that work on real files, killed
    Kills {
        /// Processes
        #[arg(long, default_value_t = 200, value_name = "N")]
        rounds: u32,
        /// Seed (drawn)
        #[arg(long)]
        seed: Option<u64>,
        #[command(flatten)]
        threads: ThreadCount,
        /// Where the files lie (a temporary directory)
        dir: Option<PathBuf>,
    },
    /// The score of the consistency check: databases checked sound, then damaged
    Check {
        /// Databases
        #[arg(long, default_value_t = 300, value_name = "N")]
        runs: u64,
        /// Injuries of each, one at a time
        #[arg(long, default_value_t = 40, value_name = "N")]
        injuries: u32,
        /// First seed (drawn)
        #[arg(long)]
        seed: Option<u64>,
        #[command(flatten)]
        jobs: Jobs,
    },
    /// Every power loss and every failure of every small world
    Worlds {
        #[command(flatten)]
        jobs: Jobs,
    },
    /// Histories under each isolation level
    Histories {
        /// Histories for each level
        #[arg(long, default_value_t = 100, value_name = "N")]
        runs: u64,
        /// First seed (drawn)
        #[arg(long)]
        seed: Option<u64>,
        #[command(flatten)]
        jobs: Jobs,
    },
    /// Backups and restores under writers and simulated power losses
    Backups {
        /// Runs
        #[arg(long, default_value_t = 1_000, value_name = "N")]
        runs: u64,
        /// First seed (drawn)
        #[arg(long)]
        seed: Option<u64>,
        #[command(flatten)]
        jobs: Jobs,
    },
    /// Damaged inputs for everything that reads what it cannot trust
    Fuzz {
        /// Inputs for each target (20 million; of whole databases half a million)
        #[arg(long, value_name = "N")]
        inputs: Option<u64>,
        /// Seed (drawn)
        #[arg(long)]
        seed: Option<u64>,
        #[command(flatten)]
        jobs: Jobs,
        /// One input again
        #[arg(long, value_name = "NUMBER")]
        input: Option<u64>,
        /// Only this target
        #[arg(value_name = "TARGET")]
        only: Option<String>,
    },
    /// All of it for hours; what it found is tried first the next time
    Soak {
        #[arg(long, default_value_t = 1.0, value_parser = hours)]
        hours: f64,
        /// Seed (drawn)
        #[arg(long)]
        seed: Option<u64>,
        #[command(flatten)]
        jobs: Jobs,
        /// Where the ledger lies
        #[arg(default_value = "furrow-soak")]
        dir: PathBuf,
    },
    /// Each fault that can be ordered against a share of everything
    Mutations {
        /// Seed (drawn)
        #[arg(long)]
        seed: Option<u64>,
        #[command(flatten)]
        jobs: Jobs,
        /// Longest time for one fault
        #[arg(long, default_value_t = 240, value_name = "SECONDS")]
        limit: u64,
        /// Only the faults with this in their name
        #[arg(value_name = "NAME")]
        only: Option<String>,
    },
    /// A piece of a soak again
    Piece {
        #[arg(long)]
        sort: usize,
        #[arg(long)]
        seed: u64,
    },
    /// One run of crashes again
    Replay {
        #[arg(long)]
        seed: u64,
    },
    /// Of `mutations`: not for people.
    #[command(hide = true)]
    Share {
        #[arg(long)]
        seed: u64,
        /// The part that comes before the others.
        first: Option<String>,
    },
    /// Of `kills`: not for people.
    #[command(hide = true)]
    Child {
        #[arg(long)]
        seed: u64,
        #[arg(long)]
        round: u32,
        #[command(flatten)]
        threads: ThreadCount,
        dir: PathBuf,
    },
}

#[derive(Debug, Clone, PartialEq, Args)]
pub(crate) struct Crashes {
    /// Power losses in all
    #[arg(long, default_value_t = 10_000, value_name = "N")]
    pub(crate) crashes: u64,
    /// First seed (drawn)
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    #[command(flatten)]
    pub(crate) jobs: Jobs,
}

#[derive(Debug, Clone, PartialEq, Args)]
pub(crate) struct Jobs {
    /// Runs side by side (one a processor)
    #[arg(
        long,
        default_value_t = available_cpus(),
        hide_default_value = true,
        value_name = "J",
        value_parser = count
    )]
    pub(crate) jobs: usize,
}

#[derive(Debug, Clone, PartialEq, Args)]
pub(crate) struct ThreadCount {
    /// Threads that work
    #[arg(long, default_value_t = 16, value_name = "T", value_parser = count)]
    pub(crate) threads: usize,
}

fn count(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("at least 1".to_owned()),
        Ok(number) => Ok(number),
        Err(_) => Err("not a number".to_owned()),
    }
}

fn stride(text: &str) -> Result<u64, String> {
    count(text).map(|number| number as u64)
}

fn hours(text: &str) -> Result<f64, String> {
    let hours = text.parse().ok();
    let hours = hours.filter(|hours: &f64| hours.is_finite() && *hours > 0.0);
    hours.ok_or_else(|| "not a number above 0".to_owned())
}

/// Understands a command line without the program's name.
pub(crate) fn parse(words: impl Iterator<Item = String>) -> Result<Command, clap::Error> {
    let line = Line::try_parse_from(std::iter::once("furrow-soak".to_owned()).chain(words))?;
    Ok(line.command.unwrap_or(Command::Crashes(line.crashes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Result<Command, String> {
        parse(line.split_whitespace().map(str::to_owned)).map_err(|e| e.to_string())
    }

    #[test]
    fn the_command_line_is_sound() {
        use clap::CommandFactory;
        Line::command().debug_assert();
    }

    #[test]
    fn a_bare_command_means_ten_thousand_crashes() {
        let crashes = |crashes, seed, jobs| {
            Ok(Command::Crashes(Crashes {
                crashes,
                seed,
                jobs: Jobs { jobs },
            }))
        };
        assert_eq!(of(""), crashes(10_000, None, available_cpus()));
        let given = "--crashes 7 --seed 9 --jobs 3";
        assert_eq!(of(given), crashes(7, Some(9), 3));
        assert_eq!(of(&format!("crashes {given}")), of(given));
        assert_eq!(of("replay --seed 3"), Ok(Command::Replay { seed: 3 }));
    }

    #[test]
    fn kills_take_a_directory_and_their_children_need_one() {
        let dir = || PathBuf::from("/x");
        let kills = Command::Kills {
            rounds: 5,
            seed: None,
            threads: ThreadCount { threads: 16 },
            dir: Some(dir()),
        };
        assert_eq!(of("kills --rounds 5 /x"), Ok(kills));
        let child = Command::Child {
            seed: 1,
            round: 2,
            threads: ThreadCount { threads: 3 },
            dir: dir(),
        };
        assert_eq!(of("child --seed 1 --round 2 --threads 3 /x"), Ok(child));
        assert!(of("child --seed 1 --round 2").is_err());
    }

    #[test]
    fn a_soak_takes_hours_and_their_parts() {
        let soak = Command::Soak {
            hours: 2.5,
            seed: Some(4),
            jobs: Jobs { jobs: 3 },
            dir: "furrow-soak".into(),
        };
        assert_eq!(of("soak --hours 2.5 --seed 4 --jobs 3"), Ok(soak));
        assert!(of("soak --hours 0").is_err() && of("worlds --hours 1").is_err());
        let only = |line| match of(line) {
            Ok(Command::Mutations { only, .. }) => only,
            other => panic!("{other:?}"),
        };
        assert_eq!(only("mutations latches"), Some("latches".to_owned()));
    }

    #[test]
    fn what_is_not_understood_is_said() {
        for line in [
            "fly",
            "--crashes",
            "--crashes many",
            "--jobs 0",
            "replay",
            "--kills 3",
            "--seed 1 2",
        ] {
            assert!(of(line).is_err(), "{line}");
        }
    }
}
