//! Parses `KEY=VALUE,...` into a model.

use super::units::{duration_ns, rate, size};
use super::{DEFAULT_STRIPE, ModelSpec, SpecError};
use crate::array::{ArraySpec, MirrorRead, Scheduler, WriteCache};
use crate::profile::{CapProfile, Profile};
use crate::raid::{Level, Raid};
use std::collections::BTreeMap;

/// All keys, in the order of their explanation.
pub(super) const KEYS: &[&str] = &[
    "model",
    "stripe",
    "offset",
    "unit",
    "cache",
    "read-cache",
    "queue",
    "mirror",
    "paths",
    "path",
    "overhead",
    "sync",
    "seed",
    "read",
    "write",
    "latency",
    "iops",
];

/// Keys of a throttled volume.
const OF_THROTTLE: &[&str] = &["read", "write", "latency", "iops"];

/// The capacity of a throttled volume, larger than any file.
const UNLIMITED: u64 = 1 << 56;

/// A directory and its options. Options begin at the first comma that is followed by a word and `=`.
pub(super) fn split(text: &str) -> (&str, &str) {
    for (at, _) in text.match_indices(',') {
        let rest = &text[at + 1..];
        let word = rest.split(['=', ',', '/']).next().unwrap_or_default();
        let is_word = !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c == '-');
        if is_word && rest[word.len()..].starts_with('=') {
            return (&text[..at], rest);
        }
    }
    (text, "")
}

struct Options<'a>(BTreeMap<&'static str, &'a str>);

