//! FOR XML: which column goes where, and which names it takes.
//!
//! Names of columns and tables that RAW and AUTO write are encoded where XML cannot have them. What PATH
//! takes from a column's name, and what is written as the name of a row or a root, is refused there instead.

use super::markup::{argument, only_table};
use furrow_context::error::{Result, refuse, unsupported};
use furrow_context::sink::ResultColumn;
use furrow_exec::markup::{Form, XmlColumn, XmlForm, XmlPlace};
use furrow_tsql::ast::query::{ForOption, Query};
use furrow_types::{DataType, TypeId};

/// The owner of a name: the word that a message begins with, and the one within it.
type Owner = (&'static str, &'static str);

const COLUMN: Owner = ("Column", "column");
const ROW: Owner = ("Row", "row");
const ROOT: Owner = ("ROOT", "ROOT");

/// How the rows of a query become XML.
pub(super) fn form(query: &Query, options: &[ForOption], columns: &[ResultColumn]) -> Result<Form> {
    let has = |name: &str| options.iter().any(|o| &*o.name == name);
    let (row, root) = tags(query, options)?;
    let path = has("PATH");
    let elements = has("ELEMENTS") || has("ELEMENTS ABSENT");
    let mut placed = Vec::new();
    for column in columns {
        if !path && column.name.is_empty() {
            return refuse(6809, &[]);
        }
        if !path && !has("BINARY BASE64") && is_binary(&column.data_type) {
            // AUTO would write the address of the value, in a scheme that nothing serves any more.
            return match has("AUTO") {
                true => Err(unsupported(
                    "FOR XML AUTO of binary columns without BINARY BASE64",
                )),
                false => refuse(6829, &[column.name.clone().into()]),
            };
        }
        let (names, place) = match path {
            true => by_path(&column.name)?,
            // XML is no attribute anywhere.
            false if elements || column.data_type.id == TypeId::Xml => {
                (vec![encoded(&column.name)], XmlPlace::Text)
            }
            false => (Vec::new(), XmlPlace::Attribute(encoded(&column.name))),
        };
        if path && column.data_type.id == TypeId::Xml {
            check_xml(&column.name, &place)?;
        }
        if row.is_none() && names.is_empty() && matches!(place, XmlPlace::Attribute(_)) {
            return refuse(6864, &[]);
        }
        placed.push(XmlColumn {
            path: names,
            place,
            data_type: column.data_type,
            raw: column.data_type.id == TypeId::Xml,
        });
    }
    if let Some(late) = late_attribute(&placed) {
        if !path {
            return Err(unsupported("FOR XML of an xml column before attributes"));
        }
        return refuse(6852, &[format!("@{late}").into()]);
    }
    Ok(Form::Xml(XmlForm {
        columns: placed,
        row,
        root,
    }))
}

/// The elements of rows and around them all.
fn tags(query: &Query, options: &[ForOption]) -> Result<(Option<String>, Option<String>)> {
    let mut row = Some("row".to_owned());
    let mut root = None;
    for option in options {
        let argument = argument(option);
        match &*option.name {
            "PATH" | "RAW" => match argument.as_deref() {
                None => {}
                Some("") => row = None,
                Some(name) => row = Some(accepted(name, name, ROW)?),
            },
            "AUTO" => {
                let table = only_table(query, "FOR XML AUTO of several tables")?;
                row = Some(encoded(&table));
            }
            "ROOT" => match argument.as_deref().unwrap_or("root") {
                "" => return refuse(6861, &[]),
                name => root = Some(accepted(name, name, ROOT)?),
            },
            "TYPE" | "ELEMENTS" | "ELEMENTS ABSENT" | "BINARY BASE64" => {}
            other => return Err(unsupported(&format!("FOR XML {other}"))),
        }
    }
    Ok((row, root))
}

/// Whether the place that a column's name gives may contain XML.
fn check_xml(name: &str, place: &XmlPlace) -> Result<()> {
    let last = name.rsplit('/').next().unwrap_or(name);
    match place {
        XmlPlace::Attribute(_) => refuse(6851, &[name.into()]),
        _ if last.ends_with(')') && last != "node()" => refuse(6853, &[name.into()]),
        _ => Ok(()),
    }
}

/// Whether values are bytes, for which RAW and AUTO require an option.
fn is_binary(data_type: &DataType) -> bool {
    matches!(
        data_type.id,
        TypeId::Binary | TypeId::VarBinary | TypeId::RowVersion | TypeId::Image
    )
}

