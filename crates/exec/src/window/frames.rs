//! Aggregates of frames.
//!
//! A frame that begins where the one before did and goes further continues the aggregate of that one. Any
//! other would have to be summed up from its first row for each row, which takes the square of the
//! partition's length where frames are long. So the rows are the leaves of a tree: a node stores the
//! aggregate of [`FAN`] rows, or of as many nodes below it, and a frame is put together from the largest
//! nodes within it and the rows at its edges. A node is created when the first frame contains all of it: the
//! value of a row that is in no frame is not evaluated.
//!
//! Nodes are merged in the order of the rows, and nothing is ever taken away from a sum. Exact numbers are
//! what they would be if they were summed up one by one; sums of floats are rounded elsewhere, and may differ
//! in their last digits, but an error does not grow from frame to frame.

use super::rows::Rows;
use crate::expr::Expr;
use furrow_context::context::Context;
use furrow_context::error::Result;
use furrow_context::memory::{Grant, LEAST_BYTES};
use furrow_scalar::aggregate::{Accumulator, BoundAggregate};
use furrow_types::Value;
use std::collections::BTreeMap;
use std::ops::Range;

/// How many rows, or nodes, a node has below it.
const FAN: usize = 32;

/// A frame with fewer rows is summed up row by row: its edges would be as many.
const FEW_ROWS: usize = 2 * FAN;

/// How often a call looks whether its statement is cancelled, in rows and nodes.
pub(super) const CHECK_ROWS: usize = 1024;

/// About what the tree needs to find a node by.
const PLACE_BYTES: usize = 32;

/// Where a sum passes the end of its type (8115).
const OVERFLOW: u32 = 8115;

/// Takes rows into aggregates.
struct Feed<'c> {
    bound: &'c BoundAggregate,
    /// `None` for COUNT(*).
    argument: Option<&'c Expr>,
    /// Rows and nodes taken in so far.
    taken: usize,
}

impl Feed<'_> {
    /// One more row or node.
    fn step(&mut self, cx: &Context) -> Result<()> {
        self.taken = self.taken.wrapping_add(1);
        match self.taken.is_multiple_of(CHECK_ROWS) {
            true => cx.check_cancel(),
            false => Ok(()),
        }
    }

    fn rows<R: Rows>(
        &mut self,
        state: &mut Accumulator,
        rows: &mut R,
        range: Range<usize>,
        cx: &mut Context,
    ) -> Result<()> {
        let Some(argument) = self.argument else {
            state.add_rows(range.len());
            return Ok(());
        };
        for at in range {
            self.step(cx)?;
            let value = argument.eval(rows.row(at)?, cx)?;
            cx.null_eliminated |= value.is_null() && self.bound.warns();
            match &self.bound.conversion {
                Some(conversion) if !value.is_null() => {
                    let value = conversion.apply(&value, &cx.settings())?;
                    state.add(self.bound, &value)?;
                }
                _ => state.add(self.bound, &value)?,
            }
        }
        Ok(())
    }
}

/// The aggregates of parts of a partition.
struct Tree<R> {
    /// Where the partition begins.
    start: usize,
    /// The nodes of each level, from below, by their places in it.
    levels: Vec<BTreeMap<usize, Accumulator>>,
    grant: Grant,
    /// Look at the rows where frames begin, where they end, and below nodes.
    first: R,
    last: R,
    below: R,
}

/// A node: its level, 1 for the lowest, its place there, and the rows below it.
#[derive(Clone, Copy)]
struct Node {
    level: usize,
    place: usize,
    span: usize,
}

impl<R: Rows> Tree<R> {
    fn new(rows: &R, start: usize, cx: &Context) -> Tree<R> {
        Tree {
            start,
            levels: Vec::new(),
            grant: Grant::new(&cx.memory),
            first: rows.again(),
            last: rows.again(),
            below: rows.again(),
        }
    }

    /// The aggregate of a frame.
    fn of(
        &mut self,
        frame: &Range<usize>,
        feed: &mut Feed<'_>,
        cx: &mut Context,
    ) -> Result<Accumulator> {
        self.forget(frame.start - self.start);
        let mut state = feed.bound.start();
        let mut at = frame.start;
        while at < frame.end {
            let node = self.largest(at, frame.end);
            if node.level > 0 {
                self.add(&mut state, node, feed, cx)?;
                at += node.span;
                continue;
            }
            let edge = self.start + (at - self.start + 1).next_multiple_of(FAN);
            let edge = edge.min(frame.end);
            let rows = match at == frame.start {
                true => &mut self.first,
                false => &mut self.last,
            };
            feed.rows(&mut state, rows, at..edge, cx)?;
            at = edge;
        }
        Ok(state)
    }

