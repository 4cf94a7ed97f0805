//! Limits for result texts: how long they may become, and whether there is memory for them.
//!
//! Functions that join, repeat and replace calculate the length of their result before they create it. A
//! value has at most 2^31-1 bytes, as SQL Server counts them (7119). Memory that cannot be allocated ends the
//! statement (701) and not the process.

use crate::error::{SqlResult, message};
use crate::text::units;
use furrow_messages::Message;
use furrow_observe::task;
use furrow_types::{encode_1252, encode_utf16};

/// Bytes that a value may have.
const MOST_BYTES: usize = 0x7FFF_FFFF;

#[cfg(test)]
thread_local! {
    static TESTED: std::cell::Cell<usize> = const { std::cell::Cell::new(MOST_BYTES) };
}

/// Runs a test whose values may have so many bytes.
#[cfg(test)]
pub(crate) fn limited<T>(most: usize, test: impl FnOnce() -> T) -> T {
    let before = TESTED.replace(most);
    let result = test();
    TESTED.set(before);
    result
}

fn most_bytes() -> usize {
    #[cfg(test)]
    return TESTED.get();
    #[cfg(not(test))]
    MOST_BYTES
}

/// 7119, for a text of more units than a value may have.
pub(crate) fn check_units(count: usize, unicode: bool) -> SqlResult<()> {
    check_bytes(count.saturating_mul(if unicode { 2 } else { 1 }))
}

/// 7119, for more bytes than a value may have.
pub(crate) fn check_bytes(bytes: usize) -> SqlResult<()> {
    let most = most_bytes();
    match bytes > most {
        true => Err(message(7119, &[most.into()])),
        false => Ok(()),
    }
}

/// 7119, for texts that are too long together.
pub(crate) fn check_texts<'t>(
    texts: impl Iterator<Item = &'t str> + Clone,
    unicode: bool,
) -> SqlResult<()> {
    // No text has more units than bytes of UTF-8: only where these are many the units are counted.
    let all: usize = texts.clone().map(str::len).sum();
    if all <= most_bytes() / 2 {
        return Ok(());
    }
    check_units(texts.map(|text| units(text, unicode)).sum(), unicode)
}

/// An empty text with memory for so many bytes of UTF-8 (701).
pub(crate) fn text(bytes: usize) -> SqlResult<String> {
    let mut text = String::new();
    match text.try_reserve_exact(bytes) {
        Ok(()) => Ok(text),
        Err(_) => Err(no_memory()),
    }
}

/// Reserves memory for so many bytes more (701).
pub(crate) fn more(text: &mut String, bytes: usize) -> SqlResult<()> {
    text.try_reserve(bytes).map_err(|_| no_memory())
}

/// An empty list with memory for so many items (701).
pub(crate) fn list<T>(count: usize) -> SqlResult<Vec<T>> {
    let mut list = Vec::new();
    match list.try_reserve_exact(count) {
        Ok(()) => Ok(list),
        Err(_) => Err(no_memory()),
    }
}

/// Reserves memory in a list for so many items more (701).
pub(crate) fn more_of<T>(list: &mut Vec<T>, count: usize) -> SqlResult<()> {
    list.try_reserve(count).map_err(|_| no_memory())
}

/// 701.
#[cold]
fn no_memory() -> Message {
    message(701, &["default".into()])
}

/// Texts one behind the other.
pub(crate) fn joined<'t>(
    texts: impl Iterator<Item = &'t str> + Clone,
    unicode: bool,
) -> SqlResult<String> {
    check_texts(texts.clone(), unicode)?;
    let mut out = text(texts.clone().map(str::len).sum())?;
    texts.flat_map(parts).for_each(|part| out.push_str(part));
    Ok(out)
}

/// Texts and byte strings from this length on are worked on in pieces.
pub(crate) const LONG_BYTES: usize = 1 << 20;

/// The pieces of a text, up to the one at which the statement is cancelled.
pub(crate) fn parts(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() || (rest.len() < text.len() && task::is_cancelled()) {
            return None;
        }
        let mut end = rest.len().min(LONG_BYTES);
        while !rest.is_char_boundary(end) {
            end -= 1;
        }
        let (part, behind) = rest.split_at(end);
        rest = behind;
        Some(part)
    })
}

