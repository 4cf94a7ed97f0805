//! When a check last found a database clean: a time on the boot page.

use crate::database::Database;
use furrow_format::BOOT_PAGE;
use furrow_format::boot::field;
use furrow_pool::LatchRank;
use furrow_tables::EngineError;
use furrow_txn::{Author, Mini};
use furrow_types::DateTime;

/// More than a change of the boot page writes to the log.
const LOG_BYTES: u64 = 1024;

impl Database {
    /// Notes on the boot page that a check has found the database clean now.
    pub fn note_known_good(&self) -> Result<(), EngineError> {
        let _entered = self.shared.enter();
        self.check_changes()?;
        self.store.promise(LOG_BYTES)?;
        self.store.log().give_back(LOG_BYTES);
        let now = crate::shared::now();
        let mut bytes = [0; 8];
        let (ticks, days) = bytes.split_at_mut(4);
        ticks.copy_from_slice(&now.ticks().to_le_bytes());
        days.copy_from_slice(&now.days().to_le_bytes());
        let mut mini = Mini::new(&self.store);
        let page = mini.adopt(self.store.write(BOOT_PAGE, LatchRank::Boot)?);
        mini.push(page, &field::KNOWN_GOOD.change(&bytes));
        mini.commit(&Author::System)?;
        Ok(())
    }

    /// When a check last found the database clean; 1900-01-01 when none has.
    pub fn known_good(&self) -> Result<DateTime, EngineError> {
        let page = self.store.read(BOOT_PAGE, LatchRank::Boot)?;
        let bytes = field::KNOWN_GOOD.get(&page);
        let half = |at: usize| bytes.get(at..at + 4).and_then(|b| b.first_chunk().copied());
        let ticks = half(0).map_or(0, u32::from_le_bytes);
        let days = half(4).map_or(0, i32::from_le_bytes);
        Ok(DateTime::new(days, ticks).unwrap_or(DateTime::EPOCH))
    }
}
