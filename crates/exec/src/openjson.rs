//! OPENJSON: a JSON text as rows.

use super::Expr;
use super::operator::{Cursor, Ready};
use furrow_context::context::Context;
use furrow_context::error::{Result, refuse};
use furrow_context::memory::Grant;
use furrow_messages::Message;
use furrow_scalar::Settings;
use furrow_scalar::convert::Conversion;
use furrow_scalar::json::{self, Kind, Members, Node, Path};
use furrow_types::Value;

/// A call of OPENJSON.
#[derive(Debug, Clone)]
pub struct OpenJson {
    /// The JSON text.
    pub text: Expr,
    /// The way to the object or array whose members are the rows.
    pub path: Option<Expr>,
    /// The columns of its WITH clause; without one key, value and type.
    pub columns: Vec<OpenColumn>,
}

/// A column of the WITH clause.
#[derive(Debug, Clone)]
pub struct OpenColumn {
    /// The way to its value from a row's.
    pub path: Path,
    /// Whether it shows an object or array.
    pub as_json: bool,
    /// From text to the column's type.
    pub conversion: Conversion,
}

impl OpenJson {
    pub(crate) fn open<'p>(&'p self, cx: &mut Context) -> Result<Cursor<'p>> {
        let mut grant = Grant::new(&cx.memory);
        let rows = self.rows(&mut grant, cx);
        cx.check_cancel()?;
        let rows = rows?;
        Ok(Cursor::new(Ready::kept(rows, grant)))
    }

    /// All rows. A text or path that is NULL has none.
    fn rows(&self, grant: &mut Grant, cx: &mut Context) -> Result<Vec<Vec<Value>>> {
        let text = self.text.eval(&[], cx)?.into_owned();
        let path = match &self.path {
            None => Path::default(),
            Some(path) => match path.eval(&[], cx)?.as_str() {
                Some(path) => Path::parse(path, false)?,
                None => return Ok(Vec::new()),
            },
        };
        let Some(text) = text.as_str() else {
            return Ok(Vec::new());
        };
        let Some(node) = self.opened(text, &path)? else {
            return Ok(Vec::new());
        };
        let mut rows = Vec::new();
        if self.columns.is_empty() {
            for (at, member) in Members::of(text, &node).enumerate() {
                // The whole of it has been read before.
                let Ok((key, value)) = member else { break };
                cx.check_cancel()?;
                let row = by_default(text, at, key, &value);
                grant.row(&row)?;
                rows.push(row);
            }
            return Ok(rows);
        }
        let settings = cx.settings();
        if node.kind == Kind::Object {
            rows.push(self.row(node.text(text), &settings)?);
            return Ok(rows);
        }
        for member in Members::of(text, &node) {
            let Ok((_, value)) = member else { break };
            cx.check_cancel()?;
            let row = self.row(value.text(text), &settings)?;
            grant.row(&row)?;
            rows.push(row);
        }
        Ok(rows)
    }

    /// The object or array that the rows are of; a lax path to anything else has no rows. The states are
    /// those of SQL Server 2025 (probe25): 13609 has 4 where the value itself is broken, 3 before it.
    fn opened(&self, text: &str, path: &Path) -> Result<Option<Node>> {
        let state = if path.steps.is_empty() { 4 } else { 3 };
        let found = json::find(text, &path.steps).map_err(|bad| bad.message(text, state))?;
        match found {
            Some(node) if matches!(node.kind, Kind::Array | Kind::Object) => Ok(Some(node)),
            _ if !path.strict => Ok(None),
            None => refuse(13608, &[]),
            Some(_) => {
                let state = if self.columns.is_empty() { 1 } else { 2 };
                Err(Message::new(13611, &[]).with_state(state).into())
            }
        }
    }

    fn row(&self, text: &str, settings: &Settings) -> Result<Vec<Value>> {
        let of = |column: &OpenColumn| column.value(text, settings);
        self.columns.iter().map(of).collect()
    }
}

/// A member as key, value and type.
fn by_default(text: &str, at: usize, key: Option<Node>, value: &Node) -> Vec<Value> {
    let key = match key {
        Some(key) => json::unescape(key.text(text)).into_owned(),
        None => at.to_string(),
    };
    let shown = match value.kind {
        Kind::Null => Value::Null,
        Kind::Array | Kind::Object => Value::NVarChar(value.text(text).to_owned()),
        _ => Value::NVarChar(value.scalar(text).unwrap_or_default().into_owned()),
    };
    vec![
        Value::NVarChar(key),
        shown,
        Value::TinyInt(value.kind as u8),
    ]
}

impl OpenColumn {
    /// Its value in a row. What is missing, of another kind or too long is NULL, or an error where the path
    /// is strict.
    fn value(&self, row: &str, settings: &Settings) -> Result<Value> {
        let otherwise = |number: u32, state: u8| match self.path.strict {
            true => Err(Message::new(number, &[]).with_state(state).into()),
            false => Ok(Value::Null),
        };
        let Some(node) = json::seek(row, &self.path.steps) else {
            return otherwise(13608, 6);
        };
        if self.as_json {
            return match node.kind {
                Kind::Array | Kind::Object => Ok(Value::NVarChar(node.text(row).to_owned())),
                Kind::Null => Ok(Value::Null),
                _ => otherwise(13624, 1),
            };
        }
        let Some(text) = node.scalar(row) else {
            return match node.kind {
                Kind::Null => Ok(Value::Null),
                _ => otherwise(13623, 1),
            };
        };
        if !self.fits(&text) {
            return otherwise(13625, 1);
        }
        let value = Value::NVarChar(text.into_owned());
        Ok(self.conversion.apply(&value, settings)?)
    }

    /// Whether a text is no longer than its column.
    fn fits(&self, text: &str) -> bool {
        let to = self.conversion.to;
        if !to.id.has_collation() || to.is_max() {
            return true;
        }
        let most = usize::from(to.length.max(0).unsigned_abs());
        match to.id.is_unicode() {
            true => text.encode_utf16().count() <= most / 2,
            false => text.chars().count() <= most,
        }
    }
}
