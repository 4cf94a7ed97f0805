//! Damaged pages and garbage for changes: errors, never panics.

use crate::support::{OnFailure, Rng, record, seeds};
use furrow_format::{
    AllocUnitId, Bitmap, Change, ChangeReader, ChangeWriter, Iam, MapInit, MapKind, PAGE_SIZE,
    Page, PageBuf, PageId, PageInit, PageMut, PageType, Pfs, PfsByte, Record, RowListBuilder,
    TxnId, apply, untear, verify,
};

const ID: PageId = PageId::new(1, 77);

fn sound_page(rng: &mut Rng) -> PageBuf {
    let mut page = [0; PAGE_SIZE];
    let kind = match rng.below(8) {
        0 => MapKind::Pfs {
            file_pages: 512_000,
        },
        1 => MapKind::Gam,
        2 => MapKind::Iam {
            unit: AllocUnitId(9 << 16),
            sequence: 0,
            interval_start: ID,
        },
        _ => {
            let index = rng.chance(50);
            let kind = if index {
                PageType::Index
            } else {
                PageType::Data
            };
            let mut view = PageMut::new(&mut page);
            view.format(&PageInit::new(ID, kind, AllocUnitId(9 << 16), 12));
            for _ in 0..rng.below(150) {
                let _full = view.append(&record(rng, index, 12));
            }
            return page;
        }
    };
    MapInit { page: ID, kind }.format(&mut page).unwrap();
    page
}

/// Flips bytes where it hurts most: header fields, slot array, record headers.
fn damage(rng: &mut Rng, page: &mut PageBuf) {
    for _ in 0..=rng.below(6) {
        let at = match rng.below(4) {
            0 => rng.below(96),
            1 => PAGE_SIZE - 1 - rng.below(64),
            2 => {
                let slots = Page::new(page).slot_count();
                let slot = rng.below(usize::from(slots)) as u16;
                usize::from(Page::new(page).slot_offset(slot).unwrap_or(96)) + rng.below(16)
            }
            _ => rng.below(PAGE_SIZE),
        };
        if let Some(byte) = page.get_mut(at) {
            *byte = match rng.below(3) {
                0 => 0,
                1 => 0xFF,
                _ => rng.next() as u8,
            };
        }
    }
}

fn some_change(rng: &mut Rng, log: &mut Vec<u8>) {
    let index = rng.chance(50);
    let bytes = &record(rng, index, 12)[..];
    let slot = if rng.chance(80) {
        rng.below(160)
    } else {
        rng.below(65536)
    } as u16;
    let count = if rng.chance(80) {
        rng.below(20)
    } else {
        rng.below(65536)
    } as u16;
    let mut rows = RowListBuilder::new();
    assert!(rows.push(bytes) && rows.push(bytes));
    let image = sound_page(rng);
    let value = rng.chance(50);
    let change = match rng.below(18) {
        0 => Change::InsertRow { slot, bytes },
        1 => Change::RemoveRow { slot },
        2 => Change::RemoveRows { from: slot, count },
        3 => Change::LoadRows(rows.rows()),
        4 => Change::ReplaceRow { slot, bytes },
        5 => Change::PatchRow {
            slot,
            offset: count,
            bytes,
        },
        6 => Change::HeapPut { slot, bytes },
        7 => Change::HeapFree { slot },
        8 => Change::SetLinks {
            prev: Some(ID),
            next: None,
        },
        9 => Change::SetLevel { level: 3 },
        10 => Change::SetGhosts { delta: slot as i16 },
        11 => Change::SetReserved {
            reserved: slot,
            xact_reserved: count,
            xdes: TxnId(7),
        },
        12 => Change::PatchBytes {
            offset: slot.wrapping_mul(41),
            bytes,
        },
        13 => Change::SetBit { index: slot, value },
        14 => Change::SetBits {
            first: slot,
            count,
            value,
        },
        15 => Change::SetPfs {
            index: slot,
            value: PfsByte(count as u8),
        },
        16 => Change::image_of(&image),
        _ => Change::FormatMap(MapInit {
            page: ID,
            kind: MapKind::Gam,
        }),
    };
    ChangeWriter::new(log).push(ID, &change);
}

