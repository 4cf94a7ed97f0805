//! What is wrong: SQL Server's message, where, and one plain sentence.

use crate::plan::Plan;
use furrow_format::PageId;
use furrow_messages::{Arg, Message};
use std::fmt;

/// A table or index that a finding is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// Object id.
    pub object_id: i32,
    /// Schema and name of the table.
    pub table: String,
    /// Index id: 0 heap, 1 clustered.
    pub index_id: i32,
    /// Name of the index, where it has one.
    pub index: Option<String>,
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.table)?;
        match &self.index {
            Some(index) => write!(f, ", index {index}"),
            None => Ok(()),
        }
    }
}

/// Something that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// SQL Server's number, level, state and text.
    pub message: Message,
    /// The page at fault, or the page that shows it.
    pub page: Option<PageId>,
    /// The table, where one can be told.
    pub subject: Option<Subject>,
    /// What it means, in one sentence.
    pub means: String,
}

impl Finding {
    /// SQL Server's message number.
    pub fn number(&self) -> u32 {
        self.message.number
    }

    /// Whether it is about this page: names it first, or anywhere in its text.
    pub fn names(&self, page: PageId) -> bool {
        self.page == Some(page) || self.message.text.contains(&page.to_string())
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.message)?;
        write!(f, "  {}", self.means)
    }
}

/// A page as an argument of a message.
pub(crate) fn page(id: PageId) -> Arg {
    Arg::page(id.file.0, id.page.0)
}

/// Findings as they come up.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub(crate) list: Vec<Finding>,
}

impl Findings {
    /// A finding that no table is known for.
    pub(crate) fn plain(&mut self, number: u32, at: Option<PageId>, args: &[Arg], means: String) {
        self.list.push(Finding {
            message: Message::new(number, args),
            page: at,
            subject: None,
            means,
        });
    }

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
        self.list.push(Finding {
            message: Message::new(number, args),
            page: Some(at),
            subject: plan.subject(unit),
            means,
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