/// The pieces of a byte string, up to the one at which the statement is cancelled.
pub(crate) fn pieces(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut is_first = true;
    bytes
        .chunks(LONG_BYTES)
        .take_while(move |_| std::mem::take(&mut is_first) || !task::is_cancelled())
}

/// The bytes of a text: UTF-16, or of the code page.
pub(crate) fn encoded(text: &str, unicode: bool) -> SqlResult<Vec<u8>> {
    let mut bytes = list(if unicode { text.len() * 2 } else { text.len() })?;
    for part in parts(text) {
        match unicode {
            true => encode_utf16(part, &mut bytes),
            false => encode_1252(part, &mut bytes),
        }
    }
    Ok(bytes)
}

/// The text of UTF-16 units.
pub(crate) fn from_utf16(units: &[u16]) -> SqlResult<String> {
    let chars = char::decode_utf16(units.iter().copied());
    let chars = chars.map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER));
    // A unit of ASCII takes a byte, others more.
    collected(units.len(), chars)
}

/// The text of characters that take about so many bytes (701).
pub(crate) fn collected(bytes: usize, chars: impl Iterator<Item = char>) -> SqlResult<String> {
    let mut out = text(bytes)?;
    for c in chars.map_while(polled()) {
        if out.capacity() - out.len() < c.len_utf8() {
            more(&mut out, c.len_utf8())?;
        }
        out.push(c);
    }
    Ok(out)
}

/// Items that pass between two looks whether the statement is to end.
const CHECK_ITEMS: usize = 1 << 20;

/// For `map_while`: passes items on until the statement is cancelled. The result is not used then.
pub(crate) fn polled<T>() -> impl FnMut(T) -> Option<T> {
    let mut passed = 0_usize;
    move |item| {
        passed += 1;
        let ends = passed.is_multiple_of(CHECK_ITEMS) && task::is_cancelled();
        (!ends).then_some(item)
    }
}

/// A text as often as that.
pub(crate) fn repeated(part: &str, times: usize, unicode: bool) -> SqlResult<String> {
    check_units(units(part, unicode).saturating_mul(times), unicode)?;
    let length = part.len().saturating_mul(times);
    let mut out = text(length)?;
    if part.len() >= LONG_BYTES {
        let all = (0..times).flat_map(|_| parts(part));
        all.map_while(|part| (!task::is_cancelled()).then_some(part))
            .for_each(|part| out.push_str(part));
        return Ok(out);
    }
    if length > 0 {
        out.push_str(part);
    }
    // Pieces of whole parts: characters stay whole.
    let most = LONG_BYTES / part.len().max(1) * part.len();
    while out.len() < length && (out.len() < LONG_BYTES || !task::is_cancelled()) {
        out.extend_from_within(..out.len().min(length - out.len()).min(most));
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_is_counted_in_bytes_of_sql_server() {
        limited(6, || {
            let e = ["\u{20AC}\u{20AC}", "\u{20AC}"];
            assert_eq!(joined(e.iter().copied(), false).unwrap().len(), 9);
            assert_eq!(joined(e.iter().copied(), true).unwrap().len(), 9);
            let more = ["\u{20AC}\u{20AC}", "ab"];
            assert!(joined(more.iter().copied(), false).is_ok());
            let error = joined(more.iter().copied(), true).unwrap_err();
            assert_eq!(error.number, 7119);
            assert!(error.text.contains("size of 6 bytes"), "{}", error.text);
            assert_eq!(repeated("ab", 3, false).unwrap(), "ababab");
            assert_eq!(repeated("ab", 0, false).unwrap(), "");
            assert_eq!(repeated("", usize::MAX, false).unwrap(), "");
            assert_eq!(repeated("abc", usize::MAX, true).unwrap_err().number, 7119);
        });
    }

    #[test]
    fn memory_that_is_not_to_be_had_ends_the_statement() {
        assert_eq!(text(usize::MAX).unwrap_err().number, 701);
        assert_eq!(list::<u16>(usize::MAX).unwrap_err().number, 701);
    }
}
