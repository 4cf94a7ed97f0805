//! ALTER DATABASE SET.
//!
//! An option that the engine has is changed and stored in the database. An option that only states a fixed
//! property, as generated scripts often do, is accepted. Any other option is refused by name.

use super::database::whole;
use furrow_context::error::{Result, SqlError, refuse, unsupported};
use furrow_context::run::Run;
use furrow_engine::{Database, DatabaseState, DatabaseView, Timeout};
use furrow_format::{DelayedDurability, PageVerify, RecoveryModel, UserAccess};
use furrow_io::time::{Duration, Moment, sleep};
use furrow_messages::Message;
use furrow_tsql::ast::database::Termination;
use furrow_tsql::ast::option::{Opt, OptValue};
use std::borrow::Cow;
use std::sync::Arc;

/// Options with the only value that this engine supports: accepted without effect.
const AS_IT_IS: &[(&str, &str)] = &[
    ("ACCELERATED_DATABASE_RECOVERY", "OFF"),
    ("ALLOW_SNAPSHOT_ISOLATION", "OFF"),
    ("AUTO_CLOSE", "OFF"),
    ("AUTO_SHRINK", "OFF"),
    ("AUTO_UPDATE_STATISTICS_ASYNC", "OFF"),
    ("CHANGE_TRACKING", "OFF"),
    ("CONTAINMENT", "NONE"),
    ("CURSOR_DEFAULT", "GLOBAL"),
    ("DATE_CORRELATION_OPTIMIZATION", "OFF"),
    ("DB_CHAINING", "OFF"),
    ("DISABLE_BROKER", ""),
    ("ENCRYPTION", "OFF"),
    ("HONOR_BROKER_PRIORITY", "OFF"),
    ("PARAMETERIZATION", "SIMPLE"),
    ("QUERY_STORE", "OFF"),
    ("READ_COMMITTED_SNAPSHOT", "OFF"),
    ("RECURSIVE_TRIGGERS", "OFF"),
    ("TEMPORAL_HISTORY_RETENTION", "OFF"),
    ("TRUSTWORTHY", "OFF"),
];

/// The value of an option as a word; empty if the value is a list.
fn word(option: &Opt) -> Cow<'_, str> {
    match &option.value {
        Some(OptValue::Word(word)) => Cow::Borrowed(word),
        Some(OptValue::Expr(value)) => Cow::Owned(furrow_tsql::expression_text(value)),
        Some(_) | None => Cow::Borrowed(""),
    }
}

/// Adds 5069 behind the error that made SET fail.
fn failed(mut error: Box<SqlError>) -> Box<SqlError> {
    if error
        .messages
        .iter()
        .all(|m| m.number != 5069 && m.number != 40_514)
    {
        error.messages.push(Message::new(5069, &[]));
    }
    error
}

/// 5011 for a database that does not exist.
pub(super) fn known(run: &Run<'_>, name: &str) -> Result<()> {
    let known = run.cx.server.instance().databases();
    match known.iter().any(|d| d.name.eq_ignore_ascii_case(name)) {
        true => Ok(()),
        false => Err(failed(Message::new(5011, &[name.into()]).into())),
    }
}

/// ALTER DATABASE SET.
pub(super) fn set(
    run: &mut Run<'_>,
    name: &str,
    all: &[Opt],
    termination: Option<&Termination>,
) -> Result<()> {
    let mut act = Act {
        run,
        name,
        termination,
    };
    for option in all {
        act.one(option).map_err(failed)?;
    }
    Ok(())
}

/// SET in one database.
struct Act<'a, 'r> {
    run: &'a mut Run<'r>,
    name: &'a str,
    termination: Option<&'a Termination>,
}

