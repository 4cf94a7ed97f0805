//! The shell's own language: batches, `GO`, commands that begin with a colon, `$(variables)`.

use super::destination::Destination;
use super::gathered::Gathered;
use super::output::Printer;
use super::signals::Signals;
use super::source::{LineSource, decoded};
use furrow_io::{SystemVolume, read_file, stream};
use furrow_sql::Connection;
use furrow_tsql::script::LineKind;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, ErrorKind};
use std::path::Path;

/// How deep `:r` may nest.
const MAX_DEPTH: usize = 32;

/// The lowest level of an error that counts, unless `-V` names another.
pub(super) const LEAST_ERROR: u8 = 11;

/// Why the shell stops reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// `:exit`, `:quit`, an error with state 127.
    Asked,
    /// An error, where errors end a script.
    Failed,
    /// Ctrl-C in a script.
    Cancelled,
    /// Nothing is left to read.
    EndOfInput,
}

/// Reads scripts and runs their batches.
pub(super) struct Shell {
    /// Elsewhere while the shell waits for input.
    connection: Option<Connection>,
    pub(super) printer: Printer,
    signals: Signals,
    variables: BTreeMap<String, String>,
    /// The batch that is being collected.
    pub(super) gathered: Gathered,
    /// Whether `$(NAME)` is left as it is.
    pub(super) literal: bool,
    /// Whether batches are printed before they run.
    pub(super) echo: bool,
    /// Whether an error ends a script (`-b`, `:on error exit`).
    pub(super) ends_on_error: bool,
    /// The lowest level of an error that counts (`-V`).
    pub(super) error_level: u8,
    /// Whether the shell runs without a user at a prompt: a cancelled batch then ends the script.
    pub(super) unattended: bool,
    /// Whether a batch was cancelled since this was last checked.
    pub(super) cancelled: bool,
    /// The exit code from `:exit (query)`.
    pub(super) status: Option<u8>,
    /// The highest level of any error.
    pub(super) worst: u8,
    depth: usize,
}

impl Shell {
    pub(super) fn new(connection: Connection, printer: Printer, signals: Signals) -> Shell {
        Shell {
            connection: Some(connection),
            printer,
            signals,
            variables: BTreeMap::new(),
            gathered: Gathered::default(),
            literal: false,
            echo: false,
            status: None,
            ends_on_error: false,
            error_level: LEAST_ERROR,
            unattended: true,
            cancelled: false,
            worst: 0,
            depth: 0,
        }
    }

    /// Sets a variable.
    pub(super) fn set(&mut self, name: &str, value: &str) {
        self.variables.insert(name.to_lowercase(), value.to_owned());
    }

    /// Prints a message that is not part of a result.
    fn say(&mut self, text: &str) {
        self.printer.flush();
        eprintln!("{text}");
    }

    /// The text with its variables replaced; `None`, after an error message, if one is not defined.
    fn filled(&mut self, text: &str) -> Option<String> {
        if self.literal || !text.contains("$(") {
            return Some(text.to_owned());
        }
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("$(") {
            out.push_str(before);
            let Some((name, behind)) = after.split_once(')') else {
                out.push_str("$(");
                rest = after;
                continue;
            };
            let plain = |c: char| c.is_alphanumeric() || "_-@#$".contains(c);
            if name.is_empty() || !name.chars().all(plain) {
                out.push_str("$(");
                rest = after;
                continue;
            }
            let known = self.variables.get(&name.to_lowercase()).cloned();
            match known.or_else(|| std::env::var(name).ok()) {
                Some(value) => out.push_str(&value),
                None => {
                    self.say(&format!("'{name}' scripting variable not defined."));
                    return None;
                }
            }
            rest = behind;
        }
        out.push_str(rest);
        Some(out)
    }

    /// Runs a batch `count` times.
    pub(super) fn run(&mut self, text: &str, count: u64) -> Result<(), Stop> {
        if text.trim().is_empty() {
            return Ok(());
        }
        let Some(text) = self.filled(text) else {
            self.worst = self.worst.max(16);
            return match self.ends_on_error {
                true => Err(Stop::Failed),
                false => Ok(()),
            };
        };
        if self.echo {
            self.printer.echo(text.trim_end());
            self.printer.echo("\n");
        }
        let mut done = Ok(true);
        for _ in 0..count {
            done = self.run_once(&text);
            if done != Ok(true) {
                break;
            }
        }
        // A program may write its next batch only after it has read these results.
        self.printer.flush();
        done.map(drop)
    }

