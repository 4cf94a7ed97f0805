//! Encrypted sets: with the key, without it, with another; stripes of the time before there was encryption.

use crate::damaged::{put, stripe};
use crate::world::{Silent, World, ids, insert, numbers, request, world};
use furrow_backup::media::{BackupKey, Codec};
use furrow_backup::{BackupError, BackupRequest, KeyRing, MediaSet, verify};
use furrow_io::random::{Rng, seeded, test_seed};
use furrow_io::write_file;
use std::path::Path;

const DIGITS: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

fn key() -> BackupKey {
    BackupKey::parse("the key", DIGITS.as_bytes()).unwrap()
}

fn ring(world: &World, digits: &str) -> KeyRing {
    let path = Path::new("d/k.key");
    let _ = world.volume.remove(path);
    write_file(&*world.volume, path, digits.as_bytes()).unwrap();
    let mut ring = KeyRing::default();
    ring.add_file(&*world.volume, path).unwrap();
    ring
}

fn encrypted(stripes: usize, codec: Codec) -> (World, BackupRequest) {
    let world = world();
    let table = world.table("t");
    let mut session = world.session();
    (0..300).for_each(|id| insert(&mut session, &table, id, "the secret text of a row"));
    let request = BackupRequest {
        codec,
        key: Some(key()),
        ..request(stripes)
    };
    world.backup(&request).unwrap();
    (world, request)
}

fn media(world: &World, request: &BackupRequest, keys: &KeyRing) -> Result<MediaSet, BackupError> {
    Ok(world.media(request)?.with_keys(keys))
}

fn contains(bytes: &[u8], what: &[u8]) -> bool {
    bytes.windows(what.len()).any(|w| w == what)
}

#[test]
fn an_encrypted_set_is_restored_with_its_key_and_shows_nothing_without() {
    for codec in [Codec::None, Codec::Lz4, Codec::Zstd(1)] {
        let (world, request) = encrypted(2, codec);
        for n in 0..2 {
            let bytes = stripe(&world, n);
            assert!(!contains(&bytes, b"the secret text"), "a row");
            assert!(!contains(&bytes, b"d/data.mdf"), "the path of a file");
            assert!(!contains(&bytes, DIGITS.as_bytes()) && !contains(&bytes, &[0, 1, 2, 3, 4, 5]));
        }
        let keys = ring(&world, DIGITS);
        let media = media(&world, &request, &keys).unwrap();
        assert_eq!(verify(&media, None, None, &mut Silent).unwrap(), 1);
        let copy = world.restore_from(&media, "copy").unwrap();
        assert_eq!(ids(&copy.database.unwrap(), "t").len(), 300);
        world.check("copy");
    }
}

#[test]
fn a_missing_or_wrong_key_is_no_damage_and_damage_is_no_wrong_key() {
    let (world, request) = encrypted(2, Codec::Lz4);
    let other = ring(&world, &DIGITS.replace("00", "ff"));
    for keys in [KeyRing::default(), other] {
        let media = media(&world, &request, &keys).unwrap();
        let refused = verify(&media, None, None, &mut Silent).unwrap_err();
        assert_eq!(numbers(&refused), [33_111]);
        assert!(world.restore_from(&media, "copy").is_err());
        assert!(world.instance.restore_target("copy").is_none());
        // What HEADERONLY shows is there, the files are not.
        let sets = media.sets().unwrap();
        let (_, info) = &sets[0];
        assert_eq!((info.database.as_str(), info.files.len()), ("test", 0));
        let key_of = info.encryption.as_ref().unwrap();
        assert_eq!(key_of.thumbprint_bytes(), key().thumbprint());
    }
    let keys = ring(&world, DIGITS);
    let mut bytes = stripe(&world, 0);
    let at = bytes.len() / 2;
    bytes[at] ^= 1;
    put(&world, 0, &bytes);
    let media = media(&world, &request, &keys).unwrap();
    let refused = verify(&media, None, None, &mut Silent).unwrap_err();
    assert_eq!(numbers(&refused), [3189, 3203]);
}

/// Checksums are made right again: only the authentication is left.
fn reseal(bytes: &mut [u8], at: usize) {
    let word = |bytes: &[u8], at: usize| {
        let word: [u8; 4] = bytes[at..at + 4].try_into().unwrap();
        u32::from_le_bytes(word) as usize
    };
    let stored = word(bytes, at + 48).next_multiple_of(4096);
    let payload = crc32c::crc32c(&bytes[at + 4096..at + 4096 + stored]);
    bytes[at + 52..at + 56].copy_from_slice(&payload.to_le_bytes());
    bytes[at + 4..at + 8].fill(0);
    let unit = crc32c::crc32c(&bytes[at..at + 4096]);
    bytes[at + 4..at + 8].copy_from_slice(&unit.to_le_bytes());
}

