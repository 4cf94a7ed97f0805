//! What may be typed.

use clap::{Args, Parser, Subcommand};
use furrow_lab::datafiles::{Layout, parse_size};
use furrow_observe::traceflags::TraceFlag;
use std::path::PathBuf;

/// SQL Server's storage engine, built anew, and a lab on top of it.
#[derive(Debug, Parser)]
#[command(name = "furrow", version, about, max_term_width = 100)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Runs experiments that answer a question about this machine
    Lab(Box<LabArguments>),
    /// Looks into a SQL Server or Furrow data file, without a server
    Inspect(InspectArguments),
    /// Runs T-SQL: at a prompt, from files, or from the command line
    Sql(Box<SqlArguments>),
    /// Checks the consistency of SQL Server or Furrow data files: 0 sound, 1 findings, 2 cannot be checked
    Check(CheckArguments),
}

/// Options of `lab`.
#[derive(Debug, Args)]
pub(crate) struct LabArguments {
    #[command(subcommand)]
    pub(crate) command: LabCommand,
}

/// Commands of `lab`.
#[derive(Debug, Subcommand)]
pub(crate) enum LabCommand {
    /// Lists the experiments
    List,
    /// Runs an experiment, or goes on with one
    Run(Box<RunArguments>),
}

/// Options of `lab run`.
#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    /// The experiment, as `furrow lab list` names it
    #[arg(required_unless_present = "resume")]
    pub(crate) experiment: Option<String>,

    /// Levels: numbers of data files; the others are compared with the first [default: 1,2,4,8,16]
    #[arg(long, value_delimiter = ',', value_name = "N,...")]
    pub(crate) files: Option<Vec<u64>>,
    /// Directory for data files; several are used in turn, the log lies in the first [default: in --out]
    #[arg(long = "volume", value_name = "DIR")]
    pub(crate) volumes: Vec<PathBuf>,
    /// Sessions that insert at the same time [default: 16]
    #[arg(long, value_name = "N")]
    pub(crate) connections: Option<u32>,
    /// Data that all sessions together insert, such as 1GB [default: 1GB, with --quick 256MB]
    #[arg(long, value_parser = size, value_name = "SIZE")]
    pub(crate) total: Option<u64>,
    /// Buffer pool [default: a quarter of --total]
    #[arg(long, value_parser = size, value_name = "SIZE")]
    pub(crate) pool: Option<u64>,
    /// Transaction log [default: 8% of --total]
    #[arg(long, value_parser = size, value_name = "SIZE")]
    pub(crate) log: Option<u64>,
    /// Rows of a transaction; several make a further factor [default: 1]
    #[arg(long, value_delimiter = ',', value_name = "N,...")]
    pub(crate) rows_per_commit: Option<Vec<u64>>,
    /// Layout of the rows, sequential or random-key; both make a further factor [default: sequential]
    #[arg(long, value_delimiter = ',', value_parser = layout, value_name = "WORD,...")]
    pub(crate) layout: Option<Vec<Layout>>,

    /// Blocks: how often each level is run [default: 6, with --quick 3]; with --resume more are added
    #[arg(long, value_name = "N")]
    pub(crate) blocks: Option<u32>,
    /// Seed of the order of runs [default: a fresh one]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Differences smaller than this do not matter
    #[arg(long, value_parser = percent, default_value = "2%", value_name = "PERCENT")]
    pub(crate) delta: f64,
    /// Start no run after this time of day, UTC
    #[arg(long, value_name = "HH:MM")]
    pub(crate) until: Option<String>,
    /// A look in about a minute: three blocks of small runs, no verdict
    #[arg(long)]
    pub(crate) quick: bool,

    /// Directory for journal, results and report [default: furrow-lab/EXPERIMENT-TIME]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Go on with the experiment in this directory; its plan is in its journal
    #[arg(
        long,
        value_name = "DIR",
        conflicts_with_all = [
            "experiment", "files", "volumes", "connections", "total", "pool", "log", "rows_per_commit",
            "layout", "seed", "delta", "until", "quick", "out", "explain",
        ]
    )]
    pub(crate) resume: Option<PathBuf>,
    /// Print the plan with bytes and minutes, and run nothing
    #[arg(long)]
    pub(crate) explain: bool,
    /// One line a run instead of a line that is written over: for logs
    #[arg(long, conflicts_with = "json_progress")]
    pub(crate) plain: bool,
    /// Progress as JSON, one object a line: for tools
    #[arg(long)]
    pub(crate) json_progress: bool,
}

