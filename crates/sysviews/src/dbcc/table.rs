//! Commands about a table: IND.

use super::{Arg, Call, Command, INFO, bad, database};
use crate::value::{BIGINT, INT, SMALLINT, TINYINT, big, int, small, tiny, varchar};
use furrow_context::error::{Result, refuse};
use furrow_context::run::Run;
use furrow_context::system::{ViewColumn, nullable};
use furrow_engine::{Database, Index, Table};
use furrow_format::{ObjectId, Page, PageId, PageType};
use furrow_types::Value;
use std::sync::Arc;

pub(super) static COMMANDS: &[Command] = &[Command {
    name: "IND",
    syntax: "DBCC IND ('database' | id | 0, 'table' | object_id, index_id | 0 | -1 | -2) [WITH NO_INFOMSGS]",
    text: "Lists the pages of a table: of one index, of all (-1), or the IAM pages alone (-2).",
    options: INFO,
    run: ind,
}];

/// The table of an argument, by name or number: 2501, 2573.
pub(super) fn table_of(db: &Arc<Database>, call: &Call, at: usize) -> Result<Arc<Table>> {
    let arg = call.args.get(at);
    if let Some(name) = arg.and_then(Arg::text) {
        let (schema, name) = crate::names::split_name(name);
        return match db.catalog().table(&schema, &name) {
            Some(table) => Ok(table),
            None => refuse(2501, &[name.into()]),
        };
    }
    let Some(id) = arg.and_then(Arg::number) else {
        return bad(at);
    };
    let object = i32::try_from(id).ok().map(ObjectId);
    match object.and_then(|id| db.catalog().table_by_id(id)) {
        Some(table) => Ok(table),
        None => refuse(2573, &[id.into()]),
    }
}

static IND: &[ViewColumn] = &[
    nullable("PageFID", SMALLINT),
    nullable("PagePID", INT),
    nullable("IAMFID", SMALLINT),
    nullable("IAMPID", INT),
    nullable("ObjectID", INT),
    nullable("IndexID", INT),
    nullable("PartitionNumber", INT),
    nullable("PartitionID", BIGINT),
    nullable("iam_chain_type", varchar(30)),
    nullable("PageType", TINYINT),
    nullable("IndexLevel", TINYINT),
    nullable("NextPageFID", SMALLINT),
    nullable("NextPagePID", INT),
    nullable("PrevPageFID", SMALLINT),
    nullable("PrevPagePID", INT),
];

fn ind(run: &mut Run<'_>, call: &Call) -> Result<()> {
    call.takes(3..=4)?;
    let db = database(run, call, 0)?;
    let table = table_of(&db, call, 1)?;
    let wanted = call.number(2)?;
    if wanted < -2 {
        return bad(2);
    }
    let mut rows = Vec::new();
    for index in table.indexes() {
        if wanted >= 0 && wanted.max(0) != i64::from(index.id()) {
            continue;
        }
        index_pages(&db, &table, index, wanted == -2, &mut rows)?;
    }
    run.show(IND, rows);
    Ok(())
}

fn index_pages(
    db: &Database,
    table: &Table,
    index: &Index,
    iam_only: bool,
    rows: &mut Vec<Vec<Value>>,
) -> Result<()> {
    let chain = db.iam_chain(index.rowset())?;
    let iam = chain.first().copied();
    let mut pages = chain.clone();
    if !iam_only {
        pages.extend(db.pages_of(index.rowset())?);
    }
    for id in pages {
        let bytes = db.page(id)?;
        let page = Page::new(&bytes);
        let is_iam = page.page_type() == PageType::Iam;
        let of = |page: Option<PageId>| match page {
            Some(page) => (small(page.file.0), int(page.page.0)),
            None => (Value::Null, Value::Null),
        };
        let (iam_file, iam_page) = of(iam.filter(|_| !is_iam));
        let (next_file, next_page) = of(Some(page.next()));
        let (prev_file, prev_page) = of(Some(page.prev()));
        let level = match is_iam {
            true => Value::Null,
            false => tiny(page.level()),
        };
        rows.push(vec![
            small(id.file.0),
            int(id.page.0),
            iam_file,
            iam_page,
            int(table.id().0),
            int(index.id()),
            int(1),
            big(index.rowset().id().0),
            Value::VarChar("In-row data".to_owned()),
            tiny(page.page_type().to_byte()),
            level,
            next_file,
            next_page,
            prev_file,
            prev_page,
        ]);
    }
    Ok(())
}
