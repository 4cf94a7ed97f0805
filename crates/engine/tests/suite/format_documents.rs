//! A reader of the on-disk formats, written from docs/format alone: it uses nothing of the code that writes
//! them.
//!
//! It reads the log of a fixture as a crash left it, and the list and the double-write file of an instance
//! that was just abandoned.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use furrow_engine::{
    ColumnSpec, DatabaseSpec, FileSpec, Instance, InstanceConfig, Session, TableSpec,
};
use furrow_io::{MemoryVolume, Volume, read_file};
use furrow_types::{DataType, TypeId, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

fn crc32c(parts: &[&[u8]]) -> u32 {
    let mut crc = u32::MAX;
    for byte in parts.iter().copied().flatten() {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ if crc & 1 == 1 { 0x82F6_3B78 } else { 0 };
        }
    }
    !crc
}

/// An integer of so many bytes.
fn int(bytes: &[u8], at: usize, len: usize) -> u64 {
    (0..len).map(|i| u64::from(bytes[at + i]) << (8 * i)).sum()
}

/// Takes integers and byte strings off the front.
struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn bytes(&mut self, len: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(len);
        self.0 = rest;
        taken
    }

    fn int(&mut self, len: usize) -> u64 {
        int(self.bytes(len), 0, len)
    }

    /// A length and so many bytes.
    fn string(&mut self, length_bytes: usize) -> &'a [u8] {
        let len = self.int(length_bytes) as usize;
        self.bytes(len)
    }

    fn skip_key(&mut self) {
        for _ in 0..self.int(1) {
            match self.int(2) {
                0xFFFF => {}
                len => {
                    self.bytes(len as usize);
                }
            }
        }
    }
}

struct Directory {
    sector: usize,
    log_id: u64,
    checkpoint: u64,
    /// Start and size of each VLF.
    vlfs: Vec<(usize, usize)>,
}

fn directory(log: &[u8]) -> Directory {
    let valid = |copy: &&[u8]| {
        let crc = crc32c(&[&copy[..40], &[0; 4], &copy[44..4096]]);
        &copy[..8] == b"FURLOG\x00\x01" && int(copy, 40, 4) == u64::from(crc)
    };
    let copies = [&log[..4096], &log[4096..8192]].into_iter().enumerate();
    let (place, newest) = copies
        .filter(|(_, copy)| valid(copy))
        .max_by_key(|(_, copy)| int(copy, 8, 8))
        .unwrap();
    assert_eq!(int(newest, 8, 8) % 2, place as u64);
    let mut at = 8192;
    let mut vlfs = Vec::new();
    for run in 0..int(newest, 36, 4) as usize {
        let size = int(newest, 64 + 12 * run, 8) as usize;
        for _ in 0..int(newest, 64 + 12 * run + 8, 4) {
            vlfs.push((at, size));
            at += size;
        }
    }
    assert!(at <= log.len());
    Directory {
        sector: int(newest, 32, 4) as usize,
        log_id: int(newest, 16, 8) ^ int(newest, 24, 8).rotate_left(32),
        checkpoint: int(newest, 48, 8),
        vlfs,
    }
}

/// The used bytes of the block at an offset of the file, if one is there.
fn block<'a>(log: &'a [u8], directory: &Directory, at: usize) -> Option<&'a [u8]> {
    let block = log.get(at..)?;
    let used = int(block.get(..48)?, 4, 4) as usize;
    let fits = (48..=61_440).contains(&used) && used <= block.len();
    let ours = fits && &block[..4] == b"FLB1" && int(block, 32, 8) == directory.log_id;
    let whole =
        ours && int(block, 40, 4) == u64::from(crc32c(&[&block[..40], &[0; 4], &block[44..used]]));
    whole.then_some(&block[..used])
}

fn lsn(vlf: u64, offset: usize) -> u64 {
    vlf << 36 | (offset as u64 / 512) << 12
}

