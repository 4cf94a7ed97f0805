//! Names of objects in arguments of functions, procedures and DBCC commands.

/// Schema and name of an object in a text: `[a].[b]`, `db.a.b`; `b` alone is in `dbo`.
pub(crate) fn split_name(text: &str) -> (String, String) {
    let mut parts = parts_of(text);
    let name = parts.pop().unwrap_or_default();
    let schema = parts.pop().filter(|s| !s.is_empty());
    (schema.unwrap_or_else(|| "dbo".to_owned()), name)
}

/// The parts of a name in a text, without their brackets or quotes.
pub fn parts_of(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut closing = None;
    let mut chars = text.trim().chars().peekable();
    while let Some(c) = chars.next() {
        match (closing, c) {
            (Some(end), c) if c == end => match chars.next_if_eq(&end) {
                Some(doubled) => push(&mut parts, doubled),
                None => closing = None,
            },
            (None, '[') => closing = Some(']'),
            (None, '"') => closing = Some('"'),
            (None, '.') => parts.push(String::new()),
            (_, c) => push(&mut parts, c),
        }
    }
    parts
}

fn push(parts: &mut [String], c: char) {
    if let Some(last) = parts.last_mut() {
        last.push(c);
    }
}
