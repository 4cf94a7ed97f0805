//! What the busiest latch of an allocation page would cost with more processors: a queueing model of measured
//! holding times.
//!
//! A machine with few processors runs few threads at a time, so that a latch which is held for a microsecond
//! is seldom found held. Its load can be measured all the same: how often it is taken UP or EX, and for how
//! long. *Utilisation* is the rate times the mean holding time. The model assumes that the rate grows in
//! proportion to the processors in use, and takes the waiting time from the Pollaczek-Khinchine formula
//! ([`furrow_stats::queue`]):
//!
//! - M/D/1 takes every hold as long as the mean of those up to 100 us: a lower bound;
//! - M/G/1 takes the mean and the scatter of all, with holds in which the holder had no processor.
//!
//! # Invariants
//! 1. Every title of a modelled figure, and its record in the run, begins with the words for a model.
//! 2. A wait is shown only where the latch can keep up: at a utilisation below 1.

#[cfg(test)]
mod tests;

use super::page_latches::{self, Held, PageLatch, is_allocation, ms_a_second};
use furrow_lab::report::MODEL;
use furrow_lab::report::words::count;
use furrow_lab::results::{Bounds, Chart, Curve, Panel, Point, Results, Run, Section, SheetTable};
use furrow_stats::queue::{md1_wait, mg1_wait};
use serde::Serialize;

/// The name of the record in `Run::extra`.
const RECORD: &str = "MODEL of the busiest allocation latch";
/// Where the formula is from.
const SOURCE: &str = "Pollaczek-Khinchine: W = rate E[S^2] / (2 (1 - rate E[S])); L. Kleinrock, Queueing \
    Systems, volume 1 (1975), chapter 5";
/// Processors that the model looks at.
const PROCESSORS: [u32; 8] = [1, 2, 4, 8, 16, 32, 64, 128];
/// Those that the table shows.
const SHOWN: [u32; 2] = [16, 64];
/// Milliseconds in a second of load, of all sessions together, from which on waits show contention: a
/// hundredth of what one processor has.
const LEAST_WAIT_MS: f64 = 10.0;
/// Machines with fewer processors are small: a larger one may show what they do not.
const FEW_PROCESSORS: u32 = 16;
/// A latch that is held for less than this share of the time is seldom found held.
const SELDOM: f64 = 0.1;

/// A level whose latch is modelled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Modelled {
    /// The title of the panel that it is drawn in.
    pub(crate) panel: String,
    /// The name of its curve.
    pub(crate) curve: String,
    /// The key of the level.
    pub(crate) level: String,
    /// Its sessions.
    pub(crate) sessions: u32,
}

/// The busiest allocation latch of some runs.
#[derive(Debug, Clone, PartialEq)]
struct Busiest {
    /// `2:1:1 (PFS)`.
    page: String,
    held: Held,
    /// Seconds of load, and seconds of processors in them.
    seconds: f64,
    cpu_s: f64,
}

impl Busiest {
    /// Of these runs together; `None` where no hold was measured.
    fn of(runs: &[&Run]) -> Option<Busiest> {
        let mut pages: Vec<(PageLatch, Held)> = Vec::new();
        for latch in runs.iter().flat_map(|run| page_latches::of(run)) {
            let Some(held) = latch.held.filter(|_| is_allocation(&latch)) else {
                continue;
            };
            let same = |of: &PageLatch| (of.database, of.page) == (latch.database, latch.page);
            match pages.iter_mut().find(|(known, _)| same(known)) {
                Some((_, sum)) => sum.add(held),
                None => pages.push((latch, held)),
            }
        }
        let (latch, held) = pages.into_iter().max_by_key(|(_, held)| held.ns)?;
        let (file, page) = latch.page?;
        let sum = |of: fn(&Run) -> Option<f64>| runs.iter().filter_map(|run| of(run)).sum::<f64>();
        Some(Busiest {
            page: format!("{}:{file}:{page} ({})", latch.database, latch.kind),
            held,
            seconds: sum(|run| run.seconds),
            cpu_s: sum(|run| run.cpu_s),
        })
        .filter(|found| found.held.holds > 0 && found.seconds > 0.0 && found.cpu_s > 0.0)
    }

    /// The share of the time that it was held, as measured.
    fn utilisation(&self) -> f64 {
        self.held.ns as f64 / 1e9 / self.seconds
    }

    fn processors(&self) -> f64 {
        self.cpu_s / self.seconds
    }

    /// Mean holding time and mean square of all holds, in microseconds.
    fn moments(&self) -> (f64, f64) {
        let holds = self.held.holds as f64;
        (self.held.ns as f64 / 1e3 / holds, self.held.us2 / holds)
    }

    /// Mean holding time in microseconds without the long holds.
    fn short_us(&self) -> f64 {
        let holds = self.held.holds.saturating_sub(self.held.long_holds).max(1);
        self.held.ns.saturating_sub(self.held.long_ns) as f64 / 1e3 / holds as f64
    }

