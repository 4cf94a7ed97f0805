//! The toy: all in memory, a log of whole transactions, two snapshots in turn, and bugs to order.

use furrow_io::{Access, File, Fill, IoError, Open, Volume, read_around};
use furrow_soak::model::{Cell, Content, State};
use furrow_soak::rows::Kind;
use furrow_soak::subject::{Failure, Layout, Session, Store, Subject};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

const LOG_BYTES: u64 = 8 << 20;
const SECTOR: usize = 512;

/// What the toy does wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bug {
    None,
    /// A commit is acknowledged before its record is durable.
    NotDurable,
    /// A torn record is accepted.
    NoChecksum,
    /// A checkpoint reuses the log before its snapshot is durable.
    EarlyReuse,
    /// A checkpoint keeps what was not committed.
    DirtySnapshot,
    /// Effects are logged one by one, without a mark where a transaction ends.
    NoCommitMark,
    /// A statement refused for its twin leaves its row.
    HalfStatement,
    /// A return to a savepoint leaves out one effect.
    LostUndo,
    /// A delete takes no lock.
    NoLock,
    /// Adding a file answers before it is logged.
    EarlyFile,
    /// A dropped table leaves its last row.
    LeftRow,
    /// Recovery reads a record too few.
    ShortReplay,
}

impl Bug {
    pub(crate) const ALL: [Bug; 11] = [
        Bug::NotDurable,
        Bug::NoChecksum,
        Bug::EarlyReuse,
        Bug::DirtySnapshot,
        Bug::NoCommitMark,
        Bug::HalfStatement,
        Bug::LostUndo,
        Bug::NoLock,
        Bug::EarlyFile,
        Bug::LeftRow,
        Bug::ShortReplay,
    ];
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Toy {
    pub(crate) bug: Bug,
}

struct Inner {
    bug: Bug,
    cells: State,
    /// The committed state, without transactions in progress.
    committed: State,
    locks: BTreeMap<Cell, u64>,
    log: Arc<dyn File>,
    slots: [Arc<dyn File>; 2],
    epoch: u64,
    end: u64,
    sessions: u64,
}

pub(crate) struct ToyStore(Arc<Mutex<Inner>>);

pub(crate) struct ToySession {
    store: Arc<Mutex<Inner>>,
    id: u64,
    undo: Vec<(Cell, Content)>,
    saves: Vec<usize>,
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn gone(e: IoError) -> Failure {
    Failure::Gone(e.to_string())
}

/// A cell in a file: wide, so that transactions take several sectors.
const CELL: usize = 96;

/// Epoch, length, checksum, then cells.
fn encode(epoch: u64, effects: &[(Cell, Content)]) -> Vec<u8> {
    let mut body = Vec::new();
    for (cell, content) in effects {
        let (kind, key) = match *cell {
            Cell::File(n) => (u64::from(n), 0),
            Cell::Table(n) => (1 << 16 | u64::from(n), 0),
            Cell::Row(n, key) => (2 << 16 | u64::from(n), key),
        };
        body.extend(kind.to_le_bytes());
        body.extend(key.to_le_bytes());
        body.extend(content.unwrap_or(0).to_le_bytes());
        body.resize(body.len().next_multiple_of(CELL), 0);
    }
    let mut bytes = Vec::new();
    bytes.extend(epoch.to_le_bytes());
    bytes.extend((effects.len() as u64).to_le_bytes());
    bytes.extend(sum(epoch, &body).to_le_bytes());
    bytes.extend(body);
    bytes.resize(bytes.len().next_multiple_of(SECTOR), 0);
    bytes
}

fn sum(epoch: u64, body: &[u8]) -> u64 {
    let step = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x100_0000_01B3);
    body.iter().fold(epoch ^ 0xCBF2_9CE4_8422_2325, step)
}

fn word(bytes: &[u8], at: usize) -> u64 {
    (0..8)
        .rev()
        .fold(0, |word, n| word << 8 | u64::from(bytes[at + n]))
}

/// Epoch, effects, bytes.
type Decoded = (u64, Vec<(Cell, Content)>, u64);

/// The effects at a place of a file, and the bytes that they take.
fn decode(file: &dyn File, at: u64, bug: Bug) -> Result<Option<Decoded>, Failure> {
    let len = file.len_bytes().map_err(gone)?;
    if at + SECTOR as u64 > len {
        return Ok(None);
    }
    let mut head = vec![0; SECTOR];
    // What the power loss left unreadable reads as zeros, which no checksum lets pass.
    read_around(file, at, &mut head).map_err(gone)?;
    let (epoch, count) = (word(&head, 0), word(&head, 8));
    let bytes = (24 + count.min(1 << 20) * CELL as u64).next_multiple_of(SECTOR as u64);
    if epoch == 0 || count > 1 << 20 || at + bytes > len {
        return Ok(None);
    }
    let mut all = vec![0; bytes as usize];
    read_around(file, at, &mut all).map_err(gone)?;
    let body = &all[24..24 + count as usize * CELL];
    if bug != Bug::NoChecksum && sum(epoch, body) != word(&all, 16) {
        return Ok(None);
    }
    let effects = body.chunks(CELL).map(|cell| {
        let (kind, key, version) = (word(cell, 0), word(cell, 8) as i64, word(cell, 16));
        let n = kind as u16;
        let cell = match kind >> 16 {
            0 => Cell::File(n),
            1 => Cell::Table(n),
            _ => Cell::Row(n, key),
        };
        (cell, (version != 0).then_some(version))
    });
    Ok(Some((epoch, effects.collect(), bytes)))
}

fn put(state: &mut State, cell: Cell, content: Content) -> Content {
    match content {
        Some(version) => state.insert(cell, version),
        None => state.remove(&cell),
    }
}

impl Inner {
    fn open(volume: &dyn Volume, how: Open, bug: Bug) -> Result<Inner, Failure> {
        let open = |name, kind| volume.open(Path::new(name), how, kind).map_err(gone);
        let log = open("log", Access::Log)?;
        if how == Open::Create {
            log.resize(LOG_BYTES, Fill::Zero).map_err(gone)?;
        }
        Ok(Inner {
            bug,
            cells: State::new(),
            committed: State::new(),
            locks: BTreeMap::new(),
            log,
            slots: [open("slot0", Access::Data)?, open("slot1", Access::Data)?],
            epoch: 1,
            end: 0,
            sessions: 0,
        })
    }

