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
mod check;
mod inspect;
mod interrupt;
mod lab;
mod out;
mod sql;

use clap::Parser;
use std::io::Write;
use std::process::ExitCode;

/// Why the program ends without having done what was asked.
#[derive(Debug)]
struct Failure {
    code: u8,
    text: String,
}

const DONE: u8 = 0;
const FAILED: u8 = 1;
const USAGE: u8 = 2;
const REFUSED: u8 = 3;
const INTERRUPTED: u8 = 130;

impl Failure {
    fn new(code: u8, text: impl Into<String>) -> Failure {
        Failure {
            code,
            text: text.into(),
        }
    }

    /// What printing ran into. Standard output that is closed early (`| head`) is no failure of ours, but
    /// there is no more to do.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "the shape that map_err takes"
    )]
    fn of_printing(error: std::io::Error) -> Failure {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Failure::new(DONE, ""),
            _ => Failure::new(FAILED, format!("cannot print: {error}")),
        }
    }
}

/// Prints on standard output.
fn print(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    let printed = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    printed.map_err(Failure::of_printing)
}

/// Runs the program.
pub(crate) fn run() -> ExitCode {
    furrow_io::process::survive_file_size_limit();
    // Clap ends the process itself for --help (0) and for what it cannot read (2).
    let arguments = args::Arguments::parse();
    let done = match &arguments.command {
        args::Command::Lab(command) => lab::run(&command.command),
        args::Command::Inspect(options) => inspect::run(options),
        args::Command::Check(options) => check::run(options),
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