impl Act<'_, '_> {
    fn one(&mut self, option: &Opt) -> Result<()> {
        let value = word(option);
        let (of, value) = (&*option.name, &*value);
        self.may_be_set(of)?;
        self.refuse_restoring()?;
        match of {
            "ONLINE" => return self.online(),
            "OFFLINE" => return self.offline(),
            "EMERGENCY" => return self.emergency(),
            _ => {}
        }
        let db = self.run.cx.server.instance().database(self.name)?;
        db.refuse_of_snapshot()?;
        self.not_anothers(&db)?;
        let mut options = db.options();
        match (of, value) {
            ("RECOVERY", _) => options.recovery_model = recovery_model(value),
            ("TARGET_RECOVERY_TIME", _) => options.target_recovery_s = seconds(option)?,
            ("PAGE_VERIFY", _) => options.page_verify = page_verify(value),
            ("TORN_PAGE_DETECTION", "ON") => options.page_verify = PageVerify::TornPageDetection,
            ("TORN_PAGE_DETECTION", _) => {
                if options.page_verify == PageVerify::TornPageDetection {
                    options.page_verify = PageVerify::None;
                }
            }
            ("DELAYED_DURABILITY", _) => options.delayed_durability = delayed(value),
            ("MIXED_PAGE_ALLOCATION", _) => options.mixed_pages = value == "ON",
            // There are no statistics yet: the setting is stored and shown.
            ("AUTO_CREATE_STATISTICS", "ON" | "OFF") => {
                options.auto_create_statistics = value == "ON";
            }
            ("AUTO_UPDATE_STATISTICS", "ON" | "OFF") => {
                options.auto_update_statistics = value == "ON";
            }
            ("SINGLE_USER", _) => return self.single_user(&db),
            ("RESTRICTED_USER", _) => return access(&db, UserAccess::Restricted),
            ("MULTI_USER", _) => return access(&db, UserAccess::Multi),
            ("READ_ONLY", _) => return self.updateability(&db, true),
            ("READ_WRITE", _) => return self.updateability(&db, false),
            ("COMPATIBILITY_LEVEL", _) => options.compatibility_level = level(value)?,
            (_, "ON" | "OFF") if options.defaults.set(of, value == "ON") => {}
            _ => return as_it_is((of, value)),
        }
        Ok(db.set_options(options)?)
    }

    /// 5058: options that cannot be set in system databases.
    fn may_be_set(&self, option: &str) -> Result<()> {
        let of = |names: &[&str]| names.iter().any(|n| n.eq_ignore_ascii_case(self.name));
        let fixed = match option {
            "OFFLINE" | "EMERGENCY" | "READ_ONLY" | "SINGLE_USER" | "RESTRICTED_USER" => {
                of(&["master", "tempdb"])
            }
            "MIXED_PAGE_ALLOCATION" => of(&["master", "model", "msdb", "tempdb"]),
            "RECOVERY" | "PAGE_VERIFY" | "TORN_PAGE_DETECTION" => of(&["tempdb"]),
            _ => false,
        };
        match fixed {
            true => refuse(5058, &[option.into(), self.name.into()]),
            false => Ok(()),
        }
    }

    /// 5052 for a database that is being restored.
    fn refuse_restoring(&self) -> Result<()> {
        let all = self.run.cx.server.instance().databases();
        let name = self.name.to_lowercase();
        let restoring =
            |d: &DatabaseView| d.state == DatabaseState::Restoring && d.name.to_lowercase() == name;
        if all.iter().any(restoring) {
            return refuse(5052, &["ALTER DATABASE".into(), "Restoring".into()]);
        }
        Ok(())
    }

    /// Sessions of this connection in the database.
    fn own(&self, db: &Arc<Database>) -> u32 {
        u32::from(self.run.cx.sessions.database().id() == db.id())
    }

    /// 5064: the database is in single-user mode and another session is in it.
    fn not_anothers(&self, db: &Arc<Database>) -> Result<()> {
        let single = db.options().user_access == UserAccess::Single;
        match single && db.users() > self.own(db) {
            true => refuse(5064, &[db.name().into()]),
            false => Ok(()),
        }
    }

    fn single_user(&mut self, db: &Arc<Database>) -> Result<()> {
        let own = self.own(db);
        loop {
            self.clear_room(db, 5061)?;
            // Another session may have entered in the meantime.
            if db.set_user_access(UserAccess::Single, own)? {
                return Ok(());
            }
        }
    }

    fn updateability(&mut self, db: &Arc<Database>, read_only: bool) -> Result<()> {
        if db.is_read_only() == read_only {
            return Ok(());
        }
        self.clear_room(db, 5070)?;
        match self.own(db) > 0 {
            true => self.run.cx.sessions.session().set_read_only(read_only)?,
            false => db.set_read_only(read_only)?,
        }
        Ok(())
    }

    /// ONLINE: no other session may be in a database that is in EMERGENCY.
    fn online(&mut self) -> Result<()> {
        let instance = self.run.cx.server.instance();
        let open = instance.database(self.name);
        if open.is_ok_and(|db| db.state() == DatabaseState::Emergency) {
            self.leave_alone()?;
        }
        match self.run.cx.server.instance().reopen_database(self.name) {
            Err(e) if e.number() == 3702 => refuse(5070, &[self.name.into()]),
            other => Ok(other.map(drop)?),
        }
    }

    /// OFFLINE: no session may be in the database.
    fn offline(&mut self) -> Result<()> {
        self.leave_alone()?;
        match self.run.cx.server.instance().close_database(self.name) {
            Err(e) if e.number() == 3702 => refuse(5070, &[self.name.into()]),
            other => Ok(other?),
        }
    }

    /// EMERGENCY: no session may be in the database.
    fn emergency(&mut self) -> Result<()> {
        self.leave_alone()?;
        match self.run.cx.server.instance().set_emergency(self.name) {
            Err(e) if e.number() == 3702 => refuse(5070, &[self.name.into()]),
            other => Ok(other.map(drop)?),
        }
    }

