//! Faults built into the engine on purpose, to see that its tests would notice them.
//!
//! Each place where a rule of the engine is kept asks [`mutated`] whether it shall break it this once.
//! Without the feature `mutations`, which no build for users turns on, the answer is a constant `false`:
//! neither the question nor what it guards is in the program. With it, the environment variable
//! `FURROW_MUTATION` names the one fault that is alive, so that one build serves for all.
//!
//! The soak runs its own share against each of them (`cargo xtask mutations`): a fault that is reached and
//! that nothing notices stands for a test that is missing.

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
    SkipDataSync "skip-data-sync" "A checkpoint takes the data files for durable without a sync.",
    SkipLogSync "skip-log-sync" "Log blocks are written without being made durable.",
    DropLogFirst "drop-log-first" "Pages are written before the log is durable up to them.",
    SkipDoubleWrite "skip-double-write" "Pages are overwritten in place without an image elsewhere.",
    UnsyncedDoubleWrite "unsynced-double-write" "The image elsewhere is not durable when its page goes.",
    SkipTornRepair "skip-torn-repair" "Torn pages are not put back at the next open.",
    ImageLeftBehind "image-left-behind" "A page made anew leaves the image of its former life behind.",
    EarlyHalfTurn "early-half-turn" "Images are written over while the pages they stand for are not synced.",
    AckBeforeFlush "ack-before-flush" "A commit is acknowledged before its record is durable.",
    IgnoreLogFailure "ignore-log-failure" "A log write that failed is taken for done.",
    IgnoreSyncFailure "ignore-sync-failure" "A sync of a data file that failed is taken for done.",
    IgnoreWriteFailure "ignore-write-failure" "A page write that failed is taken for done.",
    TrustTornBlocks "trust-torn-blocks" "Log blocks are believed without their checksum.",
    SameIncarnation "same-incarnation" "A restarted log numbers its blocks as the one before did.",
    HoleIsTheEnd "hole-is-the-end" "The log ends at the first block that cannot be read.",
    LateCheckpoint "late-checkpoint" "A checkpoint says that it began after its pages were written.",
    RedoPointBack "redo-point-back" "The redo point moves back to where a page says that it is dirty from.",
    ForgetActive "forget-active" "A checkpoint does not write down the transactions under way.",
    EarlyTruncation "early-truncation" "The log of transactions under way is reused.",
    EndsAfterTruncation "ends-after-truncation" "Log is let go before the ends it waited for are durable.",
    SkipHeaderStamp "skip-header-stamp" "A checkpoint is not noted in the headers of the data files.",
    TakeOldCopy "take-old-copy" "A data file that lies behind its log is taken for the right one.",
    SkipRedoOfRemoval "skip-redo-of-removal" "Redo leaves out the removal of single rows.",
    SkipRedoOfBits "skip-redo-of-bits" "Redo leaves out the bits of allocation maps.",
    SkipRedoOfUndo "skip-redo-of-undo" "Redo leaves out compensation records.",
    RedoLosesFile "redo-loses-file" "Redo leaves out the last file that the catalog names.",
    StaleRedoLsn "stale-redo-lsn" "Redo does not stamp the pages that it changes.",
    HighPageLsn "high-page-lsn" "A page is stamped with an LSN of records to come.",
    ForgetClr "forget-clr" "Undoing is logged as a change like any other, not as compensation.",
    UndoStopsShort "undo-stops-short" "A rollback leaves the transaction's first change.",
    SkipUndoAtRestart "skip-undo-at-restart" "Restart does not undo the oldest transaction under way.",
    PfsNeighbour "pfs-neighbour" "PFS marks the page after the one that was allocated.",
    PfsKept "pfs-kept" "Pages that are freed one by one keep their PFS bit.",
    GamKept "gam-kept" "An extent that is taken stays free in GAM.",
    IamForgotten "iam-forgotten" "An extent that is taken is not written into IAM.",
    IamKept "iam-kept" "An extent that is given back stays in IAM.",
    SgamForgotten "sgam-forgotten" "SGAM is not told when a mixed extent has room again.",
    LoseGrowth "lose-growth" "A growth does not reach the header of the file.",
    ForgetNeighbour "forget-neighbour" "A split does not tell the right neighbour of its new left one.",
    ForgetUnlink "forget-unlink" "A leaf that is taken out stays the left link of its right neighbour.",
    WrongSeparator "wrong-separator" "The entry above a new page is made from the page's second row.",
    KeepMarks "keep-marks" "Who goes by a copy of a page does not hear that the page has changed.",
    PurgeWanted "purge-wanted" "Ghosts are purged though a rollback may want them back.",
    LeaveIndexEntry "leave-index-entry" "A deleted row stays in its last index.",
    LeaveMovedRecord "leave-moved-record" "A moved row of a heap that moves again leaves its record behind.",
    SwapMapLatches "swap-map-latches" "Now and then PFS pages are latched from the last to the first.",
    SwapHeapLatches "swap-heap-latches" "Now and then a heap's pages are latched from the last to the first.",
    SkipRowLock "skip-row-lock" "Rows are changed without a lock.",
    SkipGapLock "skip-gap-lock" "Keys come into gaps that somebody guards.",
    SkipReadLock "skip-read-lock" "Readers do not look whether a row is committed.",
    ReleaseReadLock "release-read-lock" "REPEATABLE READ gives its locks back at once.",
    EarlyRelease "early-release" "Locks are released some time before the commit record is in the log.",
    MissDeadlock "miss-deadlock" "Nobody looks for deadlocks.",
    ForgetNotes "forget-notes" "A lock of a whole table overlooks the intents that others noted themselves.",
    CountsForgotten "counts-forgotten" "Commit records do not say how many rows came and went.",
    FreeBeforeCommit "free-before-commit" "The pages of a dropped table are given away before the commit.",
    RemoveEarly "remove-early" "A file goes before the log of its pages is done with.",
    CutEarly "cut-early" "A file becomes shorter before the log of its pages is done with.",
    FileNotMade "file-not-made" "A file is online in the catalog before it is made.",
    ForgetPageCheck "forget-page-check" "Pages are read without a look at their checksum.",
    SkipForce "skip-force" "Pages that a bulk load filled past the log are not written before its commit.",
    UnsyncedForce "unsynced-force" "Pages that a bulk load filled past the log are written, but not synced.",
    ForgetChangedExtent "forget-changed-extent" "A change forgets its extent in the changed-extent map.",
    SkipReadFence "skip-read-fence" "A backup reads pages from a file while they are written.",
    ForgetFillPages "forget-fill-pages" "A backup leaves out pages that a load has filled past its log.",
    ForgetFreedPages "forget-freed-pages" "A backup leaves out freed pages that its log changes.",
    EarlyLogEnd "early-log-end" "The log of a backup ends before its last pages are read.",
    TrustStripes "trust-stripes" "Chunks of a stripe are believed without the checksum of their payload.",
    EarlyTail "early-tail" "The tail of a stripe is written while its chunks are not durable.",
    ForgetDifferentialBit "forget-differential-bit" "A differential backup leaves out a changed extent.",
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

/// Whether the rule at hand is to be broken this time: every second time that it is come to. An order that is
/// always the wrong way round is an order too; what hurts is when two do it differently.
#[inline(always)]
#[must_use]
pub fn mutated_at_times(which: Mutation) -> bool {
    mutated(which) && reached() % 2 == 1
}

/// Between two steps that are taken the wrong way round: time for somebody else to come in between.
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
