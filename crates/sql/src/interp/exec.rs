//! EXEC: procedures, texts, `sp_executesql`.
//!
//! # Steps
//! 1. The arguments are evaluated in the caller's scope; bare names are texts.
//! 2. They are matched with the parameters, by position and by name, and converted to their types. A missing
//!    argument gets its default (201 if there is none).
//! 3. The body runs in a scope of its own. Afterwards the caller has its own variables, SET options, current
//!    database, SCOPE_IDENTITY() and temporary tables again.
//! 4. OUTPUT parameters and the return status are assigned to the caller's variables.

use super::Flow;
use super::error_scope::{ErrorScope, error_scope};
use super::{compile, run_statements};
use crate::ddl::MOST_PARAMETERS;
use furrow_bind::{Binder, DEFAULT_SCHEMA, Declared, declared_type};
use furrow_context::error::{Origin, Result, SqlError, refuse, unsupported};
use furrow_context::parse::{parse, read, read_with};
use furrow_context::plans::Plans;
use furrow_context::run::Run;
use furrow_context::scope::{Parameters, Scope};
use furrow_context::sink::{Notice, ResultColumn, Sink};
use furrow_context::statements::Parsed;
use furrow_context::texts::Text;
use furrow_engine::{Module, ModuleKind, ModuleSet};
use furrow_messages::Message;
use furrow_scalar::Switches;
use furrow_scalar::convert::Conversion;
use furrow_sysviews::procs;
use furrow_tsql::ast::expr::ExprKind;
use furrow_tsql::ast::flow::{Execute, ExecuteArg, ExecuteWhat, ProcedureName};
use furrow_tsql::ast::module::Parameter;
use furrow_tsql::ast::name::{Ident, ObjectName};
use furrow_tsql::ast::{Statement, Stmt};
use furrow_types::{DataType, TypeId, Value};
use std::borrow::Cow;

/// Most levels of nested calls of procedures and texts.
const DEEPEST: usize = 32;

/// An argument, evaluated.
#[derive(Debug)]
struct Given {
    /// The parameter that it names, with its `@`.
    name: Option<String>,
    /// `None` for DEFAULT.
    value: Option<(Value, DataType)>,
    /// Position of the caller's variable that gets the parameter's last value.
    output: Option<usize>,
}

/// A procedure or text to run.
struct Body<'a> {
    /// Empty for a text.
    name: String,
    /// Its number; 0 for a text.
    id: i32,
    /// The schema in which names are looked up first; `None` for a text.
    schema: Option<String>,
    text: &'a str,
    /// A text with its parameters, for messages.
    query: String,
    statements: &'a [Stmt],
    parameters: &'a [Parameter],
    /// The same, declared, for a procedure; those of a text are declared at each call.
    declared: Option<&'a Parameters>,
    /// The settings under which a procedure was created.
    set: Option<ModuleSet>,
    plans: Option<&'a Plans>,
}

/// Runs EXEC.
pub(super) fn execute(run: &mut Run<'_>, written: &Execute) -> Result<()> {
    if let Some(option) = written.options.iter().find(|o| &***o != "RECOMPILE") {
        return Err(unsupported(&format!("WITH {option}")));
    }
    match &written.what {
        ExecuteWhat::Text {
            parts,
            args,
            run_as,
            at,
        } => {
            if at.is_some() || !args.is_empty() {
                return Err(unsupported("EXEC AT"));
            }
            if run_as.is_some() {
                return Err(unsupported("AS USER"));
            }
            let mut text = String::new();
            for part in parts {
                let (value, _) = furrow_bind::evaluate(run, part)?;
                text.push_str(&shown(run, &value)?);
            }
            execute_text(run, &text)
        }
        ExecuteWhat::Procedure { name, args } => {
            let status = call(run, name, args)?;
            if let (Some(result), Some(status)) = (&written.result, status) {
                set_result(run, result, status)?;
            }
            Ok(())
        }
    }
}

