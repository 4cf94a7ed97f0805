//! What may be chosen for a backup or a restore: stripes, where they go, codec, buffers.

use crate::drives::{Place, Places, StripePlace};
use crate::plugin::Start;
use crate::workloads::prepared::{Contents, literal};
use clap::{Args, ValueEnum};
use furrow_backup::media::Codec;
use furrow_lab::design::{Cell, Factor};
use furrow_lab::experiment::OptionsError;
use furrow_lab::size::{parse_size, size_text};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

const MIB: u64 = 1 << 20;
const USUAL_BYTES: u64 = 1024 * MIB;
const QUICK_BYTES: u64 = 64 * MIB;

/// Where stripes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Devices {
    /// All to the first backup volume.
    One,
    /// In turn to all backup volumes.
    Several,
    /// To the device that discards what is written.
    Nul,
}

impl Devices {
    /// Its name as a level.
    pub fn word(self) -> &'static str {
        match self {
            Devices::One => "one",
            Devices::Several => "several",
            Devices::Nul => "nul",
        }
    }

    fn parse(word: &str) -> Option<Devices> {
        let all = [Devices::One, Devices::Several, Devices::Nul];
        all.into_iter().find(|devices| devices.word() == word)
    }
}

/// A codec by its name: `none`, `lz4`, `zstd3`.
fn codec(text: &str) -> Result<(String, Codec), String> {
    let found = match text {
        "none" => Some(Codec::None),
        "lz4" => Some(Codec::Lz4),
        _ => {
            let level = text
                .strip_prefix("zstd")
                .and_then(|level| level.parse().ok());
            level
                .filter(|level| (1..=19).contains(level))
                .map(Codec::Zstd)
        }
    };
    let found = found.ok_or_else(|| "write none, lz4, or zstd1 to zstd19".to_owned())?;
    Ok((text.to_owned(), found))
}

fn throttle(text: &str) -> Result<Throttle, OptionsError> {
    if text == AUTO {
        return Ok(Throttle::Auto);
    }
    let wrong = |_| {
        OptionsError(format!(
            "{text} is neither auto nor a number of megabytes a second"
        ))
    };
    text.parse().map(Throttle::MbPerS).map_err(wrong)
}

fn size(text: &str) -> Result<u64, OptionsError> {
    parse_size(text)
}

const AUTO: &str = "auto";

/// How a backup is paced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Throttle {
    /// Beside writers by the engine.
    Auto,
    /// THROTTLE; 0 is no limit.
    MbPerS(u32),
}

impl fmt::Display for Throttle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Throttle::Auto => f.write_str(AUTO),
            Throttle::MbPerS(rate) => write!(f, "{rate}"),
        }
    }
}

/// What may be typed.
#[derive(Debug, Clone, Args)]
pub struct Typed {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    stripes_at: StripePlace,
    /// Levels: numbers of backup files; everything is compared with the first [default: 1,2,4,8]
    #[arg(long, value_delimiter = ',', value_name = "N,...",
        value_parser = clap::value_parser!(u64).range(1..=64))]
    stripes: Option<Vec<u64>>,
    /// Where backup files go [default: one, several where there are several backup volumes, and nul; a
    /// restore has no nul]
    #[arg(long, value_enum, value_delimiter = ',', value_name = "WORD,...")]
    targets: Option<Vec<Devices>>,
    /// Numbers of data files; several make a further factor [default: 1]
    #[arg(long, value_delimiter = ',', value_name = "N,...",
        value_parser = clap::value_parser!(u64).range(1..=128))]
    files: Option<Vec<u64>>,
    /// Codecs: none, lz4, zstd1 to zstd19; several make a further factor [default: lz4]
    #[arg(long, value_delimiter = ',', value_parser = codec, value_name = "WORD,...")]
    codec: Option<Vec<(String, Codec)>>,
    /// BUFFERCOUNT; several make a further factor; 0 leaves it to the engine [default: 0]
    #[arg(long, value_delimiter = ',', value_name = "N,...")]
    buffercount: Option<Vec<u64>>,
    /// MAXTRANSFERSIZE, such as 64KB,1MB,4MB; several make a further factor [default: 1MB]
    #[arg(long, value_delimiter = ',', value_parser = size, value_name = "SIZE,...")]
    maxtransfersize: Option<Vec<u64>>,
    /// THROTTLE: auto spares users' commits, 0 is no limit, 200 is 200 MB/s [default: auto]
    #[arg(long, value_parser = throttle, value_name = "N")]
    throttle: Option<Throttle>,
    /// Size of the table that is backed up [default: 1GB, with --quick 64MB]
    #[arg(long, value_parser = size, value_name = "SIZE")]
    total: Option<u64>,
    /// Buffer pool [default: a quarter of --total]
    #[arg(long, value_parser = size, value_name = "SIZE")]
    pool: Option<u64>,
    /// Users that change rows meanwhile; their commits a second and latency are reported [default: 0]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=256))]
    users: Option<u32>,
}

