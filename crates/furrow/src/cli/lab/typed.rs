//! Arguments of `furrow lab run`. The experiment's own options come from its registry entry.

use super::condition::Condition;
use super::notify::Address;
use clap::{ArgMatches, Args, Command, FromArgMatches, Subcommand};
use furrow_experiments::{Entry, REGISTRY, entry};
use furrow_lab::plan::Plan;
use std::path::PathBuf;

/// Options of `lab run`.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    override_usage = "furrow lab run [OPTIONS] --resume <DIR>\n       furrow lab run <EXPERIMENT>",
    subcommand_value_name = "EXPERIMENT",
    subcommand_help_heading = "Experiments"
)]
pub(crate) struct RunArguments {
    /// Go on with the experiment in this directory; its plan is in its journal
    #[arg(long, value_name = "DIR")]
    pub(crate) resume: Option<PathBuf>,
    /// Add blocks, up to so many in all
    #[arg(long, value_name = "N", value_parser = blocks)]
    pub(crate) blocks: Option<u32>,
    /// End with code 4 when this holds for a level: ratio>1.05, or low or high for an end of the interval
    #[arg(long = "fail-if", value_parser = Condition::parse, value_name = "CONDITION")]
    pub(crate) fail_if_resumed: Option<Condition>,
    #[command(flatten)]
    pub(crate) view: ViewArguments,
    #[command(subcommand)]
    pub(crate) experiment: Option<Chosen>,
}

/// How progress is printed, and where messages about it are sent.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ViewArguments {
    /// One line a run instead of a line that is written over: for logs
    #[arg(long, conflicts_with = "json_progress")]
    pub(crate) plain: bool,
    /// Progress as JSON, one object a line: for tools
    #[arg(long)]
    pub(crate) json_progress: bool,
    /// Send a message when it ends, fails or stalls; may be given several times: command:LINE,
    /// https://HOST/PATH (or http://), mailto:NAME@HOST
    #[arg(long, value_parser = Address::parse, value_name = "WHERE")]
    pub(crate) notify: Vec<Address>,
}

/// Options of `lab notify`.
#[derive(Debug, Args)]
pub(crate) struct NotifyArguments {
    /// Send a message to each address now
    #[arg(long, required = true)]
    pub(crate) test: bool,
    /// Addresses as --notify takes them: command:LINE, https://HOST/PATH (or http://), mailto:NAME@HOST
    #[arg(required = true, value_parser = Address::parse, value_name = "WHERE")]
    pub(crate) addresses: Vec<Address>,
}

/// Options that every experiment has.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Options of every experiment")]
pub(crate) struct CommonArguments {
    /// Blocks: how often each level is run [default: 6, with --quick 3]
    #[arg(long, value_name = "N", value_parser = blocks)]
    pub(crate) blocks: Option<u32>,
    /// Seed of the order of runs [default: a fresh one]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Search for the best of many configurations in a third of the runs: rounds leave out what will hardly
    /// be the best
    #[arg(long)]
    pub(crate) search: bool,
    /// Differences smaller than this do not matter
    #[arg(long, value_parser = percent, default_value = "2%", value_name = "PERCENT")]
    pub(crate) delta: f64,
    /// Start no run after this time of day, UTC
    #[arg(long, value_name = "HH:MM")]
    pub(crate) until: Option<String>,
    /// A look in about a minute: three blocks of small runs, which show large differences only
    #[arg(long)]
    pub(crate) quick: bool,
    /// Directory for journal, results and report [default: furrow-lab/EXPERIMENT-TIME]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Print the plan with bytes and minutes, and run nothing
    #[arg(long)]
    pub(crate) explain: bool,
    /// End with code 4 when this holds for a level: ratio>1.05, or low or high for an end of the interval
    #[arg(long, value_parser = Condition::parse, value_name = "CONDITION")]
    pub(crate) fail_if: Option<Condition>,
    #[command(flatten)]
    pub(crate) view: ViewArguments,
    /// Refused, with a word about where it belongs
    #[arg(long, hide = true, value_name = "DIR", value_parser = resumed_by_directory)]
    resume: Option<PathBuf>,
}

/// The journal in the directory says which experiment it is.
fn resumed_by_directory(dir: &str) -> Result<PathBuf, String> {
    Err(format!(
        "an experiment is resumed without its name: furrow lab run --resume {dir}"
    ))
}

impl RunArguments {
    /// The arguments of an experiment that was named without `run`.
    pub(crate) fn of(chosen: Chosen) -> RunArguments {
        RunArguments {
            resume: None,
            blocks: None,
            fail_if_resumed: None,
            view: ViewArguments::default(),
            experiment: Some(chosen),
        }
    }

    /// The condition with which the program ends with a code of its own. It is no part of the plan: an
    /// experiment that is resumed has to get it again.
    pub(crate) fn fail_if(&self) -> Option<&Condition> {
        match &self.experiment {
            Some(chosen) => chosen.common.fail_if.as_ref(),
            None => self.fail_if_resumed.as_ref(),
        }
    }
}

/// An experiment of the registry, with its arguments.
#[derive(Debug, Clone)]
pub(crate) struct Chosen {
    pub(crate) entry: &'static Entry,
    /// The experiment's own options, as a user would type them to repeat the run.
    pub(crate) words: Vec<String>,
    pub(crate) common: CommonArguments,
}

