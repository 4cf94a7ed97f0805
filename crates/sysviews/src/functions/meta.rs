//! Metadata functions: `OBJECT_ID`, `SERVERPROPERTY`, `FILEPROPERTY` and others.

use super::{INT, NUMERIC, SMALLINT, SYSNAME, Values, row};
use crate::names::parts_of;
use crate::{value, views};
use furrow_context::context::Context;
use furrow_context::error::Result;
use furrow_context::system::MetadataFunction;
use furrow_context::system_databases::TEMPDB;
use furrow_engine::{Database, FileView, Index, IndexKind, Table};
use furrow_format::{DatabaseId, PageVerify};
use furrow_types::{DataType, TypeId, Value};
use std::sync::Arc;

const VARIANT_TEXT: DataType = value::nvarchar(256);

pub(super) static FUNCTIONS: &[MetadataFunction] = &[
    row("OBJECT_ID", 1, 2, INT, object_id),
    row("OBJECT_NAME", 1, 2, SYSNAME, |cx, v| {
        Ok(named(cx, v, 1)?.map_or(Value::Null, |o| value::text(o.name)))
    }),
    row("OBJECT_SCHEMA_NAME", 1, 2, SYSNAME, |cx, v| {
        Ok(named(cx, v, 1)?.map_or(Value::Null, |o| value::text(o.schema)))
    }),
    row("SCHEMA_ID", 0, 1, INT, schema_id),
    row("SCHEMA_NAME", 0, 1, SYSNAME, schema_name),
    row("TYPE_ID", 1, 1, INT, |_, v| {
        Ok(text(v, 0).map_or(Value::Null, type_id))
    }),
    row("TYPE_NAME", 1, 1, SYSNAME, |_, v| {
        Ok(number(v, 0).map_or(Value::Null, type_name))
    }),
    row("COL_LENGTH", 2, 2, SMALLINT, |cx, v| {
        Ok(column(cx, v)?.map_or(Value::Null, |(t, at)| value::small(length(&t, at))))
    }),
    row("COL_NAME", 2, 2, SYSNAME, col_name),
    row("COLUMNPROPERTY", 3, 3, INT, column_property),
    row("INDEXPROPERTY", 3, 3, INT, index_property),
    row("INDEX_COL", 3, 3, SYSNAME, index_col),
    row("OBJECTPROPERTY", 2, 2, INT, object_property),
    row("OBJECTPROPERTYEX", 2, 2, INT, object_property),
    row("IDENT_CURRENT", 1, 1, NUMERIC, |cx, v| {
        identity(cx, v, |i| i.last)
    }),
    row("IDENT_SEED", 1, 1, NUMERIC, |cx, v| {
        identity(cx, v, |i| i.seed)
    }),
    row("IDENT_INCR", 1, 1, NUMERIC, |cx, v| {
        identity(cx, v, |i| i.increment)
    }),
    row("PARSENAME", 2, 2, SYSNAME, |_, v| Ok(parse_name(v))),
    row("FILE_ID", 1, 1, SMALLINT, |cx, v| {
        file_id(cx, v, value::small)
    }),
    row("FILE_IDEX", 1, 1, INT, |cx, v| file_id(cx, v, value::int)),
    row("FILE_NAME", 1, 1, SYSNAME, |cx, v| {
        let id = number(v, 0);
        Ok(file(cx, |f| Some(i64::from(f.id.0)) == id)?
            .map_or(Value::Null, |f| value::text(f.name)))
    }),
    row("FILEGROUP_ID", 1, 1, INT, filegroup_id),
    row("FILEGROUP_NAME", 1, 1, SYSNAME, filegroup_name),
    row("FILEPROPERTY", 2, 2, INT, file_property),
    row("DATABASEPROPERTYEX", 2, 2, VARIANT_TEXT, database_property),
    row("SERVERPROPERTY", 1, 1, VARIANT_TEXT, |cx, v| {
        Ok(server_property(cx, text(v, 0)))
    }),
    row("SESSIONPROPERTY", 1, 1, INT, |cx, v| {
        Ok(session_property(cx, text(v, 0)))
    }),
    row("@@VERSION", 0, 0, value::nvarchar(300), |_, _| {
        Ok(value::text(version_text()))
    }),
    row("@@SERVERNAME", 0, 0, SYSNAME, |_, _| {
        Ok(value::text(SERVER_NAME))
    }),
    row("@@SERVICENAME", 0, 0, SYSNAME, |_, _| {
        Ok(value::text(SERVER_NAME))
    }),
    row("@@LOCK_TIMEOUT", 0, 0, INT, |cx, _| {
        Ok(value::int(lock_timeout(cx)))
    }),
    row("@@DATEFIRST", 0, 0, value::TINYINT, |cx, _| {
        Ok(value::tiny(cx.set.settings.date_first))
    }),
    row("@@OPTIONS", 0, 0, INT, |cx, _| {
        Ok(value::int(cx.set.settings.switches.bits()))
    }),
    row("@@MICROSOFTVERSION", 0, 0, INT, |_, _| {
        Ok(value::int(MAJOR_VERSION << 24))
    }),
    row("@@MAX_PRECISION", 0, 0, value::TINYINT, |_, _| {
        Ok(value::tiny(38))
    }),
    row("@@LANGUAGE", 0, 0, SYSNAME, |_, _| {
        Ok(value::text("us_english"))
    }),
    row("@@LANGID", 0, 0, SMALLINT, |_, _| Ok(value::small(0))),
    row("@@TEXTSIZE", 0, 0, INT, |_, _| Ok(value::int(i32::MAX))),
    row("USER_NAME", 0, 1, SYSNAME, |_, v| Ok(user_name(v))),
    row("SUSER_SNAME", 0, 1, SYSNAME, |_, _| Ok(value::text("sa"))),
    row("SUSER_NAME", 0, 1, SYSNAME, |_, _| Ok(value::text("sa"))),
    row("SYSTEM_USER", 0, 0, SYSNAME, |_, _| Ok(value::text("sa"))),
    row("CURRENT_USER", 0, 0, SYSNAME, |_, _| Ok(value::text("dbo"))),
    row("SESSION_USER", 0, 0, SYSNAME, |_, _| Ok(value::text("dbo"))),
    row("USER", 0, 0, SYSNAME, |_, _| Ok(value::text("dbo"))),
    row("IS_SRVROLEMEMBER", 1, 2, INT, |_, v| {
        Ok(member(v, SERVER_ROLES))
    }),
    row("IS_MEMBER", 1, 1, INT, |_, v| Ok(member(v, DATABASE_ROLES))),
    row("IS_ROLEMEMBER", 1, 2, INT, |_, v| {
        Ok(member(v, DATABASE_ROLES))
    }),
    row("HAS_DBACCESS", 1, 1, INT, has_access),
    row("OBJECT_DEFINITION", 1, 1, value::NTEXT, definition),
    row("ORIGINAL_LOGIN", 0, 0, SYSNAME, |_, _| {
        Ok(value::text("sa"))
    }),
    row("HOST_NAME", 0, 0, SYSNAME, |_, _| {
        Ok(value::text("localhost"))
    }),
    row("APP_NAME", 0, 0, SYSNAME, |_, _| Ok(value::text("furrow"))),
];