    fn recover(&mut self) -> Result<(), Failure> {
        for slot in &self.slots {
            if let Some((epoch, cells, _)) = decode(&**slot, 0, self.bug)?
                && epoch > self.epoch
            {
                self.epoch = epoch;
                let there = cells.into_iter();
                self.committed = there.filter_map(|(c, v)| Some((c, v?))).collect();
            }
        }
        let mut records = Vec::new();
        while let Some((epoch, effects, bytes)) = decode(&*self.log, self.end, self.bug)? {
            if epoch != self.epoch {
                break;
            }
            self.end += bytes;
            records.push(effects);
        }
        if self.bug == Bug::ShortReplay {
            records.pop();
        }
        for (cell, content) in records.into_iter().flatten() {
            put(&mut self.committed, cell, content);
        }
        self.cells = self.committed.clone();
        Ok(())
    }

    fn log(&mut self, effects: &[(Cell, Content)]) -> Result<(), Failure> {
        let bytes = if self.bug == Bug::NoCommitMark {
            effects
                .iter()
                .flat_map(|effect| encode(self.epoch, &[*effect]))
                .collect()
        } else {
            encode(self.epoch, effects)
        };
        let at = self.end;
        self.end += bytes.len() as u64;
        let done = match self.bug {
            Bug::NotDurable => self.log.write_at(at, &bytes),
            _ => self.log.write_durable_at(at, &bytes),
        };
        done.map_err(gone)
    }

    fn checkpoint(&mut self) -> Result<(), Failure> {
        let dirty = self.bug == Bug::DirtySnapshot;
        let state = if dirty { &self.cells } else { &self.committed };
        let cells: Vec<(Cell, Content)> = state.iter().map(|(c, v)| (*c, Some(*v))).collect();
        let bytes = encode(self.epoch + 1, &cells);
        let slot = &self.slots[(self.epoch % 2) as usize];
        slot.resize(
            slot.len_bytes().map_err(gone)?.max(bytes.len() as u64),
            Fill::Zero,
        )
        .and_then(|()| slot.write_at(0, &bytes))
        .map_err(gone)?;
        if self.bug != Bug::EarlyReuse {
            slot.sync().map_err(gone)?;
        }
        self.epoch += 1;
        self.end = 0;
        Ok(())
    }
}

impl Subject for Toy {
    type Store = ToyStore;

