//! Converts columns and constraints of a statement into specifications for the engine.

use super::foreign;
use super::normal::{check_text, default_text, names_of, only_column, same};
use furrow_bind::{Binder, Declared, declared_type};
use furrow_context::context::Context;
use furrow_context::error::{Result, SqlError, unsupported};
use furrow_engine::{
    CheckSpec, ColumnSpec, ConstraintSpec, DefaultValue, ForeignKeySpec, IndexOptions, IndexSpec,
    KeyColumnSpec,
};
use furrow_exec::Expr;
use furrow_messages::Message;
use furrow_scalar::Switches;
use furrow_tsql::ast::expr::{Condition, Expr as Written, ExprKind};
use furrow_tsql::ast::option::{Opt, OptValue, find};
use furrow_tsql::ast::table::{
    ColumnAttribute, ColumnDef, ColumnKind, Constraint, ConstraintKind, DataSpace, IndexBody,
    IndexColumn, InlineIndex, KeyConstraint, TableElement,
};
use furrow_types::{DataType, TypeId, Value};

/// The parts of a table definition besides its columns.
#[derive(Debug, Default)]
pub(super) struct Parts {
    pub(super) columns: Vec<ColumnSpec>,
    pub(super) keys: Vec<ConstraintSpec>,
    pub(super) checks: Vec<CheckSpec>,
    pub(super) indexes: Vec<IndexSpec>,
    pub(super) foreign: Vec<ForeignKeySpec>,
    /// `DEFAULT .. FOR column`: column, name, text.
    pub(super) defaults: Vec<(String, Option<String>, String)>,
    /// Columns that are declared NULL.
    nullable: Vec<String>,
    /// Columns whose default is stored in existing rows: `WITH VALUES`.
    pub(super) with_values: Vec<String>,
    /// Whether the primary key is clustered by default.
    pub(super) implied: bool,
    /// The name of the table.
    table: String,
}

/// An error with a text that is not in the message tables.
pub(super) fn custom<T>(number: u32, level: u8, state: u8, text: &str) -> Result<T> {
    Err(Message::custom(number, level, state, text).into())
}

/// `ON filegroup`; a partition scheme is refused. "default" is the default filegroup.
pub(super) fn filegroup(on: Option<&DataSpace>) -> Result<Option<String>> {
    match on {
        Some(on) if on.column.is_some() => Err(unsupported("a partition scheme")),
        Some(on) if on.name.value.eq_ignore_ascii_case("default") => Ok(None),
        Some(on) => Ok(Some(on.name.value.to_string())),
        None => Ok(None),
    }
}

/// Accepts options of an index that do not change the result of a query, and refuses the others by name. The
/// accepted ones are those that [`change_options`] stores, and those about how the index is built and its
/// statistics are updated. `also`: further options that the caller handles.
pub(super) fn index_options(options: &[Opt], also: &[&str]) -> Result<()> {
    for option in options {
        let name: &str = &option.name;
        let word = word_of(option);
        let taken = match name {
            "IGNORE_DUP_KEY" | "STATISTICS_INCREMENTAL" | "DROP_EXISTING" | "RESUMABLE" => {
                word == "OFF"
            }
            "XML_COMPRESSION" => word == "OFF",
            "DATA_COMPRESSION" => word == "NONE",
            "PAD_INDEX"
            | "STATISTICS_NORECOMPUTE"
            | "SORT_IN_TEMPDB"
            | "OPTIMIZE_FOR_SEQUENTIAL_KEY"
            | "ALLOW_ROW_LOCKS"
            | "ALLOW_PAGE_LOCKS" => matches!(word, "ON" | "OFF"),
            "ONLINE" | "MAXDOP" => true,
            "FILLFACTOR" => fill_factor(option).map(|_| true)?,
            _ => false,
        };
        if !taken && !also.contains(&name) {
            return Err(unsupported(&format!("the index option {name}")));
        }
    }
    Ok(())
}

fn word_of(option: &Opt) -> &str {
    match &option.value {
        Some(OptValue::Word(word)) => word,
        None => "ON",
        Some(_) => "",
    }
}

/// The value of FILLFACTOR; 129 if it is no percentage. 0 is the default.
fn fill_factor(option: &Opt) -> Result<u8> {
    let number = match &option.value {
        Some(OptValue::Expr(e)) => furrow_tsql::expression_text(e),
        Some(OptValue::Size(s)) => furrow_tsql::expression_text(&s.number),
        _ => String::new(),
    };
    match number.parse() {
        Ok(percent @ 0..=100) => Ok(percent),
        _ => {
            let text = format!(
                "Fillfactor {number} is not a valid percentage; fillfactor must be between 1 and 100."
            );
            custom(129, 15, 1, &text)
        }
    }
}

