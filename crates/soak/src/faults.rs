//! The N-th operation that fails, N from 1 until there is no N-th any more.
//!
//! A small workload, the same every time, meets one fault: a read, write, sync, resize or name that fails
//! once or from then on. Either the store reports the fault, and the state after a restart is one that the
//! model allows; or the fault is not noticed, and all rows are right. A commit that was acknowledged counts,
//! whatever failed before it: so nothing can be acknowledged after a sync of the log has failed.

use crate::Finding;
use crate::crash::{Figures, draw_outcome};
use crate::model::Model;
use crate::subject::{Failure, Layout, Store, Subject};
use crate::work::{Ended, Ledger, Work};
use furrow_io::SimVolume;
use furrow_io::random::{Rng, seeded};
use furrow_io::sim::{Effect, Fault, OpKind, Ops, SimOptions, SyncLoss};
use std::sync::Arc;

/// What fails, on which operations, and how.
pub type Kind = (&'static str, Ops, Effect);

/// All that fails.
pub const KINDS: [Kind; 12] = [
    ("a read fails", Ops::Only(OpKind::Read), Effect::Fail),
    ("a write fails", Ops::Writes, Effect::Fail),
    ("half of a write is done", Ops::Writes, Effect::Partial),
    ("no space for a write", Ops::Writes, Effect::NoSpace),
    (
        "a sync fails, all is lost",
        Ops::Syncs,
        Effect::FailSync(SyncLoss::Everything),
    ),
    (
        "a sync fails, some is lost",
        Ops::Syncs,
        Effect::FailSync(SyncLoss::Random),
    ),
    (
        "a sync fails, nothing is lost",
        Ops::Syncs,
        Effect::FailSync(SyncLoss::Nothing),
    ),
    ("a resize fails", Ops::Only(OpKind::Resize), Effect::Fail),
    (
        "no space to grow",
        Ops::Only(OpKind::Resize),
        Effect::NoSpace,
    ),
    ("an open fails", Ops::Only(OpKind::Open), Effect::Fail),
    (
        "a file cannot be created",
        Ops::Only(OpKind::Create),
        Effect::Fail,
    ),
    ("a question fails", Ops::Only(OpKind::Query), Effect::Fail),
];

/// A store at rest, and all that is needed to work on copies of it.
#[derive(Debug)]
pub struct Template<'a, S> {
    subject: &'a S,
    seed: u64,
    layout: Layout,
    volume: SimVolume,
    model: Model,
    version: u64,
    /// Steps of the workload.
    pub steps: u64,
}

/// The result of one fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Met {
    /// The workload has no such operation any more.
    Never,
    /// The store reported the fault.
    Reported,
    /// The fault was not noticed.
    Unnoticed,
}

