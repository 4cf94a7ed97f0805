//! The promises of the seam, one function each; a volume that breaks one panics there.

#![expect(
    clippy::unwrap_used,
    reason = "a failed promise is a panic with its place"
)]

use furrow_io::random::{Rng, seeded, test_seed};
use furrow_io::{
    Access, AlignedBuf, File, Fill, IoErrorKind, Open, ReadRun, Volume, WriteRun, thread,
};
use std::io::{IoSlice, IoSliceMut};
use std::path::Path;

type Promise = fn(&dyn Volume, &Path);

/// Names and promises; each gets an empty directory of its own.
pub(crate) const PROMISES: &[(&str, Promise)] = &[
    ("bytes_come_back", bytes_come_back),
    ("batches_equal_single_calls", batches_equal_single_calls),
    ("unaligned_access_works", unaligned_access_works),
    ("a_read_past_the_end_fails", a_read_past_the_end_fails),
    ("growth_reads_as_zeros", growth_reads_as_zeros),
    ("names_behave", names_behave),
    ("one_writer_at_a_time", one_writer_at_a_time),
    ("a_reader_cannot_write", a_reader_cannot_write),
    ("many_threads_share_a_file", many_threads_share_a_file),
    ("long_batches_pass", long_batches_pass),
];

fn kind<T>(outcome: Result<T, furrow_io::IoError>) -> IoErrorKind {
    match outcome {
        Ok(_) => panic!("succeeded, and must not"),
        Err(error) => error.kind,
    }
}

fn pattern(len: usize, salt: u8) -> AlignedBuf {
    let mut buf = AlignedBuf::new(len);
    for (at, byte) in buf.iter_mut().enumerate() {
        *byte = (at as u8).wrapping_mul(31).wrapping_add((at >> 8) as u8) ^ salt;
    }
    buf
}

fn contents(file: &dyn File) -> Vec<u8> {
    let mut all = vec![0; file.len_bytes().unwrap() as usize];
    file.read_at(0, &mut all).unwrap();
    all
}

fn bytes_come_back(volume: &dyn Volume, dir: &Path) {
    for access in [Access::Data, Access::Log] {
        let path = dir.join(format!("{access:?}"));
        let bytes = pattern(64 << 10, 1);
        let file = volume.open(&path, Open::Create, access).unwrap();
        assert_eq!(file.path(), path);
        assert_eq!(file.len_bytes().unwrap(), 0);
        file.write_at(0, &bytes).unwrap();
        file.sync().unwrap();
        file.write_durable_at(8192, &bytes[..4096]).unwrap();
        drop(file);
        let file = volume.open(&path, Open::Existing, access).unwrap();
        let mut expected = bytes.to_vec();
        expected[8192..12_288].copy_from_slice(&bytes[..4096]);
        assert_eq!(contents(&*file), expected);
    }
}

fn batches_equal_single_calls(volume: &dyn Volume, dir: &Path) {
    let seed = test_seed();
    println!("seed {seed}");
    let mut rng = seeded(seed);
    let file = volume
        .open(&dir.join("f"), Open::Create, Access::Data)
        .unwrap();
    let pages = 96;
    file.resize(pages * 8192, Fill::Allocate).unwrap();
    let mut model = vec![0_u8; pages as usize * 8192];
    for round in 0..12_u8 {
        let pages_of = |page: u64| {
            let salt = round.wrapping_mul(17).wrapping_add(page as u8);
            [pattern(8192, salt), pattern(4096, !salt)]
        };
        let mut places: Vec<u64> = (0..pages / 2)
            .filter(|_| rng.random())
            .map(|pair| pair * 2)
            .collect();
        if round == 0 {
            places = vec![4];
        }
        let bufs: Vec<_> = places.iter().map(|&page| pages_of(page)).collect();
        let slices: Vec<_> = bufs
            .iter()
            .map(|two| two.each_ref().map(|buf| IoSlice::new(buf)))
            .collect();
        let runs: Vec<_> = places
            .iter()
            .zip(&slices)
            .map(|(&page, bufs)| WriteRun {
                offset: page * 8192,
                bufs,
            })
            .collect();
        match round % 3 {
            0 => file.write_durable(&runs).unwrap(),
            _ => file.write(&runs).unwrap(),
        }
        for (page, two) in places.iter().zip(&bufs) {
            let at = *page as usize * 8192;
            model[at..at + 8192].copy_from_slice(&two[0]);
            model[at + 8192..at + 12_288].copy_from_slice(&two[1]);
        }
        let mut read: Vec<_> = places
            .iter()
            .map(|_| [AlignedBuf::new(4096), AlignedBuf::new(8192)])
            .collect();
        let mut slices: Vec<_> = read
            .iter_mut()
            .map(|two| two.each_mut().map(|buf| IoSliceMut::new(buf)))
            .collect();
        let mut runs: Vec<_> = places
            .iter()
            .zip(&mut slices)
            .map(|(&page, bufs)| ReadRun {
                offset: page * 8192,
                bufs,
            })
            .collect();
        file.read(&mut runs).unwrap();
        for (page, two) in places.iter().zip(&read) {
            let at = *page as usize * 8192;
            assert_eq!(&model[at..at + 4096], &two[0][..]);
            assert_eq!(&model[at + 4096..at + 12_288], &two[1][..]);
        }
    }
    assert_eq!(contents(&*file), model);
}