    /// Runs a batch whose variables are replaced already; `false` if a signal has come.
    fn run_once(&mut self, text: &str) -> Result<bool, Stop> {
        if self.unattended && self.signals.take_interrupted() {
            return Err(Stop::Cancelled);
        }
        let Some(connection) = &mut self.connection else {
            return Err(Stop::Cancelled);
        };
        self.printer.begin_batch();
        self.signals.begin(connection.canceller());
        let end = connection.execute(text, &mut self.printer);
        self.signals.end();
        self.printer.end_result();
        if !self.unattended {
            self.printer.flush();
        }
        self.worst = self.worst.max(end.worst_level);
        if self.printer.failed.is_some() {
            return Err(Stop::Failed);
        }
        let interrupted = self.signals.take_interrupted();
        if end.cancelled || interrupted {
            self.cancelled = true;
            self.say(match end.cancelled {
                true => "The query was cancelled.",
                false => "Interrupted after the query was completed.",
            });
            return match self.unattended {
                true => Err(Stop::Cancelled),
                false => Ok(false),
            };
        }
        self.exit_at_state_127()?;
        if self.ends_on_error && end.worst_level >= self.error_level {
            return Err(Stop::Failed);
        }
        Ok(true)
    }

    /// Waits for input; `None` if a signal has come just before. One that comes meanwhile ends the program.
    pub(super) fn waiting<T>(&mut self, read: impl FnOnce() -> T) -> Option<T> {
        self.printer.flush();
        if let Err(connection) = self.signals.rest(self.connection.take()) {
            self.connection = connection;
            return None;
        }
        let read = read();
        self.connection = self.signals.wake();
        Some(read)
    }

    /// Runs the collected batch.
    pub(super) fn run_gathered(&mut self, count: u64) -> Result<(), Stop> {
        let text = self.gathered.take();
        self.run(&text, count)
    }

    /// Reads a whole script. Text behind its last GO stays collected.
    pub(super) fn script(&mut self, text: &str) -> Result<(), Stop> {
        for (number, line) in (1..).zip(text.split_inclusive('\n')) {
            self.line(line, number)?;
        }
        Ok(())
    }

    /// Reads a line of a script; a GO runs the collected batch.
    fn line(&mut self, line: &str, number: u32) -> Result<(), Stop> {
        match self.gathered.kind(line) {
            LineKind::Text if self.is_word(line) => self.command(line),
            LineKind::Text => {
                self.gathered.push_line(line);
                Ok(())
            }
            LineKind::Go(count) => self.run_gathered(count),
            LineKind::Command => self.command(line),
            LineKind::BadGo => Err(self.bad_go(number)),
        }
    }

    /// Whether a line is a command that needs no colon, outside of a comment or a string.
    pub(super) fn is_word(&self, line: &str) -> bool {
        let word = line.trim();
        let known = ["exit", "quit", "reset"];
        let known = known.iter().any(|k| word.eq_ignore_ascii_case(k))
            || word.get(..4).zip(word.get(4..)).is_some_and(|(w, rest)| {
                w.eq_ignore_ascii_case("exit") && rest.trim_start().starts_with('(')
            });
        known && !self.gathered.is_open()
    }

    fn bad_go(&mut self, line: u32) -> Stop {
        self.say(&format!(
            "A fatal scripting error occurred.\n\
             Incorrect syntax was encountered while parsing GO in line {line}."
        ));
        self.worst = self.worst.max(16);
        Stop::Failed
    }

    /// Reads a script from a file, or line by line from a device or pipe.
    pub(super) fn file(&mut self, path: &Path) -> Result<(), Stop> {
        let name = path.display().to_string();
        self.printer.guarded.scripts.push(path.to_path_buf());
        let done = self.nested(|shell| match stream::reader(path) {
            Ok(Some(flow)) => shell.flow(&name, &mut BufReader::new(flow)),
            Ok(None) => match read_file(&SystemVolume::new(), path) {
                Ok(bytes) => match decoded(&bytes) {
                    Some(text) => shell.script(&text),
                    None => Err(shell.other_encoding(&name)),
                },
                Err(e) => Err(shell.fatal(&format!("'{name}': {}", e.kind))),
            },
            Err(e) => Err(shell.fatal(&format!("'{name}': {}", e.kind))),
        });
        self.printer.guarded.scripts.pop();
        done
    }

    /// Reads a script line by line from a stream that may still be open: each batch runs when its GO is read.
    pub(super) fn flow(&mut self, name: &str, from: &mut dyn BufRead) -> Result<(), Stop> {
        self.printer.shows_batches = true;
        let mut source = LineSource::new(from);
        for number in 1.. {
            let Some(line) = self.waiting(|| source.next_line()) else {
                return Err(Stop::Cancelled);
            };
            match line {
                Ok(Some(line)) => self.line(&line, number)?,
                Ok(None) => break,
                Err(e) if e.kind() == ErrorKind::InvalidData => {
                    return Err(self.other_encoding(name));
                }
                Err(e) => return Err(self.fatal(&format!("'{name}': {e}"))),
            }
        }
        Ok(())
    }

