//! A database in memory: files, log, pool, space. What rows stand on.

use furrow_access::{
    AccessError, Bound, By, Cursor, Direction, Heap, HeapAudit, HeapParts, HeapStep, HeapVisitor,
    RowCheck, Shape, Step, Tree, TreeAudit, TreeParts, UndoOp, Visitor,
};
use furrow_format::{
    AllocUnitId, DatabaseId, FileGrowth, FileHeader, FileId, GAM_INTERVAL_EXTENTS, Iam, Lsn, Page,
    PageId, PageNo, Pfs, RowsetId, extent_at_bit, pfs_index_of, pfs_page_of,
};
use furrow_format::{ColumnSpec, RowForm, RowId, RowLayout};
use furrow_io::{Access, Fill, MemoryVolume, Open, Volume};
use furrow_log::{Log, LogConfig, OwnedRecord};
use furrow_observe::Instruments;
use furrow_observe::files::FileStats;
use furrow_pool::{CheckpointOptions, LatchRank, Pool, PoolConfig, PoolFile};
use furrow_recovery::{RecoveryError, analyse, checkpoint, redo, undo};
use furrow_space::{
    DataFile, FileState, FilegroupSpec, Space, SpaceConfig, SpaceOptions, Unit, new_file_pages,
};
use furrow_txn::{ActiveTxn, Store, Transaction, TxnError, Undo};
use furrow_types::{Guid, TypeId};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

pub const DB: DatabaseId = DatabaseId(5);
const BINDING: [u8; 16] = *b"rows under tests";
const LOG_PATH: &str = "/db/rows.ldf";
pub const LOG_BYTES: u64 = 256 << 20;

/// How large the ground is.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    pub files: u16,
    pub file_pages: u32,
    pub frames: usize,
}

impl Default for Size {
    fn default() -> Size {
        Size {
            files: 2,
            file_pages: 8192,
            frames: 4096,
        }
    }
}

/// A database, open.
pub struct Ground {
    pub volume: MemoryVolume,
    pub store: Arc<Store>,
    pub space: Arc<Space>,
    pub size: Size,
    /// Page changes that the restart repeated.
    pub redone: u64,
}

/// What a catalog would keep of a tree.
#[derive(Debug, Clone)]
pub struct Entry {
    pub number: u32,
    pub first_iam: PageId,
    pub root: PageId,
    pub shape: Shape,
}

/// What a catalog would keep of a heap.
#[derive(Debug, Clone)]
pub struct HeapEntry {
    pub number: u32,
    pub first_iam: PageId,
    pub shape: Shape,
}

fn path(file: u16) -> String {
    format!("/db/rows{file}.ndf")
}

fn unit_id(number: u32) -> AllocUnitId {
    AllocUnitId::from_parts(256, number)
}

fn read_all(volume: &MemoryVolume, name: &str) -> Vec<u8> {
    let file = volume
        .open(Path::new(name), Open::ReadOnly, Access::Data)
        .unwrap();
    let mut bytes = vec![0; file.len_bytes().unwrap() as usize];
    file.read_at(0, &mut bytes).unwrap();
    bytes
}

fn write_all(volume: &MemoryVolume, name: &str, bytes: &[u8]) {
    let file = volume
        .open(Path::new(name), Open::Create, Access::Data)
        .unwrap();
    file.resize(bytes.len() as u64, Fill::Zero).unwrap();
    for (at, page) in bytes.chunks(8192).enumerate() {
        if page.iter().any(|&b| b != 0) {
            file.write_at(at as u64 * 8192, page).unwrap();
        }
    }
}

fn volume() -> MemoryVolume {
    let volume = MemoryVolume::new();
    volume.create_dir(Path::new("/db")).unwrap();
    volume
}

impl Ground {
    pub fn new(size: Size) -> Ground {
        Ground::with_log(size, LOG_BYTES)
    }

    /// One with a log of this size, which does not grow.
    pub fn with_log(size: Size, log_bytes: u64) -> Ground {
        Ground::made(size, log_bytes, true)
    }

    /// The same on one thread alone, so that a seed decides all that happens.
    pub fn alone(size: Size, log_bytes: u64) -> Ground {
        Ground::made(size, log_bytes, false)
    }

