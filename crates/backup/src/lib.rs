//! Striped backup and restore.
//!
//! # Parts
//! - `media`: the bytes of a stripe: read, written, verified. It uses no types of the engine.
//! - `run`: a backup of an open database: two readers for each volume, a ring of buffers, compression
//!   workers, one writer for each stripe.
//! - `restore`: stripes are read in parallel, files are written in parallel, then the engine recovers the
//!   database.
//! - `chain`: the sets that a restore needs, from media alone; the script of such a restore.
//!
//! # Invariants
//! 1. A backup set is complete only when every stripe ends with its tail. The tails are written after all
//!    other
//!    bytes of all stripes are durable (`run::finish`).
//! 2. Every byte of a stripe is covered by a checksum, padding included (`media`).
//! 3. A restored database has every commit that was acknowledged before the backup's last log record, and no
//!    part of another: see `furrow_engine`'s module `backup`.
//! 4. Memory is BUFFERCOUNT times MAXTRANSFERSIZE, twice that with compression, and a constant for each
//!    thread.
//!
//! Proofs, by the invariant's number: 1: `a_stripe_cut_anywhere_is_refused`. 2:
//! `a_header_reads_back_and_any_flipped_bit_of_the_unit_is_found`, `any_flipped_bit_is_refused`. 3:
//! `a_backup_under_writers_and_loads_restores_whole_transactions_and_checks_clean`. 4: `run::pipeline`
//! creates all buffers before the first read.
//!
//! # What can fail
//! [`BackupError`]: SQL Server's messages, the cause first. The caller adds 3013, which names the statement.

pub mod chain;
mod error;
mod keys;
pub mod media;
mod restore;
mod run;

pub use error::BackupError;
pub use keys::{KeyError, KeyRing};
pub use restore::{
    MediaSet, RestoreReport, RestoreRequest, recover_only, restore_database, restore_files,
    restore_log, restore_pages, space_warnings, stay_restoring, verify,
};
pub use run::{
    BackupReport, BackupRequest, BufferFigures, Device, FilePages, Listener, MAX_TRANSFER_BYTES,
    MIN_TRANSFER_BYTES, Parts, Step, Throttle, backup_closed_log, backup_database, backup_log,
    backup_tail,
};
