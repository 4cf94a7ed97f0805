//! Rows of the base tables.

use super::Target;
use super::havoc::{Dice, damage, damage_any};
use furrow_datafile::PageSource;
use furrow_format::catalog::{self, BASE_TABLES, BaseRow, BaseTable};
use furrow_format::{Page, PageType, RowLayout};
use furrow_types::Value;

/// Rows of a table in the corpus.
const OF_A_TABLE: usize = 24;

struct Rows {
    corpus: Vec<(&'static BaseTable, RowLayout, Vec<u8>)>,
}

/// Rows of base tables of databases created by the engine.
pub(super) fn make() -> Result<Box<dyn Target>, String> {
    let mut corpus = Vec::new();
    for table in BASE_TABLES {
        let layout = table.row_layout().map_err(|e| e.to_string())?;
        let mut rows = 0;
        for number in 0..2 {
            let files = super::database(number)?;
            for file in files.files() {
                for page in files.pages(file.id) {
                    let view = Page::new(page);
                    let is_of_table = view.page_type() == PageType::Data
                        && view.object_part() == table.id as u32
                        && view.index_part() < 256;
                    for record in view.records().filter(|_| is_of_table) {
                        if rows < OF_A_TABLE {
                            corpus.push((table, layout.clone(), record.1.to_vec()));
                            rows += 1;
                        }
                    }
                }
            }
        }
    }
    match corpus.len() {
        0..50 => Err(format!("only {} rows of base tables", corpus.len())),
        _ => Ok(Box::new(Rows { corpus })),
    }
}

/// Makes a row of the values, and the values of the row.
fn through<R: BaseRow>(values: Vec<Value>) -> Option<Vec<Value>> {
    R::from_values(values).map(|row| row.to_values())
}

fn typed(table: &BaseTable, values: Vec<Value>) -> Option<Vec<Value>> {
    macro_rules! of {
        ($($row:ident),* $(,)?) => {
            match table.id {
                $(id if id == catalog::$row::TABLE.id => through::<catalog::$row>(values),)*
                _ => None,
            }
        };
    }
    of!(
        RowsetColumn,
        Rowset,
        AllocUnit,
        File1,
        RowsetValue,
        PhysicalFilegroup,
        DatabaseFile,
        Owner,
        SchemaObject,
        Column,
        ScalarType,
        IndexStat,
        IndexColumn,
        ObjectValue,
        ClassObject,
        SingleReference,
        MultiReference,
    )
}

impl Target for Rows {
    fn read_one(&mut self, dice: &mut Dice) -> Result<(), String> {
        let Some((table, layout, row)) = dice.pick(&self.corpus) else {
            return Ok(());
        };
        let mut bytes = row.clone();
        if dice.one_in(4) {
            damage_any(&mut bytes, dice);
        } else {
            let head = 0..4;
            damage(&mut bytes, &[head], dice);
        }
        let Some(record) = layout.record(&bytes, layout.pminlen()) else {
            return Ok(());
        };
        let Some(values) = table.decode_row(layout, record) else {
            return Ok(());
        };
        let Some(again) = typed(table, values) else {
            return Ok(());
        };
        // What the catalog understood it can write; understood again, it is written the same way.
        let mut written = Vec::new();
        if table.encode_row(layout, &again, &mut written).is_err() {
            return Ok(());
        }
        let read = layout.record(&written, layout.pminlen());
        let read = read.and_then(|record| table.decode_row(layout, record));
        let Some(read) = read.and_then(|values| typed(table, values)) else {
            return Err(format!(
                "{}: {again:?} is written and not understood",
                table.name
            ));
        };
        let mut rewritten = Vec::new();
        match table.encode_row(layout, &read, &mut rewritten) {
            Ok(_) if rewritten == written => Ok(()),
            _ => Err(format!("{}: {again:?} is read as {read:?}", table.name)),
        }
    }
}
