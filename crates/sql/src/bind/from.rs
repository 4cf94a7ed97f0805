//! FROM: sources and joins.

use super::expr::custom;
use super::query::BoundQuery;
use super::scope::{Binder, CteDef, Source, SourceColumn};
use crate::error::{Result, refuse, unsupported};
use crate::exec::{Cond, Expr, Plan};
use crate::server::TEMPDB;
use crate::sink::ResultColumn;
use crate::temp::{is_own, is_temp};
use crate::views::{self, ViewPlan};
use furrow_engine::{
    Database, Granularity, Isolation, LockHints, Module, ModuleKind, ReadLock, Table,
};
use furrow_format::types::{DataType, TypeId};
use furrow_tsql::ast::Statement;
use furrow_tsql::ast::module::View;
use furrow_tsql::ast::name::{Ident, ObjectName};
use furrow_tsql::ast::query::{
    IndexRef, Join, JoinKind, TableFunction, TableHint, TableRef, TableSource,
};
use std::sync::Arc;

/// A tree of sources, before ways to their rows are chosen. Each covers a run of the wide row.
#[derive(Debug, Clone)]
pub(crate) enum Node {
    Table(TableNode),
    /// Rows of a plan; `takes` is what it looks at in sources to the left (APPLY).
    Rows {
        plan: Plan,
        takes: Vec<(usize, Expr)>,
        start: usize,
        width: usize,
    },
    Join {
        left: Box<Node>,
        right: Box<Node>,
        kind: JoinKind,
        on: Vec<Cond>,
    },
}

/// A table in FROM.
#[derive(Debug, Clone)]
pub(crate) struct TableNode {
    pub(crate) db: Arc<Database>,
    pub(crate) table: Arc<Table>,
    pub(crate) hints: LockHints,
    /// The index that a hint asks for.
    pub(crate) index: Option<usize>,
    pub(crate) start: usize,
    /// Whether its rows end in their own names, a column without a name.
    pub(crate) named: bool,
}

impl Node {
    /// Where its columns begin in the wide row.
    pub(crate) fn start(&self) -> usize {
        match self {
            Node::Table(table) => table.start,
            Node::Rows { start, .. } => *start,
            Node::Join { left, .. } => left.start(),
        }
    }

    /// How many columns it has.
    pub(crate) fn width(&self) -> usize {
        match self {
            Node::Table(table) => table.table.columns().len() + usize::from(table.named),
            Node::Rows { width, .. } => *width,
            Node::Join { left, right, .. } => left.width() + right.width(),
        }
    }
}

/// What a name in FROM stands for.
pub(crate) enum Resolved {
    Table(Arc<Database>, Arc<Table>),
    View(Arc<Database>, &'static views::SystemView),
    Cte(CteDef),
    /// A view of a user.
    Module(Arc<Database>, Arc<Module>),
}

/// The parts of a condition that are joined by AND.
pub(crate) fn conjuncts(cond: Cond, out: &mut Vec<Cond>) {
    match cond {
        Cond::And(parts) => {
            for part in parts {
                conjuncts(part, out);
            }
        }
        other => out.push(other),
    }
}

pub(crate) fn shown(name: &ObjectName) -> String {
    let parts: Vec<&str> = name.parts.iter().map(|p| &*p.value).collect();
    parts.join(".")
}

fn source_columns(columns: &[ResultColumn]) -> Vec<SourceColumn> {
    let column = |c: &ResultColumn| SourceColumn {
        name: c.name.clone(),
        data_type: c.data_type,
        nullable: c.nullable,
    };
    columns.iter().map(column).collect()
}

impl Binder<'_> {
    /// The database that a name is looked up in.
    pub(crate) fn database_of(&mut self, name: &ObjectName) -> Result<Arc<Database>> {
        if name.server().is_some() {
            return Err(unsupported("a linked server's table"));
        }
        if is_temp(name.name()) {
            return Ok(self.cx.server.instance().database(TEMPDB)?);
        }
        match name.database() {
            Some(database) => {
                self.basis.other();
                let found = self.cx.server.instance().database(&database.value);
                match found {
                    Ok(db) => Ok(db),
                    Err(e) if e.number() == 911 => refuse(208, &[shown(name).into()]),
                    Err(e) => Err(e.into()),
                }
            }
            None => match &self.home {
                Some(home) => Ok(Arc::clone(home)),
                None => Ok(Arc::clone(self.cx.sessions.database())),
            },
        }
    }

