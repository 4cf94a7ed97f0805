//! Options of BACKUP and RESTORE that exclude each other, and those that a statement does not have.

use furrow_context::error::{Result, refuse};
use furrow_tsql::ast::database::{Restore, RestoreKind, RestoreOption};

/// Options of which a statement has one at most.
const ONE_OF: &[&[&str]] = &[
    &["CHECKSUM", "NO_CHECKSUM"],
    &["COMPRESSION", "NO_COMPRESSION"],
    &["FORMAT", "NOFORMAT"],
    &["INIT", "NOINIT"],
    &["RECOVERY", "NORECOVERY", "STANDBY"],
    &["REWIND", "NOREWIND"],
    &["SKIP", "NOSKIP"],
    &["STOPAT", "STOPATMARK", "STOPBEFOREMARK"],
    &["STOP_ON_ERROR", "CONTINUE_AFTER_ERROR"],
    &["UNLOAD", "NOUNLOAD"],
];

/// Options of every RESTORE that reads media.
const OF_MEDIA: &[&str] = &[
    "CHECKSUM",
    "CONTINUE_AFTER_ERROR",
    "CREDENTIAL",
    "MEDIANAME",
    "MEDIAPASSWORD",
    "NOREWIND",
    "NOUNLOAD",
    "NO_CHECKSUM",
    "REWIND",
    "STOP_ON_ERROR",
    "UNLOAD",
];

/// Options of those that read a set.
const OF_SETS: &[&str] = &["DBNAME", "FILE", "METADATA_ONLY", "PASSWORD"];

/// Options of the one that reads all of a set.
const OF_VERIFYONLY: &[&str] = &[
    "BLOCKSIZE",
    "BUFFERCOUNT",
    "LOADHISTORY",
    "MAXTRANSFERSIZE",
    "MOVE",
    "RESTART",
    "STATS",
];

/// 3031 for an option that is written twice, or beside one that excludes it.
pub(super) fn no_conflicts<'a>(names: impl Iterator<Item = &'a str>) -> Result<()> {
    let mut before: Vec<&str> = Vec::new();
    for name in names {
        let group = ONE_OF.iter().find(|group| group.contains(&name));
        let excludes =
            |other: &&str| *other == name || group.is_some_and(|group| group.contains(other));
        if let Some(other) = before.iter().copied().find(excludes) {
            let args = [other.to_lowercase().into(), name.to_lowercase().into()];
            return refuse(3031, &args);
        }
        before.push(name);
    }
    Ok(())
}

/// The name of an option of RESTORE.
fn name_of(option: &RestoreOption) -> &str {
    match option {
        RestoreOption::Move(..) => "MOVE",
        RestoreOption::Mark(option, _) | RestoreOption::Opt(option) => &option.name,
    }
}

/// Whether a RESTORE has this option.
fn has(kind: RestoreKind, name: &str) -> bool {
    let reads = OF_MEDIA.contains(&name);
    let reads_set = reads || OF_SETS.contains(&name);
    match kind {
        RestoreKind::Database => name != "LOADHISTORY",
        RestoreKind::Log => !["LOADHISTORY", "PARTIAL"].contains(&name),
        RestoreKind::FileListOnly | RestoreKind::HeaderOnly => reads_set,
        RestoreKind::VerifyOnly => reads_set || OF_VERIFYONLY.contains(&name),
        RestoreKind::LabelOnly | RestoreKind::RewindOnly => reads,
    }
}

/// 3032 for options that another RESTORE has, then 3031. (MOVE may be repeated.)
pub(super) fn of_restore(written: &Restore) -> Result<()> {
    let names = || written.options.iter().map(name_of);
    let strange: Vec<String> = names()
        .filter(|name| !has(written.kind, name))
        .map(str::to_lowercase)
        .collect();
    if !strange.is_empty() {
        return refuse(3032, &[strange.join(", ").into()]);
    }
    no_conflicts(names().filter(|name| *name != "MOVE"))
}
