//! FOR XML and FOR JSON: which column goes where. What FOR XML makes of names is in `markup_xml`.

use super::expr::Bound;
use super::query::BoundQuery;
use super::scope::Binder;
use super::shown;
use furrow_context::error::{Result, refuse, unsupported};
use furrow_context::sink::ResultColumn;
use furrow_context::system::MetadataFunction;
use furrow_exec::Plan;
use furrow_exec::expr::Expr;
use furrow_exec::markup::{Form, JsonColumn, JsonForm, MarkupPlan};
use furrow_scalar::xml::string_value;
use furrow_tsql::ast::Statement;
use furrow_tsql::ast::expr::{Call, Expr as Written, ExprKind, Literal};
use furrow_tsql::ast::name::ObjectName;
use furrow_tsql::ast::query::{ForClause, ForOption, Query, QueryBody, SelectItem, TableRef};
use furrow_types::{DataType, TypeId, Value};

/// What SQL Server calls the column of such a result.
const XML_COLUMN: &str = "XML_F52E2B61-18A1-11d1-B105-00805F49916B";
const JSON_COLUMN: &str = "JSON_F52E2B61-18A1-11d1-B105-00805F49916B";

/// Whether an item of a select list is a query whose result is markup already.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inner {
    Other,
    Xml,
    Json,
}

/// The text of an XML value, as `.value('.', 'nvarchar(max)')` returns it.
static STRING_VALUE: MetadataFunction = MetadataFunction {
    name: "value",
    least: 1,
    most: 1,
    result: DataType::sized(TypeId::NVarChar, -1),
    call: |_, values| {
        let Some(xml) = values.first().and_then(|value| value.as_str()) else {
            return Ok(Value::Null);
        };
        let mut text = String::new();
        string_value(xml, &mut text);
        Ok(Value::NVarChar(text))
    },
};

