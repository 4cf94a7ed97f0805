//! From text to XML as SQL Server keeps it: checked, without its declaration, in one form.
//!
//! A value may be a document or a piece of one: text and several elements side by side. So it is parsed
//! within an element of ours. What is written again: names and prefixes as they were, values between double
//! quotes, sections as text, elements without content as `<b/>`. White space that is all of a text is
//! dropped, but where `xml:space` or the style says otherwise.
//!
//! What can fail: 9400 and on for text that is not well-formed, 6359 for a document type, 6335 for elements
//! deeper than 128. The numbers are SQL Server's. The place in the message is where our parser stopped, which
//! can differ from SQL Server's by some characters.

use furrow_types::escape_xml;
use roxmltree::{Document, Error, Node};

use super::unescape;
use crate::error::{SqlResult, message};

/// Levels of elements that a value can have.
const DEPTH: usize = 128;

/// The encoding of the text's source: a declaration must not contradict it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// `varchar`.
    Narrow,
    /// `nvarchar`.
    Wide,
    /// Bytes, decoded by what they begin with.
    Bytes,
}

/// XML from text. `preserve` keeps white space as it is.
pub(crate) fn parse(text: &str, source: Source, preserve: bool) -> SqlResult<String> {
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
    let declaration = declaration(text);
    if let Some(encoding) = declaration.and_then(encoding) {
        let is_wide = ["utf-16", "ucs-2", "unicode"].contains(&encoding.as_str());
        let fits = match source {
            Source::Narrow => !is_wide,
            Source::Wide => is_wide,
            Source::Bytes => true,
        };
        if !fits {
            let end = declaration.map_or(0, |d| d.chars().count());
            return Err(message(9402, &[1.into(), end.into()]));
        }
    }
    let length = declaration.map_or(0, str::len);
    let (before, content) = text.split_at_checked(length).unwrap_or(("", text));
    if content.trim_start().starts_with("<!DOCTYPE") {
        return Err(message(6359, &[]));
    }
    // Blanks in place of the declaration keep the places of what follows.
    let blank: String = before
        .chars()
        .map(|c| if c == '\n' { c } else { ' ' })
        .collect();
    let whole = format!("{blank}<x>{content}</x>");
    let document = match Document::parse(&whole) {
        Ok(document) => document,
        Err(error) => return Err(refusal(&error, text, before)),
    };
    let mut writer = Writer {
        source: &whole,
        out: String::with_capacity(content.len()),
    };
    for node in document.root_element().children() {
        writer.node(node, 1, preserve)?;
    }
    Ok(writer.out)
}

/// The XML declaration that a text begins with.
fn declaration(text: &str) -> Option<&str> {
    let rest = text.strip_prefix("<?xml")?;
    rest.starts_with(|c: char| c.is_ascii_whitespace())
        .then_some(())?;
    let end = text.find("?>")?;
    text.get(..end + 2)
}

/// The encoding that a declaration names, in lower case.
fn encoding(declaration: &str) -> Option<String> {
    let (_, rest) = declaration.split_once("encoding")?;
    let rest = rest.trim_start().strip_prefix('=')?.trim_start();
    let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let (name, _) = rest.get(1..)?.split_once(quote)?;
    Some(name.to_lowercase())
}

