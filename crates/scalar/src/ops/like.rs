//! LIKE and PATINDEX: `%`, `_`, `[a-f]`, `[^a-f]`, ESCAPE, under a collation.
//!
//! A pattern is compiled once. Every item but `%` takes exactly one unit, so that matching needs no
//! recursion: on a mismatch it goes back to the last `%` and lets that one take a unit more. Units are
//! UTF-16; a unit matches where its weight under the collation does, and a range goes by the collation's
//! order.
//!
//! Blanks at the end of the text are ignored for `varchar` but not for `nvarchar`. A class that is never
//! closed matches nothing.

use furrow_observe::task;
use furrow_types::{Collation, character_weight};

use super::like_bytes::LikeBytes;
use super::logic::Truth;
use crate::error::{SqlResult, invalid_argument, message};
use crate::operand::{Operand, comparison_collation};
use crate::room;
use crate::types::is_text;

/// Units compared between two looks whether the statement is to end. What a match gives then is no answer:
/// the executor looks again behind it.
const CHECK_UNITS: usize = 1 << 18;

/// An item of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Item {
    /// `%`.
    Any,
    /// `_`.
    One,
    /// A unit by its weight.
    Unit(u32),
    /// Units by ranges of weights.
    Class {
        ranges: Vec<(u32, u32)>,
        negated: bool,
    },
    /// What nothing matches.
    Nothing,
}

/// A compiled pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LikePattern {
    items: Vec<Item>,
    collation: Collation,
    unicode: bool,
}

/// The collation of a LIKE, and whether it compares Unicode. 8116 for what is not text.
pub fn bind_like(text: &Operand<'_>, pattern: &Operand<'_>) -> SqlResult<(Collation, bool)> {
    for (place, side) in [(1, text), (2, pattern)] {
        let id = side.data_type.id;
        let converts = crate::types::require_implicit(id, furrow_types::TypeId::VarChar);
        if !is_text(id) && !side.is_null_literal && converts.is_err() {
            return Err(invalid_argument(id, place, "like"));
        }
    }
    let unicode = text.data_type.id.is_unicode() || pattern.data_type.id.is_unicode();
    match (
        text.data_type.id.has_collation(),
        pattern.data_type.id.has_collation(),
    ) {
        (false, false) => Ok((Collation::DEFAULT, unicode)),
        _ => Ok((comparison_collation(text, pattern, "like")?, unicode)),
    }
}

impl LikePattern {
    /// Compiles a pattern; 506 for an ESCAPE that is not one character.
    pub fn new(
        pattern: &str,
        escape: Option<&str>,
        collation: Collation,
        unicode: bool,
    ) -> SqlResult<LikePattern> {
        let escape = match escape {
            None => None,
            Some(text) => {
                let mut units = text.encode_utf16();
                match (units.next(), units.next()) {
                    (Some(unit), None) => Some(unit),
                    _ => return Err(message(506, &[text.into(), "LIKE".into()])),
                }
            }
        };
        let units: Vec<u16> = pattern.encode_utf16().collect();
        let mut parser = Parser {
            units: &units,
            at: 0,
            escape,
            collation,
        };
        Ok(LikePattern {
            items: parser.items(),
            collation,
            unicode,
        })
    }

    /// Whether the whole text matches.
    pub fn matches(&self, text: &str) -> bool {
        // Most texts differ where the pattern begins: nothing is set aside for those.
        let mut units = text.encode_utf16();
        let mut same = 0;
        for item in self.items.iter().take_while(|i| matches!(i, Item::Unit(_))) {
            match units.next() {
                Some(unit) if item.takes(character_weight(unit, self.collation)) => same += 1,
                Some(_) => return false,
                None => break,
            }
        }
        if self.items.get(same..) == Some(&[Item::Any]) {
            return true;
        }
        let weights = self.weights(text);
        self.matches_from(&weights)
    }

    /// The same pattern for bytes of code page 1252; `None` where it compares Unicode.
    pub fn of_bytes(&self) -> Option<LikeBytes> {
        if self.unicode {
            return None;
        }
        Some(LikeBytes::of(self))
    }

    pub(super) fn items(&self) -> &[Item] {
        &self.items
    }

    pub(super) fn collation(&self) -> Collation {
        self.collation
    }

