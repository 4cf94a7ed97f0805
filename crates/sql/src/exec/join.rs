//! Joins: nested loops, with the inner side opened anew for each outer row, and hash joins.
//!
//! The row of a join is the left row and the right row behind it. A right join is a left join of the two
//! sides exchanged, put in order by a projection: the binder does that.

use super::expr::{Cond, Expr};
use super::key::{Identity, hash_key, same_key};
use super::memory::Grant;
use super::operator::{Cursor, Operator, Plan};
use crate::context::Context;
use crate::error::Result;
use furrow_format::types::{DataType, Value};
use std::collections::HashMap;
use std::hash::BuildHasherDefault;

/// Which rows a join gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JoinKind {
    /// Pairs.
    Inner,
    /// Pairs, and left rows without one.
    Left,
    /// Pairs, and rows of either side without one.
    Full,
}

/// How pairs are found.
#[derive(Debug, Clone)]
pub(crate) enum Method {
    /// The right side is run for each left row, which it sees through the frame.
    Loop { takes: Vec<(usize, Expr)> },
    /// The right side is run once and kept; each left row is held against all of it.
    Kept,
    /// The right side is run once and kept by key.
    Hash {
        left: Vec<Expr>,
        right: Vec<Expr>,
        types: Vec<DataType>,
    },
}

/// A join.
#[derive(Debug, Clone)]
pub(crate) struct JoinPlan {
    pub(crate) left: Plan,
    pub(crate) right: Plan,
    pub(crate) kind: JoinKind,
    pub(crate) method: Method,
    /// What a pair must satisfy besides, on the joined row.
    pub(crate) on: Option<Cond>,
    pub(crate) left_width: usize,
    pub(crate) right_width: usize,
}

impl JoinPlan {
    pub(crate) fn open<'p>(&'p self, cx: &mut Context) -> Result<Cursor<'p>> {
        let left = self.left.open(cx)?;
        if let Method::Loop { takes } = &self.method {
            return Ok(Box::new(Loop {
                plan: self,
                takes,
                left,
                right: None,
                row: Vec::new(),
                found: Vec::new(),
                paired: false,
            }));
        }
        Ok(Box::new(Hash {
            plan: self,
            left,
            built: None,
            row: Vec::new(),
            candidates: Vec::new(),
            next: 0,
            paired: true,
            rest: None,
        }))
    }
}

struct Loop<'p> {
    plan: &'p JoinPlan,
    takes: &'p [(usize, Expr)],
    left: Cursor<'p>,
    right: Option<Cursor<'p>>,
    row: Vec<Value>,
    found: Vec<Value>,
    paired: bool,
}

fn joined(plan: &JoinPlan, left: &[Value], right: &[Value], out: &mut Vec<Value>) {
    out.clear();
    out.extend_from_slice(left);
    out.resize(plan.left_width, Value::Null);
    out.extend_from_slice(right);
    out.resize(plan.left_width + plan.right_width, Value::Null);
}

impl Operator for Loop<'_> {
    fn next(&mut self, cx: &mut Context, out: &mut Vec<Value>) -> Result<bool> {
        loop {
            if self.right.is_none() {
                if !self.left.next(cx, &mut self.row)? {
                    return Ok(false);
                }
                self.paired = false;
                for (place, from) in self.takes {
                    let value = from.eval(&self.row, cx)?.into_owned();
                    if cx.frame.len() <= *place {
                        cx.frame.resize(place + 1, Value::Null);
                    }
                    cx.frame[*place] = value;
                }
                self.right = Some(self.plan.right.open(cx)?);
            }
            let Some(right) = &mut self.right else {
                continue;
            };
            while right.next(cx, &mut self.found)? {
                joined(self.plan, &self.row, &self.found, out);
                if let Some(on) = &self.plan.on
                    && !on.holds(out, cx)?
                {
                    continue;
                }
                self.paired = true;
                return Ok(true);
            }
            right.close(cx);
            self.right = None;
            if !self.paired && self.plan.kind == JoinKind::Left {
                joined(self.plan, &self.row, &[], out);
                return Ok(true);
            }
        }
    }

    fn close(&mut self, cx: &mut Context) {
        if let Some(mut right) = self.right.take() {
            right.close(cx);
        }
        self.left.close(cx);
    }
}

/// The right side, kept.
struct Built {
    rows: Vec<Vec<Value>>,
    keys: Vec<Vec<Value>>,
    by_hash: HashMap<u64, Vec<u32>, BuildHasherDefault<Identity>>,
    paired: Vec<bool>,
    /// What all that takes.
    _grant: Option<Grant>,
}

struct Hash<'p> {
    plan: &'p JoinPlan,
    left: Cursor<'p>,
    built: Option<Built>,
    row: Vec<Value>,
    /// Rows of the right side that the left row may pair with.
    candidates: Vec<u32>,
    next: usize,
    /// Whether the left row has found a pair; at first there is none.
    paired: bool,
    /// Rows of the right side without a pair, once the left side has ended.
    rest: Option<usize>,
}

impl Hash<'_> {
    fn build(&mut self, cx: &mut Context) -> Result<()> {
        let (rows, mut grant) = self.plan.right.collect(cx)?;
        let mut built = Built {
            rows,
            keys: Vec::new(),
            by_hash: HashMap::default(),
            paired: Vec::new(),
            _grant: None,
        };
        built.paired.resize(built.rows.len(), false);
        if let Method::Hash { right, types, .. } = &self.plan.method {
            for (at, row) in built.rows.iter().enumerate() {
                let key = eval_key(right, row, cx)?;
                if !key.iter().any(Value::is_null) {
                    let hash = hash_key(&key, types);
                    built.by_hash.entry(hash).or_default().push(at as u32);
                }
                grant.row(&key)?;
                built.keys.push(key);
            }
        }
        built._grant = Some(grant);
        self.built = Some(built);
        Ok(())
    }

    /// The next left row and its candidates; `false` at the end.
    fn advance(&mut self, cx: &mut Context) -> Result<bool> {
        if !self.left.next(cx, &mut self.row)? {
            return Ok(false);
        }
        self.paired = false;
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
            if let Some(at) = &mut self.rest {
                let Some(built) = &self.built else {
                    return Ok(false);
                };
                while let Some(row) = built.rows.get(*at) {
                    *at += 1;
                    if built.paired.get(*at - 1) == Some(&false) {
                        joined(self.plan, &[], row, out);
                        return Ok(true);
                    }
                }
                return Ok(false);
            }
            while let Some(&at) = self.candidates.get(self.next) {
                self.next += 1;
                let Some(built) = &mut self.built else { break };
                let Some(right) = built.rows.get(at as usize) else {
                    continue;
                };
                joined(self.plan, &self.row, right, out);
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
            if !self.paired && self.plan.kind != JoinKind::Inner {
                self.paired = true;
                joined(self.plan, &self.row, &[], out);
                return Ok(true);
            }
            if !self.advance(cx)? {
                self.paired = true;
                match self.plan.kind {
                    JoinKind::Full => self.rest = Some(0),
                    _ => return Ok(false),
                }
            }
        }
    }

    fn close(&mut self, cx: &mut Context) {
        self.left.close(cx);
    }
}
