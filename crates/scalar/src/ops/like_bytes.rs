//! LIKE over text in code page 1252, whose bytes are compared as they lie.
//!
//! Where `%` is followed by characters, the places where those may begin are looked for many bytes at a time:
//! one character by `memchr`, several by the packed search (Teddy) of `aho_corasick`, for every spelling
//! that the collation takes for the same.

use super::like::{Item, LikePattern};
use aho_corasick::packed::{Config, MatchKind, Searcher};
use furrow_types::{character_weight, decode_1252};

/// So many characters of those that follow `%` are looked for at once, and so many spellings of them at most.
const MOST_BYTES: usize = 4;
const MOST_SPELLINGS: usize = 48;

/// A pattern for text in code page 1252.
#[derive(Debug, Clone)]
pub struct LikeBytes {
    pattern: LikePattern,
    /// The weight of each byte's character.
    weights: Box<[u32; 256]>,
    /// How many units it begins with.
    plain: usize,
    /// For each item: what finds the places where a text may have it and those behind it.
    seeks: Vec<Seek>,
}

/// Finds the next place at which a match may begin.
#[derive(Debug, Clone)]
enum Seek {
    /// Each place is.
    Every,
    /// One of up to three bytes.
    Byte(Vec<u8>),
    /// One of several sequences of bytes.
    Packed(Searcher),
}

impl Seek {
    /// For items that come after a `%`.
    fn of(items: &[Item], weights: &[u32; 256]) -> Seek {
        let spelt = |item: &Item| -> Option<Vec<u8>> {
            let of_weight = |byte: &u8| weights.get(usize::from(*byte));
            matches!(item, Item::Unit(_)).then(|| {
                let takes = |byte: &u8| of_weight(byte).is_some_and(|w| item.takes(*w));
                (0..=u8::MAX).filter(takes).collect()
            })
        };
        let mut all: Vec<Vec<u8>> = vec![Vec::new()];
        for bytes in items.iter().take(MOST_BYTES).map_while(spelt) {
            if all.len() * bytes.len() > MOST_SPELLINGS {
                break;
            }
            let longer = |one: &Vec<u8>| {
                let one = one.clone();
                let next = bytes.clone().into_iter();
                next.map(move |byte| [one.as_slice(), &[byte]].concat())
            };
            all = all.iter().flat_map(longer).collect();
        }
        match all.first().map_or(0, Vec::len) {
            0 => Seek::Every,
            1 if all.len() <= 3 => Seek::Byte(all.concat()),
            _ => {
                let mut builder = Config::new().match_kind(MatchKind::LeftmostFirst).builder();
                builder.extend(&all);
                // Not every processor has what this needs.
                builder.build().map_or(Seek::Every, Seek::Packed)
            }
        }
    }

    #[inline]
    fn next(&self, text: &[u8], from: usize) -> Option<usize> {
        let rest = text.get(from..)?;
        let found = match self {
            Seek::Every => return Some(from),
            Seek::Byte(bytes) => match bytes.as_slice() {
                [a] => memchr::memchr(*a, rest),
                [a, b] => memchr::memchr2(*a, *b, rest),
                [a, b, c] => memchr::memchr3(*a, *b, *c, rest),
                _ => return Some(from),
            },
            Seek::Packed(searcher) => searcher.find(rest).map(|found| found.start()),
        };
        found.map(|at| from + at)
    }
}

impl LikeBytes {
    /// The same as `pattern`, which compares no Unicode.
    pub(super) fn of(pattern: &LikePattern) -> LikeBytes {
        let mut weights = Box::new([0; 256]);
        for (byte, weight) in (0..=u8::MAX).zip(weights.iter_mut()) {
            let unit = decode_1252(&[byte]).encode_utf16().next();
            *weight = character_weight(unit.unwrap_or_default(), pattern.collation());
        }
        let items = pattern.items();
        let is_unit = |item: &&Item| matches!(item, Item::Unit(_));
        let after_any = |at: usize| at > 0 && items.get(at - 1) == Some(&Item::Any);
        let seek = |at: usize| match items.get(at..).filter(|_| after_any(at)) {
            Some(rest) => Seek::of(rest, &weights),
            None => Seek::Every,
        };
        LikeBytes {
            plain: items.iter().take_while(is_unit).count(),
            seeks: (0..=items.len()).map(seek).collect(),
            pattern: pattern.clone(),
            weights,
        }
    }

    /// Whether the whole text matches.
    #[inline]
    pub fn matches(&self, text: &[u8]) -> bool {
        let weight = |byte: u8| self.weights.get(usize::from(byte)).copied();
        let items = self.pattern.items();
        for (item, &byte) in items.iter().take(self.plain).zip(text) {
            if !weight(byte).is_some_and(|weight| item.takes(weight)) {
                return false;
            }
        }
        if text.len() >= self.plain && items.get(self.plain..) == Some(&[Item::Any]) {
            return true;
        }
        let at = |at: usize| text.get(at).and_then(|&byte| weight(byte));
        let seek = |item: usize, from: usize| match self.seeks.get(item) {
            Some(seek) => seek.next(text, from),
            None => Some(from),
        };
        let weight = |place| at(place).unwrap_or_default();
        self.pattern.matches_by(text.len(), weight, seek)
    }
}
