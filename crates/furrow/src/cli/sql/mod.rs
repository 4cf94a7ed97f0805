//! `furrow sql`: T-SQL at a prompt or from scripts, with the options of sqlcmd.
//!
//! The shell runs an instance of its own in a directory. It creates the instance on first use and shuts it
//! down at the end.

mod destination;
mod exit;
mod gathered;
mod interactive;
mod output;
mod shell;
mod signals;
mod source;
mod volume;

use super::args::SqlArguments;
use super::{DONE, FAILED, Failure, REFUSED};
use destination::{Destination, Guarded};
use furrow_engine::{AttachOptions, EngineError, Instance, InstanceConfig};
use furrow_format::PAGE_SIZE;
use furrow_io::{IoErrorKind, SystemVolume, Volume, holder_of, read_file};
use furrow_observe::errorlog::Source;
use furrow_sql::Server;
use output::Printer;
use shell::{Shell, Stop};
use signals::Signals;
use std::io::IsTerminal;
use std::path::Path;
use std::sync::{Arc, Mutex};
use tempfile::TempDir;

/// Directory of the instance, unless `--instance` names another one.
const DIRECTORY: &str = "furrow-instance";
/// File in the instance's directory with the lines typed earlier.
const HISTORY: &str = "sql_history";

/// Beginning of the error-log line that names the process, as in SQL Server.
const PROCESS: &str = "Server process ID is ";

/// A temporary directory that is removed when the program ends, also after Ctrl-C.
type Passing = Arc<Mutex<Option<TempDir>>>;

/// Removes the directory under the lock, so that a Ctrl-C at that moment does not end the program halfway.
struct Leaving(Passing);

impl Drop for Leaving {
    fn drop(&mut self) {
        if let Ok(mut directory) = self.0.lock() {
            drop(directory.take());
        }
    }
}

/// A running server, and what is removed when it ends.
struct Home {
    server: Arc<Server>,
    /// The directory of an instance that was created for one file only; it is removed together with this.
    passing: Leaving,
}

fn refused(what: &str, e: &dyn std::fmt::Display) -> Failure {
    Failure::new(REFUSED, format!("{what}: {e}"))
}

fn start(options: &SqlArguments) -> Result<Home, Failure> {
    let passing = match &options.open {
        Some(_) => {
            let made = tempfile::Builder::new().prefix("furrow-sql-").tempdir();
            let reason = |e| IoErrorKind::of_std(&e);
            let cannot = "cannot make a directory for temporary files";
            Some(made.map_err(|e| refused(cannot, &reason(e)))?)
        }
        None => None,
    };
    let directory = match (&passing, &options.instance) {
        (Some(passing), _) => passing.path().to_path_buf(),
        (None, Some(instance)) => instance.clone(),
        (None, None) => DIRECTORY.into(),
    };
    let volume = SystemVolume::new();
    let shown = directory.display().to_string();
    // The instance stores the paths of its files: they must be valid from every working directory.
    let directory = std::path::absolute(&directory)
        .map_err(|e| refused(&format!("cannot tell where {shown} is"), &e))?;
    volume
        .create_dir(&directory)
        .map_err(|e| refused(&format!("cannot make {shown}"), &e))?;
    let config = InstanceConfig {
        directory: Some(directory.clone()),
        pool_pages: usize::try_from(options.pool / PAGE_SIZE as u64).unwrap_or(usize::MAX),
        many_extents_a_turn: options.many_extents,
        trace_flags: options.trace_flags.clone(),
        ..InstanceConfig::default()
    };
    let cannot = format!("the instance in {shown} cannot be started");
    let volume = volume::with_models(Arc::new(volume), &options.volumes)?;
    let instance = Instance::start(volume, config).map_err(|e| match e {
        EngineError::Io(e) if e.kind == IoErrorKind::InUse => taken(&directory),
        e => refused(&cannot, &e),
    })?;
    instance
        .error_log()
        .write(Source::Server, &format!("{PROCESS}{}.", std::process::id()));
    // If the log cannot be written now, its writer tries again.
    let _ = instance.error_log().flush();
    let server = Server::start(instance).map_err(|e| refused(&cannot, &e))?;
    Ok(Home {
        server,
        passing: Leaving(Arc::new(Mutex::new(passing))),
    })
}

/// Another process has the instance; its error log names that process.
fn taken(directory: &Path) -> Failure {
    let log = read_file(&SystemVolume::new(), &directory.join("ERRORLOG")).unwrap_or_default();
    let text = String::from_utf8_lossy(&log);
    let id = text.rsplit_once(PROCESS).map_or("", |(_, rest)| rest);
    let digits = |c: &char| c.is_ascii_digit();
    let id: String = id.chars().take_while(digits).collect();
    let who = match id.as_str() {
        "" => "another furrow".to_owned(),
        id => format!("another furrow (process {id})"),
    };
    let text = format!(
        "{who} works in {}; end that one first, or name another directory by --instance",
        directory.display()
    );
    Failure::new(REFUSED, text)
}

/// No session can begin. If `master` cannot be opened: where the reason is, and the way to the others.
fn not_connected(server: &Server, error: &dyn std::fmt::Display) -> Failure {
    let instance = server.instance();
    let directory = match &instance.config().directory {
        Some(directory) if instance.database("master").is_err() => directory.display().to_string(),
        _ => return Failure::new(FAILED, error.to_string()),
    };
    // What a quoted word of the shell and a text of SQL take as it is.
    let is_plain = !directory.contains(['\'', '"', '$', '`', '\\']);
    let shown = if is_plain { &*directory } else { "DIRECTORY" };
    let attach = format!("CREATE DATABASE d ON (FILENAME = '{shown}/d.mdf') FOR ATTACH");
    let text = format!(
        "{error}\n{directory}/ERRORLOG says why. The other databases do not need this master: attach them to \
         a new instance, as in\n  furrow sql --instance NEW_DIR -Q \"{attach}\""
    );
    Failure::new(REFUSED, text)
}

