//! `furrow sql`: T-SQL at the prompt, in the manner of sqlcmd.
//!
//! The shell runs an instance of its own in a directory, which it makes at first use and shuts down at its end.

mod interactive;
mod output;
mod shell;

use super::args::SqlArguments;
use super::{FAILED, Failure, INTERRUPTED, REFUSED};
use furrow_engine::{Instance, InstanceConfig};
use furrow_io::{SystemVolume, Volume};
use furrow_sql::Server;
use output::Printer;
use shell::{Shell, Stop, UnderWay};
use std::io::IsTerminal;
use std::path::Path;
use std::sync::{Arc, Mutex};

/// Where the instance is, unless `--instance` says otherwise.
const DIRECTORY: &str = "furrow-instance";
/// Lines typed before.
const HISTORY: &str = "sql_history";

fn start(options: &SqlArguments) -> Result<Arc<Server>, Failure> {
    let directory = options.instance.clone().unwrap_or_else(|| DIRECTORY.into());
    let volume = SystemVolume::new();
    let shown = directory.display().to_string();
    volume
        .create_dir(&directory)
        .map_err(|e| Failure::new(REFUSED, format!("cannot make {shown}: {e}")))?;
    let config = InstanceConfig {
        directory: Some(directory),
        pool_pages: usize::try_from(options.pool / 8192)
            .unwrap_or(usize::MAX)
            .max(512),
        ..InstanceConfig::default()
    };
    let failed = |e: &dyn std::fmt::Display| {
        Failure::new(
            REFUSED,
            format!("the instance in {shown} cannot be started: {e}"),
        )
    };
    let instance = Instance::start(Arc::new(volume), config).map_err(|e| failed(&e))?;
    Server::start(instance).map_err(|e| failed(&e))
}

/// Ctrl-C ends the batch under way; where there is none, the program.
fn listen(under_way: &UnderWay) -> Result<(), Failure> {
    let under_way = Arc::clone(under_way);
    let handler = move || {
        let running = under_way.lock().ok().and_then(|u| u.clone());
        match running {
            Some(cancel) => cancel.cancel(),
            None => std::process::exit(i32::from(INTERRUPTED)),
        }
    };
    ctrlc::set_handler(handler)
        .map_err(|e| Failure::new(FAILED, format!("cannot listen for Ctrl-C: {e}")))
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
        let mut text = String::new();
        if let Err(e) = std::io::Read::read_to_string(&mut std::io::stdin(), &mut text) {
            eprintln!("furrow: cannot read the input: {e}");
            return Err(Stop::Failed);
        }
        shell.script(&text)?;
        shell.run_gathered(1)?;
    }
    Ok(())
}

/// Runs the command.
pub(super) fn run(options: &SqlArguments) -> Result<u8, Failure> {
    let under_way: UnderWay = Arc::new(Mutex::new(None));
    let server = start(options)?;
    listen(&under_way)?;
    let failed = |e: &dyn std::fmt::Display| Failure::new(FAILED, e.to_string());
    let connection = server.connect().map_err(|e| failed(&e))?;
    let printer = Printer::new(options, Box::new(std::io::stdout()));
    let mut shell = Shell::new(connection, printer, under_way);
    shell.ends_on_error = options.batch_abort;
    for pair in &options.variables {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        shell.set(name, value.trim_matches('"'));
    }
    if let Some(database) = &options.database {
        let use_it = format!("USE [{}]", database.replace(']', "]]"));
        let before = std::mem::replace(&mut shell.ends_on_error, true);
        if shell.run(&use_it, 1).is_err() {
            return Ok(FAILED);
        }
        shell.ends_on_error = before;
    }
    let attended =
        options.query.is_none() && options.input.is_empty() && std::io::stdin().is_terminal();
    let stopped = if attended {
        let history = server
            .instance()
            .config()
            .directory
            .as_deref()
            .map(|d: &Path| d.join(HISTORY));
        interactive::run(&mut shell, history.as_deref())?;
        Ok(())
    } else {
        read_all(&mut shell, options)
    };
    finish(shell, &server, stopped, options.batch_abort)
}

fn finish(
    shell: Shell,
    server: &Arc<Server>,
    stopped: Result<(), Stop>,
    errors_count: bool,
) -> Result<u8, Failure> {
    let Shell {
        mut printer,
        connection,
        worst,
        ..
    } = shell;
    printer.flush();
    drop(connection);
    server
        .instance()
        .shut_down()
        .map_err(|e| Failure::new(FAILED, e.to_string()))?;
    if let Some(e) = printer.failed
        && e.kind() != std::io::ErrorKind::BrokenPipe
    {
        return Err(Failure::new(
            FAILED,
            format!("cannot write the results: {e}"),
        ));
    }
    Ok(match stopped {
        Err(Stop::Cancelled) => INTERRUPTED,
        Err(Stop::Failed) => FAILED,
        _ if errors_count && worst > 10 => FAILED,
        _ => 0,
    })
}