impl FromArgMatches for Chosen {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Chosen, clap::Error> {
        let unknown = || clap::Error::new(clap::error::ErrorKind::MissingSubcommand);
        let (name, typed) = matches.subcommand().ok_or_else(unknown)?;
        let entry = entry(name).ok_or_else(unknown)?;
        Ok(Chosen {
            entry,
            words: entry.words(typed),
            common: CommonArguments::from_arg_matches(typed)?,
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Chosen::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Subcommand for Chosen {
    fn augment_subcommands(command: Command) -> Command {
        REGISTRY.iter().fold(command, |command, entry| {
            let own = Command::new(entry.name).next_help_heading("Options of this experiment");
            let own = CommonArguments::augment_args((entry.options)(own));
            // The option structs have doc comments of their own, which do not describe the experiment.
            command.subcommand(own.about(entry.question).long_about(None))
        })
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Chosen::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        entry(name).is_some()
    }
}

/// Parses a number of blocks that a plan may have.
fn blocks(text: &str) -> Result<u32, String> {
    let number = text.trim().parse().ok();
    number
        .filter(|blocks| Plan::BLOCKS.contains(blocks))
        .ok_or_else(|| {
            let (least, most) = (Plan::BLOCKS.start(), Plan::BLOCKS.end());
            format!("it must be a number from {least} to {most}")
        })
}

/// Parses `2%` or `0.02` into a fraction.
fn percent(text: &str) -> Result<f64, String> {
    let wrong = || format!("'{text}' is not a share; write it as 2%");
    let value = match text.trim().strip_suffix('%') {
        Some(number) => number.trim().parse::<f64>().map_err(|_| wrong())? / 100.0,
        None => text.trim().parse::<f64>().map_err(|_| wrong())?,
    };
    if value > 0.0 && value < 1.0 {
        Ok(value)
    } else {
        Err(wrong())
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::args::{Arguments, Command, LabCommand};
    use super::*;
    use clap::Parser;

    #[test]
    fn a_margin_is_read_as_percent_or_share() {
        assert_eq!(percent("2%"), Ok(0.02));
        assert_eq!(percent("0.05"), Ok(0.05));
        for wrong in ["2", "0%", "-1%", "two", ""] {
            assert!(percent(wrong).is_err(), "{wrong}");
        }
    }

    fn run_options(line: &str) -> Result<RunArguments, String> {
        let words = line.split(' ');
        let parsed = Arguments::try_parse_from(words).map_err(|e| e.to_string())?;
        let Command::Lab(lab) = parsed.command else {
            return Err("not the lab".to_string());
        };
        match lab.command {
            LabCommand::Run(run) => Ok(*run),
            LabCommand::Experiment(chosen) => Ok(RunArguments::of(chosen)),
            _ => Err("not a run".to_string()),
        }
    }

    #[test]
    fn options_are_read_as_the_report_prints_them() {
        let own = "--files 1,2 --volume /a --volume /b --total 64MB --rows-per-commit 1,10 \
                   --layout sequential,random-key";
        let line = format!("furrow lab run datafiles --blocks 3 --seed 7 {own} --delta 3%");
        let run = run_options(&line).unwrap().experiment.unwrap();
        assert_eq!(run.words.join(" "), own);
        let common = run.common;
        assert_eq!(
            (common.blocks, common.seed, common.delta),
            (Some(3), Some(7), 0.03)
        );
    }

    #[test]
    fn a_resumed_experiment_takes_its_options_from_its_journal() {
        let run = run_options("furrow lab run --resume /out --plain --blocks 9").unwrap();
        assert!(run.experiment.is_none() && run.view.plain && run.blocks == Some(9));
        assert!(run.fail_if().is_none());
        let run = run_options("furrow lab run --resume /out --fail-if ratio>1.05").unwrap();
        assert_eq!(run.fail_if().unwrap().to_string(), "ratio>1.05");
        for also in [
            "datafiles",
            "--files 1,2",
            "--quick",
            "--out /x",
            "--explain",
            "--delta 3%",
        ] {
            let line = format!("furrow lab run --resume /out {also}");
            assert!(run_options(&line).is_err(), "{also}");
        }
        let named = run_options("furrow lab run datafiles --resume /out").unwrap_err();
        assert!(named.contains("furrow lab run --resume /out"), "{named}");
        let nothing = run_options("furrow lab run").unwrap();
        assert!(nothing.experiment.is_none() && nothing.resume.is_none());
    }

    #[test]
    fn every_number_of_blocks_outside_of_the_range_is_refused_with_the_same_range() {
        for wrong in ["0", "1", "1001", "4294967296", "-1", "six"] {
            for line in ["run datafiles", "datafiles", "run --resume /out"] {
                let refused = run_options(&format!("furrow lab {line} --blocks={wrong}"));
                let text = refused.unwrap_err();
                assert!(text.contains("from 2 to 1000"), "{line} {wrong}: {text}");
            }
        }
        for right in ["2", "1000"] {
            run_options(&format!("furrow lab run datafiles --blocks {right}")).unwrap();
        }
    }
}
