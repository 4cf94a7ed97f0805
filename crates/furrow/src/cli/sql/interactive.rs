//! The prompt: lines with history and editing; GO runs a batch.

use super::shell::{Shell, Stop};
use crate::cli::{FAILED, Failure};
use furrow_io::stream;
use furrow_tsql::script::LineKind;
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{Cmd, Config, Editor, KeyCode, KeyEvent, Modifiers};
use std::io::ErrorKind;
use std::path::Path;

/// The editor for lines at a terminal.
pub(super) type LineEditor = Editor<(), FileHistory>;

#[expect(
    clippy::needless_pass_by_value,
    reason = "the shape that map_err takes"
)]
fn failed(error: ReadlineError) -> Failure {
    Failure::new(FAILED, format!("cannot read the terminal: {error}"))
}

/// Opens the terminal. The editor installs its own handler for Ctrl-C, so other handlers must be installed
/// after this.
pub(super) fn editor() -> Result<LineEditor, Failure> {
    let config = Config::builder().auto_add_history(true).build();
    let mut editor = LineEditor::with_config(config).map_err(failed)?;
    // There is no completion: a tab is part of the text, for example of a script that is pasted.
    let tab = KeyEvent(KeyCode::Tab, Modifiers::NONE);
    editor.bind_sequence(tab, Cmd::Insert(1, "\t".to_owned()));
    Ok(editor)
}

/// What the shell prints about input in another encoding.
const NOT_UTF8: &str = "What was typed or pasted is not UTF-8: it is dropped, together with the batch so \
    far, of which nothing was run.\nSet the terminal's encoding to UTF-8.";

/// Reads lines until the end of the input.
pub(super) fn run(
    shell: &mut Shell,
    mut editor: LineEditor,
    history: Option<&Path>,
) -> Result<(), Failure> {
    if let Some(path) = history {
        // The first session of an instance has no history file yet.
        let _ = editor.load_history(path);
    }
    shell.unattended = false;
    shell.printer.shows_batches = true;
    let mut line_number = 1;
    loop {
        let prompt = format!("{line_number}> ");
        // A signal that came behind the last batch has nothing to end.
        let Some(line) = shell.waiting(|| editor.readline(&prompt)) else {
            continue;
        };
        match line {
            Ok(text) if take_all(shell, &text, &mut line_number) => {}
            Ok(_) | Err(ReadlineError::Eof) => break,
            Err(ReadlineError::Interrupted) => {
                shell.gathered.clear();
                line_number = 1;
            }
            Err(ReadlineError::Io(e)) if e.kind() == ErrorKind::InvalidData => {
                // The rest of a pasted script must not run without its beginning.
                stream::discard_terminal_input();
                shell.gathered.clear();
                line_number = 1;
                eprintln!("{NOT_UTF8}");
            }
            Err(e) => return Err(failed(e)),
        }
    }
    if let Some(path) = history {
        // An error of saving the history is ignored.
        let _ = editor.save_history(path);
    }
    Ok(())
}

/// Processes an input: a line, or the many lines of a pasted text. `false` if the shell is to end.
fn take_all(shell: &mut Shell, text: &str, line_number: &mut u64) -> bool {
    shell.cancelled = false;
    for line in text.split('\n') {
        match take(shell, line) {
            Ok(true) => *line_number = 1,
            Ok(false) => *line_number += 1,
            Err(Stop::Failed) if shell.printer.failed.is_none() => *line_number = 1,
            Err(_) => return false,
        }
        // After Ctrl-C, the rest of a pasted script is not run.
        if shell.cancelled {
            break;
        }
    }
    true
}

/// Processes a line; `true` if a batch was run.
fn take(shell: &mut Shell, line: &str) -> Result<bool, Stop> {
    match shell.gathered.kind(line) {
        LineKind::Go(count) => {
            shell.run_gathered(count)?;
            Ok(true)
        }
        LineKind::Command => {
            shell.command(line)?;
            Ok(shell.gathered.is_empty())
        }
        LineKind::BadGo => {
            eprintln!("GO takes a number of times, and nothing else.");
            Ok(false)
        }
        LineKind::Text if shell.is_word(line) => {
            shell.command(line)?;
            Ok(true)
        }
        LineKind::Text => {
            shell.gathered.push_line(line);
            Ok(false)
        }
    }
}
