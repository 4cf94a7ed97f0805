//! The parts of a record against the layout of its rowset.

use super::rows::Site;
use super::worker::Worker;
use crate::plan::LevelPlan;
use furrow_format::{Record, RecordKind, RowId, Status};

/// Longest record: the largest row and a version tag.
const LONGEST: u16 = LARGEST + 14;
/// The largest row.
const LARGEST: u16 = 8060;
/// Most bytes that pad a heap row without fixed columns, so that a stub can replace it.
const MOST_PADDING: i64 = 2;

/// Whether a record has exactly the parts that rows of the layout have. Most do: a record that does not is
/// held against each rule.
#[inline]
fn is_usual(site: &Site<'_, '_>, level: &LevelPlan, record: &Record<'_>) -> bool {
    let (bytes, status, columns) = (record.bytes(), record.status(), record.column_count());
    let header = if site.is_data { 4 } else { 1 };
    let wanted = site.is_data || level.null_bits > 0;
    let falls = |ordinal| record.var(ordinal).is_none();
    status.kind() != RecordKind::Forwarded
        && bytes.len() <= usize::from(LONGEST)
        && (!site.is_data || bytes.get(1) == Some(&0))
        && status.has(Status::NULL_BITMAP) == wanted
        && columns == if wanted { level.null_bits } else { 0 }
        && record.fixed().len() + header == usize::from(level.fixed_end)
        && (level.vars > 0 || !status.has(Status::VARIABLE))
        && record.var_count() <= level.vars
        && !(0..record.var_count()).any(falls)
}

impl Worker<'_> {
    /// The record's parts against the layout.
    pub(super) fn shape_is_right(
        &mut self,
        site: &Site<'_, '_>,
        level: &LevelPlan,
        at: RowId,
        record: &Record<'_>,
    ) -> bool {
        if is_usual(site, level, record) {
            debug_assert_eq!(self.broken_rule(site, level, at, record), None);
            return true;
        }
        let broken = self.broken_rule(site, level, at, record);
        if let Some((test, a, b)) = broken {
            self.bad_row(site, at, (test, (a, b)));
        }
        broken.is_none()
    }

    /// The first rule that the record breaks, and the two values that it compares.
    fn broken_rule(
        &self,
        site: &Site<'_, '_>,
        level: &LevelPlan,
        at: RowId,
        record: &Record<'_>,
    ) -> Option<(&'static str, i64, i64)> {
        let status = record.status();
        let forwarded = status.kind() == RecordKind::Forwarded;
        let has_bitmap = status.has(Status::NULL_BITMAP);
        let bits = i64::from(record.column_count());
        let fixed = record.fixed().len() as i64 + if site.is_data { 4 } else { 1 };
        let (own, known) = (self.shared.plan.own, i64::from(level.null_bits));
        let wanted = site.is_data || level.null_bits > 0;
        // Non-leaf rows of SQL Server may go without, where no key is NULL; and the first entry, whose key
        // stands for nothing, may have a bitmap that says so.
        let first = !own && !site.is_leaf && at.slot == 0;
        let free = !own && !site.is_leaf && wanted || first;
        // A heap row without its padding, which would make it too long.
        let padding = i64::from(level.fixed_end) - fixed;
        let unpadded = site.is_data
            && (1..=MOST_PADDING).contains(&padding)
            && record.bytes().len() as i64 + padding > i64::from(LARGEST);
        let tag_most = u8::from(record.is_ghost());
        let moved_ghost = record.is_ghost() && record.bytes().get(1) == Some(&1);
        let vars = i64::from(level.vars) + i64::from(moved_ghost);
        if record.bytes().len() > usize::from(LONGEST) {
            let len = record.bytes().len() as i64;
            Some(("record length <= 8060", len, i64::from(LARGEST)))
        } else if site.is_data && record.bytes().get(1).is_some_and(|&b| b > tag_most) {
            Some((
                "tagB",
                i64::from(record.bytes().get(1).copied().unwrap_or(0)),
                1,
            ))
        } else if has_bitmap != wanted && !free {
            Some(("null bitmap", has_bitmap.into(), wanted.into()))
        } else if !first && (bits > known || (own || !site.is_data) && bits != known && has_bitmap)
        {
            Some(("columns == columns of the layout", bits, known))
        } else if fixed > level.fixed_end.into()
            || own && fixed != level.fixed_end.into() && !unpadded
        {
            Some(("fixed length", fixed, level.fixed_end.into()))
        } else if status.has(Status::VARIABLE) && vars == 0 && !forwarded {
            Some(("variable columns", 1, 0))
        } else if i64::from(record.var_count()) > vars {
            Some(("variable columns", record.var_count().into(), vars))
        } else if forwarded && record.forwarded_from().is_none() {
            Some(("forwarded row leads back", 0, 1))
        } else {
            let falls = (0..record.var_count()).find(|&n| record.var(n).is_none());
            falls.map(|n| ("ends of variable columns ascend", n.into(), 0))
        }
    }
}
