//! The model on latches whose waits are known.

use super::*;

fn run(holds: u64, hold_ns: u64) -> Run {
    let mut run = Run {
        seconds: Some(10.0),
        cpu_s: Some(20.0),
        ..Run::default()
    };
    let latch = |mode: &str, page, holds: u64| PageLatch {
        database: 5,
        kind: "PFS".to_owned(),
        mode: mode.to_owned(),
        page: Some((1, page)),
        waits: 0,
        wait_us: 0,
        held: Some(Held {
            holds,
            ns: holds * hold_ns,
            us2: holds as f64 * (hold_ns as f64 / 1e3).powi(2),
            ..Held::default()
        }),
    };
    let latches = [
        latch("UP", 1, holds / 2),
        latch("EX", 1, holds / 2),
        latch("UP", 8088, 10),
    ];
    page_latches::keep(&mut run, &latches).unwrap();
    run
}

#[test]
fn the_busiest_page_is_found_over_both_modes_and_its_wait_follows_the_formula() {
    // 100,000 holds of 2 us in 20 processor seconds: 5,000 a second and processor, 1% of its time.
    let run = run(100_000, 2_000);
    let busiest = Busiest::of(&[&run]).unwrap();
    assert_eq!(busiest.page, "5:1:1 (PFS)");
    assert!((busiest.utilisation() - 0.02).abs() < 1e-9);
    assert!((busiest.full_at() - 100.0).abs() < 1e-6);
    // At 50 processors half of the time: an equal hold waits half of its length.
    let at = |n: u32| busiest.md1_us(n).unwrap();
    assert!((md1_wait(busiest.rate(50.0), 2.0).unwrap() - 1.0).abs() < 1e-9);
    assert!(at(64) > at(32) && busiest.md1_us(128).is_none());
    assert!(
        (busiest.mg1_us(64).unwrap() - at(64)).abs() < 1e-6,
        "no scatter"
    );
}

#[test]
fn a_machine_cannot_show_contention_only_where_it_is_small_and_the_load_would_contend() {
    let of = Modelled {
        panel: String::new(),
        curve: String::new(),
        level: "600".to_owned(),
        sessions: 600,
    };
    let says = |(holds, waited_ms): (u64, f64), cpus: u32| {
        let level = Level {
            of: &of,
            busiest: Busiest::of(&[&run(holds, 2_000)]).unwrap(),
            waited_ms,
        };
        finding((&level, &level), Some(cpus))
    };
    // Five sessions of 600 wait at every moment.
    let waits = says((100_000, 5_000.0), 64);
    assert!(
        waits.starts_with("Contention for allocation pages is measured"),
        "{waits}"
    );
    let small = says((100_000, 0.1), 2);
    assert!(
        small.starts_with("This machine cannot show contention"),
        "{small}"
    );
    for (load, cpus) in [((100_000, 0.1), 64), ((100, 0.1), 2)] {
        let no_waits = says(load, cpus);
        assert!(no_waits.starts_with("Sessions hardly waited"), "{no_waits}");
    }
}

#[test]
fn the_level_that_waited_most_is_named_before_the_one_whose_latch_is_full_first() {
    let of = |level: &str| Modelled {
        panel: String::new(),
        curve: String::new(),
        level: level.to_owned(),
        sessions: 600,
    };
    let (few, many) = (of("600 / 1"), of("600 / 64"));
    let level = |of, holds, waited_ms| Level {
        of,
        busiest: Busiest::of(&[&run(holds, 2_000)]).unwrap(),
        waited_ms,
    };
    let (hottest, waited) = (level(&few, 100_000, 0.2), level(&many, 50_000, 40.0));
    let text = finding((&waited, &hottest), Some(64));
    assert!(
        text.starts_with("Contention for allocation pages is measured here: "),
        "{text}"
    );
    assert!(text.contains("waited 40.0 ms in a second"), "{text}");
    assert!(text.contains("(600 / 64). MODEL"), "{text}");
    let model = "of page 5:1:1 (PFS) at 600 / 1, would be held all the time with 100 processors";
    assert!(text.contains(model), "{text}");
}

#[test]
fn long_holds_are_in_one_model_and_not_in_the_other() {
    let mut run = run(100_000, 2_000);
    let mut latches = page_latches::of(&run);
    if let Some(held) = &mut latches[0].held {
        let stall = Held {
            holds: 10,
            ns: 40_000_000,
            us2: 1.6e8,
            long_holds: 10,
            long_ns: 40_000_000,
        };
        held.add(stall);
    }
    page_latches::keep(&mut run, &latches).unwrap();
    let busiest = Busiest::of(&[&run]).unwrap();
    assert!((busiest.short_us() - 2.0).abs() < 1e-3);
    assert!(busiest.mg1_us(16).unwrap() > 2.0 * busiest.md1_us(16).unwrap());
}

#[test]
fn the_record_of_a_run_is_labelled_as_a_model() {
    let mut run = run(1000, 500);
    keep(&mut run).unwrap();
    let record = &run.extra[RECORD];
    assert_eq!(record["is_model"], true);
    assert!(record["source"].as_str().unwrap().contains("Kleinrock"));
    assert_eq!(
        record["modelled"].as_array().unwrap().len(),
        PROCESSORS.len()
    );
    assert!(held_percent(&run) > 0.0);
    let mut empty = Run::default();
    keep(&mut empty).unwrap();
    assert!(
        empty.extra.is_empty(),
        "nothing is modelled where nothing was measured"
    );
}
