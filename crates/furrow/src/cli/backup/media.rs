//! Reads the media of a command, and finds the chains on them.

use super::args::MediaArguments;
use crate::cli::outcome::{Failure, REFUSED};
use furrow_backup::chain::{Chain, chains, open_media};
use furrow_backup::{KeyRing, MediaSet};
use furrow_io::SystemVolume;
use std::path::PathBuf;

/// Reads media sets, and finds the chains on them.
pub(crate) fn read(
    media: &[PathBuf],
    key_files: &[PathBuf],
    database: Option<&str>,
) -> Result<(Vec<MediaSet>, Vec<Chain>), Failure> {
    let refused = |e: &dyn std::fmt::Display| Failure::new(REFUSED, e.to_string());
    // A file that is named twice, as in `*.bak extra.bak`, counts once.
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

pub(super) fn read_of(files: &MediaArguments) -> Result<(Vec<MediaSet>, Vec<Chain>), Failure> {
    read(&files.media, &files.keys, files.database.as_deref())
}
