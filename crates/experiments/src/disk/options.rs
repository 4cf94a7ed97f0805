//! What may be chosen, and the factors that follow from it.

use crate::plugin::Start;
use clap::{Args, ValueEnum};
use furrow_disks::load::Pattern;
use furrow_disks::spec::size;
use furrow_io::raw::RawAccess;
use furrow_lab::design::{Cell, Factor, Level};
use furrow_lab::experiment::OptionsError;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Where requests go.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    /// A modelled array, in virtual time.
    #[default]
    Model,
    /// A real file, by direct I/O at any offset.
    FileOffset,
}

/// What may be typed.
#[derive(Debug, Clone, Args)]
pub struct Typed {
    /// Where requests go
    #[arg(long, value_enum, default_value = "model")]
    mode: Mode,
    /// Modelled array: LEVEL:NxDRIVE with options behind commas [default: raid10:6x15k]
    #[arg(long, value_name = "SPEC")]
    array: Option<String>,
    /// Stripe units of the model [default: 8K,64K,128K; with --quick 64K,128K]
    #[arg(long, value_delimiter = ',', value_name = "SIZE,...")]
    stripe: Option<Vec<String>>,
    /// Partition offsets; 63s is sector 63; everything is compared with the first [default: 63s,64K]
    #[arg(long, value_delimiter = ',', value_name = "SIZE,...")]
    offset: Option<Vec<String>>,
    /// Allocation units of the model [default: 4K,8K,64K; with --quick 64K]
    #[arg(long, value_delimiter = ',', value_name = "SIZE,...")]
    unit: Option<Vec<String>>,
    /// Shares of reads, percent [default: 100,80,0]
    #[arg(long, value_delimiter = ',', value_name = "PERCENT,...",
        value_parser = clap::value_parser!(u64).range(0..=100))]
    reads: Option<Vec<u64>>,
    /// Requests under way [default: 64]
    #[arg(long, value_delimiter = ',', value_name = "N,...",
        value_parser = clap::value_parser!(u64).range(1..=1024))]
    depth: Option<Vec<u64>>,
    /// Size of a request [default: 8K]
    #[arg(long, value_name = "SIZE")]
    block: Option<String>,
    /// Requests follow each other instead of being random
    #[arg(long)]
    sequential: bool,
    /// Modelled requests of a run [default: 100000, with --quick 40000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(100..=100_000_000))]
    requests: Option<u64>,
    /// Directory for the real file [default: in --out]
    #[arg(long, value_name = "DIR")]
    volume: Option<PathBuf>,
    /// An existing file or unmounted block device to measure instead; it is only read [default: a new file]
    #[arg(long, value_name = "PATH")]
    device: Option<PathBuf>,
    /// Allows writes to --device, whose content is lost; names it again
    #[arg(long, value_name = "PATH")]
    destroy: Option<PathBuf>,
    /// Size of the real file [default: 1G, with --quick 256M]
    #[arg(long, value_name = "SIZE")]
    size: Option<String>,
    /// Seconds of a run on the real file [default: 10, with --quick 2]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=3600))]
    time: Option<u64>,
}

/// What was chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Where requests go.
    pub mode: Mode,
    /// The modelled array.
    pub array: String,
    /// Stripe units, as typed.
    pub stripes: Vec<String>,
    /// Partition offsets, as typed.
    pub offsets: Vec<String>,
    /// Allocation units, as typed.
    pub units: Vec<String>,
    /// Shares of reads.
    pub reads: Vec<u64>,
    /// Requests under way.
    pub depths: Vec<u64>,
    /// Size of a request.
    pub block_bytes: u64,
    /// Order of offsets.
    pub pattern: Pattern,
    /// Modelled requests of a run.
    pub requests: u64,
    /// Directory of the real file.
    pub volume: Option<PathBuf>,
    /// An existing file or device, and whether it may be written.
    pub device: Option<(PathBuf, RawAccess)>,
    /// Size of the real file.
    pub file_bytes: u64,
    /// Seconds of a run on the real file.
    pub seconds: u64,
}

fn words(given: Option<Vec<String>>, usual: &[&str]) -> Vec<String> {
    given.unwrap_or_else(|| usual.iter().map(|word| (*word).to_owned()).collect())
}

fn bytes(option: &str, text: &str) -> Result<u64, OptionsError> {
    size(text).ok_or_else(|| {
        OptionsError(format!(
            "{option} {text} is no size; write it as 64K, 1M or 63s"
        ))
    })
}

/// The target that exists already, and how it may be used.
fn device(typed: &Typed, start: &Start) -> Result<Option<(PathBuf, RawAccess)>, OptionsError> {
    let refuse = |text: String| Err(OptionsError(text));
    let Some(device) = typed.device.as_ref().map(|path| start.path(path)) else {
        return match &typed.destroy {
            Some(named) => refuse(format!(
                "--destroy {} needs --device, which names the same",
                named.display()
            )),
            None => Ok(None),
        };
    };
    if typed.mode == Mode::Model || typed.volume.is_some() || typed.size.is_some() {
        return refuse(
            "--device belongs to --mode file-offset, and stands instead of --volume and --size"
                .to_owned(),
        );
    }
    let Ok(real) = device.canonicalize() else {
        return refuse(format!("--device {} is not there", device.display()));
    };
    match &typed.destroy {
        None => Ok(Some((device, RawAccess::ReadOnly))),
        Some(named)
            if start
                .path(named)
                .canonicalize()
                .is_ok_and(|named| named == real) =>
        {
            Ok(Some((device, RawAccess::Destroy)))
        }
        Some(named) => refuse(format!(
            "--destroy names {}, and --device {}; name the same one twice",
            named.display(),
            device.display()
        )),
    }
}