/// The instance's name. A process has one instance.
pub const SERVER_NAME: &str = "FURROW";

/// The version of SQL Server whose T-SQL this engine implements.
const PRODUCT_VERSION: &str = "13.0.0.0";
/// Its first part, which is the highest byte of `@@MICROSOFTVERSION`.
const MAJOR_VERSION: i32 = 13;

fn version_text() -> String {
    format!(
        "Furrow {} (compatible with SQL Server {PRODUCT_VERSION}, file version {})",
        env!("CARGO_PKG_VERSION"),
        views::FILE_VERSION
    )
}

/// A part of a name, counted from the right: 1 the object, 2 its schema, 3 its database, 4 its server.
fn parse_name(values: Values<'_, '_>) -> Value {
    let (Some(name), Some(part)) = (text(values, 0), number(values, 1)) else {
        return Value::Null;
    };
    let parts = parts_of(name);
    let at = usize::try_from(part)
        .ok()
        .and_then(|part| parts.len().checked_sub(part));
    let found = at.and_then(|at| parts.get(at));
    let found = found.filter(|p| !p.is_empty() && parts.len() <= 4);
    found.map_or(Value::Null, |p| value::text(p.clone()))
}

fn text<'a>(values: Values<'a, '_>, at: usize) -> Option<&'a str> {
    values.get(at).and_then(|v| v.as_str())
}

