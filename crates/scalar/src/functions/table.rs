//! Table functions: STRING_SPLIT.

use crate::error::{SqlResult, message};

/// The parts of a text, one after the other.
#[derive(Debug, Clone)]
pub struct StringSplit<'a> {
    rest: Option<&'a str>,
    separator: char,
}

impl<'a> Iterator for StringSplit<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let rest = self.rest?;
        match rest.split_once(self.separator) {
            Some((part, rest)) => {
                self.rest = Some(rest);
                Some(part)
            }
            None => {
                self.rest = None;
                Some(rest)
            }
        }
    }
}

/// STRING_SPLIT(text, separator): no rows where the text is NULL, one empty row where it is empty. Error
/// 214 for a separator that is not one character.
pub fn string_split<'a>(text: Option<&'a str>, separator: &str) -> SqlResult<StringSplit<'a>> {
    let mut characters = separator.chars();
    match (characters.next(), characters.next()) {
        (Some(separator), None) => Ok(StringSplit {
            rest: text,
            separator,
        }),
        _ => Err(message(
            214,
            &["separator".into(), "nchar(1)/nvarchar(1)".into()],
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_split_at_every_separator() {
        let split = |text| string_split(text, ",").unwrap().collect::<Vec<_>>();
        assert_eq!(split(Some("a,,b,")), ["a", "", "b", ""]);
        assert_eq!(split(Some("")), [""]);
        assert!(split(None).is_empty());
        let error = string_split(Some("a"), ", ").unwrap_err();
        assert_eq!(
            error.text,
            "Procedure expects parameter 'separator' of type 'nchar(1)/nvarchar(1)'."
        );
    }
}