struct LogRecord<'a> {
    lsn: u64,
    kind: u8,
    transaction: u64,
    previous: u64,
    undo: &'a [u8],
    redo: &'a [u8],
}

fn records<'a>(block: &'a [u8], all: &mut Vec<LogRecord<'a>>) {
    let mut input = Input(&block[48..]);
    for number in 1..=int(block, 12, 2) {
        let record = input.bytes(int(input.0, 0, 4) as usize);
        let undo = int(record, 5, 3) as usize;
        all.push(LogRecord {
            lsn: int(block, 16, 8) + number,
            kind: record[4],
            transaction: int(record, 8, 8),
            previous: int(record, 16, 8),
            undo: &record[24..24 + undo],
            redo: &record[24 + undo..],
        });
    }
}

/// All records from the last completed checkpoint on.
fn read_log(log: &[u8]) -> (Directory, Vec<LogRecord<'_>>) {
    let directory = directory(log);
    let mut places = BTreeMap::new();
    for (start, size) in &directory.vlfs {
        let Some(first) = block(log, &directory, *start) else {
            continue;
        };
        let place = (int(first, 8, 4), *start, *size);
        let known = places.entry(int(first, 16, 8) >> 36).or_insert(place);
        *known = place.max(*known);
    }
    let (mut vlf, mut offset) = (
        directory.checkpoint >> 36,
        (directory.checkpoint >> 12 & 0xFF_FFFF) as usize * 512,
    );
    let mut before: Option<&[u8]> = None;
    let mut all = Vec::new();
    loop {
        let valid = |vlf: u64, offset: usize| {
            let (_, start, size) = places.get(&vlf)?;
            let found = block(log, &directory, start + offset).filter(|_| offset < *size)?;
            let follows = before.is_none_or(|before| {
                int(found, 24, 8) == int(before, 16, 8) && int(found, 8, 4) >= int(before, 8, 4)
            });
            (int(found, 16, 8) == lsn(vlf, offset) && follows).then_some(found)
        };
        let here = valid(vlf, offset);
        if here.is_none() {
            (vlf, offset) = (vlf + 1, 0);
        }
        let Some(found) = here.or_else(|| valid(vlf, 0)) else {
            return (directory, all);
        };
        if let (Some(before), durable @ 1..0xFFFF_FFFF) = (before, int(found, 44, 4)) {
            assert!(int(found, 16, 8) - (durable << 12) <= int(before, 16, 8));
        }
        records(found, &mut all);
        offset += found.len().next_multiple_of(directory.sector);
        before = Some(found);
    }
}

/// Reads the fields of a page change; the records that it brings.
fn change<'a>(tag: u64, input: &mut Input<'a>) -> Vec<&'a [u8]> {
    let skip = |input: &mut Input<'a>, len| {
        input.bytes(len);
        Vec::new()
    };
    match tag {
        1 | 20 => skip(input, 6 + 3 + 8 + 2 + 12),
        2 => {
            input.bytes(6);
            let fields = match input.int(1) {
                0 => 4,
                1..=4 => 0,
                5 => 8 + 4 + 6,
                map => panic!("map {map}"),
            };
            skip(input, fields)
        }
        3 | 7 | 9 | 15 => {
            input.bytes(2);
            vec![input.string(2)]
        }
        4 | 10 => skip(input, 2),
        5 => skip(input, 4),
        6 => {
            let mut rows = Input(input.string(2));
            let mut all = Vec::new();
            while !rows.0.is_empty() {
                all.push(rows.string(2));
            }
            all
        }
        8 => {
            input.bytes(4);
            vec![input.string(2)]
        }
        11 => {
            let links = input.int(1);
            skip(input, 6 * links.count_ones() as usize)
        }
        12 => skip(input, 1),
        13 => skip(input, 2),
        14 => skip(input, 12),
        16 | 18 => skip(input, 3),
        17 => skip(input, 5),
        19 => {
            input.string(2);
            vec![input.string(2)]
        }
        _ => panic!("change {tag}"),
    }
}

