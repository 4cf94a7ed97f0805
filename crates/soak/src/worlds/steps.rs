//! The steps that worlds consist of.

use crate::rows::Row;
use crate::subject::Layout;
use std::fmt;

/// How long the text of a row is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// Below 200 bytes.
    Small,
    /// 200 to 1,500: a handful a page.
    Middle,
    /// 1,500 to 4,000: two to five a page.
    Long,
    /// More: one a page.
    Huge,
}

impl Size {
    fn holds(self, bytes: usize) -> bool {
        match self {
            Size::Small => bytes < 200,
            Size::Middle => (200..1_500).contains(&bytes),
            Size::Long => (1_500..4_000).contains(&bytes),
            Size::Huge => bytes >= 4_000,
        }
    }
}

/// One step. The first number of a session's steps identifies the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// A transaction begins.
    Begin(usize),
    /// It commits.
    Commit(usize),
    /// It is rolled back.
    Rollback(usize),
    /// It sets the savepoint of this number.
    Save(usize, usize),
    /// It goes back there.
    Return(usize, usize),
    /// A row comes: table, key, version.
    Insert(usize, u16, i64, u64),
    /// A row changes.
    Update(usize, u16, i64, u64),
    /// A row goes.
    Delete(usize, u16, i64),
    /// Rows are loaded in bulk: table, first key, first version, how many; keys and versions ascend.
    Load(usize, u16, i64, u64, u64),
    /// A table is created.
    CreateTable(usize, u16, u64),
    /// A table goes with its rows.
    DropTable(usize, u16),
    /// A checkpoint.
    Checkpoint,
    /// A checkpoint; while it waits for the sync of a data file, another session puts in a row (table, key,
    /// version) and commits. Where the syncs are not watched, the row comes after it.
    CheckpointAmid(u16, i64, u64),
    /// Ghosts are cleaned away.
    Clean,
    /// A data file comes.
    AddFile(u16),
    /// Everything is moved out of it, and it goes.
    RemoveFile(u16),
    /// The file `data1` grows by so many KB.
    Enlarge(u64),
    /// It shrinks to so many KB, if that is possible.
    Shrink(u64),
    /// So is the log.
    ShrinkLog(u64),
    /// An index is built on a table with rows.
    BuildIndex(u16),
    /// It goes.
    DropIndex(u16),
    /// A table is rebuilt.
    Rebuild(u16),
    /// The database is shut down and opened.
    Reopen,
    /// It is detached and attached.
    MoveHouse,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

/// A world.
#[derive(Debug, Clone)]
pub struct World {
    /// What it is about.
    pub name: &'static str,
    /// How the database is laid out.
    pub layout: Layout,
    /// The steps that come before, and never fail.
    pub before: Vec<Step>,
    /// The steps under test.
    pub steps: Vec<Step>,
}

/// Writes steps down; gives out versions.
#[derive(Debug)]
pub(super) struct Script {
    steps: Vec<Step>,
    version: u64,
    before: Option<Vec<Step>>,
}

impl Script {
    pub(super) fn new() -> Script {
        Script {
            steps: Vec::new(),
            version: 0,
            before: None,
        }
    }

    /// What was written so far is done beforehand.
    pub(super) fn then(mut self) -> Script {
        self.before = Some(std::mem::take(&mut self.steps));
        self
    }

    pub(super) fn world(self, name: &'static str, layout: Layout) -> World {
        World {
            name,
            layout,
            before: self.before.unwrap_or_default(),
            steps: self.steps,
        }
    }

    fn version(&mut self, size: Size) -> u64 {
        loop {
            self.version += 1;
            let text = Row::new(0, self.version).text.map_or(0, |text| text.len());
            if size.holds(text) {
                return self.version;
            }
        }
    }

    pub(super) fn step(mut self, step: Step) -> Script {
        self.steps.push(step);
        self
    }

    /// A table, created in a transaction of its own.
    pub(super) fn table(mut self, table: u16) -> Script {
        self.version += 1;
        let made = Step::CreateTable(0, table, self.version);
        self.steps.extend([Step::Begin(0), made, Step::Commit(0)]);
        self
    }

    /// Makes a table as part of a session's transaction.
    pub(super) fn make(mut self, who: usize, table: u16) -> Script {
        self.version += 1;
        self.steps.push(Step::CreateTable(who, table, self.version));
        self
    }

    pub(super) fn put(
        mut self,
        (who, table): (usize, u16),
        keys: impl IntoIterator<Item = i64>,
        size: Size,
    ) -> Script {
        for key in keys {
            let version = self.version(size);
            self.steps.push(Step::Insert(who, table, key, version));
        }
        self
    }

    /// A bulk load of rows of all sizes.
    pub(super) fn load(
        mut self,
        (who, table): (usize, u16),
        keys: std::ops::RangeInclusive<i64>,
    ) -> Script {
        let count = keys.clone().count() as u64;
        let load = Step::Load(who, table, *keys.start(), self.version + 1, count);
        self.version += count;
        self.steps.push(load);
        self
    }

    /// A checkpoint with a row put in while it is taken.
    pub(super) fn checkpoint_amid(mut self, table: u16, key: i64, size: Size) -> Script {
        let version = self.version(size);
        self.steps.push(Step::CheckpointAmid(table, key, version));
        self
    }

    pub(super) fn change(
        mut self,
        (who, table): (usize, u16),
        keys: impl IntoIterator<Item = i64>,
        size: Size,
    ) -> Script {
        for key in keys {
            let version = self.version(size);
            self.steps.push(Step::Update(who, table, key, version));
        }
        self
    }

    pub(super) fn delete(
        mut self,
        (who, table): (usize, u16),
        keys: impl IntoIterator<Item = i64>,
    ) -> Script {
        let gone = keys.into_iter().map(|key| Step::Delete(who, table, key));
        self.steps.extend(gone);
        self
    }

    /// A transaction of session 0 around what `body` writes.
    pub(super) fn committed(self, body: impl FnOnce(Script) -> Script) -> Script {
        body(self.step(Step::Begin(0))).step(Step::Commit(0))
    }
}
