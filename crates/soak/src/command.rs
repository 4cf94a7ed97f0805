//! The command line.

use furrow_io::thread::available_cpus;
use std::path::PathBuf;

/// What may be asked for.
pub(crate) const USAGE: &str = "\
furrow-soak [crashes] [--crashes N] [--seed S] [--jobs J]
    simulated power losses, N in all (10000), from seed S on (drawn), J runs at a time (one a processor)
furrow-soak threads [--crashes N] [--seed S] [--threads T]
    the same (1000) while T threads work (16) and wait for each other
furrow-soak faults [--runs N] [--seed S] [--stride D] [--jobs J]
    N workloads (20) in which every D-th (1) read, write, sync or resize fails
furrow-soak kills [--rounds N] [--seed S] [--threads T] [DIR]
    N processes (200) of T writers (16) on real files in DIR (a temporary directory), killed
furrow-soak check [--runs N] [--seed S] [--jobs J]
    N databases (300), each checked sound and then damaged in 40 ways: the score of the consistency check
furrow-soak worlds [--jobs J]
    every power loss and every failure of every small world
furrow-soak histories [--runs N] [--seed S] [--jobs J]
    N histories (100) under each isolation level
furrow-soak soak [--hours H] [--seed S] [--jobs J] [DIR]
    all of it for H hours (1), with a ledger in DIR (furrow-soak): what it found is tried first the next time
furrow-soak mutations [--seed S] [--jobs J] [--limit SECONDS] [NAME]
    each fault that can be ordered (or those with NAME in theirs) against a share of everything
furrow-soak piece --sort N --seed S
    a piece of a soak again
furrow-soak replay --seed S
    one run of crashes again";

/// What is asked for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Command {
    Help,
    Crashes {
        crashes: u64,
        seed: Option<u64>,
        jobs: usize,
    },
    Threads {
        crashes: u64,
        seed: Option<u64>,
        threads: usize,
    },
    Faults {
        runs: u64,
        seed: Option<u64>,
        stride: u64,
        jobs: usize,
    },
    Kills {
        rounds: u32,
        seed: Option<u64>,
        threads: usize,
        dir: Option<PathBuf>,
    },
    Check {
        runs: u64,
        seed: Option<u64>,
        jobs: usize,
    },
    Replay {
        seed: u64,
    },
    Worlds {
        jobs: usize,
    },
    Histories {
        runs: u64,
        seed: Option<u64>,
        jobs: usize,
    },
    Soak {
        hours: f64,
        seed: Option<u64>,
        jobs: usize,
        dir: Option<PathBuf>,
    },
    Mutations {
        seed: Option<u64>,
        jobs: usize,
        limit: u64,
        only: Option<String>,
    },
    Piece {
        sort: usize,
        seed: u64,
    },
    /// Of `mutations`: not for people.
    Share {
        seed: u64,
    },
    /// Of `kills`: not for people.
    Child {
        seed: u64,
        round: u32,
        threads: usize,
        dir: PathBuf,
    },
}

/// The options of a command line, each with its number, and what is no option.
struct Options {
    numbers: Vec<(String, u64)>,
    hours: Option<f64>,
    path: Option<PathBuf>,
}

impl Options {
    fn read(words: &[String]) -> Result<Options, String> {
        let mut options = Options {
            numbers: Vec::new(),
            hours: None,
            path: None,
        };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match word.strip_prefix("--") {
                Some("hours") => {
                    let hours = words.next().and_then(|text| text.parse().ok());
                    let hours = hours.filter(|h: &f64| h.is_finite() && *h > 0.0);
                    options.hours = Some(hours.ok_or("--hours wants a number above 0")?);
                }
                Some(name) => {
                    let number = words.next().and_then(|text| text.parse().ok());
                    let number = number.ok_or_else(|| format!("{word} wants a number"))?;
                    options.numbers.push((name.to_owned(), number));
                }
                None if options.path.is_none() => options.path = Some(word.into()),
                None => return Err(format!("'{word}' is one word too many")),
            }
        }
        Ok(options)
    }

    fn take(&mut self, name: &str) -> Option<u64> {
        let at = self.numbers.iter().position(|(option, _)| option == name)?;
        Some(self.numbers.remove(at).1)
    }

    fn threads(&mut self) -> usize {
        self.take("threads").unwrap_or(16).max(1) as usize
    }

    fn jobs(&mut self) -> usize {
        self.take("jobs")
            .map_or_else(available_cpus, |jobs| jobs.max(1) as usize)
    }

    fn needed(&mut self, name: &str) -> Result<u64, String> {
        self.take(name).ok_or_else(|| format!("--{name} is needed"))
    }

    fn end(self) -> Result<(), String> {
        if self.hours.is_some() {
            return Err("--hours is not known here".to_owned());
        }
        match (self.numbers.first(), self.path) {
            (None, None) => Ok(()),
            (Some((name, _)), _) => Err(format!("--{name} is not known here")),
            (None, Some(path)) => Err(format!("'{}' is one word too many", path.display())),
        }
    }
}