/// Options of `inspect`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct InspectArguments {
    #[command(subcommand)]
    pub(crate) command: Option<InspectCommand>,

    /// The primary data file (.mdf), then its secondary files (.ndf) if there are any
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Print the rows of this table
    #[arg(long, value_name = "NAME")]
    pub(crate) table: Option<String>,
    /// At most so many rows
    #[arg(long, default_value_t = 20, value_name = "N", requires = "table")]
    pub(crate) rows: usize,
    /// Print what is there as JSON
    #[arg(long, conflicts_with_all = ["table", "quick"])]
    pub(crate) json: bool,
    /// Show what the catalog says, without reading all pages
    #[arg(long)]
    pub(crate) quick: bool,
    /// Accepted for scripts of earlier versions: damage ends with code 1 without it
    #[arg(long, hide = true, conflicts_with_all = ["table", "quick"])]
    verify: bool,
}

/// Commands of `inspect`.
#[derive(Debug, Subcommand)]
pub(crate) enum InspectCommand {
    /// Foresees where the next extents will go: free extents, skip targets, each file's share
    Fill(FillArguments),
    /// Shows one page: header, slots, records by the columns of their table, maps as ranges
    Page(PageArguments),
    /// Writes the rows of a table as CSV or Parquet
    Export(ExportArguments),
}

/// Options of `inspect page`.
#[derive(Debug, Args)]
pub(crate) struct PageArguments {
    /// The data file that has the page
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The page: a number, or file and number as 3:153
    #[arg(value_name = "N")]
    pub(crate) page: String,
    /// The other files of the database, so that a page of a secondary file finds its table
    #[arg(value_name = "OTHER")]
    pub(crate) others: Vec<PathBuf>,
    /// Print the page as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Options of `inspect export`.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("format").required(true).args(["csv", "parquet"]))]
pub(crate) struct ExportArguments {
    /// The primary data file (.mdf), then its secondary files (.ndf) if there are any
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// The table
    #[arg(long, value_name = "NAME")]
    pub(crate) table: String,
    /// As CSV: a line of names, values as they print, NULL as nothing, empty text as ""
    #[arg(long)]
    pub(crate) csv: bool,
    /// As Parquet, each column of the type that is nearest to its own
    #[arg(long)]
    pub(crate) parquet: bool,
    /// Where to; it must not exist yet [default: CSV to standard output, Parquet to NAME.parquet]
    #[arg(long, value_name = "PATH")]
    pub(crate) out: Option<PathBuf>,
}

/// Options of `inspect fill`.
#[derive(Debug, Args)]
pub(crate) struct FillArguments {
    /// Data files, in any order, or directories of them
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// How many extents to look ahead
    #[arg(long, default_value_t = 8192, value_name = "N")]
    pub(crate) extents: u64,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Options of `sql`, most of them sqlcmd's.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub(crate) struct SqlArguments {
    /// Directory of the instance, made at first use [default: furrow-instance]
    #[arg(long, value_name = "DIR")]
    pub(crate) instance: Option<PathBuf>,
    /// Opens a database by its primary file, READ_ONLY, and begins in it: a real .mdf, or one of ours
    #[arg(long, value_name = "FILE", conflicts_with_all = ["instance", "database"])]
    pub(crate) open: Option<PathBuf>,
    /// Reads a script; several are run one after the other
    #[arg(short = 'i', long = "input", value_name = "FILE")]
    pub(crate) input: Vec<PathBuf>,
    /// Runs this text first, and goes on at the prompt
    #[arg(short = 'q', long = "first", value_name = "TEXT", conflicts_with_all = ["input", "query"])]
    pub(crate) first: Option<String>,
    /// Runs this text and ends
    #[arg(
        short = 'Q',
        long = "query",
        value_name = "TEXT",
        conflicts_with = "input"
    )]
    pub(crate) query: Option<String>,
    /// The database to begin in [default: master]
    #[arg(short = 'd', long = "database", value_name = "NAME")]
    pub(crate) database: Option<String>,
    /// Sets variables, which $(NAME) stands for
    #[arg(short = 'v', long = "variable", value_name = "NAME=VALUE", num_args = 1..,
        value_parser = variable)]
    pub(crate) variables: Vec<(String, String)>,
    /// Ends at the first error, with a status that says so
    #[arg(short = 'b', long)]
    pub(crate) batch_abort: bool,
    /// Lowest level of an error that counts: it is the status, and with -b lower ones do not end the script
    #[arg(short = 'V', long, value_name = "LEVEL", value_parser = clap::value_parser!(u8).range(1..=25))]
    pub(crate) error_level: Option<u8>,
    /// What stands between columns [default: a blank]
    #[arg(short = 's', long, value_name = "TEXT", conflicts_with_all = ["csv", "json"])]
    pub(crate) separator: Option<String>,
    /// Removes the blanks that pad columns
    #[arg(short = 'W', long, conflicts_with_all = ["csv", "json"])]
    pub(crate) trim: bool,
    /// Rows between two headings; -1: no headings [default: 0, at the top alone]
    #[arg(short = 'h', long, value_name = "ROWS", allow_negative_numbers = true, conflicts_with = "json",
        value_parser = clap::value_parser!(i32).range(-1..))]
    pub(crate) headings: Option<i32>,
    /// Breaks lines that are longer, between columns where it can [default: no end]
    #[arg(short = 'w', long, value_name = "COLUMNS", conflicts_with_all = ["csv", "json"],
        value_parser = clap::value_parser!(u16).range(9..))]
    pub(crate) width: Option<u16>,
    /// Writes what is printed to a file
    #[arg(short = 'o', long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Prints what is read before it is run
    #[arg(short = 'e', long)]
    pub(crate) echo: bool,
    /// Leaves $(NAME) as it is
    #[arg(short = 'x', long)]
    pub(crate) literal: bool,
    /// Prints results as CSV
    #[arg(long, conflicts_with = "json")]
    pub(crate) csv: bool,
    /// Prints each result as an array of JSON objects
    #[arg(long)]
    pub(crate) json: bool,
    /// Buffer pool, 4MB at least
    #[arg(long, value_parser = pool, default_value = "128MB", value_name = "SIZE")]
    pub(crate) pool: u64,
    /// Sets a trace flag when the instance starts; several: -T 1222 -T 845
    #[arg(short = 'T', long = "trace-flag", value_name = "FLAG", value_parser = trace_flag)]
    pub(crate) trace_flags: Vec<TraceFlag>,
    /// Takes 64 extents of a data file in a turn, and not 1, where new extents are spread over files
    #[arg(short = 'E', long)]
    pub(crate) many_extents: bool,
    /// Prints this help
    #[arg(long, action = clap::ArgAction::Help)]
    pub(crate) help: Option<bool>,
}

