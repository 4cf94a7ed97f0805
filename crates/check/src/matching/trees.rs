//! B+trees: from the root down, in key order. Levels, links, ranges; each page has one parent.

use super::Matcher;
use crate::facts::{ChildFact, KeyRef, PageFact};
use crate::finding::page;
use crate::order::order;
use crate::plan::RowsetPlan;
use furrow_format::catalog::unit_kind;
use furrow_format::{PageId, PageType};
use std::cmp::Ordering;

/// Deepest tree that is believed.
const DEEPEST: usize = 64;

/// What came before on a level.
#[derive(Debug, Clone, Copy)]
enum Before {
    /// This page, and the one that it names behind it.
    Page(PageId, PageId),
    /// A page that could not be used stands between.
    Unknown,
}

/// A page to be visited, and what its parent says of it.
#[derive(Debug, Clone, Copy)]
struct Visit {
    id: PageId,
    depth: usize,
    parent: Option<(PageId, u16, u8)>,
    low: KeyRef,
    /// First key behind the page, and the entry that says so.
    high: KeyRef,
    high_at: (PageId, u16),
}

/// A walk over one tree.
struct Walk<'p> {
    unit: u32,
    rows: Option<&'p RowsetPlan>,
    root: PageId,
    /// By depth: the page visited last.
    before: Vec<Before>,
}

