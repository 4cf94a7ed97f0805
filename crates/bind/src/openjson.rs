//! OPENJSON: the columns of its rows.

use super::bound_function::{BoundTableFunction, not_of, result};
use super::expr::Bound;
use super::scope::Binder;
use super::types::data_type;
use furrow_context::error::{Result, refuse, unsupported};
use furrow_context::sink::ResultColumn;
use furrow_exec::Expr;
use furrow_exec::openjson::{OpenColumn, OpenJson};
use furrow_exec::table_function::TableFunctionPlan;
use furrow_scalar::convert::Conversion;
use furrow_scalar::json::Path;
use furrow_tsql::ast::query::RowsetColumn;
use furrow_types::{Collation, DataType, Family, TypeId};

const NAME: &str = "openjson";
const WIDE: DataType = DataType::sized(TypeId::NVarChar, -1);

/// Binds a call.
pub(super) fn open(
    binder: &mut Binder<'_>,
    arguments: Vec<Bound>,
    schema: &[RowsetColumn],
) -> Result<BoundTableFunction> {
    let mut exprs = Vec::new();
    let mut collation = Collation::DEFAULT;
    for (place, argument) in (1..).zip(arguments) {
        let id = argument.data_type.id;
        if !id.has_collation() && !argument.is_null_literal {
            return not_of(&argument, place, NAME);
        }
        if place == 1 && id.has_collation() {
            collation = argument.data_type.collation;
        }
        exprs.push(binder.coerce(argument, WIDE)?);
    }
    let mut exprs = exprs.into_iter();
    let Some(text) = exprs.next() else {
        return refuse(313, &[NAME.into()]);
    };
    let mut columns = Vec::new();
    let mut results = Vec::new();
    for written in schema {
        let (column, data_type) = column(binder, written, collation)?;
        columns.push(column);
        results.push(nullable(&written.name.value, data_type));
    }
    if columns.is_empty() {
        let key = DataType::sized(TypeId::NVarChar, 8000);
        results = vec![
            result("key", key.with_collation(Collation::LATIN1_GENERAL_BIN2)),
            nullable("value", WIDE.with_collation(collation)),
            result("type", DataType::simple(TypeId::TinyInt)),
        ];
    }
    let plan = TableFunctionPlan::Json(OpenJson {
        text,
        path: exprs.next(),
        columns,
    });
    Ok((plan, results))
}

fn nullable(name: &str, data_type: DataType) -> ResultColumn {
    ResultColumn {
        nullable: true,
        ..result(name, data_type)
    }
}

/// A column of the WITH clause: its path, or the member of its name.
fn column(
    binder: &mut Binder<'_>,
    written: &RowsetColumn,
    collation: Collation,
) -> Result<(OpenColumn, DataType)> {
    let to = data_type(&written.data_type, false)?;
    match to.id.family() {
        Family::Lob | Family::Variant => return refuse(13614, &[]),
        Family::Binary => return Err(unsupported("OPENJSON with binary columns")),
        _ => {}
    }
    let is_wide = to.id == TypeId::NVarChar && to.is_max();
    if written.as_json && !is_wide {
        return refuse(13618, &[]);
    }
    let to = match to.id.has_collation() {
        true => to.with_collation(collation),
        false => to,
    };
    let path = match &written.path {
        None => Path::member(&written.name.value),
        Some(path) => {
            let bound = binder.expr(path)?;
            let Expr::Const(value) = binder.folded(bound.expr)? else {
                return Err(unsupported(
                    "OPENJSON with a path of a column that is no constant",
                ));
            };
            Path::parse(value.as_str().unwrap_or_default(), false)?
        }
    };
    let column = OpenColumn {
        path,
        as_json: written.as_json,
        conversion: Conversion::explicit(WIDE.with_collation(collation), to, None)?,
    };
    Ok((column, to))
}
