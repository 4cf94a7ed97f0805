//! Faults built into the engine on purpose, to test that its tests notice them.
//!
//! Each place that enforces a rule of the engine calls [`mutated`] to find out whether to break the rule this
//! time. Without the feature `mutations`, which no build for users has, the answer is a constant `false`:
//! neither the test nor the branch behind it is in the program. With the feature, the environment variable
//! `FURROW_MUTATION` names the one fault that is active, so that one build serves for all.
//!
//! The soak runs its share against each of them (`cargo xtask mutations`): a fault that is reached and not
//! noticed shows that a test is missing.

macro_rules! mutations {
    ($($variant:ident $name:literal $what:literal,)*) => {
        /// A fault that can be ordered.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Mutation {
            $(#[doc = $what] $variant,)*
        }

        impl Mutation {
            /// All of them.
            pub const ALL: &[Mutation] = &[$(Mutation::$variant,)*];

            /// How it is called in `FURROW_MUTATION`.
            pub fn name(self) -> &'static str {
                match self { $(Mutation::$variant => $name,)* }
            }

            /// What the engine does wrong under it.
            pub fn what(self) -> &'static str {
                match self { $(Mutation::$variant => $what,)* }
            }
        }
    };
}

mutations! {
    SkipDataSync "skip-data-sync" "A checkpoint treats the data files as durable without a sync.",
    SkipLogSync "skip-log-sync" "Log blocks are written without being made durable.",
    DropLogFirst "drop-log-first" "Pages are written before the log is durable up to them.",
    SkipDoubleWrite "skip-double-write" "Pages are written in place without an image elsewhere.",
    UnsyncedDoubleWrite "unsynced-double-write" "Images are not durable when their pages are written.",
    SkipTornRepair "skip-torn-repair" "Torn pages are not restored from their images at the next open.",
    ImageLeftBehind "image-left-behind" "A page that is created again keeps the image of its old content.",
    EarlyHalfTurn "early-half-turn" "Images are overwritten before their pages are synced.",
    AckBeforeFlush "ack-before-flush" "A commit is acknowledged before its record is durable.",
    IgnoreLogFailure "ignore-log-failure" "A failed log write counts as done.",
    IgnoreSyncFailure "ignore-sync-failure" "A failed sync of a data file counts as done.",
    IgnoreWriteFailure "ignore-write-failure" "A failed page write counts as done.",
    TrustTornBlocks "trust-torn-blocks" "Log blocks are used without a check of their checksum.",
    SameIncarnation "same-incarnation" "A restarted log does not raise the incarnation of its blocks.",
    HoleIsTheEnd "hole-is-the-end" "The log ends at the first block that cannot be read.",
    LateCheckpoint "late-checkpoint" "A checkpoint sets the redo point to the log's end after its writes.",
    RedoPointBack "redo-point-back" "The redo point moves back to the LSN from which a page is dirty.",
    ForgetActive "forget-active" "A checkpoint does not record the active transactions.",
    EarlyTruncation "early-truncation" "Log that active transactions need is reused.",
    EndsAfterTruncation "ends-after-truncation" "The log is truncated before end records are durable.",
    SkipHeaderStamp "skip-header-stamp" "A checkpoint is not recorded in the headers of the data files.",
    TakeOldCopy "take-old-copy" "A data file that lies behind its log is accepted.",
    SkipRedoOfRemoval "skip-redo-of-removal" "Redo leaves out the removal of single rows.",
    SkipRedoOfBits "skip-redo-of-bits" "Redo leaves out the bits of allocation maps.",
    SkipRedoOfUndo "skip-redo-of-undo" "Redo leaves out compensation records.",
    RedoLosesFile "redo-loses-file" "Redo leaves out the last file that the catalog names.",
    StaleRedoLsn "stale-redo-lsn" "Redo does not stamp the pages that it changes.",
    HighPageLsn "high-page-lsn" "A page is stamped with an LSN that lies ahead of the log.",
    ForgetClr "forget-clr" "Undo is logged as an ordinary change, not as compensation.",
    UndoStopsShort "undo-stops-short" "A rollback does not undo the transaction's first change.",
    SkipUndoAtRestart "skip-undo-at-restart" "Restart does not undo the oldest active transaction.",
    PfsNeighbour "pfs-neighbour" "PFS marks the page after the one that was allocated.",
    PfsKept "pfs-kept" "Pages that are freed one by one stay allocated in PFS.",
    GamKept "gam-kept" "An allocated extent stays free in GAM.",
    IamForgotten "iam-forgotten" "An allocated extent is not entered in IAM.",
    IamKept "iam-kept" "A freed extent stays in IAM.",
    SgamForgotten "sgam-forgotten" "SGAM is not updated when a mixed extent has a free page again.",
    LoseGrowth "lose-growth" "A growth does not change the size in the header of the file.",
    ForgetNeighbour "forget-neighbour" "A split does not set the left link of the right neighbour.",
    ForgetUnlink "forget-unlink" "A leaf that is removed stays the left link of its right neighbour.",
    WrongSeparator "wrong-separator" "The entry above a new page has the key of the page's second row.",
    KeepMarks "keep-marks" "A change of a page does not invalidate the marks of the page.",
    PurgeWanted "purge-wanted" "Ghosts are purged although a transaction has them locked.",
    LeaveIndexEntry "leave-index-entry" "A deleted row stays in its last index.",
    LeaveMovedRecord "leave-moved-record" "A heap row that moves again leaves its moved record behind.",
    SwapMapLatches "swap-map-latches" "PFS pages are sometimes latched in descending order.",
    SwapHeapLatches "swap-heap-latches" "A heap's pages are sometimes latched in descending order.",
    SkipRowLock "skip-row-lock" "Rows are changed without a lock.",
    SkipGapLock "skip-gap-lock" "Keys are inserted into gaps that others have locked.",
    SkipReadLock "skip-read-lock" "Readers do not check whether a row is committed.",
    ReleaseReadLock "release-read-lock" "REPEATABLE READ does not hold its read locks.",
    EarlyRelease "early-release" "Locks are released before the commit record is in the log.",
    FollowerUnflushed "follower-unflushed" "A client gets what follows a commit before that is durable.",
    MissDeadlock "miss-deadlock" "Deadlocks are not detected.",
    ForgetNotes "forget-notes" "A lock of a whole table overlooks intents that owners only noted.",
    CountsForgotten "counts-forgotten" "Commit records do not contain the changes of row counts.",
    FreeBeforeCommit "free-before-commit" "The pages of a dropped table are freed before the commit.",
    RemoveEarly "remove-early" "A file is removed while the log of its pages is still needed.",
    CutEarly "cut-early" "A file is cut while the log of its pages is still needed.",
    FileNotMade "file-not-made" "A file is online in the catalog before it is created.",
    ForgetPageCheck "forget-page-check" "Pages are read without a check of their checksum.",
    SkipForce "skip-force" "Pages that a bulk load filled past the log are not written before its commit.",
    UnsyncedForce "unsynced-force" "Pages that a bulk load filled past the log are written, but not synced.",
    ForgetChangedExtent "forget-changed-extent" "A change is not marked in the changed-extent map.",
    SkipReadFence "skip-read-fence" "A backup reads pages from a file while they are written.",
    ForgetFillPages "forget-fill-pages" "A backup leaves out pages that a load has filled past its log.",
    ForgetFreedPages "forget-freed-pages" "A backup leaves out freed pages that its log changes.",
    EarlyLogEnd "early-log-end" "The log of a backup ends before its last pages are read.",
    TrustStripes "trust-stripes" "Chunks of a stripe are used without a check of their checksum.",
    EarlyTail "early-tail" "The tail of a stripe is written while its chunks are not durable.",
    ForgetDifferentialBit "forget-differential-bit" "A differential backup leaves out a changed extent.",
    StopLate "stop-late" "A restore to a point in time includes the first commit behind it.",
    SkipPageLog "skip-page-log" "Pages are restored without the log of the database.",
    JoinEarly "join-early" "Files that were left out join before their log reaches the recovery point.",
    TakeWrongBase "take-wrong-base" "A differential backup is restored over another base than its own.",
}

