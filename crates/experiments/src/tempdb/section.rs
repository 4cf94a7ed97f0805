//! "Which pages were hot": waits for latches, allocation pages by name.

use crate::workloads::page_latches::{is_allocation, ms_a_second, table};
use furrow_lab::results::{Results, Section};

/// The section; none where no run was finished.
pub(super) fn sections(results: &Results) -> Vec<Section> {
    if !results.runs.iter().any(|run| run.status.is_good()) {
        return Vec::new();
    }
    let mut most: Option<(&str, f64)> = None;
    for level in &results.levels {
        let runs: Vec<f64> = results
            .good_runs(&level.level)
            .map(|run| ms_a_second(run, is_allocation))
            .collect();
        let mean = runs.iter().sum::<f64>() / runs.len().max(1) as f64;
        if most.is_none_or(|(_, so_far)| mean > so_far) {
            most = Some((&level.level, mean));
        }
    }
    let finding = match most {
        Some((level, ms)) if ms >= 0.05 => format!(
            "Sessions waited longest for latches of PFS, GAM and SGAM pages with {level}: {ms:.1} ms in a \
             second"
        ),
        _ => "Sessions hardly waited for latches of PFS, GAM and SGAM pages on this machine"
            .to_owned(),
    };
    vec![Section {
        heading: "Which pages were hot".to_owned(),
        finding,
        text: vec![
            "Pages of tempdb are named 2:file:page. Page 1 of a file is its first PFS page, 2 its GAM, 3 \
             its SGAM."
                .to_owned(),
            "CATALOG pages are those of system tables, which every CREATE TABLE and DROP TABLE \
             changes.".to_owned(),
        ],
        charts: Vec::new(),
        tables: vec![table(results)],
    }]
}
