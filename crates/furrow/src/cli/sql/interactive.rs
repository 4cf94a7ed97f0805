//! The prompt: lines with history and editing, a batch at each GO.

use super::shell::{Shell, Stop};
use crate::cli::{FAILED, Failure};
use furrow_tsql::script::LineKind;
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{Cmd, Config, Editor, KeyCode, KeyEvent, Modifiers};
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
    let mut editor = LineEditor::with_config(config).map_err(failed)?;
    // There is nothing to complete: a tab is part of the text, above all of a script that is pasted.
    let tab = KeyEvent(KeyCode::Tab, Modifiers::NONE);
    editor.bind_sequence(tab, Cmd::Insert(1, "\t".to_owned()));
    Ok(editor)
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
        match editor.readline(&prompt) {
            Ok(text) if take_all(shell, &text, &mut line_number) => {}
            Ok(_) | Err(ReadlineError::Eof) => break,
            Err(ReadlineError::Interrupted) => {
                shell.gathered.clear();
                line_number = 1;
            }
            Err(e) => return Err(failed(e)),
        }
    }
    if let Some(path) = history {
        // A history that cannot be kept is no reason to fail.
        let _ = editor.save_history(path);
    }
    Ok(())
}

/// Takes what was entered: a line, or the many of a text that was pasted. `false` where the shell is to end.
fn take_all(shell: &mut Shell, text: &str, line_number: &mut u64) -> bool {
    shell.cancelled = false;
    for line in text.split('\n') {
        match take(shell, line) {
            Ok(true) => *line_number = 1,
            Ok(false) => *line_number += 1,
            Err(Stop::Failed) if shell.printer.failed.is_none() => *line_number = 1,
            Err(_) => return false,
        }
        // Who ends a statement of a pasted script does not want the rest of it.
        if shell.cancelled {
            break;
        }
    }
    true
}

/// Takes a line; `true` when a batch was run.
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