    /// [`matches`](LikePattern::matches), with NULL unknown.
    pub fn eval(&self, text: Option<&str>) -> Truth {
        text.map(|text| self.matches(text))
    }

    /// Where the first match begins, in units from 1; 0 where there is none. A pattern that starts with `%`
    /// may begin anywhere, any other one at the start only.
    pub fn position(&self, text: &str) -> usize {
        let weights = self.weights(text);
        let Some((Item::Any, rest)) = self.items.split_first() else {
            return usize::from(self.matches_from(&weights));
        };
        let first = rest.iter().position(|item| *item != Item::Any);
        let anchored = LikePattern {
            items: rest
                .get(first.unwrap_or(rest.len())..)
                .unwrap_or_default()
                .to_vec(),
            collation: self.collation,
            unicode: self.unicode,
        };
        if anchored.items.is_empty() {
            return usize::from(!weights.is_empty());
        }
        let between = (CHECK_UNITS / anchored.items.len()).max(1);
        (0..=weights.len())
            .find(|&at| {
                at % between == between - 1 && task::is_cancelled()
                    || anchored.matches_from(weights.get(at..).unwrap_or_default())
            })
            .map_or(0, |at| at + 1)
    }

    fn weights(&self, text: &str) -> Vec<u32> {
        text.encode_utf16()
            .map_while(room::polled())
            .map(|unit| character_weight(unit, self.collation))
            .collect()
    }

    fn matches_from(&self, text: &[u32]) -> bool {
        let weight = |at| text.get(at).copied().unwrap_or_default();
        self.matches_by(text.len(), weight, |_, from| Some(from))
    }

    /// Whether a text of so many units matches. `weight` returns the weight of a unit; `seek`, from a place
    /// on, the next place where the items behind a `%` may begin.
    #[inline]
    pub(super) fn matches_by(
        &self,
        len: usize,
        weight: impl Fn(usize) -> u32,
        seek: impl Fn(usize, usize) -> Option<usize>,
    ) -> bool {
        let (mut at, mut item) = (0, 0);
        let mut retry: Option<(usize, usize)> = None;
        let mut retries = 0_usize;
        let between = (CHECK_UNITS / self.items.len().max(1)).max(1);
        loop {
            match (self.items.get(item), at < len) {
                (Some(Item::Any), _) => {
                    item += 1;
                    let Some(next) = seek(item, at) else {
                        return false;
                    };
                    at = next;
                    retry = Some((item, at));
                    continue;
                }
                (Some(one), true) if one.takes(weight(at)) => {
                    item += 1;
                    at += 1;
                    continue;
                }
                (None, false) => return true,
                (None, true) if !self.unicode => {
                    let blank = character_weight(0x20, self.collation);
                    if (at..len).all(|at| weight(at) == blank) {
                        return true;
                    }
                }
                _ => {}
            }
            match &mut retry {
                // What ends in `%` takes all that comes.
                Some((after, _)) if *after == self.items.len() => return true,
                Some((after, from)) if *from < len => {
                    retries += 1;
                    if retries.is_multiple_of(between) && task::is_cancelled() {
                        return false;
                    }
                    let Some(next) = seek(*after, *from + 1) else {
                        return false;
                    };
                    *from = next;
                    (item, at) = (*after, next);
                }
                _ => return false,
            }
        }
    }
}

impl Item {
    /// Whether it takes a unit of this weight.
    pub(super) fn takes(&self, weight: u32) -> bool {
        match self {
            Item::Any | Item::Nothing => false,
            Item::One => true,
            Item::Unit(own) => *own == weight,
            Item::Class { ranges, negated } => {
                let within = ranges
                    .iter()
                    .any(|&(low, high)| (low..=high).contains(&weight));
                within != *negated
            }
        }
    }
}

struct Parser<'a> {
    units: &'a [u16],
    at: usize,
    escape: Option<u16>,
    collation: Collation,
}

