//! The chain of sets that brings a database to the latest state that is on the media.

use super::error::ChainError;
use crate::media::{BackupKind, SetInfo};
use crate::restore::{MediaSet, forks_of};
use furrow_format::Lsn;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A set, and where it is.
#[derive(Debug, Clone)]
pub struct ChainStep {
    /// The media set, as a place in the list that [`chains`] was called with.
    pub media: usize,
    /// The stripes.
    pub paths: Vec<PathBuf>,
    /// The set's position on the media.
    pub position: u16,
    /// What the set says of itself.
    pub info: SetInfo,
    /// The last record of its log that is restored, where what follows was left behind by a restore.
    pub stop: Option<Lsn>,
}

/// The sets to restore, in order, and what else there is.
#[derive(Debug, Clone)]
pub struct Chain {
    /// A full backup, at most one differential backup, log backups.
    pub steps: Vec<ChainStep>,
    /// Sets of the same database that are not needed.
    pub unused: Vec<ChainStep>,
}

impl ChainStep {
    /// The last record that is in place behind it.
    fn last_lsn(&self) -> u64 {
        self.stop.map_or(self.info.last_lsn, |stop| stop.0)
    }

    /// How messages name it.
    pub fn name(&self) -> String {
        let path = self.paths.first().map(|p| p.display().to_string());
        let path = path.unwrap_or_default();
        match self.position {
            1 => path,
            n => format!("{path} (file {n})"),
        }
    }
}

impl Chain {
    /// The database that was backed up.
    pub fn database(&self) -> &str {
        self.steps.first().map_or("", |s| s.info.database.as_str())
    }

    /// Bytes that the restored files take.
    pub fn size_bytes(&self) -> u64 {
        let mut sizes: BTreeMap<u16, u64> = BTreeMap::new();
        for file in self.steps.iter().flat_map(|s| &s.info.files) {
            let bytes = u64::from(file.size_pages) * 8192;
            let known = sizes.entry(file.id).or_default();
            *known = bytes.max(*known);
        }
        sizes.values().sum()
    }
}

/// The chains of all databases on the media, by name; of one if it is named.
pub fn chains(media: &[MediaSet], database: Option<&str>) -> Result<Vec<Chain>, ChainError> {
    let mut by_name: BTreeMap<String, Vec<ChainStep>> = BTreeMap::new();
    for (at, set) in media.iter().enumerate() {
        for step in steps_of(at, set)? {
            let name = step.info.database.to_lowercase();
            by_name.entry(name).or_default().push(step);
        }
    }
    if by_name.is_empty() {
        return Err(ChainError::Nothing);
    }
    if let Some(wanted) = database {
        let Some(steps) = by_name.remove(&wanted.to_lowercase()) else {
            let names: Vec<&str> = by_name
                .values()
                .filter_map(|steps| Some(steps.first()?.info.database.as_str()))
                .collect();
            return Err(ChainError::NoDatabase(wanted.to_owned(), names.join(", ")));
        };
        return Ok(vec![chain(steps)?]);
    }
    by_name.into_values().map(chain).collect()
}

/// The sets of a media set, proven to be on all stripes alike.
fn steps_of(at: usize, media: &MediaSet) -> Result<Vec<ChainStep>, ChainError> {
    let paths = media.paths();
    let first = || paths.first().cloned().unwrap_or_default();
    let sets = media
        .sets()
        .map_err(|e| ChainError::Media(e.into(), first()))?;
    let step = |(position, _)| {
        let info = media.info(position);
        Ok(ChainStep {
            media: at,
            paths: paths.clone(),
            position,
            info: info.map_err(|e| ChainError::Media(e.into(), first()))?,
            stop: None,
        })
    };
    sets.into_iter().map(step).collect()
}

/// The chain among the sets of one database that reaches furthest. A differential backup may be built on an
/// earlier full backup than the last one, which may be COPY_ONLY.
fn chain(mut steps: Vec<ChainStep>) -> Result<Chain, ChainError> {
    steps.sort_by_key(|s| (s.info.finished_us, s.info.last_lsn));
    let is_full = |at: &usize| {
        let step = steps.get(*at);
        step.is_some_and(|s| s.info.kind == BackupKind::Database)
    };
    let fulls: Vec<usize> = (0..steps.len()).filter(is_full).collect();
    let (mut best, mut first_error): (Option<Chain>, _) = (None, None);
    let reached = |chain: &Chain| chain.steps.last().map(|s| s.info.finished_us);
    // The latest one first: it needs the fewest sets.
    for at in fulls.into_iter().rev() {
        match chain_from(at, steps.clone()) {
            Ok(chain) if best.as_ref().is_none_or(|b| reached(&chain) > reached(b)) => {
                best = Some(chain);
            }
            Ok(_) => {}
            Err(error) => drop(first_error.get_or_insert(error)),
        }
    }
    match (best, first_error) {
        (Some(chain), _) => Ok(chain),
        (None, Some(error)) => Err(error),
        (None, None) => Err(no_full(&steps)),
    }
}

