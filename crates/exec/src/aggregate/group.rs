//! The state of a group, and how rows are fed to it.

use super::{AggregateCall, AggregatePlan};
use crate::key::{KeyTable, Place, hash_key};
use crate::sort::{compare_keys, sort_rows};
use crate::spill::{Partitions, Reader};
use furrow_context::context::Context;
use furrow_context::error::Result;
use furrow_context::memory::{Grant, LONG_BYTES};
use furrow_scalar::aggregate::Accumulator;
use furrow_types::{DataType, TypeId, Value};
use std::borrow::Cow;

/// The state of one group.
#[derive(Debug)]
pub(crate) struct Group {
    accumulators: Vec<Accumulator>,
    /// Values seen, of DISTINCT calls.
    seen: Vec<Option<KeyTable>>,
    /// Values that wait for all others, with their keys, of calls with an order.
    waiting: Vec<Vec<(Vec<Value>, Value)>>,
    /// What those take.
    grant: Grant,
}

/// For each DISTINCT call the values for which there was no memory, with the number of their group: the group
/// has not counted any of them yet. A value may come several times.
pub(super) type Late = Vec<Option<Partitions>>;

/// The type of a group's number.
const NUMBER: DataType = DataType::simple(TypeId::BigInt);

impl Group {
    pub(super) fn accumulators(&mut self) -> &mut [Accumulator] {
        &mut self.accumulators
    }
}

impl AggregatePlan {
    /// About what a group takes besides its key.
    pub(super) fn group_bytes(&self) -> usize {
        let call = size_of::<Accumulator>() + size_of::<Option<KeyTable>>() + size_of::<Vec<()>>();
        size_of::<Group>() + self.calls.len() * call
    }

    pub(super) fn no_late(&self) -> Late {
        self.calls.iter().map(|_| None).collect()
    }

    pub(super) fn start(&self, cx: &Context) -> Group {
        let seen = |call: &AggregateCall| {
            let of = vec![call.distinct?];
            Some(KeyTable::new(of, Grant::new(&cx.memory)).among_many())
        };
        Group {
            accumulators: self.calls.iter().map(|c| c.bound.start()).collect(),
            seen: self.calls.iter().map(seen).collect(),
            waiting: vec![Vec::new(); self.calls.len()],
            grant: Grant::new(&cx.memory),
        }
    }

    /// Adds what another group of the same key has seen: of calls without DISTINCT and without an order.
    pub(super) fn add_group(&self, to: &mut Group, other: &Group) -> Result<()> {
        let calls = self.calls.iter().zip(&mut to.accumulators);
        for ((call, mine), theirs) in calls.zip(&other.accumulators) {
            debug_assert!(
                call.distinct.is_none() && call.order.is_empty(),
                "the values of these calls are not all in the accumulator"
            );
            let before = mine.outside_bytes();
            mine.merge(&call.bound, theirs)?;
            let more = mine.outside_bytes().saturating_sub(before);
            if more > 0 {
                // As in `feed`.
                let taken = to.grant.take(more);
                if mine.outside_bytes() > LONG_BYTES {
                    taken?;
                }
            }
        }
        Ok(())
    }

