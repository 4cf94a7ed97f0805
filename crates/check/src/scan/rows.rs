//! Pages of rows: records against their layout, values, order of keys, ghosts, children, index rows.

use super::plain::Rows;
use super::value::is_lawful;
use super::worker::{SlotPlace, Worker};
use crate::facts::{ChildFact, ForwardFact, KeyRef};
use crate::finding::page;
use crate::options::Depth;
use crate::order::order;
use crate::plan::{ColumnPlan, LevelPlan, RowsetPlan};
use furrow_datafile::{Stored, find_column};
use furrow_format::{Page, PageBuf, PageId, PageType, Record, RecordKind, RowId, Status};
use smallvec::SmallVec;
use std::cmp::Ordering;
use std::sync::atomic::Ordering as Memory;

/// The values of a row.
pub(crate) type Values<'p> = SmallVec<[Stored<'p>; 16]>;
/// The key of a row.
type KeyValues<'p> = SmallVec<[Option<&'p [u8]>; 8]>;

const BITS: [&[u8]; 2] = [&[0], &[1]];

/// The bytes of a value; `None` for NULL.
#[inline]
pub(crate) fn bytes_of(stored: Stored<'_>) -> Option<&[u8]> {
    match stored {
        Stored::Null | Stored::NotStored => None,
        Stored::Bytes(bytes) | Stored::Pointer(bytes) => Some(bytes),
        Stored::Bit(bit) => BITS.get(usize::from(bit)).copied(),
    }
}

/// The values of a record; the place of the column that it has no room for.
pub(crate) fn values_of<'p>(level: &LevelPlan, record: &Record<'p>) -> Result<Values<'p>, usize> {
    let mut values = Values::new();
    read_values(level, record, &mut values)?;
    Ok(values)
}

/// The same, into a buffer: moving one costs more than to fill it.
#[inline]
fn read_values<'p>(
    level: &LevelPlan,
    record: &Record<'p>,
    values: &mut Values<'p>,
) -> Result<(), usize> {
    values.clear();
    let no_nulls = record.has_no_nulls(level.null_bits);
    for (at, column) in level.columns.iter().enumerate() {
        let value = match column.fixed {
            Some((offset, len)) if no_nulls => record.fixed_at(offset, len).map(Stored::Bytes),
            None if no_nulls && column.var.is_some() => column.var.map(|var| var_of(record, var)),
            _ => find_column(record, &column.stored, column.place),
        };
        values.push(value.ok_or(at)?);
    }
    Ok(())
}

/// A variable column that is not NULL; trailing columns that are empty are not stored.
#[inline]
fn var_of<'p>(record: &Record<'p>, ordinal: u16) -> Stored<'p> {
    match record.var(ordinal) {
        Some((bytes, true)) => Stored::Pointer(bytes),
        Some((bytes, false)) => Stored::Bytes(bytes),
        None => Stored::Bytes(&[]),
    }
}

/// Where the stub of a moved row is, live or ghost.
pub(crate) fn home_of(record: &Record<'_>) -> Option<RowId> {
    if record.status().kind() == RecordKind::GhostData && record.bytes().get(1) == Some(&1) {
        let mut live = record.bytes().to_vec();
        *live.first_mut()? = record.status().with_kind(RecordKind::Forwarded).0;
        return Record::data(&live)?.forwarded_from();
    }
    record.forwarded_from()
}

/// A page of rows, and what its rows must look like.
#[derive(Clone, Copy)]
pub(super) struct Site<'a, 'p> {
    id: PageId,
    unit: u32,
    view: Page<'p>,
    pub(super) rows: Option<&'a RowsetPlan>,
    level: Option<&'a LevelPlan>,
    pub(super) is_leaf: bool,
    pub(super) is_data: bool,
    /// Whether the rules about kinds of rows have nothing to say: see `plain`.
    pub(super) is_plain: bool,
}

impl<'a, 'p> Site<'a, 'p> {
    pub(super) fn new(
        id: PageId,
        unit: u32,
        view: Page<'p>,
        rows: Option<&'a RowsetPlan>,
    ) -> Site<'a, 'p> {
        let is_data = view.page_type() == PageType::Data;
        let over_data = rows.is_some_and(|rows| rows.leaf_type == PageType::Data);
        let is_leaf = is_data || !over_data && view.level() == 0;
        let level = rows.map(|rows| if is_leaf { &rows.leaf } else { &rows.node });
        Site {
            id,
            unit,
            view,
            rows,
            level,
            is_leaf,
            is_data,
            is_plain: false,
        }
    }