/// The set of the log, or a differential one, that has the latest state that can follow a full backup: what
/// it has not gone the way of was left behind by a restore.
fn latest<'a>(full: &ChainStep, steps: &'a [ChainStep]) -> Option<&'a ChainStep> {
    let (forks, last) = (forks_of(&full.info), Lsn(full.info.last_lsn));
    let follows = steps.iter().filter(|s| {
        s.info.family == full.info.family
            && s.info.last_lsn >= full.info.last_lsn
            && match s.info.kind {
                BackupKind::Database | BackupKind::Files => false,
                BackupKind::Differential => s.info.base == full.info.set,
                BackupKind::Log => forks_of(&s.info).agree(&forks, last),
            }
    });
    follows.max_by_key(|s| (s.info.finished_us, s.info.last_lsn))
}

/// The chain that begins with the full backup at this place.
fn chain_from(full: usize, mut steps: Vec<ChainStep>) -> Result<Chain, ChainError> {
    let full = steps.remove(full);
    let way = forks_of(&latest(&full, &steps).unwrap_or(&full).info);
    // A log backup that goes on with what a restore left behind is restored up to there.
    for step in steps.iter_mut().filter(|s| s.info.kind == BackupKind::Log) {
        let parting = forks_of(&step.info).parting(&way);
        let within = |p: &Lsn| p.0 > step.info.first_lsn && p.0 <= step.info.last_lsn;
        step.stop = parting.filter(within).map(|p| Lsn(p.0 - 1));
    }
    let on_way = |s: &ChainStep| forks_of(&s.info).agree(&way, Lsn(s.last_lsn()));
    let (ours, mut unused): (Vec<ChainStep>, Vec<ChainStep>) = steps.into_iter().partition(|s| {
        s.info.family == full.info.family
            && match s.info.kind {
                BackupKind::Database | BackupKind::Files => false,
                BackupKind::Differential => s.info.base == full.info.set && on_way(s),
                BackupKind::Log => on_way(s),
            }
    });
    let (mut differentials, mut logs): (Vec<ChainStep>, Vec<ChainStep>) = ours
        .into_iter()
        .partition(|s| s.info.kind == BackupKind::Differential);
    differentials.sort_by_key(|s| s.info.last_lsn);
    logs.sort_by_key(|s| (s.info.first_lsn, s.last_lsn()));
    let mut steps = vec![full];
    steps.extend(differentials.pop());
    unused.extend(differentials);
    for log in logs {
        let Some(last) = steps.last() else { break };
        if log.last_lsn() <= last.last_lsn() {
            unused.push(log);
            continue;
        }
        if log.info.first_lsn > last.last_lsn() + 1 {
            return Err(gap(last, &log));
        }
        steps.push(log);
    }
    unused.sort_by_key(|s| s.info.finished_us);
    debug_assert!(
        steps
            .windows(2)
            .all(|w| matches!(w, [a, b] if a.last_lsn() <= b.last_lsn()))
    );
    Ok(Chain { steps, unused })
}

fn gap(last: &ChainStep, next: &ChainStep) -> ChainError {
    ChainError::Gap {
        database: last.info.database.clone(),
        last: last.name(),
        next: next.name(),
        from_lsn: last.last_lsn() + 1,
        to_lsn: next.info.first_lsn,
        from_us: last.info.finished_us,
        to_us: next.info.started_us,
    }
}

fn no_full(steps: &[ChainStep]) -> ChainError {
    let differential = steps
        .iter()
        .find(|s| s.info.kind == BackupKind::Differential);
    let first = steps.first();
    ChainError::NoFull {
        database: first.map_or_else(String::new, |s| s.info.database.clone()),
        before_us: first.map_or(0, |s| s.info.started_us),
        checkpoint: differential.map(|s| s.info.database_backup_lsn),
    }
}
