//! Log space for the steps that space takes by itself.

use furrow_log::LogError;
use furrow_txn::{Store, TxnError};

/// Log space promised for one mini-transaction of the engine's own.
#[derive(Debug)]
pub(crate) struct Promise<'a> {
    store: &'a Store,
    bytes: u64,
}

impl<'a> Promise<'a> {
    /// Reserves log space for records of about `bytes`. Called with no latch held: it may wait.
    pub(crate) fn new(store: &'a Store, bytes: usize) -> Result<Promise<'a>, TxnError> {
        furrow_pool::assert_no_latches();
        let bytes = bytes as u64;
        store.promise(bytes)?;
        Ok(Promise { store, bytes })
    }

    /// The same without waiting; `None` when the log has no space.
    pub(crate) fn at_once(store: &'a Store, bytes: usize) -> Result<Option<Promise<'a>>, TxnError> {
        let bytes = bytes as u64;
        match store.log().promise(bytes) {
            Ok(()) => Ok(Some(Promise { store, bytes })),
            Err(LogError::Full(_)) => Ok(None),
            Err(e) => Err(e.into()),
        }
    }
}

impl Drop for Promise<'_> {
    fn drop(&mut self) {
        self.store.log().give_back(self.bytes);
    }
}
