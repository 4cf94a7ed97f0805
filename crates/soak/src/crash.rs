//! Power losses, one after the other, on one machine.
//!
//! # A run
//! 1. A layout and a mix are drawn from the seed; the store is created, the lasting tables too.
//! 2. Each cycle: the power will go at some change of the disk soon; sessions work until it does, or until
//!    the steps are done and it goes anyway.
//! 3. What survives is drawn: by chance, by name ([`SimVolume::outcomes`]), per file.
//! 4. The store is opened. Perhaps the power goes while it recovers, once or twice; the outcome of that is
//!    drawn as well.
//! 5. What it holds is compared with the model, its structures are proven, and the next cycle works on it.
//!
//! Now and then a cycle ends in order instead: what was closed must open to the very same state.

use crate::Finding;
use crate::model::{State, Violation};
use crate::subject::{Failure, FullBackups, Layout, Store, Subject};
use crate::work::{Ended, Ledger, Tally, Work};
use furrow_io::SimVolume;
use furrow_io::random::{IndexedRandom, Rng, SeededRng, seeded};
use furrow_io::sim::{Crash, Effect, Fault, Ops, SimOptions};
use std::sync::Arc;

/// How long a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Length {
    /// Cycles of work and power loss.
    pub cycles: u32,
    /// Most steps in a cycle.
    pub steps: u64,
    /// Whether bulk loads are among them.
    pub loads: bool,
}

impl Default for Length {
    fn default() -> Length {
        Length {
            cycles: 8,
            steps: 400,
            loads: true,
        }
    }
}

/// What a run, or many, came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Figures {
    /// Power losses.
    pub crashes: u64,
    /// Processes killed.
    pub kills: u64,
    /// Power losses while recovering.
    pub in_recovery: u64,
    /// Orderly ends.
    pub closes: u64,
    /// Power losses with commits that were never answered.
    pub with_unanswered: u64,
    /// Unanswered commits that had happened.
    pub happened: u64,
    /// Unanswered commits that had not.
    pub vanished: u64,
    /// Faults that the store reported.
    pub faults_reported: u64,
    /// Faults that were not noticed.
    pub faults_unnoticed: u64,
    /// What sessions did.
    pub tally: Tally,
    /// Of all operations of the disks of single runs; of many, their sum.
    pub fingerprint: u64,
}

impl Figures {
    /// Adds another's.
    pub fn add(&mut self, other: &Figures) {
        self.crashes += other.crashes;
        self.kills += other.kills;
        self.in_recovery += other.in_recovery;
        self.closes += other.closes;
        self.with_unanswered += other.with_unanswered;
        self.happened += other.happened;
        self.vanished += other.vanished;
        self.faults_reported += other.faults_reported;
        self.faults_unnoticed += other.faults_unnoticed;
        self.tally.add(&other.tally);
        self.fingerprint = self.fingerprint.wrapping_add(other.fingerprint);
    }
}

impl Layout {
    /// Draws one: small files that grow, a log that wraps, a pool that evicts.
    pub fn draw(rng: &mut SeededRng) -> Layout {
        let mut layout = Layout {
            files: rng.random_range(1..=4),
            pool_pages: [72, 96, 160, 512][rng.random_range(0..4)],
            log_kb: [512, 768, 1024][rng.random_range(0..3)],
            log_grows: true,
            file_kb: [512, 576, 1024][rng.random_range(0..3)],
            growth_kb: [64, 128, 512][rng.random_range(0..3)],
            grow_all: rng.random_ratio(1, 3),
            mixed_pages: false,
            double_write_pages: [8, 16, 64][rng.random_range(0..3)],
            waits_for_locks: false,
            full_backups: FullBackups::Never,
            background: false,
        };
        // One in three; not drawn, so that seeds still mean what they meant.
        layout.mixed_pages = (layout.file_kb / 64 + u64::from(layout.files)).is_multiple_of(3);
        layout
    }
}

/// One run.
#[derive(Debug)]
pub struct Run<'a, S: Subject> {
    subject: &'a S,
    seed: u64,
    layout: Layout,
    volume: SimVolume,
    ledger: Ledger,
    figures: Figures,
    cycle: u32,
}

/// Works and crashes as this seed has it.
pub fn run<S: Subject>(subject: &S, seed: u64, length: Length) -> Result<Figures, Box<Finding>> {
    let mut rng = seeded(seed);
    let layout = Layout::draw(&mut rng);
    let mut run = Run {
        subject,
        seed,
        layout,
        volume: SimVolume::new(SimOptions {
            seed,
            ..SimOptions::default()
        }),
        ledger: Ledger::new(rng),
        figures: Figures::default(),
        cycle: 0,
    };
    if length.loads {
        run.ledger.mix.load_often(&mut run.ledger.rng);
    }
    let first = run.create()?;
    run.cycles(first, length)?;
    run.figures.tally = run.ledger.tally;
    run.figures.fingerprint = run.volume.fingerprint();
    Ok(run.figures)
}

