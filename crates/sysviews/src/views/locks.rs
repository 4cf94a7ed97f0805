//! Locks.

use super::address::address;
use super::{Rows, SystemView, ViewContext, columns};
use crate::value::*;
use furrow_context::error::Result;
use furrow_engine::{LockRow, LockStatus, Resource};
use furrow_format::{DatabaseId, Page, PageId, TxnId};
use furrow_types::{DataType, Guid, Value};
use std::hash::{DefaultHasher, Hash, Hasher};

const DETAIL: DataType = nvarchar(256);
const LOCKSPACE: DataType = nvarchar(32);
const ADDRESS: DataType = varbinary(8);

pub(super) static VIEWS: &[SystemView] = &[SystemView {
    schema: "sys",
    name: "dm_tran_locks",
    columns: columns! {
        "resource_type" DESC; "resource_subtype" DESC; "resource_database_id" INT;
        "resource_description" DETAIL;
        "resource_associated_entity_id" BIGINT null; "resource_lock_partition" INT; "request_mode" DESC;
        "request_type" DESC; "request_status" DESC; "request_reference_count" SMALLINT;
        "request_lifetime" INT; "request_session_id" INT; "request_exec_context_id" INT;
        "request_request_id" INT; "request_owner_type" DESC; "request_owner_id" BIGINT null;
        "request_owner_guid" GUID null; "request_owner_lockspace_id" LOCKSPACE; "lock_owner_address" ADDRESS;
    },
    parameters: None,
    text: "The locks that are held or waited for.",
    rows: locks,
}];

/// The heap or index that a page belongs to, from the page's header.
fn rowset_of(db: DatabaseId, page: PageId, view: &ViewContext<'_>) -> i64 {
    let found = view.cx.server.instance().database_by_id(db).and_then(|db| {
        let bytes = db.page(page).ok()?;
        let unit = Page::new(&bytes).unit();
        let tables = db.catalog().tables();
        let mut indexes = tables.iter().flat_map(|t| t.indexes());
        let index = indexes.find(|i| i.rowset().unit_id() == unit)?;
        i64::try_from(index.rowset().id().0).ok()
    });
    found.unwrap_or(0)
}

/// What a lock belongs to, and how the view describes it.
fn entity(resource: &Resource, view: &ViewContext<'_>) -> (i64, String) {
    let number = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    match *resource {
        Resource::Database(_) => (0, String::new()),
        Resource::File(_, file) => (0, file.0.to_string()),
        Resource::Object(_, object) => (i64::from(object.0), String::new()),
        Resource::Hobt(_, rowset) => (number(rowset.0), String::new()),
        Resource::Page(_, rowset, page) => {
            (number(rowset.0), format!("{}:{}", page.file, page.page))
        }
        Resource::Extent(_, page) => (0, format!("{}:{}", page.file, page.page)),
        Resource::Rid(db, row) => {
            let page = row.page;
            (
                rowset_of(db, page, view),
                format!("{}:{}:{}", page.file, page.page, row.slot),
            )
        }
        Resource::Key(_, rowset, hash) => (
            number(rowset.0),
            format!("({:012x})", hash & 0xffff_ffff_ffff),
        ),
        Resource::AllocationUnit(_, unit) => (number(unit.0), String::new()),
        Resource::Application(_, hash) => (0, format!("0:({hash:016x})")),
    }
}

/// A row of the view.
struct Shown {
    resource: Resource,
    mode: &'static str,
    status: LockStatus,
    owner_type: &'static str,
    owner_id: u32,
    session_id: i32,
    txn: TxnId,
}

impl From<&LockRow> for Shown {
    fn from(lock: &LockRow) -> Shown {
        Shown {
            resource: lock.resource,
            mode: lock.mode.name(),
            status: lock.status,
            owner_type: "TRANSACTION",
            owner_id: lock.owner_id,
            session_id: lock.session_id,
            txn: lock.txn,
        }
    }
}

/// SQL Server shows the address of the request; here it is a number. It does not change before the grant, nor
/// afterwards while the lock is held. `dm_os_waiting_tasks.resource_address` has it for waiting requests.
pub(super) fn request_address(lock: &LockRow) -> Value {
    address_of(&Shown::from(lock))
}

fn address_of(lock: &Shown) -> Value {
    let mut hasher = DefaultHasher::new();
    (lock.resource, lock.status, lock.owner_id).hash(&mut hasher);
    address(hasher.finish())
}

/// The shared database lock of each session, which prevents a drop of the session's database. As in SQL
/// Server, there is none in `master` and `tempdb`, which cannot be dropped.
fn of_sessions(view: &ViewContext<'_>) -> Vec<Shown> {
    let mut held = Vec::new();
    for of in view.cx.server.connections() {
        let database = super::sessions::database_id(view, &of.database);
        if matches!(of.database.to_lowercase().as_str(), "master" | "tempdb") || database == 0 {
            continue;
        }
        held.push(Shown {
            resource: Resource::Database(DatabaseId(database)),
            mode: "S",
            status: LockStatus::Grant,
            owner_type: "SHARED_TRANSACTION_WORKSPACE",
            owner_id: of.id.unsigned_abs(),
            session_id: of.id,
            txn: TxnId(0),
        });
    }
    held
}

fn locks(view: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    for lock in of_sessions(view) {
        rows(row(view, &lock));
    }
    for lock in view.cx.server.instance().locks().snapshot() {
        rows(row(view, &Shown::from(&lock)));
    }
    Ok(())
}

fn row(view: &ViewContext<'_>, lock: &Shown) -> Vec<Value> {
    let (entity, description) = entity(&lock.resource, view);
    vec![
        text(lock.resource.type_name()),
        text(""),
        int(lock.resource.database().0),
        text(description),
        Value::BigInt(entity),
        int(0),
        text(lock.mode),
        text("LOCK"),
        text(lock.status.text()),
        small(1),
        int(0),
        int(lock.session_id),
        int(0),
        int(0),
        text(lock.owner_type),
        big(lock.txn.0),
        // Distributed transactions do not exist.
        guid(Guid::default()),
        text(format!("{:#018x}:0:0", lock.owner_id)),
        address_of(lock),
    ]
}
