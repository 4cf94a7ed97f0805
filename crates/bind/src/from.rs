//! FROM: sources and joins.

use super::expr::custom;
use super::resolve::Resolved;
use super::scope::{Binder, Qualifier, Source, SourceColumn};
use super::updatable_view::{SourceNode, UpdatableView};
use furrow_context::error::{Result, refuse, unsupported};
use furrow_context::sink::ResultColumn;
use furrow_context::temp::is_temp;
use furrow_engine::{Database, Granularity, Index, Isolation, LockHints, ReadLock, Table};
use furrow_exec::view::ViewPlan;
use furrow_exec::{Cond, Expr, Plan};
use furrow_tsql::ast::name::{Ident, ObjectName};
use furrow_tsql::ast::query::{
    IndexRef, Join, JoinKind, TableFunction, TableHint, TableRef, TableSource,
};
use furrow_types::{DataType, TypeId};
use std::cmp::Ordering;
use std::sync::Arc;

/// A tree of sources, before ways to their rows are chosen. Each covers a run of the wide row.
#[derive(Debug, Clone)]
pub enum Node {
    /// A table, not yet planned.
    Table(TableNode),
    /// Rows of a plan; `takes` is what it looks at in sources to the left (APPLY).
    Rows {
        /// What gives the rows.
        plan: Plan,
        /// Outer values that it needs: places of the frame and what goes there.
        takes: Vec<(usize, Expr)>,
        /// The first of its columns in the wide row.
        start: usize,
        /// How many columns it has.
        width: usize,
    },
    /// A join whose order is fixed.
    Join {
        /// The outer side.
        left: Box<Node>,
        /// The inner side.
        right: Box<Node>,
        /// Inner, left, right, full or cross.
        kind: JoinKind,
        /// The conditions of ON.
        on: Vec<Cond>,
    },
}

/// A table in FROM.
#[derive(Debug, Clone)]
pub struct TableNode {
    pub db: Arc<Database>,
    pub table: Arc<Table>,
    pub hints: LockHints,
    /// The index that a hint names.
    pub index: Option<usize>,
    pub start: usize,
    /// Whether its rows end in their own names, a column without a name.
    pub named: bool,
}

/// What a source may refer to besides its own rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sees {
    Nothing,
    /// The sources to its left: it is applied to them.
    Left,
}

impl Node {
    /// Where its columns begin in the wide row.
    pub fn start(&self) -> usize {
        match self {
            Node::Table(table) => table.start,
            Node::Rows { start, .. } => *start,
            Node::Join { left, .. } => left.start(),
        }
    }

    /// Its run of the wide row.
    pub fn range(&self) -> std::ops::Range<usize> {
        let start = self.start();
        start..start + self.width()
    }

    /// How many columns it has.
    fn width(&self) -> usize {
        match self {
            Node::Table(table) => table.table.columns().len() + usize::from(table.named),
            Node::Rows { width, .. } => *width,
            Node::Join { left, right, .. } => left.width() + right.width(),
        }
    }
}

/// The parts of a condition that are joined by AND.
pub fn conjuncts(cond: Cond, out: &mut Vec<Cond>) {
    match cond {
        Cond::And(parts) => {
            for part in parts {
                conjuncts(part, out);
            }
        }
        other => out.push(other),
    }
}

/// A name as messages show it: its parts as they are written, with dots between.
pub fn shown(name: &ObjectName) -> String {
    let parts: Vec<&str> = name.parts.iter().map(|p| &*p.value).collect();
    parts.join(".")
}

fn source_columns(columns: &[ResultColumn]) -> Vec<SourceColumn> {
    let column = |c: &ResultColumn| SourceColumn {
        name: c.name.clone(),
        data_type: c.data_type,
        nullable: c.nullable,
        identity: false,
    };
    columns.iter().map(column).collect()
}