    fn made(size: Size, log_bytes: u64, background: bool) -> Ground {
        let volume = volume();
        for id in 1..=size.files {
            let data = volume
                .open(Path::new(&path(id)), Open::Create, Access::Data)
                .unwrap();
            let mut header = FileHeader::new(Guid(BINDING), FileId(id), 1, size.file_pages);
            header.name = format!("rows{id}");
            new_file_pages(&*data, &header, &[], Fill::Zero).unwrap();
        }
        let file = volume
            .open(Path::new(LOG_PATH), Open::Create, Access::Log)
            .unwrap();
        let config = LogConfig {
            background,
            ..LogConfig::default()
        };
        let log = Log::create(file, log_bytes, BINDING, config).unwrap();
        let store = stand(&volume, size, &log, Lsn::ZERO, 1, background);
        let space = open_space(&volume, size, &store);
        let ground = Ground {
            volume,
            store,
            space,
            size,
            redone: 0,
        };
        ground.checkpoint();
        ground
    }

    /// Takes a checkpoint; where redo would start after it.
    pub fn checkpoint(&self) -> Lsn {
        let options = CheckpointOptions::default();
        checkpoint(&self.store, options).unwrap().redo_point
    }

    /// The data files as they are on the medium now.
    pub fn data_images(&self) -> Vec<Vec<u8>> {
        (1..=self.size.files)
            .map(|id| read_all(&self.volume, &path(id)))
            .collect()
    }

    /// The power fails with all records in the log. Restart over these data files, with these trees and
    /// heaps.
    pub fn crash(
        self,
        images: &[Vec<u8>],
        entries: &[Entry],
        heaps: &[HeapEntry],
    ) -> (Ground, Vec<Tree>, Vec<Heap>) {
        let after = self.try_crash(images, entries, heaps).unwrap();
        assert!(after.0.redone > 0, "nothing to repeat");
        after
    }

    /// The same, where the restart may fail.
    pub fn try_crash(
        self,
        images: &[Vec<u8>],
        entries: &[Entry],
        heaps: &[HeapEntry],
    ) -> Result<(Ground, Vec<Tree>, Vec<Heap>), RecoveryError> {
        self.store.log().flush_all().unwrap();
        let volume = volume();
        for (id, image) in (1..).zip(images) {
            write_all(&volume, &path(id), image);
        }
        write_all(&volume, LOG_PATH, &read_all(&self.volume, LOG_PATH));
        let size = self.size;
        drop(self);
        let file = volume
            .open(Path::new(LOG_PATH), Open::Existing, Access::Log)
            .unwrap();
        let analysis = analyse(file, BINDING, (LogConfig::default(), Lsn::MAX)).unwrap();
        let (redo_point, end) = (analysis.span.redo_point, analysis.span.end);
        let store = stand(
            &volume,
            size,
            &analysis.log,
            redo_point,
            analysis.next_txn,
            true,
        );
        let log = Arc::clone(store.log().file());
        let loses = |txn| analysis.losers.iter().any(|loser| loser.id == txn);
        let done = redo(&store, log, (redo_point, end), &|_| true, &loses)?;
        let space = open_space(&volume, size, &store);
        let ground = Ground {
            volume,
            store,
            space,
            size,
            redone: done.applied,
        };
        let trees: Vec<Tree> = entries.iter().map(|entry| ground.open(entry)).collect();
        let heaps: Vec<Heap> = heaps.iter().map(|entry| ground.open_heap(entry)).collect();
        let structures = Structures {
            trees: &trees.iter().collect::<Vec<_>>(),
            heaps: &heaps.iter().collect::<Vec<_>>(),
        };
        let written = Written(&structures, &ground.store);
        undo(&ground.store, &analysis, &written)?;
        Ok((ground, trees, heaps))
    }

    fn parts(&self, number: u32, unit: Arc<Unit>, root: PageId, shape: Shape) -> TreeParts {
        TreeParts {
            store: Arc::clone(&self.store),
            space: Arc::clone(&self.space),
            unit,
            rowset: RowsetId(u64::from(number)),
            index_id: 1,
            root,
            shape,
        }
    }

    pub fn tree(&self, number: u32, shape: Shape) -> Tree {
        let unit = self.space.create_unit(unit_id(number), 1).unwrap();
        let tree = Tree::create(self.parts(number, unit, PageId::NONE, shape)).unwrap();
        // From here on the count is kept, not taken.
        assert_eq!(tree.upper_pages().unwrap(), 0);
        tree
    }

    fn open(&self, entry: &Entry) -> Tree {
        let unit = self
            .space
            .open_unit(unit_id(entry.number), 1, entry.first_iam)
            .unwrap();
        Tree::open(self.parts(entry.number, unit, entry.root, entry.shape.clone()))
    }

    fn heap_over(&self, number: u32, unit: Arc<Unit>, shape: Shape) -> Heap {
        Heap::open(HeapParts {
            store: Arc::clone(&self.store),
            space: Arc::clone(&self.space),
            unit,
            rowset: RowsetId(u64::from(number)),
            shape,
        })
    }