fn number(values: Values<'_, '_>, at: usize) -> Option<i64> {
    values.get(at).and_then(|v| v.as_i64())
}

/// The database whose number is the argument; the current one without an argument.
fn database(cx: &Context, values: Values<'_, '_>, at: usize) -> Option<Arc<Database>> {
    if values.len() <= at {
        return Some(Arc::clone(cx.sessions.database()));
    }
    let id = u16::try_from(number(values, at)?).ok()?;
    cx.server.instance().database_by_id(DatabaseId(id))
}

fn objects(cx: &mut Context, db: &Arc<Database>) -> Result<Vec<views::Object>> {
    let session = cx.sessions.of(db)?;
    let mut all = views::objects_of(&session.tables(), &session.modules());
    all.extend(views::of_system(db));
    Ok(all)
}

fn object_id(cx: &mut Context, values: Values<'_, '_>) -> Result<Value> {
    let Some(name) = text(values, 0) else {
        return Ok(Value::Null);
    };
    let mut parts = parts_of(name);
    let name = parts.pop().unwrap_or_default();
    let schema = parts
        .pop()
        .filter(|s| !s.is_empty())
        .unwrap_or_else(|| "dbo".to_owned());
    let db = match parts.pop().filter(|d| !d.is_empty()) {
        None => Arc::clone(cx.sessions.database()),
        Some(db) => match cx.server.instance().database(&db) {
            Ok(db) => db,
            Err(_) => return Ok(Value::Null),
        },
    };
    let kind = text(values, 1).map(|k| k.trim_end().to_uppercase());
    // `tempdb` stores a temporary table of the connection under another name.
    let own = match db.name().eq_ignore_ascii_case(TEMPDB) {
        true => cx.temp_name(&name).map(str::to_owned),
        false => None,
    };
    let name = own.unwrap_or(name);
    let all = objects(cx, &db)?;
    let found = all.into_iter().find(|o| {
        o.name.eq_ignore_ascii_case(&name)
            && o.schema.eq_ignore_ascii_case(&schema)
            && kind.as_ref().is_none_or(|k| *k == o.kind)
    });
    Ok(found.map_or(Value::Null, |o| value::int(o.id)))
}

/// The object with a number, in the database of the argument at `database_at`.
fn named(
    cx: &mut Context,
    values: Values<'_, '_>,
    database_at: usize,
) -> Result<Option<views::Object>> {
    let (Some(id), Some(db)) = (number(values, 0), database(cx, values, database_at)) else {
        return Ok(None);
    };
    let all = objects(cx, &db)?;
    Ok(all.into_iter().find(|o| i64::from(o.id) == id))
}

fn schema_id(cx: &mut Context, values: Values<'_, '_>) -> Result<Value> {
    let name = match values.is_empty() {
        true => Some("dbo"),
        false => text(values, 0),
    };
    let schemas = cx.sessions.session().schemas();
    let found = name.and_then(|name| schemas.iter().find(|(_, s)| s.eq_ignore_ascii_case(name)));
    Ok(found.map_or(Value::Null, |(id, _)| value::int(*id)))
}

fn schema_name(cx: &mut Context, values: Values<'_, '_>) -> Result<Value> {
    if values.is_empty() {
        return Ok(value::text("dbo"));
    }
    let id = number(values, 0).and_then(|id| i32::try_from(id).ok());
    let schemas = cx.sessions.session().schemas();
    Ok(value::maybe_text(
        id.and_then(|id| schemas.get(&id)).cloned(),
    ))
}

fn type_id(name: &str) -> Value {
    let name = parts_of(name).pop().unwrap_or_default().to_lowercase();
    match TypeId::from_name(&name) {
        Some(id) => value::int(id as u8),
        None if name == "sysname" => value::int(256),
        None => Value::Null,
    }
}