    pub(super) fn kind(&self) -> Rows {
        match (self.is_data, self.is_leaf) {
            (true, _) => Rows::Data,
            (false, true) => Rows::IndexLeaf,
            (false, false) => Rows::Node,
        }
    }
}

/// What is kept from row to row of a page.
#[derive(Default)]
pub(super) struct Along<'p> {
    /// Values of the row at hand.
    values: Values<'p>,
    /// Slot of the row before with a key, and whether it is a ghost.
    before: Option<(u16, bool)>,
    /// Its key, and that of the row at hand.
    keys: Keys<'p>,
    first: Option<KeyValues<'p>>,
    pub(super) ghosts: u16,
    pub(super) live: u64,
}

/// Two keys, which change places from row to row.
#[derive(Default)]
struct Keys<'p> {
    both: [KeyValues<'p>; 2],
    swapped: bool,
}

impl<'p> Keys<'p> {
    /// The key before, and the one at hand.
    #[inline]
    fn pair(&mut self) -> (&KeyValues<'p>, &mut KeyValues<'p>) {
        let [first, second] = &mut self.both;
        match self.swapped {
            true => (second, first),
            false => (first, second),
        }
    }

    /// The one at hand is now the one before.
    #[inline]
    fn advance(&mut self) {
        self.swapped = !self.swapped;
    }
}