/// Attaches the database of `--open`; returns its name.
fn attach(server: &Server, path: &Path) -> Result<String, Failure> {
    let stem = path.file_stem().unwrap_or_default();
    let name = stem.to_string_lossy().into_owned();
    let options = AttachOptions {
        name: Some(name.clone()),
        read_only: true,
        // A user who names a copy of the primary file means the files beside the copy, not the original ones.
        beside_first: true,
        ..AttachOptions::default()
    };
    server
        .instance()
        .attach_database(path, &options)
        .map_err(|e| {
            let cannot = format!("cannot open {}", path.display());
            match holder_of(path) {
                Some(holder) => refused(&cannot, &format!("it is in use by {holder}")),
                None => refused(&cannot, &e),
            }
        })?;
    Ok(name)
}

fn read_all(shell: &mut Shell, options: &SqlArguments) -> Result<(), Stop> {
    if let Some(text) = &options.query {
        shell.script(text)?;
        return shell.run_gathered(1);
    }
    for path in &options.input {
        shell.file(path)?;
        shell.run_gathered(1)?;
    }
    if options.input.is_empty() {
        shell.flow("standard input", &mut std::io::stdin().lock())?;
        shell.run_gathered(1)?;
    }
    Ok(())
}

/// The printer until the log-in succeeds, and the file to which results go from then on.
fn printer(
    options: &SqlArguments,
    server: &Arc<Server>,
) -> Result<(Printer, Option<Destination>), Failure> {
    let guarded = Guarded::new(&options.input, server);
    let Some(path) = &options.output else {
        let stdout = Destination::stream(std::io::stdout());
        return Ok((Printer::new(options, stdout, guarded), None));
    };
    let cannot = format!("cannot write {}", path.display());
    let output = guarded.open(path).map_err(|e| refused(&cannot, &e))?;
    let stderr = Destination::stream(std::io::stderr());
    Ok((Printer::new(options, stderr, guarded), Some(output)))
}

/// Runs the command.
pub(super) fn run(options: &SqlArguments) -> Result<u8, Failure> {
    let home = start(options)?;
    let done = work(&home, options);
    let closed = home.server.instance().shut_down();
    let status = done?;
    closed.map_err(|e| Failure::new(FAILED, e.to_string()))?;
    Ok(status)
}

/// Runs the command on a server that is ended behind it.
fn work(home: &Home, options: &SqlArguments) -> Result<u8, Failure> {
    let signals = Signals::default();
    let server = &home.server;
    let opened = match &options.open {
        Some(path) => Some(attach(server, path)?),
        None => None,
    };
    let attended =
        options.query.is_none() && options.input.is_empty() && std::io::stdin().is_terminal();
    let editor = match attended {
        true => Some(interactive::editor()?),
        false => None,
    };
    signals.listen(server, &home.passing.0)?;
    let connection = server.connect().map_err(|e| not_connected(server, &e))?;
    let (printer, output) = printer(options, server)?;
    let mut shell = Shell::new(connection, printer, signals);
    shell.ends_on_error = options.batch_abort;
    shell.literal = options.literal;
    for (name, value) in &options.variables {
        shell.set(name, value);
    }
    if let Some(database) = opened.as_ref().or(options.database.as_ref()) {
        let use_it = format!("USE [{}]", database.replace(']', "]]"));
        let before = std::mem::replace(&mut shell.ends_on_error, true);
        // This statement belongs to the log-in and was not typed: print nothing for it.
        shell.printer.quiet = true;
        if shell.run(&use_it, 1).is_err() {
            return Ok(FAILED);
        }
        shell.printer.quiet = false;
        shell.ends_on_error = before;
    }
    if let Some(output) = output {
        shell.printer.redirect(output);
    }
    shell.error_level = options.error_level.unwrap_or(shell::LEAST_ERROR);
    shell.echo = options.echo;
    if let Some(text) = &options.first {
        shell.unattended = editor.is_none();
        let done = shell.script(text).and_then(|()| shell.run_gathered(1));
        if let Err(stop) = done {
            return finish(shell, options, stop);
        }
    }
    let stop = if let Some(editor) = editor {
        let history = server
            .instance()
            .config()
            .directory
            .as_deref()
            .map(|d: &Path| d.join(HISTORY));
        interactive::run(&mut shell, editor, history.as_deref())?;
        Stop::EndOfInput
    } else {
        read_all(&mut shell, options)
            .err()
            .unwrap_or(Stop::EndOfInput)
    };
    finish(shell, options, stop)
}

fn finish(shell: Shell, options: &SqlArguments, stop: Stop) -> Result<u8, Failure> {
    let Shell {
        mut printer,
        worst,
        status,
        ends_on_error,
        error_level,
        ..
    } = shell;
    printer.finish(stop == Stop::Failed);
    if let Some(e) = printer.failed {
        let is_closed = e.kind() == std::io::ErrorKind::BrokenPipe;
        let is_error = ends_on_error && worst >= error_level;
        match is_closed {
            // A reader that closes the output early (`| head`) ends the script; this is no failure of it.
            true if stop == Stop::Failed && !is_error => return Ok(DONE),
            true => {}
            false => {
                let text = format!("cannot write the results: {}", IoErrorKind::of_std(&e));
                return Err(Failure::new(FAILED, text));
            }
        }
    }
    Ok(stop.status(options, worst, status))
}