fn unaligned_access_works(volume: &dyn Volume, dir: &Path) {
    let file = volume
        .open(&dir.join("f"), Open::Create, Access::Data)
        .unwrap();
    let bytes = pattern(40_000, 3);
    // The memory is not aligned; then neither memory, place nor length are.
    file.write_at(0, &bytes[1..16_385]).unwrap();
    file.write_at(16_384, &bytes[16_385..39_999]).unwrap();
    file.write_durable_at(777, &bytes[778..900]).unwrap();
    assert_eq!(file.len_bytes().unwrap(), 39_998);
    assert_eq!(contents(&*file), &bytes[1..39_999]);
    let mut odd = vec![0; 8193];
    file.read_at(4096, &mut odd[1..]).unwrap();
    assert_eq!(&odd[1..], &bytes[4097..12_289]);
    file.read_at(39_000, &mut odd[..998]).unwrap();
    assert_eq!(&odd[..998], &bytes[39_001..39_999]);
    // Aligned in place and memory, and reaching exactly to an end that is not.
    let mut tail = AlignedBuf::new(39_998 - 36_864);
    file.read_at(36_864, &mut tail).unwrap();
    assert_eq!(&tail[..], &bytes[36_865..39_999]);
}

fn a_read_past_the_end_fails(volume: &dyn Volume, dir: &Path) {
    let file = volume
        .open(&dir.join("f"), Open::Create, Access::Data)
        .unwrap();
    file.write_at(0, &pattern(10_000, 0)).unwrap();
    let mut buf = AlignedBuf::new(8192);
    for offset in [1809, 4096, 8192, 10_000, 12_288, 1 << 40] {
        assert_eq!(
            kind(file.read_at(offset, &mut buf)),
            IoErrorKind::PastEnd,
            "{offset}"
        );
    }
    let mut more = AlignedBuf::new(4096);
    let mut two = [IoSliceMut::new(&mut buf)];
    let mut one = [IoSliceMut::new(&mut more)];
    let mut runs = [
        ReadRun {
            offset: 0,
            bufs: &mut one,
        },
        ReadRun {
            offset: 8192,
            bufs: &mut two,
        },
    ];
    assert_eq!(kind(file.read(&mut runs)), IoErrorKind::PastEnd);
    file.read_at(1808, &mut buf).unwrap();
}

fn growth_reads_as_zeros(volume: &dyn Volume, dir: &Path) {
    for fill in [Fill::Allocate, Fill::Zero] {
        let file = volume
            .open(&dir.join(format!("{fill:?}")), Open::Create, Access::Log)
            .unwrap();
        file.write_at(0, &pattern(9000, 5)).unwrap();
        file.resize(5_000_000, fill).unwrap();
        assert_eq!(file.len_bytes().unwrap(), 5_000_000);
        let all = contents(&*file);
        assert_eq!(&all[..9000], &pattern(9000, 5)[..]);
        assert!(all[9000..].iter().all(|&byte| byte == 0));
        file.resize(100, fill).unwrap();
        assert_eq!(file.len_bytes().unwrap(), 100);
        file.resize(8192, fill).unwrap();
        file.resize(8192, fill).unwrap();
        let all = contents(&*file);
        assert_eq!(&all[..100], &pattern(100, 5)[..]);
        assert!(
            all[100..].iter().all(|&byte| byte == 0),
            "what was cut off came back"
        );
    }
}

fn names_behave(volume: &dyn Volume, dir: &Path) {
    let (a, b, deep) = (dir.join("a"), dir.join("b"), dir.join("x/y"));
    assert_eq!(
        kind(volume.open(&a, Open::Existing, Access::Data)),
        IoErrorKind::NotFound
    );
    assert_eq!(
        kind(volume.open(&a, Open::ReadOnly, Access::Data)),
        IoErrorKind::NotFound
    );
    assert_eq!(kind(volume.remove(&a)), IoErrorKind::NotFound);
    assert_eq!(kind(volume.list(&deep)), IoErrorKind::NotFound);
    assert_eq!(
        kind(volume.open(&deep.join("f"), Open::Create, Access::Data)),
        IoErrorKind::NotFound
    );
    drop(volume.open(&b, Open::Create, Access::Data).unwrap());
    drop(volume.open(&a, Open::Create, Access::Log).unwrap());
    assert_eq!(
        kind(volume.open(&a, Open::Create, Access::Log)),
        IoErrorKind::AlreadyExists
    );
    volume.create_dir(&deep).unwrap();
    volume.create_dir(&deep).unwrap();
    assert_eq!(kind(volume.create_dir(&a)), IoErrorKind::AlreadyExists);
    assert_eq!(
        volume.list(dir).unwrap(),
        [a.clone(), b.clone(), dir.join("x")]
    );
    drop(
        volume
            .open(&deep.join("f"), Open::Create, Access::Data)
            .unwrap(),
    );
    assert!(
        volume.remove(&deep).is_err(),
        "a directory that holds a file was removed"
    );
    volume.remove(&deep.join("f")).unwrap();
    volume.remove(&deep).unwrap();
    volume.remove(&a).unwrap();
    assert_eq!(
        [&a, &b, &deep].map(|path| volume.exists(path).unwrap()),
        [false, true, false]
    );
    assert_eq!(volume.list(dir).unwrap(), [b, dir.join("x")]);
    let space = volume.space(dir).unwrap();
    assert!(space.free_bytes > 0 && space.free_bytes <= space.total_bytes);
    assert_eq!(kind(volume.space(&dir.join("none"))), IoErrorKind::NotFound);
}

