//! `+` on strings and byte strings.

use furrow_types::Value;

use super::arithmetic::{BoundBinary, incompatible_values};
use crate::error::SqlResult;
use crate::room;
use crate::text::cut;

pub(super) fn join(bound: &BoundBinary, a: &Value, b: &Value) -> SqlResult<Value> {
    let (Some(a), Some(b)) = (a.as_str(), b.as_str()) else {
        return Err(incompatible_values(bound));
    };
    let unicode = bound.result.id.is_unicode();
    let mut joined = room::joined([a, b].into_iter(), unicode)?;
    if !bound.result.is_max() {
        let bytes = usize::from(bound.result.length.max(0).unsigned_abs());
        cut(
            &mut joined,
            if unicode { bytes / 2 } else { bytes },
            unicode,
        );
    }
    Ok(crate::text::value(joined, unicode))
}

pub(super) fn join_bytes(bound: &BoundBinary, a: &Value, b: &Value) -> SqlResult<Value> {
    let (Some(a), Some(b)) = (a.as_bytes(), b.as_bytes()) else {
        return Err(incompatible_values(bound));
    };
    let length = a.len() + b.len();
    room::check_bytes(length)?;
    let mut joined = room::list(length)?;
    joined.extend_from_slice(a);
    joined.extend_from_slice(b);
    if !bound.result.is_max() {
        joined.truncate(usize::from(bound.result.length.max(0).unsigned_abs()));
    }
    Ok(Value::Binary(joined))
}