/// Reads a group of page changes to its end: tags and the records that they bring.
fn changes(redo: &[u8]) -> Vec<(u64, Vec<&[u8]>)> {
    let mut input = Input(redo);
    let mut all = Vec::new();
    while !input.0.is_empty() {
        let tag = input.int(1);
        if tag & 0x80 == 0 {
            input.bytes(6);
        }
        let tag = tag & 0x7F;
        all.push((tag, change(tag, &mut input)));
    }
    all
}

/// Reads an undo part to its end; the operation.
fn undo(undo: &[u8]) -> u64 {
    let mut input = Input(undo);
    let operation = input.int(1);
    input.int(8);
    match operation {
        1 | 2 => input.skip_key(),
        3 => {
            input.skip_key();
            input.0 = &[];
        }
        4 | 5 => {
            input.bytes(8);
        }
        6 | 8 => input.0 = &[],
        7 => {
            input.int(4);
            (0..2).for_each(|_| input.skip_key());
        }
        9 => {
            input.int(4);
            (0..=input.int(2)).for_each(|_| input.skip_key());
        }
        _ => panic!("operation {operation}"),
    }
    assert!(
        input.0.is_empty(),
        "operation {operation} has {} bytes more",
        input.0.len()
    );
    operation
}

/// The log of the fixture: `format_fixture` says what its database went through.
fn fixture_log() -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/format-5.lz4");
    let packed = read_file(&furrow_io::SystemVolume::new(), &path).unwrap();
    let unpacked = lz4_flex::decompress_size_prepended(&packed).unwrap();
    let mut input = Input(&unpacked);
    loop {
        let (name, bytes) = (input.string(8), input.string(8));
        if name.ends_with(b".ldf") {
            return bytes.to_vec();
        }
    }
}

/// The counts and the mark of a commit; an abort has neither time nor mark.
fn commit(redo: &[u8]) -> (&[u8], Option<(String, String)>) {
    const YEAR_2020_US: u64 = 1_577_836_800_000_000;
    let rest = match redo.len() % 16 {
        0 => return (redo, None),
        _ => &redo[..redo.len() - 8],
    };
    assert!(int(redo, rest.len(), 8) > YEAR_2020_US);
    if redo.len() % 16 == 8 {
        return (rest, None);
    }
    let (rest, units) = rest.split_at(rest.len() - 4);
    let (counts, mark) = rest.split_at(rest.len() - 16 * int(units, 0, 4) as usize);
    let mut input = Input(mark);
    let mut text = || String::from_utf8(input.string(2).to_vec()).unwrap();
    (counts, Some((text(), text())))
}