impl Binder<'_> {
    /// A query's rows as XML or JSON.
    pub(super) fn marked_up(
        &mut self,
        query: &Query,
        clause: &ForClause,
        bound: BoundQuery,
    ) -> Result<BoundQuery> {
        if !bound.assigns.is_empty() {
            return Err(unsupported(
                "FOR XML and FOR JSON with variables that are set",
            ));
        }
        let inner = inner_of(&query.body, bound.columns.len());
        let (name, form) = match clause {
            ForClause::Browse => return Err(unsupported("FOR BROWSE")),
            ForClause::Xml(options) => (
                XML_COLUMN,
                super::markup_xml::form(query, options, &bound.columns)?,
            ),
            ForClause::Json(options) => {
                (JSON_COLUMN, json(query, options, &bound.columns, &inner)?)
            }
        };
        let data_type = match clause {
            ForClause::Xml(options) if is_typed(options) => DataType::simple(TypeId::Xml),
            _ => DataType::sized(TypeId::NVarChar, -1),
        };
        Ok(BoundQuery {
            plan: Plan::Markup(Box::new(MarkupPlan {
                input: bound.plan,
                form,
            })),
            columns: vec![ResultColumn {
                name: name.to_owned(),
                data_type,
                nullable: true,
            }],
            assigns: Vec::new(),
            hidden: 0,
        })
    }

    /// A method of a value.
    pub(super) fn xml_method(
        &mut self,
        of: &Written,
        name: &str,
        arguments: &[Written],
    ) -> Result<Bound> {
        let text = match name.eq_ignore_ascii_case("value") {
            true => self.text_of_xml(of, arguments)?,
            false => None,
        };
        text.ok_or_else(|| unsupported(&format!(".{name}()")))
    }

    /// `column.method()`, which reads like the call of a function; `None` where it is no column of XML.
    pub(super) fn method_of_column(&mut self, call: &Call) -> Result<Option<Bound>> {
        let Some((method, column)) = call.name.parts.split_last() else {
            return Ok(None);
        };
        if !["value", "query", "exist", "nodes", "modify"].contains(&&*method.value) {
            return Ok(None);
        }
        let of = Written {
            kind: ExprKind::Column(ObjectName {
                parts: column.to_vec(),
            }),
            span: method.span,
        };
        match self.expr(&of) {
            Ok(bound) if bound.data_type.id == TypeId::Xml => {
                self.xml_method(&of, &method.value, &call.args).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// `xml.value('.', 'type')`: the text of XML. `None` where it is not that.
    fn text_of_xml(&mut self, of: &Written, arguments: &[Written]) -> Result<Option<Bound>> {
        let [path, of_type] = arguments else {
            return Ok(None);
        };
        let (Some(path), Some(of_type)) = (text_of(path), text_of(of_type)) else {
            return Ok(None);
        };
        let xml = self.expr(of)?;
        if xml.data_type.id != TypeId::Xml {
            return Ok(None);
        }
        let path: String = path.chars().filter(|c| !c.is_whitespace()).collect();
        let whole = matches!(path.as_str(), "." | "(.)[1]" | ".[1]" | "(./.)[1]");
        let first = matches!(
            path.as_str(),
            "text()[1]" | "./text()[1]" | "(text())[1]" | "(./text())[1]"
        );
        if !(whole || first && is_text_alone(of)) {
            return Err(unsupported(&format!(".value('{path}')")));
        }
        let text = Bound::of(
            Expr::Metadata(&STRING_VALUE, vec![xml.expr]),
            DataType::sized(TypeId::NVarChar, -1),
        );
        let to = self.written_type(&of_type)?;
        self.cast_to(text, to).map(Some)
    }

    /// A type that is written in a text.
    fn written_type(&mut self, text: &str) -> Result<DataType> {
        let parsed =
            furrow_context::parse::parse(&format!("SELECT CAST(NULL AS {text})"), self.cx)?;
        let cast = parsed.into_iter().find_map(|statement| {
            let Statement::Select(query) = statement.kind else {
                return None;
            };
            let QueryBody::Select(select) = query.body else {
                return None;
            };
            match select.items.into_iter().next()? {
                SelectItem::Expr { expr, .. } => match expr.kind {
                    ExprKind::Cast(cast) => Some(cast.data_type),
                    _ => None,
                },
                _ => None,
            }
        });
        match cast {
            Some(written) => super::data_type(&written, true),
            None => Err(unsupported(&format!("the type {text}"))),
        }
    }
}

fn text_of(written: &Written) -> Option<String> {
    match &written.kind {
        ExprKind::Literal(Literal::String(text) | Literal::National(text)) => {
            Some(text.to_string())
        }
        _ => None,
    }
}

/// Whether FOR XML gives a value of type `xml`.
fn is_typed(options: &[ForOption]) -> bool {
    options.iter().any(|option| &*option.name == "TYPE")
}

/// Whether this is a query whose XML has no elements: rows without a tag, columns without a name.
fn is_text_alone(of: &Written) -> bool {
    let ExprKind::Subquery(query) = &of.kind else {
        return false;
    };
    let Some(ForClause::Xml(options)) = &query.for_clause else {
        return false;
    };
    let bare = options.iter().any(|option| {
        let name = option.arg.as_ref().and_then(text_of);
        &*option.name == "PATH" && name.as_deref() == Some("")
    });
    let QueryBody::Select(select) = &query.body else {
        return false;
    };
    let unnamed = |item: &SelectItem| match item {
        item if inner_item(item) == Inner::Xml => false,
        SelectItem::Expr { expr, alias } => match (alias, &expr.kind) {
            (Some(alias), _) => matches!(&*alias.value.to_lowercase(), "text()" | "data()" | "*"),
            (None, ExprKind::Column(_)) => false,
            _ => true,
        },
        _ => false,
    };
    bare && select.items.iter().all(unnamed)
}

/// Whether the result of a query is one text of JSON: FOR JSON without brackets around it may be none.
pub(super) fn is_json(query: &Query) -> bool {
    match &query.for_clause {
        Some(ForClause::Json(options)) => {
            options.iter().all(|o| &*o.name != "WITHOUT_ARRAY_WRAPPER")
        }
        _ => false,
    }
}

/// The kind of an item of a select list, as far as its text shows it.
fn inner_item(item: &SelectItem) -> Inner {
    match item {
        SelectItem::Expr { expr, .. } => match &expr.kind {
            ExprKind::Subquery(query) => match &query.for_clause {
                Some(ForClause::Xml(options)) if is_typed(options) => Inner::Xml,
                Some(ForClause::Json(_)) if is_json(query) => Inner::Json,
                _ => Inner::Other,
            },
            ExprKind::Call(call) if call.name.name().eq_ignore_ascii_case("JSON_QUERY") => {
                Inner::Json
            }
            _ => Inner::Other,
        },
        _ => Inner::Other,
    }
}

/// The kinds of the items of a select list, as far as they can be assigned to columns: not behind a star.
fn inner_of(body: &QueryBody, columns: usize) -> Vec<Inner> {
    match body {
        QueryBody::Select(select) if select.items.len() == columns => {
            select.items.iter().map(inner_item).collect()
        }
        _ => vec![Inner::Other; columns],
    }
}

/// The one table of a query, as it is called: what AUTO names its rows by.
pub(super) fn only_table(query: &Query, what: &str) -> Result<String> {
    let QueryBody::Select(select) = &query.body else {
        return Err(unsupported(what));
    };
    match select.from.as_slice() {
        [TableRef::Table(table)] => Ok(match &table.alias {
            Some(alias) => alias.value.to_string(),
            None => shown(&table.name),
        }),
        [TableRef::Derived { alias, .. }] => Ok(alias.name.value.to_string()),
        _ => Err(unsupported(what)),
    }
}

/// The argument of an option.
pub(super) fn argument(option: &ForOption) -> Option<String> {
    option.arg.as_ref().and_then(text_of)
}

fn json(
    query: &Query,
    options: &[ForOption],
    columns: &[ResultColumn],
    inner: &[Inner],
) -> Result<Form> {
    let has = |name: &str| options.iter().any(|o| &*o.name == name);
    let auto = has("AUTO");
    if auto {
        only_table(query, "FOR JSON AUTO of several tables")?;
    }
    let root = options.iter().find(|o| &*o.name == "ROOT");
    let root = root.map(|option| argument(option).unwrap_or_else(|| "root".to_owned()));
    let array = !has("WITHOUT_ARRAY_WRAPPER");
    if root.is_some() && !array {
        return refuse(13620, &[]);
    }
    let mut placed: Vec<JsonColumn> = Vec::new();
    for (column, inner) in columns.iter().zip(inner) {
        if column.name.is_empty() {
            return refuse(13605, &[]);
        }
        let path: Vec<String> = match auto {
            true => vec![column.name.clone()],
            false => column.name.split('.').map(str::to_owned).collect(),
        };
        if conflicts(&placed, &path) {
            return refuse(13601, &[column.name.clone().into()]);
        }
        placed.push(JsonColumn {
            path,
            data_type: column.data_type,
            raw: *inner == Inner::Json,
        });
    }
    Ok(Form::Json(JsonForm {
        columns: placed,
        root,
        array,
        nulls: has("INCLUDE_NULL_VALUES"),
    }))
}

/// Whether a key is there already, or an object that was left would have to be opened again.
fn conflicts(placed: &[JsonColumn], path: &[String]) -> bool {
    let common = |other: &JsonColumn| {
        other
            .path
            .iter()
            .zip(path)
            .take_while(|(a, b)| a == b)
            .count()
    };
    let before = placed.last().map_or(0, common);
    placed.iter().any(|other| {
        let common = common(other);
        common == path.len() || common == other.path.len() || common > before
    })
}