    /// Holds in a microsecond with so many processors in use.
    fn rate(&self, processors: f64) -> f64 {
        self.held.holds as f64 / self.cpu_s / 1e6 * processors
    }

    /// Processors with which it would be held all the time.
    fn full_at(&self) -> f64 {
        1.0 / (self.rate(1.0) * self.short_us()).max(1e-12)
    }

    fn md1_us(&self, processors: u32) -> Option<f64> {
        md1_wait(self.rate(f64::from(processors)), self.short_us())
    }

    fn mg1_us(&self, processors: u32) -> Option<f64> {
        let (mean, square) = self.moments();
        // A square that was rounded down is no less than that of the mean.
        mg1_wait(
            self.rate(f64::from(processors)),
            mean,
            square.max(mean * mean),
        )
    }
}

/// What the record of a run holds.
#[derive(Debug, Serialize)]
struct Record {
    is_model: bool,
    source: &'static str,
    page: String,
    measured_holds_per_s: f64,
    measured_mean_hold_us: f64,
    measured_utilisation: f64,
    measured_processors_in_use: f64,
    modelled_full_at_processors: f64,
    modelled: Vec<ModelledWait>,
}

#[derive(Debug, Serialize)]
struct ModelledWait {
    processors: u32,
    md1_wait_us: Option<f64>,
    mg1_wait_us: Option<f64>,
}

/// Puts the model of the busiest allocation latch into a run's record, where holds were measured.
pub(crate) fn keep(run: &mut Run) -> Result<(), serde_json::Error> {
    let Some(busiest) = Busiest::of(&[run]) else {
        return Ok(());
    };
    let modelled = PROCESSORS.map(|processors| ModelledWait {
        processors,
        md1_wait_us: busiest.md1_us(processors),
        mg1_wait_us: busiest.mg1_us(processors),
    });
    let record = Record {
        is_model: true,
        source: SOURCE,
        page: busiest.page.clone(),
        measured_holds_per_s: busiest.held.holds as f64 / busiest.seconds,
        measured_mean_hold_us: busiest.moments().0,
        measured_utilisation: busiest.utilisation(),
        measured_processors_in_use: busiest.processors(),
        modelled_full_at_processors: busiest.full_at(),
        modelled: modelled.into(),
    };
    let record = serde_json::to_value(record)?;
    run.extra.insert(RECORD.to_owned(), record);
    Ok(())
}

/// The share of a run's time that its busiest allocation latch was held, in percent.
pub(crate) fn held_percent(run: &Run) -> f64 {
    Busiest::of(&[run]).map_or(0.0, |busiest| 100.0 * busiest.utilisation())
}

/// What the sessions of a level waited, and its busiest latch.
struct Level<'a> {
    of: &'a Modelled,
    busiest: Busiest,
    waited_ms: f64,
}