/// SQL Server's message for what is wrong with a text.
fn refusal(error: &Error, text: &str, before: &str) -> furrow_messages::Message {
    let lines = text.split('\n').count();
    let last = text
        .rsplit('\n')
        .next()
        .map_or(0, |line| line.chars().count());
    let at = error.pos();
    let mut place = (at.row as usize, at.col as usize);
    // Our own element is on the line on which the declaration ends.
    if place.0 == before.split('\n').count() {
        place.1 = place.1.saturating_sub("<x>".len()).max(1);
    }
    let is_end = match error {
        Error::UnexpectedEndOfStream | Error::UnclosedRootNode => true,
        // The parser found our own end tag while an element was open, or within a tag.
        _ => place.0 > lines || place.0 == lines && place.1 > last,
    };
    if is_end {
        return message(9400, &[lines.into(), last.into()]);
    }
    let number = match error {
        Error::UnexpectedCloseTag(..) => 9436,
        Error::DuplicatedAttribute(..) => 9437,
        Error::DuplicatedNamespace(..) => 9458,
        Error::UnknownNamespace(..) => 9459,
        Error::UnknownEntityReference(..) => 9448,
        Error::MalformedEntityReference(_) => 9421,
        Error::InvalidAttributeValue(_) | Error::InvalidChar(b'\'' | b'"', b'<', _) => 9415,
        Error::NonXmlChar(..) => 9420,
        Error::InvalidName(_) | Error::InvalidElementNamePrefix(_) => 9455,
        Error::UnexpectedDeclaration(_) => 9438,
        Error::InvalidComment(_) => 9424,
        Error::InvalidCharacterData(_) => 9454,
        Error::InvalidChar(b'=', ..) => 9414,
        Error::InvalidChar(b'>', ..) => 9412,
        Error::InvalidChar2("a quote", ..) => 9413,
        Error::InvalidChar2("a whitespace", ..) => 9410,
        _ => 9422,
    };
    message(number, &[place.0.into(), place.1.into()])
}

/// Writes nodes again.
struct Writer<'s> {
    source: &'s str,
    out: String,
}

