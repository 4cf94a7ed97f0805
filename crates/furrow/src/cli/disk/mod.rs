//! `furrow disk`: raw requests on modelled arrays and on real targets; alignment of volumes.
//!
//! Every result of a model says so: in its first line, in each row, and in JSON as `"modelled": true`.

mod args;
mod measure;
mod model;
mod table;

pub(crate) use args::DiskArguments;

use super::{Failure, REFUSED, print};
use args::{DiskCommand, FactsArguments};
use furrow_io::alignment::{Alignment, alignment_of};
use furrow_io::{IoErrorKind, SystemVolume, Volume};
use serde_json::{Value, json};
use std::path::Path;

/// The version of the JSON forms.
const JSON_VERSION: u32 = 1;

/// Runs a command of `disk`.
pub(super) fn run(options: &DiskArguments) -> Result<u8, Failure> {
    match &options.command {
        DiskCommand::Model(options) => model::run(options),
        DiskCommand::Published(options) => model::published(options),
        DiskCommand::Measure(options) => measure::run(options),
        DiskCommand::Facts(options) => facts(options),
    }
}

fn print_json(value: &Value) -> Result<u8, Failure> {
    print(&format!("{value:#}\n"))?;
    Ok(0)
}

fn facts(options: &FactsArguments) -> Result<u8, Failure> {
    for path in &options.paths {
        let exists = SystemVolume::new().exists(path);
        let reason = match exists {
            Ok(true) => continue,
            Ok(false) => IoErrorKind::NotFound,
            Err(e) => e.kind,
        };
        let text = format!("there are no facts about {}: {reason}", path.display());
        return Err(Failure::new(REFUSED, text));
    }
    let found: Vec<(&Path, Option<Alignment>)> = options
        .paths
        .iter()
        .map(|path| (path.as_path(), alignment_of(path)))
        .collect();
    if options.json {
        let each = found
            .iter()
            .map(|(path, found)| facts_json(path, found.as_ref()));
        return print_json(&json!({
            "version": JSON_VERSION,
            "volumes": each.collect::<Vec<_>>(),
        }));
    }
    let mut text = String::new();
    for (path, found) in found {
        text.push_str(&facts_lines(path, found.as_ref()));
    }
    print(&text)?;
    Ok(0)
}

/// The facts about the volume of a path, with warnings.
fn facts_lines(path: &Path, found: Option<&Alignment>) -> String {
    let mut text = match found {
        Some(found) => format!("{}: {found}\n", path.display()),
        None => format!("{}: where it is mounted is unknown\n", path.display()),
    };
    for warning in found.map(Alignment::warnings).unwrap_or_default() {
        text.push_str(&format!("  warning: {warning}\n"));
    }
    text
}

fn facts_json(path: &Path, found: Option<&Alignment>) -> Value {
    json!({
        "path": path.display().to_string(),
        "device": found.and_then(|found| found.device.clone()),
        "description": found.map(ToString::to_string),
        "partition_start_bytes": found.and_then(Alignment::start_bytes),
        "logical_block_bytes": found.and_then(|found| found.logical_block_bytes),
        "physical_block_bytes": found.and_then(|found| found.physical_block_bytes),
        "minimum_io_bytes": found.and_then(|found| found.minimum_io_bytes),
        "optimal_io_bytes": found.and_then(|found| found.optimal_io_bytes),
        "warnings": found.map(Alignment::warnings).unwrap_or_default(),
    })
}
