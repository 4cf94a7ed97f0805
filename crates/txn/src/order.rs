//! The order of locks and latches, as a reference page: from the tables that the code works by.

use crate::lock::{LockMode, Resource};
use furrow_format::{AllocUnitId, DatabaseId, FileId, ObjectId, PageId, RowId, RowsetId};
use furrow_pool::LATCH_RANKS;
use std::fmt::Write;

/// What a thread waits for, in order: it holds nothing of a later line while it waits for something of an
/// earlier one. The second text is what proves it.
const WAITS: [(&str, &str); 5] = [
    (
        "a lock",
        "`assert_no_latches` where the lock manager begins a wait",
    ),
    (
        "log space, pages, the growth of a file",
        "`assert_no_latches` in `Store::promise` and `Space::reserve`",
    ),
    (
        "a page latch, by rank",
        "the pool compares the ranks of every latch that blocks",
    ),
    (
        "a free block of the log buffer",
        "the log writes its blocks without a page latch",
    ),
    (
        "a latch inside of a component",
        "nothing is waited for under it; the components' headers state the order",
    ),
];

/// Latches of the lock manager, in the order in which a thread takes them.
const LOCK_MANAGER: [&str; 4] = [
    "the table of locks of one owner, which stays latched while its owner waits",
    "shards of the lock table, in ascending order",
    "the list of owners",
    "the outcome or the notes of one owner",
];

/// Lockable resources from the top down: one of each type, and the types whose locks contain it.
fn hierarchy() -> [(Resource, &'static str); 10] {
    let (db, page) = (DatabaseId(1), PageId::new(1, 8));
    let row = RowId { page, slot: 0 };
    [
        (Resource::Database(db), ""),
        (Resource::Application(db, 0), "DATABASE"),
        (Resource::File(db, FileId(1)), "DATABASE"),
        (Resource::Object(db, ObjectId(1)), "DATABASE"),
        (Resource::Hobt(db, RowsetId(1)), "OBJECT"),
        (Resource::AllocationUnit(db, AllocUnitId(1)), "HOBT"),
        (Resource::Extent(db, page), "ALLOCATION_UNIT"),
        (Resource::Page(db, RowsetId(1), page), "OBJECT"),
        (Resource::Rid(db, row), "OBJECT, PAGE"),
        (Resource::key(db, RowsetId(1), 0), "OBJECT, PAGE"),
    ]
}

fn names(modes: &[LockMode]) -> String {
    let names: Vec<&str> = modes.iter().map(|mode| mode.name()).collect();
    names.join(", ")
}

/// A table of two modes each: what `cell` returns for the mode of the line and that of the column.
fn matrix(
    page: &mut String,
    modes: &[LockMode],
    cell: impl Fn(LockMode, LockMode) -> &'static str,
) {
    let heads: Vec<&str> = modes.iter().map(|mode| mode.name()).collect();
    let _ = writeln!(page, "| | {} |", heads.join(" | "));
    let _ = writeln!(page, "|---{}|", "|---".repeat(modes.len()));
    for &line in modes {
        let cells: Vec<&str> = modes.iter().map(|&column| cell(line, column)).collect();
        let _ = writeln!(page, "| {} | {} |", line.name(), cells.join(" | "));
    }
}

/// File name and text of the reference page.
pub fn reference_page() -> (&'static str, String) {
    let mut page = "# Order of locks and latches\n\nA lock protects what transactions see; a latch protects \
                    memory. A thread holds nothing of a later line while it waits for something of an \
                    earlier one.\n\n| | waits for | checked by |\n|---|---|---|\n"
        .to_owned();
    for (at, (what, proof)) in WAITS.iter().enumerate() {
        let _ = writeln!(page, "| {} | {what} | {proof} |", at + 1);
    }
    page.push_str(
        "\n## Page latches\n\nA request that blocks must not be of a lower rank than any page latch that the \
         thread holds. Within a rank: parent before child, left before right, PFS pages in ascending order. \
         Requests that never block are exempt. Debug builds panic on any other order.\n\n\
         | rank | name | pages |\n|---|---|---|\n",
    );
    for (rank, name, pages) in LATCH_RANKS {
        let _ = writeln!(page, "| {} | {name} | {pages} |", rank as u8);
    }
    page.push_str("\n## Latches of the lock manager\n\n");
    for (at, latch) in LOCK_MANAGER.iter().enumerate() {
        let _ = writeln!(page, "{}. {latch}", at + 1);
    }
    page.push_str(
        "\n## Lock hierarchy\n\nA lock on a resource needs an intent lock on what contains it, taken before. \
         There is no order among resources of one level: a deadlock ends by a victim (1205).\n\n\
         | resource | within | modes |\n|---|---|---|\n",
    );
    for (resource, within) in hierarchy() {
        let accepted: Vec<LockMode> = LockMode::ALL
            .into_iter()
            .filter(|mode| resource.accepts(*mode))
            .collect();
        let kind = resource.type_name();
        let _ = writeln!(page, "| `{kind}` | {within} | {} |", names(&accepted));
    }
    let yes_or_no = |held: LockMode, wanted: LockMode| match held.compatible(wanted) {
        true => "yes",
        false => "-",
    };
    let plain: Vec<LockMode> = LockMode::ALL
        .into_iter()
        .filter(|mode| !mode.is_range_mode())
        .collect();
    let of_keys: Vec<LockMode> = LockMode::ALL
        .into_iter()
        .filter(|mode| Resource::key(DatabaseId(1), RowsetId(1), 0).accepts(*mode))
        .collect();
    page.push_str("\n## Modes that two transactions may hold on one resource\n\n");
    matrix(&mut page, &plain, yes_or_no);
    page.push_str("\nOn keys:\n\n");
    matrix(&mut page, &of_keys, yes_or_no);
    page.push_str(
        "\n## Conversions\n\nThe mode that a transaction holds after it held the mode of the line and asked \
         for that of the column.\n\n",
    );
    matrix(&mut page, &plain, |held, wanted| {
        held.supremum(wanted).name()
    });
    ("lock-and-latch-order.md", page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_of_resource_is_in_the_hierarchy_below_types_that_come_before() {
        let mut seen: Vec<&str> = Vec::new();
        for (resource, within) in hierarchy() {
            for above in within.split(", ").filter(|name| !name.is_empty()) {
                assert!(seen.contains(&above), "{resource} within {above}");
            }
            seen.push(resource.type_name());
        }
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 10);
    }
}
