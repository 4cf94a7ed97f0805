//! Groups by rounds: groups that fit in memory are computed there; rows of all others are written to
//! partitions by the hash of their key and grouped afterwards, a partition a round.

use super::AggregatePlan;
use super::group::{Group, Late};
use crate::key::{KeyTable, Place};
use crate::operator::Operator;
use crate::spill::{Partitions, Reader, Run};
use furrow_context::context::Context;
use furrow_context::error::Result;
use furrow_context::memory::Grant;
use furrow_types::{DataType, TypeId, Value};
use std::sync::Arc;

/// A round.
pub(crate) struct Round<'p> {
    plan: &'p AggregatePlan,
    /// Whether there is one set, of all columns; else a key ends in the number of its set.
    plain: bool,
    level: u32,
    table: KeyTable,
    groups: Vec<Group>,
    late: Late,
    key: Vec<Value>,
    /// Rows of groups for which there is no memory, each with the number of its set behind it.
    apart: Option<Partitions>,
}

/// The groups of all rounds.
pub(super) struct Grouped<'p> {
    plan: &'p AggregatePlan,
    rows: std::vec::IntoIter<Vec<Value>>,
    /// What they take.
    grant: Grant,
    pending: Vec<(Arc<Run>, u32)>,
}

impl<'p> Round<'p> {
    pub(super) fn new(plan: &'p AggregatePlan, level: u32, cx: &Context) -> Round<'p> {
        let mut types: Vec<DataType> = plan.groups.iter().map(|g| g.1).collect();
        let whole = |set: &Vec<usize>| (0..plan.groups.len()).all(|at| set.contains(&at));
        let plain = plan.sets.len() == 1 && plan.sets.iter().all(whole);
        if !plain {
            types.push(DataType::simple(TypeId::Int));
        }
        Round {
            plan,
            plain,
            level,
            table: KeyTable::new(types, Grant::new(&cx.memory)).with(plan.group_bytes()),
            groups: Vec::new(),
            late: plan.no_late(),
            key: Vec::new(),
            apart: None,
        }
    }

    /// Takes a row as one of a set.
    pub(super) fn take(&mut self, set: usize, row: &[Value], cx: &mut Context) -> Result<()> {
        self.key.clear();
        for (at, (expr, _)) in self.plan.groups.iter().enumerate() {
            let within = |set: &Vec<usize>| set.contains(&at);
            let value = match self.plain || self.plan.sets.get(set).is_some_and(within) {
                true => expr.eval(row, cx)?.into_owned(),
                false => Value::Null,
            };
            self.key.push(value);
        }
        if !self.plain {
            self.key.push(Value::Int(set as i32));
        }
        let number = match self.table.place(&self.key) {
            Place::Known(number) => number,
            Place::New(number) => {
                self.groups.push(self.plan.start(cx));
                number
            }
            Place::Full(hash) => {
                let apart = match &mut self.apart {
                    Some(apart) => apart,
                    None => self.apart.insert(Partitions::new(self.level, cx)?),
                };
                return apart.push(hash, row, &[Value::Int(set as i32)]);
            }
        };
        match self.groups.get_mut(number) {
            Some(group) => self.plan.feed((number, group), &mut self.late, row, cx),
            None => Ok(()),
        }
    }

    /// Whether rows of groups for which there is no memory have come.
    pub(super) fn is_full(&self) -> bool {
        self.apart.is_some()
    }

    /// Joins a group that another thread has computed; `false` where there is no memory for it.
    pub(super) fn join(&mut self, key: &[Value], group: Group) -> Result<bool> {
        let number = match self.table.place(key) {
            Place::Full(_) => return Ok(false),
            Place::New(_) => {
                self.groups.push(group);
                return Ok(true);
            }
            Place::Known(number) => number,
        };
        match self.groups.get_mut(number) {
            Some(known) => self.plan.add_group(known, &group).map(|()| true),
            None => Ok(true),
        }
    }

    /// The keys with their groups, and what the keys take.
    pub(super) fn into_groups(self) -> (Vec<Vec<Value>>, Vec<Group>, Grant) {
        debug_assert!(self.apart.is_none(), "all groups are in memory");
        let (keys, grant) = self.table.into_keys();
        (keys, self.groups, grant)
    }

    fn finish(mut self, cx: &mut Context) -> Result<Grouped<'p>> {
        let plan = self.plan;
        let pending = match self.apart {
            Some(apart) => apart.finish()?,
            None => Vec::new(),
        };
        plan.feed_late(&mut self.groups, self.late, cx)?;
        let (mut rows, grant) = self.table.into_keys();
        for (row, group) in rows.iter_mut().zip(self.groups) {
            cx.check_cancel()?;
            let set = if self.plain { None } else { row.pop() };
            plan.finish(group, row, cx)?;
            if let Some(Value::Int(set)) = set
                && plan.sets.len() > 1
            {
                row.push(Value::Int(plan.left_out(set as usize)));
            }
        }
        Ok(Grouped {
            plan,
            rows: rows.into_iter(),
            grant,
            pending,
        })
    }
}

impl AggregatePlan {
    /// The bits of the columns that a set leaves out.
    fn left_out(&self, set: usize) -> i32 {
        let set = self.sets.get(set).map_or(&[][..], Vec::as_slice);
        let bit = |bits: i32, at: usize| bits << 1 | i32::from(!set.contains(&at));
        (0..self.groups.len()).fold(0, bit)
    }

    /// Groups the rows of the input.
    pub(super) fn open_groups<'p>(&'p self, cx: &mut Context) -> Result<Grouped<'p>> {
        let mut round = Round::new(self, 0, cx);
        let sets = self.sets.len();
        self.input.for_each(cx, &mut |cx, row| {
            for set in 0..sets {
                round.take(set, row, cx)?;
            }
            Ok(())
        })?;
        self.grouped(round, cx)
    }

    /// The groups of a round that has all rows.
    pub(super) fn grouped<'p>(&'p self, round: Round<'p>, cx: &mut Context) -> Result<Grouped<'p>> {
        let sets = self.sets.len();
        let mut grouped = round.finish(cx)?;
        // Each set of no columns has its row even when there is nothing to group.
        if grouped.rows.as_slice().is_empty() {
            let mut rows = Vec::new();
            for (set, _) in self
                .sets
                .iter()
                .enumerate()
                .filter(|(_, set)| set.is_empty())
            {
                let mut row = vec![Value::Null; self.groups.len()];
                self.finish(self.start(cx), &mut row, cx)?;
                if sets > 1 {
                    row.push(Value::Int(self.left_out(set)));
                }
                rows.push(row);
            }
            grouped.rows = rows.into_iter();
        }
        Ok(grouped)
    }
}

impl Operator for Grouped<'_> {
    fn next(&mut self, cx: &mut Context, out: &mut Vec<Value>) -> Result<bool> {
        loop {
            if let Some(row) = self.rows.next() {
                *out = row;
                return Ok(true);
            }
            let Some((run, level)) = self.pending.pop() else {
                return Ok(false);
            };
            self.grant.give_all_back();
            let mut round = Round::new(self.plan, level, cx);
            let mut rows = Reader::new(&run);
            drop(run);
            while let Some(mut row) = rows.next()? {
                if let Some(Value::Int(set)) = row.pop() {
                    round.take(set as usize, &row, cx)?;
                }
            }
            let mut more = round.finish(cx)?;
            self.pending.append(&mut more.pending);
            self.rows = more.rows;
            self.grant = more.grant;
        }
    }

    fn close(&mut self, _: &mut Context) {}
}
