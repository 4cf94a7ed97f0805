//! What a backup needs of an open database, and what a restore puts back.
//!
//! # A full backup
//! 1. `Database::begin_backup` keeps files from being added, removed and made smaller (3023), holds the log
//!    where it is, and takes a checkpoint. Every page in the files then has all changes before the redo
//!    point.
//! 2. The caller reads the allocated extents ([`BackupSource::allocated`], [`BackupSource::read`]) while the
//!    database is written. Each page is whole (`furrow_pool::Pool::read_from_file`), and of some moment since
//!    the checkpoint.
//! 3. [`BackupSource::next_round`] hands out the log from the oldest transaction that was active, up to its
//!    end at the call, and names pages that must be copied again or for the first time: see [`coverage`]. The
//!    caller copies them and calls again, until none is named. The last round ends the log of the backup.
//!
//! # Why that is enough
//! A restore (`instance::restore`) puts the pages and the log in place and opens the database as after a
//! crash. Redo begins at the checkpoint's redo point.
//! 1. A page that was copied is not older than the redo point, and not newer than the end of the log: the log
//!    is made durable, and its end is taken, after the page was read; a page that is in the file has no LSN
//!    beyond the durable log.
//! 2. A page that was not copied is either rebuilt by the log or not changed by it.
//! 3. Transactions without an end in the log are rolled back: their records are all there.
//!
//! # A differential backup
//! It copies what has changed since its base (see `base`), and the log as above. A restore puts its
//! pages over those of the base, and its log in the place of the base's log: a page that is not in it
//! is as it was at the redo point.
//!
//! So the copy has every commit that is in the log at its end, and no part of any other transaction.

mod base;
mod chain;
pub(crate) mod coverage;
mod origin;
mod page_restore;
mod source;
mod stop;

pub(crate) use chain::chain_of;
pub use origin::SourceFile;
pub(crate) use origin::{ClosedDatabase, Origin};
pub use page_restore::{MOST_RESTORED_PAGES, PageRestore, PageSource, page_of_text};
pub use source::{BackupFacts, BackupScope, BackupSource, WriterCounts, WriterGauge};
pub use stop::{StopPoint, StopSearch};
