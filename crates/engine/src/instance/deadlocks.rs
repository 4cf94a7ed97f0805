//! Reports of deadlocks in the error log, as trace flags 1204 and 1222 ask for them.

use furrow_observe::Instruments;
use furrow_observe::errorlog::{ErrorLog, Source};
use furrow_observe::traceflags::TraceFlag;
use furrow_txn::lock::{LockConfig, LockManager};
use std::sync::Arc;

/// Session number that the product's deadlock monitor writes as.
const MONITOR_SESSION: i32 = 5;

/// The lock manager of an instance.
pub(super) fn lock_manager(
    config: LockConfig,
    instruments: &Arc<Instruments>,
    error_log: &Arc<ErrorLog>,
) -> LockManager {
    let (instruments, error_log) = (Arc::clone(instruments), Arc::clone(error_log));
    LockManager::new(config, move |report| {
        let flags = &instruments.trace_flags;
        let printed = report.printable();
        let source = Source::SystemSpid(MONITOR_SESSION);
        if flags.is_on_globally(TraceFlag::DEADLOCK_NODES) {
            printed
                .node_lines()
                .iter()
                .for_each(|line| error_log.write(source, line));
        }
        if flags.is_on_globally(TraceFlag::DEADLOCK_LIST) {
            printed
                .list_lines()
                .iter()
                .for_each(|line| error_log.write(source, line));
        }
    })
}
