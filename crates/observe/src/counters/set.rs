//! Sets of counters.

use super::{Counter, CounterKind, Object};
use furrow_io::sync::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering::Relaxed};

const SHARDS: usize = 8;

/// The cells of some threads, on cache lines of their own.
#[repr(align(128))]
struct Shard {
    cells: [AtomicI64; Counter::COUNT],
}

impl Shard {
    fn new() -> Shard {
        Shard {
            cells: [const { AtomicI64::new(0) }; Counter::COUNT],
        }
    }
}

fn shard_of_this_thread() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static SHARD: usize = NEXT.fetch_add(1, Relaxed) % SHARDS;
    }
    SHARD.try_with(|shard| *shard).unwrap_or(0)
}

/// The counters of an instance, a database or a lock type.
pub struct CounterSet {
    name: String,
    shards: Box<[Shard]>,
    total: Option<Arc<CounterSet>>,
}

impl std::fmt::Debug for CounterSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let values = Counter::ALL
            .iter()
            .map(|counter| (counter.name(), self.value(*counter)));
        f.debug_map()
            .entries(values.filter(|(_, value)| *value != 0))
            .finish()
    }
}

impl CounterSet {
    fn new(name: &str, total: Option<Arc<CounterSet>>) -> CounterSet {
        let shards = (0..SHARDS).map(|_| Shard::new()).collect();
        CounterSet {
            name: name.to_owned(),
            shards,
            total,
        }
    }

    /// What it belongs to; `_Total` for the whole instance.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Adds to a counter, and to the total; microseconds where [`Counter::is_time`].
    pub fn add(&self, counter: Counter, by: u64) {
        self.adjust(counter, by.cast_signed());
    }

    /// Adds to a gauge or takes from it, and likewise from the total.
    pub(crate) fn adjust(&self, counter: Counter, by: i64) {
        self.shards[shard_of_this_thread()].cells[counter as usize].fetch_add(by, Relaxed);
        if let Some(total) = &self.total
            && counter.kind() != CounterKind::Share
        {
            total.adjust(counter, by);
        }
    }

    /// Sets a gauge; the total changes by the difference. One thread at a time should set a gauge.
    pub fn set(&self, gauge: Counter, value: i64) {
        self.adjust(gauge, value.wrapping_sub(self.value(gauge)));
    }

    /// The value now; milliseconds where [`Counter::is_time`].
    pub fn value(&self, counter: Counter) -> i64 {
        let cells = self
            .shards
            .iter()
            .map(|shard| shard.cells[counter as usize].load(Relaxed));
        let sum = cells.fold(0, i64::wrapping_add);
        if counter.is_time() { sum / 1000 } else { sum }
    }
}

/// All counters of an instance.
#[derive(Debug)]
pub struct Counters {
    total: Arc<CounterSet>,
    instances: Mutex<BTreeMap<(Object, String), Arc<CounterSet>>>,
}

impl Default for Counters {
    fn default() -> Counters {
        Counters {
            total: Arc::new(CounterSet::new("_Total", None)),
            instances: Mutex::new(BTreeMap::new()),
        }
    }
}

/// A row of the view of performance counters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CounterRow {
    /// The group: `SQLServer:Buffer Manager`.
    pub object: &'static str,
    /// The counter.
    pub counter: &'static str,
    /// The database, lock type or device; `_Total` for all, empty where the object has no instances.
    pub instance: String,
    /// The value.
    pub value: i64,
    /// How the value is to be read: [`super::CounterKind::cntr_type`].
    pub cntr_type: i32,
}

impl Counters {
    /// The counters of the whole instance.
    pub fn total(&self) -> &Arc<CounterSet> {
        &self.total
    }

    /// Adds to a counter of the whole instance.
    pub fn add(&self, counter: Counter, by: u64) {
        self.total.add(counter, by);
    }

    /// The counters of a database, lock type or device; created at the first call.
    pub fn instance(&self, object: Object, name: &str) -> Arc<CounterSet> {
        let mut instances = self.instances.lock();
        let set = instances
            .entry((object, name.to_owned()))
            .or_insert_with(|| Arc::new(CounterSet::new(name, Some(Arc::clone(&self.total)))));
        Arc::clone(set)
    }