impl<'a> Level<'a> {
    fn measured(results: &Results, of: &'a Modelled) -> Option<Level<'a>> {
        let runs: Vec<&Run> = results.good_runs(&of.level).collect();
        let waited: f64 = runs.iter().map(|run| ms_a_second(run, is_allocation)).sum();
        Some(Level {
            of,
            busiest: Busiest::of(&runs)?,
            waited_ms: waited / runs.len().max(1) as f64,
        })
    }

    fn share(&self) -> f64 {
        self.waited_ms / 1e3 / f64::from(self.of.sessions.max(1))
    }
}

/// The section; `None` where no hold was measured.
pub(crate) fn section(results: &Results, wanted: &[Modelled]) -> Option<Section> {
    let levels: Vec<Level<'_>> = wanted
        .iter()
        .filter_map(|of| Level::measured(results, of))
        .collect();
    let hottest = levels
        .iter()
        .min_by(|a, b| a.busiest.full_at().total_cmp(&b.busiest.full_at()))?;
    let waited = levels
        .iter()
        .max_by(|a, b| a.waited_ms.total_cmp(&b.waited_ms))?;
    Some(Section {
        heading: "Modelled cost of the allocation latch".to_owned(),
        finding: finding((waited, hottest), results.environment.cpu_count),
        text: vec![
            "Measured: how often the latch of each PFS, GAM and SGAM page was taken UP or EX, and how long \
             it was held. Utilisation is the one times the other. Readers of these pages are not counted."
                .to_owned(),
            format!(
                "Modelled: the waiting time with more processors, when the rate grows in proportion to those \
                 in use and requests come at random. M/D/1 takes every hold as long as the mean of those up \
                 to 100 us. M/G/1 takes mean and scatter of all holds: some lasted long because the holder \
                 had no processor, and a larger machine has fewer of those. Both overstate waits near \
                 saturation, as a session that waits does not ask again meanwhile. Source: {SOURCE}."
            ),
        ],
        charts: vec![chart(&levels)],
        tables: vec![table(results, &levels)],
    })
}

/// What was measured at the level whose sessions waited most, then the model of the latch that would be full
/// first: these may be two levels.
fn finding((waited, hottest): (&Level<'_>, &Level<'_>), cpus: Option<u32>) -> String {
    let busiest = &hottest.busiest;
    let here = format!(
        "with {:.1} processors in use, all sessions together waited {:.1} ms in a second of load, {} of \
         their time, for latches of PFS, GAM and SGAM pages (mean of the runs)",
        waited.busiest.processors(),
        waited.waited_ms,
        small_share(waited.share())
    );
    // A load that would hold the latch all the time on none of the modelled machines contends on no machine.
    let largest = PROCESSORS.last().map_or(0.0, |&n| f64::from(n));
    let is_small = cpus.is_none_or(|n| n < FEW_PROCESSORS)
        && busiest.processors() < SELDOM * busiest.full_at()
        && busiest.full_at() <= largest;
    let verdict = if waited.waited_ms >= LEAST_WAIT_MS {
        format!("Contention for allocation pages is measured here: {here}")
    } else if is_small {
        format!("This machine cannot show contention for allocation pages: {here}")
    } else {
        format!("Sessions hardly waited for allocation pages: {here}")
    };
    let at = match waited.of == hottest.of {
        true => String::new(),
        false => format!(" at {}", hottest.of.level),
    };
    format!(
        "{verdict} ({}). {MODEL}the busiest of these latches, of page {}{at}, would be held all the time \
         with {} processors in use, and as many more sessions (holds of up to 100 us)",
        waited.of.level,
        busiest.page,
        count(busiest.full_at().round().max(1.0) as u64)
    )
}

/// A share of the time, of which little is not nothing.
fn small_share(share: f64) -> String {
    match share {
        some if some > 0.0 && some < 0.000_5 => "less than 0.1%".to_owned(),
        share => format!("{:.1}%", 100.0 * share),
    }
}

fn chart(levels: &[Level<'_>]) -> Chart {
    let mut panels: Vec<Panel> = Vec::new();
    for level in levels {
        let point = |&processors: &u32| {
            Some(Point {
                x: f64::from(processors),
                y: level.busiest.md1_us(processors)?,
                low: None,
                high: None,
            })
        };
        let curve = Curve {
            name: level.of.curve.clone(),
            points: PROCESSORS.iter().filter_map(point).collect(),
        };
        match panels
            .iter_mut()
            .find(|panel| panel.title == level.of.panel)
        {
            Some(panel) => panel.curves.push(curve),
            None => panels.push(Panel {
                title: level.of.panel.clone(),
                curves: vec![curve],
                marks: Vec::new(),
            }),
        }
    }
    Chart {
        finding: format!("{MODEL}waiting time for the busiest allocation latch (queue M/D/1)"),
        description: "To the right processors in use, upwards the modelled mean wait. A curve ends where the \
            latch cannot keep up."
            .to_owned(),
        x: "processors in use (modelled)".to_owned(),
        y: "modelled wait, us".to_owned(),
        bounds: Bounds::Interval,
        x_by_powers: true,
        panels,
    }
}

fn table(results: &Results, levels: &[Level<'_>]) -> SheetTable {
    let wait = |wait: Option<f64>| wait.map_or("full".to_owned(), |us| format!("{us:.2}"));
    let row = |level: &Level<'_>| {
        let busiest = &level.busiest;
        let mut cells = vec![
            level.of.level.clone(),
            busiest.page.clone(),
            count((busiest.held.holds as f64 / busiest.seconds).round() as u64),
            format!("{:.2} / {:.2}", busiest.moments().0, busiest.short_us()),
            format!("{:.2}%", 100.0 * busiest.utilisation()),
            format!("{:.1}", busiest.processors()),
            format!("{:.0}", busiest.full_at()),
        ];
        cells.extend(
            SHOWN.map(|n| format!("{} / {}", wait(busiest.md1_us(n)), wait(busiest.mg1_us(n)))),
        );
        cells
    };
    let heads = [
        "busiest latch",
        "holds/s",
        "mean hold, us: all / up to 100 us",
        "held, share of the time",
        "processors in use",
        "MODEL: held all the time with",
    ];
    let waits = SHOWN.map(|n| format!("MODEL: wait with {n} processors, us, M/D/1 / M/G/1"));
    SheetTable {
        caption: format!(
            "Measured holds of the allocation latch that was held longest in all runs of a level together. \
             Columns with {}",
            MODEL.trim()
        ),
        columns: [results.experiment.factor.plural.clone()]
            .into_iter()
            .chain(heads.map(str::to_owned))
            .chain(waits)
            .collect(),
        rows: levels.iter().map(row).collect(),
    }
}