fn one_writer_at_a_time(volume: &dyn Volume, dir: &Path) {
    let path = dir.join("f");
    let first = volume.open(&path, Open::Create, Access::Data).unwrap();
    first.write_at(0, b"owner").unwrap();
    assert_eq!(
        kind(volume.open(&path, Open::Existing, Access::Data)),
        IoErrorKind::InUse
    );
    let reader = volume.open(&path, Open::ReadOnly, Access::Data).unwrap();
    assert_eq!(contents(&*reader), b"owner");
    drop(first);
    let second = volume.open(&path, Open::Existing, Access::Data).unwrap();
    assert_eq!(
        kind(volume.open(&path, Open::Existing, Access::Log)),
        IoErrorKind::InUse
    );
    drop(second);
}

fn a_reader_cannot_write(volume: &dyn Volume, dir: &Path) {
    let path = dir.join("f");
    let writer = volume.open(&path, Open::Create, Access::Data).unwrap();
    writer.write_at(0, &pattern(4096, 0)).unwrap();
    let reader = volume.open(&path, Open::ReadOnly, Access::Data).unwrap();
    assert_eq!(
        kind(reader.write_at(0, &pattern(4096, 1))),
        IoErrorKind::Denied
    );
    assert_eq!(
        kind(reader.write_durable_at(0, &pattern(4096, 1))),
        IoErrorKind::Denied
    );
    assert_eq!(kind(reader.resize(0, Fill::Allocate)), IoErrorKind::Denied);
    reader.sync().unwrap();
    assert_eq!(contents(&*reader), &pattern(4096, 0)[..]);
}

fn many_threads_share_a_file(volume: &dyn Volume, dir: &Path) {
    let file = volume
        .open(&dir.join("f"), Open::Create, Access::Data)
        .unwrap();
    file.resize(64 * 8192, Fill::Allocate).unwrap();
    thread::scope(|scope| {
        for worker in 0..4_u64 {
            let file = &file;
            scope.spawn(move || {
                for turn in 0..48 {
                    let page = turn % 16 * 4 + worker;
                    let bytes = pattern(8192, (turn * 4 + worker) as u8);
                    file.write_at(page * 8192, &bytes).unwrap();
                    let mut back = AlignedBuf::new(8192);
                    file.read_at(page * 8192, &mut back).unwrap();
                    assert_eq!(back, bytes);
                    if turn % 16 == 0 {
                        file.sync().unwrap();
                    }
                }
            });
        }
    });
    let all = contents(&*file);
    for page in 0..64 {
        let last = (32 + page / 4) * 4 + page % 4;
        assert_eq!(
            &all[page * 8192..(page + 1) * 8192],
            &pattern(8192, last as u8)[..]
        );
    }
}

/// More runs than a ring holds, and more buffers in a run than one call takes.
fn long_batches_pass(volume: &dyn Volume, dir: &Path) {
    let file = volume
        .open(&dir.join("f"), Open::Create, Access::Data)
        .unwrap();
    let blocks: Vec<AlignedBuf> = (0..2500).map(|block| pattern(4096, block as u8)).collect();
    let slices: Vec<_> = blocks.iter().map(|block| IoSlice::new(block)).collect();
    let (long, single) = slices.split_at(2300);
    let mut runs = vec![WriteRun {
        offset: 0,
        bufs: long,
    }];
    for (at, bufs) in single.chunks(1).enumerate() {
        runs.push(WriteRun {
            offset: (2300 + at as u64) * 4096,
            bufs,
        });
    }
    file.write(&runs).unwrap();
    let all = contents(&*file);
    assert!(
        blocks
            .iter()
            .zip(all.chunks(4096))
            .all(|(block, found)| **block == *found)
    );
    let mut back: Vec<AlignedBuf> = (0..2500).map(|_| AlignedBuf::new(4096)).collect();
    let mut slices: Vec<_> = back
        .iter_mut()
        .map(|block| IoSliceMut::new(block))
        .collect();
    let (long, single) = slices.split_at_mut(2300);
    let mut runs = vec![ReadRun {
        offset: 0,
        bufs: long,
    }];
    for (at, bufs) in single.chunks_mut(1).enumerate() {
        runs.push(ReadRun {
            offset: (2300 + at as u64) * 4096,
            bufs,
        });
    }
    file.read(&mut runs).unwrap();
    assert!(back == blocks);
}
