//! Database snapshots: CREATE DATABASE ... AS SNAPSHOT OF.
//!
//! A snapshot is a read-only database. Its pages are those of its source at one LSN: a page lies in the
//! snapshot's sparse file if the source has overwritten it since, and else in the source's data file. The
//! mechanism, and why no page is ever missed, is in `furrow_pool`'s module `snapshot`; here is how a snapshot
//! becomes a database.
//!
//! # Invariants
//! 1. *A snapshot in the list is whole.* The list says CREATING until every image is durable and the sparse
//!    files say so themselves. A crash before that removes the files.
//! 2. *The source is never opened without its snapshots.* Before a database is opened, its snapshots are
//!    resumed. One that cannot be resumed is noted as stale in the list, durably, before the source is
//!    opened: it stays SUSPECT, whatever comes back later.
//! 3. *The source outlives its snapshots.* While it has snapshots it is not dropped or detached (3709), not
//!    restored, renamed, taken offline, and no data file is removed from it (5094). It may grow, shrink, and
//!    get files. A file that becomes shorter gives its tail to the snapshots first; a new file has no page of
//!    them.
//! 4. *A snapshot is transactionally consistent.* What was not committed at the split is rolled back on its
//!    own pages, as for a check ([`crate::checking`]), before it is whole.
//! 5. *A snapshot ends alone.* One that fails (a full disk, an unreadable file) is SUSPECT; the source goes
//!    on.
//!
//! # A revert
//! RESTORE DATABASE ... FROM DATABASE_SNAPSHOT writes the images back ([`revert`]):
//! 1. Each page without an image is read: unless it was free, it must be the page of the split (3420).
//!    The headers of the data files and the boot page get images where they have none, since 4 changes them,
//!    and data files that are shorter than they were get their length: a full disk ends the revert here.
//! 2. The list says REVERTING, and names the snapshot and the greatest LSN of the database. From here on only
//!    the revert itself, which a start of the instance does again, opens the database.
//! 3. Images are written to the data files, which get their lengths as of the split; the double-write files
//!    are removed.
//! 4. The boot page becomes that of a clean shutdown behind the greatest LSN, without a log chain; all is
//!    made durable, and the log file is removed.
//! 5. The database is opened beside its snapshot, and gets a new log. Files that were added behind the split
//!    are removed. The list says WHOLE.
//!
//! While a revert is not complete its snapshot cannot be dropped (3702): the pages of the source are nowhere
//! else. The source can; its snapshot is stale then, and belongs to no database any more.
//!
//! Every step can be done again: no image changes, and the snapshot is maintained whenever the database is
//! open.
//!
//! Proofs: 1, 2, 4: `a_snapshot_reads_the_same_after_every_power_loss`. 3: the golden script
//! `snapshot_errors`. 5: `a_full_disk_ends_the_snapshot_and_not_the_source`. Reverts:
//! `a_revert_can_be_cut_short_anywhere`.

mod create;
mod failure;
mod open;
mod revert;

pub(crate) use create::create;
pub(crate) use failure::Failure;
pub(crate) use open::{NotResumed, Resumed, open, resume};
pub(crate) use revert::{last_lsn, prepare, prove, write_back};