impl<'a, S: Subject> Template<'a, S> {
    /// Creates the store, works a little, closes it.
    pub fn new(subject: &'a S, seed: u64) -> Result<Template<'a, S>, Failure> {
        let mut rng = seeded(seed);
        let layout = Layout {
            files: 2,
            pool_pages: 72,
            log_kb: 512,
            ..Layout::draw(&mut rng)
        };
        let volume = SimVolume::new(SimOptions {
            seed,
            ..SimOptions::default()
        });
        let store = subject.create(Arc::new(volume.clone()), &layout)?;
        let mut ledger = Ledger::new(rng);
        let mut work = Work::begin(&store, &mut ledger, 3)?;
        work.create_lasting_tables()?;
        for ended in [work.run(200), work.finish()] {
            if ended != Ended::Done {
                return Err(Failure::Wrong(format!("{ended:?}")));
            }
        }
        drop(work);
        store.close()?;
        let (model, version) = (ledger.model, ledger.version);
        Ok(Template {
            subject,
            seed,
            layout,
            volume,
            model,
            version,
            steps: 120,
        })
    }

    /// The workload with one fault: the `nth` operation of a kind, and all after it if it is `sticky`.
    pub fn with_fault(
        &self,
        (name, ops, effect): Kind,
        nth: u64,
        sticky: bool,
    ) -> Result<Met, Box<Finding>> {
        let mut ledger = Ledger::new(seeded(self.seed));
        ledger.mix.serve_often();
        ledger.mix.load_often(&mut ledger.rng);
        ledger.model = self.model.clone();
        ledger.version = self.version;
        let machine = self.volume.fork();
        let fault = Fault::new(ops, effect).nth(nth);
        machine.inject(if sticky { fault.sticky() } else { fault });
        let finding = |ledger: &Ledger, place: &str, what: String| {
            let often = if sticky { "from then on" } else { "once" };
            let place = format!("{place}; {name} at operation {nth}, {often}");
            let what = format!("{what}\n{:?}\n{:?}", self.layout, ledger.mix);
            Box::new(Finding {
                seed: self.seed,
                place,
                what,
                steps: ledger.trace.lines(),
            })
        };
        let ended = self.work(&machine, &mut ledger);
        if let Ended::Wrong(what) = &ended {
            return Err(finding(&ledger, "working", what.clone()));
        }
        let met = machine.counts().matching(ops) >= nth;
        if !met && ended != Ended::Done {
            return Err(finding(
                &ledger,
                "working without a fault",
                format!("{ended:?}"),
            ));
        }
        machine.heal();
        machine.kill_process();
        let mut rng = seeded(self.seed ^ nth);
        let after = match rng.random_ratio(1, 2) {
            true => machine.crash(&draw_outcome(&machine, &mut rng)),
            false => machine,
        };
        self.compare(&after, &ledger.model)
            .map_err(|(place, failure)| finding(&ledger, place, failure.to_string()))?;
        Ok(match (met, ended) {
            (false, _) => Met::Never,
            (true, Ended::Done) if ledger.tally.full == 0 => Met::Unnoticed,
            _ => Met::Reported,
        })
    }

    fn work(&self, machine: &SimVolume, ledger: &mut Ledger) -> Ended {
        let ended = |failure| match failure {
            Failure::Gone(why) | Failure::Full(why) => Ended::Gone(why),
            other => Ended::Wrong(other.to_string()),
        };
        let store = match self.subject.open(Arc::new(machine.clone()), &self.layout) {
            Ok(store) => store,
            Err(failure) => return ended(failure),
        };
        let done = match Work::begin(&store, ledger, 3) {
            Ok(mut work) => match work.run(self.steps) {
                Ended::Done => work.finish(),
                early => early,
            },
            Err(failure) => ended(failure),
        };
        if done == Ended::Done {
            return store.close().map_or_else(ended, |()| Ended::Done);
        }
        store.abandon();
        done
    }

    fn compare(&self, machine: &SimVolume, model: &Model) -> Result<(), (&'static str, Failure)> {
        let opened = self.subject.open(Arc::new(machine.clone()), &self.layout);
        let store = opened.map_err(|e| ("opening again", e))?;
        let state = store.read_all().map_err(|e| ("reading all", e))?;
        model
            .check(&state)
            .map_err(|e| ("comparing", Failure::Wrong(e.0)))?;
        store.audit().map_err(|e| ("auditing", e))?;
        store.close().map_err(|e| ("closing", e))
    }
}

/// All faults of one seed, each `stride`-th only; returns how many were reported and how many were not
/// noticed.
pub fn run<S: Subject>(subject: &S, seed: u64, stride: u64) -> Result<Figures, Box<Finding>> {
    let template = Template::new(subject, seed).map_err(|failure| {
        let (place, what) = ("making the template".to_owned(), failure.to_string());
        Box::new(Finding {
            seed,
            place,
            what,
            steps: Vec::new(),
        })
    })?;
    let mut figures = Figures::default();
    for kind in KINDS {
        for sticky in [false, true] {
            for nth in (1 + seed % stride..).step_by(stride as usize) {
                match template.with_fault(kind, nth, sticky)? {
                    Met::Never => break,
                    Met::Reported => figures.faults_reported += 1,
                    Met::Unnoticed => figures.faults_unnoticed += 1,
                }
            }
        }
    }
    Ok(figures)
}
