//! Copies rows from an old definition of a table to a new one, and into new indexes.
//!
//! No other session sees the new rowsets, and a rollback drops their units as a whole. So no row is undone
//! by itself, and rows are inserted a page at a time, sorted run by run.

use crate::catalog::Changed;
use crate::error::EngineError;
use crate::schema::DefaultValue;
use crate::session::Session;
use crate::table::{Column, Index, IndexKind, RowBuffer, Table, each_row, null_error};
use furrow_access::{AccessError, By, Key, RowBatch};
use furrow_types::{Value, decode};
use std::sync::Arc;

/// What a new column gets in the rows that there are.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum NewValues {
    /// NULL.
    #[default]
    Null,
    /// This value.
    Value(Value),
    /// The column's default: a new one for each row where it is `newid()`.
    Default,
}

/// Bytes of rows that are sorted in memory at a time, where there is memory for them.
const SORT_BYTES: usize = 64 << 20;
/// The same where there is little.
const LEAST_SORT_BYTES: usize = 1 << 20;
/// The rows that are sorted at a time take at most one part in so many of the memory that is left to the
/// process.
const SORT_PART: u64 = 4;
/// What a row takes in a run besides its bytes: its place in the list, which doubles when it is full, and
/// what the allocator adds.
const ROW_BYTES: usize = 3 * size_of::<(Key, Vec<u8>)>() + 32;
/// Bytes of rows that are put in an index at a time.
const BATCH_BYTES: usize = 256 << 10;

/// Where the values of a new definition's column come from.
pub(super) enum Source {
    /// The same column before.
    Old(usize),
    /// A column before, through `convert`.
    Converted(usize),
    /// One value for all rows.
    Constant(Value),
    /// The column's default, row by row.
    Default(DefaultValue),
    /// The next identity value.
    Identity,
}

/// Makes a value of a column's new type.
pub(super) type Convert<'a> = &'a mut dyn FnMut(Value) -> Result<Value, EngineError>;

/// Rows that are gathered to be sorted.
struct Run {
    rows: Vec<(Key, Vec<u8>)>,
    size_bytes: usize,
    most_bytes: usize,
    written: i64,
    /// Whether rows went in before those of this run.
    later: bool,
}

impl Run {
    fn new() -> Run {
        let left = furrow_io::host::memory_left_bytes().map_or(u64::MAX, |left| left / SORT_PART);
        let left = usize::try_from(left).unwrap_or(usize::MAX);
        Run {
            rows: Vec::new(),
            size_bytes: 0,
            most_bytes: left.clamp(LEAST_SORT_BYTES, SORT_BYTES),
            written: 0,
            later: false,
        }
    }

    /// Adds a row; `true` where the run is to be written.
    fn push(&mut self, key: Key, row: Vec<u8>) -> bool {
        self.size_bytes += ROW_BYTES + key.size_bytes() + row.len();
        self.rows.push((key, row));
        self.size_bytes > self.most_bytes
    }
}

impl Session {
    /// Copies the rows of `before`, or fills the indexes that it does not have.
    pub(super) fn finish(
        &mut self,
        before: &Arc<Table>,
        changed: Changed,
        sources: &[Source],
        convert: Convert<'_>,
    ) -> Result<Arc<Table>, EngineError> {
        let table = changed.table;
        if changed.rewritten {
            self.copy_rows(before, &table, sources, convert)?;
        }
        for index in table.indexes.iter().filter(|i| !i.is_base()) {
            let there = |i: &Index| i.rowset.id() == index.rowset.id();
            if !before.indexes.iter().any(there) {
                self.fill_index(&table, index)?;
            }
        }
        Ok(table)
    }

    /// The same where all columns stay as they are.
    pub(super) fn finish_alike(
        &mut self,
        before: &Arc<Table>,
        changed: Changed,
    ) -> Result<Arc<Table>, EngineError> {
        let sources: Vec<Source> = (0..before.columns.len()).map(Source::Old).collect();
        self.finish(before, changed, &sources, &mut Ok)
    }

    fn copy_rows(
        &mut self,
        before: &Arc<Table>,
        table: &Arc<Table>,
        sources: &[Source],
        convert: Convert<'_>,
    ) -> Result<(), EngineError> {
        let (mut old, mut new) = (RowBuffer::default(), RowBuffer::default());
        let base = table.base();
        let mut run = Run::new();
        each_row(&before.base().rowset, &mut |row, rid| {
            old.load(before, before.base(), row, rid)?;
            new.clear(table);
            for (at, source) in sources.iter().enumerate() {
                self.fill_column(table, (at, source), (before, &old), &mut new, convert)?;
            }
            let mut encoded = Vec::new();
            new.encode_row(base, &mut encoded)?;
            if let Some(heap) = base.rowset.heap() {
                heap.insert(&mut By::System, &encoded, &mut |_| true)?;
                run.written += 1;
                return Ok(());
            }
            if run.push(new.key(base)?, encoded) {
                self.write_run(table, base, &mut run)?;
            }
            Ok(())
        })?;
        if base.kind != IndexKind::Heap {
            self.write_run(table, base, &mut run)?;
        }
        self.count_copied(base, run.written);
        Ok(())
    }

