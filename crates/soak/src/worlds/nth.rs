//! The N-th operation of a world fails, N from 1 until there is no N-th any more.
//!
//! Either the engine reports the failure, and the next open leads to a state that the model allows; or the
//! failure is not noticed, and all rows are right. After every second failure the power goes as well, and
//! everything that was not synced is lost.

use super::player::{Played, Player};
use super::{Ground, World, finding};
use crate::Finding;
use crate::faults::{KINDS, Kind, Met};
use crate::model::Model;
use furrow_io::sim::{Crash, Fault};
use parking_lot::Mutex;
use std::sync::Arc;

/// The results of the failures of a world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Outcomes {
    /// The engine reported the failure.
    pub reported: u64,
    /// The failure was not noticed.
    pub unnoticed: u64,
}

/// Every `stride`-th failure of a world, beginning with `first` (from 0).
pub fn fail_everywhere(world: &World, stride: u64, first: u64) -> Result<Outcomes, Box<Finding>> {
    let ground = Ground::new(world)?;
    let mut all = Outcomes::default();
    for kind in KINDS {
        for sticky in [false, true] {
            for nth in (1 + first % stride..).step_by(stride as usize) {
                match ground.with_fault(kind, nth, sticky)? {
                    Met::Never => break,
                    Met::Reported => all.reported += 1,
                    Met::Unnoticed => all.unnoticed += 1,
                }
            }
        }
    }
    Ok(all)
}

impl Ground<'_> {
    fn with_fault(
        &self,
        (name, ops, effect): Kind,
        nth: u64,
        sticky: bool,
    ) -> Result<Met, Box<Finding>> {
        let machine = self.volume.fork();
        let model = Arc::new(Mutex::new(self.model.clone()));
        let place = Mutex::new("opening".to_owned());
        let fault = Fault::new(ops, effect).nth(nth);
        machine.inject(if sticky { fault.sticky() } else { fault });
        let mut player = Player::new(&self.engine, &machine, self.world, &model, true);
        let mut ended = match player.open() {
            Ok(store) => player.play(store, &self.world.steps, &|step| *place.lock() = step),
            Err(failure) => ended(failure),
        };
        let refused = player.refused > 0;
        if ended == Played::Done {
            *place.lock() = "closing".to_owned();
            ended = match player.close() {
                Ok(()) => Played::Done,
                Err(failure) => self::ended(failure),
            };
        } else {
            player.abandon();
        }
        let often = if sticky { "from then on" } else { "once" };
        let place = place.into_inner();
        let place = format!("{name} at operation {nth}, {often}; it came to {place}");
        let found = |what: String| Err(finding(self.world, &place, what));
        if let Played::Wrong(what) = &ended {
            return found(what.clone());
        }
        let met = machine.counts().matching(ops) >= nth;
        if !met && (ended != Played::Done || refused) {
            return found(format!("without a fault: {ended:?}"));
        }
        machine.heal();
        machine.kill_process();
        let model: Model = model.lock().clone();
        let after = match nth % 2 {
            0 => machine,
            _ => machine.crash(&Crash::DropAll),
        };
        if let Err(what) = self.judge(&after, &model) {
            return found(format!("{what}\nbefore: {ended:?}"));
        }
        Ok(match (met, ended) {
            (false, _) => Met::Never,
            (true, Played::Done) if !refused => Met::Unnoticed,
            _ => Met::Reported,
        })
    }
}

fn ended(failure: crate::subject::Failure) -> Played {
    use crate::subject::Failure;
    match failure {
        Failure::Gone(why) | Failure::Full(why) => Played::Gone(why),
        other => Played::Wrong(other.to_string()),
    }
}