/// Options of `check`.
#[derive(Debug, Args)]
pub(crate) struct CheckArguments {
    /// The data files of one database: the primary one (.mdf) and all secondary ones (.ndf)
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Threads [default: one for each processor]
    #[arg(long, default_value_t = 0, value_name = "N", hide_default_value = true)]
    pub(crate) threads: usize,
    /// Show no progress
    #[arg(long)]
    pub(crate) quiet: bool,
}

fn size(text: &str) -> Result<u64, String> {
    parse_size(text).map_err(|e| e.to_string())
}

/// The smallest buffer pool that a shell's instance works with.
const LEAST_POOL: u64 = 4 << 20;

fn pool(text: &str) -> Result<u64, String> {
    match size(text)? {
        bytes if bytes < LEAST_POOL => Err("a buffer pool has 4MB at least".to_owned()),
        bytes => Ok(bytes),
    }
}

fn trace_flag(text: &str) -> Result<TraceFlag, String> {
    let number = text.parse::<i64>().ok().filter(|number| *number > 0);
    let flag = number.and_then(TraceFlag::new);
    flag.ok_or_else(|| format!("a trace flag is a number from 1 to {}", TraceFlag::MAX))
}

/// `NAME=VALUE`, the value in quotation marks or without.
fn variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().to_owned(), value.trim_matches('"').to_owned()))
        }
        _ => Err("write it as NAME=VALUE".to_owned()),
    }
}

fn layout(text: &str) -> Result<Layout, String> {
    Layout::parse(text).ok_or_else(|| "write sequential or random-key".to_string())
}

/// `2%` or `0.02`, as a share.
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
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_grammar_holds_together() {
        Arguments::command().debug_assert();
    }

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
            LabCommand::List => Err("not a run".to_string()),
        }
    }

    #[test]
    fn options_are_read_as_the_report_prints_them() {
        let run = run_options(
            "furrow lab run datafiles --blocks 3 --seed 7 --files 1,2 --total 64MB --volume /a --volume /b \
             --layout sequential,random-key --rows-per-commit 1,10 --delta 3%",
        )
        .unwrap();
        assert_eq!((run.files, run.total), (Some(vec![1, 2]), Some(64 << 20)));
        assert_eq!(run.volumes.len(), 2);
        assert_eq!(
            run.layout,
            Some(vec![Layout::Sequential, Layout::RandomKey])
        );
        assert_eq!((run.rows_per_commit, run.delta), (Some(vec![1, 10]), 0.03));
    }

    #[test]
    fn a_resumed_experiment_takes_its_options_from_its_journal() {
        let run = run_options("furrow lab run --resume /out --plain --blocks 9").unwrap();
        assert!(run.experiment.is_none() && run.plain && run.blocks == Some(9));
        for also in [
            "datafiles",
            "--files 1,2",
            "--quick",
            "--out /x",
            "--explain",
            "--delta 3%",
        ] {
            let line = format!("furrow lab run --resume /out {also}");
            assert!(
                run_options(&line)
                    .unwrap_err()
                    .contains("cannot be used with"),
                "{also}"
            );
        }
        assert!(
            run_options("furrow lab run")
                .unwrap_err()
                .contains("required")
        );
    }
}
