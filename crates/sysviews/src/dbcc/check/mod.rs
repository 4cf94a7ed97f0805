//! Consistency checks: CHECKDB, CHECKTABLE, CHECKALLOC, CHECKCATALOG, CHECKFILEGROUP, CHECKCONSTRAINTS.
//!
//! All but the last are one check of the database's pages on a snapshot (`furrow_engine::Database`), with
//! different depth and scope. This module reads their arguments and turns their findings into messages.

mod constraints;
mod page_restore;
mod plain;
mod repair;
mod report;

use super::table::table_of;
use super::{Arg, Call, Command, bad, database};
use furrow_check::{Depth, Options, Progress, Scope, Scratch};
use furrow_context::error::{Result, SqlError, refuse, unsupported};
use furrow_context::run::Run;
use furrow_engine::{Checked, Database, DatabaseRef, DatabaseState};
use furrow_format::{ObjectId, PageId};
use furrow_messages::Message;
use furrow_observe::suspects::SuspectEvent;
use furrow_observe::task;
use repair::Order;
use report::Reporter;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;

const DATABASE_OPTIONS: &[&str] = &[
    "ALL_ERRORMSGS",
    "DATA_PURITY",
    "ESTIMATEONLY",
    "EXTENDED_LOGICAL_CHECKS",
    "MAXDOP",
    "NO_INFOMSGS",
    "PHYSICAL_ONLY",
    "TABLERESULTS",
    "TABLOCK",
];
const ALLOCATION_OPTIONS: &[&str] = &[
    "ALL_ERRORMSGS",
    "ESTIMATEONLY",
    "NO_INFOMSGS",
    "TABLERESULTS",
    "TABLOCK",
];

pub(super) static COMMANDS: &[Command] = &[
    Command {
        name: "CHECKDB",
        syntax: "DBCC CHECKDB [('database' | id | 0 [, NOINDEX | REPAIR_REBUILD | \
            REPAIR_ALLOW_DATA_LOSS])] [WITH ALL_ERRORMSGS, NO_INFOMSGS, TABLOCK, ESTIMATEONLY, \
            PHYSICAL_ONLY | DATA_PURITY | EXTENDED_LOGICAL_CHECKS, MAXDOP = n, TABLERESULTS]",
        text: "Checks every page, link, row and allocation bit of a database while others work in it.",
        options: DATABASE_OPTIONS,
        run: check_database,
    },
    Command {
        name: "CHECKTABLE",
        syntax: "DBCC CHECKTABLE ('table' | object_id [, NOINDEX | index_id | REPAIR_REBUILD]) \
            [WITH as CHECKDB]",
        text: "Checks a table and its indexes.",
        options: DATABASE_OPTIONS,
        run: check_table,
    },
    Command {
        name: "CHECKALLOC",
        syntax: "DBCC CHECKALLOC [('database' | id | 0 [, NOINDEX])] [WITH ALL_ERRORMSGS, \
            NO_INFOMSGS, TABLOCK, ESTIMATEONLY, TABLERESULTS]",
        text: "Checks that every page and extent has one owner and that all maps agree.",
        options: ALLOCATION_OPTIONS,
        run: check_allocation,
    },
    Command {
        name: "CHECKCATALOG",
        syntax: "DBCC CHECKCATALOG [('database' | id | 0)] [WITH NO_INFOMSGS]",
        text: "Checks that the rows of the catalog agree with each other.",
        options: &["NO_INFOMSGS"],
        run: check_catalog,
    },
    Command {
        name: "CHECKFILEGROUP",
        syntax: "DBCC CHECKFILEGROUP [('filegroup' | id | 0 [, NOINDEX])] [WITH as CHECKDB]",
        text: "Checks the tables and the allocation of one filegroup of the current database.",
        options: DATABASE_OPTIONS,
        run: check_filegroup,
    },
    Command {
        name: "CHECKCONSTRAINTS",
        syntax: "DBCC CHECKCONSTRAINTS [('table' | object_id | 'constraint')] [WITH ALL_CONSTRAINTS, \
            ALL_ERRORMSGS, NO_INFOMSGS]",
        text: "Lists rows that break a foreign key or a CHECK constraint.",
        options: &["ALL_CONSTRAINTS", "ALL_ERRORMSGS", "NO_INFOMSGS"],
        run: constraints::run,
    },
];

