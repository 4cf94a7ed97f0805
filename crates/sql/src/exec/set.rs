//! DISTINCT, UNION, EXCEPT, INTERSECT.

use super::key::KeyTable;
use super::memory::Grant;
use super::operator::{Cursor, Operator, Plan};
use crate::context::Context;
use crate::error::Result;
use furrow_format::types::{DataType, Value};

/// Which rows of two inputs are given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SetKind {
    /// Those of the one, then of the other.
    UnionAll,
    /// Those of the left that the right has not, once each.
    Except,
    /// Those that both have, once each.
    Intersect,
}

/// A set operation; both sides have the same types.
#[derive(Debug, Clone)]
pub(crate) struct SetPlan {
    pub(crate) kind: SetKind,
    pub(crate) left: Plan,
    pub(crate) right: Plan,
    pub(crate) types: Vec<DataType>,
}

impl SetPlan {
    pub(crate) fn open<'p>(&'p self, cx: &mut Context) -> Result<Cursor<'p>> {
        if self.kind == SetKind::UnionAll {
            return Ok(Box::new(Union {
                first: Some(self.left.open(cx)?),
                plan: self,
                second: None,
            }));
        }
        let mut others = KeyTable::new(self.types.clone(), Grant::new(cx));
        self.right.for_each(cx, &mut |_, row| {
            others.insert(row)?;
            Ok(())
        })?;
        Ok(Box::new(Unique {
            input: self.left.open(cx)?,
            seen: KeyTable::new(self.types.clone(), Grant::new(cx)),
            others: Some((others, self.kind == SetKind::Intersect)),
        }))
    }
}

/// Each row once.
pub(crate) fn distinct<'p>(
    input: &'p Plan,
    types: &[DataType],
    cx: &mut Context,
) -> Result<Cursor<'p>> {
    Ok(Box::new(Unique {
        input: input.open(cx)?,
        seen: KeyTable::new(types.to_vec(), Grant::new(cx)),
        others: None,
    }))
}

struct Union<'p> {
    first: Option<Cursor<'p>>,
    plan: &'p SetPlan,
    second: Option<Cursor<'p>>,
}

impl Operator for Union<'_> {
    fn next(&mut self, cx: &mut Context, out: &mut Vec<Value>) -> Result<bool> {
        if let Some(first) = &mut self.first {
            if first.next(cx, out)? {
                return Ok(true);
            }
            first.close(cx);
            self.first = None;
            out.clear();
            self.second = Some(self.plan.right.open(cx)?);
        }
        match &mut self.second {
            Some(second) => second.next(cx, out),
            None => Ok(false),
        }
    }

    fn close(&mut self, cx: &mut Context) {
        for mut cursor in [self.first.take(), self.second.take()]
            .into_iter()
            .flatten()
        {
            cursor.close(cx);
        }
    }
}

struct Unique<'p> {
    input: Cursor<'p>,
    seen: KeyTable,
    /// Rows of the other side, and whether a row must be among them, or must not.
    others: Option<(KeyTable, bool)>,
}

impl Operator for Unique<'_> {
    fn next(&mut self, cx: &mut Context, out: &mut Vec<Value>) -> Result<bool> {
        while self.input.next(cx, out)? {
            if let Some((others, wanted)) = &self.others
                && others.find(out).is_some() != *wanted
            {
                continue;
            }
            if self.seen.insert(out)?.1 {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn close(&mut self, cx: &mut Context) {
        self.input.close(cx);
    }
}
