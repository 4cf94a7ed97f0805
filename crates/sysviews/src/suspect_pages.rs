//! `msdb.dbo.suspect_pages`: its rows, together with what is noted and not yet written there.
//!
//! Reads, checks, repairs and restores note what happens to pages (`furrow_observe::suspects`).
//! [`write`] brings the notes into the table. The view `sys.dm_db_suspect_pages` shows the table as it will
//! be then, so that there is one list. Without `msdb` the notes alone are the list.

use crate::value::datetime;
use furrow_engine::{Database, EngineError, Instance, Isolation, LockHints, ReadLock};
use furrow_engine::{ScanSpec, Session, Table, Timeout};
use furrow_io::time::WallTime;
use furrow_observe::suspects::{MOST_ROWS, Note, RowState, Subject, SuspectPages};
use furrow_observe::task;
use furrow_types::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The table, in `msdb`.
const TABLE: &str = "suspect_pages";
const COLUMNS: [&str; 6] = [
    "database_id",
    "file_id",
    "page_id",
    "event_type",
    "error_count",
    "last_update_date",
];

/// Database, file and page of a row: a user can have written any number.
pub(crate) type Key = (i64, i64, i64);

/// What a row says of its page.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    pub(crate) state: RowState,
    pub(crate) last: Value,
}

type Rows = BTreeMap<Key, Row>;

/// The table, if this is it.
fn table_of(session: &Session) -> Option<Arc<Table>> {
    let table = session.table(TABLE).ok()?;
    let names = table.columns().iter().map(|column| &*column.name);
    names.eq(COLUMNS).then_some(table)
}

fn read(session: &mut Session, table: &Arc<Table>, hints: LockHints) -> Result<Rows, EngineError> {
    session.hinted(hints, |session| {
        let mut rows = Rows::new();
        let scan = session.scan(table, &ScanSpec::default())?;
        scan.for_each(|row| {
            let number = |column: usize| Ok::<_, EngineError>(row.value(column)?.as_i64());
            let short = |number: Option<i64>| i32::try_from(number.unwrap_or(0)).unwrap_or(0);
            let (event, count) = (short(number(3)?), short(number(4)?));
            let key = (number(0)?, number(1)?, number(2)?);
            if let (Some(database), Some(file), Some(page)) = key {
                let state = RowState { event, count };
                let last = row.value(5)?;
                rows.insert((database, file, page), Row { state, last });
            }
            Ok(())
        })?;
        Ok(rows)
    })
}

fn apply(rows: &mut Rows, notes: &[Note]) {
    for note in notes {
        let keys: Vec<Key> = match note.subject {
            Subject::Page((database, file, page), _) => {
                vec![(database.into(), file.into(), page.into())]
            }
            Subject::Restored(database, file) => {
                let of_file = |key: &&Key| (key.0, key.1) == (database.into(), file.into());
                rows.keys().filter(of_file).copied().collect()
            }
            Subject::Dropped(database) => {
                let of_database = |key: &&Key| key.0 == i64::from(database);
                rows.keys().filter(of_database).copied().collect()
            }
        };
        for key in keys {
            let before = rows.get(&key).map(|row| row.state);
            match SuspectPages::fold(before, note) {
                Some(state) if before.is_some() || rows.len() < MOST_ROWS => {
                    let last = stamp(note.last);
                    rows.insert(key, Row { state, last });
                }
                Some(_) => {}
                None => {
                    rows.remove(&key);
                }
            }
        }
    }
}

fn stamp(time: WallTime) -> Value {
    datetime(time)
}

/// The rows of the table as they are once the notes are written.
pub(crate) fn list(instance: &Arc<Instance>) -> Result<Rows, EngineError> {
    let suspects = &instance.instruments().suspects;
    // Nothing is in the table and among the notes at once.
    let _turn = suspects.turn();
    let hints = LockHints {
        isolation: Some(Isolation::ReadUncommitted),
        no_wait: true,
        ..LockHints::default()
    };
    let in_table = instance.database("msdb").and_then(|msdb| {
        let mut session = Session::of_task(&msdb, &task::current())?;
        match table_of(&session) {
            Some(table) => read(&mut session, &table, hints),
            None => Ok(Rows::new()),
        }
    });
    let mut rows = match in_table {
        Err(error) if error.is_cancelled() => return Err(error),
        // A damaged msdb, or none: the notes are still there.
        Err(_) => Rows::new(),
        Ok(rows) => rows,
    };
    apply(&mut rows, &suspects.list());
    Ok(rows)
}

/// Writes the notes to the table in a transaction of their own. No lock is waited for: 1222 where one is
/// held, and the notes stay.
pub fn write(msdb: &Arc<Database>, suspects: &SuspectPages) -> Result<(), EngineError> {
    let Some(_turn) = suspects.try_turn() else {
        return Ok(());
    };
    let notes = suspects.list();
    if notes.is_empty() {
        return Ok(());
    }
    let mut session = Session::of_task(msdb, &task::current())?;
    let Some(table) = table_of(&session) else {
        return Err(EngineError::refused(
            208,
            &["msdb.dbo.suspect_pages".into()],
        ));
    };
    session.set_lock_timeout(Timeout::Millis(0));
    session.begin()?;
    let hints = LockHints {
        lock: ReadLock::Update,
        no_wait: true,
        ..LockHints::default()
    };
    let before = read(&mut session, &table, hints)?;
    let mut after = before.clone();
    apply(&mut after, &notes);
    for (key, row) in &after {
        match before.get(key) {
            Some(same) if same == row => {}
            Some(_) => {
                let set: Vec<(usize, Value)> = said(row).into_iter().zip(3..).map(swap).collect();
                session.update(&table, &table.row_key(&named(*key))?, &set)?;
            }
            None => {
                let values: Vec<Value> = named(*key).into_iter().chain(said(row)).collect();
                session.insert(&table, &values)?;
            }
        }
    }
    for key in before.keys().filter(|key| !after.contains_key(key)) {
        session.delete(&table, &table.row_key(&named(*key))?)?;
    }
    session.commit()?;
    suspects.written(&notes);
    Ok(())
}

fn swap((value, column): (Value, usize)) -> (usize, Value) {
    (column, value)
}

/// The columns of the key.
fn named((database, file, page): Key) -> [Value; 3] {
    let number = |number: i64| Value::Int(i32::try_from(number).unwrap_or(i32::MAX));
    [number(database), number(file), Value::BigInt(page)]
}

/// The other columns.
fn said(row: &Row) -> [Value; 3] {
    [
        Value::Int(row.state.event),
        Value::Int(row.state.count),
        row.last.clone(),
    ]
}
