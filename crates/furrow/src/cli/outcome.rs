//! Exit codes of commands, and printing.

use std::io::Write;

/// Why a command did not do what the user requested.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) code: u8,
    pub(super) text: String,
}

pub(super) const DONE: u8 = 0;

pub(super) const FAILED: u8 = 1;

pub(super) const USAGE: u8 = 2;

pub(super) const REFUSED: u8 = 3;

pub(super) const INTERRUPTED: u8 = 130;

impl Failure {
    pub(super) fn new(code: u8, text: impl Into<String>) -> Failure {
        Failure {
            code,
            text: text.into(),
        }
    }

    /// An error of printing. If standard output is closed early (`| head`), this is no failure, but there is
    /// no more to do.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "the shape that map_err takes"
    )]
    pub(super) fn of_printing(error: std::io::Error) -> Failure {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Failure::new(DONE, ""),
            _ => Failure::new(FAILED, format!("cannot print: {error}")),
        }
    }
}

/// Prints on standard output.
pub(super) fn print(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    let printed = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    printed.map_err(Failure::of_printing)
}
