//! JSON_MODIFY: one place of a text changed, the rest left as it is written.

use super::path::{Path, Step};
use super::reader::{Bad, Kind, Node, Reader, quote, unescape, whole};
use crate::error::{SqlResult, message};

/// The states of 13609 and 13608 in JSON_MODIFY.
const BAD_TEXT: u8 = 7;
const NOT_FOUND: u8 = 2;

/// What a path leads to.
enum Place {
    /// A value.
    Value(Slot),
    /// An object that has no such member: where its bracket closes it, and whether it is empty.
    NoKey { close: usize, is_empty: bool },
    /// Nothing.
    Nothing,
    /// Nothing, and that was clear before the text was read.
    Settled,
}

/// A value and what has to go with it when it goes.
struct Slot {
    node: Node,
    /// Of a member of an object: where its key begins.
    key: Option<usize>,
    /// The comma before it.
    comma: Option<usize>,
}

fn locate(text: &str, steps: &[Step]) -> Result<Place, Bad> {
    let mut reader = Reader::open(text)?;
    let (mut key, mut comma) = (None, None);
    for (at, step) in steps.iter().enumerate() {
        match (reader.peek(), step) {
            (Some(b'{'), Step::Key(name)) => match member(&mut reader, text, name)? {
                Member::Found {
                    key: start,
                    comma: before,
                } => (key, comma) = (Some(start), before),
                Member::Missing { close, is_empty } => {
                    let is_last = at + 1 == steps.len();
                    return Ok(match is_last {
                        true => Place::NoKey { close, is_empty },
                        false => Place::Nothing,
                    });
                }
            },
            (Some(b'['), Step::Index(index)) => {
                if !reader.find_index(*index)? {
                    return Ok(Place::Nothing);
                }
                (key, comma) = (None, None);
            }
            (Some(bracket @ (b'{' | b'[')), _) => {
                return Ok(match reader.is_entered(bracket)? {
                    true => Place::Settled,
                    false => Place::Nothing,
                });
            }
            _ => return Ok(Place::Nothing),
        }
    }
    let node = reader.value()?;
    Ok(Place::Value(Slot { node, key, comma }))
}

enum Member {
    Found { key: usize, comma: Option<usize> },
    Missing { close: usize, is_empty: bool },
}

fn member(reader: &mut Reader<'_>, text: &str, name: &str) -> Result<Member, Bad> {
    reader.enter()?;
    let mut is_first = true;
    loop {
        reader.peek();
        let before = reader.at;
        match reader.next_member(is_first, b'}')? {
            None => {
                return Ok(Member::Missing {
                    close: before,
                    is_empty: is_first,
                });
            }
            Some(Some(key)) if unescape(key.text(text)) == name => {
                return Ok(Member::Found {
                    key: key.start,
                    comma: (!is_first).then_some(before),
                });
            }
            Some(_) => {
                reader.value()?;
                is_first = false;
            }
        }
    }
}

/// The text with a value at the end of a path, which is JSON itself; `None` is NULL: a lax path takes the
/// member out of its object then. A lax path to nothing leaves the text as it is, or makes the member.
pub fn modify(text: &str, path: &Path, new: Option<&str>) -> SqlResult<String> {
    if path.steps.is_empty() && !path.append {
        return Err(message(13619, &[]));
    }
    let unread = |bad: Bad| bad.message(text, BAD_TEXT);
    let place = locate(text, &path.steps).map_err(unread)?;
    if !matches!(place, Place::Settled) {
        whole(text).map_err(unread)?;
    }
    let edit = match place {
        Place::Value(slot) if path.append => {
            let edit = appended(text, &slot.node, new);
            if edit.is_none() && path.strict {
                return Err(message(13621, &[]));
            }
            edit
        }
        Place::Value(slot) => Some(replaced(text, &slot, path.strict, new)),
        Place::NoKey { close, is_empty } if !path.strict => made(path, close, is_empty, new),
        _ => None,
    };
    match edit {
        Some((from, to, put)) => {
            let before = text.get(..from).unwrap_or_default();
            let after = text.get(to..).unwrap_or_default();
            Ok([before, &put, after].concat())
        }
        None if path.strict => Err(message(13608, &[]).with_state(NOT_FOUND)),
        None => Ok(text.to_owned()),
    }
}

/// From where to where something else is put.
type Edit = (usize, usize, String);

/// One more element of an array; `None` where it is none.
fn appended(text: &str, node: &Node, new: Option<&str>) -> Option<Edit> {
    if node.kind != Kind::Array {
        return None;
    }
    let inner = text.get(node.start + 1..node.end - 1).unwrap_or_default();
    let comma = if inner.trim().is_empty() { "" } else { "," };
    let put = format!("{comma}{}", new.unwrap_or("null"));
    Some((node.end - 1, node.end - 1, put))
}

/// Another value in the place of one, or nothing in the place of a member.
fn replaced(text: &str, slot: &Slot, strict: bool, new: Option<&str>) -> Edit {
    let node = &slot.node;
    let (Some(key), None, false) = (slot.key, new, strict) else {
        let put = new.unwrap_or("null").to_owned();
        return (node.start, node.end, put);
    };
    match slot.comma {
        Some(comma) => (comma, node.end, String::new()),
        None => {
            let after = text.get(node.end..).unwrap_or_default();
            let blanks = after.len() - after.trim_start().len();
            let end = match after.trim_start().starts_with(',') {
                true => node.end + blanks + 1,
                false => node.end,
            };
            (key, end, String::new())
        }
    }
}

/// A new member of an object; `None` where NULL would be its value.
fn made(path: &Path, close: usize, is_empty: bool, new: Option<&str>) -> Option<Edit> {
    let Some(Step::Key(key)) = path.steps.last() else {
        return None;
    };
    let value = match path.append {
        true => format!("[{}]", new.unwrap_or("null")),
        false => new?.to_owned(),
    };
    let mut put = String::from(if is_empty { "\"" } else { ",\"" });
    quote(key, false, &mut put);
    put.push_str("\":");
    put.push_str(&value);
    Some((close, close, put))
}
