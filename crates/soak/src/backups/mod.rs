//! Backups and restores under power losses.
//!
//! # A run
//! 1. Writers work on a database, each on a table of its own. What a writer's transaction does follows from
//!    its number, so the rows after any number of transactions are known ([`writers`]).
//! 2. Between the work: full, COPY_ONLY, differential and log backups to some stripes, packed or not, half of
//!    them beside the writers' threads; checkpoints; orderly ends; power losses in the middle of any of it.
//! 3. Now and then a chain is restored to another database ([`chain`]): a full backup, perhaps a differential
//!    one, log backups. The power goes in the middle of some restores. What is half restored must not be
//!    taken for whole, nor take a log backup that does not go on where it is; then the restore begins again.
//! 4. Some of these restores stop at a moment between transactions, or take a file from a backup of its own.
//!    Some restore the primary filegroup first, and the other one beside the open copy, or after a power
//!    loss in any step of that. Some leave the copy in standby between two steps. Pages of the database in
//!    use are restored beside the writers.
//!
//! # What must hold
//! 1. A restored database has, of each writer, all transactions that were acknowledged before its last backup
//!    began, perhaps those that began before the backup ended, no part of another. Its pages check clean.
//! 2. A backup that was acknowledged restores after every power loss.
//! 3. A differential backup is refused over another base than its own (3136).
//! 4. A restore that stops at a moment has the transactions of that moment, all of them and no other.
//! 5. Pages that are restored beside the writers change nothing that can be seen.
//! 6. A stripe with a flipped bit is refused, by RESTORE VERIFYONLY and by RESTORE.
//!
//! A run is decided by its seed, but for how threads take turns.

mod chain;
mod machine;
mod media;
mod parts;
mod pieces;
mod plan;
mod writers;

use crate::Finding;
use crate::model::State;
use crate::subject::{Failure, FullBackups, Layout, Store as _};
use furrow_format::RecoveryModel;
use furrow_io::random::{Rng, SeededRng, seeded};
use furrow_io::sim::{Crash, Effect, Fault, Ops};
use furrow_io::time::WallTime;
use machine::Machine;
use media::{Taken, Wanted};
use plan::{Plan, Still};
use std::path::PathBuf;
use writers::Writers;

/// Steps of a run.
const STEPS: u32 = 14;
/// A step that is to fail does so at one of so many changes of the disk.
const MOST_CHANGES: u64 = 120;

/// What a run, or many, came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Figures {
    /// Backups that were acknowledged.
    pub backups: u64,
    /// Chains restored and compared.
    pub restores: u64,
    /// Power losses.
    pub crashes: u64,
    /// Power losses in the middle of a restore.
    pub in_restore: u64,
    /// Stripes that were damaged, and refused.
    pub damaged: u64,
    /// Restores that stopped at a time.
    pub stopped: u64,
    /// Restores with a file of its own.
    pub files: u64,
    /// Restores of pages into the database in use.
    pub pages: u64,
    /// Restores of the primary filegroup first.
    pub pieces: u64,
    /// Restores WITH STANDBY.
    pub standby: u64,
    /// Differential backups that were refused over a full one from before them, for their base alone.
    pub bases: u64,
}

impl Figures {
    /// Adds another's.
    pub fn add(&mut self, other: &Figures) {
        self.backups += other.backups;
        self.restores += other.restores;
        self.crashes += other.crashes;
        self.in_restore += other.in_restore;
        self.damaged += other.damaged;
        self.stopped += other.stopped;
        self.files += other.files;
        self.pages += other.pages;
        self.pieces += other.pieces;
        self.standby += other.standby;
        self.bases += other.bases;
    }
}

/// A backup without an answer: its kind, its stripes, transactions before and after.
type Unanswered = (Wanted, Vec<PathBuf>, WallTime, Vec<u64>, Vec<u64>);