pub(super) fn key_columns(columns: &[IndexColumn]) -> Vec<KeyColumnSpec> {
    let column = |c: &IndexColumn| KeyColumnSpec {
        name: c.name.value.to_string(),
        descending: c.descending,
    };
    columns.iter().map(column).collect()
}

/// The options of an index that are stored.
const KEPT: [&str; 4] = [
    "ALLOW_ROW_LOCKS",
    "ALLOW_PAGE_LOCKS",
    "FILLFACTOR",
    "PAD_INDEX",
];

/// Whether one of these options is stored.
pub(super) fn keeps_any(options: &[Opt]) -> bool {
    KEPT.iter().any(|name| find(options, name).is_some())
}

/// Applies the options of a statement to the options of an index.
pub(super) fn change_options(options: &[Opt], of: &mut IndexOptions) {
    let [rows, pages, fill, pad] = KEPT.map(|name| find(options, name));
    of.rows = rows.map_or(of.rows, Opt::is_on);
    of.pages = pages.map_or(of.pages, Opt::is_on);
    of.padded = pad.map_or(of.padded, Opt::is_on);
    if let Some(Ok(percent)) = fill.map(fill_factor) {
        of.fill_factor = percent;
    }
}

fn kept_options(options: &[Opt]) -> IndexOptions {
    let mut kept = IndexOptions::default();
    change_options(options, &mut kept);
    kept
}

fn key(
    written: &KeyConstraint,
    name: Option<&str>,
    column: Option<&str>,
) -> Result<ConstraintSpec> {
    index_options(&written.options, &[])?;
    let key = match column.filter(|_| written.columns.is_empty()) {
        Some(column) => vec![KeyColumnSpec::from(column)],
        None => key_columns(&written.columns),
    };
    Ok(ConstraintSpec {
        name: name.map(str::to_owned),
        primary: written.primary,
        clustered: written.clustered.unwrap_or(written.primary),
        key,
        filegroup: filegroup(written.on.as_ref())?,
        options: kept_options(&written.options),
    })
}

/// An index specification; `column`: the column behind which it is written.
pub(super) fn index(name: &str, body: &IndexBody, column: Option<&str>) -> Result<IndexSpec> {
    if body.columnstore {
        return Err(unsupported("a columnstore index"));
    }
    if body.filter.is_some() {
        return Err(unsupported("WHERE in an index"));
    }
    index_options(&body.options, &["DROP_EXISTING"])?;
    let key = match column.filter(|_| body.columns.is_empty()) {
        Some(column) => vec![KeyColumnSpec::from(column)],
        None => key_columns(&body.columns),
    };
    Ok(IndexSpec {
        name: name.to_owned(),
        unique: body.unique,
        clustered: body.clustered.unwrap_or(false),
        key,
        included: body.include.iter().map(|c| c.value.to_string()).collect(),
        filegroup: filegroup(body.on.as_ref())?,
        options: kept_options(&body.options),
    })
}

/// A constant number of IDENTITY.
fn integer(binder: &mut Binder<'_>, written: &Written) -> Result<i64> {
    match binder.expr(written)?.expr {
        Expr::Const(value) => match value.as_i64() {
            Some(number) => Ok(number),
            None => Err(unsupported("this IDENTITY range")),
        },
        _ => Err(unsupported("an IDENTITY range that is no constant")),
    }
}

/// Sets a default for a column of this type: one of the engine's own kinds if possible, else a text.
pub(super) fn set_default(
    binder: &mut Binder<'_>,
    column: &mut ColumnSpec,
    (name, value): (Option<&str>, &Written),
    table: &str,
) -> Result<()> {
    if column.default.is_some() || column.default_text.is_some() {
        let text = format!(
            "More than one column DEFAULT constraint specified for column '{}', table '{table}'.",
            column.name
        );
        return custom(8148, 16, 0, &text);
    }
    let text = checked_default(binder, value, column.data_type)?;
    column.default = DefaultValue::parse(&text, &column.data_type);
    column.default_text = Some(text);
    column.default_name = name.map(str::to_owned);
    Ok(())
}

/// The text of a default, after a check that a column of this type can have it.
pub(super) fn checked_default(
    binder: &mut Binder<'_>,
    value: &Written,
    of: DataType,
) -> Result<String> {
    if let Some(column) = first_column(value) {
        let text = format!(
            "The name \"{column}\" is not permitted in this context. Valid expressions are constants, \
            constant expressions, and (in some contexts) variables. Column names are not permitted."
        );
        return custom(128, 15, 1, &text);
    }
    let bound = binder.expr(value)?;
    if !matches!(bound.expr, Expr::Const(Value::Null)) {
        binder.coerce(bound, of)?;
    }
    Ok(default_text(value))
}

