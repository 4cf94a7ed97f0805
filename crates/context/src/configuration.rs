//! Values that `sp_configure` has set. The options themselves are a table of `sysviews`.

use parking_lot::Mutex;
use std::collections::BTreeMap;

/// The number of `show advanced options`.
pub const SHOW_ADVANCED: i32 = 518;

/// The number of `check memory (MB)`, an option of Furrow's own.
pub const CHECK_MEMORY: i32 = 30_001;
/// Its value at start.
const CHECK_MEMORY_MB: i32 = 256;
/// The number of `check rate (MB/s)`, an option of Furrow's own.
pub const CHECK_RATE: i32 = 30_002;

/// The number of `max degree of parallelism`.
pub const MAX_DOP: i32 = 1539;
/// The number of `cost threshold for parallelism`.
pub const COST_THRESHOLD: i32 = 1538;
/// Its value at start.
const COST_THRESHOLD_AT_START: i32 = 5;

/// What has been set, by the numbers of the options.
#[derive(Debug, Default)]
pub struct Configuration {
    /// Values that were set and are not installed yet.
    waiting: Mutex<BTreeMap<i32, i32>>,
    /// Installed values of options that are stored nowhere else.
    running: Mutex<BTreeMap<i32, i32>>,
}

impl Configuration {
    /// Whether `show advanced options` is installed.
    pub fn show_advanced(&self) -> bool {
        self.running
            .lock()
            .get(&SHOW_ADVANCED)
            .is_some_and(|on| *on != 0)
    }

    /// Megabytes of memory for a consistency check before it uses a temporary file.
    pub fn check_memory_mb(&self) -> u32 {
        let set = self.running.lock().get(&CHECK_MEMORY).copied();
        set.unwrap_or(CHECK_MEMORY_MB).unsigned_abs()
    }

    /// Megabytes that a consistency check may read in a second; 0 = no limit.
    pub fn check_rate_mb(&self) -> u32 {
        let set = self.running.lock().get(&CHECK_RATE).copied();
        set.unwrap_or(0).unsigned_abs()
    }

    /// Most threads that a scan is divided among; 0 = one for each processor.
    pub fn max_dop(&self) -> u32 {
        let set = self.running.lock().get(&MAX_DOP).copied();
        set.unwrap_or(0).unsigned_abs()
    }

    /// The estimated cost above which a scan is divided among threads.
    pub fn cost_threshold(&self) -> u32 {
        let set = self.running.lock().get(&COST_THRESHOLD).copied();
        set.unwrap_or(COST_THRESHOLD_AT_START).unsigned_abs()
    }

    /// Installs a value that nothing else stores.
    pub fn set_running(&self, id: i32, value: i32) {
        self.running.lock().insert(id, value);
    }

    /// The value of an option that was set and is not installed yet.
    pub fn waiting(&self, id: i32) -> Option<i32> {
        self.waiting.lock().get(&id).copied()
    }

    /// Stores a value for RECONFIGURE.
    pub fn set_waiting(&self, id: i32, value: i32) {
        self.waiting.lock().insert(id, value);
    }

    /// Removes and returns all values that are not installed yet.
    pub fn take_waiting(&self) -> BTreeMap<i32, i32> {
        std::mem::take(&mut *self.waiting.lock())
    }
}