#[test]
fn what_was_changed_with_right_checksums_is_refused_too() {
    let seed = test_seed();
    println!("FURROW_SEED={seed}");
    let mut rng = seeded(seed);
    let (world, request) = encrypted(1, Codec::None);
    let keys = ring(&world, DIGITS);
    let whole = stripe(&world, 0);
    let chunks: Vec<usize> = (4096..whole.len())
        .step_by(4096)
        .filter(|at| whole[*at..].starts_with(b"FBCK"))
        .collect();
    let stored = |at: usize| {
        let word: [u8; 4] = whole[at + 48..at + 52].try_into().unwrap();
        u32::from_le_bytes(word) as usize
    };
    for round in 0..400 {
        let at = chunks[rng.random_range(0..chunks.len())];
        let mut bytes = whole.clone();
        // A field of the header, a run or a byte of the payload with its tag.
        let place = match (round % 3, stored(at)) {
            (0, _) => at + rng.random_range(10..52),
            (1, _) => at + rng.random_range(64..104),
            (_, 0) => at + rng.random_range(88..104),
            (_, stored) => at + 4096 + rng.random_range(0..stored),
        };
        bytes[place] ^= 1 << rng.random_range(0..8);
        // A length that was changed leads elsewhere: its checksum stays wrong.
        if bytes[at + 48..at + 52] == whole[at + 48..at + 52] {
            reseal(&mut bytes, at);
        }
        put(&world, 0, &bytes);
        let refused = media(&world, &request, &keys)
            .and_then(|media| verify(&media, None, None, &mut Silent).map(drop));
        assert!(refused.is_err(), "chunk at {at}, byte {}", place - at);
    }
    put(&world, 0, &whole);
    let media = media(&world, &request, &keys).unwrap();
    assert_eq!(verify(&media, None, None, &mut Silent).unwrap(), 1);
}

#[test]
fn an_encrypted_set_is_alone_on_its_media() {
    let (world, first) = encrypted(1, Codec::None);
    let again = BackupRequest {
        format: false,
        init: false,
        ..first
    };
    let refused = world.backup(&again).unwrap_err();
    assert_eq!(numbers(&refused), [3095]);
    let plain = BackupRequest {
        key: None,
        ..again.clone()
    };
    assert_eq!(numbers(&world.backup(&plain).unwrap_err()), [3095]);
    let keys = ring(&world, DIGITS);
    let media = media(&world, &again, &keys).unwrap();
    assert_eq!(verify(&media, None, None, &mut Silent).unwrap(), 1);
    // Overwritten it is an ordinary one.
    let over = BackupRequest {
        init: true,
        ..plain
    };
    world.backup(&over).unwrap();
    let media = world.media(&over).unwrap();
    assert_eq!(verify(&media, None, None, &mut Silent).unwrap(), 1);
}

#[test]
fn the_largest_transfers_leave_place_for_what_encryption_adds() {
    let world = world();
    let table = world.table("t");
    let mut session = world.session();
    session.begin().unwrap();
    (0..1200).for_each(|id| insert(&mut session, &table, id, &"x".repeat(7000)));
    session.commit().unwrap();
    let request = BackupRequest {
        key: Some(key()),
        transfer_bytes: furrow_backup::MAX_TRANSFER_BYTES,
        ..request(1)
    };
    world.backup(&request).unwrap();
    let keys = ring(&world, DIGITS);
    let media = media(&world, &request, &keys).unwrap();
    assert_eq!(verify(&media, None, None, &mut Silent).unwrap(), 1);
}

/// A stripe with a full backup, as it was written before there was encryption: LZ4 behind its length.
const OLD: &[u8] = include_bytes!("../fixtures/media-1.lz4");

#[test]
fn a_stripe_of_an_older_version_is_still_read() {
    let world = world();
    let request = request(1);
    let bytes = lz4_flex::decompress_size_prepended(OLD).unwrap();
    write_file(&*world.volume, Path::new("d/b0.bak"), &bytes).unwrap();
    let media = world.media(&request).unwrap();
    assert_eq!(verify(&media, None, None, &mut Silent).unwrap(), 1);
    let copy = world.restore(&request, "old").unwrap().database.unwrap();
    assert_eq!(ids(&copy, "t"), (0..100).collect::<Vec<i64>>());
    drop(copy);
    world.check("old");
}