fn first_column(value: &Written) -> Option<String> {
    match &value.kind {
        ExprKind::Column(name) => Some(name.name().to_owned()),
        ExprKind::Unary(_, inner) | ExprKind::Collate(inner, _) => first_column(inner),
        ExprKind::Binary(a, _, b) => first_column(a).or_else(|| first_column(b)),
        ExprKind::Call(call) => call.args.iter().find_map(first_column),
        _ => None,
    }
}

fn check(
    name: Option<&str>,
    (condition, not_for_replication): (&Condition, bool),
    column: Option<&str>,
) -> Result<CheckSpec> {
    if not_for_replication {
        return Err(unsupported("NOT FOR REPLICATION"));
    }
    let text = check_text(condition);
    let alone = || only_column(&text);
    Ok(CheckSpec {
        name: name.map(str::to_owned),
        column: column.map(str::to_owned).or_else(alone),
        text,
        trusted: true,
    })
}

impl Parts {
    /// The parts of a table with this name.
    pub(super) fn of(table: &str) -> Parts {
        Parts {
            table: table.to_owned(),
            ..Parts::default()
        }
    }

    /// 8141 for the check of a column that names another column of the table; `others`: those that the table
    /// has already.
    pub(super) fn check_own_columns(&self, others: &[furrow_engine::Column]) -> Result<()> {
        let added = self.columns.iter().map(|column| &column.name);
        let names: Vec<&String> = others
            .iter()
            .map(|column| &column.name)
            .chain(added)
            .collect();
        for check in &self.checks {
            let Some(own) = &check.column else { continue };
            let other = |name: &String| !same(name, own) && names.iter().any(|n| same(n, name));
            if names_of(&check.text).iter().any(other) {
                let args = [
                    "CHECK".into(),
                    own.as_str().into(),
                    self.table.as_str().into(),
                ];
                let mut error: Box<SqlError> = Message::new(8141, &args).into();
                error.messages.push(Message::new(1750, &[]));
                return Err(error);
            }
        }
        Ok(())
    }

    /// Decides whether a primary key without CLUSTERED or NONCLUSTERED is clustered.
    pub(super) fn settle_clustered(&mut self, taken: bool) {
        let others = self
            .keys
            .iter()
            .filter(|k| k.clustered && !k.primary)
            .count()
            + self.indexes.iter().filter(|i| i.clustered).count();
        if self.implied && (taken || others > 0) {
            for key in self.keys.iter_mut().filter(|k| k.primary) {
                key.clustered = false;
            }
        }
    }

    /// A column with its constraints. `place`: its number in the statement.
    pub(super) fn column(
        &mut self,
        binder: &mut Binder<'_>,
        written: &ColumnDef,
        place: usize,
    ) -> Result<()> {
        let of = match &written.kind {
            ColumnKind::Stored(of) => {
                declared_type(of, Declared::Column(&written.name.value), place)?
            }
            ColumnKind::Timestamp => return Err(unsupported("a timestamp column")),
            ColumnKind::Computed { .. } => return Err(unsupported("a computed column")),
        };
        if trims(binder, &of) {
            return Err(unsupported(TRIMMED));
        }
        let mut made = ColumnSpec::new(&written.name.value, of);
        let mut said = None;
        for attribute in &written.attributes {
            match attribute {
                ColumnAttribute::Null(nullable) => said = Some(*nullable),
                ColumnAttribute::Identity {
                    range,
                    not_for_replication,
                } => {
                    if *not_for_replication {
                        return Err(unsupported("NOT FOR REPLICATION"));
                    }
                    let (seed, step) = match range {
                        Some((seed, step)) => (integer(binder, seed)?, integer(binder, step)?),
                        None => (1, 1),
                    };
                    made = made.identity(seed, step);
                }
                ColumnAttribute::Constraint(constraint) => {
                    self.of_column(binder, &mut made, constraint)?;
                }
                ColumnAttribute::Index(inline) => self.inline(inline, Some(&made.name))?,
                ColumnAttribute::Collate(name) => set_collation(&mut made, &name.value)?,
                ColumnAttribute::RowGuidCol => return Err(unsupported("ROWGUIDCOL")),
                ColumnAttribute::Sparse => return Err(unsupported("SPARSE")),
            }
        }
        match said {
            Some(true) if made.identity.is_some() => {
                let text = format!(
                    "Could not create IDENTITY attribute on nullable column '{}', table '{}'.",
                    made.name, self.table
                );
                return custom(8147, 16, 1, &text);
            }
            Some(true) => self.nullable.push(made.name.clone()),
            Some(false) => made.nullable = false,
            None => made.nullable &= takes_nulls(binder),
        }
        self.columns.push(made);
        Ok(())
    }