/// The request of a call.
struct Request<'c> {
    command: &'static str,
    call: &'c Call,
    db: Arc<Database>,
    options: Options,
    repair: Option<Order>,
    /// Keeps the database open until everything is reported, where the session is in another one.
    user: RefCell<Option<DatabaseRef>>,
}

impl<'c> Request<'c> {
    /// Reads the options, and the second argument.
    fn new(
        run: &Run<'_>,
        (command, db): (&'static str, &Arc<Database>),
        call: &'c Call,
    ) -> Result<Request<'c>> {
        // 924 where another session alone may use it.
        let inside = run.cx.sessions.is_in(db.id());
        let user = if inside { None } else { Some(db.enter()?) };
        let alone = ["PHYSICAL_ONLY", "DATA_PURITY", "EXTENDED_LOGICAL_CHECKS"];
        let physical = call.said("PHYSICAL_ONLY");
        if physical && alone.iter().filter(|word| call.said(word)).count() > 1 {
            return refuse(2532, &[]);
        }
        let mut depth = if physical {
            Depth::Physical
        } else {
            Depth::Full
        };
        let mut repair = None;
        match call.args.get(1) {
            None => {}
            Some(arg) if arg.is_word("NOINDEX") && physical => {}
            Some(arg) if arg.is_word("NOINDEX") => depth = Depth::NoIndexes,
            Some(Arg::Value(_)) if command == "CHECKTABLE" => {}
            Some(Arg::Word(word)) => {
                repair = Order::of(word, db)?;
                if repair.is_none() {
                    return bad(1);
                }
                if physical {
                    return refuse(2532, &[]);
                }
                if repair == Some(Order::DataLoss) && command != "CHECKDB" {
                    return Err(unsupported(&format!("REPAIR_ALLOW_DATA_LOSS of {command}")));
                }
            }
            Some(_) => return bad(1),
        }
        let workers = match call.option("MAXDOP") {
            None | Some(0) => 0,
            Some(n) => usize::try_from(n).unwrap_or(1),
        };
        let serial = task::trace_flag_on(furrow_observe::traceflags::TraceFlag::CHECK_SERIAL);
        let options = Options {
            depth,
            workers: if serial { 1 } else { workers },
            ..Options::default()
        };
        Ok(Request {
            command,
            call,
            db: Arc::clone(db),
            options,
            repair,
            user: RefCell::new(user),
        })
    }

