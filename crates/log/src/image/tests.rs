//! Logs that are put together, extended, interrupted and damaged.

use super::*;
use crate::directory::read_directory;
use furrow_io::random::test_seed;
use furrow_io::sim::{Crash, Effect, Fault, Ops, SimOptions};
use furrow_io::{Access, MemoryVolume, Open, SimVolume, Volume};

#[test]
fn a_log_is_extended_past_the_sizes_that_its_header_has_place_for() {
    let volume = MemoryVolume::new();
    let open = |how| volume.open("a.ldf".as_ref(), how, Access::Log).unwrap();
    let mut image = LogImage::create(open(Open::Create), [9; 16], 512, &[(1, 8192)], 0);
    let image = image.as_mut().unwrap();
    for seq in 2..=400_u32 {
        let size = if seq % 2 == 0 { 4096 } else { 8192 };
        image.extend(&[(seq, size)]).unwrap();
        assert!(image.place(seq).unwrap().1 >= size, "VLF {seq}");
    }
    // One that is larger than all of them takes the last place. For a still larger one there is none.
    image.extend(&[(401, 1 << 20)]).unwrap();
    let before = image.directory.clone();
    let larger = image.extend(&[(402, 2 << 20)]).unwrap_err();
    assert!(matches!(larger, LogError::TooManyVlfs), "{larger}");
    assert_eq!(image.directory, before);
    image.extend(&[(402, 8192)]).unwrap();
    assert_eq!(image.directory.runs.len(), Directory::MAX_RUNS);
}

#[test]
fn sizes_that_no_log_has_are_refused_and_small_ones_make_few_spare_vlfs() {
    let strange = [(1, 1 << 63), (1, 0), (1, 1000), (Lsn::MAX_VLF + 1, 8192)];
    for vlf in strange {
        assert!(LogImage::check(512, &[vlf]).is_err(), "{vlf:?}");
    }
    let volume = MemoryVolume::new();
    let file = volume.open("a.ldf".as_ref(), Open::Create, Access::Log);
    let image = LogImage::create(file.unwrap(), [9; 16], 512, &[(1, 512)], 64 << 20);
    let image = image.unwrap();
    assert!(image.directory.vlfs().len() <= 1 + MOST_SPARE_VLFS as usize);
    assert!(image.directory.file_bytes() >= 64 << 20);
    assert!(image.may_extend(&[(2, 1 << 63)]).is_err());
}

/// The first block of a VLF, with one record.
fn block(seq: u32) -> Vec<u8> {
    block_behind(seq, Lsn::ZERO)
}

/// One that was written when all before `durable` was.
fn block_behind(seq: u32, durable: Lsn) -> Vec<u8> {
    let record = Record::system(crate::RecordKind::Commit, &[]);
    let mut bytes = vec![0; BLOCK_HEADER_BYTES];
    bytes.extend_from_slice(&record.header());
    let header = BlockHeader {
        used: bytes.len() as u32,
        incarnation: 1,
        records: 1,
        lsn: Lsn::new(seq, 0, 0).unwrap(),
        prev: Lsn::new(seq - 1, 0, 0).unwrap_or(Lsn::ZERO),
        log_id: 7,
        durable,
    };
    header.seal(&mut bytes);
    bytes
}

#[test]
fn an_extension_that_came_to_its_end_leaves_nothing_to_erase() {
    let volume = MemoryVolume::new();
    let open = |how| volume.open("a.ldf".as_ref(), how, Access::Log).unwrap();
    let image = LogImage::create(open(Open::Create), [9; 16], 512, &[(1, 8192)], 1 << 16);
    let image = image.unwrap();
    let first = Lsn(image.write(&block(1)).unwrap().0 + 1);
    image.finish(first).unwrap();
    let (mut image, _) = LogImage::reopen(open(Open::Existing), [9; 16]).unwrap();
    image.extend(&[(1, 8192), (2, 8192)]).unwrap();
    image.write(&block(2)).unwrap();
    image.finish(first).unwrap();
    let (image, end) = LogImage::reopen(open(Open::Existing), [9; 16]).unwrap();
    assert_eq!((image.behind, end.vlf()), (Behind::Nothing, 2));
}

