//! The text form of a volume: `DIR`, and behind it how it behaves.
//!
//! ```text
//! DIR                                              as it is
//! DIR,read=100MB/s,write=50MB/s,latency=2ms,iops=5000   throttled
//! DIR,model=raid10:4x15k,stripe=64K,offset=63s     a modelled array
//! ```
//!
//! Sizes count in powers of 1024 (`64K`, `1M`), offsets also in sectors (`63s`); rates count in powers of
//! 1000 (`100MB/s`).

mod parse;
mod units;

pub use units::{duration_ns, rate, size};

use crate::ArraySpec;
use crate::profile::NAMES;
use crate::raid::RaidError;
use std::path::PathBuf;
use thiserror::Error;

/// The partition offset that today's systems use.
pub const DEFAULT_OFFSET: u64 = 1 << 20;
/// The default stripe unit.
pub const DEFAULT_STRIPE: u64 = 64 << 10;
/// The default allocation unit.
pub const DEFAULT_UNIT: u64 = 4 << 10;

/// A modelled array with its partition.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelSpec {
    /// The array.
    pub array: ArraySpec,
    /// Where the partition begins.
    pub partition_offset: u64,
    /// The allocation unit of its file system.
    pub unit_bytes: u64,
    /// Of the angles of drives and the places of files.
    pub seed: u64,
    /// What was typed behind the directory.
    pub text: String,
}

impl ModelSpec {
    /// A modelled array on a partition at the usual offset.
    pub fn new(array: ArraySpec) -> ModelSpec {
        ModelSpec {
            array,
            partition_offset: DEFAULT_OFFSET,
            unit_bytes: DEFAULT_UNIT,
            seed: 1,
            text: String::new(),
        }
    }

    /// Parses the text behind the directory: `model=raid10:4x15k,stripe=64K`.
    pub fn parse(text: &str) -> Result<ModelSpec, SpecError> {
        parse::model(text)
    }

    /// One line of text that begins with the word "model".
    pub fn describe(&self) -> String {
        if self.array.is_throttle() {
            return self.array.to_string();
        }
        format!(
            "{}, partition at byte {}, allocation unit {} bytes",
            self.array, self.partition_offset, self.unit_bytes
        )
    }
}

/// A directory, and how its files behave.
#[derive(Debug, Clone, PartialEq)]
pub struct VolumeSpec {
    /// The directory.
    pub dir: PathBuf,
    /// The model of its drives; none for the directory as it is.
    pub model: Option<ModelSpec>,
}

impl std::str::FromStr for VolumeSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<VolumeSpec, SpecError> {
        let (dir, options) = parse::split(text);
        if dir.is_empty() {
            return Err(SpecError::NoDirectory);
        }
        let model = match options {
            "" => None,
            options => Some(parse::model(options)?),
        };
        Ok(VolumeSpec {
            dir: PathBuf::from(dir),
            model,
        })
    }
}