    /// The largest node that begins at a row and ends by another; of level 0 where there is none.
    fn largest(&self, at: usize, end: usize) -> Node {
        let offset = at - self.start;
        let (mut level, mut span) = (0, 1);
        loop {
            let wider = span * FAN;
            if !offset.is_multiple_of(wider) || wider > end - at {
                let place = offset / span;
                return Node { level, place, span };
            }
            (level, span) = (level + 1, wider);
        }
    }

    /// Merges a node's aggregate into another, and stores it where there is memory.
    fn add(
        &mut self,
        into: &mut Accumulator,
        node: Node,
        feed: &mut Feed<'_>,
        cx: &mut Context,
    ) -> Result<()> {
        feed.step(cx)?;
        let Node { level, place, span } = node;
        if self.levels.len() < level {
            self.levels.resize_with(level, BTreeMap::new);
        }
        let kept = self.levels.get(level - 1).and_then(|l| l.get(&place));
        if let Some(kept) = kept {
            into.merge(feed.bound, kept)?;
            return Ok(());
        }
        let mut state = feed.bound.start();
        if level == 1 {
            let from = self.start + place * span;
            feed.rows(&mut state, &mut self.below, from..from + span, cx)?;
        } else {
            for child in place * FAN..(place + 1) * FAN {
                let child = Node {
                    level: level - 1,
                    place: child,
                    span: span / FAN,
                };
                self.add(&mut state, child, feed, cx)?;
            }
        }
        into.merge(feed.bound, &state)?;
        if self.has_room(level, bytes(&state))
            && let Some(nodes) = self.levels.get_mut(level - 1)
        {
            nodes.insert(place, state);
        }
        Ok(())
    }

    /// Whether a node may be stored. Most nodes are of the lowest level, and these are soon created again.
    /// Without the others each frame would go through the whole partition, and there is one of them for a
    /// thousand rows.
    fn has_room(&mut self, level: usize, bytes: usize) -> bool {
        let fits = self.grant.fits(bytes, LEAST_BYTES) || level > 1;
        if !fits {
            self.grant.give_back(bytes);
        }
        fits
    }

    /// Drops nodes that end before a row: frames mostly go forward, and others create them again.
    fn forget(&mut self, before: usize) {
        let mut span = 1;
        for nodes in &mut self.levels {
            span *= FAN;
            while let Some(entry) = nodes.first_entry()
                && (*entry.key() + 1) * span <= before
            {
                self.grant.give_back(bytes(&entry.remove()));
            }
        }
    }
}

/// About the bytes that a stored node takes.
fn bytes(node: &Accumulator) -> usize {
    size_of::<Accumulator>() + PLACE_BYTES + node.outside_bytes()
}

/// The aggregates of the frames of a partition, one after the other.
pub(super) struct Running<'c, R> {
    feed: Feed<'c>,
    part: Range<usize>,
    tree: Tree<R>,
    /// Looks at what a frame goes further by.
    rows: R,
    over: Range<usize>,
    state: Option<Accumulator>,
    result: Value,
}

impl<'c, R: Rows> Running<'c, R> {
    pub(crate) fn new(
        rows: &R,
        part: &Range<usize>,
        (bound, argument): (&'c BoundAggregate, Option<&'c Expr>),
        cx: &Context,
    ) -> Running<'c, R> {
        Running {
            feed: Feed {
                bound,
                argument,
                taken: 0,
            },
            part: part.clone(),
            tree: Tree::new(rows, part.start, cx),
            rows: rows.again(),
            over: 0..0,
            state: None,
            result: Value::Null,
        }
    }

    pub(super) fn over(&mut self, frame: Range<usize>, cx: &mut Context) -> Result<Value> {
        if self.state.is_some() && self.over == frame {
            return Ok(self.result.clone());
        }
        let is_first = self.state.is_none();
        let goes_on = self.over.start == frame.start && self.over.end <= frame.end;
        let state = match self.state.take() {
            Some(mut state) if goes_on => {
                let more = self.over.end..frame.end;
                self.feed.rows(&mut state, &mut self.rows, more, cx)?;
                state
            }
            // The first frame is gone through as those are that begin with their partition.
            _ if is_first && frame.start == self.part.start => self.recompute(&frame, cx)?,
            _ if frame.len() < FEW_ROWS || self.feed.argument.is_none() => {
                self.recompute(&frame, cx)?
            }
            _ => match self.tree.of(&frame, &mut self.feed, cx) {
                // The sum of a part may pass the end of its type where that of the whole does not.
                Err(e) if e.number() == OVERFLOW => self.recompute(&frame, cx)?,
                state => state?,
            },
        };
        self.result = state.finish(self.feed.bound)?;
        self.state = Some(state);
        self.over = frame;
        Ok(self.result.clone())
    }

    /// The aggregate of a frame, row by row.
    fn recompute(&mut self, frame: &Range<usize>, cx: &mut Context) -> Result<Accumulator> {
        let mut state = self.feed.bound.start();
        self.feed
            .rows(&mut state, &mut self.rows, frame.clone(), cx)?;
        Ok(state)
    }
}