impl Matcher<'_> {
    pub(super) fn match_trees(&mut self) {
        let plan = self.shared.plan;
        for (at, unit) in plan.units.iter().enumerate() {
            let is_tree = unit.kind == unit_kind::IN_ROW && unit.index_id > 0;
            if is_tree && !unit.root.is_none() && self.shared.judges(at as u32) {
                self.tree(at as u32, unit.root);
            }
        }
        self.unreached();
    }

    fn tree(&mut self, unit: u32, root: PageId) {
        let mut walk = Walk {
            unit,
            rows: self.shared.plan.rows_of(unit),
            root,
            before: Vec::new(),
        };
        let mut stack = vec![Visit {
            id: root,
            depth: 0,
            parent: None,
            low: KeyRef::default(),
            high: KeyRef::default(),
            high_at: (PageId::NONE, 0),
        }];
        while let Some(visit) = stack.pop() {
            if visit.depth < DEEPEST {
                self.visit(&mut walk, visit, &mut stack);
            }
        }
        for before in walk.before.clone() {
            if let Before::Page(last, next) = before {
                self.link(&walk, (last, next), PageId::NONE, None);
            }
        }
    }

    fn visit(&mut self, walk: &mut Walk<'_>, visit: Visit, stack: &mut Vec<Visit>) {
        let at = self.facts.pages.place(visit.id);
        let fact = at.and_then(|at| self.facts.pages.at(at));
        let mine = |fact: &PageFact| {
            let rows = [PageType::Data, PageType::Index];
            fact.unit == walk.unit && rows.contains(&PageType::from_byte(fact.kind))
        };
        let Some(fact) = fact.filter(mine) else {
            self.not_seen(walk, &visit);
            self.interrupt(walk, visit.depth);
            return;
        };
        let parent = visit.parent.map_or((PageId::NONE, 0), |p| (p.0, p.1));
        if at.is_some_and(|at| self.reached.set(at)) {
            let other = self.other_parent(walk, visit.id, parent);
            self.two_parents(walk.unit, visit.id, other, parent);
            return;
        }
        self.level(walk, &visit, &fact);
        self.previous(walk, &visit, &fact);
        let is_leaf = fact.kind == PageType::Data.to_byte()
            || fact.level == 0 && walk.rows.is_none_or(|r| r.leaf_type == PageType::Index);
        if is_leaf {
            self.range(walk, &visit, &fact, (fact.low, fact.high));
            return;
        }
        let facts = self.facts;
        let children = facts.children_of(visit.id);
        let low = children.iter().find(|c| c.key.is_some()).map(|c| c.key);
        let high = children.last().map(|c| c.key);
        if let (Some(low), Some(high)) = (low, high) {
            self.range(walk, &visit, &fact, (low, high));
        }
        push_children(&visit, fact.level, &children, stack);
    }

    /// The chain of a level and of those below it cannot be followed over a page that is missing.
    fn interrupt(&self, walk: &mut Walk<'_>, depth: usize) {
        // Deeper levels may not have begun yet: a leaf to come has an unknown page before it all the same.
        walk.before.resize(DEEPEST, Before::Unknown);
        for before in walk.before.iter_mut().skip(depth) {
            *before = Before::Unknown;
        }
    }

    fn level(&mut self, walk: &Walk<'_>, visit: &Visit, fact: &PageFact) {
        let Some((parent, _, level)) = visit.parent else {
            return;
        };
        // Above the leaves of a clustered index stand pages of level 0 or 1.
        let right = if fact.kind == PageType::Data.to_byte() {
            level <= 1
        } else {
            level == fact.level.wrapping_add(1)
        };
        if !right {
            let means = format!(
                "Page {} {}is of another level than its parent says.",
                visit.id,
                self.shared.plan.of(walk.unit)
            );
            let args = [
                page(visit.id),
                fact.level.into(),
                level.saturating_sub(1).into(),
                page(parent),
            ];
            self.of_unit((8931, walk.unit), visit.id, &args, means);
        }
    }

    /// The page before, on its level, and this one know each other.
    fn previous(&mut self, walk: &mut Walk<'_>, visit: &Visit, fact: &PageFact) {
        let depth = visit.depth;
        let before = walk.before.get(depth).copied();
        let expected = match before {
            None => Some((PageId::NONE, PageId::NONE)),
            Some(Before::Page(id, next)) => Some((id, next)),
            Some(Before::Unknown) => None,
        };
        if let Some((expected, next)) = expected {
            if fact.prev != expected {
                let (parent, slot) = visit.parent.map_or((PageId::NONE, 0), |p| (p.0, p.1));
                let means = format!(
                    "Page {} {}names the wrong page before it: scans go astray.",
                    visit.id,
                    self.shared.plan.of(walk.unit)
                );
                let args = [
                    page(fact.prev),
                    page(visit.id),
                    page(expected),
                    page(parent),
                    slot.into(),
                ];
                self.of_unit((8935, walk.unit), visit.id, &args, means);
            }
            if !expected.is_none() {
                self.link(walk, (expected, next), visit.id, Some(fact.prev));
            }
        }
        if walk.before.len() <= depth {
            walk.before.resize(depth + 1, Before::Unknown);
        }
        if let Some(place) = walk.before.get_mut(depth) {
            *place = Before::Page(visit.id, fact.next);
        }
    }

    /// The right link of a page.
    fn link(
        &mut self,
        walk: &Walk<'_>,
        (from, next): (PageId, PageId),
        to: PageId,
        back: Option<PageId>,
    ) {
        if next == to {
            return;
        }
        let plan = self.shared.plan;
        let of = plan.of(walk.unit);
        if to.is_none()
            || self
                .facts
                .page(next)
                .is_none_or(|fact| fact.unit != walk.unit)
        {
            let means =
                format!("Page {from} {of}leads on to page {next}, which does not follow it.");
            let args = [page(from), page(next), page(next)];
            self.of_unit((8981, walk.unit), from, &args, means);
            return;
        }
        let means =
            format!("Page {from} {of}leads on to page {next}, not to {to}: scans go astray.");
        let args = [
            page(from),
            page(next),
            page(to),
            page(back.unwrap_or_default()),
        ];
        self.of_unit((8936, walk.unit), from, &args, means);
        let means = format!("Page {to} {of}is left out by the page before it.");
        self.of_unit((8978, walk.unit), to, &[page(to), page(from)], means);
    }

    /// Keys of a page lie in the range that its parents give it.
    fn range(&mut self, walk: &Walk<'_>, visit: &Visit, fact: &PageFact, keys: (KeyRef, KeyRef)) {
        let (Some(rows), Some((parent, slot, _))) = (walk.rows, visit.parent) else {
            return;
        };
        let key = if rows.node.key.is_empty() {
            return;
        } else {
            &rows.node.key
        };
        let (arena, own) = (&self.facts.keys, self.shared.plan.own);
        let compare = |a: KeyRef, b: KeyRef| {
            let (a, b) = (arena.get(a)?, arena.get(b)?);
            order(own, key, a.columns(), b.columns())
        };
        let too_low = compare(keys.0, visit.low) == Some(Ordering::Less);
        let too_high = matches!(
            compare(keys.1, visit.high),
            Some(Ordering::Greater | Ordering::Equal)
        );
        let of = self.shared.plan.of(walk.unit);
        if too_low {
            let means = format!(
                "Page {} {of}has keys that belong to a page before it.",
                visit.id
            );
            let args = [page(visit.id), fact.level.into(), page(parent), slot.into()];
            self.of_unit((8933, walk.unit), visit.id, &args, means);
        }
        if too_high {
            let means = format!(
                "Page {} {of}has keys that belong to a page behind it.",
                visit.id
            );
            let args = [
                page(visit.id),
                fact.level.into(),
                page(visit.high_at.0),
                visit.high_at.1.into(),
                page(fact.next),
            ];
            self.of_unit((8934, walk.unit), visit.id, &args, means);
        }
    }

    /// The entry that led to a page before: the root has none.
    fn other_parent(&self, walk: &Walk<'_>, id: PageId, parent: (PageId, u16)) -> (PageId, u16) {
        if id == walk.root {
            return (PageId::NONE, 0);
        }
        let entries = self.facts.children.iter().filter(|c| c.child == id);
        let mut entries = entries.map(|c| (c.parent, c.slot)).filter(|at| {
            let page = self.facts.page(at.0);
            *at != parent && page.is_some_and(|page| page.unit == walk.unit)
        });
        entries.next().unwrap_or((PageId::NONE, 0))
    }

    fn two_parents(&mut self, unit: u32, id: PageId, one: (PageId, u16), other: (PageId, u16)) {
        let means = format!(
            "Two entries {}lead to page {id}.",
            self.shared.plan.of(unit)
        );
        let args = [
            page(id),
            page(one.0),
            one.1.into(),
            page(other.0),
            other.1.into(),
        ];
        self.of_unit((8937, unit), id, &args, means);
    }

    /// An entry leads to a page that is not there, or not this tree's.
    fn not_seen(&mut self, walk: &Walk<'_>, visit: &Visit) {
        let plan = self.shared.plan;
        let of = plan.of(walk.unit);
        let previous = match walk.before.get(visit.depth) {
            Some(Before::Page(id, _)) => *id,
            _ => PageId::NONE,
        };
        let Some((parent, slot, _)) = visit.parent else {
            let means = format!(
                "The root {} {of}is not there: no row can be found.",
                visit.id
            );
            let args = [page(visit.id), page(PageId::NONE)];
            self.of_unit((8979, walk.unit), visit.id, &args, means);
            return;
        };
        if self.facts.is_bad(visit.id) {
            let means = format!(
                "The index {of}leads to page {}, which is damaged.",
                visit.id
            );
            let args = [page(visit.id), page(parent), page(previous)];
            self.of_unit((8976, walk.unit), visit.id, &args, means);
            return;
        }
        let means = format!(
            "Slot {slot} of page {parent} {of}leads to page {}, which is not one of its pages.",
            visit.id
        );
        let args = [page(parent), slot.into(), page(visit.id), page(previous)];
        self.of_unit((8980, walk.unit), parent, &args, means);
    }

    /// Pages of trees that no root leads to.
    fn unreached(&mut self) {
        let (facts, plan) = (self.facts, self.shared.plan);
        let reached = std::mem::take(&mut self.reached);
        for (at, fact) in facts.pages.iter().enumerate() {
            let of_tree = plan
                .unit(fact.unit)
                .is_some_and(|u| u.index_id > 0 && u.kind == unit_kind::IN_ROW);
            if reached.has(at) || !of_tree || !self.shared.judges(fact.unit) {
                continue;
            }
            let of = plan.of(fact.unit);
            let means = format!(
                "Nothing leads to page {} {of}: its rows cannot be found.",
                fact.id
            );
            if fact.prev.is_none() {
                self.of_unit((8977, fact.unit), fact.id, &[page(fact.id)], means);
            } else {
                let args = [page(fact.id), page(fact.prev)];
                self.of_unit((8979, fact.unit), fact.id, &args, means);
            }
        }
    }
}

/// Puts the children on the stack, the first on top, each with its range.
fn push_children(of: &Visit, level: u8, children: &[ChildFact], stack: &mut Vec<Visit>) {
    for (at, child) in children.iter().enumerate().rev() {
        let next = children.get(at + 1);
        stack.push(Visit {
            id: child.child,
            depth: of.depth + 1,
            parent: Some((child.parent, child.slot, level)),
            low: if at == 0 { of.low } else { child.key },
            high: next.map_or(of.high, |next| next.key),
            high_at: next.map_or(of.high_at, |next| (next.parent, next.slot)),
        });
    }
}
