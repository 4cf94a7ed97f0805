//! FOR XML and FOR JSON: the rows of a query as one text.
//!
//! - `xml`: elements and attributes, by the paths that columns are named with.
//! - `json`: objects, the same.

mod json;
mod xml;

pub use json::{JsonColumn, JsonForm};
pub use xml::{XmlColumn, XmlForm, XmlPlace};

use super::operator::{Cursor, Plan, Ready};
use furrow_context::context::Context;
use furrow_context::error::Result;
use furrow_context::memory::{Grant, refused};
use furrow_types::{DataType, Family, TypeId, Value, base64};
use std::fmt::Write;

/// How rows are written.
#[derive(Debug, Clone)]
pub enum Form {
    /// FOR XML.
    Xml(XmlForm),
    /// FOR JSON.
    Json(JsonForm),
}

/// A query whose rows become one text; none where it has no rows.
#[derive(Debug, Clone)]
pub struct MarkupPlan {
    /// What gives the rows.
    pub input: Plan,
    /// How they are written.
    pub form: Form,
}

impl MarkupPlan {
    pub(crate) fn open<'p>(&'p self, cx: &mut Context) -> Result<Cursor<'p>> {
        let mut text = String::new();
        let mut grant = Grant::new(&cx.memory);
        let mut rows = 0_u64;
        let mut after_data = false;
        match &self.form {
            Form::Xml(form) => form.begin(&mut text),
            Form::Json(form) => form.begin(&mut text),
        }
        // A growing text has spare capacity, which counts as well.
        grant.take(text.capacity())?;
        self.input.for_each(cx, &mut |_, row| {
            let (before, begun) = (text.capacity(), text.len());
            match &self.form {
                Form::Xml(form) => form.row(row, &mut after_data, &mut text)?,
                Form::Json(form) => form.row(row, rows == 0, &mut text),
            }
            rows += 1;
            // The next row is likely no longer: its memory is reserved here, where a failure can be reported.
            let next = (text.len() - begun).saturating_mul(2);
            text.try_reserve(next).map_err(|_| refused())?;
            grant.take(text.capacity() - before)
        })?;
        if rows == 0 {
            return Ok(Cursor::new(Ready::new(Vec::new())));
        }
        match &self.form {
            Form::Xml(form) => form.end(&mut text),
            Form::Json(form) => form.end(&mut text),
        }
        let rows = vec![vec![Value::NVarChar(text)]];
        Ok(Cursor::new(Ready::kept(rows, grant)))
    }
}

/// A value as the standards of the Web write it: no blank within moments, no fraction of zeros, numbers with
/// a digit before their point, bytes in base 64. NULL is nothing.
fn plain(value: &Value, of: &DataType, out: &mut String) {
    let mut text = String::new();
    match value {
        Value::Null => return,
        Value::Binary(bytes) => return out.push_str(&base64(bytes)),
        Value::Float(number) => return scientific(*number, 15, out),
        Value::Real(number) => return scientific(f64::from(*number), 7, out),
        // Writing to a string cannot fail.
        value => {
            let _infallible = write!(text, "{value}");
        }
    }
    match of.id.family() {
        Family::Exact => {
            let (sign, digits) = match text.strip_prefix('-') {
                Some(digits) => ("-", digits),
                None => ("", text.as_str()),
            };
            out.push_str(sign);
            if digits.starts_with('.') {
                out.push('0');
            }
            out.push_str(digits);
        }
        Family::DateTime => moment(&text, of.id, out),
        _ => out.push_str(&text),
    }
}

fn moment(text: &str, id: TypeId, out: &mut String) {
    let mut parts = text.split(' ');
    let (first, second) = (parts.next().unwrap_or(""), parts.next());
    let (date, time) = match (id, second) {
        (TypeId::Time, _) => ("", first),
        (_, time) => (first, time.unwrap_or("")),
    };
    out.push_str(date);
    if !date.is_empty() && !time.is_empty() {
        out.push('T');
    }
    match time.split_once('.') {
        Some((whole, fraction)) if fraction.bytes().all(|b| b == b'0') => out.push_str(whole),
        _ => out.push_str(time),
    }
    match parts.next() {
        Some("+00:00") => out.push('Z'),
        Some(offset) => out.push_str(offset),
        None => {}
    }
}

/// `1.500000000000000e+000`.
fn scientific(number: f64, digits: usize, out: &mut String) {
    out.push_str(&furrow_scalar::json::scientific(number, digits));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_as_the_web_does() {
        let shown = |value: Value, id: TypeId| {
            let mut out = String::new();
            plain(&value, &DataType::simple(id), &mut out);
            out
        };
        let bytes = |text: &str| Value::Binary(text.as_bytes().to_vec());
        assert_eq!(shown(bytes("a"), TypeId::VarBinary), "YQ==");
        assert_eq!(shown(bytes("ab"), TypeId::VarBinary), "YWI=");
        assert_eq!(shown(bytes("abc"), TypeId::VarBinary), "YWJj");
        assert_eq!(
            shown(Value::Float(1.5), TypeId::Float),
            "1.500000000000000e+000"
        );
        assert_eq!(
            shown(Value::Float(-2e-7), TypeId::Float),
            "-2.000000000000000e-007"
        );
        let mut out = String::new();
        moment("2024-02-29 13:14:15.000", TypeId::DateTime, &mut out);
        out.push(' ');
        moment(
            "2024-02-29 13:14:15.1230000 +02:00",
            TypeId::DateTimeOffset,
            &mut out,
        );
        out.push(' ');
        moment("13:14:15.5", TypeId::Time, &mut out);
        assert_eq!(
            out,
            "2024-02-29T13:14:15 2024-02-29T13:14:15.1230000+02:00 13:14:15.5"
        );
    }
}
