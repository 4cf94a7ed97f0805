//! `furrow backup`: what the files of backups give, without the instance that they come from.

mod args;
mod key;
mod rehearse;
mod scratch;

pub(crate) use args::BackupArguments;
pub(super) use scratch::Scratch;

use super::outcome::{Failure, REFUSED, print};
use args::{BackupCommand, MediaArguments, ScriptArguments};
use furrow_backup::chain::{Chain, ScriptOptions, chains, open_media, script};
use furrow_backup::{KeyRing, MediaSet};
use furrow_io::SystemVolume;
use std::path::PathBuf;

/// Runs a command of `backup`.
pub(super) fn run(options: &BackupArguments) -> Result<u8, Failure> {
    match &options.command {
        BackupCommand::Script(options) => print_script(options),
        BackupCommand::Key(options) => key::make(&options.file),
        BackupCommand::Rehearse(options) => rehearse::run(options),
    }
}

/// Media sets, and the chains on them.
pub(super) fn read(
    media: &[PathBuf],
    key_files: &[PathBuf],
    database: Option<&str>,
) -> Result<(Vec<MediaSet>, Vec<Chain>), Failure> {
    let refused = |e: &dyn std::fmt::Display| Failure::new(REFUSED, e.to_string());
    // The same file named twice, as `*.bak extra.bak` does, counts once.
    let mut paths: Vec<PathBuf> = Vec::new();
    for path in media {
        let path = std::path::absolute(path).map_err(|e| refused(&e))?;
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    let (volume, mut keys) = (SystemVolume::new(), KeyRing::from_environment());
    for file in key_files {
        keys.add_file(&volume, file).map_err(|e| refused(&e))?;
    }
    let media = open_media(&volume, &paths, &keys).map_err(|e| refused(&e))?;
    let chains = chains(&media, database).map_err(|e| refused(&e))?;
    Ok((media, chains))
}

fn read_of(files: &MediaArguments) -> Result<(Vec<MediaSet>, Vec<Chain>), Failure> {
    read(&files.media, &files.keys, files.database.as_deref())
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