impl Binder<'_> {
    /// Binds FROM.
    pub fn from(&mut self, from: &[TableRef]) -> Result<Option<Node>> {
        let mut node: Option<Node> = None;
        for source in from {
            let next = self.table_ref(source)?;
            node = Some(match node {
                None => next,
                Some(left) => Node::Join {
                    left: Box::new(left),
                    right: Box::new(next),
                    kind: JoinKind::Cross,
                    on: Vec::new(),
                },
            });
        }
        Ok(node)
    }

    pub(super) fn table_ref(&mut self, source: &TableRef) -> Result<Node> {
        self.source(source, Sees::Nothing)
    }

    /// Binds a source, and notes where it is when it is the one whose rows the statement changes.
    fn source(&mut self, source: &TableRef, sees: Sees) -> Result<Node> {
        furrow_context::depth::check()?;
        self.count_source()?;
        let is_target = self.target == Some(SourceNode::of(source));
        if !is_target {
            return self.source_rows(source, sees, false);
        }
        self.target = None;
        let at = self.level().sources.len();
        let node = self.source_rows(source, sees, true)?;
        self.target_at = Some(at);
        Ok(node)
    }

    fn source_rows(&mut self, source: &TableRef, sees: Sees, is_target: bool) -> Result<Node> {
        match source {
            TableRef::Table(table) => self.table_source(table, is_target),
            TableRef::Join(join) => self.join(join),
            TableRef::Derived { query, alias } => {
                self.arm(is_target);
                let (mut bound, takes) = self.apart(sees, |binder| binder.nested_query(query))?;
                bound.rename(&alias.columns, &alias.name.value)?;
                self.rows(bound.plan, takes, &alias.name.value, None, &bound.columns)
            }
            TableRef::Function(function) => self.table_function(function),
            TableRef::Variable { variable, alias } => {
                let table = TableSource {
                    name: ObjectName::single(variable.clone()),
                    system_time: None,
                    alias: alias.clone(),
                    sample: None,
                    hints: Vec::new(),
                };
                self.table_source(&table, is_target)
            }
            TableRef::Pivot(pivot) => self.pivot(pivot),
            TableRef::Unpivot(unpivot) => self.unpivot(unpivot),
            TableRef::BulkRowset(_) => Err(unsupported("OPENROWSET")),
            TableRef::Rowset(name, ..) => Err(unsupported(name)),
        }
    }

    /// Binds something that sees the sources to its left only where it is applied to them.
    fn apart<T>(&mut self, sees: Sees, bind: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if sees == Sees::Left {
            return bind(self);
        }
        let aside = std::mem::take(&mut self.level().sources);
        let bound = bind(self);
        self.level().sources = aside;
        bound
    }

    pub(super) fn rows(
        &mut self,
        plan: Plan,
        takes: Vec<(usize, Expr)>,
        name: &str,
        qualifier: Option<Qualifier>,
        columns: &[ResultColumn],
    ) -> Result<Node> {
        let start = self.level().add(Source {
            name: name.to_owned(),
            qualifier,
            columns: source_columns(columns),
            start: 0,
        })?;
        Ok(Node::Rows {
            plan,
            takes,
            start,
            width: columns.len(),
        })
    }

    fn table_source(&mut self, written: &TableSource, is_target: bool) -> Result<Node> {
        if written.system_time.is_some() {
            return Err(unsupported("FOR SYSTEM_TIME"));
        }
        if written.sample.is_some() {
            return Err(unsupported("TABLESAMPLE"));
        }
        let alias = written.alias.as_ref().map(|a| &*a.value);
        let qualified = |db: &Database, schema: &str| {
            alias.is_none().then(|| Qualifier {
                database: db.name().to_owned(),
                schema: schema.to_owned(),
            })
        };
        match self.resolve(&written.name)? {
            Resolved::Cte(cte) => {
                let name = alias.unwrap_or(&cte.name).to_owned();
                if let Some((plan, columns)) = self.recursion(&cte) {
                    return self.rows(plan, Vec::new(), &name, None, &columns);
                }
                self.arm(is_target);
                let bound = self.cte(&cte)?;
                self.rows(bound.plan, Vec::new(), &name, None, &bound.columns)
            }
            Resolved::Module(db, view) => {
                let name = alias.unwrap_or(view.name()).to_owned();
                let qualifier = qualified(&db, view.schema());
                self.arm(is_target);
                let bound = self.user_view(db, &view, &written.name)?;
                self.rows(bound.plan, Vec::new(), &name, qualifier, &bound.columns)
            }
            Resolved::View(database, view) => {
                let columns: Vec<ResultColumn> =
                    view.columns.iter().map(ResultColumn::from).collect();
                let schema = written.name.schema().map_or(view.schema, |s| &s.value);
                let qualifier = qualified(&database, schema);
                let plan = Plan::View(Arc::new(ViewPlan {
                    view,
                    database,
                    arguments: Vec::new(),
                }));
                let name = alias.unwrap_or(view.name).to_owned();
                self.rows(plan, Vec::new(), &name, qualifier, &columns)
            }
            Resolved::Table(db, table) => {
                let (hints, index) = table_hints(&table, &written.hints)?;
                let qualifier = qualified(&db, table.schema());
                // A temporary table goes by the name that it was given; `tempdb` has another for it.
                let own = match is_temp(written.name.name()) {
                    true => written.name.name(),
                    false => table.name(),
                };
                let start = self.add_table(&table, alias.unwrap_or(own), qualifier, is_target)?;
                let locks = |view: &UpdatableView| view.locks;
                let changes = is_target && self.updatable_view.as_ref().is_none_or(locks);
                let hints = match changes {
                    true => super::access::for_update(hints),
                    false => hints,
                };
                Ok(Node::Table(TableNode {
                    db,
                    table,
                    hints,
                    index,
                    start,
                    named: is_target,
                }))
            }
        }
    }

    /// Adds a table's columns to the wide row; gives their place. `named`: with the name of each row.
    pub(crate) fn add_table(
        &mut self,
        table: &Table,
        name: &str,
        qualifier: Option<Qualifier>,
        named: bool,
    ) -> Result<usize> {
        let mut columns: Vec<SourceColumn> = table
            .columns()
            .iter()
            .map(|c| SourceColumn {
                name: c.name.clone(),
                data_type: c.data_type,
                nullable: c.nullable,
                identity: c.identity,
            })
            .collect();
        if named {
            columns.push(SourceColumn {
                name: String::new(),
                data_type: DataType::sized(TypeId::VarBinary, 900),
                nullable: false,
                identity: false,
            });
        }
        self.level().add(Source {
            name: name.to_owned(),
            qualifier,
            columns,
            start: 0,
        })
    }

    fn table_function(&mut self, written: &TableFunction) -> Result<Node> {
        let name = shown(&written.name);
        if written.variable.is_some() {
            return Err(unsupported(&name));
        }
        if written.name.parts.len() == 1
            && let Some(node) = self.built_in_table_function(written)?
        {
            return Ok(node);
        }
        let schema = written.name.schema().map_or("sys", |s| &s.value);
        let database = Arc::clone(self.cx.sessions.database());
        let Some(view) = self
            .cx
            .system_objects
            .view(database.name(), schema, written.name.name())
        else {
            return refuse(208, &[name.into()]);
        };
        let Some(parameters) = view.parameters else {
            return refuse(215, &[name.into()]);
        };
        if parameters.len() != written.args.len() {
            let number = if written.args.len() < parameters.len() {
                313
            } else {
                8144
            };
            return refuse(number, &[name.into()]);
        }
        let mut arguments = Vec::new();
        for (argument, to) in written.args.iter().zip(parameters) {
            let bound = match &argument.kind {
                furrow_tsql::ast::expr::ExprKind::Default => {
                    super::literal::literal(&furrow_tsql::ast::expr::Literal::Null)?
                }
                _ => self.expr(argument)?,
            };
            arguments.push(self.coerce(bound, *to)?);
        }
        let takes = self.taken(&mut arguments);
        let columns = view.columns.iter().map(ResultColumn::from).collect();
        let alias = written.alias.as_ref();
        let named = alias.map_or(view.name, |a| &a.name.value).to_owned();
        let columns = renamed(columns, alias.map_or(&[], |a| a.columns.as_slice()), &named)?;
        let plan = Plan::View(Arc::new(ViewPlan {
            view,
            database,
            arguments,
        }));
        self.rows(plan, takes, &named, None, &columns)
    }

    /// What arguments look at in the sources to the left, which they are given from outside.
    pub(super) fn taken(&mut self, arguments: &mut [Expr]) -> Vec<(usize, Expr)> {
        let mut takes = Vec::new();
        for argument in arguments {
            super::shift::map_columns(argument, &mut |at| {
                let slot = self.next_frame;
                self.next_frame += 1;
                takes.push((slot, Expr::Column(at)));
                Expr::Outer(slot)
            });
        }
        takes
    }

    fn join(&mut self, join: &Join) -> Result<Node> {
        self.force_order |= join.hint.is_some();
        let left = self.table_ref(&join.left)?;
        let sees = match join.kind {
            JoinKind::CrossApply | JoinKind::OuterApply => Sees::Left,
            _ => Sees::Nothing,
        };
        let before = self.level().no_aggregates;
        if sees == Sees::Left {
            self.level().no_aggregates = 4101;
        }
        let right = self.source(&join.right, sees);
        self.level().no_aggregates = before;
        let right = right?;
        let mut on = Vec::new();
        if let Some(written) = &join.on {
            conjuncts(self.cond(written)?, &mut on);
        }
        Ok(Node::Join {
            left: Box::new(left),
            right: Box::new(right),
            kind: join.kind,
            on,
        })
    }
}

