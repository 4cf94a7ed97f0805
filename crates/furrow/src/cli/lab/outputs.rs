//! The output files of an experiment: results, table, report.

use super::super::{FAILED, Failure};
use furrow_io::{IoError, Volume};
use furrow_lab::journal::write_file;
use furrow_lab::report;
use furrow_lab::results::Results;
use std::path::Path;

/// Writes `results.json`, `runs.csv` and `report.html`, and replaces those of an earlier stop.
pub(super) fn write(volume: &dyn Volume, out_dir: &Path, results: &Results) -> Result<(), Failure> {
    let json = results
        .to_json()
        .map_err(|e| Failure::new(FAILED, format!("the results have no JSON form: {e}")))?;
    let files = [
        ("report.html", report::render(results)),
        ("results.json", json),
        ("runs.csv", results.runs_csv()),
    ];
    for (name, text) in files {
        let path = out_dir.join(name);
        replace(volume, &path, text.as_bytes()).map_err(|e| {
            let text = format!(
                "{} cannot be written: {}; the journal has all figures",
                path.display(),
                e.kind
            );
            Failure::new(FAILED, text)
        })?;
    }
    Ok(())
}

fn replace(volume: &dyn Volume, path: &Path, bytes: &[u8]) -> Result<(), IoError> {
    if volume.exists(path)? {
        volume.remove(path)?;
    }
    write_file(volume, path, bytes)
}
