//! Which latches a wait for latches was for: the kind of page, or the class.

use crate::report::words::percent;
use crate::results::{Attribution, Run};
use std::collections::BTreeMap;

/// Part of the waits that one class must have to be named.
const MOST: f64 = 0.6;
/// The class of all buffer latches together.
const ALL_PAGES: &str = "BUFFER";
/// Buffer latches by mode and kind of page: `PAGELATCH_UP (PFS)`.
const PAGE: &str = "PAGELATCH_";

/// The kind of page of a class of buffer latches.
fn page_kind(class: &str) -> Option<&str> {
    let (mode, kind) = class.split_once(" (")?;
    mode.starts_with(PAGE).then(|| kind.trim_end_matches(')'))
}

fn latch_class(class: &str) -> Option<&str> {
    let is_page = class == ALL_PAGES || class.starts_with(PAGE);
    (!is_page).then_some(class)
}

/// Names the latches that most of the time was waited for, where the cause is a wait for latches.
pub(super) fn name(found: &mut Attribution, slower: &[&Run]) {
    if let Some((resource, reported)) = named(&found.resource, slower) {
        found.resource = resource;
        found.evidence_for.push(reported);
    }
}

/// A category of waits for latches with the kind of page or the class that most of them were for, and how
/// many that is; `None` for other categories, and where no class has most of them.
pub(super) fn named(category: &str, runs: &[&Run]) -> Option<(String, String)> {
    let (of, what): (fn(&str) -> Option<&str>, &str) = match category {
        "Buffer Latch" => (page_kind, " pages"),
        "Latch" => (latch_class, ""),
        _ => return None,
    };
    let mut totals: BTreeMap<&str, u64> = BTreeMap::new();
    for latch in runs.iter().flat_map(|run| &run.latches) {
        if let Some(name) = of(&latch.class) {
            *totals.entry(name).or_insert(0) += latch.total_us;
        }
    }
    let all: u64 = totals.values().sum();
    let (name, &most) = totals.iter().max_by_key(|(_, us)| **us)?;
    let share = most as f64 / all.max(1) as f64;
    (share >= MOST).then(|| {
        (
            format!("{category} ({name}{what})"),
            format!("{} of these waits were for {name}{what}", percent(share)),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::LatchTotal;

    fn run(latches: &[(&str, u64)]) -> Run {
        let latches = latches.iter().map(|(class, total_us)| LatchTotal {
            class: (*class).to_owned(),
            total_us: *total_us,
            ..LatchTotal::default()
        });
        Run {
            latches: latches.collect(),
            ..Run::default()
        }
    }

    fn resource(resource: &str, latches: &[(&str, u64)]) -> String {
        let mut found = Attribution {
            resource: resource.to_owned(),
            ..Attribution::default()
        };
        name(&mut found, &[&run(latches)]);
        found.resource
    }

    #[test]
    fn the_kind_of_page_or_the_class_with_most_of_the_waits_is_named() {
        let latches = [
            ("BUFFER", 1_000),
            ("PAGELATCH_UP (PFS)", 500),
            ("PAGELATCH_EX (PFS)", 300),
            ("PAGELATCH_EX (INDEX)", 200),
            ("FGCB_ADD_REMOVE", 90),
            ("ALLOC_EXTENT_CACHE", 10),
        ];
        assert_eq!(
            resource("Buffer Latch", &latches),
            "Buffer Latch (PFS pages)"
        );
        assert_eq!(resource("Latch", &latches), "Latch (FGCB_ADD_REMOVE)");
        assert_eq!(resource("Tran Log IO", &latches), "Tran Log IO");
        let even = [("PAGELATCH_UP (PFS)", 50), ("PAGELATCH_EX (INDEX)", 50)];
        assert_eq!(resource("Buffer Latch", &even), "Buffer Latch");
    }
}