/// A value as text.
fn shown(run: &Run<'_>, value: &Value) -> Result<String> {
    let Some(from) = value.type_id() else {
        return Ok(String::new());
    };
    if let Some(text) = value.as_str() {
        return Ok(text.to_owned());
    }
    let to = DataType::sized(TypeId::NVarChar, 8000);
    let conversion = Conversion::explicit(DataType::simple(from), to, None)?;
    let value = conversion.apply(value, &run.cx.settings())?;
    Ok(value.as_str().unwrap_or("").to_owned())
}

fn set_result(run: &mut Run<'_>, variable: &Ident, status: i32) -> Result<()> {
    let Some(place) = run.cx.scope.find(&variable.value) else {
        return refuse(137, &[(*variable.value).into()]);
    };
    let to = run.cx.scope.get(place).map(|v| v.data_type);
    let int = DataType::simple(TypeId::Int);
    let value = converted(run, Value::Int(status), int, to.unwrap_or(int))?;
    run.cx.set_variable(place, value)
}

pub(super) fn converted(
    run: &Run<'_>,
    value: Value,
    from: DataType,
    to: DataType,
) -> Result<Value> {
    if value.is_null() {
        return Ok(Value::Null);
    }
    match Conversion::implicit(from, to)? {
        None => Ok(value),
        Some(conversion) => Ok(conversion.apply(&value, &run.cx.settings())?),
    }
}

fn arguments(run: &mut Run<'_>, written: &[ExecuteArg]) -> Result<Vec<Given>> {
    let mut given = Vec::with_capacity(written.len());
    for arg in written {
        let name = arg.name.as_ref().map(|n| n.value.to_string());
        let (value, output) = match &arg.value.kind {
            ExprKind::Default => (None, None),
            ExprKind::Column(bare) => {
                let text = furrow_bind::shown(bare);
                let length = text.encode_utf16().count().clamp(1, 4000) as i16;
                let of = DataType::sized(TypeId::NVarChar, length * 2);
                (Some((Value::NVarChar(text), of)), None)
            }
            ExprKind::Variable(variable) => {
                let place = run.cx.scope.find(&variable.value);
                let found = place.and_then(|at| Some((at, run.cx.scope.get(at)?)));
                let Some((place, variable)) = found else {
                    let missing = Message::new(137, &[(*variable.value).into()]);
                    return Err(missing.with_state(2).into());
                };
                let value = (variable.value.clone(), variable.data_type);
                (Some(value), arg.output.then_some(place))
            }
            _ => (Some(furrow_bind::evaluate_planned(run, &arg.value)?), None),
        };
        if arg.output && output.is_none() {
            return refuse(179, &[]);
        }
        given.push(Given {
            name,
            value,
            output,
        });
    }
    Ok(given)
}

/// Calls a procedure; returns its return status if it ran to its end.
fn call(run: &mut Run<'_>, name: &ProcedureName, args: &[ExecuteArg]) -> Result<Option<i32>> {
    let name = match name {
        ProcedureName::Name(name, None) => name.clone(),
        ProcedureName::Name(_, Some(_)) => return Err(unsupported("a procedure's number")),
        ProcedureName::Variable(variable) => {
            let place = run.cx.scope.find(&variable.value);
            let Some(variable) = place.and_then(|at| run.cx.scope.get(at)) else {
                return refuse(137, &[(*variable.value).into()]);
            };
            named(variable.value.as_str().unwrap_or(""))
        }
    };
    let given = arguments(run, args)?;
    let mut binder = Binder::new(run.cx);
    let schemas = binder.schemas_of(&name);
    let Ok(db) = binder.database_of(&name) else {
        return refuse(2812, &[furrow_bind::shown(&name).into()]);
    };
    let of_system = name.schema().is_none_or(|schema| {
        let schemas = ["sys", DEFAULT_SCHEMA];
        schemas.iter().any(|s| schema.value.eq_ignore_ascii_case(s))
    });
    if name.name().eq_ignore_ascii_case("sp_executesql") && of_system {
        return within(run, &name, |run| execute_sql(run, given)).map(Some);
    }
    let session = run.cx.sessions.of(&db)?;
    let module = schemas.iter().find_map(|schema| {
        let module = session.module(schema, name.name());
        module.filter(|m| m.kind() == ModuleKind::Procedure)
    });
    if let Some(module) = module {
        return within(run, &name, |run| call_module(run, &module, given));
    }
    if let Some(system) = procs::find(name.name()).filter(|_| of_system) {
        return call_system(run, system, &name, given).map(Some);
    }
    match procs::script(name.name()).filter(|_| of_system) {
        Some(text) => {
            let procedure = (name.name().to_owned(), 0, None);
            within(run, &name, |run| {
                call_text(run, procedure, (text, ModuleSet::default()), given)
            })
        }
        None => refuse(2812, &[furrow_bind::shown(&name).into()]),
    }
}