    fn create(&self, volume: Arc<dyn Volume>, _: &Layout) -> Result<ToyStore, Failure> {
        Ok(ToyStore(Arc::new(Mutex::new(Inner::open(
            &*volume,
            Open::Create,
            self.bug,
        )?))))
    }

    fn open(&self, volume: Arc<dyn Volume>, _: &Layout) -> Result<ToyStore, Failure> {
        let mut inner = Inner::open(&*volume, Open::Existing, self.bug)?;
        inner.recover()?;
        inner.checkpoint()?;
        Ok(ToyStore(Arc::new(Mutex::new(inner))))
    }
}

impl Store for ToyStore {
    type Session = ToySession;

    fn session(&self) -> Result<ToySession, Failure> {
        let mut inner = self.0.lock();
        inner.sessions += 1;
        let (store, id) = (Arc::clone(&self.0), inner.sessions);
        Ok(ToySession {
            store,
            id,
            undo: Vec::new(),
            saves: Vec::new(),
        })
    }

    fn checkpoint(&self) -> Result<(), Failure> {
        self.0.lock().checkpoint()
    }

    fn clean(&self) -> Result<(), Failure> {
        Ok(())
    }

    fn add_file(&self, number: u16) -> Result<(), Failure> {
        let mut inner = self.0.lock();
        let effect = (Cell::File(number), Some(u64::from(number)));
        put(&mut inner.cells, effect.0, effect.1);
        put(&mut inner.committed, effect.0, effect.1);
        if inner.bug == Bug::EarlyFile {
            Ok(())
        } else {
            inner.log(&[effect])
        }
    }

    fn read_all(&self) -> Result<State, Failure> {
        Ok(self.0.lock().cells.clone())
    }

    fn audit(&self) -> Result<(), Failure> {
        let inner = self.0.lock();
        let same = inner.cells == inner.committed || !inner.locks.is_empty();
        if same {
            Ok(())
        } else {
            Err(Failure::Wrong("cells differ".to_owned()))
        }
    }

    fn abandon(self) {}

    fn close(self) -> Result<(), Failure> {
        self.checkpoint()
    }
}

impl ToySession {
    /// Runs a statement: all of the effects that `decide` returns, with locks on them.
    fn statement(
        &mut self,
        table: u16,
        cell: Cell,
        decide: impl FnOnce(&Inner) -> Result<Vec<(Cell, Content)>, Failure>,
    ) -> Result<(), Failure> {
        let store = Arc::clone(&self.store);
        let mut inner = store.lock();
        let foreign = |c: &Cell| inner.locks.get(c).is_some_and(|owner| *owner != self.id);
        if foreign(&Cell::Table(table)) || foreign(&cell) {
            return Err(Failure::Locked);
        }
        let effects = decide(&inner)?;
        if effects.iter().any(|(c, _)| foreign(c)) {
            return Err(Failure::Locked);
        }
        for (cell, content) in effects {
            let before = put(&mut inner.cells, cell, content);
            if !(inner.bug == Bug::NoLock && content.is_none()) {
                inner.locks.insert(cell, self.id);
            }
            self.undo.push((cell, before));
        }
        Ok(())
    }

    fn undo_to(&mut self, len: usize) {
        let mut inner = self.store.lock();
        while self.undo.len() > len {
            let Some((cell, before)) = self.undo.pop() else {
                return;
            };
            let forgets = inner.bug == Bug::LostUndo && self.undo.len() == len && len > 0;
            if !forgets {
                put(&mut inner.cells, cell, before);
            }
        }
    }

    fn release(&mut self) {
        self.undo.clear();
        self.saves.clear();
        self.store.lock().locks.retain(|_, owner| *owner != self.id);
    }
}

fn rows(inner: &Inner, table: u16) -> impl Iterator<Item = (Cell, u64)> + '_ {
    let all = Cell::Row(table, i64::MIN)..=Cell::Row(table, i64::MAX);
    inner
        .cells
        .range(all)
        .map(|(cell, version)| (*cell, *version))
}

/// Fails with `Missing` unless the table is there, and the row as wanted.
fn demand(inner: &Inner, table: u16, row: Option<Cell>) -> Result<(), Failure> {
    let there = |cell| inner.cells.contains_key(&cell);
    let all = there(Cell::Table(table)) && row.is_none_or(there);
    if all { Ok(()) } else { Err(Failure::Missing) }
}