impl Writer<'_> {
    fn node(&mut self, node: Node<'_, '_>, depth: usize, preserve: bool) -> SqlResult<()> {
        if node.is_element() {
            return self.element(node, depth, preserve);
        }
        if let Some(pi) = node.pi() {
            let value = pi.value.unwrap_or("");
            let blank = if value.is_empty() { "" } else { " " };
            self.out
                .push_str(&format!("<?{}{blank}{value}?>", pi.target));
        } else if node.is_comment() {
            self.out
                .push_str(&format!("<!--{}-->", node.text().unwrap_or("")));
        } else if node.is_text() {
            let text = node.text().unwrap_or("");
            if preserve || !self.is_white(node, text) {
                escape_xml(text, false, &mut self.out);
            }
        }
        Ok(())
    }

    /// Whether a text is white space, written as such: not by references, not in a section.
    fn is_white(&self, node: Node<'_, '_>, text: &str) -> bool {
        let is_white = |text: &str| text.chars().all(|c| matches!(c, ' ' | '\t' | '\r' | '\n'));
        is_white(text) && self.source.get(node.range()).is_some_and(is_white)
    }

    fn element(&mut self, node: Node<'_, '_>, depth: usize, preserve: bool) -> SqlResult<()> {
        if depth > DEPTH {
            return Err(message(6335, &[DEPTH.into()]));
        }
        let source = self.source.get(node.range()).unwrap_or("");
        let tag = source.strip_prefix('<').unwrap_or(source);
        let ends = |c: char| c.is_ascii_whitespace() || matches!(c, '/' | '>');
        let (name, rest) = tag.split_at(tag.find(ends).unwrap_or(tag.len()));
        self.out.push('<');
        self.out.push_str(name);
        let preserve = self.attributes(rest, preserve);
        let before = self.out.len();
        self.out.push('>');
        for child in node.children() {
            self.node(child, depth + 1, preserve)?;
        }
        if self.out.len() == before + 1 {
            self.out.truncate(before);
            self.out.push_str("/>");
        } else {
            self.out.push_str(&format!("</{name}>"));
        }
        Ok(())
    }

    /// Attributes and declarations, in their order; whether white space within counts. The parser has seen
    /// that they are well-formed.
    fn attributes(&mut self, mut rest: &str, mut preserve: bool) -> bool {
        loop {
            rest = rest.trim_start();
            let Some((name, after)) = rest.split_once('=') else {
                return preserve;
            };
            let after = after.trim_start();
            let Some(quote) = after.chars().next().filter(|c| matches!(c, '"' | '\'')) else {
                return preserve;
            };
            if rest.starts_with(['/', '>']) {
                return preserve;
            }
            let Some((raw, after)) = after.get(1..).and_then(|after| after.split_once(quote))
            else {
                return preserve;
            };
            let name = name.trim_end();
            if name == "xml:space" {
                preserve = raw == "preserve";
            }
            let plain = raw.replace("\r\n", " ").replace(['\r', '\n', '\t'], " ");
            let mut value = String::new();
            unescape(&plain, &mut value);
            self.out.push_str(&format!(" {name}=\""));
            escape_xml(&value, true, &mut self.out);
            self.out.push('"');
            rest = after;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> String {
        match parse(text, Source::Narrow, false) {
            Ok(xml) => xml,
            Err(error) => format!("{} {}", error.number, error.text),
        }
    }

    #[test]
    fn xml_is_written_in_one_form() {
        let cases = [
            ("<?xml version='1.0'?>\n<a> <b></b> </a>", "<a><b/></a>"),
            (
                "<a x = '1' y='\"&#65;&lt;\n'>1 > 0</a>",
                "<a x=\"1\" y=\"&quot;A&lt; \">1 &gt; 0</a>",
            ),
            ("text<a/><b/>&amp;", "text<a/><b/>&amp;"),
            (
                "<p:a xmlns:p='u'><p:b q='1'/></p:a>",
                "<p:a xmlns:p=\"u\"><p:b q=\"1\"/></p:a>",
            ),
            ("<a><![CDATA[<1>]]></a>", "<a>&lt;1&gt;</a>"),
            (
                "<a xml:space='preserve'> <b/></a>",
                "<a xml:space=\"preserve\"> <b/></a>",
            ),
            (
                "<a>&#x20;</a><!-- c --><?t u?>",
                "<a> </a><!-- c --><?t u?>",
            ),
            ("", ""),
            ("\u{FEFF}<a/>", "<a/>"),
        ];
        for (text, xml) in cases {
            assert_eq!(parsed(text), xml, "{text}");
            // What was written is written again the same.
            if !text.contains("#x20") {
                assert_eq!(parsed(xml), xml);
            }
        }
        assert_eq!(parse("<a> </a>", Source::Narrow, true).unwrap(), "<a> </a>");
    }

    #[test]
    fn what_is_not_well_formed_has_the_number_of_sql_server() {
        let number = |text: &str| match parse(text, Source::Wide, false) {
            Ok(xml) => panic!("{text} is {xml}"),
            Err(error) => error.number,
        };
        let cases = [
            ("<a>", 9400),
            ("<a", 9400),
            ("<a></b>", 9436),
            ("<a x='1' x='2'/>", 9437),
            ("<p:a/>", 9459),
            ("<a>&what;</a>", 9448),
            ("a & b", 9421),
            ("<a x='<'/>", 9415),
            ("<1a/>", 9455),
            ("<a/><?xml version='1.0'?>", 9438),
            ("<a>\u{1}</a>", 9420),
            ("<a x/>", 9414),
            ("<a x=1/>", 9413),
            ("<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>", 6359),
            ("</x><x>", 9422),
            ("<?xml version='1.0' encoding='utf-8'?><a/>", 9402),
        ];
        let found = cases.map(|(text, _)| (text, number(text)));
        assert_eq!(found, cases);
        assert_eq!(
            parsed("<a>\n<b></a>"),
            "9436 XML parsing: line 2, character 4, end tag does not match start tag"
        );
        assert_eq!(
            parsed("<a>"),
            "9400 XML parsing: line 1, character 3, unexpected end of input"
        );
        let deep = |levels: usize| "<a>".repeat(levels) + &"</a>".repeat(levels);
        assert!(parsed(&deep(128)).ends_with("</a>"));
        assert!(parsed(&deep(129)).starts_with("6335 "));
        assert!(parsed(&deep(100_000)).starts_with("6335 "));
    }
}
