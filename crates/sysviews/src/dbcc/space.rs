//! Commands about files, the log and transactions: SHOWFILESTATS, LOGINFO, OPENTRAN.

use super::{Call, Command, INFO, database};
use crate::value::{BIGINT, INT, LSN, SYSNAME, ascii, big, int, lsn, nvarchar, text, varchar};
use crate::views::parity;
use furrow_context::error::Result;
use furrow_context::run::Run;
use furrow_context::system::{ViewColumn, column, nullable};
use furrow_format::Lsn;
use furrow_io::time::WallTime;
use furrow_messages::Message;
use furrow_types::MONTHS;
use std::sync::Arc;

pub(super) static COMMANDS: &[Command] = &[
    Command {
        name: "SHOWFILESTATS",
        syntax: "DBCC SHOWFILESTATS [WITH NO_INFOMSGS]",
        text: "Shows the extents of each data file of the current database, and how many are in use.",
        options: INFO,
        run: file_stats,
    },
    Command {
        name: "LOGINFO",
        syntax: "DBCC LOGINFO [('database' | id | 0)] [WITH NO_INFOMSGS]",
        text: "Shows the virtual log files.",
        options: INFO,
        run: log_info,
    },
    Command {
        name: "OPENTRAN",
        syntax: "DBCC OPENTRAN [('database' | id | 0)] [WITH NO_INFOMSGS, TABLERESULTS]",
        text: "Shows the oldest open transaction that has changed something.",
        options: &["NO_INFOMSGS", "TABLERESULTS"],
        run: open_transaction,
    },
];

static FILE_STATS: &[ViewColumn] = &[
    column("Fileid", INT),
    column("FileGroup", INT),
    column("TotalExtents", BIGINT),
    column("UsedExtents", BIGINT),
    column("Name", SYSNAME),
    column("FileName", nvarchar(260)),
];

fn file_stats(run: &mut Run<'_>, call: &Call) -> Result<()> {
    call.takes(0..=0)?;
    let db = Arc::clone(run.cx.sessions.database());
    let usage = db.space_usage()?;
    let mut rows = Vec::new();
    for file in db.file_list()?.into_iter().filter(|f| f.filegroup > 0) {
        let Some(used) = usage.iter().find(|u| u.file == file.id) else {
            continue;
        };
        rows.push(vec![
            int(file.id.0),
            int(file.filegroup),
            big(used.allocated_extents + used.free_extents),
            big(used.allocated_extents),
            text(file.name),
            text(file.path.display().to_string()),
        ]);
    }
    run.show(FILE_STATS, rows);
    Ok(())
}

static LOG_INFO: &[ViewColumn] = &[
    column("RecoveryUnitId", INT),
    column("FileId", INT),
    column("FileSize", BIGINT),
    column("StartOffset", BIGINT),
    column("FSeqNo", INT),
    column("Status", INT),
    column("Parity", INT),
    column("CreateLSN", LSN),
];

fn log_info(run: &mut Run<'_>, call: &Call) -> Result<()> {
    call.takes(0..=1)?;
    let db = database(run, call, 0)?;
    let rows = db.vlfs().into_iter().map(|vlf| {
        vec![
            int(0),
            int(2),
            big(vlf.size_bytes),
            big(vlf.start_bytes),
            int(vlf.sequence),
            int(if vlf.active { 2 } else { 0 }),
            int(parity(vlf.sequence)),
            lsn(Lsn(0)),
        ]
    });
    run.show(LOG_INFO, rows.collect());
    Ok(())
}

static OPEN: &[ViewColumn] = &[nullable("", varchar(25)), nullable("", varchar(255))];

fn open_transaction(run: &mut Run<'_>, call: &Call) -> Result<()> {
    call.takes(0..=1)?;
    let db = database(run, call, 0)?;
    let Some((txn, first)) = db.oldest_transaction() else {
        match call.tableresults {
            true => run.show(OPEN, Vec::new()),
            false => run.inform(Message::new(7969, &[])),
        }
        return Ok(());
    };
    let locks = run.cx.server.instance().locks().snapshot();
    let of_txn =
        |row: &&furrow_engine::LockRow| row.txn == txn && row.resource.database() == db.id();
    let session = locks.iter().find(of_txn).map_or(0, |row| row.session_id);
    let known = run.cx.server.connections();
    let owner = known.iter().find(|a| a.id == session);
    let since = owner.map_or_else(String::new, |a| long_date(a.transaction_since));
    let place = format!("({}:{}:{})", first.vlf(), first.block(), first.slot());
    if call.tableresults {
        let rows = [
            ("OLDACT_SPID", session.to_string()),
            ("OLDACT_UID", "-1".to_owned()),
            ("OLDACT_NAME", "user_transaction".to_owned()),
            ("OLDACT_LSN", place),
            ("OLDACT_STARTTIME", since),
            ("OLDACT_SID", "0x01".to_owned()),
        ];
        let rows = rows
            .into_iter()
            .map(|(name, value)| vec![ascii(name), ascii(value)]);
        run.show(OPEN, rows.collect());
        return Ok(());
    }
    run.inform(Message::new(7968, &[db.name().into()]));
    run.inform(Message::new(7970, &[]));
    run.inform(Message::new(7971, &[session.into()]));
    run.inform(Message::new(7972, &[(-1).into()]));
    run.inform(Message::new(7974, &["user_transaction".into()]));
    run.inform(Message::new(7975, &[place.into()]));
    run.inform(Message::new(7977, &[since.into()]));
    run.inform(Message::new(7978, &["0x01".into()]));
    Ok(())
}

/// A time in the form of `CONVERT(varchar, time, 109)`: `Nov 22 2026  6:29:11:123AM`.
fn long_date(at: WallTime) -> String {
    let civil = at.civil();
    let month = MONTHS
        .get(usize::try_from(civil.month).unwrap_or(0).saturating_sub(1))
        .map_or("", |name| name.get(..3).unwrap_or(name));
    let hour = match civil.hour % 12 {
        0 => 12,
        hour => hour,
    };
    format!(
        "{month} {:>2} {:04} {hour:>2}:{:02}:{:02}:{:03}{}",
        civil.day,
        civil.year,
        civil.minute,
        civil.second,
        civil.microsecond / 1000,
        if civil.hour < 12 { "AM" } else { "PM" }
    )
}
