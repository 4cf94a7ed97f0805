//! Rows of heaps and trees against models: one thread and many, rolled back, crashed, audited.

#![expect(unreachable_pub, reason = "modules of one test share what they make")]
#![expect(clippy::unwrap_used, reason = "a test may fail")]

mod audits;
mod costs;
mod full;
mod full_log;
mod full_rollback;
mod ground;
mod heap_model;
mod heap_rollback;
mod heap_threads;
mod kinds;
mod log_space;
mod tree_bulk;
mod tree_copies;
mod tree_counts;
mod tree_crash;
mod tree_fill;
mod tree_insert_many;
mod tree_links;
mod tree_loads;
mod tree_model;
mod tree_search;
mod tree_shrink;
mod tree_threads;
mod waits;
mod woven;