impl Options {
    /// What was typed, with defaults for the rest.
    pub fn of(typed: Typed, start: &Start) -> Result<Options, OptionsError> {
        let quick = start.is_quick;
        let model = typed.mode == Mode::Model;
        if !model && (typed.array.is_some() || typed.stripe.is_some() || typed.unit.is_some()) {
            return Err(OptionsError(
                "--array, --stripe and --unit belong to the model; a real file has those of its volume"
                    .to_owned(),
            ));
        }
        let (stripes, units): (&[&str], &[&str]) = match (model, quick) {
            (false, _) => (&["-"], &["-"]),
            (true, true) => (&["64K", "128K"], &["64K"]),
            (true, false) => (&["8K", "64K", "128K"], &["4K", "8K", "64K"]),
        };
        let device = device(&typed, start)?;
        let is_only_read = matches!(device, Some((_, RawAccess::ReadOnly)));
        let reads: &[u64] = match (model, is_only_read) {
            (true, _) => &[100, 80, 0],
            (false, true) => &[100],
            (false, false) => &[100, 0],
        };
        let options = Options {
            mode: typed.mode,
            array: typed.array.unwrap_or_else(|| "raid10:6x15k".to_owned()),
            stripes: words(typed.stripe, stripes),
            offsets: words(typed.offset, &["63s", "64K"]),
            units: words(typed.unit, units),
            reads: typed.reads.unwrap_or_else(|| reads.to_vec()),
            depths: typed
                .depth
                .unwrap_or_else(|| vec![if model { 64 } else { 8 }]),
            block_bytes: bytes("--block", typed.block.as_deref().unwrap_or("8K"))?,
            pattern: if typed.sequential {
                Pattern::Sequential
            } else {
                Pattern::Random
            },
            requests: typed
                .requests
                .unwrap_or(if quick { 40_000 } else { 100_000 }),
            volume: typed.volume.map(|dir| start.path(&dir)),
            device,
            file_bytes: bytes(
                "--size",
                typed
                    .size
                    .as_deref()
                    .unwrap_or(if quick { "256M" } else { "1G" }),
            )?,
            seconds: typed.time.unwrap_or(if quick { 2 } else { 10 }),
        };
        options.check()?;
        Ok(options)
    }

    fn check(&self) -> Result<(), OptionsError> {
        if let Some(volume) = self.volume.as_ref().filter(|volume| !volume.is_dir()) {
            return Err(OptionsError(format!(
                "--volume {} is not a directory that is there; make it first",
                volume.display()
            )));
        }
        if let Some((path, RawAccess::ReadOnly)) = &self.device
            && self.reads.iter().any(|&percent| percent < 100)
        {
            return Err(OptionsError(format!(
                "writes would overwrite {}; if its content may be lost, add --destroy {0}; else leave \
                 --reads at 100",
                path.display()
            )));
        }
        for (option, texts) in [("--stripe", &self.stripes), ("--unit", &self.units)] {
            if self.mode == Mode::Model {
                texts
                    .iter()
                    .try_for_each(|text| bytes(option, text).map(drop))?;
            }
        }
        for offset in &self.offsets {
            if !bytes("--offset", offset)?.is_multiple_of(512) {
                return Err(OptionsError(format!(
                    "--offset {offset} is no multiple of a sector of 512 bytes"
                )));
            }
        }
        Ok(())
    }

    /// The factors; the offset is the last, so that what is compared stands together.
    pub fn factors(&self) -> Vec<Factor> {
        let sizes = |name: &str, texts: &[String]| Factor {
            name: name.to_owned(),
            levels: texts
                .iter()
                .map(|text| Level {
                    key: text.clone(),
                    value: size(text).map(|bytes| bytes as f64),
                })
                .collect(),
            is_concurrency: false,
            is_load: false,
        };
        vec![
            Factor::counts("reads", &self.reads),
            Factor::counts("depth", &self.depths),
            sizes("stripe", &self.stripes),
            sizes("unit", &self.units),
            sizes("offset", &self.offsets),
        ]
    }

    /// What is the same in every run.
    pub fn settings(&self) -> BTreeMap<String, String> {
        let mut settings = BTreeMap::new();
        let mut set = |name: &str, value: String| settings.insert(name.to_owned(), value);
        set("block bytes", self.block_bytes.to_string());
        let pattern = match self.pattern {
            Pattern::Random => "random",
            Pattern::Sequential => "sequential",
        };
        set("pattern", pattern.to_owned());
        match self.mode {
            Mode::Model => {
                set("mode", "model".to_owned());
                set("array", self.array.clone());
                set("requests of a run", self.requests.to_string());
            }
            Mode::FileOffset => {
                set("mode", "file-offset".to_owned());
                match &self.device {
                    None => set("file bytes", self.file_bytes.to_string()),
                    Some((path, access)) => {
                        let words = match access {
                            RawAccess::ReadOnly => "only read",
                            RawAccess::Destroy => "its content is overwritten",
                        };
                        set("device", format!("{}, {words}", path.display()))
                    }
                };
                set("seconds of a run", self.seconds.to_string());
                if let Some(volume) = &self.volume {
                    set("volume", volume.display().to_string());
                }
            }
        }
        settings
    }

    /// The level of a factor in bytes, or as the number it is.
    pub fn number(cell: &Cell, factor: &str) -> u64 {
        cell.count(factor).unwrap_or(0)
    }
}