struct Run {
    rng: SeededRng,
    machine: Machine,
    writers: Writers,
    taken: Vec<Taken>,
    /// Moments between transactions.
    stills: Vec<Still>,
    /// A backup in the middle of which the power went.
    unanswered: Option<Unanswered>,
    figures: Figures,
    steps: Vec<String>,
}

fn draw_layout(rng: &mut SeededRng) -> Layout {
    Layout {
        files: rng.random_range(1..=3),
        pool_pages: [128, 192, 512][rng.random_range(0..3)],
        full_backups: FullBackups::Sometimes,
        waits_for_locks: true,
        ..Layout::draw(rng)
    }
}

/// One run.
pub fn run(seed: u64) -> Result<Figures, Box<Finding>> {
    let mut rng = seeded(seed);
    let finding = |place: &str, what: String, steps: Vec<String>| {
        let place = place.to_owned();
        Box::new(Finding {
            seed,
            place,
            what,
            steps,
        })
    };
    let model = match rng.random_ratio(1, 3) {
        true => RecoveryModel::Simple,
        false => RecoveryModel::Full,
    };
    let layout = draw_layout(&mut rng);
    let machine = Machine::create(&layout, model);
    let machine = machine.map_err(|e| finding("create", e.to_string(), Vec::new()))?;
    let writers = Writers::new(seed, &machine);
    let writers = writers.map_err(|e| finding("create", e.to_string(), Vec::new()))?;
    let mut run = Run {
        rng,
        machine,
        writers,
        taken: Vec::new(),
        stills: Vec::new(),
        unanswered: None,
        figures: Figures::default(),
        steps: vec![format!("{layout:?} {model:?}")],
    };
    for step in 0..STEPS {
        let done = run.step();
        let place = format!("step {step}");
        done.map_err(|e| finding(&place, e.to_string(), run.steps.clone()))?;
    }
    let ended = run.restore(Crashes::None);
    ended.map_err(|e| finding("the last restore", e.to_string(), run.steps.clone()))?;
    Ok(run.figures)
}

/// A moment later than all before it, and earlier than all behind it.
fn moment() -> WallTime {
    let now = WallTime::now();
    while WallTime::now().unix_us() <= now.unix_us() + 1 {}
    WallTime::from_unix_us(now.unix_us() + 1)
}

/// Whether the power goes in the middle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Crashes {
    None,
    Some,
}

impl Run {
    fn note(&mut self, step: String) {
        self.steps.push(step);
    }

    fn step(&mut self) -> Result<(), Failure> {
        let transactions = self.rng.random_range(1..12);
        for _ in 0..3 {
            self.writers.work(&self.machine, transactions)?;
            self.stills.push(Still {
                at: moment(),
                counts: self.writers.acknowledged(),
            });
        }
        let crash = self.rng.random_ratio(1, 4);
        if crash {
            let nth = self.rng.random_range(1..=MOST_CHANGES);
            self.note(format!("the power will go at change {nth}"));
            let fault = Fault::new(Ops::Changes, Effect::PowerLoss).nth(nth);
            self.machine.volume.inject(fault);
        }
        let done = self.act();
        self.machine.volume.heal();
        match self.machine.volume.is_powered() {
            true => done,
            // An instance may start without the database.
            false => self.lose_power(),
        }
    }

    fn act(&mut self) -> Result<(), Failure> {
        match self.rng.random_range(0..14) {
            0 => {
                self.note("checkpoint".to_owned());
                self.machine.store()?.checkpoint()
            }
            1 => {
                self.note("restart".to_owned());
                self.machine.restart()
            }
            2 | 3 => self.back_up(Wanted::Full),
            4 => self.back_up(Wanted::CopyOnly),
            5 | 6 => self.back_up(Wanted::Differential),
            7 | 8 => self.back_up(Wanted::Log),
            9 => self.damage(),
            10 => self.restore(Crashes::None),
            11 => self.back_up(Wanted::Files),
            12 => self.restore_pages(),
            _ => self.restore(Crashes::Some),
        }
    }