    /// Removes an instance, such as a database that was dropped: its gauges leave the total, its other counts
    /// stay in it.
    pub fn forget(&self, object: Object, name: &str) {
        let gone = self.instances.lock().remove(&(object, name.to_owned()));
        if let Some(set) = gone {
            let gauges = Counter::ALL
                .iter()
                .filter(|counter| counter.kind() == CounterKind::Gauge);
            gauges.for_each(|gauge| set.set(*gauge, 0));
        }
    }

    /// All rows of the view: by object, totals first, then the instances by name.
    pub fn rows(&self) -> Vec<CounterRow> {
        let row = |counter: Counter, set: &CounterSet, instance: &str| CounterRow {
            object: counter.object().name(),
            counter: counter.name(),
            instance: instance.to_owned(),
            value: set.value(counter),
            cntr_type: counter.kind().cntr_type(),
        };
        let instances = self.instances.lock();
        let mut rows = Vec::new();
        for object in Object::ALL {
            let own = || {
                Counter::ALL
                    .iter()
                    .copied()
                    .filter(|counter| counter.object() == object)
            };
            let total = if object.has_instances() {
                self.total.name()
            } else {
                ""
            };
            rows.extend(own().map(|counter| row(counter, &self.total, total)));
            for ((_, name), set) in instances.iter().filter(|((of, _), _)| *of == object) {
                rows.extend(own().map(|counter| row(counter, set, name)));
            }
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instances_add_to_the_total_and_gauges_leave_it_with_their_instance() {
        let counters = Counters::default();
        let (a, b) = (
            counters.instance(Object::Databases, "a"),
            counters.instance(Object::Databases, "b"),
        );
        a.add(Counter::LogFlushes, 3);
        b.add(Counter::LogFlushes, 4);
        a.set(Counter::DataFileSizeKb, 100);
        a.set(Counter::DataFileSizeKb, 60);
        b.set(Counter::DataFileSizeKb, 5);
        a.set(Counter::PercentLogUsed, 50);
        let total = counters.total();
        assert_eq!(
            (
                total.value(Counter::LogFlushes),
                total.value(Counter::DataFileSizeKb)
            ),
            (7, 65)
        );
        assert_eq!(
            total.value(Counter::PercentLogUsed),
            0,
            "shares are not summed"
        );
        assert!(Arc::ptr_eq(&a, &counters.instance(Object::Databases, "a")));
        counters.forget(Object::Databases, "a");
        assert_eq!(
            (
                total.value(Counter::LogFlushes),
                total.value(Counter::DataFileSizeKb)
            ),
            (7, 5)
        );
    }

    #[test]
    fn threads_lose_nothing() {
        let counters = Counters::default();
        furrow_io::thread::scope(|scope| {
            for _ in 0..12 {
                scope.spawn(|| {
                    for _ in 0..10_000 {
                        counters.add(Counter::PageLookups, 2);
                    }
                });
            }
        });
        assert_eq!(counters.total().value(Counter::PageLookups), 240_000);
    }

    #[test]
    fn the_view_lists_every_counter_once_for_each_instance_it_has() {
        let counters = Counters::default();
        counters
            .instance(Object::Locks, "Key")
            .add(Counter::LockWaits, 9);
        let rows = counters.rows();
        let of_locks = Counter::ALL
            .iter()
            .filter(|counter| counter.object() == Object::Locks)
            .count();
        assert_eq!(rows.len(), Counter::COUNT + of_locks);
        let waits: Vec<(&str, i64)> = rows
            .iter()
            .filter(|row| row.counter == Counter::LockWaits.name())
            .map(|row| (row.instance.as_str(), row.value))
            .collect();
        assert_eq!(waits, [("_Total", 9), ("Key", 9)]);
        let reads = rows
            .iter()
            .find(|row| row.counter == Counter::PageReads.name())
            .unwrap();
        assert_eq!(reads.instance, "");
    }

    #[test]
    fn short_times_add_up_to_milliseconds() {
        let counters = Counters::default();
        (0..10).for_each(|_| counters.add(Counter::LogFlushWaitTime, 250));
        assert_eq!(counters.total().value(Counter::LogFlushWaitTime), 2);
    }

    #[test]
    fn a_ratio_or_average_is_followed_by_its_base() {
        for pair in Counter::ALL.windows(2) {
            let needs_base = matches!(pair[0].kind(), CounterKind::Ratio | CounterKind::Average);
            assert_eq!(
                needs_base,
                pair[1].kind() == CounterKind::Base,
                "{} {}",
                pair[0],
                pair[1]
            );
        }
    }
}
