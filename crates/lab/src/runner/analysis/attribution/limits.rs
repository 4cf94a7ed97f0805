//! The cause of a difference where the slower level reaches a measured bound, by the experiment's own
//! judgement of its levels.

use crate::report::words::{figure, percent};
use crate::results::{Attribution, Ceiling, Confidence};

/// The cause where the slower level reaches a bound and the faster level does not reach the same one; `None`
/// where both do: then something else makes them differ. `fast` is the bound that the faster level comes
/// closest to.
pub(super) fn at_limit(
    slow: &Ceiling,
    fast: Option<&Ceiling>,
    faster_name: &str,
) -> Option<Attribution> {
    let (used, limit, share) = (slow.used?, slow.limit?, slow.share()?);
    if fast.is_some_and(|fast| fast.name == slow.name && fast.is_reached()) {
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
    if let Some((fast, share)) = fast.and_then(|fast| Some((fast, fast.share()?))) {
        evidence_for.push(format!(
            "the ceiling that {faster_name} comes closest to is {}, with {}",
            fast.name,
            percent(share)
        ));
    }
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
        let other = bound("reading", "1 / nul", 10.0);
        let found = at_limit(&slow, Some(&other), "1 / nul").unwrap();
        assert_eq!(found.resource, "writing to one volume");
        assert_eq!(found.confidence, Confidence::Attributed);
        assert_eq!(
            found.evidence_for,
            [
                "writing to one volume: 19.0 of 20.0 MB/s at 1 / one, 95.0% of its ceiling",
                "the ceiling that 1 / nul comes closest to is reading, with 50.0%"
            ]
        );
        // A faster level that uses less of the same one is not held back by it.
        let less = bound("writing to one volume", "2 / one", 12.0);
        assert!(at_limit(&slow, Some(&less), "2 / one").is_some());
        let same = bound("writing to one volume", "2 / one", 19.5);
        assert_eq!(at_limit(&slow, Some(&same), "2 / one"), None);
        assert!(at_limit(&slow, None, "2 / one").is_some());
    }
}
