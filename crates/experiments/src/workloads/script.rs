//! A load of the user's own: a script that every session runs again and again.

use super::load::{Job, Piece, Work};
use crate::targets::{Session, StatementId, TargetError, batches};

/// What stands for the number of the session in a script, from 0.
const SESSION: &str = "$(SESSION)";

/// A script. A unit is one run of it from beginning to end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    /// Its text; `GO` separates batches, `$(SESSION)` is the number of the session.
    pub text: String,
}

impl Work for Script {
    fn open(&self, place: u32, session: &mut dyn Session) -> Result<Box<dyn Job>, TargetError> {
        let text = self.text.replace(SESSION, &place.to_string());
        let mut steps = Vec::new();
        for (batch, times) in batches(&text) {
            steps.push((session.prepare(&batch, "")?, times));
        }
        if steps.is_empty() {
            return Err(TargetError::other("the load has no statement"));
        }
        Ok(Box::new(Steps(steps)))
    }
}

struct Steps(Vec<(StatementId, u32)>);

impl Job for Steps {
    fn next(&mut self, session: &mut dyn Session, _piece: Piece) -> Result<u64, TargetError> {
        for &(statement, times) in &self.0 {
            for _ in 0..times {
                session.execute(statement, &[])?;
            }
        }
        Ok(1)
    }
}
