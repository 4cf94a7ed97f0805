//! The published result, and what of it the runs here confirm.

use super::options::{Devices, Options};
use furrow_lab::results::{Published, PublishedPoint, Results};

/// Minutes by number of files: one volume, one volume for each file, NUL.
const MINUTES: [(u64, [f64; 3]); 4] = [
    (1, [9.1, 9.1, 9.4]),
    (2, [7.9, 6.9, 6.8]),
    (4, [5.1, 4.3, 4.3]),
    (8, [6.2, 3.0, 2.9]),
];
const KINDS: [Devices; 3] = [Devices::One, Devices::Several, Devices::Nul];

/// The key of a level where stripes, or stripes and target, are what is varied.
fn key(options: &Options, stripes: u64, devices: Devices) -> Option<String> {
    let several = |n: usize| n > 1;
    let others = [
        options.files.len(),
        options.codecs.len(),
        options.buffers.len(),
        options.transfers.len(),
    ];
    if others.into_iter().any(several) || !options.devices.contains(&devices) {
        return None;
    }
    Some(
        match (options.stripes.len() > 1, options.devices.len() > 1) {
            (true, true) => format!("{stripes} / {}", devices.word()),
            (false, true) => devices.word().to_owned(),
            _ => stripes.to_string(),
        },
    )
}

pub(super) fn published(options: &Options, results: &Results) -> Published {
    let mut points = Vec::new();
    let base = options.devices.first().copied().unwrap_or(Devices::One);
    let place = |devices: Devices| KINDS.iter().position(|kind| *kind == devices).unwrap_or(0);
    let first = options.stripes.first().copied().unwrap_or(1);
    let minutes = |stripes: u64, devices: Devices| {
        let row = MINUTES.iter().find(|(files, _)| *files == stripes)?;
        row.1.get(place(devices)).copied()
    };
    if let Some(baseline) = minutes(first, base) {
        for (stripes, _) in MINUTES {
            for devices in KINDS {
                let (Some(level), Some(found)) =
                    (key(options, stripes, devices), minutes(stripes, devices))
                else {
                    continue;
                };
                if options.stripes.contains(&stripes) {
                    let ratio = found / baseline;
                    points.push(PublishedPoint {
                        level,
                        ratio,
                        stated: true,
                    });
                }
            }
        }
    }
    Published {
        source: "Brent Ozar, striped backups: how many files?".to_owned(),
        setting: "SQL Server 2019 on 96 virtual processors; a database of four data files on NVMe drives of \
                  their own, compression on; minutes for one run each"
            .to_owned(),
        points,
        approximate: false,
        comparisons: comparisons(options, results),
    }
}

/// The published gains, against those of these runs.
fn comparisons(options: &Options, results: &Results) -> Vec<(String, String, Option<bool>)> {
    let mean = |stripes, devices| {
        let level = results.level(&key(options, stripes, devices)?)?;
        level.mean.filter(|mean| *mean > 0.0)
    };
    let mut found = Vec::new();
    for (devices, stripes, gain, words) in [
        (
            Devices::One,
            4,
            43.0,
            "4 files on one volume: 43% faster than one file",
        ),
        (
            Devices::One,
            8,
            32.0,
            "8 files on one volume: slower than 4, 32% faster than one file",
        ),
        (
            Devices::Several,
            8,
            67.0,
            "8 files on several volumes: 67% faster than one file",
        ),
        (
            Devices::Nul,
            8,
            70.0,
            "8 files to NUL: 70% faster than one file",
        ),
    ] {
        match (mean(1, devices), mean(stripes, devices)) {
            (Some(one), Some(several)) => {
                let ours = 100.0 * (1.0 - several / one);
                let text = match ours >= 0.0 {
                    true => format!("{ours:.0}% faster here"),
                    false => format!("{:.0}% slower here", -ours),
                };
                found.push((words.to_owned(), text, Some(ours >= gain / 3.0)));
            }
            _ => found.push((words.to_owned(), "not among these runs".to_owned(), None)),
        }
    }
    found
}
