use super::*;
use crate::counters::Counter;
use crate::latches::LatchClass;
use crate::spinlocks::SpinClass;
use crate::waits::{WaitCategory, WaitSnapshot, WaitType};
use std::collections::BTreeSet;

fn assert_names_are_distinct_and_found<T: Copy + PartialEq + std::fmt::Debug>(
    all: &[T],
    name: fn(T) -> &'static str,
    find: fn(&str) -> Option<T>,
) {
    let names: BTreeSet<&str> = all.iter().map(|row| name(*row)).collect();
    assert_eq!(names.len(), all.len());
    for row in all {
        assert_eq!(find(name(*row)), Some(*row));
        assert_eq!(find(&name(*row).to_lowercase()), Some(*row));
    }
    assert_eq!(find("NO_SUCH_NAME"), None);
}

#[test]
fn every_table_finds_its_rows_by_name() {
    assert_names_are_distinct_and_found(WaitType::ALL, WaitType::name, WaitType::from_name);
    assert_names_are_distinct_and_found(LatchClass::ALL, LatchClass::name, LatchClass::from_name);
    assert_names_are_distinct_and_found(SpinClass::ALL, SpinClass::name, SpinClass::from_name);
    assert_names_are_distinct_and_found(Counter::ALL, Counter::name, Counter::from_name);
}

#[test]
fn names_follow_their_families() {
    let family = |category| {
        let all = WaitType::ALL.iter().copied();
        all.filter(|kind| kind.category() == category)
            .map(WaitType::name)
            .collect::<Vec<_>>()
    };
    assert!(
        family(WaitCategory::BufferLatch)
            .iter()
            .all(|name| name.starts_with("PAGELATCH_"))
    );
    assert!(
        family(WaitCategory::BufferIo)
            .iter()
            .all(|name| name.starts_with("PAGEIOLATCH_"))
    );
    assert!(
        family(WaitCategory::Latch)
            .iter()
            .all(|name| name.starts_with("LATCH_"))
    );
    let locks = family(WaitCategory::Lock);
    assert!(locks.iter().all(|name| name.starts_with("LCK_M_")));
    assert_eq!(locks.len(), 21, "one for each lock mode");
    assert!(
        WaitType::ALL
            .iter()
            .filter(|k| k.category() == WaitCategory::Idle)
            .all(|k| k.is_benign())
    );
}

#[test]
fn snapshots_pass_through_a_journal_by_published_name() {
    let instruments = Instruments::new();
    instruments.waits.begin(0, WaitType::PageLatchUp);
    instruments.waits.end(0, WaitType::PageLatchUp, 7, 1);
    instruments.charge_latch(LatchClass::FgcbAddRemove, 9);
    let file = instruments.files.open(5, 1, "/data/x.mdf");
    file.record(files::IoKind::Read, 0, 8192, 120, 0);
    let (waits, latches) = (instruments.waits.snapshot(), instruments.latches.snapshot());
    let files = instruments.files.snapshot();
    let text = serde_json::to_string(&(&waits, &latches, &files)).unwrap();
    assert!(text.contains(
        r#"{"wait_type":"PAGELATCH_UP","count":1,"total_us":7,"max_us":7,"signal_us":1}"#
    ));
    assert!(
        text.contains(r#"{"class":"FGCB_ADD_REMOVE","waiting_requests":1,"wait_us":9,"max_us":9}"#)
    );
    let back: (
        WaitSnapshot,
        Vec<latches::LatchRow>,
        Vec<files::FileSnapshot>,
    ) = serde_json::from_str(&text).unwrap();
    assert_eq!(back, (waits, latches, files));
}

#[test]
fn latch_waits_show_in_the_counters() {
    let instruments = Instruments::new();
    instruments.charge_latch(LatchClass::LogManager, 1500);
    instruments.charge_latch(LatchClass::LogManager, 2500);
    let total = instruments.counters.total();
    assert_eq!(total.value(Counter::LatchWaits), 2);
    assert_eq!(total.value(Counter::TotalLatchWaitTime), 4);
    assert_eq!(total.value(Counter::AverageLatchWaitTimeBase), 2);
}

#[test]
fn every_reference_page_has_a_row_for_each_row_of_its_table() {
    let no_waits = WaitSnapshot { rows: Vec::new() };
    let of_waits = counters::wait_statistics(&no_waits, &[]);
    let rows = [
        WaitType::COUNT,
        LatchClass::COUNT,
        SpinClass::COUNT,
        Counter::COUNT + of_waits.len(),
        traceflags::KNOWN.len(),
        furrow_messages::all().len(),
    ];
    for ((file, page), rows) in reference_pages().into_iter().zip(rows) {
        let lines: Vec<&str> = page.lines().filter(|line| line.starts_with('|')).collect();
        assert_eq!(lines.len(), rows + 2, "{file}");
        let columns = |line: &str| line.replace("\\|", "").matches('|').count();
        assert!(
            lines.iter().all(|line| columns(line) == columns(lines[0])),
            "{file}"
        );
        assert!(page.is_ascii() && page.starts_with("# "), "{file}");
    }
}