impl Parser<'_> {
    /// The next unit, and whether it was escaped.
    fn next(&mut self) -> Option<(u16, bool)> {
        let unit = *self.units.get(self.at)?;
        self.at += 1;
        if Some(unit) == self.escape
            && let Some(&escaped) = self.units.get(self.at)
        {
            self.at += 1;
            return Some((escaped, true));
        }
        Some((unit, false))
    }

    fn items(&mut self) -> Vec<Item> {
        let mut items = Vec::new();
        while let Some((unit, escaped)) = self.next() {
            let item = match (u8::try_from(unit), escaped) {
                (Ok(b'%'), false) => Item::Any,
                (Ok(b'_'), false) => Item::One,
                (Ok(b'['), false) => self.class(),
                _ => Item::Unit(character_weight(unit, self.collation)),
            };
            if item != Item::Any || items.last() != Some(&Item::Any) {
                items.push(item);
            }
        }
        items
    }

    fn class(&mut self) -> Item {
        const CARET: u16 = b'^' as u16;
        const CLOSE: (u16, bool) = (b']' as u16, false);
        const DASH: (u16, bool) = (b'-' as u16, false);
        let negated = self.units.get(self.at) == Some(&CARET);
        self.at += usize::from(negated);
        let mut members = Vec::new();
        loop {
            match self.next() {
                None => return Item::Nothing,
                Some(CLOSE) => break,
                Some(member) => members.push(member),
            }
        }
        let weight = |unit| character_weight(unit, self.collation);
        let mut ranges = Vec::new();
        let mut rest = members.as_slice();
        loop {
            rest = match rest {
                [] => break,
                [(low, _), DASH, (high, _), rest @ ..] => {
                    ranges.push((weight(*low), weight(*high)));
                    rest
                }
                [(one, _), rest @ ..] => {
                    ranges.push((weight(*one), weight(*one)));
                    rest
                }
            };
        }
        Item::Class { ranges, negated }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::operand;

    fn like(text: &str, pattern: &str) -> bool {
        let pattern = LikePattern::new(pattern, None, Collation::DEFAULT, false).unwrap();
        pattern.matches(text)
    }

    #[test]
    fn wildcards_classes_and_ranges_match_as_documented() {
        for (text, pattern) in [
            ("abc", "abc"),
            ("ABC", "a%"),
            ("abc", "%C"),
            ("abc", "a_c"),
            ("abc", "[a-c]bc"),
            ("bbc", "[^d-z]bc"),
            ("5%", "5[%]"),
            ("_n", "[_]n"),
            ("-", "[-acdf]"),
            ("-", "[a-]"),
            ("[ ]", "[[] ]"),
            ("]", "]"),
            ("abc  ", "abc"),
            ("", "%"),
            ("", ""),
            ("xaayab", "%a_ab%"),
            ("abcabcabd", "%abcabd"),
            ("Carsen", "[CK]ars[eo]n"),
        ] {
            assert!(like(text, pattern), "{text:?} like {pattern:?}");
        }
        for (text, pattern) in [
            ("abc", "ab"),
            ("abc", "abc "),
            ("abc", "_"),
            ("abc", "[^a]bc"),
            ("a[b", "a[b"),
            ("a", "[]"),
            ("", "_"),
            ("cot\u{E9}", "cote"),
        ] {
            assert!(!like(text, pattern), "{text:?} not like {pattern:?}");
        }
    }

    #[test]
    fn escape_makes_a_wildcard_plain_and_must_be_one_character() {
        let like = |text: &str, pattern: &str, escape| {
            LikePattern::new(pattern, Some(escape), Collation::DEFAULT, false)
                .map(|pattern| pattern.matches(text))
        };
        assert_eq!(like("50%", "50!%", "!"), Ok(true));
        assert_eq!(like("50x", "50!%", "!"), Ok(false));
        assert_eq!(like("a_b", "a\\_b", "\\"), Ok(true));
        assert_eq!(like("]", "[!]]", "!"), Ok(true));
        let error = like("a", "a", "xy").unwrap_err();
        assert_eq!(
            error.text,
            "The invalid escape character \"xy\" was specified in a LIKE predicate."
        );
    }

    #[test]
    fn the_collation_decides_about_case_accents_and_ranges() {
        let like = |text: &str, pattern: &str, collation: &str| {
            let collation = Collation::from_name(collation).unwrap();
            LikePattern::new(pattern, None, collation, true)
                .unwrap()
                .matches(text)
        };
        assert!(!like("ABC", "abc", "Latin1_General_CS_AS"));
        assert!(like("cot\u{E9}", "COTE", "Latin1_General_CI_AI"));
        // In dictionary order all but the first upper-case letter lie between a and z.
        assert!(like("B", "[a-z]", "Latin1_General_CS_AS"));
        assert!(!like("B", "[a-z]", "Latin1_General_BIN2"));
        assert!(!like("abc ", "abc", "Latin1_General_CI_AS"));
    }

    #[test]
    fn positions_count_units_from_one() {
        let at = |text: &str, pattern: &str| {
            LikePattern::new(pattern, None, Collation::DEFAULT, false)
                .unwrap()
                .position(text)
        };
        assert_eq!(at("interesting data", "%ter%"), 3);
        assert_eq!(at("please ensure the door is locked!", "%en_ure%"), 8);
        assert_eq!(at("abc", "abc"), 1);
        assert_eq!(at("abc", "b%"), 0);
        assert_eq!(at("abc", "%c"), 3);
        assert_eq!(at("abc", "%[0-9]%"), 0);
        assert_eq!(at("abc", "%"), 1);
    }

    #[test]
    fn bytes_match_as_their_text_does() {
        let texts = [
            "",
            "a",
            "abc",
            "ABC ",
            "xaayab",
            "5%",
            "na\u{EF}ve",
            "\u{20AC}",
            "a]b",
            "  ",
        ];
        let patterns = [
            "",
            "%",
            "a%",
            "%c",
            "ab%",
            "%a_ab%",
            "[a-c]%",
            "na_ve",
            "NA\u{CF}VE",
            "\u{20AC}",
            "abc ",
            "_",
            "%%b",
        ];
        for collation in [
            "SQL_Latin1_General_CP1_CI_AS",
            "Latin1_General_BIN2",
            "Latin1_General_CI_AI",
        ] {
            let collation = Collation::from_name(collation).unwrap();
            for pattern in patterns {
                let compiled = LikePattern::new(pattern, None, collation, false).unwrap();
                let of_bytes = compiled.of_bytes().unwrap();
                for text in texts {
                    let mut bytes = Vec::new();
                    furrow_types::encode_1252(text, &mut bytes);
                    let by_text = compiled.matches(text);
                    assert_eq!(
                        of_bytes.matches(&bytes),
                        by_text,
                        "{text:?} like {pattern:?}"
                    );
                }
            }
        }
        let unicode = LikePattern::new("a", None, Collation::DEFAULT, true).unwrap();
        assert!(unicode.of_bytes().is_none());
    }

    #[test]
    fn what_follows_a_wildcard_is_found_as_if_every_place_had_been_tried() {
        let pieces = [
            "a", "B", "\u{E9}", "e", " ", "_", "%", "%", "%", "%", "[ab]", "[^a]", "ss",
        ];
        let letters = ["a", "b", "A", "\u{C9}", "e", " ", "s"];
        let mut state = 0x9E37_79B9_7F4A_7C15u64;
        let mut draw = |below: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 33) as usize % below
        };
        let mut found = 0;
        for collation in ["SQL_Latin1_General_CP1_CI_AS", "Latin1_General_CI_AI"] {
            let collation = Collation::from_name(collation).unwrap();
            for _ in 0..4000 {
                let pattern: String = (0..draw(7)).map(|_| pieces[draw(pieces.len())]).collect();
                let text: String = (0..draw(60))
                    .map(|_| letters[draw(letters.len())])
                    .collect();
                let compiled = LikePattern::new(&pattern, None, collation, false).unwrap();
                let mut bytes = Vec::new();
                furrow_types::encode_1252(&text, &mut bytes);
                let by_text = compiled.matches(&text);
                let by_bytes = compiled.of_bytes().unwrap().matches(&bytes);
                assert_eq!(by_bytes, by_text, "{text:?} like {pattern:?}");
                found += usize::from(by_text);
            }
        }
        assert!((400..7600).contains(&found), "{found} of 8000 match");
    }

    #[test]
    fn long_patterns_of_wildcards_take_no_exponential_time() {
        let text = "a".repeat(4000);
        let pattern = format!("{}b", "%a".repeat(200));
        assert!(!like(&text, &pattern));
    }

    #[test]
    fn only_text_and_what_becomes_text_can_be_like_something() {
        assert!(bind_like(&operand("int"), &operand("varchar(5)")).is_ok());
        let error = bind_like(&operand("image"), &operand("varchar(5)")).unwrap_err();
        assert_eq!(
            error.text,
            "Argument data type image is invalid for argument 1 of like function."
        );
    }
}
