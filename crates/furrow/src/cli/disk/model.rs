//! `furrow disk model` and `furrow disk published`.

use super::super::interrupt;
use super::super::{FAILED, Failure, INTERRUPTED, USAGE, print};
use super::args::{ModelArguments, PublishedArguments};
use super::table::{lines, ms, size};
use super::{JSON_VERSION, print_json};
use furrow_disks::grid::{CellResult, Grid, GridError};
use furrow_disks::load::{LoadError, Pattern};
use furrow_disks::published::{ModelledGain, PUBLISHED, PUBLISHED_RAID_5, PublishedGain, range};
use furrow_disks::raid::Level;
use serde_json::json;
use std::io::IsTerminal;

/// The first line of every table of a model.
const LABEL: &str = "MODEL, not a measurement: modelled drives in virtual time.";

fn grid(options: &ModelArguments) -> Grid {
    let usual = Grid::default();
    let arrays = if options.arrays.is_empty() {
        usual.arrays
    } else {
        options.arrays.clone()
    };
    let or = |given: &Option<Vec<u64>>, usual| given.clone().unwrap_or(usual);
    Grid {
        arrays,
        stripes: or(&options.stripe, usual.stripes),
        offsets: or(&options.offset, usual.offsets),
        units: or(&options.unit, usual.units),
        read_percents: options.reads.clone().unwrap_or(usual.read_percents),
        depths: options.depth.clone().unwrap_or(usual.depths),
        blocks: or(&options.block, usual.blocks),
        pattern: if options.sequential {
            Pattern::Sequential
        } else {
            Pattern::Random
        },
        file_bytes: options.size.unwrap_or(0),
        requests: options.requests,
        seed: options.seed,
    }
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "the shape that map_err takes"
)]
fn failure(error: GridError) -> Failure {
    let code = match error {
        GridError::Spec(_) | GridError::Load(LoadError::Load(_) | LoadError::Full(_)) => USAGE,
        GridError::Load(LoadError::Target(_)) => FAILED,
        GridError::Cancelled => INTERRUPTED,
    };
    Failure::new(code, error.to_string())
}

pub(super) fn run(options: &ModelArguments) -> Result<u8, Failure> {
    let grid = grid(options);
    let total = grid.cells().len();
    let cancel = interrupt::flag(interrupt::OF_A_RUN)?;
    let shown = !options.json && std::io::stderr().is_terminal();
    let mut done = 0;
    let results = grid.run(&cancel, |_| {
        done += 1;
        if shown {
            eprint!("\r{done} of {total} combinations");
        }
    });
    if shown {
        eprint!("\r{:40}\r", "");
    }
    let results = results.map_err(failure)?;
    if options.json {
        return print_json(&json!({
            "version": JSON_VERSION,
            "modelled": true,
            "title": LABEL,
            "seed": options.seed,
            "cells": results,
        }));
    }
    let mut text = format!("{LABEL}\n");
    text.push_str(&table(&results));
    text.push_str(&gains(&grid, &results));
    print(&text)?;
    Ok(0)
}

const HEADS: [&str; 14] = [
    "source", "array", "stripe", "offset", "unit", "reads", "depth", "block", "IOPS", "MB/s",
    "mean ms", "p99 ms", "split %", "busy %",
];

fn table(results: &[CellResult]) -> String {
    let row = |result: &CellResult| {
        let (cell, found) = (&result.cell, &result.measurement);
        let figure = |of: Option<f64>| of.map_or_else(String::new, |value| format!("{value:.1}"));
        vec![
            "model".to_owned(),
            cell.array.clone(),
            size(cell.stripe_bytes),
            size(cell.offset_bytes),
            size(cell.unit_bytes),
            format!("{}%", cell.read_percent),
            cell.depth.to_string(),
            size(cell.block_bytes),
            format!("{:.0}", found.iops()),
            format!("{:.2}", found.megabytes_per_second()),
            ms(found.latency.mean_ns),
            ms(found.latency.p99_ns),
            figure(found.model.map(|model| model.split_percent)),
            figure(found.model.map(|model| model.busy_percent)),
        ]
    };
    lines(&HEADS, &results.iter().map(row).collect::<Vec<_>>())
}

