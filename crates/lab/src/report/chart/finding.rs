//! The main chart's title: what it shows, as a sentence.

use crate::report::words::{level_name, round_percent};
use crate::results::{Badge, Better, LevelResult, Results, Verdict};

/// The title: what the chart shows, and whether its drives are modelled.
pub(super) fn of(results: &Results) -> String {
    let label = if results.models.is_empty() {
        ""
    } else {
        crate::report::MODEL
    };
    format!("{label}{}", shown(results))
}

fn shown(results: &Results) -> String {
    let name = |level: &str| level_name(&results.experiment, level);
    let Some(baseline) = results.baseline().filter(|level| level.n > 0) else {
        return "The baseline has no good run, so nothing can be compared".to_owned();
    };
    match results.answer.badge {
        Badge::Noisy => {
            return "The baseline differs from itself, so the chart shows no verdict".to_owned();
        }
        Badge::Aborted => return "Too few blocks were finished for a verdict".to_owned(),
        _ => {}
    }
    let delta = round_percent(results.plan.delta);
    let have_all_run = results.levels.iter().all(|level| level.n > 0);
    let that_ran = if have_all_run { "" } else { " that ran" };
    let words: Vec<(&LevelResult, Verdict)> = results
        .levels
        .iter()
        .filter_map(|l| l.verdict.map(|verdict| (l, verdict)))
        .collect();
    let has = |wanted: Verdict| words.iter().any(|(_, verdict)| *verdict == wanted);
    let after = rise_after_knee(results).map_or(String::new(), |level| {
        format!("; {} is {} than that", name(&level.level), slower(results))
    });
    match results.knee.as_ref().and_then(|knee| knee.level.as_deref()) {
        Some(knee) if knee == baseline.level && !has(Verdict::Better) => {
            let knee = name(knee);
            match have_all_run {
                true => format!("More than {knee} shows no gain beyond {delta}{after}"),
                false => {
                    format!("No level that ran above {knee} shows a gain beyond {delta}{after}")
                }
            }
        }
        Some(knee) if has(Verdict::Better) => {
            format!(
                "{} is the fewest that is as good as the best{that_ran}, within {delta}{after}",
                name(knee)
            )
        }
        _ if words
            .iter()
            .all(|(_, v)| matches!(v, Verdict::Same | Verdict::Tiny))
            && !words.is_empty() =>
        {
            format!(
                "No level{that_ran} is shown to differ from {} by more than {delta}",
                name(&baseline.level)
            )
        }
        _ if has(Verdict::Better) || has(Verdict::Worse) => {
            "Some levels differ from the baseline, but no knee can be named".to_owned()
        }
        _ => "The runs scatter too widely to tell the levels apart".to_owned(),
    }
}

fn slower(results: &Results) -> &'static str {
    match (
        results.experiment.response.better,
        results.experiment.response.unit.as_str(),
    ) {
        (Better::Lower, "s") => "slower",
        _ => "worse",
    }
}

/// The last level, when it is shown to be worse than the knee: the intervals of both means don't touch.
fn rise_after_knee(results: &Results) -> Option<&LevelResult> {
    let knee = results.level(results.knee.as_ref()?.level.as_deref()?)?;
    let last = results.levels.last()?;
    let (a, b) = (knee.mean_interval?, last.mean_interval?);
    let apart = match results.experiment.response.better {
        Better::Lower => b.low > a.high,
        Better::Higher => b.high < a.low,
    };
    (apart && last.level != knee.level).then_some(last)
}
