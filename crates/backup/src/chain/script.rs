//! A chain as T-SQL.

use super::error::shown_time;
use super::plan::{Chain, ChainStep};
use crate::media::{BackupKind, SetFile};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// How a script restores.
#[derive(Debug, Clone, Default)]
pub struct ScriptOptions {
    /// The name that the database gets; its own where none is stated.
    pub name: Option<String>,
    /// MOVE: the directory that the files go to; where they were if none is stated.
    pub to: Option<PathBuf>,
    /// REPLACE.
    pub replace: bool,
    /// The last statement says NORECOVERY, too.
    pub norecovery: bool,
}

/// Where the files of each step go, if all of them go to one directory: only files that no step before has.
/// Names of files stay; where two are the same, the number of the file goes before.
pub fn file_moves(chain: &Chain, to: &Path) -> Vec<Vec<(String, PathBuf)>> {
    let (mut known, mut taken) = (BTreeSet::new(), BTreeSet::new());
    let mut place = |file: &SetFile| {
        let name = Path::new(&file.path).file_name();
        let name = name.map_or_else(|| file.name.clone(), |n| n.to_string_lossy().into_owned());
        let name = match taken.insert(name.to_lowercase()) {
            true => name,
            false => format!("{}_{name}", file.id),
        };
        (file.name.clone(), to.join(name))
    };
    let mut moves = Vec::new();
    for step in &chain.steps {
        let new = step.info.files.iter();
        let new: Vec<&SetFile> = new.filter(|f| known.insert((f.id, f.guid.0))).collect();
        moves.push(new.into_iter().map(&mut place).collect());
    }
    moves
}

fn quoted(text: &str) -> String {
    format!("N'{}'", text.replace('\'', "''"))
}

fn bracketed(name: &str) -> String {
    format!("[{}]", name.replace(']', "]]"))
}

/// What a comment may show of a text: no line ends.
fn in_comment(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

/// What a set is, in a few words.
fn described(step: &ChainStep) -> String {
    let kind = match step.info.kind {
        BackupKind::Database if step.info.copy_only => "full backup (copy only)",
        BackupKind::Database => "full backup",
        BackupKind::Differential => "differential backup",
        BackupKind::Log => "log backup",
        BackupKind::Files => "backup of files",
    };
    let damaged = match step.info.damaged {
        true => ", with damaged pages",
        false => "",
    };
    format!("{kind} of {}{damaged}", shown_time(step.info.finished_us))
}

/// The RESTORE statements of a chain.
pub fn script(chain: &Chain, options: &ScriptOptions) -> String {
    let mut text = String::new();
    let name = options.name.as_deref().unwrap_or(chain.database());
    let reached = chain.steps.last().map_or(0, |s| s.info.finished_us);
    let _ = writeln!(
        text,
        "-- Restores database {} to its state of {} (UTC).",
        in_comment(chain.database()),
        shown_time(reached)
    );
    for step in &chain.unused {
        let (set, what) = (in_comment(&step.name()), described(step));
        let _ = writeln!(text, "-- Not needed: {set}, {what}.");
    }
    let moves = match &options.to {
        Some(to) => file_moves(chain, to),
        None => vec![Vec::new(); chain.steps.len()],
    };
    let last = chain.steps.len().saturating_sub(1);
    for (at, (step, moves)) in chain.steps.iter().zip(&moves).enumerate() {
        let recovery = at == last && !options.norecovery;
        statement(
            &mut text,
            step,
            (name, recovery, options.replace && at == 0),
            moves,
        );
    }
    text
}

fn statement(
    text: &mut String,
    step: &ChainStep,
    (name, recovery, replace): (&str, bool, bool),
    moves: &[(String, PathBuf)],
) {
    let object = match step.info.kind {
        BackupKind::Log => "LOG",
        BackupKind::Database | BackupKind::Differential | BackupKind::Files => "DATABASE",
    };
    let disk = |path: &PathBuf| format!("DISK = {}", quoted(&path.display().to_string()));
    let disks: Vec<String> = step.paths.iter().map(disk).collect();
    let mut with = vec![format!("FILE = {}", step.position)];
    with.push(if recovery { "RECOVERY" } else { "NORECOVERY" }.to_owned());
    if let Some(stop) = step.stop {
        with.push(format!("STOPATMARK = N'lsn:{}'", stop.to_numeric()));
    }
    if replace {
        with.push("REPLACE".to_owned());
    }
    with.extend(moves.iter().map(|(file, to)| {
        let to = quoted(&to.display().to_string());
        format!("MOVE {} TO {to}", quoted(file))
    }));
    let _ = writeln!(text, "-- The {}.", described(step));
    let _ = writeln!(text, "RESTORE {object} {}", bracketed(name));
    let _ = writeln!(text, "    FROM {}", disks.join(",\n         "));
    let _ = writeln!(text, "    WITH {};", with.join(",\n         "));
}
