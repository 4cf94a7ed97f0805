//! Ctrl-C: the first one requests a stop with clean-up, the second one ends the process at once.

use super::{FAILED, Failure, INTERRUPTED};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What the first one prints. A run may have its figures by then: it is cleared away, and counts.
const STOPPING: &str = "stopping: what is under way is cleared away, and counts only if it was already \
                        measured; once more ends at once, without cleaning up";

/// A flag that the first Ctrl-C (or SIGTERM) sets.
pub(super) fn flag() -> Result<Arc<AtomicBool>, Failure> {
    let flag = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&flag);
    let handler = move || {
        if seen.swap(true, Ordering::SeqCst) {
            std::process::exit(i32::from(INTERRUPTED));
        }
        eprintln!("\n{STOPPING}");
    };
    ctrlc::set_handler(handler)
        .map_err(|e| Failure::new(FAILED, format!("cannot listen for Ctrl-C: {e}")))?;
    Ok(flag)
}
