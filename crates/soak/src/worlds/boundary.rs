//! The power goes at every moment of a world that makes a difference, with every named outcome.
//!
//! 1. The world runs once. Just before each sync and each durable write takes effect, a copy of the machine
//!    and of the model is taken. Between two of these moments nothing new becomes certain, so a power loss at
//!    any other time leaves a state that one at the next of them may leave, too.
//! 2. Of each machine every named outcome is taken, opened and compared with its model. The write of the log
//!    that is in progress gets holes as well: everything is written but one sector of it.
//! 3. While the first two of them, nothing and everything, are opened, copies of the machine are taken as
//!    well, and the power goes a second time. The same happens where one of several writes of the log was
//!    lost and a later one was not: what comes after the end of the log must not become part of it again.

use super::player::{Played, Player};
use super::{Ground, World, finding};
use crate::Finding;
use crate::model::Model;
use crate::subject::{Store, Subject};
use furrow_io::SimVolume;
use furrow_io::sim::{Crash, HOLE_BYTES};
use parking_lot::Mutex;
use std::sync::Arc;

/// Holes that are tried in one write.
const MOST_HOLES: usize = 12;

/// How much of a world is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// Every so-manieth moment, beginning with `first`.
    pub stride: usize,
    /// See `stride`.
    pub first: usize,
    /// Whether the power goes a second time while the database is opened.
    pub twice: bool,
}

impl Share {
    /// All of it.
    pub const WHOLE: Share = Share {
        stride: 1,
        first: 0,
        twice: true,
    };
}

/// What was tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Explored {
    /// Moments at which something became durable.
    pub moments: u64,
    /// Power losses at these, each with another outcome.
    pub crashes: u64,
    /// Power losses while the database was opened.
    pub in_recovery: u64,
}

impl Explored {
    /// Adds another's.
    pub fn add(&mut self, other: &Explored) {
        self.moments += other.moments;
        self.crashes += other.crashes;
        self.in_recovery += other.in_recovery;
    }
}

/// A machine put aside.
struct Moment {
    machine: SimVolume,
    model: Model,
    place: String,
}

/// Tries a world.
pub fn explore(world: &World, share: Share) -> Result<Explored, Box<Finding>> {
    let ground = Ground::new(world)?;
    let moments = ground.moments()?;
    let mut explored = Explored {
        moments: moments.len() as u64,
        ..Explored::default()
    };
    for (number, moment) in moments.into_iter().enumerate() {
        if number % share.stride != share.first % share.stride {
            continue;
        }
        let under_way = ground.log_writes(&moment.machine);
        let holes = holes(&under_way);
        for outcome in moment.machine.outcomes().into_iter().chain(holes) {
            let after = moment.machine.crash(&outcome);
            explored.crashes += 1;
            let gap = |op: u64| under_way.len() > 1 && under_way.iter().any(|w| w.0 == op);
            let twice = match outcome {
                Crash::DropAll | Crash::KeepAll => share.twice,
                Crash::AllButOp(op) => gap(op),
                _ => false,
            };
            let judged = match twice {
                true => ground.judge_watching(&after, &moment.model, &mut explored),
                false => ground.judge(&after, &moment.model),
            };
            if let Err(what) = judged {
                let place = format!("{}, moment {number}, {outcome:?}", moment.place);
                return Err(finding(world, &place, what));
            }
        }
    }
    Ok(explored)
}

/// Outcomes with one sector of one of these writes missing, where it has several.
fn holes(writes: &[(u64, usize)]) -> Vec<Crash> {
    let mut holes = Vec::new();
    for &(op, bytes) in writes {
        let units = bytes.div_ceil(HOLE_BYTES);
        let step = units.div_ceil(MOST_HOLES).max(1);
        if units > 1 {
            holes.extend(
                (0..units)
                    .step_by(step)
                    .map(|unit| Crash::AllButUnit { op, unit }),
            );
        }
    }
    holes
}

impl Ground<'_> {
    /// The writes of the log that are not durable.
    fn log_writes(&self, machine: &SimVolume) -> Vec<(u64, usize)> {
        machine.unsynced_in(&self.engine.home.join("v1").join("log.ldf"))
    }

    /// Goes through the world once; the machines at each moment, and at the end.
    fn moments(&self) -> Result<Vec<Moment>, Box<Finding>> {
        let machine = self.volume.fork();
        let model = Arc::new(Mutex::new(self.model.clone()));
        let place = Arc::new(Mutex::new(String::new()));
        let aside: Arc<Mutex<Vec<Moment>>> = Arc::default();
        let (of_model, of_place, to) = (Arc::clone(&model), Arc::clone(&place), Arc::clone(&aside));
        let mut player = Player::new(&self.engine, &machine, self.world, &model, false);
        let amid = player.amid();
        machine.on_boundary_of(move |file, machine| {
            let (model, place) = (of_model.lock().clone(), of_place.lock().clone());
            to.lock().push(Moment {
                machine,
                model,
                place,
            });
            let is_data = file.extension().is_some_and(|e| e == "mdf" || e == "ndf");
            let work = if is_data { amid.lock().take() } else { None };
            if let Some(work) = work {
                work();
            }
        });
        let opened = player.open();
        let opened = opened.map_err(|e| finding(self.world, "opening", e.to_string()))?;
        let ended = player.play(opened, &self.world.steps, &|step| *place.lock() = step);
        if ended != Played::Done {
            return Err(finding(
                self.world,
                "without any fault",
                format!("{ended:?}"),
            ));
        }
        let last = Moment {
            machine: machine.fork(),
            model: model.lock().clone(),
            place: "after the last step".to_owned(),
        };
        *place.lock() = "closing".to_owned();
        player
            .close()
            .map_err(|e| finding(self.world, "closing", e.to_string()))?;
        let mut moments = std::mem::take(&mut *aside.lock());
        moments.push(last);
        Ok(moments)
    }

    /// As `judge`, and the power goes again at every moment of the opening, with the outcomes nothing,
    /// everything, first halves and headers.
    fn judge_watching(
        &self,
        after: &SimVolume,
        model: &Model,
        explored: &mut Explored,
    ) -> Result<(), String> {
        let machine = after.fork();
        let aside: Arc<Mutex<Vec<SimVolume>>> = Arc::default();
        let to = Arc::clone(&aside);
        machine.on_boundary(move |machine| to.lock().push(machine));
        let opened = self
            .engine
            .open(Arc::new(machine.clone()), &self.world.layout);
        let store = opened.map_err(|e| format!("opening: {e}"))?;
        // Work after the opening is not part of this test.
        let moments = std::mem::take(&mut *aside.lock());
        self.compare(&store, model)?;
        store.abandon();
        for (number, moment) in moments.iter().enumerate() {
            for outcome in [
                Crash::DropAll,
                Crash::KeepAll,
                Crash::FirstHalves,
                Crash::HeadersOnly,
            ] {
                explored.in_recovery += 1;
                self.judge(&moment.crash(&outcome), model)
                    .map_err(|what| format!("moment {number} of opening, {outcome:?}: {what}"))?;
            }
        }
        Ok(())
    }
}