/// Touches every reader.
fn read_everything(page: &PageBuf) -> usize {
    let view = Page::new(page);
    let mut seen = format!("{view:?}").len();
    for (_, bytes) in view.records() {
        let Some(record) = Record::of_page(view.page_type(), view.pminlen(), bytes) else {
            seen += usize::from(Record::forwarded_to(bytes).is_some());
            continue;
        };
        for column in 0..record.var_count().saturating_add(2).min(50) {
            seen += record.var(column).map_or(0, |(bytes, _)| bytes.len());
            seen += usize::from(record.null_bit(column).is_some());
        }
        seen += record.fixed().len() + record.version_tag().map_or(0, |tag| tag.len());
        seen += usize::from(record.child().is_some());
    }
    seen += Bitmap::new(page).map_or(0, |map| map.count(70_000) as usize);
    seen += Bitmap::new(page).map_or(0, |map| map.runs(9_000).count());
    seen += Pfs::new(page).map_or(0, |pfs| pfs.iter().map(|byte| byte.to_string().len()).sum());
    seen += Iam::new(page).map_or(0, |iam| iam.single_pages().count());
    seen + usize::from(view.audit().is_ok()) + usize::from(verify(page, ID).is_ok())
}

#[test]
fn changes_to_damaged_pages_never_panic() {
    let (mut refused, mut applied) = (0, 0);
    for seed in seeds(150) {
        let _named = OnFailure(seed);
        let mut rng = Rng::new(seed);
        for _ in 0..6 {
            let mut page = sound_page(&mut rng);
            damage(&mut rng, &mut page);
            for _ in 0..12 {
                let mut log = Vec::new();
                some_change(&mut rng, &mut log);
                for entry in ChangeReader::new(&log) {
                    let (_, change) = entry.unwrap();
                    match apply(&change, &mut page) {
                        Ok(()) => applied += 1,
                        Err(_) => refused += 1,
                    }
                }
                read_everything(&page);
            }
            untear(&mut page);
        }
    }
    assert!(
        refused > 0 && applied > 0,
        "{refused} refused, {applied} applied"
    );
}

#[test]
fn garbage_for_changes_never_panics() {
    let (mut read, mut refused) = (0, 0);
    for seed in seeds(3000) {
        let _named = OnFailure(seed);
        let mut rng = Rng::new(seed);
        let mut log = Vec::new();
        for _ in 0..rng.below(4) {
            some_change(&mut rng, &mut log);
        }
        if rng.chance(50) {
            let cut = rng.below(log.len() + 1);
            log.truncate(cut);
        }
        for _ in 0..rng.below(8) {
            let at = rng.below(log.len());
            if let Some(byte) = log.get_mut(at) {
                *byte = if rng.chance(50) {
                    rng.below(24) as u8
                } else {
                    rng.next() as u8
                };
            }
        }
        if rng.chance(20) {
            let len = rng.below(60);
            log = rng.bytes(len);
        }
        let mut page = sound_page(&mut rng);
        for entry in ChangeReader::new(&log) {
            match entry {
                Ok((_, change)) => {
                    read += 1;
                    let _applied_or_not = apply(&change, &mut page);
                }
                Err(_) => refused += 1,
            }
        }
        read_everything(&page);
    }
    assert!(read > 0 && refused > 0, "{read} read, {refused} refused");
}

#[test]
fn pages_of_random_bytes_can_be_read() {
    for seed in seeds(200) {
        let _named = OnFailure(seed);
        let mut rng = Rng::new(seed);
        let mut page = [0; PAGE_SIZE];
        page.copy_from_slice(&rng.bytes(PAGE_SIZE));
        page[1] = [1, 2, 3, 8, 10, 11, 13, 15][rng.below(8)];
        if rng.chance(50) {
            page[23] = 0;
        }
        read_everything(&page);
        let _damaged = PageMut::new(&mut page).compact();
        read_everything(&page);
    }
}
