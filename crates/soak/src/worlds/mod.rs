//! Small worlds: short fixed workloads, tried with every power loss and every failure.
//!
//! Random tests find cases that their authors did not think of; enumeration leaves no case out. A [`World`]
//! is a few dozen steps, each with its expected result. Nothing in it is random: the rows, their sizes and
//! their order are fixed.
//!
//! # Two ways through a world
//! 1. [`boundary`]: at every sync and durable write the machine is taken as it is, and the power goes: none
//!    of what was not synced survives, all of it, each single operation, all but each, every prefix, first
//!    and second halves, headers only, all but headers, each file alone, all but each file.
//! 2. [`nth`]: the N-th read, write, sync, resize, creation fails, N from 1 until there is no N-th any
//!    more; once, and from then on.
//!
//! After each the database is opened, every row read through every index and compared with the model, and
//! its pages are checked from the bytes of the files.

pub mod boundary;
mod list;
pub mod nth;
mod player;
mod steps;

pub use list::{all, of_reuse};
pub use steps::{Size, Step, World};

use crate::Finding;
use crate::engine::Engine;
use crate::model::Model;
use crate::subject::{Failure, Store, Subject};
use furrow_io::SimVolume;
use furrow_io::sim::SimOptions;
use parking_lot::Mutex;
use player::{Played, Player};
use std::sync::Arc;

/// A world that is created and at rest: its initial state.
#[derive(Debug)]
pub struct Ground<'w> {
    engine: Engine,
    world: &'w World,
    volume: SimVolume,
    model: Model,
}

impl<'w> Ground<'w> {
    /// Makes the database and does the steps before the first.
    pub fn new(world: &'w World) -> Result<Ground<'w>, Box<Finding>> {
        let engine = Engine::default();
        let volume = SimVolume::new(SimOptions::default());
        let shared = Arc::new(Mutex::new(Model::new()));
        let made = engine
            .create(Arc::new(volume.clone()), &world.layout)
            .map_err(|e| finding(world, "making it", e.to_string()))?;
        let mut player = Player::new(&engine, &volume, world, &shared, false);
        let ended = player.play(made, &world.before, &|_| {});
        if ended != Played::Done {
            return Err(finding(world, "what comes before", format!("{ended:?}")));
        }
        player
            .close()
            .map_err(|e| finding(world, "closing", e.to_string()))?;
        Ok(Ground {
            engine,
            world,
            volume,
            model: shared.lock().clone(),
        })
    }

    /// Opens what a machine holds, and compares it with what the model allows.
    fn judge(&self, machine: &SimVolume, model: &Model) -> Result<(), String> {
        let opened = self
            .engine
            .open(Arc::new(machine.clone()), &self.world.layout);
        let store = opened.map_err(|e| format!("opening: {e}"))?;
        self.compare(&store, model)?;
        store.close().map_err(|e| format!("closing: {e}"))
    }

    fn compare(&self, store: &impl Store, model: &Model) -> Result<(), String> {
        let at_place = |place: &str, e: Failure| format!("{place}: {e}");
        let state = store.read_all().map_err(|e| at_place("reading all", e))?;
        model
            .check(&state)
            .map_err(|e| format!("comparing: {}", e.0))?;
        store.audit().map_err(|e| at_place("auditing", e))
    }
}

fn finding(world: &World, place: &str, what: String) -> Box<Finding> {
    Box::new(Finding {
        seed: 0,
        place: format!("world '{}', {place}", world.name),
        what,
        steps: Vec::new(),
    })
}
