//! Media that are damaged, cut short, missing, exchanged or of something else.

use crate::world::{Silent, World, insert, numbers, request, world};
use furrow_backup::media::{BackupKey, ChunkHeader, Codec, KEY_BYTES, UNIT};
use furrow_backup::{BackupError, BackupRequest, Device, KeyRing, MediaSet, verify};
use furrow_io::random::{Rng, seeded, test_seed};
use furrow_io::{Access, Fill, Open, read_file, write_file};
use std::path::{Path, PathBuf};

fn written(stripes: usize, codec: Codec) -> (World, BackupRequest) {
    let world = world();
    let table = world.table("t");
    let mut session = world.session();
    (0..200).for_each(|id| insert(&mut session, &table, id, &"text ".repeat(20)));
    let mut request = request(stripes);
    request.codec = codec;
    world.backup(&request).unwrap();
    (world, request)
}

fn verified(world: &World, request: &BackupRequest) -> Result<u16, BackupError> {
    verify(&world.media(request)?, None, None, &mut Silent)
}

pub fn stripe(world: &World, n: usize) -> Vec<u8> {
    let path = PathBuf::from(format!("d/b{n}.bak"));
    read_file(&*world.volume, &path).unwrap()
}

pub fn put(world: &World, n: usize, bytes: &[u8]) {
    let path = PathBuf::from(format!("d/b{n}.bak"));
    let file = world
        .volume
        .open(&path, Open::Existing, Access::Data)
        .unwrap();
    file.resize(bytes.len() as u64, Fill::Allocate).unwrap();
    file.write_at(0, bytes).unwrap();
}

#[test]
fn any_flipped_bit_is_refused() {
    let seed = test_seed();
    println!("FURROW_SEED={seed}");
    let mut rng = seeded(seed);
    for codec in [Codec::None, Codec::Lz4, Codec::Zstd(1)] {
        let (world, request) = written(2, codec);
        assert_eq!(verified(&world, &request).unwrap(), 1);
        for n in 0..2 {
            let whole = stripe(&world, n);
            for _ in 0..300 {
                let bit = rng.random_range(0..whole.len() * 8);
                let mut damaged = whole.clone();
                damaged[bit / 8] ^= 1 << (bit % 8);
                put(&world, n, &damaged);
                assert!(verified(&world, &request).is_err(), "stripe {n}, bit {bit}");
            }
            put(&world, n, &whole);
        }
        assert_eq!(verified(&world, &request).unwrap(), 1);
    }
}

/// Flipped bits, cuts and exchanged stripes, so many of all, over codecs, plain and encrypted.
fn damages(count: usize) {
    let seed = test_seed();
    println!("FURROW_SEED={seed}");
    let mut rng = seeded(seed);
    for codec in [Codec::None, Codec::Lz4, Codec::Zstd(1)] {
        for key in [None, Some(BackupKey::new("k", [5; KEY_BYTES]))] {
            let (world, mut request) = written(3, codec);
            request.key = key.clone();
            world.backup(&request).unwrap();
            // Another backup of the same shape, with stripes to exchange.
            let others: Vec<Vec<u8>> = (0..3).map(|n| stripe(&world, n)).collect();
            world.backup(&request).unwrap();
            let whole: Vec<Vec<u8>> = (0..3).map(|n| stripe(&world, n)).collect();
            let ring = key.map(KeyRing::of).unwrap_or_default();
            let verified = || {
                let media = world.media(&request)?.with_keys(&ring);
                verify(&media, None, None, &mut Silent)
            };
            assert_eq!(verified().unwrap(), 1);
            for round in 0..count / 6 {
                let n = rng.random_range(0..3);
                let mut bytes = whole[n].clone();
                match round % 4 {
                    0 | 1 => {
                        let bit = rng.random_range(0..bytes.len() * 8);
                        bytes[bit / 8] ^= 1 << (bit % 8);
                    }
                    2 => bytes.truncate(rng.random_range(0..bytes.len())),
                    _ => {
                        let other = (n + rng.random_range(1..3)) % 3;
                        let of = [&others[n], &others[other], &whole[other]];
                        bytes = of[rng.random_range(0..3)].clone();
                    }
                }
                put(&world, n, &bytes);
                assert!(verified().is_err(), "{codec:?}, stripe {n}, round {round}");
                put(&world, n, &whole[n]);
            }
            assert_eq!(verified().unwrap(), 1);
        }
    }
}

