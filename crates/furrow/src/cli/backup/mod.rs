//! `furrow backup`: operations on backup files alone, without the instance that wrote them.

mod args;
mod key;
mod media;
mod rehearse;
mod scratch;

pub(crate) use args::BackupArguments;
pub(super) use media::read;
pub(super) use scratch::Scratch;

use super::outcome::{Failure, REFUSED, print};
use args::{BackupCommand, ScriptArguments};
use furrow_backup::chain::{Chain, ScriptOptions, script};
use media::read_of;
use std::path::Path;

/// Runs a command of `backup`.
pub(super) fn run(options: &BackupArguments) -> Result<u8, Failure> {
    match &options.command {
        BackupCommand::Script(options) => print_script(options),
        BackupCommand::Key(options) => key::make(&options.file),
        BackupCommand::Rehearse(options) => rehearse::run(options),
    }
}

/// Whether the absolute path is not UTF-8.
fn is_not_text(path: &Path) -> bool {
    std::path::absolute(path).is_ok_and(|path| path.to_str().is_none())
}

fn print_script(options: &ScriptArguments) -> Result<u8, Failure> {
    // A statement is text: a path that is not could not be found again.
    let mut paths = options.files.media.iter().chain(&options.to);
    if let Some(path) = paths.find(|path| is_not_text(path)) {
        let text = format!(
            "the path {} is not UTF-8, which a RESTORE statement cannot name: rename it",
            path.display()
        );
        return Err(Failure::new(REFUSED, text));
    }
    let (_, chains) = read_of(&options.files)?;
    if let Some(name) = options.name.as_ref().filter(|_| chains.len() > 1) {
        let names: Vec<&str> = chains.iter().map(Chain::database).collect();
        return Err(Failure::new(
            REFUSED,
            format!(
                "the files hold backups of several databases ({}), which cannot all be restored as {name}: \
                 choose one by --database",
                names.join(", ")
            ),
        ));
    }
    let to = options.to.as_ref().map(std::path::absolute).transpose();
    let how = ScriptOptions {
        name: options.name.clone(),
        to: to.map_err(|e| Failure::new(REFUSED, e.to_string()))?,
        replace: options.replace,
        norecovery: options.norecovery,
    };
    let scripts: Vec<String> = chains.iter().map(|chain| script(chain, &how)).collect();
    print(&scripts.join("\n"))?;
    Ok(0)
}
