//! What can go wrong in the engine, and the message a user gets for it.

use furrow_access::AccessError;
use furrow_format::DatabaseId;
use furrow_io::{IoError, IoErrorKind, IoOp};
use furrow_log::{LogError, ReuseWait};
use furrow_messages::{Arg, Message};
use furrow_pool::PoolError;
use furrow_recovery::RecoveryError;
use furrow_space::SpaceError;
use furrow_txn::TxnError;
use furrow_txn::lock::LockError;
use thiserror::Error;

/// An error of the engine.
///
/// A mistake of a user, or a state that prevents the statement, is [`EngineError::Refused`] with SQL Server's
/// messages. An error of a lower crate keeps its own type, so that its reason is not lost.
/// [`EngineError::messages`] returns SQL Server's messages for both.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum EngineError {
    /// Refused, for the reason that the messages give: the cause first, what follows from it after.
    #[error("{}", join(.0))]
    Refused(Vec<Message>),
    /// A value that a column does not take.
    #[error("{}", .0.message(None))]
    Column(Box<ColumnFault>),
    /// The device.
    #[error(transparent)]
    Io(#[from] IoError),
    /// The log.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The buffer pool.
    #[error(transparent)]
    Pool(#[from] PoolError),
    /// A transaction.
    #[error(transparent)]
    Txn(#[from] TxnError),
    /// Files and allocation.
    #[error(transparent)]
    Space(#[from] SpaceError),
    /// Rows.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// Checkpoint or restart.
    #[error(transparent)]
    Recovery(#[from] RecoveryError),
    /// The contents of the database contradict each other.
    #[error("the database is damaged: {0}")]
    Damaged(String),
    /// A thread could not be started.
    #[error("cannot start a thread: {0}")]
    Thread(std::io::Error),
}

/// A value that a column does not take: message 515 or 2628, whose text names the database too where it is
/// known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnFault {
    pub(crate) number: u32,
    /// Schema and table.
    pub(crate) table: String,
    pub(crate) column: String,
    /// The statement (515), or what would be kept of the value (2628).
    pub(crate) what: String,
}

impl ColumnFault {
    /// SQL Server's words for it.
    pub(crate) fn message(&self, database: Option<&str>) -> Message {
        let table = match database {
            Some(database) => format!("{database}.{}", self.table),
            None => self.table.clone(),
        };
        let (table, column) = (Arg::from(table), Arg::from(self.column.as_str()));
        let what = Arg::from(self.what.as_str());
        match self.number {
            515 => Message::new(515, &[column, table, what]),
            number => Message::new(number, &[table, column, what]),
        }
    }
}

fn join(messages: &[Message]) -> String {
    let texts: Vec<String> = messages.iter().map(ToString::to_string).collect();
    texts.join("\n")
}

impl From<LockError> for EngineError {
    fn from(e: LockError) -> EngineError {
        EngineError::Txn(e.into())
    }
}

impl EngineError {
    /// Refused with one message of the tables.
    pub fn refused(number: u32, args: &[Arg]) -> EngineError {
        EngineError::Refused(vec![Message::new(number, args)])
    }

    /// Refused with these messages.
    pub fn of(message: Message) -> EngineError {
        EngineError::Refused(vec![message])
    }

    /// With one more message behind it, such as 1802 behind the error that ended CREATE DATABASE.
    #[must_use]
    pub fn followed_by(self, message: Message) -> EngineError {
        let mut messages = self.messages();
        messages.push(message);
        EngineError::Refused(messages)
    }

    /// With one more message before it, such as 5009 before the error that ended ADD FILE.
    #[must_use]
    pub fn after(self, message: Message) -> EngineError {
        let mut messages = vec![message];
        messages.extend(self.messages());
        EngineError::Refused(messages)
    }

    /// 5149 where the device had no space for a new file; other errors as they are.
    #[must_use]
    pub fn of_expansion(self) -> EngineError {
        match self.device() {
            Some(e) if e.kind == IoErrorKind::NoSpace => EngineError::of(expand_message(e)),
            _ => self,
        }
    }

    /// The device's error, if the device is the cause.
    fn device(&self) -> Option<&IoError> {
        match self {
            EngineError::Io(e)
            | EngineError::Log(LogError::Io(e))
            | EngineError::Pool(PoolError::Io { source: e, .. })
            | EngineError::Space(SpaceError::Io { source: e, .. }) => Some(e),
            _ => None,
        }
    }

    /// Number of the first message.
    pub fn number(&self) -> u32 {
        self.messages().first().map_or(0, |m| m.number)
    }

    /// Whether some message has this number.
    pub fn has(&self, number: u32) -> bool {
        self.messages().iter().any(|m| m.number == number)
    }

    /// Whether what is stored is damaged: a page cannot be read (823, 824), or is not what leads to it says.
    pub(crate) fn is_damage(&self) -> bool {
        let is_wrong = matches!(
            self,
            EngineError::Damaged(_)
                | EngineError::Access(AccessError::Damaged { .. })
                | EngineError::Space(SpaceError::Damaged { .. })
                | EngineError::Access(AccessError::Space(SpaceError::Damaged { .. }))
        );
        is_wrong || [823, 824].contains(&self.number())
    }

    /// An error where the statement of this thread's task is to end. Long loops call this; a rollback does
    /// not.
    pub fn check_cancelled() -> Result<(), EngineError> {
        match furrow_observe::task::is_cancelled() {
            true => Err(EngineError::cancelled()),
            false => Ok(()),
        }
    }

    /// The error of a statement that was ended from elsewhere.
    pub fn cancelled() -> EngineError {
        TxnError::Lock(LockError::Cancelled).into()
    }

    /// Whether a statement was ended from elsewhere ([`Canceller`](furrow_txn::lock::Canceller)).
    pub fn is_cancelled(&self) -> bool {
        matches!(
            self,
            EngineError::Txn(TxnError::Lock(LockError::Cancelled))
                | EngineError::Access(AccessError::Txn(TxnError::Lock(LockError::Cancelled)))
        )
    }

    /// What a client prints.
    pub fn messages(&self) -> Vec<Message> {
        match self {
            EngineError::Refused(messages) => messages.clone(),
            EngineError::Column(fault) => vec![fault.message(None)],
            EngineError::Io(e) => vec![io_message(e)],
            EngineError::Log(e) => vec![log_message(e)],
            EngineError::Pool(e) => vec![pool_message(e)],
            EngineError::Txn(e) => vec![txn_message(e)],
            EngineError::Access(AccessError::Txn(e)) => vec![txn_message(e)],
            EngineError::Space(e) | EngineError::Access(AccessError::Space(e)) => space_messages(e),
            EngineError::Access(e @ AccessError::Large { .. }) => {
                vec![Message::custom(7105, 22, 6, &e.to_string())]
            }
            EngineError::Recovery(RecoveryError::Log(e)) => vec![log_message(e)],
            EngineError::Recovery(RecoveryError::Pool(e)) => vec![pool_message(e)],
            EngineError::Recovery(RecoveryError::Txn(e)) => vec![txn_message(e)],
            other => vec![Message::custom(
                other.own_number(),
                21,
                1,
                &other.to_string(),
            )],
        }
    }

    fn own_number(&self) -> u32 {
        match self {
            EngineError::Recovery(RecoveryError::Broken { .. }) => 824,
            EngineError::Recovery(RecoveryError::Redo { .. }) => 3456,
            EngineError::Recovery(_) => 3313,
            EngineError::Thread(_) => 701,
            _ => 8646,
        }
    }
}

/// Refused with a message that the tables do not have: number, level, state and text.
pub fn refuse(number: u32, level: u8, state: u8, text: &str) -> EngineError {
    EngineError::of(Message::custom(number, level, state, text))
}

/// The space's error within an error, if it is one.
pub(crate) fn space_error(error: &EngineError) -> Option<&SpaceError> {
    match error {
        EngineError::Space(e) | EngineError::Access(AccessError::Space(e)) => Some(e),
        _ => None,
    }
}

/// Whether an error means that a filegroup is full.
pub(crate) fn is_full(error: &EngineError) -> bool {
    matches!(space_error(error), Some(SpaceError::FilegroupFull { .. }))
}

/// Why the log is full, if the error means that.
pub(crate) fn full_log_reason(error: &EngineError) -> Option<ReuseWait> {
    let txn = match error {
        EngineError::Log(e) | EngineError::Recovery(RecoveryError::Log(e)) => {
            return full_reason(e);
        }
        EngineError::Txn(e)
        | EngineError::Access(AccessError::Txn(e))
        | EngineError::Recovery(RecoveryError::Txn(e)) => e,
        other => match space_error(other) {
            Some(SpaceError::Txn(e)) => e,
            _ => return None,
        },
    };
    match txn {
        TxnError::Log(e) => full_reason(e),
        _ => None,
    }
}

fn full_reason(error: &LogError) -> Option<ReuseWait> {
    match error {
        LogError::Full(reason) => Some(*reason),
        _ => None,
    }
}

/// The operating system's error as SQL Server's messages quote it: number and text.
pub fn os_error(kind: &IoErrorKind) -> String {
    format!("{}({kind})", kind.os_number())
}

/// 5149: a file could not become longer.
fn expand_message(e: &IoError) -> Message {
    let path = e.path.display().to_string();
    Message::new(5149, &[os_error(&e.kind).into(), path.into()])
}

fn io_message(e: &IoError) -> Message {
    if e.op == IoOp::Resize && e.kind == IoErrorKind::NoSpace {
        return expand_message(e);
    }
    if e.kind == IoErrorKind::NameTooLong {
        return Message::new(5105, &[e.path.display().to_string().into()]);
    }
    let args = [
        os_error(&e.kind).into(),
        Arg::from(e.op.text()),
        Arg::from(e.offset),
        Arg::from(e.path.display().to_string()),
    ];
    Message::new(823, &args)
}

fn space_messages(e: &SpaceError) -> Vec<Message> {
    let numbered = |number: u32| {
        let (level, state) = furrow_messages::info(number).map_or((16, 1), |i| (i.level, i.state));
        Message::custom(number, level, state, &e.to_string())
    };
    match e {
        SpaceError::Txn(e) => vec![txn_message(e)],
        SpaceError::Io { source, .. } => vec![io_message(source)],
        SpaceError::Expand { source, .. } => vec![expand_message(source)],
        // `DatabaseCore::with_names` replaces this with SQL Server's text, which names the object and the
        // database.
        SpaceError::FilegroupFull { cause, .. } => {
            let cause = cause.iter().map(expand_message);
            cause.chain([numbered(1105)]).collect()
        }
        // As any other damage of what is stored.
        SpaceError::Damaged { .. } => vec![Message::custom(8646, 21, 1, &e.to_string())],
        other => vec![numbered(other.number().unwrap_or(8646))],
    }
}

fn log_message(e: &LogError) -> Message {
    match e {
        LogError::Io(e) => io_message(e),
        LogError::Full(reason) => {
            let text = format!(
                "The transaction log for the database is full due to '{}'.",
                reason.name()
            );
            Message::custom(9002, 17, reason.number(), &text)
        }
        other => Message::custom(9001, 21, 1, &other.to_string()),
    }
}

fn pool_message(e: &PoolError) -> Message {
    match e {
        PoolError::Io { source, .. } => io_message(source),
        PoolError::BadPage { key, path, fault } => {
            let DatabaseId(db) = key.db;
            let args = [
                Arg::from(fault.to_string()),
                Arg::from("read"),
                Arg::page(key.page.file.0, key.page.page.0),
                Arg::from(db),
                Arg::from(u64::from(key.page.page.0) * furrow_format::PAGE_SIZE as u64),
                Arg::from(path.display().to_string()),
            ];
            Message::new(824, &args)
        }
        PoolError::UnknownFile { db, file } => {
            Message::new(5180, &[file.0.into(), db.0.to_string().into()])
        }
        other => Message::custom(other.number().unwrap_or(8646), 17, 1, &other.to_string()),
    }
}

fn txn_message(e: &TxnError) -> Message {
    match e {
        TxnError::Log(e) => log_message(e),
        TxnError::Pool(e) => pool_message(e),
        TxnError::Lock(e) => {
            let number = e.number().unwrap_or(0);
            let (level, state) =
                furrow_messages::info(number).map_or((16, 1), |i| (i.level, i.state));
            Message::custom(number, level, state, &e.to_string())
        }
        TxnError::NoChanges(_) => Message::custom(9001, 21, 5, &e.to_string()),
        other => Message::custom(3314, 21, 1, &other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use furrow_format::{FileId, PageId, PageNo};

    #[test]
    fn damage_of_an_allocation_map_has_the_level_of_other_damage() {
        let damaged = SpaceError::Damaged {
            page: PageId {
                file: FileId(1),
                page: PageNo(8),
            },
            what: "the IAM chain is out of sequence",
        };
        let of_rows = EngineError::Damaged("a row has no text".to_owned());
        for error in [EngineError::Space(damaged), of_rows] {
            let messages = error.messages();
            let shown: Vec<_> = messages.iter().map(|m| (m.number, m.level)).collect();
            assert_eq!(shown, [(8646, 21)], "{error}");
        }
    }
}
