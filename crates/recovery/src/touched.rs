//! Which files transactions have changed.

use crate::RecoveryError;
use furrow_format::{ChangeReader, FileId, Lsn, TxnId};
use furrow_io::File;
use furrow_log::{LogError, LogScan, RecordKind};
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

/// The files that records of these transactions change, in the log from `from` to its record `end`. Changes
/// that were undone already count, too.
pub fn changed_by(
    log: Arc<dyn File>,
    binding: [u8; 16],
    (from, end): (Lsn, Lsn),
    transactions: &HashSet<TxnId>,
) -> Result<BTreeSet<FileId>, RecoveryError> {
    let mut scan = LogScan::open(log, binding, from)?;
    let (mut files, mut last) = (BTreeSet::new(), Lsn::ZERO);
    while last < end {
        let record = scan.next_record()?.ok_or(LogError::Missing(end))?;
        debug_assert!(record.lsn > last, "records come in the order of the log");
        last = record.lsn;
        let view = record.get();
        let changes = matches!(view.kind, RecordKind::Change | RecordKind::Compensation);
        if last < from || !changes || !transactions.contains(&view.txn) {
            continue;
        }
        for entry in ChangeReader::new(view.redo) {
            let (page, _) = entry.map_err(|source| RecoveryError::Redo {
                lsn: last,
                page: furrow_format::PageId::NONE,
                page_lsn: Lsn::ZERO,
                source,
            })?;
            files.insert(page.file);
        }
    }
    Ok(files)
}