/// Runs a body in the database that qualifies the procedure's name.
fn within<T>(
    run: &mut Run<'_>,
    name: &ObjectName,
    body: impl FnOnce(&mut Run<'_>) -> Result<T>,
) -> Result<T> {
    let before = run.cx.sessions.database().id();
    if let Some(database) = name.database() {
        run.cx.change_database(&database.value)?;
    }
    let done = body(run);
    if run.cx.sessions.database().id() != before {
        back_to(run, before)?;
    }
    done
}

/// Calls a user's procedure.
fn call_module(run: &mut Run<'_>, module: &Module, given: Vec<Given>) -> Result<Option<i32>> {
    let schema = Some(module.schema().to_owned());
    let procedure = (module.name().to_owned(), module.id().0, schema);
    call_text(run, procedure, (module.text(), module.set()), given)
}

/// Calls the procedure that a text defines, with its name, number and schema, under the settings that it was
/// created with.
fn call_text(
    run: &mut Run<'_>,
    (name, id, schema): (String, i32, Option<String>),
    (text, set): (&str, ModuleSet),
    given: Vec<Given>,
) -> Result<Option<i32>> {
    let read = read_with(text, set.quoted_identifier, run.cx)?;
    let procedure = read.statements.iter().find_map(|s| match &s.kind {
        Statement::Procedure(procedure) => Some(procedure),
        _ => None,
    });
    let Some(procedure) = procedure else {
        return refuse(2812, &[name.into()]);
    };
    let types = read.parameters(|| declared(&procedure.parameters));
    let types = types.map_err(|error| of_call(error, &name))?;
    let body = Body {
        name,
        id,
        schema,
        text,
        query: String::new(),
        statements: &procedure.body,
        parameters: &procedure.parameters,
        declared: Some(types),
        set: Some(set),
        plans: Some(&read.plans),
    };
    with_parameters(run, &body, given)
}

/// Calls a system procedure, in the database that qualifies its name.
fn call_system(
    run: &mut Run<'_>,
    system: &'static procs::SystemProcedure,
    name: &ObjectName,
    given: Vec<Given>,
) -> Result<i32> {
    if given.iter().any(|g| g.output.is_some()) {
        return Err(unsupported("OUTPUT of a system procedure"));
    }
    let arguments = given.into_iter().map(|g| procs::Given {
        name: g.name,
        value: g.value,
    });
    let arguments = arguments.collect();
    let status = match system.extended {
        // It affects the whole server, and exists in `master` alone.
        true => procs::call(run, system, arguments),
        false => within(run, name, |run| procs::call(run, system, arguments)),
    };
    if status.is_ok() {
        run.cx.last.error = 0;
    }
    status
}

fn back_to(run: &mut Run<'_>, id: furrow_format::DatabaseId) -> Result<()> {
    let db = run.cx.server.instance().database_by_id(id);
    match db {
        Some(db) => run.cx.change_database(db.name()),
        None => Ok(()),
    }
}

/// The name in the value of a variable.
fn named(text: &str) -> ObjectName {
    let parts = furrow_sysviews::parts_of(text);
    ObjectName {
        parts: parts.iter().map(|part| Ident::new(part.trim())).collect(),
    }
}

fn not_unicode<T>(parameter: &str) -> Result<T> {
    let args = [parameter.into(), "ntext/nchar/nvarchar".into()];
    Err(Message::new(214, &args).with_state(2).into())
}

/// `sp_executesql @stmt, @params, ...`
fn execute_sql(run: &mut Run<'_>, given: Vec<Given>) -> Result<i32> {
    let mut given = given.into_iter();
    let mut text_of = |run: &Run<'_>, what: &str| -> Result<Option<String>> {
        let Some(argument) = given.next() else {
            return Ok(None);
        };
        match argument.value {
            Some((value, of)) if of.id.is_unicode() => Ok(Some(shown(run, &value)?)),
            Some((Value::Null, _)) | None => Ok(None),
            Some(_) => not_unicode(what),
        }
    };
    let Some(text) = text_of(run, "@statement")? else {
        return not_unicode("@statement");
    };
    let declared = text_of(run, "@params")?.unwrap_or_default();
    let head = format!("CREATE PROCEDURE sp_executesql {declared} AS RETURN");
    let parameters = match declared.trim().is_empty() {
        true => Vec::new(),
        false => match parse(&head, run.cx)?.into_iter().next().map(|s| s.kind) {
            Some(Statement::Procedure(procedure)) => procedure.parameters,
            _ => Vec::new(),
        },
    };
    if parameters.len() > MOST_PARAMETERS {
        return refuse(8003, &[(MOST_PARAMETERS as i32).into()]);
    }
    let read = read(&text, run.cx).map_err(inner)?;
    let body = Body {
        name: String::new(),
        id: 0,
        schema: None,
        text: &text,
        query: format!("({declared}){text}"),
        statements: &read.statements,
        parameters: &parameters,
        declared: None,
        set: None,
        plans: Some(&read.plans),
    };
    run.cx.procedures.push(String::new());
    let status = with_parameters(run, &body, given.collect());
    run.cx.procedures.pop();
    Ok(status?.unwrap_or(0))
}

