//! A share of everything, in the order in which it finds most for its time; and the faults that prove it.
//!
//! The share runs against each fault ordered by name ([`furrow_io::mutation`]): if none of its parts finds
//! it, a test is missing.

use crate::crash::Length;
use crate::engine::Engine;
use crate::worlds::boundary::{self, Share};
use crate::worlds::nth;
use crate::{Finding, backups, crash, directed, faults, isolation, kill, rot, threads, worlds};
use furrow_engine::Isolation;
use std::path::PathBuf;

/// The isolation levels of the histories.
pub const LEVELS: [Isolation; 4] = [
    Isolation::ReadUncommitted,
    Isolation::ReadCommitted,
    Isolation::RepeatableRead,
    Isolation::Serializable,
];

/// A part of the share: its name, and what it does with a seed.
pub type Part = (&'static str, fn(u64) -> Result<(), Box<Finding>>);

/// All parts, each a few seconds long.
pub const PARTS: [Part; 11] = [
    ("power losses at random", random_crashes),
    ("small worlds", small_worlds),
    ("small worlds of reuse", worlds_of_reuse),
    ("rotten pages", rotten_pages),
    ("the N-th failure in small worlds", failures),
    ("scenes", directed::run),
    ("backups", backups_and_restores),
    ("histories", histories),
    ("threads and power losses", threads_cut_off),
    ("more power losses at random", more_crashes),
    ("the N-th failure at random", random_failures),
];

fn random_crashes(seed: u64) -> Result<(), Box<Finding>> {
    many_crashes(seed, 16)
}

fn more_crashes(seed: u64) -> Result<(), Box<Finding>> {
    many_crashes(seed.wrapping_add(1_000), 60)
}

/// The parts, the one of this name before the others.
pub fn parts(first: Option<&str>) -> Vec<Part> {
    let mut parts = PARTS.to_vec();
    parts.sort_by_key(|part| Some(part.0) != first);
    parts
}

fn many_crashes(seed: u64, runs: u64) -> Result<(), Box<Finding>> {
    let one = |n| crash::run(&Engine::default(), seed.wrapping_add(n), Length::default());
    (0..runs).try_for_each(|n| one(n).map(|_| ()))
}

fn small_worlds(seed: u64) -> Result<(), Box<Finding>> {
    let share = Share {
        stride: 6,
        first: seed as usize % 6,
        twice: false,
    };
    let mut all = worlds::all().into_iter();
    all.try_for_each(|world| boundary::explore(&world, share).map(|_| ()))
}

fn worlds_of_reuse(seed: u64) -> Result<(), Box<Finding>> {
    let share = Share {
        stride: 3,
        first: seed as usize % 3,
        twice: false,
    };
    let mut all = worlds::of_reuse().into_iter();
    all.try_for_each(|world| boundary::explore(&world, share).map(|_| ()))
}

fn failures(seed: u64) -> Result<(), Box<Finding>> {
    let mut all = worlds::all().into_iter();
    all.try_for_each(|world| nth::fail_everywhere(&world, 23, seed % 23).map(|_| ()))
}

fn rotten_pages(seed: u64) -> Result<(), Box<Finding>> {
    (0..6).try_for_each(|n| rot::run(seed.wrapping_add(n)).map(|_| ()))
}

/// Some runs, and more until each kind of restore has been among them: the rare ones come once in eight.
fn backups_and_restores(seed: u64) -> Result<(), Box<Finding>> {
    let mut all = backups::Figures::default();
    for n in 0..100 {
        all.add(&backups::run(seed.wrapping_add(n))?);
        let rare = [all.stopped, all.pages, all.pieces, all.bases];
        if n >= 11 && rare.iter().all(|&times| times >= 2) {
            break;
        }
    }
    Ok(())
}

fn histories(seed: u64) -> Result<(), Box<Finding>> {
    for n in 0..3 {
        for level in LEVELS {
            isolation::run(&isolation::Shape::of(level), seed.wrapping_add(n))?;
            isolation::run_registers(level, seed.wrapping_add(n))?;
        }
    }
    Ok(())
}

fn threads_cut_off(seed: u64) -> Result<(), Box<Finding>> {
    for (n, threads) in (0..).zip([2, 4, 16]) {
        threads::run(&Engine::default(), seed.wrapping_add(n), threads, 8)?;
    }
    Ok(())
}

fn random_failures(seed: u64) -> Result<(), Box<Finding>> {
    faults::run(&Engine::default(), seed, 13).map(|_| ())
}

/// Real processes, killed: `program` is this one.
pub fn kills(program: PathBuf, home: PathBuf, seed: u64) -> Result<(), Box<Finding>> {
    let rounds = kill::Rounds {
        program,
        home,
        seed,
        rounds: 10,
        threads: 16,
    };
    kill::run(&rounds, &|_| {}).map(|_| ())
}
