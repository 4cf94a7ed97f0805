//! Counts of the catalog: rows of a rowset, pages of a unit. They are written in place.

use super::state::State;
use crate::scan::{bytes_of, values_of};
use furrow_format::catalog::{SYSALLOCUNITS, SYSROWSETS, unit_kind};
use furrow_format::{Page, PageId, PageMut, PageType, Record};

/// Columns of the counts: rows in `sysrowsets`, then three of `sysallocunits`.
const NAMES: [&str; 4] = ["rcrows", "pcused", "pcdata", "pcreserved"];

impl State<'_> {
    /// Writes the counts that are wrong.
    pub(super) fn write_counts(&mut self) {
        for (unit, which, found) in self.counts.clone() {
            let Some(about) = self.plan().unit(unit) else {
                continue;
            };
            let (table, id) = match which {
                0 => (SYSROWSETS.id, about.rowset_id),
                _ => (SYSALLOCUNITS.id, about.id as i64),
            };
            if let Some(name) = NAMES.get(which) {
                self.write_count((table, id), name, found);
            }
        }
    }

    fn write_count(&mut self, (table, id): (i32, i64), name: &str, found: i64) {
        let plan = self.plan();
        let unit = (0..plan.units.len() as u32).find(|unit| {
            let about = plan.unit(*unit);
            about.is_some_and(|u| {
                u.object_id == table && u.index_id == 1 && u.kind == unit_kind::IN_ROW
            })
        });
        let Some((unit, rowset)) = unit.and_then(|unit| Some((unit, plan.rows_of(unit)?))) else {
            return;
        };
        let level = &rowset.leaf;
        let columns = || level.columns.iter();
        let place = columns().find(|c| c.name == name).map(|c| c.place.offset);
        let Some(offset) = place.and_then(|offset| u16::try_from(offset).ok()) else {
            return;
        };
        let key = level.key.first().map_or(0, |key| key.column);
        let pages: Vec<PageId> = self.pages_with(unit);
        for page_id in pages {
            let Some(mut page) = self.page(page_id) else {
                continue;
            };
            let view = Page::new(&page);
            if view.page_type() != PageType::Data {
                continue;
            }
            let slot = view.records().find_map(|(slot, bytes)| {
                let record = Record::data(bytes)?;
                let values = values_of(level, &record).ok()?;
                let value = bytes_of(*values.get(key)?)?;
                (value == id.to_le_bytes()).then_some(slot)
            });
            if let Some(slot) = slot {
                let bytes = found.to_le_bytes();
                if PageMut::new(&mut page).patch(slot, offset, &bytes).is_ok() {
                    self.put(page_id, page);
                }
                return;
            }
        }
    }
}