    /// What a name in FROM stands for: 208 for nothing.
    pub(crate) fn resolve(&mut self, name: &ObjectName) -> Result<Resolved> {
        if name.parts.len() == 1
            && let Some(cte) = self
                .ctes
                .iter()
                .rev()
                .find(|c| c.name.eq_ignore_ascii_case(name.name()))
        {
            return Ok(Resolved::Cte(cte.clone()));
        }
        let db = self.database_of(name)?;
        if is_temp(name.name()) {
            return self.resolve_temp(db, name);
        }
        let schema = name.schema().map_or("dbo", |s| &s.value);
        let view = views::find(db.name(), schema, name.name());
        if self.cx.sessions.asks_snapshot() && view.is_none() {
            return refuse(3952, &[db.name().into()]);
        }
        if let Some(view) = view.filter(|view| view.parameters.is_none()) {
            return Ok(Resolved::View(db, view));
        }
        let session = self.cx.sessions.of(&db)?;
        match session.table_in(schema, name.name()) {
            Ok(table) => {
                self.basis.table(&table);
                Ok(Resolved::Table(db, table))
            }
            Err(e) if e.number() == 208 => match session.module(schema, name.name()) {
                Some(view) if view.kind() == ModuleKind::View => {
                    self.basis.module(schema, name.name(), &view);
                    Ok(Resolved::Module(db, view))
                }
                _ => refuse(208, &[shown(name).into()]),
            },
            Err(e) => Err(e.into()),
        }
    }

    fn resolve_temp(&mut self, db: Arc<Database>, name: &ObjectName) -> Result<Resolved> {
        let inner = match is_own(name.name()) {
            true => match self.cx.temp_name(name.name()) {
                Some(inner) => Some(inner.to_owned()),
                // By its name in `tempdb`, as definitions of it are bound.
                None => name.name().starts_with('#').then(|| name.name().to_owned()),
            },
            false => Some(name.name().to_owned()),
        };
        let number = if name.name().starts_with('@') {
            1087
        } else {
            208
        };
        let Some(inner) = inner else {
            return refuse(number, &[name.name().into()]);
        };
        let session = self.cx.sessions.of_table(&db, &inner)?;
        match session.table_in("dbo", &inner) {
            Ok(table) => {
                self.basis.table(&table);
                Ok(Resolved::Table(db, table))
            }
            Err(e) if e.number() == 208 => refuse(number, &[name.name().into()]),
            Err(e) => Err(e.into()),
        }
    }

    /// Binds FROM.
    pub(crate) fn from(&mut self, from: &[TableRef]) -> Result<Option<Node>> {
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
        self.count_source()?;
        match source {
            TableRef::Table(table) => self.table_source(table),
            TableRef::Join(join) => self.join(join),
            TableRef::Derived { query, alias } => {
                self.arm(&alias.name.value);
                let (mut bound, takes) = self.apart(false, |binder| binder.nested_query(query))?;
                bound.rename(&alias.columns, &alias.name.value)?;
                self.rows(bound.plan, takes, &alias.name.value, &bound.columns)
            }
            TableRef::Function(function) => self.table_function(function),
            TableRef::Variable { variable, alias } => self.table_source(&TableSource {
                name: ObjectName::single(variable.clone()),
                system_time: None,
                alias: alias.clone(),
                sample: None,
                hints: Vec::new(),
            }),
            TableRef::Pivot(pivot) => self.pivot(pivot),
            TableRef::Unpivot(unpivot) => self.unpivot(unpivot),
            TableRef::BulkRowset(_) => Err(unsupported("OPENROWSET")),
            TableRef::Rowset(name, ..) => Err(unsupported(name)),
        }
    }