#[test]
fn flipped_bits_cuts_and_exchanged_stripes_are_refused() {
    damages(600);
}

#[test]
#[ignore = "takes minutes: docs/testing.md"]
fn ten_thousand_flipped_bits_cuts_and_exchanged_stripes_are_refused() {
    damages(10_000);
}

#[test]
fn a_stripe_cut_anywhere_is_refused() {
    let seed = test_seed();
    println!("FURROW_SEED={seed}");
    let mut rng = seeded(seed);
    let (world, request) = written(2, Codec::None);
    let whole = stripe(&world, 1);
    for round in 0..60 {
        let cut = match round {
            0 => 0,
            1 => 4096,
            2 => whole.len() - 4096,
            3 => whole.len() - 1,
            _ => rng.random_range(0..whole.len()),
        };
        put(&world, 1, &whole[..cut]);
        let error = verified(&world, &request).unwrap_err();
        let number = numbers(&error)[0];
        let reported = [3254, 3242, 3241, 3256, 3287, 3189];
        assert!(reported.contains(&number), "cut at {cut}: {number}");
        assert!(world.restore(&request, "copy").is_err());
        assert!(
            world.instance.restore_target("copy").is_none(),
            "nothing was begun"
        );
    }
    let mut longer = whole.clone();
    longer.resize(whole.len() + 4096, 0);
    put(&world, 1, &longer);
    assert!(verified(&world, &request).is_err(), "bytes behind the tail");
}

#[test]
fn missing_foreign_and_repeated_stripes_are_distinguished() {
    let (world, request) = written(3, Codec::None);
    let open = |names: &[&str]| {
        let paths: Vec<PathBuf> = names.iter().map(PathBuf::from).collect();
        let media = MediaSet::open(&*world.volume, &paths)?;
        verify(&media, None, None, &mut Silent)
    };
    let number = |names: &[&str]| numbers(&open(names).unwrap_err())[0];
    assert_eq!(open(&["d/b2.bak", "d/b0.bak", "d/b1.bak"]).unwrap(), 1);
    assert_eq!(number(&["d/b0.bak", "d/b1.bak"]), 3132);
    assert_eq!(number(&["d/b0.bak", "d/b1.bak", "d/b1.bak"]), 3227);
    assert_eq!(number(&["d/b0.bak", "d/none.bak"]), 3201);
    assert_eq!(number(&["d/data.mdf"]), 3242);
    // The same stripe of another backup of the same shape.
    let first = stripe(&world, 1);
    world.backup(&request).unwrap();
    let second = stripe(&world, 1);
    write_file(&*world.volume, Path::new("d/old.bak"), &first).unwrap();
    assert_eq!(number(&["d/b0.bak", "d/old.bak", "d/b2.bak"]), 3258);
    // Another set of the same media: INIT keeps the media header.
    let mut again = request.clone();
    again.format = false;
    world.backup(&again).unwrap();
    put(&world, 1, &second);
    assert_eq!(number(&["d/b0.bak", "d/b1.bak", "d/b2.bak"]), 3258);
}

#[test]
fn a_tail_that_names_places_behind_every_stripe_is_refused() {
    let (world, request) = written(1, Codec::None);
    let whole = stripe(&world, 0);
    let at = whole.len() - UNIT;
    for field in 0..3 {
        for place in [u64::MAX, u64::MAX - UNIT as u64 + 1, 1 << 63, 1] {
            let mut damaged = whole.clone();
            let mut tail = ChunkHeader::decode(&damaged[at..]).unwrap();
            tail.places[field] = place;
            tail.encode(&mut damaged[at..]);
            put(&world, 0, &damaged);
            let refused = verified(&world, &request);
            assert!(refused.is_err(), "field {field}, place {place}");
        }
    }
    put(&world, 0, &whole);
    assert_eq!(verified(&world, &request).unwrap(), 1);
}

#[test]
fn chunks_that_changed_places_are_refused() {
    let (world, request) = written(1, Codec::None);
    let whole = stripe(&world, 0);
    let chunks: Vec<usize> = (0..whole.len())
        .step_by(4096)
        .filter(|at| whole[*at..].starts_with(b"FBCK") && whole[*at + 8] == 2)
        .collect();
    assert!(chunks.len() >= 3, "{}", chunks.len());
    let (a, b, c) = (chunks[0], chunks[1], chunks[2]);
    let mut exchanged = whole[..a].to_vec();
    exchanged.extend_from_slice(&whole[b..c]);
    exchanged.extend_from_slice(&whole[a..b]);
    exchanged.extend_from_slice(&whole[c..]);
    assert_eq!(exchanged.len(), whole.len());
    put(&world, 0, &exchanged);
    let refused = verified(&world, &request).unwrap_err();
    assert_eq!(numbers(&refused), [3189, 3203]);
}

