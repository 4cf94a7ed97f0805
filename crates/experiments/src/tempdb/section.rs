//! "Which pages were hot": waits for latches, allocation pages by name.

use super::options::{Options, flag_word};
use crate::workloads::latch_model::{self, Modelled};
use crate::workloads::page_latches::{finding, table};
use furrow_lab::design::cells;
use furrow_lab::results::{Results, Section};

/// The section; none where no run was finished.
pub(super) fn sections(options: &Options, results: &Results) -> Vec<Section> {
    if !results.runs.iter().any(|run| run.status.is_good()) {
        return Vec::new();
    }
    let hot = Section {
        heading: "Which pages were hot".to_owned(),
        finding: finding(results),
        text: vec![
            "Pages of tempdb are named 2:file:page. Page 1 of a file is its first PFS page, 2 its GAM, 3 \
             its SGAM."
                .to_owned(),
            "CATALOG pages are those of system tables, which every CREATE TABLE and DROP TABLE \
             changes.".to_owned(),
        ],
        charts: Vec::new(),
        tables: vec![table(results)],
    };
    let modelled = latch_model::section(results, &modelled(options));
    [Some(hot), modelled].into_iter().flatten().collect()
}

/// A layout in a legend: a bare number of files with its noun.
fn files_word(layout: &str) -> String {
    match layout {
        "1" => "1 file".to_owned(),
        many if many.parse::<u32>().is_ok() => format!("{many} files"),
        other => other.to_owned(),
    }
}

/// Every layout, at the most sessions.
fn modelled(options: &Options) -> Vec<Modelled> {
    let most = options.sessions.iter().max().copied().unwrap_or(1);
    let factors = options.factors();
    let mut found = Vec::new();
    for cell in cells(&factors) {
        let setting = options.of_cell(&cell);
        if setting.sessions != most {
            continue;
        }
        found.push(Modelled {
            panel: if options.flags.len() > 1 {
                flag_word(setting.has_flag).to_owned()
            } else {
                String::new()
            },
            curve: files_word(&setting.layout.word()),
            level: cell.key(&factors),
            sessions: most,
        });
    }
    found
}