#[test]
fn the_log_is_read_by_its_document_alone() {
    assert_eq!(crc32c(&[b"123456789"]), 0xE306_9283);
    let log = fixture_log();
    let (directory, records) = read_log(&log);
    assert!(records.windows(2).all(|pair| pair[0].lsn < pair[1].lsn));
    let first = records.iter().find(|r| r.kind == 5).unwrap();
    assert_eq!(first.lsn, directory.checkpoint);
    let mut open: BTreeMap<u64, u64> = BTreeMap::new();
    let mut committed = BTreeSet::new();
    let mut inserted: BTreeMap<u64, u64> = BTreeMap::new();
    let (mut rows, mut marks) = (0, Vec::new());
    for record in &records {
        match record.kind {
            1 | 2 => {
                let brought = changes(record.redo);
                assert!(!brought.is_empty());
                rows += brought.iter().filter(|(tag, _)| *tag == 3).count();
                if !record.undo.is_empty() && undo(record.undo) == 1 {
                    *inserted.entry(record.transaction).or_default() += 1;
                }
            }
            3 | 4 => {
                let (counts, mark) = commit(record.redo);
                marks.extend(mark);
                let deltas = counts.chunks(16).map(|pair| int(pair, 8, 8) as i64);
                if deltas.clone().any(|delta| delta == 100) {
                    committed.insert(record.transaction);
                }
                open.remove(&record.transaction);
                continue;
            }
            5 => assert!(record.redo.is_empty() && record.undo.is_empty()),
            6 => {
                assert_eq!(int(record.redo, 0, 8), directory.checkpoint);
                let active = int(record.redo, 28, 4) as usize;
                let counts = int(record.redo, 32 + 24 * active, 4) as usize;
                assert_eq!(record.redo.len(), 32 + 24 * active + 4 + 16 * counts);
            }
            kind => panic!("kind {kind}"),
        }
        if record.transaction != 0 {
            let before = open.insert(record.transaction, record.lsn);
            // A chain leads back through the transaction, unless something is undone.
            assert!(record.kind == 2 || record.previous == before.unwrap_or(record.previous));
        }
    }
    // One transaction inserted 100 rows, each with an entry in an index; one never ended.
    assert_eq!(committed.len(), 1);
    assert!(
        committed
            .iter()
            .all(|transaction| inserted[transaction] == 200)
    );
    assert_eq!(
        marks,
        [(
            "kept".to_owned(),
            "what a marked transaction writes".to_owned()
        )]
    );
    assert!(rows >= 200, "{rows}");
    assert_eq!(open.len(), 1);
}

#[test]
fn the_list_of_databases_is_read_by_its_document_alone() {
    let volume: Arc<dyn Volume> = Arc::new(MemoryVolume::new());
    volume.create_dir(Path::new("d")).unwrap();
    let config = InstanceConfig {
        directory: Some("inst".into()),
        pool_pages: 512,
        background: false,
        ..InstanceConfig::default()
    };
    let instance = Instance::start(Arc::clone(&volume), config).unwrap();
    for name in ["first", "s\u{e9}cond"] {
        let spec = DatabaseSpec::new(name, FileSpec::new("P", format!("d/{name}.mdf")).size_mb(2));
        let spec = spec.log(FileSpec::new("L", format!("d/{name}.ldf")).size_kb(512));
        instance.create_database(&spec).unwrap();
    }
    instance.abandon();
    let files =
        [0, 1].map(|n| read_file(&*volume, Path::new(&format!("inst/databases.{n}"))).unwrap());
    let mut lists = Vec::new();
    for (number, file) in files.iter().enumerate() {
        assert_eq!(&file[..8], b"FURROWDB");
        assert_eq!(file.len() % 4096, 0);
        assert_eq!(int(file, 8, 8) % 2, number as u64);
        let list = &file[24..24 + int(file, 16, 4) as usize];
        assert_eq!(int(file, 20, 4), u64::from(crc32c(&[&file[..20], list])));
        lists.push(list);
    }
    assert_eq!(lists[0], lists[1], "at rest both files hold the same list");
    let mut input = Input(lists[0]);
    for (id, name) in [(5, "first"), (6, "s\u{e9}cond")] {
        assert_eq!((input.int(2), input.int(1)), (id, 0));
        let binding = input.bytes(16);
        assert_eq!(input.string(4), name.as_bytes());
        assert_eq!(input.int(2), 1);
        let path = String::from_utf8(input.string(4).to_vec()).unwrap();
        assert_eq!(path, format!("d/{name}.mdf"));
        // The log stores the same binding GUID, which makes its identity.
        let log = read_file(&*volume, Path::new(&format!("d/{name}.ldf"))).unwrap();
        let id = int(binding, 0, 8) ^ int(binding, 8, 8).rotate_left(32);
        assert_eq!(directory(&log).log_id, id);
    }
    assert!(input.0.is_empty());
}

/// A batch of images: generation and number, then each page's number and image, if that is whole.
type Batch<'a> = ((u64, u64), Vec<(u64, Option<&'a [u8]>)>);

