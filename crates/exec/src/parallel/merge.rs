//! Aggregates of which each helper has computed a part.

use super::exchange::Batch;
use super::team::Team;
use crate::aggregate::AggregatePlan;
use crate::operator::Cursor;
use furrow_context::context::Context;
use furrow_context::error::Result;

/// Joins the parts. Where there is no memory for all groups, the session's thread computes the aggregate from
/// the start, with the files that it has for this: nothing has been given out before.
pub(super) fn merged<'p>(
    aggregate: &'p AggregatePlan,
    mut team: Team,
    cx: &mut Context,
) -> Result<Cursor<'p>> {
    let mut all = None;
    let joined = loop {
        match team.receive(cx) {
            Err(error) => break Err(error),
            Ok(None) => break Ok(!team.gave_up()),
            Ok(Some(Batch::Rows(_))) => {}
            Ok(Some(Batch::Groups(part))) => match aggregate.join(&mut all, *part, cx) {
                Err(error) => break Err(error),
                Ok(false) => break Ok(false),
                Ok(true) => {}
            },
        }
    };
    team.end(cx);
    drop(team);
    match joined? {
        true => aggregate.open_joined(all, cx),
        false => {
            drop(all);
            aggregate.open(cx)
        }
    }
}