/// Gives columns the names that are written for them, if any are: one for each (8158, 8159).
pub(super) fn give_names(columns: &mut [ResultColumn], names: &[Ident], of: &str) -> Result<()> {
    if names.is_empty() {
        return Ok(());
    }
    match names.len().cmp(&columns.len()) {
        Ordering::Less => return refuse(8158, &[of.into()]),
        Ordering::Greater => return refuse(8159, &[of.into()]),
        Ordering::Equal => {}
    }
    for (column, name) in columns.iter_mut().zip(names) {
        column.name = name.value.to_string();
    }
    Ok(())
}

/// Columns under the names that an alias or a CTE gives them; every column needs one, once.
pub(crate) fn renamed(
    mut columns: Vec<ResultColumn>,
    names: &[Ident],
    of: &str,
) -> Result<Vec<ResultColumn>> {
    give_names(&mut columns, names, of)?;
    for (at, column) in columns.iter().enumerate() {
        if column.name.is_empty() {
            return refuse(8155, &[(at + 1).into(), of.into()]);
        }
        let twin = columns
            .iter()
            .take(at)
            .any(|c| c.name.eq_ignore_ascii_case(&column.name));
        if twin {
            return refuse(8156, &[column.name.clone().into(), of.into()]);
        }
    }
    Ok(columns)
}