impl Worker<'_> {
    /// Judges the rows of a page; gives its first and last key, of a leaf of a tree.
    pub(super) fn row_page(&mut self, id: PageId, unit: u32, bytes: &PageBuf) -> (KeyRef, KeyRef) {
        let view = Page::new(bytes);
        let plan = self.shared.plan;
        let mut site = Site::new(id, unit, view, plan.rows_of(unit));
        let plain = self.plain_rows(site.kind(), view);
        site.is_plain = plain.is_some();
        self.row_header(&site);
        if site.is_plain {
            self.leftovers(id, unit, view);
        } else {
            self.empty_slot(&site);
            self.frame(id, unit, view);
        }
        let mut along = Along::default();
        match plain {
            // Nothing is left to be said of its rows.
            Some(ghosts) if site.is_leaf && self.shared.depth == Depth::Physical => {
                along.ghosts = ghosts;
                along.live = self.slots.len() as u64 - u64::from(ghosts);
            }
            _ => self.all_rows(&site, &mut along),
        }
        if along.ghosts != view.ghost_count() {
            let means = format!("Page {id} {}miscounts its deleted rows.", plan.of(unit));
            let args = [view.ghost_count().into(), along.ghosts.into(), page(id)];
            self.findings.of_unit(plan, (8927, unit), id, &args, means);
        }
        if let Some(rows) = self.shared.rows.get(unit as usize).filter(|_| site.is_leaf) {
            rows.fetch_add(along.live, Memory::Relaxed);
        }
        let is_heap = site.rows.is_none_or(|rows| rows.is_heap);
        match along.first {
            Some(first) if site.is_leaf && !is_heap => {
                let low = self.facts.keys.keep(first.into_iter());
                let last = along.keys.pair().0;
                (low, self.facts.keys.keep(last.iter().copied()))
            }
            _ => Default::default(),
        }
    }

    pub(super) fn all_rows<'p>(&mut self, site: &Site<'_, 'p>, along: &mut Along<'p>) {
        let slots = std::mem::take(&mut self.slots);
        self.begin_hashes(site.unit);
        for place in &slots {
            self.row(site, *place, along);
        }
        self.slots = slots;
        self.add_hashes();
    }

    fn row_header(&mut self, site: &Site<'_, '_>) {
        let plan = self.shared.plan;
        let (id, unit, view) = (site.id, site.unit, site.view);
        if view.slot_count() == 0 && !site.is_leaf {
            let means = format!(
                "Page {id} {}leads nowhere: it has no entries.",
                plan.of(unit)
            );
            let mut args = vec![page(id)];
            args.extend(plan.unit_args(unit));
            args.push(view.level().into());
            self.findings.of_page(plan, (2574, unit), id, &args, means);
        }
        if site.is_data && view.level() != 0 {
            let values = (view.level().into(), 0);
            self.findings
                .page_test(plan, unit, id, ("m_level == 0", values));
        }
        let (Some(rows), Some(level)) = (site.rows, site.level) else {
            return;
        };
        if site.is_data && rows.leaf_type != PageType::Data {
            let means = format!(
                "Page {id} {}is of a table's rows, not of an index's.",
                plan.of(unit)
            );
            let mut args = vec![page(id)];
            args.extend(plan.unit_args(unit));
            args.push(view.page_type().to_byte().into());
            self.findings.of_page(plan, (8938, unit), id, &args, means);
        }
        // Rows of a table that was altered may be older than its layout; pages of indexes may not.
        if (plan.own || !site.is_data) && view.pminlen() != level.fixed_end {
            let values = (view.pminlen().into(), level.fixed_end.into());
            self.findings.page_test(plan, unit, id, ("pminlen", values));
        }
    }

    /// Trees have no empty slots.
    fn empty_slot(&mut self, site: &Site<'_, '_>) {
        let (id, unit, view, plan) = (site.id, site.unit, site.view, self.shared.plan);
        let is_tree = site.rows.is_some_and(|rows| !rows.is_heap);
        let empty = (0..view.slot_count()).find(|&slot| view.slot_offset(slot) == Some(0));
        if let Some(slot) = empty.filter(|_| is_tree) {
            let means = format!("Slot {slot} of page {id} {}is empty.", plan.of(unit));
            let args = [page(id), "offset != 0".into(), slot.into(), 0.into()];
            self.findings.of_unit(plan, (8941, unit), id, &args, means);
        }
    }

    pub(super) fn row<'p>(&mut self, site: &Site<'_, 'p>, place: SlotPlace, along: &mut Along<'p>) {
        let start = usize::from(place.offset);
        let bytes: &'p [u8] = site
            .view
            .bytes()
            .get(start..start + usize::from(place.len))
            .unwrap_or_default();
        let status = Status(bytes.first().copied().unwrap_or(0));
        let ghost = status.is_ghost();
        along.ghosts += u16::from(ghost);
        let at = RowId {
            page: site.id,
            slot: place.slot,
        };
        if !site.is_plain && status.kind() == RecordKind::ForwardingStub && site.is_data {
            self.stub(site, at, bytes);
            return;
        }
        let record = match site.is_data {
            true => Record::data(bytes),
            false => Record::index(bytes, site.view.pminlen()),
        };
        // A record of another kind may end before the parts that its status names.
        let is_right = site.is_plain || self.kind_is_right(site, at, status);
        let Some(record) = record.filter(|_| is_right) else {
            if is_right {
                let len = i64::from(place.len);
                self.bad_row(site, at, ("ColumnOffsets <= (nextRec - pRec)", (0, len)));
            }
            return;
        };
        if !site.is_leaf {
            self.child(site, at, &record);
        }
        if self.shared.depth == Depth::Physical {
            along.live += u64::from(!ghost);
            self.moved(site, at, &record);
            return;
        }
        let Some(level) = site.level else {
            along.live += u64::from(!ghost);
            return;
        };
        if !self.shape_is_right(site, level, at, &record) {
            return;
        }
        if let Err(column) = read_values(level, &record, &mut along.values) {
            let values = (column as i64, place.len.into());
            self.bad_row(site, at, ("ColumnOffsets <= (nextRec - pRec)", values));
            return;
        }
        self.values(site, level, (at, ghost), &along.values);
        self.key(site, level, (at, ghost), along);
        let home = if site.is_plain {
            at
        } else {
            self.moved(site, at, &record)
        };
        if site.is_leaf && !ghost {
            along.live += 1;
            self.match_index(&along.values, home);
        }
    }

    /// The address that a row is known by; a row that has moved leaves a fact.
    fn moved(&mut self, site: &Site<'_, '_>, at: RowId, record: &Record<'_>) -> RowId {
        let home = home_of(record).unwrap_or(at);
        if home != at {
            self.facts.moved.push(ForwardFact {
                at,
                other: home,
                unit: site.unit,
            });
        }
        home
    }

    fn stub(&mut self, site: &Site<'_, '_>, at: RowId, bytes: &[u8]) {
        let is_heap = site.rows.is_none_or(|rows| rows.is_heap);
        match Record::forwarded_to(bytes).filter(|_| is_heap) {
            Some(row) => self.facts.stubs.push(ForwardFact {
                at,
                other: row,
                unit: site.unit,
            }),
            None => self.bad_row(site, at, ("forwarding stub", (i64::from(at.slot), 0))),
        }
    }

    pub(super) fn bad_row(&mut self, site: &Site<'_, '_>, at: RowId, test: (&str, (i64, i64))) {
        let place = (at.page, at.slot);
        self.findings
            .row_test(self.shared.plan, site.unit, place, test);
    }

    fn kind_is_right(&mut self, site: &Site<'_, '_>, at: RowId, status: Status) -> bool {
        let is_heap = site.rows.is_none_or(|rows| rows.is_heap);
        let right = match status.kind() {
            RecordKind::Primary | RecordKind::GhostData | RecordKind::GhostVersion => site.is_data,
            RecordKind::Forwarded => site.is_data && is_heap,
            RecordKind::Index => !site.is_data,
            RecordKind::GhostIndex => !site.is_data && site.is_leaf,
            RecordKind::ForwardingStub | RecordKind::BlobFragment => false,
        };
        let right = right && status.0 & 0x81 == 0;
        if !right {
            self.bad_row(site, at, ("recType", (status.0.into(), 0)));
        }
        right
    }

    fn values(
        &mut self,
        site: &Site<'_, '_>,
        level: &LevelPlan,
        (at, ghost): (RowId, bool),
        values: &[Stored<'_>],
    ) {
        for (column, value) in level.columns.iter().zip(values) {
            match value {
                Stored::Bytes(bytes) if !column.any_bytes && !is_lawful(column, bytes) => {
                    self.unlawful(site, at, column);
                }
                Stored::Null if column.not_null && site.is_leaf => self.null(site, at, column),
                Stored::Pointer(bytes) if site.is_leaf => {
                    self.text_pointer((site.unit, ghost), at, bytes);
                }
                _ => {}
            }
        }
    }

    fn unlawful(&mut self, site: &Site<'_, '_>, at: RowId, column: &ColumnPlan) {
        // The key of a level's first entry stands for nothing.
        if !site.is_leaf && at.slot == 0 {
            return;
        }
        let plan = self.shared.plan;
        let type_name = column.stored.data_type.id.name();
        let means = format!(
            "Column '{}' of row {at} {}holds bytes that are no {type_name}.",
            column.name,
            plan.of(site.unit)
        );
        let mut args = vec![page(site.id), at.slot.into()];
        args.extend(plan.unit_args(site.unit));
        args.extend([column.name.as_str().into(), type_name.into()]);
        self.findings
            .of_page(plan, (2570, site.unit), site.id, &args, means);
    }

    fn null(&mut self, site: &Site<'_, '_>, at: RowId, column: &ColumnPlan) {
        let plan = self.shared.plan;
        let means = format!(
            "Column '{}' of row {at} {}is NULL, which it must not be.",
            column.name,
            plan.of(site.unit)
        );
        let mut args = plan.unit_args(site.unit).to_vec();
        args.extend([page(site.id), at.slot.into(), column.name.as_str().into()]);
        self.findings
            .of_page(plan, (8970, site.unit), site.id, &args, means);
    }

    fn child(&mut self, site: &Site<'_, '_>, at: RowId, record: &Record<'_>) {
        let key = match site.level {
            Some(level) if at.slot > 0 && self.shared.depth != Depth::Physical => {
                values_of(level, record).map_or(KeyRef::default(), |values| {
                    let columns = level.key.iter().map(|key| values.get(key.column));
                    let columns = columns.map(|value| value.copied().and_then(bytes_of));
                    self.facts.keys.keep(columns)
                })
            }
            _ => KeyRef::default(),
        };
        self.facts.children.push(ChildFact {
            parent: site.id,
            slot: at.slot,
            child: record.child().unwrap_or(PageId::NONE),
            key,
        });
    }

    /// Keys ascend, and differ.
    fn key<'p>(
        &mut self,
        site: &Site<'_, 'p>,
        level: &LevelPlan,
        (at, ghost): (RowId, bool),
        along: &mut Along<'p>,
    ) {
        // The first entry of a page that is no leaf stands for all that comes before the second.
        if level.key.is_empty() || !site.is_leaf && at.slot == 0 {
            return;
        }
        let (before, now) = along.keys.pair();
        now.clear();
        for key in &level.key {
            now.push(along.values.get(key.column).copied().and_then(bytes_of));
        }
        if let Some((slot, before_ghost)) = along.before {
            let (plan, unit, id) = (self.shared.plan, site.unit, site.id);
            let pair = (before.iter().copied(), now.iter().copied());
            match order(plan.own, &level.key, pair.0, pair.1) {
                Some(Ordering::Greater) => {
                    let means = format!(
                        "Rows {slot} and {} of page {id} {}are not in the order of their keys: \
                         searches miss rows.",
                        at.slot,
                        plan.of(unit)
                    );
                    let args = [page(id), slot.into(), at.slot.into()];
                    self.findings.of_unit(plan, (2511, unit), id, &args, means);
                }
                Some(Ordering::Equal) if !ghost && !before_ghost => {
                    let means = format!(
                        "Rows {slot} and {} of page {id} {}have the same key.",
                        at.slot,
                        plan.of(unit)
                    );
                    let args = [page(id), slot.into(), page(id), at.slot.into()];
                    self.findings.of_unit(plan, (2512, unit), id, &args, means);
                }
                _ => {}
            }
        }
        along.first.get_or_insert_with(|| now.clone());
        along.before = Some((at.slot, ghost));
        along.keys.advance();
    }
}