    pub(super) fn feed(
        &self,
        (number, group): (usize, &mut Group),
        late: &mut Late,
        row: &[Value],
        cx: &mut Context,
    ) -> Result<()> {
        for ((((call, accumulator), seen), waiting), late) in self
            .calls
            .iter()
            .zip(&mut group.accumulators)
            .zip(&mut group.seen)
            .zip(&mut group.waiting)
            .zip(late)
        {
            let Some(argument) = &call.argument else {
                accumulator.add_row();
                continue;
            };
            let value = argument.eval(row, cx)?;
            if value.is_null() {
                cx.null_eliminated |= call.warns;
                continue;
            }
            if let Some(seen) = seen {
                let one = std::slice::from_ref(&*value);
                let new = match call.order.is_empty() {
                    true => match seen.place(one) {
                        Place::Known(_) => false,
                        Place::New(_) => true,
                        Place::Full(_) => {
                            put_late(call, late, number as i64, value.into_owned(), 0, cx)?;
                            continue;
                        }
                    },
                    false => seen.insert(one)?.1,
                };
                if !new {
                    continue;
                }
            }
            let value = match &call.bound.conversion {
                Some(conversion) => Cow::Owned(conversion.apply(&value, &cx.settings())?),
                None => value,
            };
            if call.order.is_empty() {
                let before = accumulator.outside_bytes();
                accumulator.add(&call.bound, &value)?;
                let after = accumulator.outside_bytes();
                if after > before {
                    // Short texts are counted, and files take what comes then; a long one is refused.
                    let taken = group.grant.take(after - before);
                    if after > LONG_BYTES {
                        taken?;
                    }
                }
                continue;
            }
            let mut key = Vec::with_capacity(call.order.len());
            for by in &call.order {
                key.push(by.expr.eval(row, cx)?.into_owned());
            }
            let value = value.into_owned();
            group.grant.row(&key)?;
            group.grant.row(std::slice::from_ref(&value))?;
            waiting.push((key, value));
        }
        Ok(())
    }

    /// Feeds the values for which there was no memory. The sets of values that groups have counted are freed
    /// before: no other rows come.
    pub(super) fn feed_late(
        &self,
        groups: &mut [Group],
        late: Late,
        cx: &mut Context,
    ) -> Result<()> {
        if late.iter().all(Option::is_none) {
            return Ok(());
        }
        for group in &mut *groups {
            group.seen.clear();
        }
        for (at, (call, late)) in self.calls.iter().zip(late).enumerate() {
            let (Some(late), Some(of)) = (late, call.distinct) else {
                continue;
            };
            let mut pending = late.finish()?;
            while let Some((run, level)) = pending.pop() {
                let mut seen = KeyTable::new(vec![NUMBER, of], Grant::new(&cx.memory));
                let mut again = None;
                let mut rows = Reader::new(&run);
                drop(run);
                while let Some(row) = rows.next()? {
                    let [Value::BigInt(number), value] = &row[..] else {
                        continue;
                    };
                    match seen.place(&row) {
                        Place::Known(_) => continue,
                        Place::New(_) => {}
                        Place::Full(_) => {
                            put_late(call, &mut again, *number, value.clone(), level, cx)?;
                            continue;
                        }
                    }
                    let group = groups.get_mut(*number as usize);
                    let Some(to) = group.and_then(|g| g.accumulators.get_mut(at)) else {
                        continue;
                    };
                    match &call.bound.conversion {
                        Some(by) => to.add(&call.bound, &by.apply(value, &cx.settings())?)?,
                        None => to.add(&call.bound, value)?,
                    }
                }
                if let Some(again) = again {
                    pending.extend(again.finish()?);
                }
            }
        }
        Ok(())
    }

    /// Appends the results of a group to `out`.
    pub(super) fn finish(
        &self,
        mut group: Group,
        out: &mut Vec<Value>,
        cx: &Context,
    ) -> Result<()> {
        for ((call, accumulator), waiting) in self
            .calls
            .iter()
            .zip(&mut group.accumulators)
            .zip(&mut group.waiting)
        {
            sort_rows(waiting, cx, |a, b| compare_keys(&call.order, &a.0, &b.0))?;
            for (_, value) in waiting.iter() {
                cx.check_cancel()?;
                accumulator.add(&call.bound, value)?;
            }
            out.push(accumulator.finish(&call.bound)?);
        }
        Ok(())
    }
}

fn put_late(
    call: &AggregateCall,
    late: &mut Option<Partitions>,
    number: i64,
    value: Value,
    level: u32,
    cx: &Context,
) -> Result<()> {
    let late = match late {
        Some(late) => late,
        None => late.insert(Partitions::new(level, cx)?),
    };
    let row = [Value::BigInt(number), value];
    let of = call.distinct.unwrap_or(NUMBER);
    late.push(hash_key(&row, &[NUMBER, of]), &row, &[])
}
