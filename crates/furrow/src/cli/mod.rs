//! The program: command line, output, exit codes.
//!
//! # Purpose
//! A thin layer: it parses options, passes them to the engine, the lab or the reader of data files, and
//! prints. Errors are plain sentences on standard error that say what to do.
//!
//! # Exit codes
//! | code | meaning |
//! |---|---|
//! | 0 | done |
//! | 1 | failed |
//! | 2 | the command line is wrong |
//! | 3 | refused before anything began: too little space, a directory in use, a name taken, no such file |
//! | 130 | interrupted; files that were created are removed, `--resume` continues |
//!
//! `check` has codes of its own: 0 no findings, 1 findings, 2 the check was not possible. `sql` returns 0
//! even if statements failed, unless `-b`, `-V` or `:exit(QUERY)` says otherwise.
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
    // Clap ends the process itself for --help (0) and for a wrong command line (2).
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
