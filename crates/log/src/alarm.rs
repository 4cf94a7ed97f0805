//! The alarm of a log that is nearly full.

use crate::sync::atomic::{AtomicI64, Ordering};
use std::fmt;
use std::sync::OnceLock;

/// Calls a function once when little space is left.
#[derive(Default)]
pub(crate) struct Alarm {
    /// Rings when less than this is free; 0 when it is off.
    pub(crate) below_bytes: AtomicI64,
    pub(crate) ring: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

impl Alarm {
    /// Called with the free bytes whenever they have changed.
    pub(crate) fn look(&self, free_bytes: i64) {
        if free_bytes >= self.below_bytes.load(Ordering::Relaxed) {
            return;
        }
        // Off until it is set again.
        if self.below_bytes.swap(0, Ordering::AcqRel) > free_bytes
            && let Some(ring) = self.ring.get()
        {
            ring();
        }
    }
}

impl fmt::Debug for Alarm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Alarm")
            .field("below_bytes", &self.below_bytes)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sync::atomic::AtomicU32;
    use std::sync::Arc;

    #[test]
    fn the_alarm_rings_once_for_each_setting_and_only_below_its_mark() {
        let rung = Arc::new(AtomicU32::new(0));
        let alarm = Alarm::default();
        // No function is set yet: nothing happens.
        alarm.below_bytes.store(10, Ordering::Relaxed);
        alarm.look(5);
        let counted = Arc::clone(&rung);
        let ring = move || {
            counted.fetch_add(1, Ordering::Relaxed);
        };
        assert!(alarm.ring.set(Box::new(ring)).is_ok());
        alarm.look(0);
        assert_eq!(rung.load(Ordering::Relaxed), 0, "it is off until it is set");
        alarm.below_bytes.store(100, Ordering::Relaxed);
        alarm.look(100);
        assert_eq!(rung.load(Ordering::Relaxed), 0);
        alarm.look(99);
        alarm.look(10);
        assert_eq!(rung.load(Ordering::Relaxed), 1);
    }
}