/// Applies the granularity of a hint (1047 when another hint contradicts it).
fn grain(locks: &mut LockHints, wanted: Granularity) -> Result<()> {
    if locks.granularity != Granularity::Row && locks.granularity != wanted {
        let text = "Conflicting locking hints specified.";
        return custom(1047, 15, text);
    }
    locks.granularity = wanted;
    Ok(())
}

/// The isolation level of a hint.
fn level_of(hint: &str) -> Option<Isolation> {
    Some(match hint {
        "NOLOCK" | "READUNCOMMITTED" => Isolation::ReadUncommitted,
        "READCOMMITTED" | "READCOMMITTEDLOCK" => Isolation::ReadCommitted,
        "REPEATABLEREAD" => Isolation::RepeatableRead,
        "SERIALIZABLE" | "HOLDLOCK" => Isolation::Serializable,
        _ => return None,
    })
}

/// The locks and the index of table hints.
pub fn table_hints(table: &Table, hints: &[TableHint]) -> Result<(LockHints, Option<usize>)> {
    online(table)?;
    let mut locks = LockHints::default();
    let mut index = None;
    for hint in hints {
        if let TableHint::Word(word) = hint
            && let Some(level) = level_of(word)
        {
            if locks.isolation.is_some_and(|other| other != level) {
                return refuse(1047, &[]);
            }
            locks.isolation = Some(level);
            continue;
        }
        match hint {
            TableHint::Word(word) => match &**word {
                "UPDLOCK" => locks.lock = locks.lock.max(ReadLock::Update),
                "XLOCK" => locks.lock = ReadLock::Exclusive,
                "TABLOCK" => grain(&mut locks, Granularity::Table)?,
                "TABLOCKX" => {
                    grain(&mut locks, Granularity::Table)?;
                    locks.lock = ReadLock::Exclusive;
                }
                "PAGLOCK" => grain(&mut locks, Granularity::Page)?,
                "ROWLOCK" => grain(&mut locks, Granularity::Rows)?,
                "READPAST" => locks.read_past = true,
                "NOWAIT" => locks.no_wait = true,
                "FORCESEEK" | "FORCESCAN" | "NOEXPAND" | "KEEPIDENTITY" | "KEEPDEFAULTS"
                | "IGNORE_CONSTRAINTS" | "IGNORE_TRIGGERS" => {}
                other => return Err(unsupported(other)),
            },
            TableHint::Index(names) => {
                let Some(name) = names.first() else { continue };
                index = Some(hinted_index(table, name)?);
            }
            TableHint::ForceSeek(name, _) => index = Some(hinted_index(table, name)?),
        }
    }
    Ok((locks, index))
}

/// 8653 for a table whose own rows lie in a filegroup that is not online.
fn online(table: &Table) -> Result<()> {
    match table.indexes().first() {
        Some(own) if own.is_offline() => refuse(8653, &[table.name().into()]),
        _ => Ok(()),
    }
}

fn hinted_index(table: &Table, name: &IndexRef) -> Result<usize> {
    let found = match name {
        IndexRef::Name(name) => table
            .indexes()
            .iter()
            .position(|i| i.name().eq_ignore_ascii_case(&name.value)),
        IndexRef::Id(id) => match &**id {
            "0" | "1" => Some(0),
            id => table
                .indexes()
                .iter()
                .position(|i| id.parse() == Ok(i.id())),
        },
    };
    let shown = match name {
        IndexRef::Name(name) => name.value.to_string(),
        IndexRef::Id(id) => id.to_string(),
    };
    match found {
        Some(at) if table.indexes().get(at).is_some_and(Index::is_offline) => {
            refuse(8653, &[table.name().into()])
        }
        Some(at) => Ok(at),
        None => refuse(308, &[shown.into(), table.full_name().into()]),
    }
}
