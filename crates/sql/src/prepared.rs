//! Prepared texts: parsed once, planned once, executed with different values.

use crate::connection::Connection;
use crate::interp;
use furrow_context::error::{Result, SqlError, refuse};
use furrow_context::parse::{parse, parse_shared};
use furrow_context::scope::{Parameters, Scope};
use furrow_context::sink::{BatchEnd, Sink};
use furrow_context::texts::{Text, Texts};
use furrow_messages::Message;
use furrow_scalar::convert::Conversion;
use furrow_tsql::ast::Statement;
use furrow_types::{DataType, Value};
use std::sync::Arc;

/// A text with parameters, created by [`Connection::prepare`] for that connection.
///
/// Its statements are bound at their first execution, and the plans are used until one of their tables
/// changes; then they are bound again. It stays valid after table changes and USE.
#[derive(Debug, Clone)]
pub struct Prepared {
    text: Arc<Text>,
    parameters: Arc<[(String, DataType)]>,
    /// The same, to be filled with values.
    declared: Arc<Parameters>,
}

impl Prepared {
    /// Names and types of its parameters, in the order in which values are passed.
    pub fn parameters(&self) -> &[(String, DataType)] {
        &self.parameters
    }
}

impl Connection {
    /// Prepares a text for repeated execution. `parameters` declares its parameters, in the form that
    /// `sp_executesql` takes: `"@id int, @name varchar(50)"`.
    ///
    /// ```
    /// use furrow_engine::{Instance, InstanceConfig};
    /// use furrow_types::Value;
    /// use furrow_sql::{Kept, Server};
    ///
    /// let instance = Instance::in_memory(InstanceConfig::default())?;
    /// let mut connection = Server::start(instance)?.connect()?;
    /// let mut results = Kept::default();
    /// connection.execute("CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(50))", &mut results);
    ///
    /// let insert = connection.prepare("INSERT INTO t VALUES (@id, @name)", "@id int, @name varchar(50)")?;
    /// for (id, name) in [(1, "one"), (2, "two")] {
    ///     let values = [Value::Int(id), Value::VarChar(name.to_owned())];
    ///     connection.execute_prepared(&insert, &values, &mut results);
    /// }
    /// let find = connection.prepare("SELECT name FROM t WHERE id = @id", "@id int")?;
    /// let mut found = Kept::default();
    /// connection.execute_prepared(&find, &[Value::Int(2)], &mut found);
    /// assert_eq!(found.sets[0].rows, [[Value::VarChar("two".to_owned())]]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn prepare(&mut self, text: &str, parameters: &str) -> Result<Prepared> {
        let mut cx = self.cx.lock();
        let (mut given, mut declared) = (Vec::new(), Parameters::default());
        if !parameters.trim().is_empty() {
            let head = format!("CREATE PROCEDURE p {parameters} AS RETURN");
            let read = parse(&head, &cx)?;
            let Some(Statement::Procedure(procedure)) = read.into_iter().next().map(|s| s.kind)
            else {
                return refuse(102, &[parameters.into()]);
            };
            for parameter in &procedure.parameters {
                let of = furrow_bind::data_type(&parameter.data_type, false)?;
                given.push((parameter.name.value.to_string(), of));
                declared.declare(&parameter.name.value, of);
            }
        }
        let text = Text::new(text, parse_shared(text, &cx)?);
        cx.texts.prepare(&text);
        if Texts::is_short(&text.text) {
            let stats = cx.server.query_stats().of(&text.text);
            text.plans.count_in(stats);
        }
        Ok(Prepared {
            text,
            parameters: given.into(),
            declared: Arc::new(declared),
        })
    }

    /// Runs a prepared text. Values are converted to the types of their parameters, as in an assignment.
    /// Errors go to the sink like other messages: 8178 for a missing value, 8144 for one too many.
    pub fn execute_prepared(
        &mut self,
        prepared: &Prepared,
        values: &[Value],
        sink: &mut dyn Sink,
    ) -> BatchEnd {
        let scope = self.scope_of(prepared, values);
        let text = Arc::clone(&prepared.text);
        self.within(&text.text, sink, |cx, sink| match scope {
            Ok(scope) => interp::run_read(cx, &text.text, Ok(&text), scope, sink),
            Err(e) => interp::run_read(cx, &text.text, Err(&e), Scope::default(), sink),
        })
    }

    fn scope_of(&self, prepared: &Prepared, values: &[Value]) -> Result<Scope> {
        if values.len() > prepared.parameters.len() {
            return Err(at_line_1(Message::new(8144, &["".into()])));
        }
        let mut converted = Vec::with_capacity(values.len());
        for (at, (name, to)) in prepared.parameters.iter().enumerate() {
            let Some(value) = values.get(at) else {
                let text = format!(
                    "The parameterized query expects the parameter '{name}', which was not supplied."
                );
                return Err(at_line_1(Message::custom(8178, 16, 1, &text)));
            };
            let value = self.converted(value, *to).map_err(|e| e.at(1, None))?;
            converted.push(value);
        }
        Ok(prepared.declared.filled(converted))
    }

    fn converted(&self, value: &Value, to: DataType) -> Result<Value> {
        let from = match value.type_id() {
            None => return Ok(Value::Null),
            Some(id) if id == to.id && !sized(to) => return Ok(value.clone()),
            Some(id) => DataType::simple(id),
        };
        match Conversion::implicit(from, to)? {
            None => Ok(value.clone()),
            Some(conversion) => Ok(conversion.apply(value, &self.cx.lock().settings())?),
        }
    }
}

/// Whether values of a type are cut or padded to its length, or rounded to its scale.
fn sized(of: DataType) -> bool {
    use furrow_types::Family as F;
    !matches!(of.id.family(), F::Integer | F::Approximate | F::Guid)
}

fn at_line_1(message: Message) -> Box<SqlError> {
    message.at_line(1).into()
}
