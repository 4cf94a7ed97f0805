//! Findings about a unit of the plan: its table and index are named.

use crate::finding::{Finding, errors_of, page};
use crate::findings::Findings;
use crate::plan::Plan;
use furrow_format::PageId;
use furrow_messages::{Arg, Message};

impl Findings {
    /// A finding whose message begins with object, index, partition, unit and its kind.
    pub(crate) fn of_unit(
        &mut self,
        plan: &Plan,
        (number, unit): (u32, u32),
        at: PageId,
        args: &[Arg],
        means: String,
    ) {
        let mut all = plan.unit_args(unit).to_vec();
        all.extend_from_slice(args);
        self.of_page(plan, (number, unit), at, &all, means);
    }

    /// A finding about a unit's page whose arguments stand in an order of their own.
    pub(crate) fn of_page(
        &mut self,
        plan: &Plan,
        (number, unit): (u32, u32),
        at: PageId,
        args: &[Arg],
        means: String,
    ) {
        self.push(Finding {
            message: Message::new(number, args),
            page: Some(at),
            subject: plan.subject(unit),
            means,
            errors: errors_of(number),
        });
    }

    /// A failed test of a page's header.
    pub(crate) fn page_test(
        &mut self,
        plan: &Plan,
        unit: u32,
        at: PageId,
        (test, values): (&str, (i64, i64)),
    ) {
        let means = format!(
            "The header of page {at} {}contradicts itself.",
            plan.of(unit)
        );
        let args = [page(at), test.into(), values.0.into(), values.1.into()];
        self.of_unit(plan, (8939, unit), at, &args, means);
    }

    /// A failed test of a record.
    pub(crate) fn row_test(
        &mut self,
        plan: &Plan,
        unit: u32,
        (at, slot): (PageId, u16),
        (test, values): (&str, (i64, i64)),
    ) {
        let means = format!(
            "The row in slot {slot} of page {at} {}does not hold together.",
            plan.of(unit)
        );
        let args = [
            page(at),
            slot.into(),
            test.into(),
            values.0.into(),
            values.1.into(),
        ];
        self.of_unit(plan, (8944, unit), at, &args, means);
    }
}