fn type_name(id: i64) -> Value {
    match (id, u8::try_from(id).ok().and_then(TypeId::from_u8)) {
        (256, _) => value::text("sysname"),
        (_, Some(id)) => value::text(id.name()),
        _ => Value::Null,
    }
}

/// The table with a name or number.
fn table(cx: &mut Context, of: Option<&Value>) -> Option<Arc<Table>> {
    let tables = cx.sessions.session().tables();
    let of = of?;
    match (of.as_str(), of.as_i64()) {
        (Some(name), _) => {
            let (schema, name) = crate::names::split_name(name);
            tables.into_iter().find(|t| {
                t.name().eq_ignore_ascii_case(&name) && t.schema().eq_ignore_ascii_case(&schema)
            })
        }
        (_, Some(id)) => tables.into_iter().find(|t| i64::from(t.id().0) == id),
        _ => None,
    }
}

/// A table, and the position of one of its columns, by name.
fn column(cx: &mut Context, values: Values<'_, '_>) -> Result<Option<(Arc<Table>, usize)>> {
    let found = table(cx, values.first().map(AsRef::as_ref));
    let Some(table) = found else {
        return Ok(None);
    };
    let at = text(values, 1).and_then(|name| table.column(name));
    Ok(at.map(|at| (table, at)))
}

fn length(table: &Table, at: usize) -> i16 {
    table.columns().get(at).map_or(0, |c| c.data_type.length)
}

fn col_name(cx: &mut Context, values: Values<'_, '_>) -> Result<Value> {
    let found = table(cx, values.first().map(AsRef::as_ref));
    let id = number(values, 1);
    let column = found.as_ref().and_then(|t| {
        let mut columns = t.columns().iter();
        columns.find(|c| Some(i64::from(c.id)) == id)
    });
    Ok(value::maybe_text(column.map(|c| c.name.clone())))
}

fn column_property(cx: &mut Context, values: Values<'_, '_>) -> Result<Value> {
    let Some((table, at)) = column(cx, values)? else {
        return Ok(Value::Null);
    };
    let (Some(column), Some(property)) = (table.columns().get(at), text(values, 2)) else {
        return Ok(Value::Null);
    };
    let of = column.data_type;
    let flag = |on: bool| value::int(i32::from(on));
    Ok(match &*property.to_lowercase() {
        "allowsnull" => flag(column.nullable),
        "columnid" => value::int(column.id),
        "isidentity" => flag(column.identity),
        "iscomputed" | "isrowguidcol" | "issparse" | "iscolumnset" | "ishidden" => flag(false),
        "precision" if of.id.has_collation() && of.id.is_unicode() => value::int(of.length / 2),
        "precision" if of.id.has_collation() => value::int(of.length),
        "precision" => value::int(of.precision),
        "scale" if of.id.has_collation() => Value::Null,
        "scale" => value::int(of.scale),
        "charmaxlen" if of.id.is_unicode() => value::int(of.length / 2),
        "charmaxlen" if of.id.has_collation() => value::int(of.length),
        _ => Value::Null,
    })
}

fn index_property(cx: &mut Context, values: Values<'_, '_>) -> Result<Value> {
    let found = table(cx, values.first().map(AsRef::as_ref));
    let index = found.as_ref().and_then(|t| t.index_named(text(values, 1)?));
    let (Some(index), Some(property)) = (index, text(values, 2)) else {
        return Ok(Value::Null);
    };
    let flag = |on: bool| value::int(i32::from(on));
    Ok(match &*property.to_lowercase() {
        "indexid" => value::int(index.id()),
        "isclustered" => flag(index.kind() == IndexKind::Clustered),
        "isunique" => flag(index.is_unique()),
        "isdisabled" | "ishypothetical" | "isstatistics" | "isautostatistics" => flag(false),
        "ispadindex" => flag(index.options().padded),
        "indexfillfactor" => value::int(index.options().fill_factor),
        _ => Value::Null,
    })
}

fn index_col(cx: &mut Context, values: Values<'_, '_>) -> Result<Value> {
    let found = table(cx, values.first().map(AsRef::as_ref));
    let (Some(table), Some(index), Some(key)) = (found, number(values, 1), number(values, 2))
    else {
        return Ok(Value::Null);
    };
    let of_number = |i: &&Index| i64::from(i.id()) == index;
    let key = usize::try_from(key - 1).ok();
    let column = table.indexes().iter().find(of_number).and_then(|i| {
        let key = i.key().get(key?)?;
        table.columns().get(key.column)
    });
    Ok(value::maybe_text(column.map(|c| c.name.clone())))
}

