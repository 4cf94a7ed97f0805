//! FOR JSON.

use super::plain;
use furrow_scalar::json::quote;
use furrow_types::{DataType, Family, TypeId, Value};

/// A column and the place that its name gives it.
#[derive(Debug, Clone)]
pub struct JsonColumn {
    /// Keys from the outside in; never empty.
    pub path: Vec<String>,
    /// Its type.
    pub data_type: DataType,
    /// Whether it is JSON itself.
    pub raw: bool,
}

/// How rows become JSON.
#[derive(Debug, Clone)]
pub struct JsonForm {
    /// The columns of the query.
    pub columns: Vec<JsonColumn>,
    /// The name that ROOT gives.
    pub root: Option<String>,
    /// Whether the objects are enclosed in brackets.
    pub array: bool,
    /// Whether NULL is written.
    pub nulls: bool,
}

impl JsonForm {
    /// Appends a row as an object.
    pub(super) fn row(&self, row: &[Value], is_first: bool, out: &mut String) {
        if !is_first {
            out.push(',');
        }
        out.push('{');
        let mut open: &[String] = &[];
        let mut after_one = false;
        for (column, value) in self.columns.iter().zip(row) {
            if value.is_null() && !self.nulls {
                continue;
            }
            let Some((key, around)) = column.path.split_last() else {
                continue;
            };
            let common = open.iter().zip(around).take_while(|(a, b)| a == b).count();
            for _ in common..open.len() {
                out.push('}');
                after_one = true;
            }
            if after_one {
                out.push(',');
            }
            for outer in around.iter().skip(common) {
                quoted(outer, out);
                out.push_str(":{");
            }
            open = around;
            quoted(key, out);
            out.push(':');
            self.value(column, value, out);
            after_one = true;
        }
        for _ in open {
            out.push('}');
        }
        out.push('}');
    }

    fn value(&self, column: &JsonColumn, value: &Value, out: &mut String) {
        let family = column.data_type.id.family();
        match value {
            Value::Null => out.push_str("null"),
            Value::Bit(bit) => out.push_str(if *bit { "true" } else { "false" }),
            Value::VarChar(text) | Value::NVarChar(text) if column.raw => out.push_str(text),
            _ if matches!(
                family,
                Family::Integer | Family::Exact | Family::Approximate
            ) && column.data_type.id != TypeId::Bit =>
            {
                plain(value, &column.data_type, out);
            }
            _ => {
                let mut text = String::new();
                plain(value, &column.data_type, &mut text);
                quoted(&text, out);
            }
        }
    }

    /// Appends the text before all objects.
    pub fn begin(&self, out: &mut String) {
        if let Some(root) = &self.root {
            out.push('{');
            quoted(root, out);
            out.push(':');
        }
        if self.array {
            out.push('[');
        }
    }

    /// Appends the text behind them.
    pub fn end(&self, out: &mut String) {
        if self.array {
            out.push(']');
        }
        if self.root.is_some() {
            out.push('}');
        }
    }
}

/// A text in quotation marks.
fn quoted(text: &str, out: &mut String) {
    out.push('"');
    quote(text, true, out);
    out.push('"');
}
