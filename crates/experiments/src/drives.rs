//! Where the files of an experiment lie, and the drives behind the directories: `--volume`, `--log-volume`.
//!
//! A volume is written as `furrow sql --volume` takes it: `DIR`, `DIR,read=100MB/s,latency=2ms` for a
//! throttled one, `DIR,model=raid10:4x15k,stripe=64K` for a modelled array.

use crate::plugin::Start;
use clap::Args;
use furrow_disks::volume::{ModelledVolume, with_models};
use furrow_disks::{Pace, VolumeSpec};
use furrow_io::Volume;
use furrow_lab::experiment::{OptionsError, StepError};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where the files of an experiment lie: options that all experiments with files have.
#[derive(Debug, Clone, Default, PartialEq, Args)]
pub struct Place {
    /// Directory for data files; several are used in turn [default: in --out]. Behind a comma: a speed,
    /// read=100MB/s,write=50MB/s,latency=2ms,iops=5000, or a modelled array, model=raid10:4x15k,stripe=64K
    #[arg(long = "volume", value_name = "DIR[,...]")]
    volumes: Vec<VolumeSpec>,
    /// Directory for the log, as --volume takes it [default: that of the first data file]
    #[arg(long, value_name = "DIR[,...]")]
    log_volume: Option<VolumeSpec>,
}

/// Where the files of a backup lie.
#[derive(Debug, Clone, Default, PartialEq, Args)]
pub(crate) struct StripePlace {
    /// Directory for backup files, as --volume takes it; several are used in turn [default: in --out]
    #[arg(long = "backup-volume", value_name = "DIR[,...]")]
    backup_volumes: Vec<VolumeSpec>,
}

/// Directories that are there.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Places {
    /// For data files; empty where none was named.
    pub volumes: Vec<PathBuf>,
    /// For the log, where it has one of its own.
    pub log: Option<PathBuf>,
    /// Directories whose drives are modelled.
    pub models: Vec<VolumeSpec>,
}

impl Place {
    /// The directories that were named, each of which must be there. Those for data files are named once
    /// each, whatever way leads to them.
    pub fn resolve(&self, start: &Start) -> Result<Places, OptionsError> {
        let (found, mut models) = named_once("--volume", &self.volumes, start)?;
        let log = match &self.log_volume {
            None => None,
            Some(typed) => {
                let (dir, leads_to) = directory("--log-volume", &typed.dir, start)?;
                let same = found.iter().any(|(_, earlier)| *earlier == leads_to);
                if same && typed.model.is_some() {
                    return Err(OptionsError(format!(
                        "--log-volume {} is a --volume too; write its drives behind --volume alone",
                        dir.display()
                    )));
                }
                models.extend(modelled(&dir, typed));
                Some(dir)
            }
        };
        Ok(Places {
            volumes: found.into_iter().map(|(dir, _)| dir).collect(),
            log,
            models,
        })
    }
}

impl StripePlace {
    /// The directories that were named, each of which must be there, once each.
    pub(crate) fn resolve(&self, start: &Start) -> Result<Places, OptionsError> {
        let (found, models) = named_once("--backup-volume", &self.backup_volumes, start)?;
        Ok(Places {
            volumes: found.into_iter().map(|(dir, _)| dir).collect(),
            log: None,
            models,
        })
    }
}

/// Directories with what they lead to, and those that are modelled.
type Named = (Vec<(PathBuf, PathBuf)>, Vec<VolumeSpec>);

/// Directories that an option names, each once.
fn named_once(option: &str, typed: &[VolumeSpec], start: &Start) -> Result<Named, OptionsError> {
    let mut found: Vec<(PathBuf, PathBuf)> = Vec::new();
    let mut models = Vec::new();
    for typed in typed {
        let (dir, leads_to) = directory(option, &typed.dir, start)?;
        if let Some((other, _)) = found.iter().find(|(_, earlier)| *earlier == leads_to) {
            return Err(OptionsError(format!(
                "{option} {} and {option} {} are the same directory, {}; give it once",
                other.display(),
                dir.display(),
                leads_to.display()
            )));
        }
        models.extend(modelled(&dir, typed));
        found.push((dir, leads_to));
    }
    Ok((found, models))
}

/// The model of a directory, under the name that the directory has from the root on.
fn modelled(dir: &Path, typed: &VolumeSpec) -> Option<VolumeSpec> {
    typed.model.is_some().then(|| VolumeSpec {
        dir: dir.to_path_buf(),
        model: typed.model.clone(),
    })
}

