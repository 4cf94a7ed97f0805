//! The command line.

use furrow_io::thread::available_cpus;

/// What may be asked for.
pub(crate) const USAGE: &str = "\
furrow-soak [crashes] [--crashes N] [--seed S] [--jobs J]
    simulated power losses, N in all (10000), from seed S on (drawn), J runs at a time (one a processor)
furrow-soak replay --seed S
    one run again";

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Command {
    Help,
    Crashes {
        crashes: u64,
        seed: Option<u64>,
        jobs: usize,
    },
    Replay {
        seed: u64,
    },
}

/// The options of a command line, each with its number.
struct Options(Vec<(String, u64)>);

impl Options {
    fn read(words: &[String]) -> Result<Options, String> {
        let mut options = Vec::new();
        for pair in words.chunks(2) {
            let name = pair.first().map_or("", String::as_str);
            let number = pair.get(1).and_then(|text| text.parse().ok());
            match (name.strip_prefix("--"), number) {
                (None, _) => return Err(format!("'{name}' is not known")),
                (Some(_), None) => return Err(format!("{name} wants a number")),
                (Some(name), Some(number)) => options.push((name.to_owned(), number)),
            }
        }
        Ok(Options(options))
    }

    fn take(&mut self, name: &str) -> Option<u64> {
        let at = self.0.iter().position(|(option, _)| option == name)?;
        Some(self.0.remove(at).1)
    }

    fn end(self) -> Result<(), String> {
        match self.0.first() {
            None => Ok(()),
            Some((name, _)) => Err(format!("--{name} is not known here")),
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
    let mut options = Options::read(rest)?;
    let command = match named.map_or("crashes", String::as_str) {
        "help" => Command::Help,
        "crashes" => Command::Crashes {
            crashes: options.take("crashes").unwrap_or(10_000),
            seed: options.take("seed"),
            jobs: options
                .take("jobs")
                .map_or_else(available_cpus, |jobs| jobs.max(1) as usize),
        },
        "replay" => {
            let seed = options.take("seed").ok_or("replay wants --seed")?;
            Command::Replay { seed }
        }
        other => return Err(format!("'{other}' is not known")),
    };
    options.end()?;
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