    pub fn heap(&self, number: u32, shape: Shape) -> Heap {
        let unit = self.space.create_unit(unit_id(number), 1).unwrap();
        self.heap_over(number, unit, shape)
    }

    fn open_heap(&self, entry: &HeapEntry) -> Heap {
        let unit = self
            .space
            .open_unit(unit_id(entry.number), 1, entry.first_iam)
            .unwrap();
        self.heap_over(entry.number, unit, entry.shape.clone())
    }

    /// The maps give the unit exactly the pages that a heap's audit has seen, each once.
    pub fn check_heap_pages(&self, heap: &Heap, audit: &HeapAudit) {
        let mut found = audit.pages.clone();
        found.sort_unstable();
        assert_eq!(found, mapped_pages(&self.store, heap.unit()));
    }

    pub fn begin(&self) -> Transaction {
        Transaction::begin(&self.store)
    }

    /// The maps give the unit exactly the pages that its tree has, and the tree knows how many of them are
    /// above the leaves.
    pub fn check_pages(&self, tree: &Tree, audit: &TreeAudit) {
        let uppers: usize = audit.levels.iter().skip(1).map(Vec::len).sum();
        assert_eq!(tree.upper_pages().unwrap(), uppers as u64);
        let mut found: Vec<PageId> = audit.pages().collect();
        found.sort_unstable();
        let mapped = mapped_pages(&self.store, tree.unit());
        assert_eq!(
            found, mapped,
            "pages of the tree, and pages that the maps give its unit"
        );
    }
}

/// Pages in use, by PFS, of the extents that the unit's IAM pages name.
pub fn mapped_pages(store: &Store, unit: &Unit) -> Vec<PageId> {
    let (mut pages, mut next) = (Vec::new(), unit.first_iam());
    while !next.is_none() {
        let iam_page = *store.read(next, LatchRank::Iam).unwrap();
        assert_eq!(Page::new(&iam_page).unit(), unit.id());
        let iam = Iam::new(&iam_page).unwrap();
        let start = iam.interval_start();
        for bit in iam.extents().iter_set(GAM_INTERVAL_EXTENTS) {
            let first = extent_at_bit(start.page, bit).first_page().0;
            let pfs_id = PageId {
                file: start.file,
                page: pfs_page_of(PageNo(first)),
            };
            let pfs_page = store.read(pfs_id, LatchRank::Pfs).unwrap();
            let pfs = Pfs::new(&pfs_page).unwrap();
            for page in (first..first + 8).map(PageNo) {
                let is_map = furrow_format::fixed_page_type(page).is_some();
                if pfs.get(pfs_index_of(page)).is_allocated() && !is_map {
                    pages.push(PageId {
                        file: start.file,
                        page,
                    });
                }
            }
        }
        next = Page::new(&iam_page).next();
    }
    pages.sort_unstable();
    pages
}

fn stand(
    volume: &MemoryVolume,
    size: Size,
    log: &Arc<Log>,
    redo_point: Lsn,
    next_txn: u64,
    background: bool,
) -> Arc<Store> {
    let instruments = Instruments::new();
    let config = PoolConfig {
        pages: size.frames,
        instruments,
        background,
        readers: if background {
            PoolConfig::default().readers
        } else {
            0
        },
        ..PoolConfig::default()
    };
    let pool = Pool::new(config).unwrap();
    let store = Store::new(DB, Arc::clone(&pool), Arc::clone(log), redo_point, next_txn).unwrap();
    for id in 1..=size.files {
        let file = volume
            .open(Path::new(&path(id)), Open::Existing, Access::Data)
            .unwrap();
        let stats = Arc::new(FileStats::new(DB.0, id, &path(id)));
        pool.add_file(
            DB,
            FileId(id),
            PoolFile {
                file,
                stats,
                double_write: None,
            },
        )
        .unwrap();
    }
    store
}

fn open_space(volume: &MemoryVolume, size: Size, store: &Arc<Store>) -> Arc<Space> {
    let files = (1..=size.files).map(|id| DataFile {
        file_id: FileId(id),
        filegroup: 1,
        name: format!("rows{id}"),
        file: volume
            .open(Path::new(&path(id)), Open::ReadOnly, Access::Data)
            .unwrap(),
        size_pages: size.file_pages,
        max_pages: None,
        growth: FileGrowth::None,
        state: FileState::Online,
    });
    let filegroup = FilegroupSpec {
        id: 1,
        name: "PRIMARY".to_owned(),
        autogrow_all: false,
        is_default: true,
    };
    let config = SpaceConfig {
        database: "rows".to_owned(),
        filegroups: vec![filegroup],
        files: files.collect(),
        options: SpaceOptions::default(),
        catalog: None,
        trace: None,
    };
    Space::open(Arc::clone(store), config).unwrap()
}