    /// Takes a backup, if there may be one of this kind.
    fn back_up(&mut self, wanted: Wanted) -> Result<(), Failure> {
        let number = self.taken.len();
        let request = media::request(&mut self.rng, (wanted, number));
        let beside = self.rng.random_bool(0.5);
        self.note(format!(
            "backup {number}: {wanted:?}, {} stripes, {:?}, beside writers: {beside}",
            request.devices.len(),
            request.codec
        ));
        let before = self.writers.acknowledged();
        let begun = moment();
        let paths: Vec<PathBuf> = request
            .devices
            .iter()
            .map(furrow_backup::Device::path)
            .collect();
        let machine = &self.machine;
        let done = match beside {
            true => self
                .writers
                .beside(machine, || machine.back_up(wanted, &request)),
            false => machine.back_up(wanted, &request),
        };
        let to = self.writers.begun();
        let report = match done {
            Ok(report) => report,
            Err(failure) => {
                self.unanswered = Some((wanted, paths, begun, before, to));
                return Err(failure);
            }
        };
        let Some(info) = report else {
            self.note("refused".to_owned());
            return Ok(());
        };
        self.figures.backups += 1;
        self.taken.push(Taken {
            wanted,
            paths,
            from: before,
            to,
            span: (begun, moment()),
            set: info.set,
            base: info.base,
        });
        Ok(())
    }

    /// After a power loss: the machine starts again, and the writers go on from what is there.
    fn lose_power(&mut self) -> Result<(), Failure> {
        self.figures.crashes += 1;
        let seed = self.rng.random();
        self.note("the power is gone".to_owned());
        self.machine = self.machine.after(&Crash::Torn { seed })?;
        if let Some((wanted, paths, begun, from, to)) = self.unanswered.take()
            && let Some(info) = self.machine.whole(&paths)
        {
            self.taken.push(Taken {
                wanted,
                paths,
                from,
                to,
                span: (begun, moment()),
                set: info.set,
                base: info.base,
            });
        }
        let state = self.machine.store()?.read_all()?;
        let (from, to) = (self.writers.acknowledged(), self.writers.begun());
        let counts = self.writers.counts(&state, (&from, &to))?;
        self.writers.resume(&counts);
        self.machine.drop_copy()
    }

    /// Restores a chain and compares.
    fn restore(&mut self, crashes: Crashes) -> Result<(), Failure> {
        let Some(plan) = plan::draw(&mut self.rng, &self.taken, &self.stills) else {
            return Ok(());
        };
        self.note(format!("restore {}, power losses: {crashes:?}", plan.words));
        let chain = plan.chain.clone();
        loop {
            if crashes == Crashes::Some && self.rng.random_bool(0.7) {
                let nth = self.rng.random_range(1..=MOST_CHANGES);
                let fault = Fault::new(Ops::Changes, Effect::PowerLoss).nth(nth);
                self.machine.volume.inject(fault);
            }
            let done = self.machine.restore_chain(&plan);
            self.machine.volume.heal();
            match done {
                _ if !self.machine.volume.is_powered() => {
                    self.figures.in_restore += 1;
                    self.lose_power_in_restore(&chain)?;
                }
                Err(failure) => return Err(failure),
                Ok(state) => {
                    self.figures.restores += 1;
                    self.judge(&state, &plan)?;
                    break;
                }
            }
        }
        self.other_base(&chain)?;
        self.machine.drop_copy()
    }

    fn judge(&mut self, state: &State, plan: &Plan) -> Result<(), Failure> {
        self.figures.files += u64::from(plan.file.is_some());
        self.figures.pieces += u64::from(plan.piecemeal);
        self.figures.standby += u64::from(plan.standby);
        if let Some(still) = &plan.stop {
            self.figures.stopped += 1;
            let counts = (&still.counts[..], &still.counts[..]);
            return self.writers.counts(state, counts).map(drop);
        }
        let Some(last) = plan.chain.last() else {
            return Ok(());
        };
        self.writers.counts(state, (&last.from, &last.to)).map(drop)
    }

