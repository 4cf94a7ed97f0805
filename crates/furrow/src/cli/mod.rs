//! The program: what is typed, what is printed, what a script gets as exit code.
//!
//! # Purpose
//! Thin: it reads options, hands them to the lab or to the reader of data files, and prints. Errors are
//! plain sentences on standard error that say what to do.
//!
//! # Exit codes
//! | code | meaning |
//! |---|---|
//! | 0 | done |
//! | 1 | failed |
//! | 2 | the command line makes no sense |
//! | 3 | refused before anything began: too little space, a directory in use, a name taken, no such file |
//! | 130 | interrupted; what was made is removed, `--resume` goes on |
//!
//! `check` has codes of its own: 0 nothing is wrong, 1 something is, 2 it could not be checked. `sql` ends
//! with 0 whatever its statements said, unless `-b`, `-V` or `:exit(QUERY)` ask otherwise.
//!
//! # What can fail
//! [`Failure`], with its code.

mod args;
mod backup;
mod check;
mod checked;
mod csv;
mod disk;
mod inspect;
mod interrupt;
mod lab;
mod out;
mod outcome;
mod sql;

use outcome::{DONE, FAILED, Failure, INTERRUPTED, REFUSED, USAGE, print};

use clap::Parser;
use std::process::ExitCode;

/// Runs the program.
pub(crate) fn run() -> ExitCode {
    furrow_io::process::survive_file_size_limit();
    furrow_io::heap::prepare();
    // Clap ends the process itself for --help (0) and for what it cannot read (2).
    let arguments = args::Arguments::parse();
    let done = match &arguments.command {
        args::Command::Lab(command) => lab::run(&command.command),
        args::Command::Inspect(options) => inspect::run(options),
        args::Command::Check(options) => check::run(options),
        args::Command::Backup(options) => backup::run(options),
        args::Command::Disk(options) => disk::run(options),
        args::Command::Sql(options) => sql::run(options),
    };
    match done {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            if failure.code != DONE {
                eprintln!("furrow: {}", failure.text);
            }
            ExitCode::from(failure.code)
        }
    }
}
