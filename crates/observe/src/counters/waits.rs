//! The object Wait Statistics: families of waits as counters, read from the wait table.

use super::{CounterKind, CounterRow};
use crate::task::WaitingTask;
use crate::waits::{WaitCategory, WaitSnapshot, WaitType};

const OBJECT: &str = "SQLServer:Wait Statistics";

type Belongs = fn(WaitType) -> bool;

/// The figures of a family, each under an instance of its own, and how to read them.
const INSTANCES: [(&str, CounterKind); 3] = [
    (
        "Cumulative wait time (ms) per second",
        CounterKind::PerSecond,
    ),
    ("Waits in progress", CounterKind::Gauge),
    ("Waits started per second", CounterKind::PerSecond),
];

/// The families: a counter's name and whether a wait type belongs to it.
const FAMILIES: [(&str, Belongs); 10] = [
    ("Lock waits", |kind| kind.category() == WaitCategory::Lock),
    ("Log buffer waits", |kind| kind == WaitType::LogBuffer),
    ("Log write waits", |kind| kind == WaitType::WriteLog),
    ("Memory grant queue waits", |kind| {
        kind == WaitType::ResourceSemaphore
    }),
    ("Network IO waits", |kind| kind == WaitType::AsyncNetworkIo),
    ("Non-Page latch waits", |kind| {
        kind.category() == WaitCategory::Latch
    }),
    ("Page IO latch waits", |kind| {
        kind.category() == WaitCategory::BufferIo
    }),
    ("Page latch waits", |kind| {
        kind.category() == WaitCategory::BufferLatch
    }),
    ("Thread-safe memory objects waits", |kind| {
        kind == WaitType::CMemThread
    }),
    ("Wait for the worker", |kind| kind == WaitType::ThreadPool),
];

/// The rows of Wait Statistics: for each family the waits begun, their time, and those under way.
pub fn wait_statistics(waits: &WaitSnapshot, waiting: &[WaitingTask]) -> Vec<CounterRow> {
    let mut rows = Vec::with_capacity(FAMILIES.len() * 3);
    for (counter, belongs) in FAMILIES {
        let (mut begun, mut total_us) = (0u64, 0u64);
        for row in waits.rows.iter().filter(|row| belongs(row.wait_type)) {
            begun += row.count;
            total_us += row.total_us;
        }
        let under_way = waiting
            .iter()
            .filter(|task| belongs(task.wait_type))
            .count() as u64;
        let values = [total_us / 1000, under_way, begun];
        for ((instance, kind), value) in INSTANCES.into_iter().zip(values) {
            rows.push(CounterRow {
                object: OBJECT,
                counter,
                instance: instance.to_owned(),
                value: value.cast_signed(),
                cntr_type: kind.cntr_type(),
            });
        }
    }
    rows
}

/// The rows of the reference page: object, counter, type, meaning.
pub(super) fn described() -> impl Iterator<Item = Vec<String>> {
    FAMILIES.into_iter().flat_map(|(counter, _)| {
        INSTANCES.into_iter().map(move |(instance, kind)| {
            vec![
                OBJECT.to_owned(),
                counter.to_owned(),
                kind.cntr_type().to_string(),
                format!("Instance: {instance}."),
            ]
        })
    })
}

#[cfg(test)]
mod tests {
    use crate::Instruments;
    use crate::task::{self, Resource, Task};
    use crate::waits::WaitType;

    #[test]
    fn families_add_their_types_up_and_tell_what_is_under_way() {
        let instruments = Instruments::new();
        let _guard = task::enter(&Task::new(&instruments, 51, "test"));
        for (kind, us) in [(WaitType::PageLatchEx, 1500), (WaitType::PageLatchSh, 700)] {
            instruments.waits.begin(0, kind);
            instruments.waits.end(0, kind, us, 0);
        }
        let _held = task::wait(WaitType::PageLatchUp, Resource::None);
        let rows = instruments.counter_rows();
        let value = |counter: &str, instance: &str| {
            let found = rows
                .iter()
                .find(|row| row.counter == counter && row.instance == instance);
            found.map(|row| (row.value, row.cntr_type)).unwrap()
        };
        let family = "Page latch waits";
        assert_eq!(
            value(family, "Cumulative wait time (ms) per second"),
            (2, 272_696_576)
        );
        assert_eq!(value(family, "Waits in progress"), (1, 65_792));
        assert_eq!(value(family, "Waits started per second"), (3, 272_696_576));
        assert_eq!(value("Lock waits", "Waits started per second").0, 0);
    }
}
