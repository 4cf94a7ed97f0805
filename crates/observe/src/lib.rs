//! What the engine tells about itself: waits, latches, spinlocks, file statistics, counters, trace flags,
//! messages, the error log.
//!
//! Everything an administrator asks a database about its own work is answered from this crate. It
//! knows nothing of pages or transactions: the layers above charge what they did, the views above them
//! read it.
//!
//! # Invariants
//! 1. Always on, and free while nobody waits: a clock is read only after a fast path failed, a lock is
//!    taken here only by somebody who waits anyway. What is counted without waiting (I/O, counters) costs
//!    relaxed additions only.
//! 2. A wait is in its type's count from its start, and in its times from its end. In between the
//!    [`task::Registry`] shows it, with what it is for and who stands in the way.
//! 3. What a session is charged its instance is charged too, by the same call: sums agree.
//! 4. Names, texts and numbers are data: each table is one list of rows, from which the enum, the look-up,
//!    the views and a reference page ([`reference_pages`]) come. They cannot drift apart.
//! 5. Nothing here panics on what a user sent, nor waits for a disk, except [`errorlog::ErrorLog::flush`]
//!    and its kin, which say so.
//!
//! Proofs, by the invariant's number: 1: `a_latch_that_is_free_costs_no_statistics`,
//! `a_free_spinlock_counts_nothing`. 2: `a_wait_is_counted_at_its_start_and_timed_at_its_end`. 3:
//! `a_wait_is_charged_to_the_session_and_to_the_instance`. 4:
//! `every_reference_page_has_a_row_for_each_row_of_its_table`. 5:
//! `a_full_disk_keeps_the_lines_until_there_is_room`,
//! `a_number_out_of_range_is_an_error_and_changes_nothing`.
//!
//! # How a wait is charged
//! 1. A session enters its [`task::Task`] on its thread ([`task::enter`]).
//! 2. Somewhere below, a `try_lock` fails. The layer calls [`task::wait`] with the type and the resource,
//!    blocks, and finishes the [`task::Wait`]; [`task::Wait::finish_signalled`] tells the signal time apart.
//! 3. The session's and the instance's [`waits::WaitTable`] have it. A thread without a task charges the
//!    process ([`Instruments::process`]), so that no layer needs to ask whether there is one.
//!
//! [`latches::ClassLatch`] and [`spinlocks::Spinlock`] do these steps themselves. Each instance has its
//! own [`Instruments`]; tests make as many as they like.
//!
//! # What can fail
//! Only the error log's files, with an [`furrow_io::IoError`]: lines are kept in memory and tried again.
//! Wrong numbers given to DBCC TRACEON come back as the [`furrow_messages::Message`] for the client. A
//! message built with the wrong number of arguments is a bug: debug builds assert, release builds print
//! `(null)`.

mod instruments;
mod table;

pub mod counters;
pub mod deadlock;
pub mod errorlog;
pub mod files;
pub mod latches;
pub mod lines;
pub mod spinlocks;
pub mod suspects;
pub mod task;
pub mod traceflags;
pub mod waits;

pub use instruments::Instruments;

/// The reference pages of all tables: the name of the file they belong in, and their Markdown.
pub fn reference_pages() -> Vec<(&'static str, String)> {
    vec![
        ("wait-types.md", waits::render_markdown()),
        ("latch-classes.md", latches::render_markdown()),
        ("spinlock-classes.md", spinlocks::render_markdown()),
        ("performance-counters.md", counters::render_markdown()),
        ("trace-flags.md", traceflags::render_markdown()),
        ("messages.md", messages_page()),
    ]
}

/// The reference page of all messages, a line for each.
fn messages_page() -> String {
    let rows = furrow_messages::all().into_iter().map(|row| {
        let text = row.text.replace('\n', "\\n");
        vec![
            row.number.to_string(),
            row.level.to_string(),
            row.state.to_string(),
            text,
        ]
    });
    table::markdown("Messages", &["number", "level", "state", "text"], rows)
}

#[cfg(test)]
mod tests;
