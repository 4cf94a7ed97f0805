//! DISTINCT, UNION, EXCEPT, INTERSECT.

use super::key::{KeyTable, Place, hash_key};
use super::operator::{Cursor, Operator, Plan};
use super::spill::{Partitions, Reader, Run};
use furrow_context::context::Context;
use furrow_context::error::Result;
use furrow_context::memory::Grant;
use furrow_types::{DataType, Value};
use std::sync::Arc;

/// Which rows of two inputs are given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetKind {
    /// Those of the one, then of the other.
    UnionAll,
    /// Those of the left that the right has not, once each.
    Except,
    /// Those that both have, once each.
    Intersect,
}

/// A set operation; both sides have the same types.
#[derive(Debug, Clone)]
pub struct SetPlan {
    /// Which of them.
    pub kind: SetKind,
    /// The first query.
    pub left: Plan,
    /// The second query.
    pub right: Plan,
    /// The types of the columns.
    pub types: Vec<DataType>,
}

impl SetPlan {
    pub(crate) fn open<'p>(&'p self, cx: &mut Context) -> Result<Cursor<'p>> {
        if self.kind == SetKind::UnionAll {
            return Ok(Cursor::new(Union {
                first: Some(self.left.open(cx)?),
                plan: self,
                second: None,
            }));
        }
        let types = self.types.clone();
        let wanted = self.kind == SetKind::Intersect;
        let mut others = Others::new(&types, wanted, 0, cx);
        self.right
            .for_each(cx, &mut |cx, row| others.take(row, cx))?;
        let input = Source::Input(self.left.open(cx)?);
        Ok(Cursor::new(Unique::new(input, types, Some(others), cx)))
    }
}

/// Each row once.
pub fn distinct<'p>(input: &'p Plan, types: &[DataType], cx: &mut Context) -> Result<Cursor<'p>> {
    let input = Source::Input(input.open(cx)?);
    Ok(Cursor::new(Unique::new(input, types.to_vec(), None, cx)))
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

/// Rows of the right side: a left row must be among them, or must not.
struct Others {
    keys: KeyTable,
    wanted: bool,
    level: u32,
    /// Those for which there was no memory.
    apart: Option<Partitions>,
}

impl Others {
    fn new(types: &[DataType], wanted: bool, level: u32, cx: &Context) -> Others {
        Others {
            keys: KeyTable::new(types.to_vec(), Grant::new(&cx.memory)),
            wanted,
            level,
            apart: None,
        }
    }

    fn take(&mut self, row: &[Value], cx: &Context) -> Result<()> {
        if let Place::Full(hash) = self.keys.place(row) {
            apart(&mut self.apart, self.level, cx)?.push(hash, row, &[])?;
        }
        Ok(())
    }

    /// Whether a left row passes; `None` if the rows for which there was no memory decide it.
    fn pass(&self, row: &[Value]) -> Option<bool> {
        let found = self.keys.find(row).is_some();
        (found || self.apart.is_none()).then_some(found == self.wanted)
    }
}

fn apart<'a>(
    of: &'a mut Option<Partitions>,
    level: u32,
    cx: &Context,
) -> Result<&'a mut Partitions> {
    Ok(match of {
        Some(apart) => apart,
        None => of.insert(Partitions::new(level, cx)?),
    })
}

enum Source<'p> {
    Input(Cursor<'p>),
    /// Rows put apart before; each ends in whether it is known to pass.
    Apart(Reader),
}

/// Rows that pass, once each. Those for which there is no memory are written to partitions by their hash,
/// together with those of the other side, and come later.
struct Unique<'p> {
    source: Source<'p>,
    types: Vec<DataType>,
    seen: KeyTable,
    others: Option<Others>,
    wanted: bool,
    level: u32,
    /// Left rows for which there was no memory, or that wait for such right rows.
    apart: Option<Partitions>,
    pending: Vec<Pending>,
}

/// A partition of left rows and that of the right ones, with the level they were put apart at.
type Pending = (Arc<Run>, Option<Arc<Run>>, u32);

impl<'p> Unique<'p> {
    fn new(
        source: Source<'p>,
        types: Vec<DataType>,
        others: Option<Others>,
        cx: &Context,
    ) -> Unique<'p> {
        Unique {
            source,
            seen: KeyTable::new(types.clone(), Grant::new(&cx.memory)),
            types,
            wanted: others.as_ref().is_some_and(|others| others.wanted),
            others,
            level: 0,
            apart: None,
            pending: Vec::new(),
        }
    }

    /// The next row, and whether it is known to pass.
    fn pull(&mut self, cx: &mut Context, out: &mut Vec<Value>) -> Result<Option<bool>> {
        match &mut self.source {
            Source::Input(input) => Ok(input.next(cx, out)?.then_some(self.others.is_none())),
            Source::Apart(rows) => {
                let Some(mut row) = rows.next()? else {
                    return Ok(None);
                };
                let passes = row.pop() == Some(Value::Bit(true));
                *out = row;
                Ok(Some(passes))
            }
        }
    }

    fn set_apart(&mut self, hash: u64, row: &[Value], passes: bool, cx: &Context) -> Result<()> {
        let to = apart(&mut self.apart, self.level, cx)?;
        to.push(hash, row, &[Value::Bit(passes)])
    }

    /// Continues with the next partition; `false` where there is none.
    fn advance(&mut self, cx: &mut Context) -> Result<bool> {
        let others = self.others.take().and_then(|others| others.apart);
        if let Some(left) = self.apart.take() {
            let right = match others {
                Some(others) => others.finish_all()?,
                None => Vec::new(),
            };
            for (at, left) in left.finish_all()?.into_iter().enumerate() {
                let right = right.get(at).cloned().flatten();
                if let Some(left) = left {
                    self.pending.push((left, right, self.level + 1));
                }
            }
        }
        // What this round has stored is freed before the next one stores.
        self.seen = KeyTable::new(self.types.clone(), Grant::new(&cx.memory));
        let Some((left, right, level)) = self.pending.pop() else {
            return Ok(false);
        };
        self.level = level;
        let mut others = Others::new(&self.types, self.wanted, level, cx);
        if let Some(right) = right {
            let mut rows = Reader::new(&right);
            while let Some(row) = rows.next()? {
                others.take(&row, cx)?;
            }
        }
        self.others = Some(others);
        self.close(cx);
        self.source = Source::Apart(Reader::new(&left));
        Ok(true)
    }
}

impl Operator for Unique<'_> {
    fn next(&mut self, cx: &mut Context, out: &mut Vec<Value>) -> Result<bool> {
        loop {
            let Some(passes) = self.pull(cx, out)? else {
                match self.advance(cx)? {
                    true => continue,
                    false => return Ok(false),
                }
            };
            let others = self.others.as_ref().filter(|_| !passes);
            match others.map_or(Some(true), |others| others.pass(out)) {
                Some(true) => {}
                Some(false) => continue,
                None => {
                    self.set_apart(hash_key(out, &self.types), out, false, cx)?;
                    continue;
                }
            }
            match self.seen.place(out) {
                Place::Known(_) => {}
                Place::New(_) => return Ok(true),
                Place::Full(hash) => self.set_apart(hash, out, true, cx)?,
            }
        }
    }

    fn close(&mut self, cx: &mut Context) {
        if let Source::Input(input) = &mut self.source {
            input.close(cx);
        }
    }
}
