//! Sparse files and power losses.

use super::*;
use furrow_io::sim::{Crash, Effect, Fault, Ops, SimOptions};
use furrow_io::{Access, Open, SimVolume, Volume};

const PAGES: u32 = 64;
const SNAPSHOT: [u8; 16] = [7; 16];

fn header() -> SparseHeader {
    SparseHeader {
        snapshot: SNAPSHOT,
        source: [9; 16],
        file: FileId(3),
        state: SparseState::Creating,
        pages: 0,
        split: Lsn::ZERO,
    }
}

fn image(page: u32) -> Vec<u8> {
    (0..PAGE_SIZE)
        .map(|at| (at as u32 * 31 + page * 7 + 1) as u8)
        .collect()
}

fn put(sparse: &SparseFile, pages: &[u32]) -> Result<(), IoError> {
    let bytes: Vec<u8> = pages.iter().flat_map(|page| image(*page)).collect();
    let bytes = AlignedBuf::copy_of(&bytes);
    let pages: Vec<PageNo> = pages.iter().map(|page| PageNo(*page)).collect();
    sparse.put(&pages, &bytes)
}

/// A whole snapshot of one file, with an image of page 0.
fn ready() -> SimVolume {
    let volume = SimVolume::new(SimOptions::default());
    let file = volume
        .open(Path::new("x.ss"), Open::Create, Access::Data)
        .unwrap();
    let sparse = SparseFile::create(file, header()).unwrap();
    sparse.place(PAGES, Lsn(5 << 36));
    put(&sparse, &[0]).unwrap();
    sparse.write_header(SparseState::Whole).unwrap();
    drop(sparse);
    volume.fork()
}

fn open(volume: &SimVolume) -> Result<SparseFile, SparseFault> {
    let file = volume
        .open(Path::new("x.ss"), Open::Existing, Access::Data)
        .unwrap();
    SparseFile::open(file, (SNAPSHOT, FileId(3)))
}

/// Batches of pages that are written one after the other.
const BATCHES: [&[u32]; 4] = [&[1, 2, 3, 9], &[4], &[10, 11, 40, 63], &[5, 6]];

fn prove(sparse: &SparseFile, durable: &[u32], context: &str) {
    for page in 0..PAGES {
        let has = sparse.has(PageNo(page));
        assert!(
            has || !durable.contains(&page),
            "{context}: page {page} is lost"
        );
        if has {
            let mut bytes = AlignedBuf::new(PAGE_SIZE);
            sparse.read(PageNo(page), &mut bytes).unwrap();
            assert!(
                bytes[..] == image(page)[..],
                "{context}: page {page} is torn"
            );
        }
    }
}

#[test]
fn images_that_were_durable_are_there_after_any_power_loss_and_torn_ones_are_not() {
    let ready = ready();
    let (mut n, mut crashes) = (0, 0);
    loop {
        n += 1;
        let volume = ready.fork();
        let mut durable = vec![0];
        let sparse = open(&volume).unwrap();
        volume.inject(Fault::new(Ops::Changes, Effect::PowerLoss).nth(n));
        let done = BATCHES.iter().all(|batch| {
            let written = put(&sparse, batch).is_ok();
            if written {
                durable.extend(*batch);
            }
            written
        });
        drop(sparse);
        for outcome in volume.outcomes() {
            let context = format!("operation {n}, {outcome:?}");
            let after = volume.crash(&outcome);
            let sparse = open(&after).unwrap();
            prove(&sparse, &durable, &context);
            // A torn image stays away when more blocks follow.
            let more: Vec<u32> = (20..30).filter(|page| !sparse.has(PageNo(*page))).collect();
            put(&sparse, &more).unwrap();
            put(&sparse, &[50]).unwrap();
            drop(sparse);
            let mut durable = durable.clone();
            durable.extend(more);
            durable.push(50);
            let sparse = open(&after.crash(&Crash::DropAll)).unwrap();
            prove(&sparse, &durable, &context);
            crashes += 1;
        }
        if done {
            break;
        }
    }
    assert!(crashes > 20, "{crashes}");
}

#[test]
fn a_file_that_is_not_whole_or_has_lost_a_block_is_refused() {
    let volume = ready();
    let sparse = open(&volume).unwrap();
    for batch in BATCHES {
        put(&sparse, batch).unwrap();
    }
    drop(sparse);
    let journal = block_at(PAGES, 0);
    let lost = volume.fork();
    // Block 2 of five.
    lost.rot(Path::new("x.ss"), journal + 2 * BLOCK_BYTES as u64 + 70, 1)
        .unwrap();
    assert!(matches!(open(&lost), Err(SparseFault::Damaged)));
    let sparse = open(&volume).unwrap();
    sparse.write_header(SparseState::Suspect).unwrap();
    drop(sparse);
    assert!(matches!(open(&volume), Err(SparseFault::Suspect)));
    volume.rot(Path::new("x.ss"), 20, 1).unwrap();
    assert!(matches!(open(&volume), Err(SparseFault::Damaged)));
    let file = volume
        .open(Path::new("x.ss"), Open::Existing, Access::Data)
        .unwrap();
    let other = SparseFile::open(file, ([8; 16], FileId(3)));
    assert!(matches!(other, Err(SparseFault::Damaged)));
}