/// `EXEC ('text')`
fn execute_text(run: &mut Run<'_>, text: &str) -> Result<()> {
    let read = Text::new(text, Parsed::new(parse(text, run.cx).map_err(inner)?));
    let body = Body {
        name: String::new(),
        id: 0,
        schema: None,
        text,
        query: String::new(),
        statements: &read.statements,
        parameters: &[],
        declared: None,
        set: None,
        plans: Some(&read.plans),
    };
    with_parameters(run, &body, Vec::new()).map(|_| ())
}

/// An error of a call: SQL Server names the procedure, at line 0.
fn of_call(mut error: Box<SqlError>, name: &str) -> Box<SqlError> {
    if !name.is_empty() {
        error.procedure.get_or_insert_with(|| name.to_owned());
    }
    error.origin = Origin::Inner;
    error
}

/// An error of a text that cannot be parsed: its caller continues, or catches it.
fn inner(mut error: Box<SqlError>) -> Box<SqlError> {
    error.origin = Origin::Inner;
    error
}

/// What a call passes to a body: the parameters, their values, and for each output parameter its position,
/// its type and the variable for its last value.
type Called<'a> = (
    Cow<'a, Parameters>,
    Vec<Value>,
    Vec<(usize, DataType, usize)>,
);

fn declared(written: &[Parameter]) -> Result<Parameters> {
    let mut declared = Parameters::default();
    for (place, parameter) in (1..).zip(written) {
        let of = Declared::Parameter(&parameter.name.value);
        let of = declared_type(&parameter.data_type, of, place)?;
        declared.declare(&parameter.name.value, of);
    }
    Ok(declared)
}

