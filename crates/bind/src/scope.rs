//! Names in sight: sources of the query at hand, of those around it, common table expressions.

use super::expr::Bound;
use super::resolve::Home;
use super::updatable_view::{SourceNode, UpdatableView};
use furrow_context::context::Context;
use furrow_context::error::{Result, refuse};
use furrow_context::plans::Basis;
use furrow_exec::Expr;
use furrow_messages::Message;
use furrow_scalar::Coercibility;
use furrow_tsql::ast::name::{Ident, ObjectName};
use furrow_tsql::ast::query::Query;
use furrow_types::DataType;
use std::rc::Rc;

/// A column that a source offers.
#[derive(Debug, Clone)]
pub struct SourceColumn {
    /// Empty where it has none.
    pub name: String,
    /// Its type.
    pub data_type: DataType,
    /// Whether it can be NULL.
    pub nullable: bool,
    /// Whether it is the identity column of a table, which `$IDENTITY` names as well.
    pub identity: bool,
}

/// A source of rows in FROM: its columns begin at `start` in the wide row.
#[derive(Debug, Clone)]
pub struct Source {
    /// The alias, or the table's name.
    pub name: String,
    /// The database and schema of its object, where it has no alias.
    pub qualifier: Option<Qualifier>,
    /// Its columns, in order.
    pub columns: Vec<SourceColumn>,
    /// The first of them in the wide row.
    pub start: usize,
}

/// The parts that a column's prefix may have before the name of its source.
#[derive(Debug, Clone)]
pub struct Qualifier {
    pub database: String,
    pub schema: String,
}

impl Qualifier {
    fn is(&self, other: &Qualifier) -> bool {
        self.database.eq_ignore_ascii_case(&other.database)
            && self.schema.eq_ignore_ascii_case(&other.schema)
    }
}

impl Source {
    /// Whether a prefix of a column, or of `*`, names this source: `t`, `s.t`, `d.s.t`, `d..t`.
    pub fn is_named(&self, prefix: &[Ident]) -> bool {
        let same = |part: &Ident, own: &str| part.value.eq_ignore_ascii_case(own);
        let [before @ .., name] = prefix else {
            return false;
        };
        if !same(name, &self.name) {
            return false;
        }
        let fits = |part: &Ident, own: &str| part.value.is_empty() || same(part, own);
        match (before, &self.qualifier) {
            ([], _) => true,
            ([schema], Some(own)) => fits(schema, &own.schema),
            ([database, schema], Some(own)) => {
                fits(database, &own.database) && fits(schema, &own.schema)
            }
            _ => false,
        }
    }
}

/// The names of one query.
#[derive(Debug, Default)]
pub struct Level {
    pub sources: Vec<Source>,
    /// Which columns of the wide row are looked at.
    pub used: Vec<bool>,
    /// Columns of the query around that this one looks at: place in the frame, and what it is there.
    pub takes: Vec<(usize, Expr)>,
    /// Calls of aggregates met so far, where they may be.
    pub(crate) aggregates: Option<Vec<furrow_exec::aggregate::AggregateCall>>,
    /// Why there may be none, if there may not.
    pub no_aggregates: u32,
    /// Whether an argument of an aggregate is being bound.
    pub(crate) in_aggregate: bool,
    /// Calls of window functions met so far, where they may be.
    pub windows: Option<Vec<furrow_exec::window::WindowCall>>,
    /// Whether a call of a window function is being bound.
    pub(crate) in_window: bool,
    /// What is grouped by.
    pub groups: Option<Vec<Expr>>,
}

/// A column that a name was found to be: the level of its query, and its place in the wide row there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ColumnPlace {
    pub(super) level: usize,
    pub(super) place: usize,
}

/// A common table expression.
#[derive(Debug, Clone)]
pub struct CteDef {
    pub name: String,
    pub columns: Vec<Ident>,
    pub query: Rc<Query>,
    /// How many of the definitions it may itself name: those before it.
    pub sees: usize,
}

