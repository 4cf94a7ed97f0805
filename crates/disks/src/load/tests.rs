//! The model against closed forms, and against itself.

use super::*;
use crate::spec::ModelSpec;

fn model(text: &str) -> ModelSpec {
    ModelSpec::parse(text).unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn load(read_percent: u32, depth: u32) -> Load {
    Load {
        read_percent,
        arrival: Arrival::Depth(depth),
        ..Load::default()
    }
}

fn measured(text: &str, load: &Load, requests: u64) -> Measurement {
    run_model(&model(text), load, requests).unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn near(what: &str, found: f64, expected: f64, share: f64) {
    let off = found / expected - 1.0;
    println!(
        "{what}: {found:.4} against {expected:.4}, {:+.2}%",
        off * 100.0
    );
    assert!(off.abs() <= share, "{what}: {found} is not {expected}");
}

/// Seek, revolution and transfer of 8 KB at the mean media rate, in milliseconds.
fn parts_of(drive: &str) -> (f64, f64, f64, f64) {
    match drive {
        "7k2" => (8.5, 60_000.0 / 7_200.0, 8.192 / 80.0, 1.0),
        "10k" => (4.5, 6.0, 8.192 / 90.0, 0.5),
        _ => (3.5, 4.0, 8.192 / 110.0, 0.4),
    }
}

fn mean_ms(measurement: &Measurement) -> f64 {
    measurement.latency.mean_ns as f64 / 1e6
}

#[test]
fn one_drive_at_depth_1_takes_seek_half_a_revolution_and_transfer() {
    for drive in ["7k2", "10k", "15k"] {
        let (seek, revolution, transfer, settle) = parts_of(drive);
        let reads = measured(&format!("model={drive},queue=fifo"), &load(100, 1), 40_000);
        let expected = seek + revolution / 2.0 + transfer;
        near(drive, mean_ms(&reads), expected, 0.02);
        near("IOPS", reads.iops(), 1e3 / expected, 0.02);
        let writes = measured(&format!("model={drive},queue=fifo"), &load(0, 1), 40_000);
        near("writes", mean_ms(&writes), expected + settle, 0.02);
    }
}

#[test]
fn a_mirrored_write_waits_for_the_later_of_two_platters() {
    let (seek, revolution, transfer, settle) = parts_of("15k");
    let writes = measured("model=raid1:2x15k", &load(0, 1), 40_000);
    // Both arms move alike; the larger of two uniform angles is two thirds of a revolution on average.
    // The angle between the two platters is fixed by the seed: over all seeds the mean is 2/3.
    let mean = (0..24)
        .map(|seed| {
            let text = format!("model=raid1:2x15k,seed={seed}");
            mean_ms(&measured(&text, &load(0, 1), 4_000))
        })
        .sum::<f64>()
        / 24.0;
    println!("one seed {:.3} ms", mean_ms(&writes));
    let expected = seek + settle + revolution * 2.0 / 3.0 + transfer;
    near("mirrored write", mean, expected, 0.04);
}

#[test]
fn a_small_write_of_raid_5_reads_and_writes_again_a_revolution_later() {
    let (seek, revolution, transfer, _) = parts_of("15k");
    let mean = (0..24)
        .map(|seed| {
            let text = format!("model=raid5:3x15k,stripe=1M,offset=1M,unit=64K,seed={seed}");
            mean_ms(&measured(&text, &load(0, 1), 4_000))
        })
        .sum::<f64>()
        / 24.0;
    // With three drives the reads are fewer where the third one is rebuilt from: a page of one column needs
    // one read of the other column, and both writes seek for themselves.
    let reconstruct = seek + revolution / 2.0 + seek + revolution * 2.0 / 3.0 + transfer * 2.0;
    println!("three drives: {mean:.3} ms, reconstruct bound {reconstruct:.3} ms");
    let mean = (0..24)
        .map(|seed| {
            let text = format!("model=raid5:8x15k,stripe=1M,offset=1M,unit=64K,seed={seed}");
            mean_ms(&measured(&text, &load(0, 1), 4_000))
        })
        .sum::<f64>()
        / 24.0;
    // The two arms of a row seek from different places, so the seek of the later one is a little longer.
    let expected = seek + revolution * 2.0 / 3.0 + transfer + revolution;
    near("read-modify-write", mean, expected, 0.10);
}

#[test]
fn a_single_server_with_random_arrivals_waits_as_pollaczek_and_khinchine_say() {
    let (seek, revolution, transfer, _) = parts_of("15k");
    let service = measured("model=15k,queue=fifo", &load(100, 1), 100_000);
    let mean_s = seek + revolution / 2.0 + transfer;
    // Second moment: seek and rotation are independent; the seek's own is measured from the curve.
    let Some(crate::profile::Profile::Disk(profile)) = crate::profile::Profile::named("15k") else {
        panic!("15k is no disk");
    };
    let disk = crate::device::Disk::new(&profile, 0);
    let mut rng = seeded(3);
    let draws = 200_000;
    let mut cylinder = || rng.random_range(0..u64::from(profile.cylinders));
    let seek_second = (0..draws)
        .map(|_| (disk.seek_ns(cylinder().abs_diff(cylinder())) as f64 / 1e6).powi(2))
        .sum::<f64>()
        / f64::from(draws);
    let variance = (seek_second - seek * seek) + revolution * revolution / 12.0;
    let second = mean_s * mean_s + variance;
    near("service", mean_ms(&service), mean_s, 0.02);
    for utilisation in [0.3, 0.6, 0.8] {
        let rate = utilisation / mean_s * 1e3;
        let load = Load {
            arrival: Arrival::PerSecond(rate),
            ..Load::default()
        };
        let found = measured("model=15k,queue=fifo", &load, 300_000);
        let wait = rate / 1e3 * second / (2.0 * (1.0 - utilisation));
        near("M/G/1", mean_ms(&found), mean_s + wait, 0.05);
    }
}

#[test]
fn requests_under_way_are_throughput_times_latency() {
    for (text, depth) in [
        ("model=raid10:6x15k", 64),
        ("model=raid5:5x7k2", 16),
        ("model=nvme", 32),
        ("model=cloud", 8),
    ] {
        for reads in [100, 80, 0] {
            let found = measured(text, &load(reads, depth), 30_000);
            let little = found.iops() * mean_ms(&found) / 1e3;
            near(text, little, f64::from(depth), 0.01);
        }
    }
}

#[test]
fn reads_scale_with_the_drives_and_aligned_stripes_are_equal() {
    let per_drive = |drives: u32| {
        let text = format!("model=raid10:{drives}x15k,offset=64K,unit=64K");
        measured(&text, &load(100, 16 * drives), 60_000).iops() / f64::from(drives)
    };
    let two = per_drive(2);
    for drives in [4, 8] {
        near("reads a drive", per_drive(drives), two, 0.08);
    }
    let stripe = |size: &str| {
        let text = format!("model=raid10:6x15k,offset=64K,unit=64K,stripe={size}");
        measured(&text, &load(100, 64), 100_000).iops()
    };
    let middle = stripe("64K");
    near("8 KB stripes", stripe("8K"), middle, 0.01);
    near("128 KB stripes", stripe("128K"), middle, 0.01);
}

#[test]
fn the_split_share_of_a_run_is_the_arithmetic_one() {
    for (stripe, offset, percent) in [
        ("8K", "63s", 100.0),
        ("64K", "63s", 12.5),
        ("128K", "63s", 6.25),
        ("64K", "32K", 0.0),
        ("64K", "64K", 0.0),
    ] {
        let text = format!("model=raid10:4x15k,stripe={stripe},offset={offset},unit=64K");
        let found = measured(&text, &load(100, 8), 100_000).model.unwrap();
        let off = (found.split_percent - percent).abs();
        assert!(off < 0.4, "{text}: {}", found.split_percent);
        assert!(percent != 0.0 || found.split_percent == 0.0);
    }
}

#[test]
fn a_write_back_cache_hides_latency_until_it_is_full() {
    let back = "model=raid10:4x15k,cache=write-back:256M,overhead=50us";
    let calm = Load {
        read_percent: 0,
        arrival: Arrival::PerSecond(300.0),
        ..Load::default()
    };
    let hidden = measured(back, &calm, 20_000);
    assert_eq!(
        hidden.latency.p99_ns / 1_000,
        50,
        "only the overhead is left"
    );
    let through = measured("model=raid10:4x15k,overhead=50us", &calm, 20_000);
    assert!(through.latency.mean_ns > 3_000_000);
    // Saturated, the cache only keeps the queues long: more than the same drives at the same depth.
    let full = measured(back, &load(0, 64), 300_000).iops();
    let none = measured("model=raid10:4x15k", &load(0, 64), 100_000).iops();
    assert!(full < none * 2.0 && full > none * 0.9, "{full} {none}");
}

#[test]
fn paths_limit_bandwidth_and_two_are_twice_one() {
    let sequential = Load {
        pattern: Pattern::Sequential,
        block_bytes: 1 << 20,
        arrival: Arrival::Depth(8),
        ..Load::default()
    };
    let rate = |paths: u32| {
        let text = format!("model=raid10:16x15k,paths={paths},path=112MB/s");
        measured(&text, &sequential, 5_000).megabytes_per_second()
    };
    near("one path", rate(1), 112.0, 0.02);
    near("two paths", rate(2), 224.0, 0.03);
}

#[test]
fn the_same_seed_gives_the_same_journal() {
    for text in [
        "model=raid10:6x15k,offset=63s",
        "model=raid5:4x7k2,cache=write-back:16M,read-cache=64M",
        "model=cloud-burst",
        "model=sata,offset=63s",
    ] {
        let mixed = Load {
            read_percent: 70,
            ..Load::default()
        };
        let line = |seed| {
            let load = Load {
                seed,
                ..mixed.clone()
            };
            serde_json::to_string(&measured(text, &load, 20_000)).unwrap()
        };
        assert_eq!(line(7), line(7), "{text}");
        assert_ne!(line(7), line(8), "{text}");
    }
}