fn object_property(cx: &mut Context, values: Values<'_, '_>) -> Result<Value> {
    let Some(object) = named(cx, values, usize::MAX)? else {
        return Ok(Value::Null);
    };
    let Some(property) = text(values, 1) else {
        return Ok(Value::Null);
    };
    let flag = |on: bool| Ok(value::int(i32::from(on)));
    let kind = &*object.kind;
    let property = property.to_lowercase();
    match &*property {
        "istable" | "isusertable" => return flag(kind == "U"),
        "isview" => return flag(kind == "V"),
        "isprocedure" => return flag(kind == "P"),
        "isprimarykey" => return flag(kind == "PK"),
        "isuniquecnst" => return flag(kind == "UQ"),
        "ischeckcnst" => return flag(kind == "C"),
        "isdefaultcnst" => return flag(kind == "D"),
        "isconstraint" => return flag(matches!(kind, "PK" | "UQ" | "C" | "D" | "F")),
        "ismsshipped" => return flag(object.id < 0),
        "schemaid" => return schema_id(cx, &[std::borrow::Cow::Owned(value::text(object.schema))]),
        "ownerid" => return Ok(value::int(1)),
        _ => {}
    }
    let Some(table) = table(cx, Some(&Value::Int(object.id))) else {
        return Ok(Value::Null);
    };
    match &*property {
        "tablehasprimarykey" => flag(table.indexes().iter().any(Index::is_primary_key)),
        "tablehasclustindex" => flag(!table.is_heap()),
        "tablehasindex" => flag(table.indexes().iter().any(|i| i.kind() != IndexKind::Heap)),
        "tablehasidentity" => flag(table.identity_values().is_some()),
        "tablehascheckcnst" => flag(!table.checks().is_empty()),
        _ => Ok(Value::Null),
    }
}

fn identity(
    cx: &mut Context,
    values: Values<'_, '_>,
    of: fn(&furrow_format::catalog::Identity) -> i128,
) -> Result<Value> {
    let table = table(cx, values.first().map(AsRef::as_ref));
    let state = table.and_then(|t| t.identity_values());
    Ok(state.map_or(Value::Null, |state| views::number(of(&state))))
}

fn file(cx: &Context, wanted: impl Fn(&FileView) -> bool) -> Result<Option<FileView>> {
    let files = cx.sessions.database().file_list()?;
    Ok(files.into_iter().find(wanted))
}

fn file_id(cx: &mut Context, values: Values<'_, '_>, of: fn(u16) -> Value) -> Result<Value> {
    let Some(name) = text(values, 0) else {
        return Ok(Value::Null);
    };
    let found = file(cx, |f| f.name.eq_ignore_ascii_case(name))?;
    Ok(found.map_or(Value::Null, |f| of(f.id.0)))
}

fn filegroup_id(cx: &mut Context, values: Values<'_, '_>) -> Result<Value> {
    let groups = cx.sessions.database().filegroups();
    let name = text(values, 0).unwrap_or_default();
    let found = groups
        .into_iter()
        .find(|g| g.name.eq_ignore_ascii_case(name));
    Ok(found.map_or(Value::Null, |g| value::int(g.id)))
}

fn filegroup_name(cx: &mut Context, values: Values<'_, '_>) -> Result<Value> {
    let groups = cx.sessions.database().filegroups();
    let id = number(values, 0);
    let found = groups.into_iter().find(|g| Some(i64::from(g.id)) == id);
    Ok(value::maybe_text(found.map(|g| g.name)))
}