    /// Makes sure that no session is in the database, if it is open: 5070 where this session is.
    fn leave_alone(&mut self) -> Result<()> {
        let in_use = || refuse(5070, &[self.name.into()]);
        if let Ok(db) = self.run.cx.server.instance().database(self.name) {
            self.not_anothers(&db)?;
            if self.own(&db) > 0 {
                return in_use();
            }
            self.clear_room(&db, 5070)?;
        }
        Ok(())
    }

    /// Waits until no other connection is in the database (for LOCK_TIMEOUT), refuses at once (NO_WAIT), or
    /// ends the other connections. `refusal`: the message if some of them stay.
    fn clear_room(&mut self, db: &Arc<Database>, refusal: u32) -> Result<()> {
        let own = self.own(db);
        if db.users() <= own {
            return Ok(());
        }
        let patience = match self.termination {
            Some(Termination::NoWait) => return refuse(refusal, &[db.name().into()]),
            Some(Termination::RollbackImmediate) => Some(Duration::ZERO),
            Some(Termination::RollbackAfter(seconds)) => Some(Duration::from_secs(whole(seconds)?)),
            None => match self.run.cx.sessions.lock_timeout() {
                Timeout::Forever => None,
                Timeout::NoWait => Some(Duration::ZERO),
                Timeout::Millis(ms) => Some(Duration::from_millis(ms.into())),
            },
        };
        if self.wait_until(db, own, patience)? {
            return Ok(());
        }
        if self.termination.is_none() {
            return refuse(5061, &[db.name().into()]);
        }
        for connection in self.run.cx.server.connections() {
            let there = connection.database.eq_ignore_ascii_case(db.name());
            if there && connection.id != self.run.cx.sessions.id() {
                self.run.cx.server.kill(connection.id);
            }
        }
        if !self.wait_until(db, own, Some(ROLLBACK))? {
            return refuse(refusal, &[db.name().into()]);
        }
        self.run.inform(Message::new(5060, &[100.into()]));
        Ok(())
    }

    /// Waits until no other session is in the database; `false` if `patience` ran out.
    fn wait_until(&self, db: &Arc<Database>, own: u32, patience: Option<Duration>) -> Result<bool> {
        let begun = Moment::now();
        while db.users() > own {
            self.run.cx.check_cancel()?;
            if patience.is_some_and(|most| begun.elapsed() >= most) {
                return Ok(false);
            }
            sleep(LOOK);
        }
        Ok(true)
    }
}

/// Interval at which a wait checks again.
const LOOK: Duration = Duration::from_millis(10);
/// Longest wait for the rollback of ended connections' transactions.
const ROLLBACK: Duration = Duration::from_secs(600);

fn access(db: &Arc<Database>, to: UserAccess) -> Result<()> {
    db.set_user_access(to, u32::MAX)?;
    Ok(())
}

fn as_it_is((of, value): (&str, &str)) -> Result<()> {
    match AS_IT_IS.contains(&(of, value)) {
        true => Ok(()),
        false => Err(unsupported(format!("SET {of} {value}").trim_end())),
    }
}

/// Parses a compatibility level; 15048 if it is not one.
fn level(value: &str) -> Result<u16> {
    match value.parse() {
        Ok(level @ (100 | 110 | 120 | 130 | 140 | 150 | 160 | 170)) => Ok(level),
        _ => {
            let levels = "100, 110, 120, 130, 140, 150, 160 or 170";
            refuse(15_048, &[levels.into()])
        }
    }
}

fn page_verify(word: &str) -> PageVerify {
    match word {
        "NONE" => PageVerify::None,
        "TORN_PAGE_DETECTION" => PageVerify::TornPageDetection,
        _ => PageVerify::Checksum,
    }
}

fn delayed(word: &str) -> DelayedDurability {
    match word {
        "ALLOWED" => DelayedDurability::Allowed,
        "FORCED" => DelayedDurability::Forced,
        _ => DelayedDurability::Disabled,
    }
}

fn recovery_model(word: &str) -> RecoveryModel {
    match word {
        "FULL" => RecoveryModel::Full,
        "BULK_LOGGED" => RecoveryModel::BulkLogged,
        _ => RecoveryModel::Simple,
    }
}

fn seconds(option: &Opt) -> Result<u32> {
    let Some(OptValue::Size(size)) = &option.value else {
        return Err(unsupported("this TARGET_RECOVERY_TIME"));
    };
    let factor = match size.unit.as_deref() {
        Some("MINUTES") => 60,
        _ => 1,
    };
    let seconds = whole(&size.number)?.saturating_mul(factor);
    Ok(u32::try_from(seconds).unwrap_or(u32::MAX))
}