    /// Binds something that sees the sources to its left only where it is applied to them.
    fn apart<T>(
        &mut self,
        sees_left: bool,
        bind: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        if sees_left {
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
        columns: &[ResultColumn],
    ) -> Result<Node> {
        let start = self.level().add(Source {
            name: name.to_owned(),
            schema: None,
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

    fn table_source(&mut self, written: &TableSource) -> Result<Node> {
        if written.system_time.is_some() {
            return Err(unsupported("FOR SYSTEM_TIME"));
        }
        if written.sample.is_some() {
            return Err(unsupported("TABLESAMPLE"));
        }
        let own = Some(written.name.name()).filter(|name| is_temp(name));
        let alias = written.alias.as_ref().map(|a| &*a.value).or(own);
        match self.resolve(&written.name)? {
            Resolved::Cte(cte) => {
                let name = alias.unwrap_or(&cte.name).to_owned();
                if let Some((plan, columns)) = self.recursion(&cte) {
                    return self.rows(plan, Vec::new(), &name, &columns);
                }
                self.arm(&name);
                let bound = self.cte(&cte)?;
                self.rows(bound.plan, Vec::new(), &name, &bound.columns)
            }
            Resolved::Module(db, view) => {
                let name = alias.unwrap_or(view.name()).to_owned();
                self.arm(&name);
                let bound = self.user_view(db, &view)?;
                self.rows(bound.plan, Vec::new(), &name, &bound.columns)
            }
            Resolved::View(database, view) => {
                let columns: Vec<ResultColumn> =
                    view.columns.iter().map(ResultColumn::from).collect();
                let plan = Plan::View(Arc::new(ViewPlan {
                    view,
                    database,
                    arguments: Vec::new(),
                }));
                let name = alias.unwrap_or(view.name).to_owned();
                self.rows(plan, Vec::new(), &name, &columns)
            }
            Resolved::Table(db, table) => {
                let (hints, index) = table_hints(&table, &written.hints)?;
                let named = self.is_target(&table, alias.unwrap_or(table.name()));
                let start = self.add_table(&table, alias, named)?;
                let hints = match named {
                    true => super::access::for_update(hints),
                    false => hints,
                };
                Ok(Node::Table(TableNode {
                    db,
                    table,
                    hints,
                    index,
                    start,
                    named,
                }))
            }
        }
    }

    /// Whether a table in FROM is the one that the statement changes: the first of that name.
    fn is_target(&mut self, table: &Table, exposed: &str) -> bool {
        let Some((id, name)) = &self.target else {
            return false;
        };
        let found = *id == table.id() && name.eq_ignore_ascii_case(exposed);
        if found {
            self.target = None;
        }
        found
    }

    /// Adds a table's columns to the wide row; gives their place. `named`: with the name of each row.
    pub(crate) fn add_table(
        &mut self,
        table: &Table,
        alias: Option<&str>,
        named: bool,
    ) -> Result<usize> {
        let mut columns: Vec<SourceColumn> = table
            .columns()
            .iter()
            .map(|c| SourceColumn {
                name: c.name.clone(),
                data_type: c.data_type,
                nullable: c.nullable,
            })
            .collect();
        if named {
            columns.push(SourceColumn {
                name: String::new(),
                data_type: DataType::sized(TypeId::VarBinary, 900),
                nullable: false,
            });
        }
        self.level().add(Source {
            name: alias.unwrap_or(table.name()).to_owned(),
            schema: alias.is_none().then(|| table.schema().to_owned()),
            columns,
            start: 0,
        })
    }

    /// Binds the query of a view, in the view's database.
    fn user_view(&mut self, db: Arc<Database>, view: &Module) -> Result<BoundQuery> {
        if self.views >= 32 {
            return refuse(217, &[32.into()]);
        }
        let written = self.view_text(view)?;
        let ctes = std::mem::take(&mut self.ctes);
        let levels = std::mem::take(&mut self.levels);
        // A statement that changes rows through the view goes on to its table.
        let target = match self.is_armed() {
            true => None,
            false => self.target.take(),
        };
        let home = self.home.replace(db);
        self.views += 1;
        let bound = self
            .define(&written.query.ctes)
            .and_then(|()| self.nested_query(&written.query));
        self.views -= 1;
        (self.ctes, self.levels, self.home) = (ctes, levels, home);
        if target.is_some() {
            self.target = target;
        }
        let (mut bound, _) = bound?;
        bound.rename(&written.columns, view.name())?;
        Ok(bound)
    }

    /// The definition of a view.
    pub(super) fn view_text(&mut self, view: &Module) -> Result<Box<View>> {
        let parsed = crate::interp::parse(view.text(), self.cx)?;
        let written = parsed.into_iter().find_map(|s| match s.kind {
            Statement::View(written) => Some(written),
            _ => None,
        });
        match written {
            Some(written) => Ok(written),
            None => refuse(208, &[view.name().into()]),
        }
    }

    fn table_function(&mut self, written: &TableFunction) -> Result<Node> {
        let name = shown(&written.name);
        if written.variable.is_some() {
            return Err(unsupported(&name));
        }
        if written.name.parts.len() == 1
            && let Some(node) = self.made(written)?
        {
            return Ok(node);
        }
        let schema = written.name.schema().map_or("sys", |s| &s.value);
        let database = Arc::clone(self.cx.sessions.database());
        let Some(view) = views::find(database.name(), schema, written.name.name()) else {
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
        self.rows(plan, takes, &named, &columns)
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
        let left = self.table_ref(&join.left)?;
        let apply = matches!(join.kind, JoinKind::CrossApply | JoinKind::OuterApply);
        let right = match (&join.right, apply) {
            (TableRef::Derived { query, alias }, true) => {
                let (bound, takes) = self.nested_query(query)?;
                let columns = renamed(bound.columns, &alias.columns, &alias.name.value)?;
                self.rows(bound.plan, takes, &alias.name.value, &columns)?
            }
            (right, _) => self.table_ref(right)?,
        };
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

/// Columns under the names that an alias or a CTE gives them; every column needs one, once.
pub(crate) fn renamed(
    mut columns: Vec<ResultColumn>,
    names: &[Ident],
    of: &str,
) -> Result<Vec<ResultColumn>> {
    if !names.is_empty() {
        if names.len() < columns.len() {
            return refuse(8158, &[of.into()]);
        }
        if names.len() > columns.len() {
            return refuse(8159, &[of.into()]);
        }
        for (column, name) in columns.iter_mut().zip(names) {
            column.name = name.value.to_string();
        }
    }
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

/// What a hint says is to be locked (1047 when another one says otherwise).
fn grain(locks: &mut LockHints, wanted: Granularity) -> Result<()> {
    if locks.granularity != Granularity::Row && locks.granularity != wanted {
        let text = "Conflicting locking hints specified.";
        return custom(1047, 15, text);
    }
    locks.granularity = wanted;
    Ok(())
}

/// The isolation level that a hint stands for.
fn level_of(hint: &str) -> Option<Isolation> {
    Some(match hint {
        "NOLOCK" | "READUNCOMMITTED" => Isolation::ReadUncommitted,
        "READCOMMITTED" | "READCOMMITTEDLOCK" => Isolation::ReadCommitted,
        "REPEATABLEREAD" => Isolation::RepeatableRead,
        "SERIALIZABLE" | "HOLDLOCK" => Isolation::Serializable,
        _ => return None,
    })
}

/// Locks and the index that hints ask for.
pub(crate) fn table_hints(
    table: &Table,
    hints: &[TableHint],
) -> Result<(LockHints, Option<usize>)> {
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
        Some(at) => Ok(at),
        None => refuse(308, &[shown.into(), table.full_name().into()]),
    }
}