    fn fill_column(
        &mut self,
        table: &Arc<Table>,
        (at, source): (usize, &Source),
        (before, old): (&Table, &RowBuffer),
        new: &mut RowBuffer,
        convert: Convert<'_>,
    ) -> Result<(), EngineError> {
        match source {
            Source::Old(from) => new.set_bytes(at, old.get(*from)),
            Source::Converted(from) => {
                let of = before.columns.get(*from).map(|c| c.data_type);
                if let (Some(bytes), Some(data_type)) = (old.get(*from), of) {
                    let bad = |_| EngineError::Damaged("a value cannot be read".to_owned());
                    let value = decode(&data_type, bytes).map_err(bad)?;
                    new.set(table, at, &convert(value)?)?;
                }
            }
            Source::Constant(value) => new.set(table, at, value)?,
            Source::Default(default) => new.set(table, at, &default.value())?,
            Source::Identity => {
                self.fill_identity(table, new)?;
            }
        }
        match table.columns.get(at) {
            Some(column) if !column.nullable && new.get(at).is_none() => {
                Err(null_error(table, column, "UPDATE"))
            }
            _ => Ok(()),
        }
    }

    /// Fills a new index.
    pub(super) fn fill_index(
        &mut self,
        table: &Arc<Table>,
        index: &Index,
    ) -> Result<(), EngineError> {
        let base = table.base();
        let mut run = Run::new();
        let mut buffer = RowBuffer::default();
        each_row(&base.rowset, &mut |row, rid| {
            buffer.load(table, base, row, rid)?;
            let mut encoded = Vec::new();
            buffer.encode_row(index, &mut encoded)?;
            if run.push(buffer.key(index)?, encoded) {
                self.write_run(table, index, &mut run)?;
            }
            Ok(())
        })?;
        self.write_run(table, index, &mut run)?;
        self.count_copied(index, run.written);
        Ok(())
    }

    fn count_copied(&mut self, index: &Index, rows: i64) {
        if let Some(txn) = &mut self.txn {
            index.rowset.count(&mut By::Txn(txn), rows);
        }
    }

    /// Puts rows in an index that no other session sees yet, in key order; each run is appended behind the
    /// last row as far as it belongs there.
    fn write_run(
        &mut self,
        table: &Table,
        index: &Index,
        run: &mut Run,
    ) -> Result<(), EngineError> {
        let tree = index.tree()?;
        run.rows
            .sort_unstable_by(|a, b| tree.shape().compare_keys(&a.0, &b.0));
        if index.uniquifier {
            self.number_run(table, index, run)?;
        }
        run.written += run.rows.len() as i64;
        run.size_bytes = 0;
        run.later = true;
        let mut batch = RowBatch::new();
        let mut rows = run.rows.drain(..).peekable();
        let mut keys = Vec::new();
        while rows.peek().is_some() {
            EngineError::check_cancelled()?;
            batch.clear();
            keys.clear();
            while batch.size_bytes() < BATCH_BYTES
                && let Some((key, row)) = rows.next()
            {
                batch.push(&row)?;
                keys.push(key);
            }
            let appended = tree.append_batch(&mut By::System, &batch)?;
            for (key, row) in keys.iter().zip(batch.iter()).skip(appended) {
                match tree.insert(&mut By::System, key, row) {
                    Err(AccessError::DuplicateKey { .. }) => {
                        return Err(duplicate(table, index, key));
                    }
                    other => other?,
                }
            }
        }
        Ok(())
    }

    /// Numbers the rows of a clustered index whose key is not unique: rows with the same key from 0, or, if
    /// the index has rows with that key already, from the next number.
    fn number_run(&self, table: &Table, index: &Index, run: &mut Run) -> Result<(), EngineError> {
        let tree = index.tree()?;
        let shape = tree.shape();
        let mut buffer = RowBuffer::default();
        let mut before: Option<Key> = None;
        let mut number = 0;
        for (key, row) in &mut run.rows {
            let same = |before: &Key| shape.have_same_values(before, key);
            let same = before.as_ref().is_some_and(same);
            before = Some(key.clone());
            if same {
                number += 1;
            } else if run.later {
                buffer.load(table, index, row, None)?;
                self.number_row(table, &mut buffer)?;
                number = i32::from_le_bytes(buffer.uniquifier) * i32::from(buffer.numbered);
            } else {
                number = 0;
            }
            if number != 0 {
                buffer.load(table, index, row, None)?;
                buffer.set_uniquifier(number);
                row.clear();
                buffer.encode_row(index, row)?;
                *key = buffer.key(index)?;
            }
        }
        Ok(())
    }
}

/// 1505.
fn duplicate(table: &Table, index: &Index, key: &Key) -> EngineError {
    let shown = crate::table::printed_key(index, table, key);
    let text = format!(
        "The CREATE UNIQUE INDEX statement terminated because a duplicate key was found for the object \
        name '{}' and the index name '{}'. The duplicate key value is {shown}.",
        table.full_name(),
        index.name()
    );
    crate::error::refuse(1505, 16, 1, &text)
}

/// What a column that is added gets in the rows that there are.
pub(super) fn source_of(column: &Column, values: &NewValues) -> Source {
    match (values, &column.default) {
        _ if column.identity => Source::Identity,
        (NewValues::Value(value), _) => Source::Constant(value.clone()),
        (NewValues::Default, Some(default)) => Source::Default(default.clone()),
        _ => Source::Constant(Value::Null),
    }
}
