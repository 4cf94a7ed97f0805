//! A database that is made once, detached, and copied for each run: its files attached under an instance of
//! the run's own.

use super::place::{RunPlace, failed, start_instance};
use super::prepared::literal;
use crate::targets::{DatabaseLayout, Startup, Target, quoted};
use furrow_lab::experiment::{RunContext, StepError};
use std::path::PathBuf;

/// Detaches the database of a place and stops the instance; the files stay.
pub(crate) fn detach(target: &mut dyn Target, place: &RunPlace) -> Result<(), StepError> {
    let mut session = target.connect().map_err(failed)?;
    let text = format!("EXEC sp_detach_db N'{}';", place.name.replace('\'', "''"));
    session.batch(&text).map_err(failed)?;
    drop(session);
    target.stop().map_err(failed)
}

/// Copies the files of `from` to `place`, starts an instance there and attaches them.
pub(crate) fn attach_copies(
    target: &mut dyn Target,
    (from, place): (&RunPlace, &RunPlace),
    (startup, layout): (&Startup, &DatabaseLayout),
    context: &mut RunContext<'_>,
) -> Result<(), StepError> {
    debug_assert_eq!(
        from.data.len(),
        place.data.len(),
        "a copy has as many files"
    );
    let copies = from.data.iter().zip(&place.data);
    for (from, to) in copies.chain([(&from.log, &place.log)]) {
        context.restore(from, to)?;
    }
    // The files beside them are made by the attach.
    for path in target.paths(layout) {
        if !place.data.contains(&path) && path != place.log {
            context.claim_file(&path)?;
        }
    }
    start_instance(target, startup, context)?;
    let file = |path: &PathBuf| format!("(FILENAME = {})", literal(path));
    let all: Vec<String> = place.data.iter().chain([&place.log]).map(file).collect();
    let text = format!(
        "CREATE DATABASE {} ON {} FOR ATTACH;",
        quoted(&place.name),
        all.join(", ")
    );
    let mut session = target.connect().map_err(failed)?;
    session.batch(&text).map(|_| ()).map_err(failed)
}