/// Binds one statement.
#[derive(Debug)]
pub struct Binder<'c> {
    /// The context of the statement.
    pub cx: &'c mut Context,
    /// Innermost last.
    pub levels: Vec<Level>,
    pub(crate) ctes: Vec<CteDef>,
    pub(crate) next_frame: usize,
    /// Where the view that is being bound is: names in it are looked up there.
    pub home: Option<Home>,
    /// Views within views that are being bound, by database and object.
    pub views: Vec<(u16, i32)>,
    /// The view that gets the definition that is being bound.
    pub altered: Option<(u16, i32)>,
    /// The source whose rows the statement changes, until it is bound.
    pub target: Option<SourceNode>,
    /// The place of that source among the sources of the statement, once it is bound.
    pub target_at: Option<usize>,
    /// Whether a WHEN NOT MATCHED BY SOURCE of MERGE is bound, which sees the target alone.
    pub only_target: bool,
    /// The query through which the statement changes that table.
    pub updatable_view: Option<UpdatableView>,
    /// Whether only the existence of rows matters to the query that is bound next: its list is checked, and
    /// not evaluated.
    pub(crate) only_exists: bool,
    /// The outermost level that a name was found in, since a subquery looked at this.
    pub(crate) reaches: usize,
    /// The columns that were named since the argument of an aggregate was begun.
    pub(super) columns_seen: Option<Vec<ColumnPlace>>,
    /// The places of the variables that the statement assigns for each row.
    pub(super) assigned: Vec<usize>,
    /// Whether the value of one of them is read.
    pub(super) reads_assigned: bool,
    /// The recursive common table expressions whose recursive part is being bound.
    pub(crate) recursions: Vec<super::cte::Recursing>,
    /// MAXRECURSION.
    pub(crate) max_recursion: u32,
    /// The hint MAXDOP.
    pub max_dop: Option<u32>,
    /// Aggregates at this level give no warning about NULLs that they leave out.
    pub(crate) quiet_level: usize,
    /// What names led to.
    pub basis: Basis,
    /// Whether a hint demands joins in the order of the text.
    pub(super) force_order: bool,
    /// How many sources the statement may still have.
    pub(super) sources_left: usize,
}

/// Sources that FROM may have in one statement, those of views and common table expressions counted wherever
/// they are named. Each naming is bound again, so that definitions that name others twice double at each
/// level, and a short text would take all memory. SQL Server refuses such a statement as well; no plan of so
/// many sources is useful.
pub(super) const MOST_SOURCES: usize = 100_000;

/// Places of aggregates in expressions that are still to be put on the grouped row begin here.
pub(crate) const AGGREGATES: usize = 1 << 24;

/// Places of window functions that are still to be put behind the row begin here.
pub(crate) const WINDOWS: usize = 1 << 25;

/// The place of a grouping set's number until the row is grouped.
pub(crate) const GROUPING: usize = 1 << 26;

impl Level {
    /// The end of the wide row so far.
    pub fn width(&self) -> usize {
        self.sources.last().map_or(0, |s| s.start + s.columns.len())
    }

    /// The source and the column that have a place in the wide row.
    pub fn column_at(&self, place: usize) -> Option<(&Source, &SourceColumn)> {
        let source = self
            .sources
            .iter()
            .find(|s| (s.start..s.start + s.columns.len()).contains(&place))?;
        Some((source, source.columns.get(place - source.start)?))
    }

    /// Adds a source; gives its place in the wide row.
    pub fn add(&mut self, mut source: Source) -> Result<usize> {
        let start = self.width();
        let same = |s: &&Source| !s.name.is_empty() && s.name.eq_ignore_ascii_case(&source.name);
        for twin in self.sources.iter().filter(same) {
            match (&twin.qualifier, &source.qualifier) {
                (Some(a), Some(b)) if !a.is(b) => {}
                (Some(_), Some(_)) => {
                    let args = [twin.name.as_str().into(), source.name.as_str().into()];
                    return refuse(1013, &args);
                }
                _ => return refuse(1011, &[source.name.as_str().into()]),
            }
        }
        source.start = start;
        self.used.resize(start + source.columns.len(), false);
        self.sources.push(source);
        Ok(start)
    }
}

