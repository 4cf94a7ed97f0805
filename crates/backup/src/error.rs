//! Why a backup or a restore fails.

use crate::media::MediaError;
use furrow_engine::EngineError;
use furrow_io::{IoError, IoErrorKind};
use furrow_messages::{Arg, Message};
use std::path::Path;

/// Why a backup or a restore fails.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// For the reason that the messages give.
    #[error("{}", first(.0))]
    Refused(Vec<Message>),
    /// The engine.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The client asked for the end.
    #[error("the backup or restore was cancelled")]
    Cancelled,
}

fn first(messages: &[Message]) -> String {
    messages
        .first()
        .map_or_else(String::new, ToString::to_string)
}

impl BackupError {
    /// One message of the tables.
    pub(crate) fn refused(number: u32, args: &[Arg]) -> BackupError {
        BackupError::Refused(vec![Message::new(number, args)])
    }

    /// 40514 for what is not supported.
    pub(crate) fn unsupported(what: &str) -> BackupError {
        let text = format!("'{what}' is not supported.");
        BackupError::Refused(vec![Message::custom(40_514, 16, 1, &text)])
    }

    /// SQL Server's messages for it; none of one that was cancelled.
    pub fn messages(&self) -> Vec<Message> {
        match self {
            BackupError::Refused(messages) => messages.clone(),
            BackupError::Engine(error) => error.messages(),
            BackupError::Cancelled => Vec::new(),
        }
    }

    /// 3201: a device cannot be opened.
    pub(crate) fn cannot_open(path: &Path, e: &IoError) -> BackupError {
        let reason = format!("{}({})", e.kind.os_number(), e.kind);
        BackupError::refused(3201, &[shown(path), reason.into()])
    }

    /// 3202: a device cannot be written.
    pub(crate) fn cannot_write(path: &Path, e: &IoError) -> BackupError {
        let reason = match e.kind {
            IoErrorKind::NoSpace => "112(There is not enough space on the disk.)".to_owned(),
            _ => format!("{}({})", e.kind.os_number(), e.kind),
        };
        BackupError::refused(3202, &[shown(path), reason.into()])
    }

    /// What is wrong with the media on a device.
    pub(crate) fn of_media(path: &Path, e: &MediaError) -> BackupError {
        match e {
            MediaError::Io(e) => {
                let reason = format!("{}({})", e.kind.os_number(), e.kind);
                BackupError::refused(3203, &[shown(path), reason.into()])
            }
            MediaError::Empty => BackupError::refused(3254, &[shown(path)]),
            MediaError::NotMedia => BackupError::refused(3242, &[shown(path)]),
            MediaError::BadHeader => BackupError::refused(3241, &[shown(path)]),
            MediaError::Incomplete => BackupError::refused(3256, &[shown(path)]),
            MediaError::Locked(thumbprint) => {
                let mut digits = "0x".to_owned();
                thumbprint
                    .iter()
                    .for_each(|b| digits.push_str(&format!("{b:02X}")));
                BackupError::refused(33_111, &["certificate".into(), digits.into()])
            }
            MediaError::Damaged(what) => BackupError::damaged(path, what),
        }
    }

    /// 3189, and the stripe that is damaged.
    pub(crate) fn damaged(path: &Path, what: &str) -> BackupError {
        let reason = format!("13(The data is invalid: {what}.)");
        let stripe = Message::new(3203, &[shown(path), reason.into()]);
        BackupError::Refused(vec![Message::new(3189, &[]), stripe])
    }
}

/// A path as messages show it.
pub(crate) fn shown(path: &Path) -> Arg {
    path.display().to_string().into()
}
