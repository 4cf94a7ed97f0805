//! Pages that are brought into the processor's cache before a thread needs them.

use crate::core::Core;
use crate::frame::NIL;
use crate::guard::PageGuard;
use crate::key::PageKey;
use crate::memory::{self, Lines};
use crate::mode::Mode;
use crate::rank::LatchRank;

/// The frame that seemed to hold a page when it was looked up, if one did: a hint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameHint(u32);

impl FrameHint {
    /// The page was not in memory.
    pub const NONE: FrameHint = FrameHint(NIL);

    #[inline]
    pub(crate) fn new(frame: Option<u32>) -> FrameHint {
        FrameHint(frame.unwrap_or(NIL))
    }
}

impl Core {
    #[inline]
    pub(crate) fn bring_near(&self, hint: FrameHint, lines: Lines) {
        if let Some(frame) = self.frames.get(hint.0 as usize) {
            memory::ask_for_line(frame);
            self.memory.ask_for(hint.0 as usize, lines);
        }
    }

    #[inline]
    pub(crate) fn fetch_near<M: Mode>(
        &self,
        hint: FrameHint,
        key: PageKey,
        mode: M,
        order: LatchRank,
    ) -> Option<PageGuard<'_, M>> {
        let index = (hint != FrameHint::NONE).then_some(hint.0)?;
        let index = self.latch_if_held(index, key, mode.latch_mode())?;
        Some(PageGuard::new(self, index, mode, order))
    }
}
