//! Ctrl-C: the first one requests a stop with clean-up, the second one ends the process at once.

use super::{FAILED, Failure, INTERRUPTED};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What becomes of a run that is interrupted. It may have its figures by then: it is cleared away, and
/// counts.
pub(super) const OF_A_RUN: &str = "what is under way is cleared away, and counts only if it was already \
                                   measured; once more ends at once, without cleaning up";

/// A flag that the first Ctrl-C (or SIGTERM) sets. `stopping` says what becomes of the work under way.
pub(super) fn flag(stopping: &'static str) -> Result<Arc<AtomicBool>, Failure> {
    let flag = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&flag);
    let handler = move || {
        if seen.swap(true, Ordering::SeqCst) {
            furrow_io::remove_unpublished();
            std::process::exit(i32::from(INTERRUPTED));
        }
        eprintln!("\nstopping: {stopping}");
    };
    ctrlc::set_handler(handler)
        .map_err(|e| Failure::new(FAILED, format!("cannot listen for Ctrl-C: {e}")))?;
    Ok(flag)
}
