//! The prompt: lines with history and editing, a batch at each GO.

use super::shell::{Shell, Stop};
use crate::cli::{FAILED, Failure};
use furrow_tsql::script::{self, LineKind};
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{Config, Editor};
use std::path::Path;

/// What reads lines from a terminal.
pub(super) type LineEditor = Editor<(), FileHistory>;

#[expect(
    clippy::needless_pass_by_value,
    reason = "the shape that map_err takes"
)]
fn failed(error: ReadlineError) -> Failure {
    Failure::new(FAILED, format!("cannot read the terminal: {error}"))
}

/// Takes hold of the terminal. It puts a listener for Ctrl-C of its own in place: who wants to hear of it
/// listens after this.
pub(super) fn editor() -> Result<LineEditor, Failure> {
    let config = Config::builder().auto_add_history(true).build();
    Editor::with_config(config).map_err(failed)
}

/// Reads lines until the end of the input.
pub(super) fn run(
    shell: &mut Shell,
    mut editor: LineEditor,
    history: Option<&Path>,
) -> Result<(), Failure> {
    if let Some(path) = history {
        // The first session of an instance has none yet.
        let _ = editor.load_history(path);
    }
    shell.unattended = false;
    let mut line_number = 1;
    loop {
        let prompt = format!("{line_number}> ");
        let read = editor.readline(&prompt);
        let line = match read {
            Ok(line) => line,
            Err(ReadlineError::Interrupted) => {
                shell.gathered.clear();
                line_number = 1;
                continue;
            }
            Err(ReadlineError::Eof) => break,
            Err(e) => return Err(failed(e)),
        };
        match take(shell, &line) {
            Ok(true) => line_number = 1,
            Ok(false) => line_number += 1,
            Err(Stop::Failed) if shell.printer.failed.is_none() => line_number = 1,
            Err(_) => break,
        }
    }
    if let Some(path) = history {
        // A history that cannot be kept is no reason to fail.
        let _ = editor.save_history(path);
    }
    Ok(())
}

/// Takes a line; `true` when a batch was run.
fn take(shell: &mut Shell, line: &str) -> Result<bool, Stop> {
    let open = script::is_open(&shell.gathered);
    match script::line_kind(line) {
        LineKind::Go(count) if !open => {
            shell.run_gathered(count)?;
            Ok(true)
        }
        LineKind::Command if !open => {
            shell.command(line)?;
            Ok(shell.gathered.is_empty())
        }
        LineKind::BadGo if !open => {
            eprintln!("GO takes a number of times, and nothing else.");
            Ok(false)
        }
        _ => {
            if shell.is_word(line) {
                shell.command(line)?;
                return Ok(true);
            }
            shell.gathered.push_str(line);
            shell.gathered.push('\n');
            Ok(false)
        }
    }
}