impl<'a> Options<'a> {
    fn read(text: &'a str) -> Result<Options<'a>, SpecError> {
        let mut options = BTreeMap::new();
        for part in text.split(',') {
            let Some((key, value)) = part.split_once('=') else {
                return Err(SpecError::NotAnOption(part.to_owned()));
            };
            let key = key.trim();
            let Some(known) = KEYS.iter().find(|known| **known == key) else {
                return Err(SpecError::UnknownKey {
                    key: key.to_owned(),
                });
            };
            if options.insert(*known, value.trim()).is_some() {
                return Err(SpecError::Twice(known));
            }
        }
        Ok(Options(options))
    }

    /// The value of a key, parsed by `of`; an error with an example if it cannot be parsed.
    fn get<T>(
        &self,
        key: &'static str,
        example: &'static str,
        of: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, SpecError> {
        let Some(value) = self.0.get(key) else {
            return Ok(None);
        };
        let wrong = || SpecError::Value {
            key,
            value: (*value).to_owned(),
            example,
        };
        of(value).map(Some).ok_or_else(wrong)
    }
}

pub(super) fn model(text: &str) -> Result<ModelSpec, SpecError> {
    let options = Options::read(text)?;
    let array = match options.0.get("model") {
        Some(name) => {
            if let Some(key) = OF_THROTTLE.iter().find(|key| options.0.contains_key(*key)) {
                return Err(SpecError::Mixed(key));
            }
            modelled(name, &options)?
        }
        None => {
            let belongs = |key: &&&str| !OF_THROTTLE.contains(*key) && **key != "sync";
            if let Some(key) = KEYS
                .iter()
                .filter(belongs)
                .find(|key| options.0.contains_key(*key))
            {
                return Err(SpecError::NeedsModel(key));
            }
            throttled(&options)?
        }
    };
    let mut model = ModelSpec::new(array);
    model.text = text.to_owned();
    let sectors = |bytes: &u64| bytes.is_multiple_of(512);
    if let Some(offset) = options.get(
        "offset",
        "offset=63s or offset=1M, a multiple of 512 bytes",
        |v| size(v).filter(sectors),
    )? {
        model.partition_offset = offset;
    }
    let unit = |bytes: &u64| bytes.is_power_of_two() && (512..=2 << 20).contains(bytes);
    if let Some(unit) = options.get("unit", "unit=64K, a power of two from 512 to 2M", |v| {
        size(v).filter(unit)
    })? {
        model.unit_bytes = unit;
    }
    if let Some(seed) = options.get("seed", "seed=7", |v| v.parse().ok())? {
        model.seed = seed;
    }
    let capacity = model.array.capacity_bytes();
    if model.partition_offset >= capacity {
        return Err(SpecError::OffsetPastEnd {
            offset: model.partition_offset,
            capacity,
        });
    }
    Ok(model)
}

/// `raid10:4x15k`, `4x15k` or `15k`.
fn drives(name: &str) -> Result<(Level, u32, Profile), SpecError> {
    let wrong = || SpecError::Value {
        key: "model",
        value: name.to_owned(),
        example: "model=raid10:4x15k (raid0, raid1, raid5, raid6 or raid10), or one drive as model=15k",
    };
    let (level, drives) = match name.split_once(':') {
        Some((level, drives)) => (Level::named(level).ok_or_else(wrong)?, drives),
        None => (Level::Raid0, name),
    };
    let (count, drive) = match drives.split_once('x') {
        Some((count, drive)) => (count.parse().map_err(|_| wrong())?, drive),
        None => (1, drives),
    };
    let profile = Profile::named(drive).ok_or_else(|| SpecError::UnknownDrive {
        name: drive.to_owned(),
    })?;
    Ok((level, count, profile))
}

fn modelled(name: &str, options: &Options<'_>) -> Result<ArraySpec, SpecError> {
    let (level, count, profile) = drives(name)?;
    let stripe = options.get("stripe", "stripe=64K", size)?;
    let raid = Raid::new(level, count, stripe.unwrap_or(DEFAULT_STRIPE))?;
    let mut array = ArraySpec::new(raid, profile);
    let cache = options.get(
        "cache",
        "cache=write-through or cache=write-back:256M",
        |value| match value.split_once(':') {
            None if value == "write-through" => Some(WriteCache::Through),
            Some(("write-back", bytes)) => size(bytes)
                .filter(|bytes| *bytes >= 1 << 20)
                .map(|bytes| WriteCache::Back { bytes }),
            _ => None,
        },
    )?;
    array.controller.write_cache = cache.unwrap_or_default();
    let read_cache = options.get("read-cache", "read-cache=512M", size)?;
    array.controller.read_cache_bytes = read_cache.unwrap_or(0);
    let queue = options.get("queue", "queue=fifo or queue=sstf:32", |value| match value
        .split_once(':')
    {
        None if value == "fifo" => Some(Scheduler::Fifo),
        None if value == "sstf" => Some(Scheduler::default()),
        Some(("sstf", window)) => {
            let window = window.parse().ok().filter(|w| (1..=1024).contains(w))?;
            Some(Scheduler::Sstf { window })
        }
        _ => None,
    })?;
    array.scheduler = queue.unwrap_or_default();
    let mirror = options.get(
        "mirror",
        "mirror=shorter, mirror=nearest or mirror=turns",
        |value| {
            Some(match value {
                "shorter" => MirrorRead::ShorterQueue,
                "nearest" => MirrorRead::NearestArm,
                "turns" => MirrorRead::RoundRobin,
                _ => return None,
            })
        },
    )?;
    array.mirror_read = mirror.unwrap_or_default();
    let two = |paths: &u32| (1..=2).contains(paths);
    let paths = options.get("paths", "paths=1 or paths=2", |v| {
        v.parse().ok().filter(two)
    })?;
    array.controller.paths = paths.unwrap_or(1);
    array.controller.path_rate = options.get("path", "path=112MB/s", rate)?;
    let overhead = options.get("overhead", "overhead=50us", duration_ns)?;
    array.controller.overhead_ns = overhead.unwrap_or(0);
    let sync = options.get("sync", "sync=1ms", duration_ns)?;
    array.controller.sync_ns = sync.unwrap_or(0);
    array.controller.durable_syncs = sync.is_some();
    Ok(array)
}

fn throttled(options: &Options<'_>) -> Result<ArraySpec, SpecError> {
    let latency = options.get("latency", "latency=2ms", duration_ns)?;
    let above_0 = |iops: &u64| *iops > 0;
    let iops = |v: &str| v.parse().ok().filter(above_0);
    let profile = CapProfile {
        capacity_bytes: UNLIMITED,
        latency_ns: latency.unwrap_or(0),
        iops: options.get("iops", "iops=5000", iops)?,
        operation_bytes: u64::MAX,
        read_rate: options.get("read", "read=100MB/s", rate)?,
        write_rate: options.get("write", "write=100MB/s", rate)?,
        total_rate: None,
        burst: None,
    };
    let raid = Raid::new(Level::Raid0, 1, 16 << 20)?;
    let mut array = ArraySpec::new(raid, Profile::Capped(profile));
    let sync = options.get("sync", "sync=1ms", duration_ns)?;
    array.controller.sync_ns = sync.or(latency).unwrap_or(0);
    array.controller.durable_syncs = sync.is_some();
    Ok(array)
}
