//! XML as text: its string value without tags (here), and parsing text as XML (`parse`).

mod parse;

pub(crate) use parse::{Source, parse};

/// Appends the string value of XML: the text of all its elements, one after the other, without comments and
/// processing instructions. What is no XML goes as far as it can be read.
pub fn string_value(xml: &str, out: &mut String) {
    let mut rest = xml;
    while let Some(at) = rest.find('<') {
        let (text, markup) = rest.split_at(at);
        unescape(text, out);
        rest = after_markup(markup);
    }
    unescape(rest, out);
}

/// What follows a tag, a comment or an instruction.
fn after_markup(markup: &str) -> &str {
    let end = match markup {
        _ if markup.starts_with("<!--") => "-->",
        _ if markup.starts_with("<?") => "?>",
        _ => return after_tag(markup),
    };
    markup.split_once(end).map_or("", |(_, rest)| rest)
}

/// The text behind a tag, whose attribute values may contain `>`.
fn after_tag(tag: &str) -> &str {
    let mut quote = None;
    for (at, c) in tag.char_indices() {
        match (quote, c) {
            (None, '>') => return tag.get(at + 1..).unwrap_or(""),
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            _ => {}
        }
    }
    ""
}

/// Appends text with its references as characters. An unknown reference stays as it is.
pub(crate) fn unescape(text: &str, out: &mut String) {
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        let (plain, reference) = rest.split_at(at);
        out.push_str(plain);
        let name = reference
            .split_once(';')
            .and_then(|(name, after)| Some((character(name.strip_prefix('&')?)?, after)));
        match name {
            Some((c, after)) => {
                out.push(c);
                rest = after;
            }
            None => {
                out.push('&');
                rest = reference.get(1..).unwrap_or("");
            }
        }
    }
    out.push_str(rest);
}

/// The character of a reference, between `&` and `;`.
fn character(name: &str) -> Option<char> {
    match name {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "amp" => Some('&'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => {
            let number = name.strip_prefix('#')?;
            let number = match number.strip_prefix('x') {
                Some(digits) => u32::from_str_radix(digits, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(number)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_string_value_is_the_text_of_all_elements() {
        let value = |xml: &str| {
            let mut out = String::new();
            string_value(xml, &mut out);
            out
        };
        assert_eq!(value("<x><a>1</a>2</x>3"), "123");
        assert_eq!(
            value("<x a='>' b=\"'>\">&lt;b&gt; &#x41;&#66;&amp;lt;</x>"),
            "<b> AB&lt;"
        );
        assert_eq!(value("a<!-- <b>c</b> -->d<?e f?>g<h/>"), "adg");
        assert_eq!(value("<open a='"), "");
        assert_eq!(
            value("1 & 2 &what; &#xFFFFFFFF;"),
            "1 & 2 &what; &#xFFFFFFFF;"
        );
    }
}
