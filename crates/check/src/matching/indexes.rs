//! Rows and their index rows: where the sums do not cancel, the rows of open buckets are looked at.
//!
//! The second pass reads the leaf pages of the table and of the index again, and keeps rows of open buckets
//! only until their partner is found. It looks at the rows that the scan added to the sums: a row that breaks
//! a rule by itself has no part in either.

use super::Matcher;
use super::keys::{bytes_of, pair_words, row_words};
use crate::buckets::Buckets;
use crate::finding::{Finding, REST};
use crate::plan::{IndexMatch, LevelPlan, Origin, RowsetPlan};
use crate::scan::{Worker, home_of, values_of};
use furrow_datafile::{Stored, prepare};
use furrow_format::{PAGE_SIZE, Page, PageBuf, PageId, PageType, Record, RecordKind, RowId};
use furrow_messages::{Arg, Message};
use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::Ordering;

/// Rows that are reported one by one; further rows are only counted.
const REPORTED_ROWS: usize = 10;

/// Bytes of a row without a partner, with what a map needs beside.
const OPEN_BYTES: u64 = 64;
/// Rows that are looked for at once, however little memory there is.
const LEAST_OPEN: u64 = 1024;

/// Rows without a partner: the first ones, and how many there are.
#[derive(Debug, Default)]
struct Unpaired {
    first: BTreeSet<RowId>,
    count: usize,
    /// The row after the first ones.
    next: Option<RowId>,
}

impl Unpaired {
    fn add(&mut self, at: RowId) {
        self.count += 1;
        self.first.insert(at);
        if self.first.len() > REPORTED_ROWS {
            let last = self.first.pop_last();
            self.next = match (self.next, last) {
                (Some(next), Some(last)) => Some(next.min(last)),
                (next, last) => next.or(last),
            };
        }
    }
}

/// A row of an open bucket.
#[derive(Debug, Clone, Copy)]
struct Open {
    /// Rows of the table, less rows of the index.
    balance: i64,
    at: RowId,
}