#[test]
fn an_extension_that_is_interrupted_in_a_larger_vlf_goes_on_there() {
    let volume = MemoryVolume::new();
    let open = |how| volume.open("a.ldf".as_ref(), how, Access::Log).unwrap();
    let image = LogImage::create(open(Open::Create), [9; 16], 512, &[(1, 8192)], 0).unwrap();
    let first = Lsn(image.write(&block(1)).unwrap().0 + 1);
    image.finish(first).unwrap();
    let larger = [(1, 8192), (2, 1 << 20)];
    let (mut image, _) = LogImage::reopen(open(Open::Existing), [9; 16]).unwrap();
    image.extend(&larger).unwrap();
    image.write(&block(2)).unwrap();
    drop(image);
    let (mut image, end) = LogImage::reopen(open(Open::Existing), [9; 16]).unwrap();
    assert_eq!(end, first);
    image.extend(&larger).unwrap();
    assert_eq!(image.place(2).unwrap().1, 1 << 20);
}

#[test]
fn blocks_that_an_interrupted_extension_has_left_do_not_stand_in_the_way_of_the_next_one() {
    let volume = MemoryVolume::new();
    let open = |how| volume.open("a.ldf".as_ref(), how, Access::Log).unwrap();
    let vlfs = |seqs: std::ops::Range<u32>| seqs.map(|s| (s, 8192)).collect::<Vec<_>>();
    let image = LogImage::create(open(Open::Create), [9; 16], 512, &vlfs(1..2), 1 << 16);
    let image = image.unwrap();
    let first = Lsn(image.write(&block(1)).unwrap().0 + 1);
    image.finish(first).unwrap();
    let (mut image, end) = LogImage::reopen(open(Open::Existing), [9; 16]).unwrap();
    image.extend(&vlfs(1..4)).unwrap();
    // Of two VLFs the second is written, and then the system stops.
    image.write(&block(3)).unwrap();
    drop(image);
    let (mut image, again) = LogImage::reopen(open(Open::Existing), [9; 16]).unwrap();
    image.give_up_extension().unwrap();
    assert_eq!(again, end);
    drop(image);
    let (mut image, _) = LogImage::reopen(open(Open::Existing), [9; 16]).unwrap();
    assert_eq!(image.behind, Behind::Nothing, "it was given up");
    image.extend(&vlfs(1..4)).unwrap();
    image.write(&block(3)).unwrap();
    drop(image);
    let (mut image, again) = LogImage::reopen(open(Open::Existing), [9; 16]).unwrap();
    assert_eq!(again, end);
    assert!(image.is_interrupted());
    image.stop_at(Lsn::new(3, 0, 0).unwrap());
    image.extend(&vlfs(1..3)).unwrap();
    image.write(&block(2)).unwrap();
    image.finish(first).unwrap();
    let (_, end) = LogImage::reopen(open(Open::Existing), [9; 16]).unwrap();
    assert_eq!(end.vlf(), 2, "what was left of VLF 3 is gone");
}

#[test]
fn a_restore_that_puts_nothing_in_leaves_nothing_of_an_extension_before_it() {
    let volume = MemoryVolume::new();
    let open = |how| volume.open("a.ldf".as_ref(), how, Access::Log).unwrap();
    let vlfs = |seqs: std::ops::Range<u32>| seqs.map(|s| (s, 8192)).collect::<Vec<_>>();
    let image = LogImage::create(open(Open::Create), [9; 16], 512, &vlfs(1..2), 1 << 16);
    let image = image.unwrap();
    let first = Lsn(image.write(&block(1)).unwrap().0 + 1);
    image.finish(first).unwrap();
    let (mut image, _) = LogImage::reopen(open(Open::Existing), [9; 16]).unwrap();
    image.extend(&vlfs(1..4)).unwrap();
    image.write(&block(3)).unwrap();
    drop(image);
    let (image, _) = LogImage::reopen(open(Open::Existing), [9; 16]).unwrap();
    image.finish(first).unwrap();
    let (mut image, _) = LogImage::reopen(open(Open::Existing), [9; 16]).unwrap();
    assert_eq!(image.behind, Behind::Nothing);
    image.extend(&vlfs(1..4)).unwrap();
    image.write(&block(2)).unwrap();
}

/// A log with the blocks of two VLFs, and what lies there at the second one.
fn two_blocks(volume: &MemoryVolume) -> (Lsn, u64, Lsn) {
    let file = volume.open("a.ldf".as_ref(), Open::Create, Access::Log);
    let vlfs = [(1, 8192), (2, 8192)];
    let image = LogImage::create(file.unwrap(), [9; 16], 512, &vlfs, 0).unwrap();
    let first = Lsn(image.write(&block(1)).unwrap().0 + 1);
    let second = image.write(&block(2)).unwrap();
    let at = image.place(2).unwrap().0;
    image.finish(first).unwrap();
    (first, at, second)
}

