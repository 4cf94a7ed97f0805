//! Joins whose right side is stored, by key or as it is: it is run once, and each left row is compared with
//! it.
//!
//! Where there is no memory for all of the right side it is stored a block at a time: what is left of it, and
//! the left side, are written to files, and the left side is read again for each block. A left row that needs
//! a pair in none of the blocks comes with the last one; a right row, with its own.

use super::expr::Expr;
use super::join::{JoinKind, JoinPlan, Method, joined, picked};
use super::key::{Identity, hash_key, same_key};
use super::operator::{Cursor, Operator};
use super::spill::{Reader, Run, SpillFile, Stream};
use furrow_context::context::Context;
use furrow_context::error::Result;
use furrow_context::memory::{Grant, LEAST_BYTES, row_bytes};
use furrow_types::Value;
use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::sync::Arc;

/// What a row takes in the tables besides itself and its key.
const ENTRY: usize = 48;

/// A block of the right side.
struct Built {
    /// Of each row the columns that joined rows have.
    rows: Vec<Vec<Value>>,
    keys: Vec<Vec<Value>>,
    by_hash: HashMap<u64, Vec<u32>, BuildHasherDefault<Identity>>,
    paired: Vec<bool>,
    /// What all that takes.
    grant: Grant,
}

impl Built {
    fn new(cx: &Context) -> Built {
        Built {
            rows: Vec::new(),
            keys: Vec::new(),
            by_hash: HashMap::default(),
            paired: Vec::new(),
            grant: Grant::new(&cx.memory),
        }
    }

    /// Takes a row; `false` where there is no memory for another one.
    fn add(&mut self, plan: &JoinPlan, row: &[Value], cx: &mut Context) -> Result<bool> {
        let kept: Vec<Value> = picked(plan, row).cloned().collect();
        let mut bytes = row_bytes(&kept) + ENTRY;
        if let Method::Hash { right, types, .. } = &plan.method {
            let key = eval_key(right, row, cx)?;
            if !key.iter().any(Value::is_null) {
                let at = self.rows.len() as u32;
                let hash = hash_key(&key, types);
                self.by_hash.entry(hash).or_default().push(at);
            }
            bytes += row_bytes(&key);
            self.keys.push(key);
        }
        self.rows.push(kept);
        self.paired.push(false);
        Ok(self.grant.fits(bytes, LEAST_BYTES))
    }
}

/// The left side.
enum Left<'p> {
    Input(Cursor<'p>),
    /// It is read once more.
    Again(Reader),
}

/// Such a join that runs.
pub(super) struct Hash<'p> {
    plan: &'p JoinPlan,
    left: Left<'p>,
    built: Option<Built>,
    /// What is left of the right side.
    right: Option<Reader>,
    /// The left side, written and to be written, where there are several blocks.
    writing: Option<Stream>,
    written: Option<Arc<Run>>,
    row: Vec<Value>,
    /// How many left rows have come.
    number: usize,
    /// Which of them have found pairs in blocks before, where that matters.
    lucky: Vec<bool>,
    /// Rows of the right side that the left row may pair with.
    candidates: Vec<u32>,
    next: usize,
    /// Whether the left row has found a pair; at first there is none.
    paired: bool,
    /// Rows of the right side without a pair, once the left side has ended.
    rest: Option<usize>,
}