impl<S: Subject> Run<'_, S> {
    fn create(&mut self) -> Result<S::Store, Box<Finding>> {
        let volume = Arc::new(self.volume.clone());
        let created = self.subject.create(volume, &self.layout);
        let store = created.map_err(|e| self.finding("creating", &e.to_string()))?;
        let tables = Work::begin(&store, &mut self.ledger, 1)
            .and_then(|mut work| work.create_lasting_tables());
        tables.map_err(|e| self.finding("creating tables", &e.to_string()))?;
        Ok(store)
    }

    fn cycles(&mut self, first: S::Store, length: Length) -> Result<(), Box<Finding>> {
        let mut store = first;
        while self.cycle < length.cycles {
            self.cycle += 1;
            if self.ledger.rng.random_ratio(1, 12) {
                self.work_and_close(store, length.steps)?;
            } else {
                self.work_and_crash(store, length.steps)?;
            }
            store = self.recover()?;
            self.compare(&store)?;
        }
        store
            .close()
            .map_err(|e| self.finding("closing", &e.to_string()))
    }

    fn work(&mut self, store: &S::Store, steps: u64, finishes: bool) -> Ended {
        let sessions = self.ledger.mix.sessions;
        let mut work = match Work::begin(store, &mut self.ledger, sessions) {
            Ok(work) => work,
            Err(Failure::Gone(why)) => return Ended::Gone(why),
            Err(other) => return Ended::Wrong(other.to_string()),
        };
        match work.run(steps) {
            Ended::Done if finishes => work.finish(),
            Ended::Done => {
                // Transactions in progress stay so: the sessions must not roll them back when they are
                // dropped.
                self.volume.power_off();
                Ended::Done
            }
            ended => ended,
        }
    }

    fn work_and_crash(&mut self, store: S::Store, steps: u64) -> Result<(), Box<Finding>> {
        let rng = &mut self.ledger.rng;
        let steps = rng.random_range(1..=steps);
        let most = [10, 60, 300, 1500][rng.random_range(0..4)];
        let nth = rng.random_range(1..=most);
        self.volume
            .inject(Fault::new(Ops::Changes, Effect::PowerLoss).nth(nth));
        match self.work(&store, steps, false) {
            Ended::Done => {}
            Ended::Gone(why) if self.volume.is_powered() => {
                return Err(self.finding("working with the power on", &why));
            }
            Ended::Gone(_) => {}
            Ended::Wrong(what) => return Err(self.finding("working", &what)),
        }
        self.volume.power_off();
        store.abandon();
        self.figures.with_unanswered += u64::from(self.ledger.model.unanswered() > 0);
        self.lose_power();
        Ok(())
    }

    fn work_and_close(&mut self, store: S::Store, steps: u64) -> Result<(), Box<Finding>> {
        let steps = self.ledger.rng.random_range(1..=steps);
        match self.work(&store, steps, true) {
            Ended::Done => {}
            Ended::Gone(why) | Ended::Wrong(why) => return Err(self.finding("working", &why)),
        }
        self.figures.closes += 1;
        store
            .close()
            .map_err(|e| self.finding("closing", &e.to_string()))
    }

    /// The machine after a power loss with a random outcome.
    fn lose_power(&mut self) {
        self.volume.power_off();
        let outcome = draw_outcome(&self.volume, &mut self.ledger.rng);
        self.ledger
            .trace
            .push(format!("-- power lost: {outcome:?}"));
        self.volume = self.volume.crash(&outcome);
        self.figures.crashes += 1;
    }

    /// Opens the store, with power losses on the way now and then.
    fn recover(&mut self) -> Result<S::Store, Box<Finding>> {
        for _ in 0..2 {
            if !self.ledger.rng.random_ratio(1, 3) {
                break;
            }
            let nth = self.ledger.rng.random_range(1..=40);
            self.volume
                .inject(Fault::new(Ops::Changes, Effect::PowerLoss).nth(nth));
            let opened = self
                .subject
                .open(Arc::new(self.volume.clone()), &self.layout);
            match opened {
                Ok(store) => store.abandon(),
                Err(Failure::Gone(_)) if !self.volume.is_powered() => {}
                Err(other) => return Err(self.finding("recovering", &other.to_string())),
            }
            self.figures.in_recovery += 1;
            self.lose_power();
        }
        let opened = self
            .subject
            .open(Arc::new(self.volume.clone()), &self.layout);
        opened.map_err(|e| self.finding("recovering", &e.to_string()))
    }

    fn compare(&mut self, store: &S::Store) -> Result<(), Box<Finding>> {
        let found = store
            .read_all()
            .map_err(|e| self.finding("reading all", &e.to_string()))?;
        self.judge(&found)
            .map_err(|e| self.finding("comparing", &e.0))?;
        store
            .audit()
            .map_err(|e| self.finding("auditing", &e.to_string()))?;
        self.ledger.model.adopt(found);
        Ok(())
    }

    fn judge(&mut self, found: &State) -> Result<(), Violation> {
        let outcome = self.ledger.model.check(found)?;
        self.figures.happened += outcome.happened;
        self.figures.vanished += outcome.vanished;
        Ok(())
    }

    fn finding(&self, place: &str, what: &str) -> Box<Finding> {
        Box::new(Finding {
            seed: self.seed,
            place: format!("cycle {}, {place}", self.cycle),
            what: format!(
                "{what}\nlayout {:?}\nmix {:?}",
                self.layout, self.ledger.mix
            ),
            steps: self.ledger.trace.lines(),
        })
    }
}

/// The outcome for unsynced operations: mostly random, else one of the named outcomes.
pub(crate) fn draw_outcome(volume: &SimVolume, rng: &mut SeededRng) -> Crash {
    let seed = rng.random();
    match rng.random_range(0..100) {
        0..40 => Crash::Random { seed },
        40..50 => Crash::Torn { seed },
        50..60 => Crash::Unreadable { seed },
        60..68 => Crash::DropAll,
        68..72 => Crash::KeepAll,
        _ => volume
            .outcomes()
            .choose(rng)
            .cloned()
            .unwrap_or(Crash::DropAll),
    }
}