#[test]
fn the_stripe_that_is_damaged_is_named() {
    let (world, request) = written(3, Codec::None);
    let mut damaged = stripe(&world, 1);
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    put(&world, 1, &damaged);
    let refused = verified(&world, &request).unwrap_err();
    assert_eq!(numbers(&refused), [3189, 3203]);
    let text = &refused.messages()[1].text;
    assert!(
        text.starts_with("Read on \"d/b1.bak\" failed: 13("),
        "{text}"
    );
}

#[test]
fn a_damaged_tail_is_no_backup_that_was_aborted() {
    for stripes in [1, 2] {
        let (world, request) = written(stripes, Codec::Lz4);
        let whole = stripe(&world, stripes - 1);
        for at in [whole.len() - UNIT, whole.len() - UNIT / 2, whole.len() - 1] {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x10;
            put(&world, stripes - 1, &damaged);
            let refused = verified(&world, &request).unwrap_err();
            assert_eq!(numbers(&refused), [3189, 3203], "{stripes}, {at}");
        }
        put(&world, stripes - 1, &whole[..whole.len() - UNIT]);
        let refused = verified(&world, &request).unwrap_err();
        assert_eq!(numbers(&refused), [3256], "{stripes}");
    }
}

#[test]
fn more_than_64_devices_are_too_many() {
    let (world, request) = written(1, Codec::None);
    let paths: Vec<PathBuf> = (0..65).map(|at| format!("d/{at}.bak").into()).collect();
    let refused = MediaSet::open(&*world.volume, &paths).unwrap_err();
    assert_eq!(numbers(&refused), [3205]);
    let devices = paths.into_iter().map(Device::Disk).collect();
    let request = BackupRequest { devices, ..request };
    assert_eq!(numbers(&world.backup(&request).unwrap_err()), [3205]);
}

#[test]
fn a_damaged_page_stops_a_backup_or_is_recorded() {
    let (world, mut request) = written(1, Codec::None);
    let damage = |bytes: &mut Vec<u8>| {
        let text = b"text text text".as_slice();
        let at = bytes.windows(text.len()).rposition(|w| w == text).unwrap();
        bytes[at] ^= 0x10;
    };
    let world = world.restart_after(|volume| {
        let path = Path::new("d/data.mdf");
        let file = volume.open(path, Open::Existing, Access::Data).unwrap();
        let mut bytes = furrow_io::read_all(&*file).unwrap();
        damage(&mut bytes);
        file.write_at(0, &bytes).unwrap();
    });
    let error = world.backup(&request).unwrap_err();
    assert_eq!(numbers(&error), [3043], "{error}");
    let left = world.volume.exists(Path::new("d/b0.bak")).unwrap();
    assert!(
        !left || stripe(&world, 0).is_empty(),
        "nothing that looks whole"
    );
    request.continue_after_error = true;
    let report = world.backup(&request).unwrap();
    assert!(report.info.damaged);
}

#[test]
fn an_append_that_was_interrupted_leaves_the_sets_before_it() {
    let (world, request) = written(2, Codec::Lz4);
    let first = stripe(&world, 1);
    let appended = BackupRequest {
        format: false,
        init: false,
        ..request
    };
    world.backup(&appended).unwrap();
    let whole = stripe(&world, 1);
    for kept in [
        first.len() + 4096,
        (first.len() + whole.len()) / 2,
        whole.len() - 4096,
    ] {
        put(&world, 1, &whole[..kept]);
        assert_eq!(verified(&world, &appended).unwrap(), 1);
        let media = world.media(&appended).unwrap();
        let second = verify(&media, Some(2), None, &mut Silent).unwrap_err();
        assert_eq!(numbers(&second), [3287], "{kept} bytes");
        let more = world.backup(&appended).unwrap_err();
        assert_eq!(numbers(&more), [3266], "{kept} bytes");
    }
    put(&world, 1, &whole);
    let media = world.media(&appended).unwrap();
    assert_eq!(verify(&media, Some(2), None, &mut Silent).unwrap(), 2);
}