/// Undoes what belongs to one of these trees or heaps.
pub struct Structures<'a> {
    pub trees: &'a [&'a Tree],
    pub heaps: &'a [&'a Heap],
}

/// Undoes, and writes pages behind each step, as a lazy writer does.
struct Written<'a>(&'a Structures<'a>, &'a Store);

impl Undo for Written<'_> {
    fn undo(&self, txn: &ActiveTxn, next: Lsn, record: &OwnedRecord) -> Result<(), TxnError> {
        self.0.undo(txn, next, record)?;
        self.1.pool().write_oldest(DB, 64)?;
        Ok(())
    }
}

/// Undoes what belongs to one of these trees.
pub struct Trees<'a>(pub &'a [&'a Tree]);

impl Undo for Structures<'_> {
    fn undo(&self, txn: &ActiveTxn, next: Lsn, record: &OwnedRecord) -> Result<(), TxnError> {
        let (rowset, op) = UndoOp::decode(record.get().undo).unwrap();
        let by = &mut By::Undo { txn, next };
        let done = match self.trees.iter().find(|tree| tree.rowset() == rowset) {
            Some(tree) => tree.undo(by, &op),
            None => {
                let heap = self.heaps.iter().find(|heap| heap.rowset() == rowset);
                heap.unwrap().undo(by, &op)
            }
        };
        done.map_err(|e: AccessError| TxnError::Undo(e.to_string()))
    }
}

impl Undo for Trees<'_> {
    fn undo(&self, txn: &ActiveTxn, next: Lsn, record: &OwnedRecord) -> Result<(), TxnError> {
        Structures {
            trees: self.0,
            heaps: &[],
        }
        .undo(txn, next, record)
    }
}

/// Takes every live row.
pub struct Everything;

impl Visitor for Everything {
    fn all_committed(&mut self) -> bool {
        true
    }
    fn check(&mut self, _: &[u8], ghost: bool) -> RowCheck {
        if ghost {
            RowCheck::Skip
        } else {
            RowCheck::Take
        }
    }
}

/// All rows that a cursor gives.
pub fn drain(mut cursor: Cursor<'_>) -> Vec<Vec<u8>> {
    let mut rows = Vec::new();
    loop {
        match cursor.step(&mut Everything).unwrap() {
            Step::Rows => {
                while let Some(row) = cursor.next_in_batch() {
                    rows.push(row.to_vec());
                }
            }
            Step::End => return rows,
            Step::Wait(key) => panic!("unexpected wait for {key:?}"),
        }
    }
}

pub fn all_rows(tree: &Tree, direction: Direction) -> Vec<Vec<u8>> {
    drain(tree.scan(Bound::Open, Bound::Open, direction))
}

impl HeapVisitor for Everything {
    fn all_committed(&mut self) -> bool {
        true
    }
    fn check(&mut self, _: RowId, _: &[u8], ghost: bool) -> RowCheck {
        if ghost {
            RowCheck::Skip
        } else {
            RowCheck::Take
        }
    }
}

/// A heap's row: an int and bytes.
pub fn heap_shape() -> Shape {
    let specs = [
        ColumnSpec::new(1, TypeId::Int, 4, false),
        ColumnSpec::new(2, TypeId::VarBinary, 8000, true),
    ];
    Shape {
        leaf: RowLayout::new(RowForm::Heap, &specs).unwrap(),
        node: None,
        key: Vec::new(),
        unique: false,
        at_rest: false,
    }
}

pub fn heap_row(payload: &[u8]) -> Vec<u8> {
    let mut row = Vec::new();
    let number = (payload.len() as i32).to_le_bytes();
    heap_shape()
        .leaf
        .encode(&[Some(&number), Some(payload)], &mut row)
        .unwrap();
    row
}

/// All rows of a heap by address, each met once, as they were given.
pub fn all_heap_rows(heap: &Heap) -> BTreeMap<RowId, Vec<u8>> {
    let mut rows = BTreeMap::new();
    let mut cursor = heap.scan().unwrap().with_read_ahead();
    while cursor.step(&mut Everything).unwrap() == HeapStep::Rows {
        while let Some((rid, row)) = cursor.next_in_batch() {
            let row = crate::heap_model::at_home(heap, row);
            assert_eq!(rows.insert(rid, row), None, "{rid} was met twice");
        }
    }
    rows
}