    /// Restores pages of the database in use, half of the time beside the writers.
    fn restore_pages(&mut self) -> Result<(), Failure> {
        let Some((full, logs)) = parts::since_last_full(&self.taken) else {
            return Ok(());
        };
        let beside = self.rng.random_bool(0.5);
        self.note(format!("restore pages, beside writers: {beside}"));
        let mut rng = seeded(self.rng.random());
        let machine = &self.machine;
        let mut restore = || machine.restore_some_pages(&mut rng, (&full, &logs));
        let done = match beside {
            true => self.writers.beside(machine, restore)?,
            false => restore()?,
        };
        self.figures.pages += u64::from(done);
        let store = self.machine.store()?;
        let state = store.read_all()?;
        store.audit()?;
        let (from, to) = (self.writers.acknowledged(), self.writers.begun());
        self.writers.counts(&state, (&from, &to)).map(drop)
    }

    /// The power went during a restore: nothing half done is taken for whole.
    fn lose_power_in_restore(&mut self, chain: &[Taken]) -> Result<(), Failure> {
        let seed = self.rng.random();
        self.note("the power is gone in the restore".to_owned());
        self.machine = self.machine.after(&Crash::Torn { seed })?;
        if self.rng.random_bool(0.5) {
            self.note("the log backups again".to_owned());
            self.machine.go_on(chain)?;
        }
        let Some(state) = self.machine.recovered_copy(chain)? else {
            return Ok(());
        };
        self.note("a part of the chain was whole".to_owned());
        // It ends with one of the chain's backups, or in one of its log backups.
        let (Some(first), Some(last)) = (chain.first(), chain.last()) else {
            return Ok(());
        };
        self.writers
            .counts(&state, (&first.from, &last.to))
            .map(drop)?;
        self.machine.drop_copy()
    }

    /// Each differential backup over a full one that is not its base. Most are older than the full one, and
    /// would be refused for that.
    fn other_base(&mut self, chain: &[Taken]) -> Result<(), Failure> {
        let Some(full) = chain.first() else {
            return Ok(());
        };
        let strange = |t: &&Taken| t.wanted == Wanted::Differential && t.base != full.set;
        self.taken.iter().filter(strange).try_for_each(|strange| {
            self.machine.drop_copy()?;
            self.machine.refuses_other_base(full, strange)?;
            self.figures.bases += u64::from(strange.span.0 > full.span.1);
            Ok(())
        })
    }

    /// Flips a bit of a stripe: it is refused, and accepted when the bit is put right.
    fn damage(&mut self) -> Result<(), Failure> {
        if self.taken.is_empty() {
            return Ok(());
        }
        // A power loss now would leave the damage there.
        self.machine.volume.heal();
        let number = self.rng.random_range(0..self.taken.len());
        let taken = self.taken[number].clone();
        let stripe = self.rng.random_range(0..taken.paths.len());
        let (at, bit) = (self.rng.random::<u64>(), self.rng.random_range(0..8));
        self.note(format!(
            "damage backup {number}, stripe {stripe}, byte {at} modulo its length"
        ));
        self.machine.flip(&taken.paths[stripe], (at, bit))?;
        let accepted = self.machine.verify(&taken)?;
        self.machine.flip(&taken.paths[stripe], (at, bit))?;
        if accepted {
            let text = format!("backup {number} with a flipped bit was found valid");
            return Err(Failure::Wrong(text));
        }
        self.figures.damaged += 1;
        match self.machine.verify(&taken)? {
            true => Ok(()),
            false => Err(Failure::Wrong(format!(
                "backup {number} is sound and was refused"
            ))),
        }
    }
}