    /// Reads a script within another one.
    fn nested(&mut self, read: impl FnOnce(&mut Shell) -> Result<(), Stop>) -> Result<(), Stop> {
        if self.depth >= MAX_DEPTH {
            return Err(self.fatal("Scripts include each other too deep."));
        }
        self.depth += 1;
        let done = read(self);
        self.depth -= 1;
        done
    }

    fn other_encoding(&mut self, name: &str) -> Stop {
        self.fatal(&format!(
            "'{name}' is neither UTF-8 nor UTF-16. If it is in the code page of Western Windows, this \
             makes it UTF-8:\niconv -f WINDOWS-1252 -t UTF-8 '{name}'"
        ))
    }

    /// Prints the reason why the script ends.
    pub(super) fn fatal(&mut self, text: &str) -> Stop {
        self.say(text);
        self.worst = self.worst.max(16);
        Stop::Failed
    }

    /// `:out FILE`, `:out stdout`, `:out stderr`: the destination of results from here on.
    fn out(&mut self, name: &str) -> Result<(), Stop> {
        let stdout = || Destination::stream(std::io::stdout());
        let out = match name.to_lowercase().as_str() {
            "stdout" => Ok(stdout()),
            "stderr" => Ok(Destination::stream(std::io::stderr())),
            _ => {
                // The file that was the destination so far may be the same one.
                self.printer.redirect(stdout());
                self.printer.guarded.open(Path::new(name))
            }
        };
        match out {
            Ok(out) => {
                self.printer.redirect(out);
                Ok(())
            }
            Err(e) => {
                self.say(&format!("'{name}': {e}"));
                self.worst = self.worst.max(16);
                Err(Stop::Failed)
            }
        }
    }

    /// A command of the shell's own.
    pub(super) fn command(&mut self, line: &str) -> Result<(), Stop> {
        let line = line.trim();
        let end = line.find(|c: char| c.is_whitespace() || c == '(');
        let (word, rest) = line.split_at(end.unwrap_or(line.len()));
        let rest = rest.trim();
        let mut word = word.to_lowercase();
        if self.is_word(line) {
            word.insert(0, ':');
        }
        match word.as_str() {
            ":exit" => return self.exit(rest),
            ":quit" => return self.exit(""),
            ":out" => return self.out(rest.trim_matches('"')),
            ":r" => return self.read(rest.trim_matches('"')),
            ":setvar" => self.set_variable(rest),
            ":listvar" => self.list_variables(),
            ":list" => {
                let text = self.gathered.text().trim_end().to_owned();
                self.say(&text);
            }
            ":reset" => self.gathered.clear(),
            ":on" if rest.eq_ignore_ascii_case("error exit") => self.ends_on_error = true,
            ":on" if rest.eq_ignore_ascii_case("error ignore") => self.ends_on_error = false,
            ":help" => self.say(HELP),
            other => return self.unknown(other),
        }
        Ok(())
    }

    fn read(&mut self, name: &str) -> Result<(), Stop> {
        let Some(path) = self.filled(name) else {
            self.worst = self.worst.max(16);
            return Err(Stop::Failed);
        };
        self.file(Path::new(&path))
    }

    fn set_variable(&mut self, rest: &str) {
        match rest.split_once(char::is_whitespace) {
            Some((name, value)) => self.set(name, value.trim().trim_matches('"')),
            None if rest.is_empty() => self.say(":setvar NAME VALUE"),
            None => {
                self.variables.remove(&rest.to_lowercase());
            }
        }
    }

    fn list_variables(&mut self) {
        let line = |(name, value): (&String, &String)| format!("{name} = \"{value}\"");
        let all: Vec<String> = self.variables.iter().map(line).collect();
        self.say(&all.join("\n"));
    }

    fn unknown(&mut self, word: &str) -> Result<(), Stop> {
        self.say(&format!(
            "'{word}' is not a command of this shell; :help lists them."
        ));
        self.worst = self.worst.max(16);
        match self.ends_on_error {
            true => Err(Stop::Failed),
            false => Ok(()),
        }
    }
}

const HELP: &str = "\
GO [n]               runs the batch so far, n times
:r FILE              reads a script
:setvar NAME VALUE   sets a variable, which $(NAME) stands for
:listvar             lists the variables
:list                shows the batch so far
:reset               forgets the batch so far
:on error exit       ends at the first error (:on error ignore goes on)
:out FILE            writes results to a file (:out stdout, :out stderr)
:exit, :quit         ends; what was typed since the last GO is not run
:exit ()             runs it and ends
:exit (SELECT ...)   the same, and the number it gives is the exit status, of which the system keeps the
                     low byte; where it fails 156 (-100), without a row 155 (-101), no number 154 (-102)";