#[test]
fn records_that_were_in_place_are_not_erased_as_those_of_an_interrupted_extension() {
    for is_proved in [false, true] {
        let volume = MemoryVolume::new();
        let (first, second_at, second) = two_blocks(&volume);
        let open = |how| volume.open("a.ldf".as_ref(), how, Access::Log).unwrap();
        let (mut image, _) = LogImage::reopen(open(Open::Existing), [9; 16]).unwrap();
        image.extend(&[(2, 8192), (3, 8192)]).unwrap();
        if is_proved {
            image.write(&block_behind(3, second)).unwrap();
        }
        drop(image);
        let file = open(Open::Existing);
        file.write_at(second_at, &AlignedBuf::new(SECTOR)).unwrap();
        drop(file);
        let bytes = || furrow_io::read_all(&*open(Open::ReadOnly)).unwrap();
        let before = bytes();
        let (mut image, end) = LogImage::reopen(open(Open::Existing), [9; 16]).unwrap();
        assert!(end == first && !image.is_interrupted());
        let lost = image.give_up_extension().unwrap_err();
        assert!(matches!(lost, LogError::Damaged(_)), "{lost}");
        let lost = image.finish(first).unwrap_err();
        assert!(matches!(lost, LogError::Damaged(_)), "{lost}");
        assert!(bytes() == before, "a damaged log was changed");
        // A repair that does not come to its end leaves it lost.
        let (mut image, _) = LogImage::reopen(open(Open::Existing), [9; 16]).unwrap();
        image.extend(&[(2, 8192), (3, 8192)]).unwrap();
        drop(image);
        let (mut image, _) = LogImage::reopen(open(Open::Existing), [9; 16]).unwrap();
        let lost = image.give_up_extension().unwrap_err();
        assert!(matches!(lost, LogError::Damaged(_)), "{lost}");
        // The log comes again.
        image.extend(&[(2, 8192), (3, 8192)]).unwrap();
        image.write(&block(2)).unwrap();
        image.finish(first).unwrap();
        let (image, end) = LogImage::reopen(open(Open::Existing), [9; 16]).unwrap();
        assert_eq!((image.behind, end.vlf()), (Behind::Nothing, 2));
    }
}

#[test]
fn a_block_in_place_is_written_again_only_if_it_is_damaged() {
    let volume = MemoryVolume::new();
    two_blocks(&volume);
    let open = |how| volume.open("a.ldf".as_ref(), how, Access::Log).unwrap();
    let (mut image, _) = LogImage::reopen(open(Open::Existing), [9; 16]).unwrap();
    image.extend(&[(1, 8192), (2, 8192), (3, 8192)]).unwrap();
    let (at, _) = image.place(2).unwrap();
    let read = |image: &LogImage| {
        let mut found = AlignedBuf::new(SECTOR);
        image.file.read_at(at, &mut found).unwrap();
        found
    };
    let sound = read(&image);
    // Its checksum does not cover what lies behind its records.
    let mut marked = AlignedBuf::copy_of(&sound);
    marked[SECTOR - 1] = 7;
    image.file.write_at(at, &marked).unwrap();
    image.write(&block(2)).unwrap();
    assert!(*read(&image) == *marked, "a sound block was written again");
    image.file.write_at(at, &AlignedBuf::new(SECTOR)).unwrap();
    image.write(&block(2)).unwrap();
    assert!(*read(&image) == *sound, "a damaged block was not");
}

#[test]
fn what_has_come_of_an_extension_that_is_given_up_goes() {
    let volume = MemoryVolume::new();
    let (_, _, second) = two_blocks(&volume);
    let open = |how| volume.open("a.ldf".as_ref(), how, Access::Log).unwrap();
    let (mut image, before) = LogImage::reopen(open(Open::Existing), [9; 16]).unwrap();
    image.extend(&[(2, 8192), (3, 8192)]).unwrap();
    // Without a gap.
    image.write(&block_behind(3, second)).unwrap();
    drop(image);
    let (mut image, end) = LogImage::reopen(open(Open::Existing), [9; 16]).unwrap();
    assert_eq!(end, before);
    image.give_up_extension().unwrap();
    drop(image);
    let (image, end) = LogImage::reopen(open(Open::Existing), [9; 16]).unwrap();
    assert_eq!((image.behind, end), (Behind::Nothing, before));
}