/// Matches arguments with parameters.
fn matched<'a>(run: &mut Run<'_>, body: &Body<'a>, given: Vec<Given>) -> Result<Called<'a>> {
    let shown = body.name.as_str();
    let parameters = body.parameters;
    if parameters.is_empty() && !given.is_empty() {
        return refuse(8146, &[shown.into()]);
    }
    let mut found: Vec<Option<Given>> = parameters.iter().map(|_| None).collect();
    for (place, argument) in given.into_iter().enumerate() {
        let at = match &argument.name {
            None if place < parameters.len() => place,
            None => return refuse(8144, &[shown.into()]),
            Some(name) => {
                let same = |p: &Parameter| p.name.value.to_lowercase() == name.to_lowercase();
                match parameters.iter().position(same) {
                    Some(at) => at,
                    None => return refuse(8145, &[name.as_str().into(), shown.into()]),
                }
            }
        };
        let name = parameters.get(at).map_or("", |p| &p.name.value);
        match found.get_mut(at) {
            Some(slot @ None) => *slot = Some(argument),
            _ => return refuse(8143, &[name.into()]),
        }
    }
    let declared = match body.declared {
        Some(declared) => Cow::Borrowed(declared),
        None => Cow::Owned(declared(parameters)?),
    };
    let (mut values, mut outputs) = (Vec::with_capacity(parameters.len()), Vec::new());
    let types = declared.types().enumerate();
    for (((at, to), parameter), argument) in types.zip(parameters).zip(found) {
        let output = argument.as_ref().and_then(|a| a.output);
        outputs.extend(output.map(|output| (at, to, output)));
        values.push(value_of(
            run,
            (shown, &body.query),
            (parameter, to),
            argument,
        )?);
    }
    Ok((declared, values, outputs))
}

/// The value of a parameter of a procedure or text.
fn value_of(
    run: &mut Run<'_>,
    (procedure, query): (&str, &str),
    (parameter, to): (&Parameter, DataType),
    argument: Option<Given>,
) -> Result<Value> {
    let name = &*parameter.name.value;
    let output = argument.as_ref().and_then(|a| a.output);
    if output.is_some() && !parameter.output {
        return refuse(8162, &[name.into()]);
    }
    let (value, from) = match (argument.and_then(|a| a.value), &parameter.default) {
        (Some(given), _) => given,
        (None, Some(default)) => match &default.kind {
            ExprKind::Column(bare) => {
                let of = DataType::sized(TypeId::NVarChar, 8000);
                (Value::NVarChar(furrow_bind::shown(bare)), of)
            }
            _ => furrow_bind::evaluate(run, default)?,
        },
        (None, None) if procedure.is_empty() => {
            return refuse(8178, &[query.into(), name.into()]);
        }
        (None, None) => return refuse(201, &[procedure.into(), name.into()]),
    };
    converted(run, value, from, to).map_err(|error| match error.number() {
        241 | 245 | 8114 => {
            let args = [from.id.name().into(), to.id.name().into()];
            Box::<SqlError>::from(Message::new(8114, &args))
        }
        _ => error,
    })
}

fn with_parameters(run: &mut Run<'_>, body: &Body<'_>, given: Vec<Given>) -> Result<Option<i32>> {
    if run.cx.procedures.len() >= DEEPEST {
        return refuse(217, &[(DEEPEST as i64).into()]);
    }
    let called = matched(run, body, given).map_err(|error| of_call(error, &body.name));
    let (declared, values, outputs) = called?;
    let (status, scope) = run_body(run, body, declared.filled(values))?;
    if status.is_some() {
        for (at, of, output) in outputs {
            let value = declared.value(at, &scope).cloned();
            let to = run.cx.scope.get(output).map_or(of, |v| v.data_type);
            let value = converted(run, value.unwrap_or(Value::Null), of, to)?;
            run.cx.set_variable(output, value)?;
        }
    }
    Ok(status)
}

/// Runs EXEC, which may be from another text than the one that runs; its result sets go to `sets`, messages
/// to the client.
pub(crate) fn execute_captured(
    run: &mut Run<'_>,
    written: &Execute,
    sets: &mut dyn Sink,
) -> Result<()> {
    let mut capture = Capture {
        sets,
        sink: &mut *run.sink,
    };
    let mut inner = Run {
        cx: &mut *run.cx,
        sink: &mut capture,
        worst: run.worst,
        tries: run.tries,
        text: run.text,
        plans: None,
        interpreter: run.interpreter,
    };
    let done = execute(&mut inner, written);
    run.worst = inner.worst;
    done
}

/// Separates result sets from messages.
struct Capture<'a> {
    sets: &'a mut dyn Sink,
    sink: &'a mut dyn Sink,
}

