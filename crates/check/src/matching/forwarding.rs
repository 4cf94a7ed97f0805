//! Moved rows of heaps: each stub leads to a row that leads back, each moved row has its stub.

use super::Matcher;
use crate::facts::{ForwardFact, Sorted};
use crate::finding::page;
use furrow_format::{PageId, PageType, RowId};
use furrow_messages::Arg;

fn row_args(at: RowId) -> [Arg; 2] {
    [page(at.page), at.slot.into()]
}

impl Matcher<'_> {
    pub(super) fn match_forwarding(&mut self) {
        let facts = self.facts;
        // A moved row has one place; of stubs at one place there is one.
        let first = |of: &Sorted<ForwardFact>, at: RowId| {
            let place = of.partition((at, RowId::default()));
            of.at(place).filter(|fact| fact.at == at)
        };
        for stub in facts.stubs.iter() {
            match first(&facts.moved, stub.other) {
                Some(row) if row.other == stub.at && row.unit == stub.unit => {}
                Some(row) => self.mismatch(&stub, &row),
                None => self.lost(8993, &stub),
            }
        }
        for row in facts.moved.iter() {
            if first(&facts.stubs, row.other).is_none_or(|stub| stub.other != row.at) {
                self.lost(8994, &row);
            }
        }
        self.heap_links();
    }

    fn mismatch(&mut self, stub: &ForwardFact, row: &ForwardFact) {
        let of = self.shared.plan.of(stub.unit);
        let means = format!(
            "The moved row {} {of}does not belong to the stub {}.",
            row.at, stub.at
        );
        let mut args = row_args(stub.at).to_vec();
        args.extend(row_args(stub.other));
        args.extend(row_args(row.other));
        self.of_unit((8971, stub.unit), stub.at.page, &args, means);
    }

    fn lost(&mut self, number: u32, fact: &ForwardFact) {
        let (here, there) = (fact.at, fact.other);
        let plan = self.shared.plan;
        let of = plan.of(fact.unit);
        let means = match number {
            8993 => format!("The row that moved from {here} {of}is not at {there}: it is lost."),
            _ => {
                format!("No stub at {there} {of}leads to the moved row {here}: it cannot be found.")
            }
        };
        let mut args = vec![plan.unit(fact.unit).map_or(0, |unit| unit.object_id).into()];
        args.extend(row_args(here));
        args.extend(row_args(there));
        self.findings
            .of_page(plan, (number, fact.unit), here.page, &args, means);
    }

    /// Without a catalog there are no roots to begin with: links are held against each other alone.
    pub(super) fn match_links(&mut self) {
        let facts = self.facts;
        for fact in facts.pages.iter() {
            let of_rows = [PageType::Data, PageType::Index];
            if !of_rows.contains(&PageType::from_byte(fact.kind)) {
                continue;
            }
            let known = |id: PageId| id.is_none() || facts.is_bad(id);
            let near = |id: PageId| facts.page(id).filter(|p| p.unit_id == fact.unit_id);
            if !known(fact.next) && near(fact.next).is_none_or(|n| n.prev != fact.id) {
                let means = format!("Page {} leads on to {}, wrongly.", fact.id, fact.next);
                let back = near(fact.next).map_or(PageId::NONE, |next| next.prev);
                let args = [page(fact.id), page(fact.next), page(fact.next), page(back)];
                self.of_unit((8936, fact.unit), fact.id, &args, means);
            }
            if !known(fact.prev) && near(fact.prev).is_none_or(|p| p.next != fact.id) {
                let means = format!("Page {} names {} before it, wrongly.", fact.id, fact.prev);
                let args = [page(fact.id), page(fact.prev)];
                self.of_unit((8978, fact.unit), fact.id, &args, means);
            }
        }
    }

    /// Pages of heaps need no links; where there are some, they lead to and fro.
    fn heap_links(&mut self) {
        let (facts, plan) = (self.facts, self.shared.plan);
        for fact in facts.pages.iter() {
            let is_heap = plan.unit(fact.unit).is_some_and(|unit| unit.index_id == 0);
            if !is_heap || PageType::from_byte(fact.kind) != PageType::Data {
                continue;
            }
            let known = |id: PageId| id.is_none() || facts.is_bad(id);
            let next = facts.page(fact.next);
            let back = next.is_some_and(|n| n.prev == fact.id && n.unit == fact.unit);
            if !known(fact.next) && !back {
                let of = plan.of(fact.unit);
                let means = format!("Page {} {of}leads on to {}, wrongly.", fact.id, fact.next);
                let prev = next.map_or(PageId::NONE, |next| next.prev);
                let args = [page(fact.id), page(fact.next), page(fact.next), page(prev)];
                self.of_unit((8936, fact.unit), fact.id, &args, means);
            }
            let previous = facts.page(fact.prev);
            if !known(fact.prev) && previous.is_none_or(|p| p.next != fact.id) {
                let of = plan.of(fact.unit);
                let means = format!(
                    "Page {} {of}names {} before it, wrongly.",
                    fact.id, fact.prev
                );
                let args = [page(fact.id), page(fact.prev)];
                self.of_unit((8978, fact.unit), fact.id, &args, means);
            }
        }
    }
}