    /// Runs the check. A cancellation of the statement ends it, and `percent_complete` shows its progress.
    fn check(&self, run: &Run<'_>) -> Result<Checked> {
        let task = task::current();
        let listener = |progress: Progress| {
            let done = progress.pages_done as f64 / progress.pages_total.max(1) as f64;
            task.set_progress((done * 100.0).min(100.0) as f32);
            !task.is_cancelled()
        };
        let (options, scratch) = limits(run, self.options);
        let with = (Some(&scratch), &listener as furrow_check::Listener<'_>);
        let checked = self.db.check_consistency_within(options, with);
        task.set_progress(0.0);
        run.cx.check_cancel()?;
        let checked = checked?;
        self.note_suspects(run, &checked);
        Ok(checked)
    }

    /// Records unreadable and damaged pages as suspect pages.
    fn note_suspects(&self, run: &Run<'_>, checked: &Checked) {
        let suspects = &run.cx.server.instance().instruments().suspects;
        let with = |numbers: &[u32]| -> BTreeSet<PageId> {
            let findings = checked.report.findings.iter();
            let named = findings.filter(|f| numbers.contains(&f.number()));
            named.filter_map(|f| f.page).collect()
        };
        // A page that cannot be processed has a wrong checksum, unless a second message states another
        // reason.
        let other = with(&[8909, 8966]);
        for page in with(&[8909, 8928, 8966]) {
            let event = match other.contains(&page) {
                true => SuspectEvent::Error,
                false => SuspectEvent::Checksum,
            };
            suspects.note((self.db.id().0, page.file.0, page.page.0), event);
        }
    }

    /// ESTIMATEONLY: the size of the scratch file; 0 if the facts fit into memory.
    fn estimated(&self, run: &mut Run<'_>, commands: &[&str]) -> Result<bool> {
        if !self.call.said("ESTIMATEONLY") {
            return Ok(false);
        }
        let usage = self.db.space_usage()?;
        let extents: u64 = usage.iter().map(|f| f.allocated_extents).sum();
        let memory = u64::from(run.cx.server.configuration().check_memory_mb()) << 20;
        for command in commands {
            let depth = match *command {
                "CHECKALLOC" => Depth::Physical,
                _ => self.options.depth,
            };
            let bytes = furrow_check::scratch_bytes(extents * 8, depth, memory);
            let kb = bytes.div_ceil(1024);
            let args = [(*command).into(), self.db.name().into(), kb.into()];
            run.inform(Message::new(5281, &args));
        }
        Ok(true)
    }
}

/// The options with the limits of the configuration, and the scratch file for facts that exceed them.
fn limits(run: &Run<'_>, options: Options) -> (Options, Scratch) {
    let server = &run.cx.server;
    let configuration = server.configuration();
    let options = Options {
        memory_bytes: u64::from(configuration.check_memory_mb()) << 20,
        bytes_per_s: u64::from(configuration.check_rate_mb()) << 20,
        ..options
    };
    let volume = Arc::clone(server.instance().volume());
    let path = server.path(&format!("tempdb_spill_{}.tmp", server.next_temp()));
    (options, Scratch::new(volume, path))
}

fn check_database(run: &mut Run<'_>, call: &Call) -> Result<()> {
    call.takes(0..=2)?;
    let db = database(run, call, 0)?;
    let request = Request::new(run, ("CHECKDB", &db), call)?;
    if request.estimated(run, &["CHECKALLOC", "CHECKTABLES"])? {
        return Ok(());
    }
    let checked = request.check(run)?;
    let clean = checked.report.is_clean();
    let mut reporter = Reporter::new(run, &request, &checked);
    reporter.heading();
    if request.options.depth == Depth::NoIndexes {
        reporter.inform(Message::new(7966, &["checkdb".into()]));
    }
    reporter.objects(request.options.depth != Depth::Physical);
    reporter.closing();
    reporter.means();
    say_offline(run, &db, None);
    // In EMERGENCY the log is replaced, whether or not there is damage.
    let is_in_emergency = db.state() == DatabaseState::Emergency;
    if request.repair == Some(Order::DataLoss) && (!clean || is_in_emergency) {
        Reporter::log(run, &request, &checked, 0);
        let options = request.options;
        // The database is shut down: no handle of it may be left open.
        drop(request);
        repair::allow_data_loss(run, ("CHECKDB", db), options)?;
        return Ok(());
    }
    let repaired = repaired(run, &request, &checked)?;
    Reporter::log(run, &request, &checked, repaired);
    if clean && !db.is_read_only() && db.absent_files().is_empty() {
        db.note_known_good()?;
    }
    Ok(())
}

/// 2527 for each index that was not checked because its files are not there.
fn say_offline(run: &mut Run<'_>, db: &Arc<Database>, only: Option<ObjectId>) {
    let groups = db.filegroups();
    for table in db.catalog().tables() {
        if only.is_some_and(|only| only != table.id()) {
            continue;
        }
        for index in table.indexes().iter().filter(|index| index.is_offline()) {
            let group = index.rowset().filegroup();
            let group = groups.iter().find(|g| g.id == group);
            let args = [
                index.name().into(),
                table.name().into(),
                group.map_or("", |g| g.name.as_str()).into(),
            ];
            let error: Box<SqlError> = Message::new(2527, &args).at_line(run.cx.line).into();
            run.send_error(&error);
        }
    }
}

/// Runs REPAIR_REBUILD; returns the number of findings that it removed.
fn repaired(run: &mut Run<'_>, request: &Request<'_>, checked: &Checked) -> Result<u64> {
    if request.repair != Some(Order::Rebuild) || checked.report.is_clean() {
        return Ok(0);
    }
    // The session enters the database itself.
    drop(request.user.take());
    let fixed = repair::rebuild(run, request, &checked.report)?;
    repair::say_bypassed(run, &checked.report);
    repair::say(run, (request.command, request.db.name()), (0, fixed));
    Ok(fixed)
}

fn check_table(run: &mut Run<'_>, call: &Call) -> Result<()> {
    call.takes(1..=2)?;
    let db = Arc::clone(run.cx.sessions.database());
    let table = table_of(&db, call, 0)?;
    let mut request = Request::new(run, ("CHECKTABLE", &db), call)?;
    request.options.scope = Scope::Object(table.id().0);
    if request.estimated(run, &["CHECKTABLE"])? {
        return Ok(());
    }
    let mut checked = request.check(run)?;
    let wanted = table.id().0;
    checked.report.objects.retain(|o| o.object_id == wanted);
    if let Some(index) = call.args.get(1).and_then(Arg::number) {
        let of_index = |s: &furrow_check::Subject| i64::from(s.index_id) == index;
        let findings = &mut checked.report.findings;
        findings.retain(|f| f.subject.as_ref().is_some_and(of_index));
    }
    let mut reporter = Reporter::new(run, &request, &checked);
    if request.options.depth == Depth::NoIndexes {
        reporter.inform(Message::new(7966, &["checktable".into()]));
    }
    reporter.objects(true);
    reporter.means();
    say_offline(run, &db, Some(table.id()));
    let repaired = repaired(run, &request, &checked)?;
    Reporter::log(run, &request, &checked, repaired);
    Ok(())
}

fn check_allocation(run: &mut Run<'_>, call: &Call) -> Result<()> {
    call.takes(0..=2)?;
    let db = database(run, call, 0)?;
    if db.is_temporary() {
        return refuse(5253, &[]);
    }
    let mut request = Request::new(run, ("CHECKALLOC", &db), call)?;
    if request.estimated(run, &["CHECKALLOC"])? {
        return Ok(());
    }
    request.options.depth = Depth::Physical;
    let mut checked = request.check(run)?;
    let findings = &mut checked.report.findings;
    findings.retain(furrow_check::Finding::is_allocation);
    checked.report.objects.clear();
    let mut reporter = Reporter::new(run, &request, &checked);
    reporter.heading();
    reporter.objects(false);
    reporter.files();
    reporter.closing();
    reporter.means();
    Reporter::log(run, &request, &checked, 0);
    Ok(())
}

fn check_catalog(run: &mut Run<'_>, call: &Call) -> Result<()> {
    call.takes(0..=1)?;
    let db = database(run, call, 0)?;
    if db.is_temporary() {
        return refuse(5230, &[]);
    }
    let mut request = Request::new(run, ("CHECKCATALOG", &db), call)?;
    request.options.scope = Scope::Catalog;
    let mut checked = request.check(run)?;
    checked.report.objects.clear();
    let mut reporter = Reporter::new(run, &request, &checked);
    reporter.objects(false);
    reporter.means();
    Ok(())
}

fn check_filegroup(run: &mut Run<'_>, call: &Call) -> Result<()> {
    call.takes(0..=2)?;
    let db = Arc::clone(run.cx.sessions.database());
    let group = filegroup_of(&db, call)?;
    let mut request = Request::new(run, ("CHECKFILEGROUP", &db), call)?;
    request.options.scope = Scope::Filegroup(group);
    if request.estimated(run, &["CHECKALLOC", "CHECKTABLES"])? {
        return Ok(());
    }
    let mut checked = request.check(run)?;
    // The filegroup of a table is that of its first rowset.
    let lies_here = |id: i32| {
        let table = db.catalog().table_by_id(ObjectId(id));
        table.is_some_and(|t| t.indexes().iter().any(|i| i.rowset().filegroup() == group))
    };
    checked.report.objects.retain(|o| lies_here(o.object_id));
    let mut reporter = Reporter::new(run, &request, &checked);
    reporter.heading();
    reporter.objects(true);
    reporter.closing();
    reporter.means();
    Reporter::log(run, &request, &checked, 0);
    Ok(())
}

/// The filegroup of the first argument, by name or number; 0 and a missing argument mean PRIMARY.
fn filegroup_of(db: &Arc<Database>, call: &Call) -> Result<u16> {
    let groups = db.filegroups();
    let Some(arg) = call.args.first() else {
        return Ok(1);
    };
    let found = match (arg.text(), arg.number()) {
        (Some(name), _) => {
            let is_it = |g: &&furrow_engine::FilegroupView| g.name.eq_ignore_ascii_case(name);
            groups.iter().find(is_it)
        }
        (None, Some(number)) => {
            let number = number.max(1);
            groups.iter().find(|g| i64::from(g.id) == number)
        }
        (None, None) => return bad(0),
    };
    match found {
        Some(group) => Ok(group.id),
        None => bad(0),
    }
}