fn file_property(cx: &mut Context, values: Values<'_, '_>) -> Result<Value> {
    let (Some(name), Some(property)) = (text(values, 0), text(values, 1)) else {
        return Ok(Value::Null);
    };
    let Some(file) = file(cx, |f| f.name.eq_ignore_ascii_case(name))? else {
        return Ok(Value::Null);
    };
    let flag = |on: bool| value::int(i32::from(on));
    let is_log = file.filegroup == 0;
    Ok(match &*property.to_lowercase() {
        "isreadonly" => flag(false),
        "isprimaryfile" => flag(file.id.0 == 1),
        "islogfile" => flag(is_log),
        "spaceused" if is_log => {
            let used = cx.sessions.database().log_view().usage.used_bytes;
            value::int(used.div_ceil(8192))
        }
        "spaceused" => value::int(file.size_pages.saturating_sub(file.free_extents * 8)),
        _ => Value::Null,
    })
}

/// An option as DATABASEPROPERTYEX returns it: NULL for an unknown one.
fn said_bit(on: Option<bool>) -> Result<Value> {
    Ok(on.map_or(Value::Null, |on| value::text(if on { "1" } else { "0" })))
}

fn database_property(cx: &mut Context, values: Values<'_, '_>) -> Result<Value> {
    let (Some(name), Some(property)) = (text(values, 0), text(values, 1)) else {
        return Ok(Value::Null);
    };
    let all = cx.server.instance().databases();
    let Some(view) = all.into_iter().find(|d| d.name.eq_ignore_ascii_case(name)) else {
        return Ok(Value::Null);
    };
    let said = |text: &str| Ok(value::text(text));
    let defaults = view.options.map(|o| o.defaults);
    let is_on = |name| said_bit(defaults.map(|d| d.is_on(name)));
    match &*property.to_lowercase() {
        "status" => said(view.state.name()),
        "recovery" => match view.recovery_model {
            Some(model) => said(views::recovery_model(model).1),
            None => Ok(Value::Null),
        },
        "updateability" => match view.options {
            Some(_) if view.read_only => said("READ_ONLY"),
            Some(_) => said("READ_WRITE"),
            None => Ok(Value::Null),
        },
        "useraccess" => match view.options {
            Some(options) => said(options.user_access.name()),
            None => Ok(Value::Null),
        },
        "lastgoodcheckdbtime" => match cx.server.instance().database(&view.name) {
            Ok(db) => said(&db.known_good()?.to_string()),
            Err(_) => Ok(Value::Null),
        },
        "isautocreatestatistics" => said_bit(view.options.map(|o| o.auto_create_statistics)),
        "isautoupdatestatistics" => said_bit(view.options.map(|o| o.auto_update_statistics)),
        "istornpagedetectionenabled" => {
            let torn = PageVerify::TornPageDetection;
            said_bit(view.options.map(|o| o.page_verify == torn))
        }
        "collation" => said(views::COLLATION),
        "version" => said(&views::FILE_VERSION.to_string()),
        "lcid" => said("1033"),
        "comparisonstyle" => said("196609"),
        "edition" => said("Furrow"),
        "isautoclose"
        | "isautoshrink"
        | "isinstandby"
        | "isfulltextenabled"
        | "ispublished"
        | "ismergepublished"
        | "issyncwithbackup"
        | "isparameterizationforced"
        | "isverifiedclone" => said("0"),
        "isansinulldefault" => is_on("ANSI_NULL_DEFAULT"),
        "isansinullsenabled" => is_on("ANSI_NULLS"),
        "isansipaddingenabled" => is_on("ANSI_PADDING"),
        "isansiwarningsenabled" => is_on("ANSI_WARNINGS"),
        "isarithmeticabortenabled" => is_on("ARITHABORT"),
        "isnullconcat" => is_on("CONCAT_NULL_YIELDS_NULL"),
        "isnumericroundabortenabled" => is_on("NUMERIC_ROUNDABORT"),
        "isquotedidentifiersenabled" => is_on("QUOTED_IDENTIFIER"),
        "isclosecursorsoncommitenabled" => is_on("CURSOR_CLOSE_ON_COMMIT"),
        _ => Ok(Value::Null),
    }
}

