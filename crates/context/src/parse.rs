//! T-SQL text to statements, from the connection's cache if the text was parsed before.

use crate::context::Context;
use crate::depth;
use crate::error::{Origin, Result, SqlError, unsupported};
use crate::memory::check_script;
use crate::statements::{Parsed, Statements};
use crate::texts::{Text, Texts};
use furrow_engine::Module;
use furrow_io::thread::with_stack;
use furrow_messages::Message;
use furrow_observe::counters::Counter;
use furrow_scalar::Switches;
use furrow_tsql::ast::expr::{Condition, Expr};
use furrow_tsql::ast::query::QueryBody;
use furrow_tsql::ast::{Statement, Stmt};
use furrow_tsql::{Options, SyntaxError};
use std::sync::Arc;

fn of_syntax(error: &SyntaxError) -> Message {
    Message::custom(error.number, error.level, error.state, &error.message).at_line(error.line)
}

/// Parses a text into statements, or returns its syntax error.
pub fn parse(text: &str, cx: &Context) -> Result<Vec<Stmt>> {
    parse_with(text, cx.set.has(Switches::QUOTED_IDENTIFIER))
}

/// The statements of a text: those that another connection uses, or parsed now.
fn shared(text: &str, quoted_identifier: bool, cx: &Context) -> Result<Statements> {
    let all = cx.server.statements();
    if !Texts::is_short(text) {
        return parse_with(text, quoted_identifier).map(Parsed::new);
    }
    if let Some(known) = all.find(quoted_identifier, text) {
        return Ok(known);
    }
    let parsed = Parsed::new(parse_with(text, quoted_identifier)?);
    all.share(quoted_identifier, text, &parsed);
    Ok(parsed)
}

/// [`parse`] for a text that is stored: the connections of a server share its statements.
pub fn parse_shared(text: &str, cx: &Context) -> Result<Statements> {
    shared(text, cx.set.has(Switches::QUOTED_IDENTIFIER), cx)
}

/// Parses the text of a module with the settings that the module was created with.
pub fn parse_module(module: &Module) -> Result<Vec<Stmt>> {
    parse_with(module.text(), module.set().quoted_identifier)
}

fn parse_with(text: &str, quoted_identifier: bool) -> Result<Vec<Stmt>> {
    let options = Options { quoted_identifier };
    check_script(text)?;
    match with_stack(depth::PARSER_BYTES, || furrow_tsql::parse(text, options)) {
        Ok(batch) => Ok(batch.statements),
        Err(errors) => Err(Box::new(SqlError {
            messages: errors.iter().map(of_syntax).collect(),
            procedure: errors
                .first()
                .and_then(|e| Some(e.module.as_deref()?.to_owned())),
            cancelled: false,
            origin: Origin::Statement,
        })),
    }
}

/// [`parse`], with the cache.
pub fn read(text: &str, cx: &mut Context) -> Result<Arc<Text>> {
    read_with(text, cx.set.has(Switches::QUOTED_IDENTIFIER), cx)
}

/// [`parse_module`], with the cache.
pub fn read_module(module: &Module, cx: &mut Context) -> Result<Arc<Text>> {
    read_with(module.text(), module.set().quoted_identifier, cx)
}

/// [`read`] under a given setting of QUOTED_IDENTIFIER.
pub fn read_with(text: &str, quoted_identifier: bool, cx: &mut Context) -> Result<Arc<Text>> {
    cx.texts.forget_at(cx.server.texts_forgotten());
    if let Some(known) = cx.texts.find(quoted_identifier, text) {
        return Ok(known);
    }
    let read = Text::new(text, shared(text, quoted_identifier, cx)?);
    let counters = &cx.sessions.task().instruments().counters;
    counters.add(Counter::SqlCompilations, 1);
    if cx.texts.keep(quoted_identifier, &read) {
        read.plans.count_in(cx.server.query_stats().of(text));
    }
    Ok(read)
}

/// Parses a text as a condition.
pub fn condition(text: &str) -> Result<Condition> {
    let sql = format!("SELECT 1 WHERE {text}");
    let parsed = furrow_tsql::parse(&sql, Options::default());
    let bad = || unsupported(&format!("the check {text}"));
    let first = parsed.map_err(|_| bad())?.statements.into_iter().next();
    let Some(Statement::Select(query)) = first.map(|s| s.kind) else {
        return Err(bad());
    };
    match query.body {
        QueryBody::Select(select) => select.filter.ok_or_else(bad),
        _ => Err(bad()),
    }
}

/// Parses a text as an expression.
pub fn expression(text: &str) -> Result<Expr> {
    let parsed = furrow_tsql::parse_expression(text, Options::default());
    parsed.map_err(|_| unsupported(&format!("the default {text}")))
}
