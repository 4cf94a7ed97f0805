//! A load that is measured together with the waits for latches of pages, and what experiments with such a
//! load say in the same words.

use super::load::{self, Load, Work, Worked};
use super::page_latches::{self, PageLatch};
use super::place::failed;
use super::prepared::session_in;
use super::{figures, latch_model};
use crate::targets::Target;
use furrow_lab::design::Factor;
use furrow_lab::experiment::{RunContext, StepError};
use furrow_lab::results::{self, Figure, Run};
use std::path::PathBuf;

/// What experiments say that look at the latches of pages.
pub(crate) const FEW_PROCESSORS: &str = "Contention of latches needs threads that run at the same time: \
    few processors show little of it.";

/// Runs the load. The run has its counters, latencies and waits for latches of pages; `word` stands for what
/// one piece of work is.
pub(crate) fn run(
    target: &dyn Target,
    load: &Load,
    (work, word): (&dyn Work, &str),
    volumes: &[PathBuf],
    context: &mut RunContext<'_>,
) -> Result<(Run, Worked), StepError> {
    let (worked, latches) = measured(target, load, work, context)?;
    let mut run = Run::default();
    figures::fill(&mut run, &worked, load.unit, word, volumes);
    keep(&mut run, &latches)?;
    Ok((run, worked))
}

/// Runs the load. What was worked, and the waits for latches of pages meanwhile.
pub(crate) fn measured(
    target: &dyn Target,
    load: &Load,
    work: &dyn Work,
    context: &mut RunContext<'_>,
) -> Result<(Worked, Vec<PageLatch>), StepError> {
    let mut session = session_in(target, &load.database).map_err(failed)?;
    let before = page_latches::read(session.as_mut()).map_err(failed)?;
    let worked = load::run(target, load, work, context)?;
    let after = page_latches::read(session.as_mut()).map_err(failed)?;
    Ok((worked, page_latches::since(&before, after)))
}

/// Puts the waits for latches of pages into a run.
pub(crate) fn keep(run: &mut Run, latches: &[PageLatch]) -> Result<(), StepError> {
    let kept = page_latches::keep(run, latches);
    kept.and_then(|()| latch_model::keep(run))
        .map_err(|e| StepError::Failed(e.to_string()))
}

/// Waits for the latches of allocation pages, and how much of the time the busiest of them was held.
pub(crate) fn allocation_figures(run: &Run) -> [Figure; 2] {
    let waits = Figure::lower(
        "PAGELATCH on PFS, GAM, SGAM",
        "ms/s",
        page_latches::ms_a_second(run, page_latches::is_allocation),
    )
    .additive();
    let held = latch_model::held_percent(run);
    let held = Figure::neutral("busiest allocation latch held", "%", held);
    [waits, held.additive()]
}

/// The words for what is varied: those of the only factor, or the names of all.
pub(crate) fn factor_words(
    factors: &[Factor],
    (singular, option): (&str, &str),
) -> results::Factor {
    let names: Vec<&str> = factors.iter().map(|factor| factor.name.as_str()).collect();
    let only = |text: &str| if names.len() == 1 { text } else { "" }.to_owned();
    results::Factor {
        singular: only(singular),
        plural: names.join(" / "),
        option: only(option),
    }
}