/// The batches of a double-write file that belong to a data file.
fn batches(file: &[u8], owner: u64) -> Vec<Batch<'_>> {
    let pages: Vec<&[u8]> = file.chunks_exact(8192).collect();
    assert_eq!(pages.len() * 8192, file.len());
    assert_eq!(pages.len() % 2, 0);
    let half_pages = pages.len() / 2;
    let mut found = Vec::new();
    for half in pages.chunks(half_pages.max(1)) {
        let (mut at, mut number, mut generation) = (0, 0, None);
        while let Some(header) = half.get(at) {
            let count = int(header, 28, 4) as usize;
            let is_header = &header[..8] == b"FURROWDW"
                && int(header, 8, 4) == u64::from(crc32c(&[&header[12..]]))
                && int(header, 12, 2) == 1
                && (1..=1016).contains(&count);
            if !is_header
                || *generation.get_or_insert(int(header, 16, 8)) != int(header, 16, 8)
                || int(header, 24, 4) != number
                || int(header, 32, 4) != half_pages as u64
                || at + 1 + count > half_pages
            {
                break;
            }
            assert!(header[36..64].iter().all(|byte| *byte == 0));
            let images = (0..count).map(|n| {
                let (entry, image) = (64 + 8 * n, half[at + 1 + n]);
                let whole = int(header, entry + 4, 4) == u64::from(crc32c(&[image]));
                (int(header, entry, 4), whole.then_some(image))
            });
            if int(header, 14, 2) == owner {
                found.push(((int(header, 16, 8), number), images.collect()));
            }
            at += 1 + count;
            number += 1;
        }
    }
    found
}

#[test]
fn the_double_write_file_is_read_by_its_document_alone() {
    let volume: Arc<dyn Volume> = Arc::new(MemoryVolume::new());
    volume.create_dir(Path::new("d")).unwrap();
    let config = InstanceConfig {
        directory: None,
        pool_pages: 512,
        double_write_pages: 64,
        background: false,
        ..InstanceConfig::default()
    };
    let instance = Instance::start(Arc::clone(&volume), config).unwrap();
    let spec = DatabaseSpec::new("Db", FileSpec::new("P", "d/p.mdf").size_mb(2));
    let spec = spec.log(FileSpec::new("L", "d/l.ldf").size_mb(2));
    let database = instance.create_database(&spec).unwrap();
    let mut session = Session::new(&database).unwrap();
    let number = ColumnSpec::new("n", DataType::simple(TypeId::Int));
    let text = ColumnSpec::new("t", DataType::sized(TypeId::VarChar, 2000));
    let spec = TableSpec::new("t").column(number).column(text);
    let table = session.create_table(&spec).unwrap();
    // The same pages are written in place again and again: their images go to both halves.
    for round in 0..6 {
        for n in 0..40 {
            let row = [
                Value::Int(round * 100 + n),
                Value::VarChar("x".repeat(1500)),
            ];
            session.insert(&table, &row).unwrap();
        }
        database.checkpoint().unwrap();
    }
    drop(session);
    drop(database);
    instance.abandon();
    let data = read_file(&*volume, Path::new("d/p.mdf")).unwrap();
    let images = read_file(&*volume, Path::new("d/p.mdf.dw")).unwrap();
    let found = batches(&images, 1);
    assert!(batches(&images, 2).is_empty());
    assert!(found.len() > 1, "{} batches", found.len());
    let mut newest: BTreeMap<u64, ((u64, u64), &[u8])> = BTreeMap::new();
    for (age, images) in &found {
        for (page, image) in images {
            let image = image.unwrap();
            let known = newest.entry(*page).or_insert((*age, image));
            if known.0 <= *age {
                *known = (*age, image);
            }
        }
    }
    // All writes had ended: each page is its newest image. The file's header has the checkpoint's LSN
    // besides.
    assert!(newest.len() > 3, "{} pages", newest.len());
    for (page, (_, image)) in newest.iter().filter(|(page, _)| **page != 0) {
        let at = *page as usize * 8192;
        assert!(data[at..at + 8192] == **image, "page {page}");
        assert_eq!(int(image, 32, 4), *page, "a page header has its own number");
    }
}