/// A text that describes no volume.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SpecError {
    /// There is nothing before the first comma.
    #[error("the directory is missing; write DIR,read=100MB/s or DIR,model=raid10:4x15k")]
    NoDirectory,
    /// A part is no `KEY=VALUE`.
    #[error("'{0}' is no option; write KEY=VALUE, such as stripe=64K")]
    NotAnOption(String),
    /// A key that does not exist.
    #[error("there is no option '{key}'; there is: {}", parse::KEYS.join(", "))]
    UnknownKey {
        /// What was typed.
        key: String,
    },
    /// A key twice.
    #[error("'{0}' is given twice; give it once")]
    Twice(&'static str),
    /// A value that cannot be read.
    #[error("{key}={value} cannot be read; write {example}")]
    Value {
        /// The key.
        key: &'static str,
        /// What was typed.
        value: String,
        /// How to write it.
        example: &'static str,
    },
    /// A profile that does not exist.
    #[error("there is no drive '{name}'; there is: {}", profile_names())]
    UnknownDrive {
        /// What was typed.
        name: String,
    },
    /// Options of a throttle and of a model together.
    #[error(
        "{0} belongs to a throttled volume; with model= the drives set the speed, so leave one of them out"
    )]
    Mixed(&'static str),
    /// An option that only a model has.
    #[error("{0} belongs to a modelled array; add model=, such as model=raid10:4x15k")]
    NeedsModel(&'static str),
    /// The drives cannot be joined so.
    #[error(transparent)]
    Raid(#[from] RaidError),
    /// The partition begins behind the end of the array.
    #[error("offset={offset} lies past the end of the array, which has {capacity} bytes")]
    OffsetPastEnd {
        /// The offset.
        offset: u64,
        /// The size of the array.
        capacity: u64,
    },
}

fn profile_names() -> String {
    let names: Vec<&str> = NAMES.iter().map(|(name, _)| *name).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::{Scheduler, WriteCache};
    use crate::profile::Profile;
    use crate::raid::Level;

    fn volume(text: &str) -> VolumeSpec {
        text.parse().unwrap_or_else(|e| panic!("{text}: {e}"))
    }

    fn refused(text: &str) -> String {
        match text.parse::<VolumeSpec>() {
            Ok(volume) => panic!("{text} was read as {volume:?}"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn a_throttled_volume_is_read() {
        let volume = volume("/d,read=100MB/s,write=50MB/s,latency=2ms,iops=5000");
        assert_eq!(volume.dir, PathBuf::from("/d"));
        let Profile::Capped(cap) = volume.model.unwrap().array.profile else {
            panic!("not capped");
        };
        assert_eq!(cap.read_rate, Some(100_000_000));
        assert_eq!(cap.write_rate, Some(50_000_000));
        assert_eq!((cap.latency_ns, cap.iops), (2_000_000, Some(5000)));
    }

    #[test]
    fn a_modelled_array_is_read() {
        let text = "/d,model=raid10:4x15k,stripe=128K,offset=63s,unit=64K,cache=write-back:256M,\
                    queue=fifo,paths=2,path=112MB/s,overhead=50us,seed=9";
        let model = volume(text).model.unwrap();
        let raid = model.array.raid;
        assert_eq!((raid.level(), raid.drives()), (Level::Raid10, 4));
        assert_eq!((raid.stripe_bytes(), model.unit_bytes), (131_072, 65_536));
        assert_eq!((model.partition_offset, model.seed), (32_256, 9));
        assert_eq!(model.array.scheduler, Scheduler::Fifo);
        let controller = &model.array.controller;
        assert_eq!(
            controller.write_cache,
            WriteCache::Back { bytes: 256 << 20 }
        );
        assert_eq!((controller.paths, controller.overhead_ns), (2, 50_000));
        assert!(model.describe().starts_with("model: raid10 of 4 x disk"));
        let single = volume("/d,model=nvme").model.unwrap().array;
        assert_eq!(single.raid.drives(), 1);
    }

    #[test]
    fn a_directory_alone_and_one_with_commas_stay_what_they_are() {
        assert_eq!(volume("/a").model, None);
        assert_eq!(volume("/a,b/c").dir, PathBuf::from("/a,b/c"));
        assert_eq!(volume("/a,b,iops=5").dir, PathBuf::from("/a,b"));
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_what_to_do() {
        for (text, part) in [
            ("", "directory is missing"),
            (",iops=5", "directory is missing"),
            ("/d,iops=5,fast", "KEY=VALUE"),
            ("/d,reed=5MB/s", "there is: model, "),
            ("/d,iops=5,iops=6", "twice"),
            ("/d,iops=many", "write iops=5000"),
            ("/d,iops=0", "write iops=5000"),
            ("/d,read=100", "write read=100MB/s"),
            ("/d,latency=2", "write latency=2ms"),
            ("/d,model=raid10:4x20k", "there is: 7k2, 10k, 15k"),
            ("/d,model=raid11:4x15k", "model=raid10:4x15k"),
            ("/d,model=raid10:3x15k", "even number"),
            ("/d,model=raid5:2x15k", "3 to 64"),
            ("/d,model=raid0:65x15k", "64 drives"),
            ("/d,model=15k,stripe=1000", "multiple of 512"),
            ("/d,model=15k,iops=5", "leave one of them out"),
            ("/d,stripe=64K", "add model="),
            ("/d,model=15k,offset=100000G", "past the end"),
            ("/d,model=15k,offset=100", "offset=63s"),
            ("/d,model=15k,unit=5K", "unit=64K"),
            ("/d,model=15k,cache=fast", "cache=write-back:256M"),
            ("/d,model=15k,paths=3", "paths=2"),
            ("/d,model=15k,queue=sstf:0", "queue=sstf:32"),
        ] {
            let message = refused(text);
            assert!(message.contains(part), "{text}: {message}");
        }
    }
}