impl Matcher<'_> {
    pub(super) fn match_indexes(&mut self) {
        for place in 0..self.shared.plan.matches.len() {
            let open = self
                .shared
                .buckets
                .get(place)
                .and_then(Option::as_ref)
                .is_some_and(Buckets::any_open);
            if open && self.go_on() {
                self.dive(place);
            }
        }
    }

    /// The rows of one index that have no partner. They are looked for in as many passes as the memory
    /// demands: in each pass the rows whose hashes fall to it.
    fn dive(&mut self, place: usize) {
        let shared = self.shared;
        let Some(index) = shared.plan.matches.get(place) else {
            return;
        };
        let sums = shared.buckets.get(place).and_then(Option::as_ref);
        let rows = [index.base_unit, index.index_unit].map(|unit| {
            let rows = shared.rows.get(unit as usize);
            rows.map_or(0, |rows| rows.load(Ordering::Relaxed))
        });
        let at_most = rows.iter().sum::<u64>() as f64 * sums.map_or(0.0, Buckets::share_open);
        let room = (shared.memory_bytes / 4 / OPEN_BYTES).max(LEAST_OPEN);
        let passes = (at_most as u64).div_ceil(room).max(1);
        let (mut missing, mut extra) = (Unpaired::default(), Unpaired::default());
        for pass in 0..passes {
            let Some(rows) = self.open_rows(place, index, (pass, passes)) else {
                return;
            };
            for row in rows.values() {
                let reported = if row.balance > 0 {
                    &mut missing
                } else {
                    &mut extra
                };
                reported.add(row.at);
            }
        }
        self.report(index, true, &missing);
        self.report(index, false, &extra);
    }

    /// The rows of a pass that have no partner, by their hash; `None` when the check ends.
    fn open_rows(
        &self,
        place: usize,
        index: &IndexMatch,
        (pass, passes): (u64, u64),
    ) -> Option<HashMap<u64, Open>> {
        let shared = self.shared;
        let sums = shared.buckets.get(place)?.as_ref()?;
        let mut rows: HashMap<u64, Open> = HashMap::new();
        let mut worker = Worker::new(shared);
        for (unit, by) in [(index.base_unit, 1), (index.index_unit, -1)] {
            let over_data = shared.plan.rows_of(unit)?.leaf_type == PageType::Data;
            let leaves = self.facts.pages.iter().filter(|fact| {
                let is_leaf = match PageType::from_byte(fact.kind) {
                    PageType::Data => true,
                    PageType::Index => !over_data && fact.level == 0,
                    _ => false,
                };
                fact.unit == unit && is_leaf
            });
            for leaf in leaves {
                if !self.go_on() {
                    return None;
                }
                let Some(bytes) = self.fetch(leaf.id) else {
                    continue;
                };
                worker.hashed_rows((leaf.id, unit), &bytes, index, &mut |hash, at| {
                    if hash % passes == pass && sums.is_open(hash) {
                        let row = rows.entry(hash).or_insert(Open { balance: 0, at });
                        row.balance += by;
                        row.at = at;
                        if row.balance == 0 {
                            rows.remove(&hash);
                        }
                    }
                });
            }
        }
        Some(rows)
    }

    fn fetch(&self, id: PageId) -> Option<Box<PageBuf>> {
        let mut bytes = vec![[0; PAGE_SIZE]];
        self.shared.source.read(id.file, id.page, &mut bytes).ok()?;
        let mut page = Box::new(bytes.pop()?);
        prepare(self.shared.source.form(), &mut page, id).ok()?;
        Some(page)
    }

    /// Calls `each` with every live row of a leaf page, by the address that indexes know it by.
    fn each_row(&self, id: PageId, plan: &RowsetPlan, each: &mut dyn FnMut(RowId, &[Stored<'_>])) {
        let Some(bytes) = self.fetch(id) else {
            return;
        };
        let view = Page::new(&bytes);
        for (slot, record) in view.records() {
            let at = RowId { page: id, slot };
            let record = Record::of_page(plan.leaf_type, view.pminlen(), record);
            let live = record.filter(|record| {
                !record.is_ghost() && record.status().kind() != RecordKind::ForwardingStub
            });
            if let Some((record, Ok(values))) = live.map(|r| (r, values_of(&plan.leaf, &r))) {
                each(home_of(&record).unwrap_or(at), &values);
            }
        }
    }

    fn report(&mut self, index: &IndexMatch, missing: bool, rows: &Unpaired) {
        let plan = self.shared.plan;
        let table = plan.table(index.base_unit).to_owned();
        let object = plan.unit(index.base_unit).map_or(0, |unit| unit.object_id);
        for (number, &at) in rows.first.iter().enumerate() {
            let (key, values) = self.row_in_words(index, missing, at);
            let count = match rows.count {
                1 => "One row".to_owned(),
                many => format!("{many} rows"),
            };
            let means = match (missing, number) {
                (true, 0) => format!(
                    "{count} of {table} cannot be found by index {}, among them the one with {key}.",
                    index.name
                ),
                (false, 0) => format!(
                    "{count} of index {} of {table} lead to rows that are not there or differ: {values}.",
                    index.name
                ),
                _ => format!("The row {at}: {}.", if missing { &key } else { &values }),
            };
            let named: [Arg; 4] = [
                table.as_str().into(),
                object.into(),
                index.name.as_str().into(),
                index.index_id.into(),
            ];
            // The index is what is wrong, and what a repair makes again.
            let unit = index.index_unit;
            let head = if missing { 8951 } else { 8952 };
            self.findings
                .of_page(plan, (head, unit), at.page, &named, means.clone());
            let place: [Arg; 3] = [at.page.file.0.into(), at.page.page.0.into(), at.slot.into()];
            let mut args = place.to_vec();
            if missing {
                args.extend([key.into(), values.into()]);
            } else {
                args.extend([values.into(), key.into()]);
            }
            self.findings
                .of_page(plan, (head + 4, unit), at.page, &args, means);
        }
        if rows.count > rows.first.len() {
            let more = rows.count - rows.first.len();
            let which = if missing {
                "are missing in"
            } else {
                "are extra rows of"
            };
            let means = format!(
                "{more} more rows of {table} {which} index {}: they are counted, but not listed.",
                index.name
            );
            self.findings.push(Finding {
                message: Message::custom(REST, 16, 1, &means),
                page: Some(rows.next.map_or(PageId::NONE, |row| row.page)),
                subject: plan.subject(index.index_unit),
                means,
                errors: more as u64,
            });
        }
    }

    /// The key that a row of the table is known by, and its values in the index.
    fn row_in_words(&self, index: &IndexMatch, missing: bool, at: RowId) -> (String, String) {
        let plan = self.shared.plan;
        let unit = if missing {
            index.base_unit
        } else {
            index.index_unit
        };
        let (Some(base), Some(rows)) = (plan.rows_of(index.base_unit), plan.rows_of(unit)) else {
            return Default::default();
        };
        let mut found = None;
        // A moved row lies elsewhere than its address says: then the address has to do.
        self.each_row(at.page, rows, &mut |here, values| {
            if here != at {
                return;
            }
            let named = index.from.iter().enumerate().filter_map(|(place, origin)| {
                let Origin::Column(of_table) = origin else {
                    return None;
                };
                let column = base.leaf.columns.get(*of_table)?;
                let value = if missing { *of_table } else { place };
                let bytes = bytes_of(values.get(value));
                Some(pair_words(column, &column.name, bytes.as_deref()))
            });
            let named = named.collect::<Vec<_>>().join(" and ");
            let key = if missing {
                row_words(&rows.leaf, values)
            } else {
                locator_words(index, &base.leaf, values)
            };
            found = Some((key, named));
        });
        let (key, values) = found.unwrap_or_default();
        let key = if key.is_empty() {
            format!("RID = {at}")
        } else {
            key
        };
        (key, values)
    }
}

/// The key of the row that a row of an index leads to, or its address.
fn locator_words(index: &IndexMatch, base: &LevelPlan, values: &[Stored<'_>]) -> String {
    let value_of = |origin: Origin| {
        let place = index.from.iter().position(|from| *from == origin)?;
        bytes_of(values.get(place))
    };
    if let Some(address) = value_of(Origin::Address) {
        let address: Option<[u8; 8]> = address.try_into().ok();
        return address.map_or_else(String::new, |at| format!("RID = {}", RowId::from_bytes(at)));
    }
    let words = base.key.iter().filter_map(|key| {
        let column = base.columns.get(key.column)?;
        let value = value_of(Origin::Column(key.column));
        (!column.uniquifier).then(|| pair_words(column, &column.name, value.as_deref()))
    });
    words.collect::<Vec<_>>().join(" and ")
}