#[test]
fn damage_in_a_log_that_was_not_being_extended_is_not_erased() {
    let volume = MemoryVolume::new();
    let open = |how| volume.open("a.ldf".as_ref(), how, Access::Log).unwrap();
    let vlfs: Vec<(u32, u64)> = (1..4).map(|seq| (seq, 8192)).collect();
    let image = LogImage::create(open(Open::Create), [9; 16], 512, &vlfs, 0).unwrap();
    let first = Lsn(image.write(&block(1)).unwrap().0 + 1);
    let rots = image.place(2).unwrap().0;
    let lost = image.write(&block(2)).unwrap();
    image.write(&block_behind(3, lost)).unwrap();
    image.finish(first).unwrap();
    let file = open(Open::Existing);
    file.write_at(rots, &AlignedBuf::new(SECTOR)).unwrap();
    drop(file);
    let bytes = || furrow_io::read_all(&*open(Open::ReadOnly)).unwrap();
    let before = bytes();
    let (mut image, end) = LogImage::reopen(open(Open::Existing), [9; 16]).unwrap();
    assert!(image.behind == Behind::Lost && end == first);
    let lost = image.give_up_extension().unwrap_err();
    assert!(matches!(lost, LogError::Damaged(_)), "{lost}");
    assert!(bytes() == before, "a damaged log was changed");
    image.finish(first).unwrap();
    let (image, _) = LogImage::reopen(open(Open::Existing), [9; 16]).unwrap();
    assert_eq!(image.behind, Behind::Lost, "the damage is seen again");
}

#[test]
fn the_end_of_a_log_that_was_restored_is_not_lost_unseen() {
    for is_given_up in [false, true] {
        let volume = MemoryVolume::new();
        let (first, second_at, _) = two_blocks(&volume);
        let open = |how| volume.open("a.ldf".as_ref(), how, Access::Log).unwrap();
        let reopened = || LogImage::reopen(open(Open::Existing), [9; 16]).unwrap();
        if is_given_up {
            let (mut image, _) = reopened();
            image.extend(&[(2, 8192), (3, 8192)]).unwrap();
            drop(image);
            reopened().0.give_up_extension().unwrap();
        }
        // No block behind it proves that it was there.
        let file = open(Open::Existing);
        file.write_at(second_at, &AlignedBuf::new(SECTOR)).unwrap();
        drop(file);
        let (mut image, end) = reopened();
        assert!(image.is_lost() && end == first);
        let lost = image.give_up_extension().unwrap_err();
        assert!(matches!(lost, LogError::Damaged(_)), "{lost}");
        drop(image);
        let mut scan = LogScan::from_checkpoint(open(Open::Existing), [9; 16]).unwrap();
        assert_eq!(scan.next_record().unwrap().unwrap().lsn, first);
        let lost = scan.next_record().unwrap_err();
        assert!(matches!(lost, LogError::Damaged(_)), "{lost}");
        drop(scan);
        // A restore that puts nothing in leaves it lost. The log comes again, and ends earlier.
        reopened().0.finish(first).unwrap();
        assert!(reopened().0.is_lost());
        let (mut image, _) = reopened();
        image.extend(&[(2, 8192), (3, 8192)]).unwrap();
        image.finish(first).unwrap();
        let (image, end) = reopened();
        assert_eq!((image.behind, end), (Behind::Nothing, first));
    }
}

#[test]
fn a_log_of_an_earlier_version_ends_where_its_blocks_end() {
    let volume = MemoryVolume::new();
    let (first, second_at, _) = two_blocks(&volume);
    let open = |how| volume.open("a.ldf".as_ref(), how, Access::Log).unwrap();
    let file = open(Open::Existing);
    let mut directory = read_directory(&*file).unwrap();
    assert_ne!(directory.reached, Lsn::ZERO);
    (directory.reached, directory.version) = (Lsn::ZERO, directory.version + 1);
    write_directory(&*file, &directory).unwrap();
    file.write_at(second_at, &AlignedBuf::new(SECTOR)).unwrap();
    drop(file);
    let (image, end) = LogImage::reopen(open(Open::Existing), [9; 16]).unwrap();
    assert_eq!((image.behind, end), (Behind::Nothing, first));
}