/// The environment variable that names the fault.
pub const MUTATION: &str = "FURROW_MUTATION";

/// Whether this build can break rules at all.
pub const AVAILABLE: bool = cfg!(feature = "mutations");

/// Whether the rule at hand is to be broken.
#[cfg(not(feature = "mutations"))]
#[inline(always)]
#[must_use]
pub const fn mutated(_: Mutation) -> bool {
    false
}

#[cfg(feature = "mutations")]
mod alive {
    use super::{MUTATION, Mutation};
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    static CHOSEN: OnceLock<Option<Mutation>> = OnceLock::new();
    static REACHED: AtomicU64 = AtomicU64::new(0);

    /// The fault that the environment names.
    fn chosen() -> Option<Mutation> {
        *CHOSEN.get_or_init(|| {
            let name = std::env::var(MUTATION).ok()?;
            Mutation::ALL.iter().copied().find(|m| m.name() == name)
        })
    }

    /// Whether the rule at hand is to be broken.
    #[must_use]
    pub fn mutated(which: Mutation) -> bool {
        let alive = chosen() == Some(which);
        if alive {
            REACHED.fetch_add(1, Ordering::Relaxed);
        }
        alive
    }

    /// How often the fault that is alive was reached in this process.
    #[must_use]
    pub fn reached() -> u64 {
        REACHED.load(Ordering::Relaxed)
    }
}

#[cfg(feature = "mutations")]
pub use alive::{mutated, reached};

/// Whether to break the rule at hand this time: every second time that it is reached. An order that is always
/// reversed is an order too; a deadlock needs two threads with different orders.
#[inline(always)]
#[must_use]
pub fn mutated_at_times(which: Mutation) -> bool {
    mutated(which) && reached() % 2 == 1
}

/// Sleeps between two steps in the wrong order, so that another thread can run between them.
#[inline(always)]
pub fn linger(wrong_way_round: bool) {
    if AVAILABLE && wrong_way_round {
        crate::time::sleep(crate::time::Duration::from_millis(15));
    }
}

/// How often the fault that is alive was reached in this process.
#[cfg(not(feature = "mutations"))]
#[must_use]
pub const fn reached() -> u64 {
    0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_fault_has_a_name_of_its_own_and_none_is_alive_unless_asked_for() {
        let names: BTreeSet<&str> = Mutation::ALL.iter().map(|m| m.name()).collect();
        assert_eq!(names.len(), Mutation::ALL.len());
        assert!(Mutation::ALL.iter().all(|m| !m.what().is_empty()));
        if std::env::var_os(MUTATION).is_none() {
            assert!(Mutation::ALL.iter().all(|m| !mutated(*m)));
            assert_eq!(reached(), 0);
        }
    }
}