impl Session for ToySession {
    fn begin(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    fn insert(&mut self, table: u16, key: i64, version: u64) -> Result<(), Failure> {
        let row = Cell::Row(table, key);
        let mut refused = None;
        self.statement(table, row, |inner| {
            demand(inner, table, None)?;
            if inner.cells.contains_key(&row) {
                return Err(Failure::Duplicate);
            }
            if Kind::of(table).has_unique_twin() && rows(inner, table).any(|(_, v)| v == version) {
                if inner.bug != Bug::HalfStatement {
                    return Err(Failure::Duplicate);
                }
                refused = Some(Failure::Duplicate);
            }
            Ok(vec![(row, Some(version))])
        })?;
        refused.map_or(Ok(()), Err)
    }

    fn load(&mut self, table: u16, rows: &[(i64, u64)]) -> Result<(), Failure> {
        let mark = self.undo.len();
        for &(key, version) in rows {
            if let Err(failure) = self.insert(table, key, version) {
                self.undo_to(mark);
                return Err(failure);
            }
        }
        Ok(())
    }

    fn update(&mut self, table: u16, key: i64, version: u64) -> Result<(), Failure> {
        let row = Cell::Row(table, key);
        self.statement(table, row, |inner| {
            demand(inner, table, Some(row))?;
            Ok(vec![(row, Some(version))])
        })
    }

    fn delete(&mut self, table: u16, key: i64) -> Result<(), Failure> {
        let row = Cell::Row(table, key);
        self.statement(table, row, |inner| {
            demand(inner, table, Some(row))?;
            Ok(vec![(row, None)])
        })
    }

    fn get(&mut self, table: u16, key: i64) -> Result<Option<u64>, Failure> {
        let row = Cell::Row(table, key);
        let mut found = None;
        self.statement(table, row, |inner| {
            demand(inner, table, None)?;
            found = inner.cells.get(&row).copied();
            Ok(Vec::new())
        })?;
        Ok(found)
    }

    fn create_table(&mut self, table: u16, version: u64) -> Result<(), Failure> {
        let cell = Cell::Table(table);
        self.statement(table, cell, |inner| match inner.cells.contains_key(&cell) {
            true => Err(Failure::Duplicate),
            false => Ok(vec![(cell, Some(version))]),
        })
    }

    fn drop_table(&mut self, table: u16) -> Result<(), Failure> {
        let cell = Cell::Table(table);
        self.statement(table, cell, |inner| {
            demand(inner, table, None)?;
            // Rows that others have deleted are not there any more, but locked.
            let all = Cell::Row(table, i64::MIN)..=Cell::Row(table, i64::MAX);
            let locked = inner.locks.range(all).map(|(cell, _)| *cell);
            let mut gone: Vec<Cell> = rows(inner, table).map(|(cell, _)| cell).collect();
            if inner.bug == Bug::LeftRow {
                gone.pop();
            }
            gone.extend(locked.filter(|c| !inner.cells.contains_key(c)));
            gone.push(cell);
            Ok(gone.into_iter().map(|cell| (cell, None)).collect())
        })
    }

    fn save(&mut self, number: usize) -> Result<(), Failure> {
        self.saves.truncate(number);
        self.saves.push(self.undo.len());
        Ok(())
    }

    fn rollback_to(&mut self, number: usize) -> Result<(), Failure> {
        self.undo_to(self.saves[number]);
        self.saves.truncate(number + 1);
        Ok(())
    }

    fn commit(&mut self) -> Result<(), Failure> {
        let store = Arc::clone(&self.store);
        let mut inner = store.lock();
        let changed: BTreeMap<Cell, Content> = self
            .undo
            .iter()
            .map(|(c, _)| (*c, inner.cells.get(c).copied()))
            .collect();
        let effects: Vec<(Cell, Content)> = changed.into_iter().collect();
        if !effects.is_empty() {
            inner.log(&effects)?;
        }
        for (cell, content) in effects {
            put(&mut inner.committed, cell, content);
        }
        drop(inner);
        self.release();
        Ok(())
    }

    fn rollback(&mut self) -> Result<(), Failure> {
        self.undo_to(0);
        self.release();
        Ok(())
    }
}
