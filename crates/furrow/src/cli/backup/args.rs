//! Options of `backup`.

use clap::{Args, Subcommand};
use std::path::PathBuf;

/// Options of `backup`.
#[derive(Debug, Args)]
pub(crate) struct BackupArguments {
    #[command(subcommand)]
    pub(crate) command: BackupCommand,
}

/// Commands of `backup`.
#[derive(Debug, Subcommand)]
pub(crate) enum BackupCommand {
    /// Prints the RESTORE statements for the backups in these files, read from the files alone
    Script(ScriptArguments),
    /// Makes a key for encrypted backups: a file that only its owner can read
    Key(KeyArguments),
    /// Restores the backups into a scratch directory, checks the database, and removes it: 0 sound, 1 not
    Rehearse(RehearseArguments),
}

/// Options of `backup key`.
#[derive(Debug, Args)]
pub(crate) struct KeyArguments {
    /// The file; it must not exist yet. An instance finds the key NAME in keys/NAME.key of its directory
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}

/// The files of backups.
#[derive(Debug, Args)]
pub(crate) struct MediaArguments {
    /// The stripes of all backups of the chain, in any order: full, differential, log
    #[arg(required = true, value_name = "MEDIA")]
    pub(crate) media: Vec<PathBuf>,
    /// Only this database [default: all that are in the files]
    #[arg(long, value_name = "NAME")]
    pub(crate) database: Option<String>,
    /// The file of a key, for encrypted backups; several: --key a.key --key b.key
    #[arg(long = "key", value_name = "FILE")]
    pub(crate) keys: Vec<PathBuf>,
}

/// Options of `backup script`.
#[derive(Debug, Args)]
pub(crate) struct ScriptArguments {
    #[command(flatten)]
    pub(crate) files: MediaArguments,
    /// Moves all files of the database to this directory [default: where they were]
    #[arg(long, value_name = "DIR")]
    pub(crate) to: Option<PathBuf>,
    /// Restores under another name
    #[arg(long = "as", value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Adds REPLACE: a database and files that are there are written over
    #[arg(long)]
    pub(crate) replace: bool,
    /// Leaves the database RESTORING, for log backups that are taken later
    #[arg(long)]
    pub(crate) norecovery: bool,
}

/// Options of `backup rehearse`.
#[derive(Debug, Args)]
pub(crate) struct RehearseArguments {
    #[command(flatten)]
    pub(crate) files: MediaArguments,
    /// Where the scratch directory is made [default: where the system has temporary files]
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Show no progress
    #[arg(long)]
    pub(crate) quiet: bool,
}