impl<'p> Hash<'p> {
    pub(crate) fn new(plan: &'p JoinPlan, left: Cursor<'p>) -> Hash<'p> {
        Hash {
            plan,
            left: Left::Input(left),
            built: None,
            right: None,
            writing: None,
            written: None,
            row: Vec::new(),
            number: 0,
            lucky: Vec::new(),
            candidates: Vec::new(),
            next: 0,
            paired: true,
            rest: None,
        }
    }

    /// Runs the right side and keeps its first block.
    fn build(&mut self, cx: &mut Context) -> Result<()> {
        let plan = self.plan;
        let mut built = Built::new(cx);
        let mut later: Option<Stream> = None;
        plan.right.for_each(cx, &mut |cx, row| match &mut later {
            Some(later) => later.push(row),
            None => {
                if !built.add(plan, row, cx)? {
                    later = Some(Stream::new(&SpillFile::create(cx)?));
                }
                Ok(())
            }
        })?;
        if let Some(later) = later {
            let reader = Reader::new(&later.finish()?);
            if !reader.is_done() {
                self.right = Some(reader);
                self.writing = Some(Stream::new(&SpillFile::create(cx)?));
            }
        }
        self.built = Some(built);
        Ok(())
    }

    /// Continues with the next block of the right side; `false` where there is none.
    fn next_block(&mut self, cx: &mut Context) -> Result<bool> {
        let Some(mut right) = self.right.take() else {
            return Ok(false);
        };
        if let Some(writing) = self.writing.take() {
            self.written = Some(writing.finish()?);
        }
        let Some(written) = &self.written else {
            return Ok(false);
        };
        let again = Reader::new(written);
        self.close(cx);
        self.left = Left::Again(again);
        self.built = None;
        let mut built = Built::new(cx);
        while let Some(row) = right.next()? {
            if !built.add(self.plan, &row, cx)? {
                break;
            }
        }
        self.built = Some(built);
        self.right = (!right.is_done()).then_some(right);
        (self.number, self.rest, self.paired) = (0, None, true);
        Ok(true)
    }

    /// Notes whether the left row has found a pair, where there are several blocks.
    fn note(&mut self) {
        let several = self.right.is_some() || self.written.is_some();
        if !several || self.number == 0 || self.plan.kind == JoinKind::Inner {
            return;
        }
        match self.lucky.get_mut(self.number - 1) {
            Some(lucky) => *lucky = self.paired,
            None => self.lucky.push(self.paired),
        }
    }

    /// The next left row; `false` at the end.
    fn pull(&mut self, cx: &mut Context) -> Result<bool> {
        match &mut self.left {
            Left::Input(input) => {
                if !input.next(cx, &mut self.row)? {
                    return Ok(false);
                }
                if let Some(writing) = &mut self.writing {
                    writing.push(&self.row)?;
                }
            }
            Left::Again(rows) => match rows.next()? {
                Some(row) => self.row = row,
                None => return Ok(false),
            },
        }
        self.number += 1;
        Ok(true)
    }

    /// The next left row and its candidates; `false` at the end.
    fn advance(&mut self, cx: &mut Context) -> Result<bool> {
        self.note();
        if !self.pull(cx)? {
            return Ok(false);
        }
        self.paired = self.lucky.get(self.number - 1) == Some(&true);
        self.next = 0;
        self.candidates.clear();
        let Some(built) = &self.built else {
            return Ok(true);
        };
        match &self.plan.method {
            Method::Hash { left, types, .. } => {
                let key = eval_key(left, &self.row, cx)?;
                if key.iter().any(Value::is_null) {
                    return Ok(true);
                }
                let same = built.by_hash.get(&hash_key(&key, types));
                for &at in same.into_iter().flatten() {
                    cx.check_cancel()?;
                    let other = built.keys.get(at as usize);
                    if other.is_some_and(|other| same_key(other, &key, types)) {
                        self.candidates.push(at);
                    }
                }
            }
            _ => self.candidates.extend(0..built.rows.len() as u32),
        }
        Ok(true)
    }

    /// The next right row without a pair, at the end of a block.
    fn next_unpaired(&mut self, mut at: usize, cx: &Context, out: &mut Vec<Value>) -> Result<bool> {
        let mut found = false;
        if let Some(built) = &self.built {
            while !found && let Some(row) = built.rows.get(at) {
                cx.check_cancel()?;
                if built.paired.get(at) == Some(&false) {
                    joined(self.plan, &[], row.iter(), out);
                    found = true;
                }
                at += 1;
            }
        }
        self.rest = Some(at);
        Ok(found)
    }

    /// The next pair of the left row at hand.
    fn next_pair(&mut self, cx: &mut Context, out: &mut Vec<Value>) -> Result<bool> {
        while let Some(&at) = self.candidates.get(self.next) {
            self.next += 1;
            cx.check_cancel()?;
            let Some(built) = &mut self.built else { break };
            let Some(right) = built.rows.get(at as usize) else {
                continue;
            };
            joined(self.plan, &self.row, right.iter(), out);
            if let Some(on) = &self.plan.on
                && !on.holds(out, cx)?
            {
                continue;
            }
            self.paired = true;
            if let Some(paired) = built.paired.get_mut(at as usize) {
                *paired = true;
            }
            return Ok(true);
        }
        Ok(false)
    }
}

fn eval_key(exprs: &[Expr], row: &[Value], cx: &mut Context) -> Result<Vec<Value>> {
    let mut key = Vec::with_capacity(exprs.len());
    for expr in exprs {
        key.push(expr.eval(row, cx)?.into_owned());
    }
    Ok(key)
}

impl Operator for Hash<'_> {
    fn next(&mut self, cx: &mut Context, out: &mut Vec<Value>) -> Result<bool> {
        if self.built.is_none() {
            self.build(cx)?;
        }
        loop {
            if let Some(at) = self.rest {
                if self.next_unpaired(at, cx, out)? {
                    return Ok(true);
                }
                if !self.next_block(cx)? {
                    return Ok(false);
                }
            }
            if self.next_pair(cx, out)? {
                return Ok(true);
            }
            if !self.paired && self.right.is_none() && self.plan.kind != JoinKind::Inner {
                self.paired = true;
                joined(self.plan, &self.row, [].iter(), out);
                return Ok(true);
            }
            if !self.advance(cx)? {
                self.candidates.clear();
                self.paired = true;
                if self.plan.kind == JoinKind::Full {
                    self.rest = Some(0);
                } else if !self.next_block(cx)? {
                    return Ok(false);
                }
            }
        }
    }

    fn close(&mut self, cx: &mut Context) {
        if let Left::Input(left) = &mut self.left {
            left.close(cx);
        }
    }
}
