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

/// Runs a command of `backup`.
pub(super) fn run(options: &BackupArguments) -> Result<u8, Failure> {
    match &options.command {
        BackupCommand::Script(options) => print_script(options),
        BackupCommand::Key(options) => key::make(&options.file),
        BackupCommand::Rehearse(options) => rehearse::run(options),
    }
}

fn print_script(options: &ScriptArguments) -> Result<u8, Failure> {
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
