//! FOR XML.

use super::plain;
use furrow_context::error::{Result, refuse};
use furrow_types::{DataType, Value, escape_xml};
use std::fmt::Write;

/// Where in its element a column goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum XmlPlace {
    /// As text of the element around it.
    Text,
    /// As text, with a blank before it if such an item precedes it.
    Data,
    /// As a comment.
    Comment,
    /// An attribute of this name.
    Attribute(String),
}

/// A column and the place that its name gives it.
#[derive(Debug, Clone)]
pub struct XmlColumn {
    /// Elements from the outside in, below that of the row.
    pub path: Vec<String>,
    /// Where it goes.
    pub place: XmlPlace,
    /// Its type.
    pub data_type: DataType,
    /// Whether it is XML itself.
    pub raw: bool,
}

/// How rows become XML.
#[derive(Debug, Clone)]
pub struct XmlForm {
    /// The columns of the query.
    pub columns: Vec<XmlColumn>,
    /// The element of a row; none where it is left out.
    pub row: Option<String>,
    /// The name that ROOT gives.
    pub root: Option<String>,
}

/// Elements that are open.
struct Open<'n> {
    names: Vec<&'n str>,
    /// Whether the tag of the innermost one is not ended yet.
    in_tag: bool,
}

impl<'n> Open<'n> {
    /// Ends the tag that is open, so that content may follow.
    fn end_tag(&mut self, out: &mut String) {
        if std::mem::take(&mut self.in_tag) {
            out.push('>');
        }
    }

    fn begin(&mut self, name: &'n str, out: &mut String) {
        self.end_tag(out);
        out.push('<');
        out.push_str(name);
        self.names.push(name);
        self.in_tag = true;
    }

    /// Closes all elements but so many.
    fn close_to(&mut self, left: usize, out: &mut String) {
        while self.names.len() > left {
            let name = self.names.pop().unwrap_or("");
            match std::mem::take(&mut self.in_tag) {
                true => out.push_str("/>"),
                false => {
                    let _infallible = write!(out, "</{name}>");
                }
            }
        }
    }
}

impl XmlForm {
    /// Appends a row. `after_data`: whether the last item was `data()`.
    pub(super) fn row(&self, row: &[Value], after_data: &mut bool, out: &mut String) -> Result<()> {
        if self.row.is_some() {
            *after_data = false;
        }
        let mut open = Open {
            names: Vec::new(),
            in_tag: false,
        };
        if let Some(name) = &self.row {
            open.begin(name, out);
        }
        let base = open.names.len();
        for (column, value) in self.columns.iter().zip(row) {
            if value.is_null() {
                continue;
            }
            let now = open.names.iter().skip(base);
            let same = now.zip(&column.path).take_while(|(a, b)| **a == b.as_str());
            let common = same.count();
            open.close_to(base + common, out);
            for name in column.path.iter().skip(common) {
                open.begin(name, out);
            }
            let mut text = String::new();
            plain(value, &column.data_type, &mut text);
            if let XmlPlace::Attribute(name) = &column.place {
                if !open.in_tag {
                    return refuse(6852, &[format!("@{name}").into()]);
                }
                let _infallible = write!(out, " {name}=\"");
                escape_xml(&text, true, out);
                out.push('"');
                continue;
            }
            open.end_tag(out);
            let is_data = column.place == XmlPlace::Data;
            if is_data && *after_data {
                out.push(' ');
            }
            *after_data = is_data;
            match column.place {
                XmlPlace::Comment => {
                    let _infallible = write!(out, "<!--{text}-->");
                }
                _ if column.raw => out.push_str(&text),
                _ => escape_xml(&text, false, out),
            }
        }
        open.close_to(0, out);
        Ok(())
    }

    /// Appends the text before all rows.
    pub fn begin(&self, out: &mut String) {
        if let Some(root) = &self.root {
            let _infallible = write!(out, "<{root}>");
        }
    }

    /// Appends the text behind them.
    pub fn end(&self, out: &mut String) {
        if let Some(root) = &self.root {
            let _infallible = write!(out, "</{root}>");
        }
    }
}