/// What a name was found to be.
enum ColumnLookup {
    Nothing,
    /// A table of that name is there, without the column.
    NoColumn,
    Column(usize),
    Twice,
}

/// Whether a name is that of the identity column, whatever it is called.
pub(super) fn names_identity(name: &ObjectName) -> bool {
    let is = |part: &Ident| part.is_word("$IDENTITY") || part.is_word("IDENTITYCOL");
    name.parts.last().is_some_and(is)
}

impl<'c> Binder<'c> {
    /// A binder for one statement.
    pub fn new(cx: &'c mut Context) -> Binder<'c> {
        Binder {
            cx,
            levels: Vec::new(),
            ctes: Vec::new(),
            next_frame: 0,
            home: None,
            views: Vec::new(),
            altered: None,
            target: None,
            target_at: None,
            only_target: false,
            updatable_view: None,
            only_exists: false,
            reaches: usize::MAX,
            columns_seen: None,
            assigned: Vec::new(),
            reads_assigned: false,
            recursions: Vec::new(),
            max_recursion: 100,
            max_dop: None,
            quiet_level: usize::MAX,
            basis: Basis::default(),
            force_order: false,
            sources_left: MOST_SOURCES,
        }
    }

    /// Counts one more source (8623), and tests whether the client has cancelled.
    pub(super) fn count_source(&mut self) -> Result<()> {
        self.cx.check_cancel()?;
        match self.sources_left.checked_sub(1) {
            Some(left) => self.sources_left = left,
            None => return refuse(8623, &[]),
        }
        Ok(())
    }

    /// Binds something beside the query at hand, over sources of its own, one behind the other.
    pub fn beside<T>(
        &mut self,
        sources: Vec<Source>,
        bind: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let levels = std::mem::replace(&mut self.levels, vec![Level::default()]);
        let mut added = Ok(0);
        for source in sources {
            added = added.and_then(|_| self.level().add(source));
        }
        let bound = added.and_then(|_| bind(self));
        self.levels = levels;
        bound
    }

    /// Marks these columns of the wide row as used.
    pub fn use_all(&mut self, columns: std::ops::Range<usize>) {
        if let Some(used) = self.level().used.get_mut(columns) {
            used.fill(true);
        }
    }

    /// The names of the query at hand.
    pub fn level(&mut self) -> &mut Level {
        if self.levels.is_empty() {
            self.levels.push(Level::default());
        }
        let last = self.levels.len() - 1;
        &mut self.levels[last]
    }

    fn look(level: &Level, name: &ObjectName) -> ColumnLookup {
        let column = name.name();
        let of_identity = names_identity(name);
        let prefix = name
            .parts
            .split_last()
            .map_or(&[][..], |(_, prefix)| prefix);
        let mut found = ColumnLookup::Nothing;
        for source in &level.sources {
            if !prefix.is_empty() {
                if !source.is_named(prefix) {
                    continue;
                }
                if matches!(found, ColumnLookup::Nothing) {
                    found = ColumnLookup::NoColumn;
                }
            }
            for (at, candidate) in source.columns.iter().enumerate() {
                let is_it = candidate.name.eq_ignore_ascii_case(column);
                if is_it || (of_identity && candidate.identity) {
                    found = match found {
                        ColumnLookup::Column(_) | ColumnLookup::Twice => ColumnLookup::Twice,
                        _ => ColumnLookup::Column(source.start + at),
                    };
                }
            }
        }
        found
    }

    /// A column by its name, of this query or of one around it.
    pub fn column(&mut self, name: &ObjectName) -> Result<Bound> {
        let depth = self.levels.len();
        let mut no_column = false;
        for at in (0..depth).rev() {
            match Self::look(&self.levels[at], name) {
                ColumnLookup::Nothing => {}
                ColumnLookup::NoColumn => {
                    no_column = true;
                    break;
                }
                ColumnLookup::Twice => return refuse(209, &[name.name().into()]),
                ColumnLookup::Column(place) => return self.column_of_level(at, place),
            }
        }
        match name.part(1) {
            Some(_) if !no_column => {
                let shown = name
                    .parts
                    .iter()
                    .map(|p| &*p.value)
                    .collect::<Vec<_>>()
                    .join(".");
                let number = if self.only_target { 5334 } else { 4104 };
                refuse(number, &[shown.into()])
            }
            _ => refuse(207, &[name.name().into()]),
        }
    }

    fn column_of_level(&mut self, at: usize, place: usize) -> Result<Bound> {
        self.reaches = self.reaches.min(at);
        let level = &mut self.levels[at];
        if let Some(used) = level.used.get_mut(place) {
            *used = true;
        }
        let Some((_, column)) = level.column_at(place) else {
            return refuse(207, &["".into()]);
        };
        let (data_type, nullable) = (column.data_type, column.nullable);
        if let Some(seen) = &mut self.columns_seen {
            seen.push(ColumnPlace { level: at, place });
        }
        Ok(Bound {
            expr: self.take_from(at, Expr::Column(place)),
            data_type,
            is_null_literal: false,
            coercibility: Coercibility::Implicit,
            nullable,
            is_json: false,
        })
    }

    /// A value of the row of the query at a level, for an expression of the innermost query: the subquery
    /// just within that level takes it.
    pub(super) fn take_from(&mut self, at: usize, value: Expr) -> Expr {
        let Some(inner) = self.levels.get_mut(at + 1) else {
            return value;
        };
        let known = inner.takes.iter().find(|(_, from)| *from == value);
        if let Some((slot, _)) = known {
            return Expr::Outer(*slot);
        }
        let slot = self.next_frame;
        self.next_frame += 1;
        inner.takes.push((slot, value));
        Expr::Outer(slot)
    }

    /// A variable by its name (137).
    pub fn variable(&mut self, name: &str) -> Result<Bound> {
        let place = self.cx.scope.find(name);
        let variable = place.and_then(|at| Some((at, self.cx.scope.get(at)?)));
        let Some((place, variable)) = variable else {
            return refuse(137, &[name.into()]);
        };
        Ok(Bound {
            expr: Expr::Variable(place),
            data_type: variable.data_type,
            is_null_literal: false,
            coercibility: Coercibility::Default,
            nullable: true,
            is_json: false,
        })
    }

    /// A variable whose value is read: 137 has another state than where one is set.
    pub(super) fn value_of_variable(&mut self, name: &str) -> Result<Bound> {
        let bound = self.variable(name).map_err(|mut error| {
            for message in error.messages.iter_mut().filter(|m| m.number == 137) {
                message.state = 2;
            }
            error
        })?;
        if self.is_assigned(&bound.expr) {
            // It has another value for each row: no subquery that reads it is run only once.
            self.reads_assigned = true;
            self.reaches = 0;
        }
        Ok(bound)
    }

    /// Notes the variables that the statement assigns for each row, before anything that reads them is bound.
    pub fn note_assigned<'w>(&mut self, names: impl Iterator<Item = &'w str>) {
        let places = names.filter_map(|name| self.cx.scope.find(name));
        self.assigned.extend(places);
    }

    /// Whether an expression is a variable that the statement assigns for each row.
    pub(super) fn is_assigned(&self, expr: &Expr) -> bool {
        matches!(expr, Expr::Variable(place) if self.assigned.contains(place))
    }

    /// Error 8120 and its like: a column that is neither grouped by nor within an aggregate.
    pub(crate) fn not_grouped(&mut self, place: usize, number: u32) -> Message {
        let names = self.level().column_at(place);
        let (source, column) = names.map_or((String::new(), String::new()), |(s, c)| {
            (s.name.clone(), c.name.clone())
        });
        Message::new(number, &[source.into(), column.into()])
    }
}
