//! The engine's figures about itself: waits, latches, spinlocks, file statistics, counters, trace flags, the
//! error log.
//!
//! This crate records everything that an administrator can read about the engine's own work. It depends on
//! neither pages nor transactions: the layers above it charge their work here, and the views above those read
//! the figures.
//!
//! # Invariants
//! 1. Always on, and free without waits: a clock is read only after a fast path failed, and a lock is taken
//!    here only by a thread that waits anyway. What is counted without waiting (I/O, counters) costs relaxed
//!    additions only.
//! 2. A wait is in its type's count from its start, and in its times from its end. In between the
//!    [`task::Registry`] shows it, with its resource and the session that blocks it.
//! 3. Each charge to a session is also a charge to its instance, by the same call: sums agree.
//! 4. Names, texts and numbers are data: each table is one list of rows, from which the enum, the look-up,
//!    the views and a reference page ([`reference_pages`]) come. They cannot drift apart.
//! 5. Nothing here panics on input of a user, nor waits for a disk, except [`errorlog::ErrorLog::flush`] and
//!    the functions that call it, whose comments state it.
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
//!    blocks, and finishes the [`task::Wait`]; [`task::Wait::finish_signalled`] records the signal time
//!    separately.
//! 3. The wait is charged to the [`waits::WaitTable`] of the session and of the instance. A thread without a
//!    task charges the process ([`Instruments::process`]), so that no layer has to test whether there is a
//!    task.
//!
//! [`latches::ClassLatch`] and [`spinlocks::Spinlock`] do these steps themselves. Each instance has its
//! own [`Instruments`]; tests create as many as they need.
//!
//! # What can fail
//! Only the error log's files, with an [`furrow_io::IoError`]: lines stay in memory and are written by a
//! later attempt. Wrong numbers given to DBCC TRACEON come back as the [`furrow_messages::Message`] for the
//! client. A message built with the wrong number of arguments is a bug: debug builds assert, release builds
//! print `(null)`.

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
