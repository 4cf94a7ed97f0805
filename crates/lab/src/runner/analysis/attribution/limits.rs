//! The cause of a difference where the slower level reaches a measured bound, by the experiment's own
//! judgement of its levels.

use crate::report::words::{figure, percent};
use crate::results::{Attribution, Ceiling, Confidence};

/// The bound that a level reaches, the closest where it reaches several.
pub(super) fn reached(mut limits: Vec<Ceiling>) -> Option<Ceiling> {
    limits.retain(Ceiling::is_reached);
    let share = |limit: &Ceiling| limit.share().unwrap_or(0.0);
    limits.sort_by(|a, b| share(b).total_cmp(&share(a)));
    limits.into_iter().next()
}

/// The cause where the slower level reaches a bound and the faster level does not reach the same one; `None`
/// where both do: then something else makes them differ. `same` is that bound with its use by the faster
/// level, where it is one of its bounds.
pub(super) fn at_limit(
    slow: &Ceiling,
    same: Option<&Ceiling>,
    faster_name: &str,
) -> Option<Attribution> {
    let (used, limit, share) = (slow.used?, slow.limit?, slow.share()?);
    if same.is_some_and(Ceiling::is_reached) {
        return None;
    }
    let at = &slow.level;
    let mut evidence_for = vec![format!(
        "{}: {} of {} {} at {at}, {} of its ceiling",
        slow.name,
        figure(used),
        figure(limit),
        slow.unit,
        percent(share)
    )];
    evidence_for.push(match same.and_then(Ceiling::share) {
        Some(share) => format!("{faster_name} uses {} of the same ceiling", percent(share)),
        None => format!("{faster_name} is not bounded by it"),
    });
    Some(Attribution {
        resource: slow.name.clone(),
        confidence: Confidence::Attributed,
        // The bound is that of whole runs, and no category of waits.
        share: None,
        summary: format!(
            "{at} is as fast as this allows; {faster_name} does not reach the same bound."
        ),
        evidence_for,
        ..Attribution::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound(name: &str, level: &str, used: f64) -> Ceiling {
        Ceiling {
            name: name.to_owned(),
            unit: "MB/s".to_owned(),
            limit: Some(20.0),
            used: Some(used),
            level: level.to_owned(),
            ..Ceiling::default()
        }
    }

    #[test]
    fn a_bound_that_the_slower_level_alone_reaches_is_the_cause() {
        let slow = bound("writing to one volume", "1 / one", 19.0);
        let found = at_limit(&slow, None, "1 / nul").unwrap();
        assert_eq!(found.resource, "writing to one volume");
        assert_eq!(found.confidence, Confidence::Attributed);
        assert_eq!(
            found.evidence_for,
            [
                "writing to one volume: 19.0 of 20.0 MB/s at 1 / one, 95.0% of its ceiling",
                "1 / nul is not bounded by it"
            ]
        );
        // A faster level that uses less of the same one is not held back by it.
        let less = bound("writing to one volume", "2 / one", 12.0);
        let found = at_limit(&slow, Some(&less), "2 / one").unwrap();
        assert_eq!(
            found.evidence_for[1],
            "2 / one uses 60.0% of the same ceiling"
        );
        let same = bound("writing to one volume", "2 / one", 19.5);
        assert_eq!(at_limit(&slow, Some(&same), "2 / one"), None);
    }

    #[test]
    fn of_several_bounds_that_a_level_reaches_the_closest_one_is_named() {
        let limits = vec![
            bound("reading", "1 / one", 18.0),
            bound("writing", "1 / one", 19.0),
            bound("compressing", "1 / one", 3.0),
        ];
        assert_eq!(reached(limits.clone()).unwrap().name, "writing");
        assert_eq!(reached(limits[2..].to_vec()), None);
    }
}
