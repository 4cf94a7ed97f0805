//! Groups of a part of the rows, and how they are joined.

use super::AggregatePlan;
use super::group::Group;
use super::rounds::Round;
use crate::operator::{Cursor, Ready};
use furrow_context::context::Context;
use furrow_context::error::{Result, SqlError};
use furrow_context::memory::Grant;
use furrow_types::Value;

/// The groups of a part of the rows, in the order in which they came up; of an aggregate without groups, one.
#[derive(Debug)]
pub(crate) struct Partial {
    keys: Vec<Vec<Value>>,
    groups: Vec<Group>,
    /// What the keys take.
    grant: Grant,
}

/// What the parts have been joined to so far.
pub(crate) enum Joined<'p> {
    One(Group),
    Groups(Box<Round<'p>>),
}

impl AggregatePlan {
    fn has_groups(&self) -> bool {
        !self.groups.is_empty() || self.sets.len() > 1
    }

    /// The groups of the rows that the input gives here; `None` where there is no memory for them.
    pub(crate) fn partial(&self, cx: &mut Context) -> Result<Option<Partial>> {
        let grant = Grant::new(&cx.memory);
        if !self.has_groups() {
            return Ok(Some(Partial {
                keys: Vec::new(),
                groups: vec![self.whole(cx)?],
                grant,
            }));
        }
        let mut round = Round::new(self, 0, cx);
        let sets = self.sets.len();
        let mut is_full = false;
        let done = self.input.for_each(cx, &mut |cx, row| {
            for set in 0..sets {
                round.take(set, row, cx)?;
            }
            is_full = round.is_full();
            match is_full {
                // This ends the scan; it is not reported.
                true => Err(SqlError::cancelled()),
                false => Ok(()),
            }
        });
        if is_full {
            return Ok(None);
        }
        done?;
        let (keys, groups, grant) = round.into_groups();
        Ok(Some(Partial {
            keys,
            groups,
            grant,
        }))
    }

    /// Joins another part; `false` where there is no memory for its groups.
    pub(crate) fn join<'p>(
        &'p self,
        all: &mut Option<Joined<'p>>,
        part: Partial,
        cx: &Context,
    ) -> Result<bool> {
        let Partial {
            keys,
            groups,
            grant,
        } = part;
        if !self.has_groups() {
            for group in groups {
                match all {
                    Some(Joined::One(one)) => self.add_group(one, &group)?,
                    _ => *all = Some(Joined::One(group)),
                }
            }
            return Ok(true);
        }
        if all.is_none() {
            *all = Some(Joined::Groups(Box::new(Round::new(self, 0, cx))));
        }
        let Some(Joined::Groups(round)) = all else {
            return Ok(true);
        };
        for (key, group) in keys.iter().zip(groups) {
            cx.check_cancel()?;
            if !round.join(key, group)? {
                return Ok(false);
            }
        }
        drop(grant);
        Ok(true)
    }

    /// The result of the joined parts.
    pub(crate) fn open_joined<'p>(
        &'p self,
        all: Option<Joined<'p>>,
        cx: &mut Context,
    ) -> Result<Cursor<'p>> {
        match all {
            Some(Joined::Groups(round)) => Ok(Cursor::new(self.grouped(*round, cx)?)),
            Some(Joined::One(group)) => self.open_one(group, cx),
            None if self.has_groups() => {
                Ok(Cursor::new(self.grouped(Round::new(self, 0, cx), cx)?))
            }
            None => self.open_one(self.start(cx), cx),
        }
    }

    /// The row of an aggregate without groups.
    pub(super) fn open_one<'p>(&'p self, group: Group, cx: &Context) -> Result<Cursor<'p>> {
        let mut out = Vec::new();
        self.finish(group, &mut out, cx)?;
        Ok(Cursor::new(Ready::new(vec![out])))
    }
}
