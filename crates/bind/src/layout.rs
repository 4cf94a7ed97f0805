//! Which columns of the wide row the rows of a plan have.
//!
//! Names are bound to places in the wide row of a SELECT: all columns of all sources, in the order of the
//! text. The rows of a plan have the columns that something above it looks at, in the order in which the
//! plan joins the sources. A [`Layout`] leads from the one to the other.

use super::scope::AGGREGATES;
use super::shift::{map_columns, map_cond};
use furrow_exec::{Cond, Expr, Plan};
use furrow_types::Value;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// Columns of the wide row.
pub(super) type Columns = HashSet<usize>;

/// The columns of a plan's rows: at each place, which of the wide row it is.
#[derive(Debug, Clone, Default)]
pub(super) struct Layout {
    columns: Vec<usize>,
    places: HashMap<usize, usize>,
}

/// A plan with the layout of its rows.
#[derive(Debug)]
pub(super) struct Placed {
    pub plan: Plan,
    pub(super) layout: Layout,
    /// About how many rows it gives.
    pub rows: f64,
}

impl Layout {
    pub(crate) fn new(columns: Vec<usize>) -> Layout {
        let places = columns.iter().enumerate().map(|(place, of)| (*of, place));
        Layout {
            places: places.collect(),
            columns,
        }
    }

    /// A run of the wide row.
    pub(super) fn run(of: Range<usize>) -> Layout {
        Layout::new(of.collect())
    }

    pub(super) fn columns(&self) -> &[usize] {
        &self.columns
    }

    pub(super) fn width(&self) -> usize {
        self.columns.len()
    }

    /// Places in the row whose columns are among these.
    pub(super) fn places_of(&self, wanted: &Columns) -> Vec<usize> {
        let is_wanted = |place: &usize| wanted.contains(&self.columns[*place]);
        (0..self.columns.len()).filter(is_wanted).collect()
    }

    /// The column of a row. Places that are still to be put on another row stay what they are.
    fn at(&self, wide: usize) -> Expr {
        if wide >= AGGREGATES {
            return Expr::Column(wide);
        }
        let place = self.places.get(&wide);
        debug_assert!(
            place.is_some(),
            "column {wide} is looked at and was not carried"
        );
        Expr::Column(place.copied().unwrap_or(usize::MAX))
    }

    /// Puts an expression on the row.
    pub(super) fn put(&self, expr: &mut Expr) {
        map_columns(expr, &mut |wide| self.at(wide));
    }

    /// Puts a condition on the row.
    pub(super) fn put_cond(&self, cond: &mut Cond) {
        map_cond(cond, &mut |wide| self.at(wide));
    }
}

impl Placed {
    /// The rows with the columns of another layout; those that they do not have are NULL.
    pub(super) fn laid_out(self, columns: &[usize]) -> Plan {
        if self.layout.columns == columns {
            return self.plan;
        }
        let of = |wide: &usize| match self.layout.places.get(wide) {
            Some(place) => Expr::Column(*place),
            None => Expr::Const(Value::Null),
        };
        Plan::Project(Box::new(self.plan), columns.iter().map(of).collect())
    }
}

/// The rows of a plan without the columns that none of these expressions looks at, which are put on what is
/// left; and how many columns that is.
pub(super) fn narrowed(plan: Plan, width: usize, exprs: &mut [&mut Expr]) -> (Plan, usize) {
    let mut used: Vec<usize> = Vec::new();
    for expr in exprs.iter() {
        used.extend(super::shift::columns_of(expr));
    }
    used.retain(|at| *at < width);
    used.sort_unstable();
    used.dedup();
    if used.len() == width {
        return (plan, width);
    }
    let layout = Layout::new(used);
    for expr in exprs.iter_mut() {
        map_columns(expr, &mut |at| match at < width {
            true => layout.at(at),
            false => Expr::Column(at),
        });
    }
    let columns = layout.columns.iter().map(|at| Expr::Column(*at)).collect();
    (Plan::Project(Box::new(plan), columns), layout.width())
}
