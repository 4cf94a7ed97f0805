//! Transactions that are open: `sys.dm_tran_active_transactions`, `sys.dm_tran_session_transactions`.
//!
//! A connection records the number of its open transactions, and since when they are open. A transaction has
//! a number once it holds a lock; before that it has accessed nothing, and its number is 0.

use super::sessions::{connected, transaction_of};
use super::{Rows, SystemView, ViewContext, columns};
use crate::value::*;
use furrow_context::activity::ActivityView;
use furrow_context::error::Result;
use furrow_types::{DataType, TypeId, Value};

const NAME: DataType = nvarchar(32);
const FILESTREAM: DataType = varbinary(128);
const DESCRIPTOR: DataType = DataType::sized(TypeId::Binary, 8);

pub(super) static VIEWS: &[SystemView] = &[
    SystemView {
        schema: "sys",
        name: "dm_tran_active_transactions",
        columns: columns! {
            "transaction_id" BIGINT; "name" NAME; "transaction_begin_time" DATETIME;
            "transaction_type" INT; "transaction_uow" GUID null; "transaction_state" INT;
            "transaction_status" INT; "transaction_status2" INT; "dtc_state" INT; "dtc_status" INT;
            "dtc_isolation_level" INT; "filestream_transaction_id" FILESTREAM null;
        },
        parameters: None,
        text: "The open transactions of sessions: their numbers and start times.",
        rows: active,
    },
    SystemView {
        schema: "sys",
        name: "dm_tran_session_transactions",
        columns: columns! {
            "session_id" INT; "transaction_id" BIGINT; "transaction_descriptor" DESCRIPTOR;
            "enlist_count" INT; "is_user_transaction" BIT; "is_local" BIT; "is_enlisted" BIT;
            "is_bound" BIT; "open_transaction_count" INT;
        },
        parameters: None,
        text: "Which session has which transaction open, and how deeply it is nested.",
        rows: of_sessions,
    },
];

/// Calls `each` for every session with an open transaction, with the transaction's number.
fn each(view: &ViewContext<'_>, mut each: impl FnMut(&ActivityView, i64)) {
    let known = connected(view);
    let locks = view.cx.server.instance().locks().snapshot();
    for of in known.iter().filter(|of| of.open_transactions > 0) {
        each(of, transaction_of(&locks, of.id).unwrap_or(0));
    }
}

fn active(view: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    each(view, |of, id| {
        // 1: it may read and write. 2: it is active; 7: it is being rolled back.
        let state = if of.rolling_back { 7 } else { 2 };
        let mut row = vec![
            big(id),
            text("user_transaction"),
            datetime(of.transaction_since),
            int(1),
            Value::Null,
            int(state),
        ];
        row.extend(vec![int(0); 5]);
        row.push(Value::Null);
        rows(row);
    });
    Ok(())
}

fn of_sessions(view: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    each(view, |of, id| {
        rows(vec![
            int(of.id),
            big(id),
            Value::Binary(id.to_be_bytes().to_vec()),
            int(0),
            bit(true),
            bit(true),
            bit(false),
            bit(false),
            int(of.open_transactions),
        ]);
    });
    Ok(())
}
