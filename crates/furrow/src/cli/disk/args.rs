//! What may be typed behind `furrow disk`.

use clap::{Args, Subcommand};
use furrow_disks::spec::{duration_ns, size};
use std::path::PathBuf;

/// Options of `disk`.
#[derive(Debug, Args)]
pub(crate) struct DiskArguments {
    #[command(subcommand)]
    pub(crate) command: DiskCommand,
}

/// Commands of `disk`.
#[derive(Debug, Subcommand)]
pub(crate) enum DiskCommand {
    /// Stripe unit, partition offset and allocation unit on a modelled array, in virtual time
    Model(Box<ModelArguments>),
    /// The published gain of partition alignment against the model, over all plausible arrays
    Published(PublishedArguments),
    /// Measures a real file, directory or block device by direct I/O
    Measure(Box<MeasureArguments>),
    /// Shows whether the partitions under these paths fit pages, extents and the device
    Facts(FactsArguments),
}

/// Options of `disk model`.
#[derive(Debug, Args)]
pub(crate) struct ModelArguments {
    /// Array: LEVEL:NxDRIVE with options behind commas [default: raid10:6x15k]; several make a factor
    #[arg(long = "array", value_name = "SPEC")]
    pub(crate) arrays: Vec<String>,
    /// Stripe units [default: 8K,64K,128K]
    #[arg(long, value_delimiter = ',', value_parser = bytes, value_name = "SIZE,...")]
    pub(crate) stripe: Option<Vec<u64>>,
    /// Partition offsets; 63s is sector 63 [default: 63s,64K]
    #[arg(long, value_delimiter = ',', value_parser = bytes, value_name = "SIZE,...")]
    pub(crate) offset: Option<Vec<u64>>,
    /// Allocation units [default: 4K,8K,64K]
    #[arg(long, value_delimiter = ',', value_parser = bytes, value_name = "SIZE,...")]
    pub(crate) unit: Option<Vec<u64>>,
    /// Shares of reads, percent [default: 100,80,0]
    #[arg(long, value_delimiter = ',', value_name = "PERCENT,...",
        value_parser = clap::value_parser!(u32).range(0..=100))]
    pub(crate) reads: Option<Vec<u32>>,
    /// Requests under way [default: 64]
    #[arg(long, value_delimiter = ',', value_name = "N,...",
        value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) depth: Option<Vec<u32>>,
    /// Sizes of requests [default: 8K]
    #[arg(long, value_delimiter = ',', value_parser = bytes, value_name = "SIZE,...")]
    pub(crate) block: Option<Vec<u64>>,
    /// Requests follow each other instead of being random
    #[arg(long)]
    pub(crate) sequential: bool,
    /// Size of the file [default: the whole partition]
    #[arg(long, value_parser = bytes, value_name = "SIZE")]
    pub(crate) size: Option<u64>,
    /// Measured requests of each combination
    #[arg(long, default_value_t = 100_000, value_name = "N",
        value_parser = clap::value_parser!(u64).range(100..=100_000_000))]
    pub(crate) requests: u64,
    /// Seed of offsets, angles of drives and places of files
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub(crate) seed: u64,
    /// Print the results as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Options of `disk published`.
#[derive(Debug, Args)]
pub(crate) struct PublishedArguments {
    /// Measured requests of each combination
    #[arg(long, default_value_t = 60_000, value_name = "N",
        value_parser = clap::value_parser!(u64).range(100..=100_000_000))]
    pub(crate) requests: u64,
    /// Print the results as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Options of `disk measure`.
#[derive(Debug, Args)]
pub(crate) struct MeasureArguments {
    /// A file or block device, or a directory, in which a file is made for the measurement
    #[arg(value_name = "TARGET")]
    pub(crate) target: PathBuf,
    /// Size of the file that is made in a directory [default: 1G]; of another target, how much is used
    #[arg(long, value_parser = bytes, value_name = "SIZE")]
    pub(crate) size: Option<u64>,
    /// Bytes before the first request, as a partition there would have; 63s is sector 63 [default: 0]
    #[arg(long, value_delimiter = ',', value_parser = bytes, value_name = "SIZE,...")]
    pub(crate) offset: Option<Vec<u64>>,
    /// Shares of reads, percent; less than 100 overwrites the target [default: 100]
    #[arg(long, value_delimiter = ',', value_name = "PERCENT,...",
        value_parser = clap::value_parser!(u32).range(0..=100))]
    pub(crate) reads: Option<Vec<u32>>,
    /// Requests under way [default: 1,32]
    #[arg(long, value_delimiter = ',', value_name = "N,...",
        value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) depth: Option<Vec<u32>>,
    /// Sizes of requests [default: 8K]
    #[arg(long, value_delimiter = ',', value_parser = bytes, value_name = "SIZE,...")]
    pub(crate) block: Option<Vec<u64>>,
    /// Requests follow each other instead of being random
    #[arg(long)]
    pub(crate) sequential: bool,
    /// Time of each measurement
    #[arg(long, default_value = "10s", value_parser = nanoseconds, value_name = "TIME")]
    pub(crate) time: u64,
    /// Time before each measurement
    #[arg(long, default_value = "1s", value_parser = nanoseconds, value_name = "TIME")]
    pub(crate) warm_up: u64,
    /// Allows writes to this existing file or unmounted device; its content is lost
    #[arg(long, value_name = "TARGET")]
    pub(crate) destroy: Option<PathBuf>,
    /// Seed of offsets
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub(crate) seed: u64,
    /// Print the results as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Options of `disk facts`.
#[derive(Debug, Args)]
pub(crate) struct FactsArguments {
    /// Files or directories
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Print the facts as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

fn bytes(text: &str) -> Result<u64, String> {
    size(text).ok_or_else(|| "write a size such as 64K, 1M or 63s".to_owned())
}

fn nanoseconds(text: &str) -> Result<u64, String> {
    duration_ns(text).ok_or_else(|| "write a time such as 10s or 500ms".to_owned())
}