/// The images of a sparse file, by page, if it is whole.
fn sparse_images(file: &[u8]) -> Option<BTreeMap<u64, &[u8]>> {
    let is_header = &file[..8] == b"FURROWSS"
        && int(file, 8, 4) == u64::from(crc32c(&[&file[12..8192]]))
        && int(file, 12, 2) == 1
        && int(file, 16, 4) == 1;
    if !is_header {
        return None;
    }
    let (pages, snapshot) = (int(file, 20, 4), &file[32..48]);
    let journal = file.get((pages as usize + 1) * 8192..).unwrap_or_default();
    let mut images = BTreeMap::new();
    for (number, block) in journal.chunks_exact(4096).enumerate() {
        let count = int(block, 12, 4) as usize;
        let is_block = &block[..8] == b"FURROWSJ"
            && int(block, 8, 4) == u64::from(crc32c(&[&block[12..]]))
            && (1..=504).contains(&count)
            && int(block, 16, 8) == number as u64
            && int(block, 24, 2) == int(file, 14, 2)
            && &block[32..48] == snapshot;
        if !is_block {
            break;
        }
        for entry in (64..).step_by(8).take(count) {
            let page = int(block, entry, 4);
            assert!(page < pages);
            let at = (page as usize + 1) * 8192;
            let image = &file[at..at + 8192];
            assert_eq!(int(block, entry + 4, 4), u64::from(crc32c(&[image])));
            images.insert(page, image);
        }
    }
    Some(images)
}

#[test]
fn the_sparse_file_is_read_by_its_document_alone() {
    let volume: Arc<dyn Volume> = Arc::new(MemoryVolume::new());
    volume.create_dir(Path::new("d")).unwrap();
    let config = InstanceConfig {
        directory: None,
        pool_pages: 512,
        background: false,
        ..InstanceConfig::default()
    };
    let instance = Instance::start(Arc::clone(&volume), config).unwrap();
    let spec = DatabaseSpec::new("Db", FileSpec::new("P", "d/p.mdf").size_mb(2));
    let spec = spec.log(FileSpec::new("L", "d/l.ldf").size_mb(2));
    let database = instance.create_database(&spec).unwrap();
    let mut session = Session::new(&database).unwrap();
    let number = ColumnSpec::new("n", DataType::simple(TypeId::Int));
    let table = session.create_table(&TableSpec::new("t").column(number));
    let table = table.unwrap();
    session.insert(&table, &[Value::Int(1)]).unwrap();
    database.checkpoint().unwrap();
    let spec = furrow_engine::SnapshotSpec {
        name: "s".into(),
        source: "Db".into(),
        files: vec![("P".into(), "d/p.ss".into())],
    };
    drop(instance.create_snapshot(&spec).unwrap());
    let before = read_file(&*volume, Path::new("d/p.mdf")).unwrap();
    for n in 0..2_000 {
        session.insert(&table, &[Value::Int(n)]).unwrap();
    }
    database.checkpoint().unwrap();
    drop(session);
    drop(database);
    instance.abandon();
    let now = read_file(&*volume, Path::new("d/p.mdf")).unwrap();
    let sparse = read_file(&*volume, Path::new("d/p.ss")).unwrap();
    let images = sparse_images(&sparse).unwrap();
    let mut changed = 0;
    for (page, (old, new)) in before.chunks(8192).zip(now.chunks(8192)).enumerate() {
        // Pages that held nothing were free: they are not copied.
        if old != new && old.iter().any(|byte| *byte != 0) {
            changed += 1;
            let image = images.get(&(page as u64));
            assert!(image.is_some_and(|image| *image == old), "page {page}");
        }
    }
    assert!(changed > 3, "{changed} pages");
}
