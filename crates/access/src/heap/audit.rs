//! Proof that a heap is sound.
//!
//! The audit is for consistency checks and tests. No thread may change the heap meanwhile. For every page
//! that the maps assign to the heap's unit, the audit proves:
//! - the page belongs to the unit, has its own page id, is no index page, and has no links;
//! - its free-space counts and its count of ghosts agree with its records, and PFS has its class of fullness;
//! - each stub leads to a record that leads back to the stub, and each moved record has such a stub;
//! - no record is too short to be replaced by a stub.

use super::{Heap, damaged, first, record, record_kind, target_of};
use crate::AccessError;
use furrow_format::{
    FORWARDING_STUB_SIZE, Fullness, Page, PageBuf, PageId, Pfs, PfsByte, RecordKind, RowId, Status,
    pfs_index_of, pfs_page_of,
};
use furrow_pool::{LatchRank, Sh};
use std::collections::HashMap;

/// What an audit found in a heap that is sound.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HeapAudit {
    /// Live rows, moved rows included.
    pub rows: u64,
    /// Ghosts.
    pub ghosts: u64,
    /// Rows that have moved, ghosts included.
    pub moved: u64,
    /// Bytes of live rows.
    pub row_bytes: u64,
    /// Its pages, in allocation order.
    pub pages: Vec<PageId>,
}

#[derive(Default)]
struct Found {
    audit: HeapAudit,
    stubs: HashMap<RowId, RowId>,
    moved: HashMap<RowId, RowId>,
}

impl Heap {
    /// Proves that the heap is sound. No thread may change it meanwhile.
    pub fn audit(&self) -> Result<HeapAudit, AccessError> {
        let mut found = Found::default();
        for page in self.space().pages(self.unit())? {
            let id = page?;
            let page = Box::new(*self.fetch(id, Sh)?);
            self.audit_header(id, &page)?;
            self.audit_records(id, &page, &mut found)?;
            found.audit.pages.push(id);
        }
        for (stub, target) in &found.stubs {
            if found.moved.get(target) != Some(stub) {
                return Err(damaged(
                    stub.page,
                    "a forwarding stub leads to no record of its own",
                ));
            }
        }
        for (at, home) in &found.moved {
            if found.stubs.get(home) != Some(at) {
                return Err(damaged(
                    at.page,
                    "no forwarding stub leads to a moved record",
                ));
            }
        }
        found.audit.moved = found.moved.len() as u64;
        Ok(found.audit)
    }

    fn audit_header(&self, id: PageId, page: &PageBuf) -> Result<(), AccessError> {
        let view = Page::new(page);
        if view.audit().is_err() {
            return Err(damaged(id, "its records and counts do not agree"));
        }
        let linked = !view.prev().is_none() || !view.next().is_none();
        let pminlen = self.shape().leaf.pminlen();
        if view.page_id() != id || view.level() != 0 || linked || view.pminlen() != pminlen {
            return Err(damaged(id, "its header is not that of a heap's page"));
        }
        let class = Fullness::of_free_bytes(view.free_count());
        let byte = self.pfs_byte(id)?;
        if !byte.is_allocated() || byte.fullness() != class {
            return Err(damaged(id, "PFS does not say how full it is"));
        }
        Ok(())
    }

    fn pfs_byte(&self, id: PageId) -> Result<PfsByte, AccessError> {
        let pfs_id = PageId {
            file: id.file,
            page: pfs_page_of(id.page),
        };
        let page = self.store().read(pfs_id, LatchRank::Pfs)?;
        let pfs = Pfs::new(&page).ok_or(damaged(pfs_id, "no sound PFS page"))?;
        Ok(pfs.get(pfs_index_of(id.page)))
    }

    fn audit_records(
        &self,
        id: PageId,
        page: &PageBuf,
        found: &mut Found,
    ) -> Result<(), AccessError> {
        let view = Page::new(page);
        let mut ghosts = 0;
        for (slot, row) in view.records() {
            let rid = RowId { page: id, slot };
            if row.len() < FORWARDING_STUB_SIZE {
                return Err(damaged(id, "a record is shorter than a forwarding stub"));
            }
            let kind = record_kind(row);
            let ghost = Status(first(row)).is_ghost();
            if kind == RecordKind::ForwardingStub {
                found.stubs.insert(rid, target_of(id, row)?);
                continue;
            }
            if kind == RecordKind::Forwarded || record::is_moved_ghost(row) {
                let home = record::home_of(row);
                let home =
                    home.ok_or(damaged(id, "a moved record does not say where its stub is"))?;
                found.moved.insert(rid, home);
            } else if kind != RecordKind::Primary && !ghost {
                return Err(damaged(id, "a record is not of a heap's kinds"));
            }
            ghosts += u16::from(ghost);
            found.audit.rows += u64::from(!ghost);
            found.audit.row_bytes += if ghost { 0 } else { row.len() as u64 };
        }
        if ghosts != view.ghost_count() {
            return Err(damaged(id, "its count of ghosts is wrong"));
        }
        found.audit.ghosts += u64::from(ghosts);
        Ok(())
    }
}