/// What was chosen.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Volumes of the database.
    pub places: Places,
    /// Volumes of the stripes; empty where none was named.
    pub stripe_places: Places,
    /// Numbers of stripes.
    pub stripes: Vec<u64>,
    /// Where they go.
    pub devices: Vec<Devices>,
    /// Numbers of data files.
    pub files: Vec<u64>,
    /// Codecs by name.
    pub codecs: Vec<(String, Codec)>,
    /// BUFFERCOUNT; 0 for the engine's own.
    pub buffers: Vec<u64>,
    /// MAXTRANSFERSIZE.
    pub transfers: Vec<u64>,
    /// How backups are paced.
    pub throttle: Throttle,
    /// Bytes of the table.
    pub total_bytes: u64,
    /// The buffer pool.
    pub pool_bytes: u64,
    /// Users beside it.
    pub users: u32,
}

/// One setting of a backup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// Stripes.
    pub stripes: u64,
    /// Where they go.
    pub devices: Devices,
    /// Data files.
    pub files: u64,
    /// Codec.
    pub codec: Codec,
    /// BUFFERCOUNT; 0 for the engine's own.
    pub buffers: u64,
    /// MAXTRANSFERSIZE.
    pub transfer: u64,
    /// How it is paced.
    pub throttle: Throttle,
}

impl Options {
    /// What was typed, with defaults for the rest.
    pub fn of(typed: Typed, start: &Start, may_discard: bool) -> Result<Options, OptionsError> {
        let usual = if start.is_quick {
            QUICK_BYTES
        } else {
            USUAL_BYTES
        };
        let total_bytes = typed.total.unwrap_or(usual);
        let stripe_places = typed.stripes_at.resolve(start)?;
        let mut devices = vec![Devices::One];
        if stripe_places.volumes.len() > 1 {
            devices.push(Devices::Several);
        }
        if may_discard {
            devices.push(Devices::Nul);
        }
        let pool = typed.pool.unwrap_or(total_bytes / 4).max(8 * MIB);
        let options = Options {
            places: typed.place.resolve(start)?,
            stripe_places,
            stripes: typed.stripes.unwrap_or_else(|| vec![1, 2, 4, 8]),
            devices: typed.targets.unwrap_or(devices),
            files: typed.files.unwrap_or_else(|| vec![1]),
            codecs: typed
                .codec
                .unwrap_or_else(|| vec![("lz4".to_owned(), Codec::Lz4)]),
            buffers: typed.buffercount.unwrap_or_else(|| vec![0]),
            transfers: typed.maxtransfersize.unwrap_or_else(|| vec![MIB]),
            throttle: typed.throttle.unwrap_or(Throttle::Auto),
            total_bytes,
            pool_bytes: pool.div_ceil(8 << 10) * (8 << 10),
            users: typed.users.unwrap_or(0),
        };
        options.check(may_discard)?;
        Ok(options)
    }

    fn check(&self, may_discard: bool) -> Result<(), OptionsError> {
        let refuse = |text: &str| Err(OptionsError(text.to_owned()));
        let cells: usize = self
            .factors()
            .iter()
            .map(|factor| factor.levels.len())
            .product();
        if cells < 2 {
            return refuse(
                "one level has nothing to be compared with; give several, such as --stripes 1,4",
            );
        }
        if self.devices.contains(&Devices::Several) && self.stripe_places.volumes.len() < 2 {
            return refuse("--targets several needs --backup-volume twice or more");
        }
        if self.devices.contains(&Devices::Nul) && !may_discard {
            return refuse("--targets nul has nothing to restore from; leave it out");
        }
        if !(MIB..=1 << 40).contains(&self.total_bytes) {
            return refuse("--total must be from 1MB to 1TB");
        }
        let fits =
            |bytes: &u64| bytes.is_multiple_of(64 << 10) && (64 << 10..=4 * MIB).contains(bytes);
        if !self.transfers.iter().all(fits) {
            return refuse("--maxtransfersize takes multiples of 64KB up to 4MB");
        }
        Ok(())
    }

    /// What the database holds.
    pub(crate) fn contents(&self) -> Contents {
        Contents {
            bytes: self.total_bytes,
            has_indexes: false,
        }
    }

    /// What is varied.
    pub fn factors(&self) -> Vec<Factor> {
        let mut factors = vec![Factor::counts("stripes", &self.stripes)];
        let words: Vec<&str> = self.devices.iter().map(|devices| devices.word()).collect();
        let codecs: Vec<&str> = self.codecs.iter().map(|(name, _)| name.as_str()).collect();
        let several = [
            Factor::words("target", &words),
            Factor::counts("files", &self.files),
            Factor::words("codec", &codecs),
            Factor::counts("buffercount", &self.buffers),
            Factor::counts("maxtransfersize", &self.transfers),
        ];
        factors.extend(several.into_iter().filter(|factor| factor.levels.len() > 1));
        factors
    }

