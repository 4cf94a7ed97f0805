//! Modelled disk arrays, throttled volumes, and the measurement of real targets.
//!
//! # Purpose
//! A machine rarely has spare arrays. This crate puts a model of one behind the traits of `furrow_io`: the
//! bytes stay in the real files (or in memory, or in the crash simulation), and the time of each request
//! comes from the model. The same model runs alone in virtual time for experiments on raw requests.
//!
//! | part | job |
//! |---|---|
//! | [`raid`] | the drive that has certain bytes; requests that cross a stripe unit |
//! | [`profile`], [`device`] | the properties of a drive; the time of one operation |
//! | [`array`] | controller, caches, paths, queues: a discrete-event simulation in nanoseconds |
//! | [`placement`] | the position of a file's bytes on the array: partition offset and allocation unit |
//! | [`spec`] | the text form: `DIR,model=raid10:4x15k,stripe=64K,offset=63s` |
//! | [`volume`] | a `Volume` whose requests take the modelled time |
//! | [`load`] | a load of raw requests, on a model in virtual time or on a real target |
//! | [`grid`] | the design of the experiment on raw requests |
//! | [`published`] | published measurements of partition alignment, and the model's results for them |
//!
//! # Invariants
//! 1. A modelled result is always labelled: [`load::Measurement::source`] is part of every result, and the
//!    text form of an array begins with the word "model":
//!    `a_model_says_that_it_is_one_and_the_same_seed_prints_the_same`.
//! 2. The same specification, load and seed give the same completions at the same nanoseconds.
//!    `load::tests::the_same_seed_gives_the_same_journal` proves it.
//! 3. No request completes before it was submitted, and every submitted request completes exactly once;
//!    [`array::Array`] asserts both.
//! 4. A modelled volume changes the time of operations and nothing else: bytes, errors and durability are
//!    those of the real volume. `tests/seam.rs` runs the tests of `furrow_io`'s promises on it.
//!
//! # What the model leaves out
//! Rows of RAID 5 and 6 are not locked against each other; a write-back cache does not merge overwrites;
//! drives never fail; a sector is never remapped.
//!
//! # What can fail
//! A text that describes no array ([`spec::SpecError`]); the real volume; a real target ([`load`]).

pub mod array;
pub mod device;
pub mod grid;
pub mod load;
pub mod placement;
pub mod profile;

pub mod published;
pub mod raid;
pub mod spec;
pub mod volume;

pub use array::{Array, ArraySpec, Direction, Request};
pub use spec::{SpecError, VolumeSpec};
pub use volume::{ModelledVolume, Pace};

/// A page of a data file.
pub const PAGE_BYTES: u64 = 8192;
/// The sector in which partition offsets are counted.
pub const SECTOR_BYTES: u64 = 512;
