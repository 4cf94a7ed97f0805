//! Histories of real threads under each level.

use furrow_engine::Isolation;
use furrow_io::random::test_seed;
use furrow_soak::isolation::inference::register_anomalies;
use furrow_soak::isolation::{Anomaly, Figures, SCRIPTS, Shape, play, run, run_registers};
use std::collections::BTreeSet;

fn histories(shape: &Shape) -> Figures {
    let seed = test_seed();
    println!("seed {seed}");
    let mut all = Figures::default();
    for n in 0..4 {
        let done = run(shape, seed.wrapping_add(n));
        all.add(&done.unwrap_or_else(|finding| panic!("{finding}")));
    }
    println!("{all:?}");
    assert!(all.committed > 500);
    all
}

#[test]
fn read_uncommitted_shows_what_is_rolled_back_and_never_mixes_writes() {
    let seen = histories(&Shape::of(Isolation::ReadUncommitted)).allowed;
    assert!(
        seen.contains_key(&Anomaly::AbortedRead),
        "is anybody looking?"
    );
}

#[test]
fn read_committed_shows_skew_and_nothing_that_is_not_committed() {
    let seen = histories(&Shape::of(Isolation::ReadCommitted)).allowed;
    assert!(seen.contains_key(&Anomaly::ReadSkew), "is anybody looking?");
}

#[test]
fn repeatable_read_shows_no_skew_of_rows_that_are_there() {
    let seen = histories(&Shape::of(Isolation::RepeatableRead)).allowed;
    assert!(seen.is_empty());
}

#[test]
fn serializable_shows_no_cycle_though_rows_come_and_ranges_are_read() {
    let seen = histories(&Shape::of(Isolation::Serializable)).allowed;
    assert!(seen.is_empty());
}

/// What a script shows under a level.
#[expect(clippy::unwrap_used, reason = "helpers of tests are tests")]
fn shown(level: Isolation, name: &str) -> BTreeSet<Anomaly> {
    let script = SCRIPTS.iter().find(|script| script.0 == name);
    let script = script.unwrap_or_else(|| panic!("no script '{name}'")).1;
    let history = play(level, script).unwrap();
    let found = register_anomalies(&history);
    found.into_iter().map(|found| found.anomaly).collect()
}

#[test]
fn each_named_anomaly_is_seen_under_the_levels_that_allow_it_and_no_other() {
    use Anomaly::{AbortedRead, CircularFlow, IntermediateRead, LostUpdate, ReadSkew, WriteSkew};
    use Isolation::{ReadCommitted, ReadUncommitted, RepeatableRead, Serializable};
    // From which level on it is gone.
    let named: [(&str, &[Anomaly], Isolation); 8] = [
        ("dirty write", &[], ReadUncommitted),
        ("aborted read", &[AbortedRead], ReadCommitted),
        ("intermediate read", &[IntermediateRead], ReadCommitted),
        ("circular information flow", &[CircularFlow], ReadCommitted),
        ("lost update", &[LostUpdate, ReadSkew], RepeatableRead),
        ("fuzzy read", &[ReadSkew], RepeatableRead),
        ("read skew", &[ReadSkew], RepeatableRead),
        ("write skew", &[WriteSkew], RepeatableRead),
    ];
    for (name, anomalies, gone) in named {
        for level in [ReadUncommitted, ReadCommitted, RepeatableRead, Serializable] {
            let expected: BTreeSet<Anomaly> = match (level as u8) < gone as u8 {
                true => anomalies.iter().copied().collect(),
                false => BTreeSet::new(),
            };
            assert_eq!(shown(level, name), expected, "{name} under {level}");
        }
    }
}

#[test]
fn registers_under_threads_show_nothing_that_their_level_forbids() {
    let seed = test_seed();
    println!("seed {seed}");
    for level in [
        Isolation::ReadUncommitted,
        Isolation::ReadCommitted,
        Isolation::RepeatableRead,
        Isolation::Serializable,
    ] {
        let seen = run_registers(level, seed).unwrap_or_else(|finding| panic!("{finding}"));
        println!("{level}: {seen:?}");
        let allows = level == Isolation::ReadUncommitted || level == Isolation::ReadCommitted;
        assert_eq!(seen.allowed.contains_key(&Anomaly::LostUpdate), allows);
    }
}
