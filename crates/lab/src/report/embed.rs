//! The raw figures inside the page: JSON in a data block, CSV behind a link. No address leaves the file.

use crate::results::Results;
use std::fmt::Write as _;

/// The JSON for the page's data block in `limit_bytes`, and what was left out to make it fit.
pub(super) fn json_block(results: &Results, limit_bytes: usize) -> (String, Option<&'static str>) {
    let plain = compact(results);
    if plain.len() <= limit_bytes {
        return (plain, None);
    }
    let mut thin = results.clone();
    for run in &mut thin.runs {
        run.latency
            .iter_mut()
            .for_each(|latency| latency.histogram = None);
    }
    let text = compact(&thin);
    if text.len() <= limit_bytes {
        return (text, Some("latency histograms"));
    }
    for run in &mut thin.runs {
        run.series.clear();
        run.events.clear();
    }
    let text = compact(&thin);
    if text.len() <= limit_bytes {
        return (
            text,
            Some("latency histograms, one-second series and events"),
        );
    }
    for run in &mut thin.runs {
        run.waits.clear();
        run.background_waits.clear();
        run.latches.clear();
        run.spinlocks.clear();
        run.files.clear();
    }
    let text = compact(&thin);
    if text.len() <= limit_bytes {
        return (text, Some("everything of a run but its main figures"));
    }
    (
        "{}".to_owned(),
        Some("all of it: it is too large for a page"),
    )
}

/// JSON on one line that cannot end the element that contains it.
fn compact(results: &Results) -> String {
    let text = serde_json::to_string(results).unwrap_or_else(|_| "{}".to_owned());
    // Inside a string of JSON these may be written as escapes; outside of strings they don't occur.
    text.replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
}

/// The link that saves `runs.csv`; `None` when it would take more than `limit_bytes`.
pub(super) fn csv_link(results: &Results, limit_bytes: usize) -> Option<String> {
    Some(data_link("text/csv", &results.runs_csv())).filter(|link| link.len() <= limit_bytes)
}

/// A link target that holds the text itself.
fn data_link(media_type: &str, text: &str) -> String {
    let mut link = format!("data:{media_type};charset=utf-8,");
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z'
            | b'a'..=b'z'
            | b'0'..=b'9'
            | b'-'
            | b'_'
            | b'.'
            | b'~'
            | b','
            | b':'
            | b'/' => {
                link.push(char::from(byte));
            }
            _ => {
                let _ = write!(link, "%{byte:02X}");
            }
        }
    }
    link
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{Latency, Run, Series};

    #[test]
    fn text_in_the_data_block_cannot_end_it() {
        let results = Results {
            reproduce: "</script><b>&".into(),
            schema_version: 1,
            ..Results::default()
        };
        let (block, left_out) = json_block(&results, 900_000);
        assert!(left_out.is_none());
        assert!(!block.contains(['<', '>', '&']));
        assert_eq!(
            Results::from_json(&block).unwrap().reproduce,
            "</script><b>&"
        );
    }

    #[test]
    fn a_large_result_is_thinned_and_says_so() {
        let latency = Latency {
            histogram: Some("x".repeat(40_000)),
            ..Latency::default()
        };
        let series = Series {
            values: vec![1.25; 4_000],
            ..Series::default()
        };
        let run = Run {
            latency: vec![latency],
            series: vec![series],
            ..Run::default()
        };
        let mut results = Results {
            runs: vec![run; 24],
            ..Results::default()
        };
        let (block, left_out) = json_block(&results, 900_000);
        assert!(block.len() <= 900_000);
        assert_eq!(left_out, Some("latency histograms"));
        results.runs = results.runs.iter().cycle().take(120).cloned().collect();
        let (block, left_out) = json_block(&results, 900_000);
        assert!(block.len() <= 900_000);
        assert!(left_out.unwrap().contains("series"));
    }

    #[test]
    fn links_hold_any_text() {
        assert_eq!(
            data_link("text/csv", "a,\"b\"\n#"),
            "data:text/csv;charset=utf-8,a,%22b%22%0A%23"
        );
    }
}
