//! Rows of a page one by one, each judged by the rules of the scan: what a repair keeps.

use super::rows::{Along, Site};
use super::worker::Worker;
use furrow_format::{Page, PageBuf, PageId, Status};

/// A record of a page.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Judged<'p> {
    /// Its slot.
    pub(crate) slot: u16,
    /// Its bytes.
    pub(crate) bytes: &'p [u8],
    /// Whether no rule is broken.
    pub(crate) sound: bool,
    /// Whether it is deleted already.
    pub(crate) ghost: bool,
}

impl Worker<'_> {
    /// Judges each record of a page of rows. Order, links and index rows are left out. Records whose place
    /// on the page is unknown are not among them.
    pub(crate) fn judged<'p>(
        &mut self,
        id: PageId,
        unit: u32,
        bytes: &'p PageBuf,
    ) -> Vec<Judged<'p>> {
        let view = Page::new(bytes);
        let site = Site::new(id, unit, view, self.shared.plan.rows_of(unit));
        self.frame(id, unit, view);
        let mut slots = std::mem::take(&mut self.slots);
        slots.sort_unstable_by_key(|place| (place.offset, place.slot));
        // Of records that overlap, the one that begins first is taken.
        let mut end = 0;
        slots.retain(|place| {
            let apart = place.offset >= end;
            if apart {
                end = place.offset.saturating_add(place.len);
            }
            apart
        });
        slots.sort_unstable_by_key(|place| place.slot);
        // Nothing is added to sums here.
        self.forget_hashes();
        let mut judged = Vec::with_capacity(slots.len());
        for place in &slots {
            let start = usize::from(place.offset);
            let record = view.bytes().get(start..start + usize::from(place.len));
            let record = record.unwrap_or_default();
            let before = self.findings.list.len();
            self.row(&site, *place, &mut Along::default());
            judged.push(Judged {
                slot: place.slot,
                bytes: record,
                sound: self.findings.list.len() == before && !record.is_empty(),
                ghost: Status(record.first().copied().unwrap_or(0)).is_ghost(),
            });
        }
        self.findings.list.clear();
        self.facts = Default::default();
        judged
    }
}
