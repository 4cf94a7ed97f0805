//! Which requests pass locks of owners that leave, and the count of such locks of a resource. The protocol is
//! in `early`.

use furrow_format::Lsn;

use super::mode::LockMode;
use super::resource::Resource;

/// Requests that may pass marked locks of a resource while a request that does not pass waits there.
pub(super) const MOST_PASSED: u32 = 32;

/// The modes that pass, as bits.
pub(super) const PASSING: u32 = LockMode::U.bit() | LockMode::X.bit();

/// Whether a request for `mode` is granted past locks of owners that leave, and whether a lock in `mode` is
/// passed so. A range guards what is not there, and pages and tables stand for many rows.
pub(super) const fn passes(resource: &Resource, mode: LockMode) -> bool {
    matches!(resource, Resource::Rid(..) | Resource::Key(..)) && mode.bit() & PASSING != 0
}

/// The marked requests of a lock head.
#[derive(Debug, Default)]
pub(super) struct Left {
    /// Their modes, as bits.
    pub(super) mask: u32,
    /// How many are U, and how many are X.
    counts: [u32; 2],
    /// Requests that passed while a request that does not pass has been waiting.
    pub(super) passed: u32,
    /// The latest of their commit records.
    pub(super) lsn: Lsn,
}

impl Left {
    fn count(&mut self, mode: LockMode) -> &mut u32 {
        debug_assert!(mode.bit() & PASSING != 0, "only U and X are marked");
        &mut self.counts[usize::from(mode == LockMode::X)]
    }

    pub(super) fn note(&mut self, mode: LockMode, lsn: Lsn) {
        *self.count(mode) += 1;
        self.mask |= mode.bit();
        self.lsn = self.lsn.max(lsn);
    }

    pub(super) fn forget(&mut self, mode: LockMode) {
        let count = self.count(mode);
        debug_assert!(*count > 0, "a mode is counted when it is marked");
        *count -= 1;
        if *count == 0 {
            self.mask &= !mode.bit();
        }
        if self.mask == 0 {
            // The head may be used for another database next, which has another log.
            self.lsn = Lsn::ZERO;
        }
    }
}

/// Whether a request may pass, when requests for these modes wait ahead of it and so many have passed them.
pub(super) const fn may_pass_beside(passed: u32, ahead: u32) -> bool {
    ahead & !PASSING == 0 || passed < MOST_PASSED
}
