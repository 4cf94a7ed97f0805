//! Page snapshots: the pages of a database as they were at one LSN, while others change them.
//!
//! A snapshot copies a page before its first change ([`images`]). Everything else is read from the data
//! files. Its users read it through [`SnapshotFile`], which is a [`furrow_io::File`]: the pool can register
//! it as the file of another database, and that database recovers itself on its own copies.
//!
//! A snapshot lives as long as its guard, with *spill files* for what memory has no space for; DBCC CHECKDB
//! takes such a one. Or it outlives the process: CREATE DATABASE ... AS SNAPSHOT OF has a *sparse file* for
//! each data file ([`sparse`]), which holds every image durably. Both are created in the same way.
//!
//! # Terms
//! The *split* is the LSN of a snapshot. A change belongs to the snapshot if its log record lies before the
//! split. In this module the *image* of a page is its before-image: its copy in the snapshot. The *gate*
//! ([`gate`]) is the place in front of a data file where pages pass that are about to be written there.
//!
//! # Invariants
//! 1. *The split is a cut of the log.* A mini-transaction appends one record. It asks for snapshots between
//!    the append and the first change of a page, and compares the record's LSN with the split. So all its
//!    changes belong to the snapshot, or none.
//! 2. *No change slips through.* The creator publishes the snapshot, then reads the log's tail as the split.
//!    The writer appends, then looks for snapshots. A sequentially consistent fence between the two steps of
//!    each side means that the split lies behind the record, or the writer sees the snapshot. A writer that
//!    sees it before the split is known waits for the creator, which holds `turn` for two loads.
//! 3. *An image is taken before the first change behind the split*, under the page's EX latch, and never
//!    replaced by a later state of the page. Debug builds assert that the caller holds the latch EX.
//! 4. *Without an image, the data file is right.* Before the first read,
//!    [`Pool::snapshot`](crate::Pool::snapshot) writes all pages that are dirty. From then on the disk has
//!    every change before the split, and a page that has none behind it is written with the same bytes or not
//!    at all.
//! 5. *A reader reads the file first and looks for an image afterwards.* A write-back of a change behind the
//!    split starts after the image was taken. So a reader that saw a byte of it finds the image.
//! 6. *New pages need no image until they are written.* `Pool::create` reads nothing: a page that is
//!    formatted behind the split holds zeros in memory, and its bytes as of the split are in the file. It
//!    is noted as `Image::OnDisk`. The write-back copies these bytes from the file before it writes
//!    (`Core::rescue`), with no latch held. Extents that were free at the split need no copy.
//! 7. *Changes that are not logged* (checkpoint LSNs in file headers, maps of changed extents) are
//!    compared as behind every split.
//! 8. *Nothing waits under a latch.* An image goes to memory. Writers spill images to a file of the
//!    snapshot when they reserve log space, before their first latch
//!    ([`Pool::spill_snapshots`](crate::Pool::spill_snapshots)).
//! 9. *A snapshot that fails does not stop the database.* A failed spill, rescue or copy ends the snapshot:
//!    its readers get the error.
//! 10. A file that becomes shorter gives its tail to the snapshots first
//!     ([`Pool::preserve_tail`](crate::Pool::preserve_tail)). A file that is removed ends the snapshots of
//!     its database.
//!
//! Of a snapshot that outlives the process:
//!
//! 11. *It is whole or it is removed.* While it is created, images are kept as above, and a crash removes
//!     its files. [`SnapshotGuard::seal`](crate::SnapshotGuard::seal) makes every image durable and marks the
//!     files as whole. It returns after the writers that took an image in memory have finished.
//! 12. *Whole, it takes images at the gate alone*, for then the data file is right (4). Each write to a data
//!     file passes the gate: write-back, forced pages, a file that becomes shorter. A page without an image
//!     that the snapshot covers is copied from the data file to the sparse file, and is durable there before
//!     it is overwritten. Changes in memory cost a snapshot nothing, and recovery needs no rule of its own:
//!     what redo changes is copied when it is written.
//! 13. *The double-write file is behind the gate.* A page has an image there only after it has passed. So
//!     what replaces a torn page before recovery has passed the gate already.
//! 14. *Never silently wrong.* A page without an image has an LSN before the split. A reader that finds
//!     another one fails the snapshot: something changed the data file that did not maintain the snapshot.
//!     The failure is noted in the sparse files as far as they can be written.
//! 15. *The source cannot be opened before its snapshots.* [`Pool::resume_snapshot`](crate::Pool) registers
//!     one by its sparse files; a data file that joins the pool is bound to it before it is first written.
//!
//! Minimally logged fills need nothing of their own: their pages are new (6), and the log record that
//! formats them has an LSN (1). Eviction and read-ahead change no page. Growth adds pages behind the end
//! that the snapshot has noted; they have no image.
//!
//! Proofs: 1 to 10: the tests of `tests/snapshot.rs`, woven schedules among them. 11, 12, 13, 15:
//! `a_snapshot_reads_the_same_after_every_power_loss` of the engine's suite. 14:
//! `a_source_that_changed_without_its_snapshot_is_found`.
//!
//! # What can fail
//! Creating: writing the dirty pages, the sparse files. Reading: the data file, the files of the snapshot, or
//! a snapshot that has failed.

mod file;
mod gate;
mod images;
mod list;
mod pages;
mod proof;
mod sparse;
mod store;

pub use file::SnapshotFile;
pub(crate) use list::Snapshots;
pub(crate) use pages::SourceFile;
pub use pages::{PageSnapshot, SnapshotFiles, SnapshotOptions};
pub use sparse::{FailureSink, SparseFault, SparseFile, SparseFiles, SparseHeader, SparseState};
pub use store::SpillFiles;
pub(crate) use store::Store;
