//! Arguments of the command line.

use super::backup::BackupArguments;
use super::disk::DiskArguments;
use super::lab::{Chosen, NotifyArguments, RunArguments};
use clap::builder::RangedU64ValueParser;
use clap::{Args, Parser, Subcommand};
use furrow_disks::VolumeSpec;
use furrow_lab::size::parse_size;
use furrow_observe::traceflags::TraceFlag;
use std::path::PathBuf;

/// SQL Server's storage engine, rebuilt in Rust, and a lab on top of it.
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
    /// Restore scripts and rehearsals from the files of backups alone
    Backup(BackupArguments),
    /// Raw requests on modelled arrays and real disks; alignment of partitions
    Disk(DiskArguments),
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
    /// Sends a test message to the addresses of --notify
    Notify(NotifyArguments),
    /// An experiment by its name alone: `lab ab` is `lab run ab`.
    #[command(flatten)]
    Experiment(Chosen),
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
    /// Gives the files in a directory the speed of other drives: DIR,read=100MB/s,write=50MB/s,latency=2ms,
    /// iops=5000, or DIR,model=raid10:4x15k,stripe=64K,offset=63s
    #[arg(long = "volume", value_name = "DIR,KEY=VALUE,...")]
    pub(crate) volumes: Vec<VolumeSpec>,
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
    /// The files are backups, all stripes of them: checked is what a restore gives, in a scratch directory
    #[arg(long)]
    pub(crate) backup: bool,
    /// With --backup: only this database
    #[arg(long, value_name = "NAME", requires = "backup")]
    pub(crate) database: Option<String>,
    /// With --backup: the file of a key, for encrypted backups
    #[arg(long = "key", value_name = "FILE", requires = "backup")]
    pub(crate) keys: Vec<PathBuf>,
    /// With --backup: where the scratch directory is made [default: where the system has temporary files]
    #[arg(long, value_name = "DIR", requires = "backup")]
    pub(crate) dir: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Threads, at most 256 [default: one for each processor]
    #[arg(long, default_value_t = 0, value_name = "N", hide_default_value = true,
        value_parser = RangedU64ValueParser::<usize>::new().range(0..=MOST_THREADS))]
    pub(crate) threads: usize,
    /// Memory for what pages say of each other; beyond it, a temporary file is used [default: 256MB]
    #[arg(long, value_name = "SIZE", value_parser = check_memory)]
    pub(crate) memory: Option<u64>,
    /// Most bytes that are read in a second, such as 100MB [default: no limit]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) rate: Option<u64>,
    /// Directory of the temporary file [default: the system's]
    #[arg(long, value_name = "DIR")]
    pub(crate) temp: Option<PathBuf>,
    /// Show no progress
    #[arg(long)]
    pub(crate) quiet: bool,
}

/// The most threads of a check.
const MOST_THREADS: u64 = 256;

/// The least memory of a check.
const LEAST_CHECK_MEMORY: u64 = 1 << 20;

fn check_memory(text: &str) -> Result<u64, String> {
    match size(text)? {
        bytes if bytes < LEAST_CHECK_MEMORY => Err("a check needs 1MB at least".to_owned()),
        bytes => Ok(bytes),
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_grammar_holds_together() {
        Arguments::command().debug_assert();
    }
}