/// An attribute that comes when its element has content already.
fn late_attribute(columns: &[XmlColumn]) -> Option<&str> {
    let mut open: &[String] = &[];
    let mut in_tag = true;
    for column in columns {
        let common = open
            .iter()
            .zip(&column.path)
            .take_while(|(a, b)| a == b)
            .count();
        if common < open.len() {
            in_tag = false;
        }
        if common < column.path.len() {
            in_tag = true;
        }
        open = &column.path;
        match &column.place {
            XmlPlace::Attribute(name) if !in_tag => return Some(name),
            XmlPlace::Attribute(_) => {}
            _ => in_tag = false,
        }
    }
    None
}

/// The elements and the place that a column's name gives.
fn by_path(name: &str) -> Result<(Vec<String>, XmlPlace)> {
    if name.is_empty() {
        return Ok((Vec::new(), XmlPlace::Text));
    }
    let mut steps: Vec<&str> = name.split('/').collect();
    if steps.iter().any(|step| step.is_empty()) {
        return refuse(6849, &[name.into()]);
    }
    let last = steps.last().copied().unwrap_or("*");
    let place = match last {
        "*" | "text()" | "node()" => Some(XmlPlace::Text),
        "data()" => Some(XmlPlace::Data),
        "comment()" => Some(XmlPlace::Comment),
        _ if last.starts_with("processing-instruction(") => {
            return Err(unsupported(&format!("FOR XML PATH with {last}")));
        }
        _ => match last.strip_prefix('@').filter(|rest| !rest.is_empty()) {
            Some(attribute) => Some(XmlPlace::Attribute(accepted(attribute, name, COLUMN)?)),
            None => None,
        },
    };
    if place.is_some() {
        steps.pop();
    }
    let names = steps.into_iter().map(|step| accepted(step, name, COLUMN));
    let names = names.collect::<Result<Vec<String>>>()?;
    Ok((names, place.unwrap_or(XmlPlace::Text)))
}

/// A name that is written as it is, or refused: `whole` is what stood in the statement.
fn accepted(name: &str, whole: &str, (owner, within): Owner) -> Result<String> {
    let prefix = name.split_once(':').map(|(prefix, _)| prefix);
    if prefix.unwrap_or(name) == "xmlns" {
        return refuse(6867, &[]);
    }
    let local = match prefix {
        // No clause declares prefixes here; this one needs none.
        Some("xml") => name.strip_prefix("xml:").unwrap_or(name),
        Some(prefix) if !prefix.is_empty() => {
            return refuse(6846, &[prefix.into(), within.into(), whole.into()]);
        }
        _ => name,
    };
    let fault = local
        .char_indices()
        .find(|&(at, c)| c == ':' || !can_be_named(c, at == 0));
    match fault {
        None if local.is_empty() => refuse(6850, &fault_of(owner, whole, ':')),
        None => Ok(name.to_owned()),
        Some((_, c)) => refuse(6850, &fault_of(owner, whole, c)),
    }
}

fn fault_of(owner: &str, whole: &str, c: char) -> [furrow_messages::Arg; 4] {
    [
        owner.into(),
        whole.into(),
        c.to_string().into(),
        u32::from(c).into(),
    ]
}

/// Whether a name of XML may have a character there: NameStartChar and NameChar of XML 1.0, but the colon.
fn can_be_named(c: char, first: bool) -> bool {
    let begins = matches!(c,
        'A'..='Z' | '_' | 'a'..='z' | '\u{C0}'..='\u{D6}' | '\u{D8}'..='\u{F6}' | '\u{F8}'..='\u{2FF}'
        | '\u{370}'..='\u{37D}' | '\u{37F}'..='\u{1FFF}' | '\u{200C}'..='\u{200D}'
        | '\u{2070}'..='\u{218F}' | '\u{2C00}'..='\u{2FEF}' | '\u{3001}'..='\u{D7FF}'
        | '\u{F900}'..='\u{FDCF}' | '\u{FDF0}'..='\u{FFFD}' | '\u{10000}'..='\u{EFFFF}');
    let goes_on = matches!(c,
        '-' | '.' | '0'..='9' | '\u{B7}' | '\u{300}'..='\u{36F}' | '\u{203F}'..='\u{2040}');
    begins || (!first && goes_on)
}

/// A name as XML can have it: what it cannot is written by its number.
fn encoded(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut chars = name.chars().peekable();
    let mut first = true;
    while let Some(c) = chars.next() {
        // `_x` begins such a number, so a name's own `_` before `x` is written by number too: otherwise the
        // two would be ambiguous.
        let escapes = c == '_' && chars.peek() == Some(&'x');
        let plain = can_be_named(c, first) || (c == ':' && !first);
        match u32::from(c) {
            _ if plain && !escapes => out.push(c),
            number if number > 0xFFFF => out.push_str(&format!("_x{number:06X}_")),
            number => out.push_str(&format!("_x{number:04X}_")),
        }
        first = false;
    }
    out
}