    fn of_column(
        &mut self,
        binder: &mut Binder<'_>,
        column: &mut ColumnSpec,
        constraint: &Constraint,
    ) -> Result<()> {
        let name = constraint.name.as_ref().map(|n| &*n.value);
        match &constraint.kind {
            ConstraintKind::Key(written) => {
                self.implied |= written.primary && written.clustered.is_none();
                self.keys.push(key(written, name, Some(&column.name))?);
            }
            ConstraintKind::Default {
                value, with_values, ..
            } => {
                if *with_values {
                    self.with_values.push(column.name.clone());
                }
                set_default(binder, column, (name, value), &self.table)?;
            }
            ConstraintKind::Check {
                condition,
                not_for_replication,
            } => {
                let written = (condition, *not_for_replication);
                self.checks.push(check(name, written, Some(&column.name))?);
            }
            ConstraintKind::References(written) => {
                let spec = foreign::spec(written, name, Some(&column.name))?;
                self.foreign.push(spec);
            }
        }
        Ok(())
    }

    /// A table constraint.
    pub(super) fn constraint(
        &mut self,
        binder: &mut Binder<'_>,
        written: &Constraint,
    ) -> Result<()> {
        let name = written.name.as_ref().map(|n| &*n.value);
        match &written.kind {
            ConstraintKind::Key(of) => {
                self.implied |= of.primary && of.clustered.is_none();
                self.keys.push(key(of, name, None)?);
            }
            ConstraintKind::Check {
                condition,
                not_for_replication,
            } => {
                let written = (condition, *not_for_replication);
                self.checks.push(check(name, written, None)?);
            }
            ConstraintKind::Default { value, column, .. } => {
                let _bound = binder.expr(value)?;
                let column = column.as_ref().map_or("", |c| &c.value).to_owned();
                let name = name.map(str::to_owned);
                self.defaults.push((column, name, default_text(value)));
            }
            ConstraintKind::References(written) => {
                self.foreign.push(foreign::spec(written, name, None)?);
            }
        }
        Ok(())
    }

    /// `INDEX ix ..` in the list of columns, or behind a column.
    pub(super) fn inline(&mut self, written: &InlineIndex, column: Option<&str>) -> Result<()> {
        let spec = index(&written.name.value, &written.index, column)?;
        self.indexes.push(spec);
        Ok(())
    }

    /// Makes columns of primary keys NOT NULL, unless they are declared NULL (8111).
    pub(super) fn settle_keys(&mut self) {
        for key in self.keys.iter().filter(|k| k.primary) {
            for part in &key.key {
                let same = |name: &str| name.to_lowercase() == part.name.to_lowercase();
                if self.nullable.iter().any(|n| same(n)) {
                    continue;
                }
                for column in self.columns.iter_mut().filter(|c| same(&c.name)) {
                    column.nullable = false;
                }
            }
        }
    }
}

fn set_collation(column: &mut ColumnSpec, name: &str) -> Result<()> {
    if name.eq_ignore_ascii_case("database_default")
        || name.eq_ignore_ascii_case("SQL_Latin1_General_CP1_CI_AS")
    {
        return Ok(());
    }
    let _ = column;
    Err(unsupported(&format!("COLLATE {name}")))
}

/// Whether a column without NULL or NOT NULL allows NULL: by the session's setting, otherwise by the
/// database's.
fn takes_nulls(binder: &Binder<'_>) -> bool {
    let (set, db) = (&binder.cx.set, binder.cx.sessions.database());
    match set.has(Switches::ANSI_NULL_DFLT_OFF) {
        true => false,
        false => {
            set.has(Switches::ANSI_NULL_DFLT_ON) || db.options().defaults.is_on("ANSI_NULL_DEFAULT")
        }
    }
}

/// The error text for a column under ANSI_PADDING OFF.
const TRIMMED: &str =
    "a char, varchar, binary or varbinary column that is made with ANSI_PADDING OFF";

/// Whether values of a column would lose trailing blanks or zero bytes.
fn trims(binder: &Binder<'_>, of: &DataType) -> bool {
    let padded = matches!(
        of.id,
        TypeId::Char | TypeId::VarChar | TypeId::Binary | TypeId::VarBinary
    );
    padded && !of.is_max() && !binder.cx.set.has(Switches::ANSI_PADDING)
}

/// Refuses columns that cannot be created under the present settings, before the batch runs.
pub(crate) fn check_padding(cx: &mut Context, elements: &[TableElement]) -> Result<()> {
    if cx.set.has(Switches::ANSI_PADDING) {
        return Ok(());
    }
    let binder = Binder::new(cx);
    for element in elements {
        if let TableElement::Column(column) = element
            && let ColumnKind::Stored(of) = &column.kind
            && trims(&binder, &furrow_bind::data_type(of, false)?)
        {
            return Err(unsupported(TRIMMED));
        }
    }
    Ok(())
}