/// Compares each later offset with the first one, for cells that are equal otherwise.
fn gains(grid: &Grid, results: &[CellResult]) -> String {
    let offsets = grid.offsets.len();
    if offsets < 2 {
        return String::new();
    }
    let mut rows = Vec::new();
    for group in results.chunks(offsets) {
        let Some((first, others)) = group.split_first() else {
            continue;
        };
        for other in others {
            let (from, to) = (&first.measurement, &other.measurement);
            let latency = to.latency.mean_ns as f64 / from.latency.mean_ns.max(1) as f64 - 1.0;
            rows.push(vec![
                first.cell.array.clone(),
                size(first.cell.stripe_bytes),
                size(first.cell.unit_bytes),
                format!("{}%", first.cell.read_percent),
                first.cell.depth.to_string(),
                size(first.cell.block_bytes),
                format!(
                    "{} -> {}",
                    size(first.cell.offset_bytes),
                    size(other.cell.offset_bytes)
                ),
                format!("{:+.1}%", (to.iops() / from.iops() - 1.0) * 100.0),
                format!("{:+.1}%", latency * 100.0),
            ]);
        }
    }
    let heads = [
        "array",
        "stripe",
        "unit",
        "reads",
        "depth",
        "block",
        "offset",
        "IOPS",
        "mean latency",
    ];
    format!("\nModelled effect of the offset\n{}", lines(&heads, &rows))
}

pub(super) fn published(options: &PublishedArguments) -> Result<u8, Failure> {
    let mut all: Vec<(Level, PublishedGain, Vec<ModelledGain>)> = Vec::new();
    let parts = [(Level::Raid10, PUBLISHED), (Level::Raid5, PUBLISHED_RAID_5)];
    for (level, both) in parts {
        for published in both {
            let gains = range(level, published.read_percent, options.requests)
                .map_err(|e| Failure::new(FAILED, e.to_string()))?;
            all.push((level, published, gains));
        }
    }
    if options.json {
        let each = all.iter().map(|(level, published, gains)| {
            json!({ "level": level.name(), "published": published, "modelled": gains })
        });
        return print_json(&json!({
            "version": JSON_VERSION,
            "modelled": true,
            "title": LABEL,
            "comparisons": each.collect::<Vec<_>>(),
        }));
    }
    let mut text = format!(
        "{LABEL}\n\
         Gain of the 64 KB partition offset over sector 63 (32256 bytes), stripe and allocation unit 64 KB,\n\
         8 KB random requests. The publication names neither drives nor queue depth.\n"
    );
    for (level, published, gains) in &all {
        text.push_str(&compared(*level, published, gains));
    }
    print(&text)?;
    Ok(0)
}

fn compared(level: Level, published: &PublishedGain, gains: &[ModelledGain]) -> String {
    let what = if published.read_percent == 100 {
        "reads"
    } else {
        "writes"
    };
    let row = |gain: &ModelledGain| {
        vec![
            format!("{} x {}", gain.drives, gain.drive),
            gain.depth.to_string(),
            format!("{:.0}", gain.unaligned_iops),
            format!("{:.0}", gain.aligned_iops),
            format!("{:+.1}%", gain.iops_percent),
            format!("{:+.1}%", -gain.latency_percent),
            format!("{:+.1}", gain.iops_percent - published.iops_percent),
        ]
    };
    let heads = [
        "model",
        "depth",
        "sector 63",
        "64 KB",
        "IOPS",
        "latency",
        "points off",
    ];
    let percents = || gains.iter().map(|gain| gain.iops_percent);
    let (least, most) = (
        percents().fold(f64::INFINITY, f64::min),
        percents().fold(f64::NEG_INFINITY, f64::max),
    );
    let deep: Vec<&ModelledGain> = gains.iter().filter(|gain| gain.depth >= 32).collect();
    let near = deep
        .iter()
        .filter(|gain| (gain.iops_percent - published.iops_percent).abs() <= 1.5)
        .count();
    format!(
        "\n{level}, {what}: published {:+.1}% IOPS and {:+.1}% latency; \
         modelled {least:+.1}% to {most:+.1}%.\n\
         {}At depth 32 or more {near} of {} modelled arrays are within 1.5 points of it.\n",
        published.iops_percent,
        -published.latency_percent,
        lines(&heads, &gains.iter().map(row).collect::<Vec<_>>()),
        deep.len(),
    )
}