fn server_property(cx: &Context, property: Option<&str>) -> Value {
    let said = |text: &str| value::text(text);
    match &*property.unwrap_or_default().to_lowercase() {
        "productversion" => said(PRODUCT_VERSION),
        "productmajorversion" => said("13"),
        "productminorversion" => said("0"),
        "productlevel" => said("RTM"),
        "edition" => said("Furrow"),
        "engineedition" => said("3"),
        "servername" | "machinename" => said(SERVER_NAME),
        "collation" => said(views::COLLATION),
        "lcid" => said("1033"),
        "isclustered"
        | "issingleuser"
        | "isfulltextinstalled"
        | "isintegratedsecurityonly"
        | "ishadrenabled"
        | "isxtpsupported" => said("0"),
        "processid" => said(&std::process::id().to_string()),
        "instancedefaultdatapath" | "instancedefaultlogpath" => {
            let directory = &cx.server.instance().config().directory;
            value::maybe_text(directory.as_ref().map(|d| d.display().to_string()))
        }
        _ => Value::Null,
    }
}

/// SESSIONPROPERTY: NULL for an unknown option.
fn session_property(cx: &Context, option: Option<&str>) -> Value {
    let name = option.unwrap_or_default().trim_end().to_uppercase();
    let known = matches!(
        &*name,
        "ANSI_NULLS"
            | "ANSI_PADDING"
            | "ANSI_WARNINGS"
            | "ARITHABORT"
            | "CONCAT_NULL_YIELDS_NULL"
            | "NUMERIC_ROUNDABORT"
            | "QUOTED_IDENTIFIER"
    );
    match furrow_context::switches::switch(&name).filter(|_| known) {
        Some(option) => value::int(i32::from(cx.set.has(option))),
        None => Value::Null,
    }
}

fn lock_timeout(cx: &Context) -> i64 {
    match cx.sessions.lock_timeout() {
        furrow_engine::Timeout::Forever => -1,
        furrow_engine::Timeout::NoWait => 0,
        furrow_engine::Timeout::Millis(ms) => i64::from(ms),
    }
}

/// The fixed roles. Every login is the administrator and the owner of every database.
const SERVER_ROLES: &[&str] = &[
    "sysadmin",
    "serveradmin",
    "securityadmin",
    "processadmin",
    "setupadmin",
    "bulkadmin",
    "diskadmin",
    "dbcreator",
    "public",
];
const DATABASE_ROLES: &[&str] = &["db_owner", "public"];

/// 1 for a role that exists, because every login is in all roles; NULL for an unknown role.
fn member(values: Values<'_, '_>, roles: &[&str]) -> Value {
    let known =
        text(values, 0).is_some_and(|role| roles.iter().any(|r| r.eq_ignore_ascii_case(role)));
    match known {
        true => value::int(1),
        false => Value::Null,
    }
}

fn has_access(cx: &mut Context, values: Values<'_, '_>) -> Result<Value> {
    let all = cx.server.instance().databases();
    let found = text(values, 0)
        .and_then(|name| all.into_iter().find(|d| d.name.eq_ignore_ascii_case(name)));
    let open = |id| cx.server.instance().database_by_id(id).is_some();
    Ok(found.map_or(Value::Null, |d| value::int(i32::from(open(d.id)))))
}

/// The text of a module, or of a check or default.
fn definition(cx: &mut Context, values: Values<'_, '_>) -> Result<Value> {
    let Some(id) = number(values, 0) else {
        return Ok(Value::Null);
    };
    let session = cx.sessions.session();
    let is = |of: furrow_format::ObjectId| i64::from(of.0) == id;
    let module = session.modules().into_iter().find(|m| is(m.id()));
    if let Some(module) = module {
        return Ok(value::text(module.text()));
    }
    for table in session.tables() {
        let check = table.checks().iter().find(|c| is(c.id));
        if let Some(check) = check {
            return Ok(value::text(check.text.clone()));
        }
        let child = table.children().into_iter().find(|c| is(c.id));
        let named = |c: &&furrow_engine::Column| {
            child
                .as_ref()
                .is_some_and(|child| c.default_name.as_ref() == Some(&child.name))
        };
        if let Some(column) = table.columns().iter().find(named) {
            return Ok(value::maybe_text(column.default_text.clone()));
        }
    }
    Ok(Value::Null)
}

fn user_name(values: Values<'_, '_>) -> Value {
    match (values.is_empty(), number(values, 0)) {
        (true, _) | (_, Some(1)) => value::text("dbo"),
        (_, Some(2)) => value::text("guest"),
        _ => Value::Null,
    }
}
