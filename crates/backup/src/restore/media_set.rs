//! The stripes of a media set, together.

use crate::BackupError;
use crate::error::shown;
use crate::keys::KeyRing;
use crate::media::{MediaHeader, SetInfo, SetPlace, StripeReader};
use crate::run::MOST_DEVICES;
use furrow_io::time::Moment;
use furrow_io::{Access, Open, Volume};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A stripe, and the sets on it.
#[derive(Debug)]
pub(super) struct Stripe {
    pub(super) path: PathBuf,
    pub(super) reader: StripeReader,
}

/// Stripes of one media set.
#[derive(Debug)]
pub struct MediaSet {
    pub(super) stripes: Vec<Stripe>,
}

/// A set of complete media that is about to be read.
#[derive(Debug)]
pub(super) struct OpenedSet {
    pub(super) begun: Moment,
    pub(super) position: u16,
    pub(super) info: SetInfo,
}

impl MediaSet {
    /// The set at this position, the first one if none is stated. 3132 unless all stripes are there.
    pub(super) fn opened(&self, position: Option<u16>) -> Result<OpenedSet, BackupError> {
        let begun = Moment::now();
        self.complete()?;
        let position = position.unwrap_or(1);
        Ok(OpenedSet {
            begun,
            position,
            info: self.info(position)?,
        })
    }

    /// Opens stripes, 64 at most (3205). They must be of one media set (3258), and none may be given twice
    /// (3227).
    pub fn open(volume: &dyn Volume, paths: &[PathBuf]) -> Result<MediaSet, BackupError> {
        if paths.len() > MOST_DEVICES {
            return Err(BackupError::refused(3205, &[(MOST_DEVICES as u32).into()]));
        }
        let mut stripes: Vec<Stripe> = Vec::new();
        let mut seen: BTreeMap<u16, &Path> = BTreeMap::new();
        for path in paths {
            let file = volume.open(path, Open::ReadOnly, Access::Data);
            let file = file.map_err(|e| BackupError::cannot_open(path, &e))?;
            let reader = StripeReader::open(Arc::clone(&file));
            let reader = reader.map_err(|e| BackupError::of_media(path, &e))?;
            let header = reader.header();
            let other = |s: &Stripe| s.reader.header().media_set != header.media_set;
            if stripes.first().is_some_and(other) {
                return Err(BackupError::refused(3258, &[shown(path)]));
            }
            if let Some(before) = seen.insert(header.family, path) {
                let args = [shown(path), header.family.into(), shown(before)];
                return Err(BackupError::refused(3227, &args));
            }
            stripes.push(Stripe {
                path: path.clone(),
                reader,
            });
        }
        Ok(MediaSet { stripes })
    }

    /// The media set with the keys for encrypted media.
    #[must_use]
    pub fn with_keys(mut self, keys: &KeyRing) -> MediaSet {
        let thumbprint = self.header().and_then(|h| h.key);
        if let Some(key) = thumbprint.and_then(|thumbprint| keys.find(&thumbprint)) {
            self.stripes.iter_mut().for_each(|s| s.reader.unlock(key));
        }
        self
    }

    /// The paths of the stripes, in the order in which they were given.
    pub fn paths(&self) -> Vec<PathBuf> {
        self.stripes.iter().map(|s| s.path.clone()).collect()
    }

    /// The stripes: their files and headers.
    pub fn stripes(&self) -> Vec<(PathBuf, MediaHeader)> {
        let stripe = |s: &Stripe| (s.path.clone(), s.reader.header().clone());
        self.stripes.iter().map(stripe).collect()
    }

    /// The header of the first stripe that was given.
    pub fn header(&self) -> Option<&MediaHeader> {
        self.stripes.first().map(|s| s.reader.header())
    }

    /// 3132 unless all stripes of the media set were given.
    pub fn complete(&self) -> Result<(), BackupError> {
        let wanted = self.header().map_or(0, |h| usize::from(h.families));
        match self.stripes.len() == wanted {
            true => Ok(()),
            false => {
                let args = [(wanted as u32).into(), (self.stripes.len() as u32).into()];
                Err(BackupError::refused(3132, &args))
            }
        }
    }

    /// The descriptions of the sets, by position, from the first stripe. Without the key of an encrypted set,
    /// its description has neither files nor log.
    pub fn sets(&self) -> Result<Vec<(u16, SetInfo)>, BackupError> {
        let Some(stripe) = self.stripes.first() else {
            return Ok(Vec::new());
        };
        let of = |e| BackupError::of_media(&stripe.path, &e);
        let places = stripe.reader.whole_sets().map_err(of)?;
        let info = |place: SetPlace| {
            let info = stripe.reader.outline(&place).map_err(of)?;
            Ok((place.position, info))
        };
        places.into_iter().map(info).collect()
    }

    /// The place of a set in each stripe. 3287 if a stripe does not have it, 3258 if it has another set at
    /// this position.
    pub(super) fn places(&self, position: u16) -> Result<Vec<SetPlace>, BackupError> {
        let mut places: Vec<SetPlace> = Vec::new();
        for stripe in &self.stripes {
            let sets = stripe.reader.whole_sets();
            let sets = sets.map_err(|e| BackupError::of_media(&stripe.path, &e))?;
            let place = sets.into_iter().find(|s| s.position == position);
            let strange = |place: &SetPlace| places.first().is_some_and(|f| f.set != place.set);
            match place {
                Some(place) if !strange(&place) => places.push(place),
                Some(_) => return Err(BackupError::refused(3258, &[shown(&stripe.path)])),
                None => {
                    let args = [position.into(), shown(&stripe.path)];
                    return Err(BackupError::refused(3287, &args));
                }
            }
        }
        Ok(places)
    }

    /// The description of a set, which must be the same in all stripes.
    pub fn info(&self, position: u16) -> Result<SetInfo, BackupError> {
        let mut first: Option<SetInfo> = None;
        for (stripe, place) in self.stripes.iter().zip(self.places(position)?) {
            let info = stripe.reader.info(&place);
            let info = info.map_err(|e| BackupError::of_media(&stripe.path, &e))?;
            if first.get_or_insert_with(|| info.clone()) != &info {
                let what = "the set has another description than on the first stripe";
                return Err(BackupError::damaged(&stripe.path, what));
            }
        }
        first.ok_or_else(|| BackupError::refused(3132, &[1.into(), 0.into()]))
    }
}
