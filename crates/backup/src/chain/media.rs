//! Files grouped into media sets.

use super::error::ChainError;
use crate::BackupError;
use crate::keys::KeyRing;
use crate::media::StripeReader;
use crate::restore::MediaSet;
use furrow_io::{Access, Open, Volume};
use furrow_types::Guid;
use std::path::{Path, PathBuf};

/// The stripes of one media set among the files.
struct Group {
    media_set: Guid,
    families: u16,
    stripes: Vec<(u16, PathBuf)>,
}

/// Opens files in any order: stripes of one media set become one. All stripes of each must be there.
/// Encrypted media get their key, if it is among these.
pub fn open_media(
    volume: &dyn Volume,
    paths: &[PathBuf],
    keys: &KeyRing,
) -> Result<Vec<MediaSet>, ChainError> {
    let mut groups: Vec<Group> = Vec::new();
    for path in paths {
        let (media_set, family, families) = header(volume, path)?;
        let stripe = (family, path.clone());
        match groups.iter_mut().find(|g| g.media_set == media_set) {
            Some(group) => group.stripes.push(stripe),
            None => groups.push(Group {
                media_set,
                families,
                stripes: vec![stripe],
            }),
        }
    }
    let open = |group: Group| Ok(group.open(volume)?.with_keys(keys));
    groups.into_iter().map(open).collect()
}

fn header(volume: &dyn Volume, path: &Path) -> Result<(Guid, u16, u16), ChainError> {
    let of = |e: BackupError| ChainError::Media(e.into(), path.to_path_buf());
    let file = volume.open(path, Open::ReadOnly, Access::Data);
    let file = file.map_err(|e| of(BackupError::cannot_open(path, &e)))?;
    let reader = StripeReader::open(file).map_err(|e| of(BackupError::of_media(path, &e)))?;
    let header = reader.header();
    Ok((header.media_set, header.family, header.families))
}

impl Group {
    fn open(mut self, volume: &dyn Volume) -> Result<MediaSet, ChainError> {
        self.stripes.sort();
        let there = |family: &u16| self.stripes.iter().any(|s| s.0 == *family);
        let missing: Vec<u16> = (1..=self.families).filter(|f| !there(f)).collect();
        if !missing.is_empty() {
            return Err(ChainError::MissingStripes(
                self.stripes,
                self.families,
                missing,
            ));
        }
        let paths: Vec<PathBuf> = self.stripes.into_iter().map(|s| s.1).collect();
        let first = paths.first().cloned().unwrap_or_default();
        MediaSet::open(volume, &paths).map_err(|e| ChainError::Media(e.into(), first))
    }
}