impl Sink for Capture<'_> {
    fn columns(&mut self, columns: &[ResultColumn]) {
        self.sets.columns(columns);
    }

    fn row(&mut self, row: &[Value]) {
        self.sets.row(row);
    }

    fn done(&mut self, _: Option<u64>) {}

    fn notice(&mut self, notice: &Notice) {
        self.sink.notice(notice);
    }
}

/// Runs statements in a scope of their own; returns the return status, if they ran to their end, and the
/// scope.
fn run_body(run: &mut Run<'_>, body: &Body<'_>, scope: Scope) -> Result<(Option<i32>, Scope)> {
    let cx = &mut *run.cx;
    let outer = std::mem::replace(&mut cx.scope, scope);
    let set = cx.set.clone();
    if let Some(made) = body.set {
        let switches = &mut cx.set.settings.switches;
        switches.set(Switches::QUOTED_IDENTIFIER, made.quoted_identifier);
        switches.set(Switches::ANSI_NULLS, made.ansi_nulls);
    }
    let isolation = cx.sessions.isolation();
    let identity = cx.last.scope_identity.take();
    let database = cx.sessions.database().id();
    let count = cx.sessions.count();
    let line = cx.line;
    let caller = std::mem::replace(&mut cx.module, body.id);
    let caller_schema = std::mem::replace(&mut cx.module_schema, body.schema.clone());
    cx.procedures.push(body.name.clone());
    let mut inner = Run {
        cx: &mut *cx,
        sink: &mut *run.sink,
        worst: run.worst,
        tries: run.tries,
        text: body.text,
        plans: body.plans,
        interpreter: run.interpreter,
    };
    let ended = compile::compile(&mut inner, body.statements)
        .and_then(|()| run_statements(&mut inner, body.statements));
    run.worst = inner.worst;
    let cx = &mut *run.cx;
    cx.procedures.pop();
    cx.module = caller;
    cx.module_schema = caller_schema;
    cx.leave_temp();
    let scope = std::mem::replace(&mut cx.scope, outer);
    cx.set = set;
    cx.sessions.set_isolation(isolation);
    cx.last.scope_identity = identity;
    if cx.sessions.database().id() != database {
        back_to(run, database)?;
    }
    let status = match ended {
        Ok(Flow::Return(value)) => Some(status_of(run, body, &value)),
        Ok(_) => Some(0),
        Err(error) if error_scope(&error) == ErrorScope::Scope => {
            left(run, error)?;
            None
        }
        Err(error) => return Err(error),
    };
    mismatch(run, body, (count, line))?;
    Ok((status, scope))
}

/// The return status for the value of a RETURN; 282 for NULL.
fn status_of(run: &mut Run<'_>, body: &Body<'_>, value: &Value) -> i32 {
    if value.is_null() && !body.name.is_empty() {
        run.inform(Message::new(282, &[body.name.as_str().into()]));
    }
    // RETURN takes an integer; a fraction is cut off as in an assignment to int.
    value.as_i64().map_or(0, |n| n as i32)
}

/// A procedure ended because one of its statements cannot be compiled: the caller continues, or catches it.
fn left(run: &mut Run<'_>, mut error: Box<SqlError>) -> Result<()> {
    error.origin = Origin::Inner;
    if run.tries > 0 || run.cx.set.aborts(&error) {
        return Err(error);
    }
    run.cx.last.error = error.number();
    run.send_error(&error);
    Ok(())
}

/// Error 266: a procedure that ends with more or fewer open transactions than it began with. It concerns the
/// procedure as a whole, at line 0; for a text, which has no name, it is at the line of its EXEC.
fn mismatch(run: &mut Run<'_>, body: &Body<'_>, (before, line): (u32, u32)) -> Result<()> {
    let now = run.cx.sessions.count();
    if now == before || run.cx.sessions.is_doomed() {
        return Ok(());
    }
    let mut error = Box::<SqlError>::from(Message::new(266, &[before.into(), now.into()]));
    error.origin = Origin::Inner;
    error.procedure = (!body.name.is_empty()).then(|| body.name.clone());
    if body.name.is_empty() {
        error = error.at(line, run.procedure());
    }
    if run.tries > 0 {
        return Err(error);
    }
    run.cx.last.error = 266;
    run.send_error(&error);
    Ok(())
}