#[test]
fn a_vlf_whose_first_block_is_damaged_is_put_in_again() {
    for is_repeated in [false, true] {
        let volume = MemoryVolume::new();
        let file = volume.open("a.ldf".as_ref(), Open::Create, Access::Log);
        let vlfs: Vec<(u32, u64)> = (1..5).map(|seq| (seq, 8192)).collect();
        let image = LogImage::create(file.unwrap(), [9; 16], 512, &vlfs[..3], 0).unwrap();
        let first = Lsn(image.write(&block(1)).unwrap().0 + 1);
        image.write(&block(2)).unwrap();
        let third = Lsn(image.write(&block(3)).unwrap().0 + 1);
        let rots = [1, 2].map(|seq| image.place(seq).unwrap().0);
        // Recovery reads from the last one, and needs the first one.
        image.finish(third).unwrap();
        let open = |how| volume.open("a.ldf".as_ref(), how, Access::Log).unwrap();
        let file = open(Open::Existing);
        for at in rots {
            file.write_at(at, &AlignedBuf::new(SECTOR)).unwrap();
        }
        drop(file);
        if is_repeated {
            let (mut image, _) = LogImage::reopen(open(Open::Existing), [9; 16]).unwrap();
            image.extend(&vlfs).unwrap();
            image.write(&block(2)).unwrap();
        }
        let (mut image, end) = LogImage::reopen(open(Open::Existing), [9; 16]).unwrap();
        assert_eq!(end, third);
        image.extend(&vlfs).unwrap();
        for seq in [1, 2] {
            image.write(&block(seq)).unwrap();
        }
        image.finish(third).unwrap();
        let mut scan = LogScan::open(open(Open::ReadOnly), [9; 16], first).unwrap();
        for seq in 1..4 {
            assert_eq!(scan.next_record().unwrap().unwrap().lsn.vlf(), seq);
        }
        assert_eq!(scan.next_record().unwrap(), None);
    }
}

#[test]
fn a_damaged_copy_of_the_directory_loses_no_log_that_was_restored() {
    let volume = MemoryVolume::new();
    let (first, _, _) = two_blocks(&volume);
    let open = |how| volume.open("a.ldf".as_ref(), how, Access::Log).unwrap();
    let (mut image, _) = LogImage::reopen(open(Open::Existing), [9; 16]).unwrap();
    image.extend(&[(2, 8192), (3, 8192)]).unwrap();
    image.write(&block(3)).unwrap();
    image.finish(first).unwrap();
    for at in [0, 4096] {
        let file = open(Open::Existing);
        let mut copy = AlignedBuf::new(4096);
        file.read_at(at, &mut copy).unwrap();
        file.write_at(at, &AlignedBuf::new(4096)).unwrap();
        drop(file);
        let (image, end) = LogImage::reopen(open(Open::Existing), [9; 16]).unwrap();
        assert_eq!((image.behind, end.vlf()), (Behind::Nothing, 3), "{at}");
        drop(image);
        open(Open::Existing).write_at(at, &copy).unwrap();
    }
}

#[test]
fn a_log_whose_restore_a_power_loss_ended_is_none_even_if_its_directory_cannot_be_read() {
    let seed = test_seed();
    let put_together = |volume: &SimVolume| {
        let file = volume.open("a.ldf".as_ref(), Open::Create, Access::Log)?;
        let image = LogImage::create(file, [9; 16], 512, &[(1, 8192), (2, 8192)], 0)?;
        let first = image.write(&block(1))?;
        image.finish(Lsn(first.0 + 1))
    };
    let (mut moments, mut none) = (0, 0);
    for nth in 1.. {
        let mut has_ended = false;
        for round in 0..32 {
            let volume = SimVolume::new(SimOptions::default());
            volume.inject(Fault::new(Ops::Changes, Effect::PowerLoss).nth(nth));
            has_ended = put_together(&volume).is_ok();
            let seed = seed.wrapping_add(100 * nth + round);
            let volume = volume.crash(&Crash::Unreadable { seed });
            let Ok(file) = volume.open("a.ldf".as_ref(), Open::Existing, Access::Log) else {
                continue;
            };
            match LogImage::reopen(file, [9; 16]) {
                Ok((_, end)) => assert_eq!(end.vlf(), 1, "seed {seed}"),
                Err(LogError::NotALog(_) | LogError::Truncated { .. }) if !has_ended => none += 1,
                Err(error) => panic!("change {nth}, seed {seed}: {error}"),
            }
        }
        if has_ended {
            break;
        }
        moments += 1;
    }
    assert!(
        moments > 5 && none > 32,
        "{moments} moments, {none} times none"
    );
}