    /// The setting of a cell.
    pub(crate) fn of_cell(&self, cell: &Cell) -> Setting {
        let number = |name: &str, levels: &[u64]| {
            let first = levels.first().copied().unwrap_or(0);
            cell.count(name).unwrap_or(first)
        };
        let word = |name: &str| cell.level(name).map(|level| level.key.clone());
        let devices = word("target").and_then(|word| Devices::parse(&word));
        let codec = word("codec").and_then(|word| codec(&word).ok());
        let usual = self.codecs.first().map_or(Codec::None, |(_, codec)| *codec);
        Setting {
            stripes: number("stripes", &self.stripes),
            devices: devices
                .or(self.devices.first().copied())
                .unwrap_or(Devices::One),
            files: number("files", &self.files),
            codec: codec.map_or(usual, |(_, codec)| codec),
            buffers: number("buffercount", &self.buffers),
            transfer: number("maxtransfersize", &self.transfers),
            throttle: self.throttle,
        }
    }

    /// Directories of stripes.
    pub(crate) fn stripe_volumes(&self, devices: Devices, out_dir: &Path) -> Vec<PathBuf> {
        let mut volumes = self.stripe_places.data(out_dir);
        match devices {
            Devices::Nul => volumes.clear(),
            Devices::One => volumes.truncate(1),
            Devices::Several => {}
        }
        volumes
    }

    /// All directories, each once.
    pub fn volumes(&self, out_dir: &Path) -> Vec<PathBuf> {
        let mut all = self.places.all(out_dir);
        for volume in self.stripe_places.data(out_dir) {
            if !all.contains(&volume) {
                all.push(volume);
            }
        }
        all
    }

    /// What is the same in every run.
    pub fn settings(&self) -> BTreeMap<String, String> {
        let mut settings = BTreeMap::from([
            ("table".to_owned(), size_text(self.total_bytes)),
            ("pool".to_owned(), size_text(self.pool_bytes)),
            ("users".to_owned(), self.users.to_string()),
        ]);
        let codecs: Vec<&str> = self.codecs.iter().map(|(name, _)| name.as_str()).collect();
        settings.insert("codec".to_owned(), codecs.join(","));
        let list = |values: &[u64]| {
            values
                .iter()
                .map(u64::to_string)
                .collect::<Vec<_>>()
                .join(",")
        };
        settings.insert("data files".to_owned(), list(&self.files));
        settings.insert("buffercount".to_owned(), list(&self.buffers));
        settings.insert("maxtransfersize".to_owned(), list(&self.transfers));
        settings.insert("throttle".to_owned(), self.throttle.to_string());
        self.places.record(&mut settings);
        let mut stripes = BTreeMap::new();
        self.stripe_places.record(&mut stripes);
        let named = stripes
            .into_iter()
            .map(|(name, value)| (format!("backup {name}"), value));
        settings.extend(named);
        settings
    }
}

impl Setting {
    /// DISK = ..., for each stripe.
    pub(crate) fn devices_text(&self, stripes: &[PathBuf]) -> String {
        let device = |path: &PathBuf| format!("DISK = {}", literal(path));
        let devices: Vec<String> = match self.devices {
            Devices::Nul => (0..self.stripes)
                .map(|_| "DISK = N'NUL'".to_owned())
                .collect(),
            _ => stripes.iter().map(device).collect(),
        };
        devices.join(", ")
    }

    /// The BACKUP statement; `name` is the database in brackets.
    pub fn statement(&self, name: &str, stripes: &[PathBuf]) -> String {
        let compression = match self.codec {
            Codec::None => "NO_COMPRESSION".to_owned(),
            Codec::Lz4 => "COMPRESSION (ALGORITHM = LZ4)".to_owned(),
            Codec::Zstd(level) => format!("COMPRESSION (ALGORITHM = ZSTD, LEVEL = {level})"),
        };
        let buffers = match self.buffers {
            0 => String::new(),
            count => format!(", BUFFERCOUNT = {count}"),
        };
        let throttle = match self.throttle {
            Throttle::Auto => String::new(),
            Throttle::MbPerS(rate) => format!(", THROTTLE = {rate}"),
        };
        format!(
            "BACKUP DATABASE {name} TO {} WITH FORMAT, COPY_ONLY, CHECKSUM, {compression}{buffers}, \
             MAXTRANSFERSIZE = {}{throttle};",
            self.devices_text(stripes),
            self.transfer
        )
    }

    /// Files of the stripes, dealt to the directories in turn.
    pub fn paths(&self, directories: &[PathBuf]) -> Vec<PathBuf> {
        let path = |n: u64| {
            let directory = directories.get(n as usize % directories.len().max(1))?;
            Some(directory.join(format!("stripe{}.bak", n + 1)))
        };
        (0..self.stripes).filter_map(path).collect()
    }
}