/// A directory that is there, and what it is by its shortest name.
fn directory(
    option: &str,
    typed: &Path,
    start: &Start,
) -> Result<(PathBuf, PathBuf), OptionsError> {
    let dir = start.path(typed);
    let refuse = |why: &str| OptionsError(format!("{option} {} {why}", dir.display()));
    let leads_to = dir
        .canonicalize()
        .map_err(|_| refuse("is not there; make the directory first"))?;
    if !leads_to.is_dir() {
        return Err(refuse("is not a directory"));
    }
    Ok((dir, leads_to))
}

impl Places {
    /// Directories for data files: the output directory where none was named.
    pub fn data(&self, out_dir: &Path) -> Vec<PathBuf> {
        match self.volumes.is_empty() {
            true => vec![out_dir.to_path_buf()],
            false => self.volumes.clone(),
        }
    }

    /// All directories, each once.
    pub fn all(&self, out_dir: &Path) -> Vec<PathBuf> {
        let mut all = self.data(out_dir);
        all.extend(
            self.log
                .iter()
                .filter(|log| !all.contains(log))
                .cloned()
                .collect::<Vec<_>>(),
        );
        all
    }

    /// Puts them among the settings that a plan records.
    pub fn record(&self, settings: &mut BTreeMap<String, String>) {
        for (dir, n) in self.volumes.iter().zip(1..) {
            settings.insert(format!("volume {n}"), dir.display().to_string());
        }
        if let Some(dir) = &self.log {
            settings.insert("log volume".to_owned(), dir.display().to_string());
        }
        for (line, n) in self.models().into_iter().zip(1..) {
            settings.insert(format!("modelled drives {n}"), line);
        }
    }

    /// The models, one line each.
    pub fn models(&self) -> Vec<String> {
        described(&self.models)
    }

    /// The file systems with the models before their directories.
    pub fn drives(&self, real: &Arc<dyn Volume>) -> Result<Arc<dyn Volume>, StepError> {
        let volume = with_models(Arc::clone(real), &self.models);
        volume.map_err(|error| StepError::Failed(error.to_string()))
    }
}

/// One line for each modelled directory, the directory last.
pub(crate) fn described(specs: &[VolumeSpec]) -> Vec<String> {
    let line = |spec: &VolumeSpec| {
        let model = spec.model.as_ref()?;
        Some(format!(
            "{}, below {}",
            model.describe(),
            spec.dir.display()
        ))
    };
    specs.iter().filter_map(line).collect()
}

/// Puts the models of `specs` before `real`, in real time, where their figures can be read afterwards.
pub(crate) fn modelled_volume(
    real: &Arc<dyn Volume>,
    specs: &[VolumeSpec],
) -> Result<ModelledVolume, StepError> {
    let volume = ModelledVolume::new(Arc::clone(real), specs, Pace::Real);
    volume.map_err(|error| StepError::Failed(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Command, FromArgMatches};

    fn resolved(words: &[&str]) -> Result<Places, String> {
        let command = Place::augment_args(Command::new("t").no_binary_name(true));
        let matches = command.try_get_matches_from(words);
        let place = Place::from_arg_matches(&matches.map_err(|e| e.to_string())?);
        let start = Start::new("/out".into(), "/".into(), false);
        let place = place.map_err(|e| e.to_string())?;
        place.resolve(&start).map_err(|e| e.to_string())
    }

    #[test]
    fn a_volume_is_a_directory_with_or_without_drives() {
        let places = resolved(&[
            "--volume",
            "/tmp,read=100MB/s,write=50MB/s,latency=2ms",
            "--volume",
            "/usr",
            "--log-volume",
            "/var,model=raid10:4x15k,stripe=64K,offset=63s",
        ])
        .unwrap();
        assert_eq!(places.volumes, [PathBuf::from("/tmp"), "/usr".into()]);
        assert_eq!(places.log, Some("/var".into()));
        let lines = places.models();
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(lines[1].starts_with("model: raid10 of 4 x disk") && lines[1].ends_with("/var"));
        let mut settings = BTreeMap::new();
        places.record(&mut settings);
        assert_eq!(settings["volume 1"], "/tmp");
        assert!(settings["modelled drives 2"].contains("raid10"));
    }

    #[test]
    fn drives_that_make_no_sense_are_refused_with_what_to_do() {
        for (words, part) in [
            (vec!["--volume", "/tmp,iops=fast"], "cannot be read"),
            (
                vec!["--volume", "/tmp,iops=5", "--volume", "/usr/../tmp"],
                "same directory",
            ),
            (
                vec!["--volume", "/nowhere,iops=5"],
                "make the directory first",
            ),
            (
                vec!["--volume", "/tmp", "--log-volume", "/tmp,iops=5"],
                "behind --volume",
            ),
        ] {
            let refused = resolved(&words).unwrap_err();
            assert!(refused.contains(part), "{words:?}: {refused}");
        }
    }
}