/// Understands a command line without the program's name.
pub(crate) fn parse(words: impl Iterator<Item = String>) -> Result<Command, String> {
    let words: Vec<String> = words.collect();
    let named = words.first().filter(|word| !word.starts_with('-'));
    let rest = if named.is_some() {
        &words[1..]
    } else {
        &words[..]
    };
    if words.iter().any(|word| word == "--help" || word == "-h") {
        return Ok(Command::Help);
    }
    let mut o = Options::read(rest)?;
    let seed = o.take("seed");
    let needed_seed = seed.ok_or_else(|| "--seed is needed".to_owned());
    let command = match named.map_or("crashes", String::as_str) {
        "help" => Command::Help,
        "crashes" => Command::Crashes {
            crashes: o.take("crashes").unwrap_or(10_000),
            seed,
            jobs: o.jobs(),
        },
        "threads" => {
            let crashes = o.take("crashes").unwrap_or(1_000);
            Command::Threads {
                crashes,
                seed,
                threads: o.threads(),
            }
        }
        "faults" => {
            let (runs, stride) = (o.take("runs").unwrap_or(20), o.take("stride").unwrap_or(1));
            Command::Faults {
                runs,
                seed,
                stride: stride.max(1),
                jobs: o.jobs(),
            }
        }
        "kills" => Command::Kills {
            rounds: o.take("rounds").unwrap_or(200) as u32,
            seed,
            threads: o.threads(),
            dir: o.path.take(),
        },
        "check" => Command::Check {
            runs: o.take("runs").unwrap_or(300),
            seed,
            jobs: o.jobs(),
        },
        "worlds" => Command::Worlds { jobs: o.jobs() },
        "histories" => Command::Histories {
            runs: o.take("runs").unwrap_or(100),
            seed,
            jobs: o.jobs(),
        },
        "soak" => Command::Soak {
            hours: o.hours.take().unwrap_or(1.0),
            seed,
            jobs: o.jobs(),
            dir: o.path.take(),
        },
        "mutations" => Command::Mutations {
            seed,
            jobs: o.jobs(),
            limit: o.take("limit").unwrap_or(240),
            only: o.path.take().map(|word| word.display().to_string()),
        },
        "piece" => Command::Piece {
            sort: o.needed("sort")? as usize,
            seed: needed_seed?,
        },
        "share" => Command::Share { seed: needed_seed? },
        "replay" => Command::Replay { seed: needed_seed? },
        "child" => Command::Child {
            seed: needed_seed?,
            round: o.needed("round")? as u32,
            threads: o.threads(),
            dir: o.path.take().ok_or("a directory is needed")?,
        },
        other => return Err(format!("'{other}' is not known")),
    };
    o.end()?;
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Result<Command, String> {
        parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn a_bare_command_means_ten_thousand_crashes() {
        let jobs = available_cpus();
        assert_eq!(
            of(""),
            Ok(Command::Crashes {
                crashes: 10_000,
                seed: None,
                jobs
            })
        );
        let given = Command::Crashes {
            crashes: 7,
            seed: Some(9),
            jobs: 1,
        };
        assert_eq!(of("--crashes 7 --seed 9 --jobs 0"), Ok(given));
        assert_eq!(of("replay --seed 3"), Ok(Command::Replay { seed: 3 }));
    }

    #[test]
    fn kills_take_a_directory_and_their_children_need_one() {
        let dir = || PathBuf::from("/x");
        let kills = Command::Kills {
            rounds: 5,
            seed: None,
            threads: 16,
            dir: Some(dir()),
        };
        assert_eq!(of("kills --rounds 5 /x"), Ok(kills));
        let child = Command::Child {
            seed: 1,
            round: 2,
            threads: 3,
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
            jobs: 3,
            dir: None,
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
            "replay",
            "--kills 3",
            "--seed 1 2",
        ] {
            assert!(of(line).is_err(), "{line}");
        }
    }
}
