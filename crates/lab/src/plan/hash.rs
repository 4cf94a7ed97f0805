//! Canonical JSON and its hash.

use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fmt::Write;

/// JSON with sorted keys and no blanks; empty when the value has no JSON form.
pub fn canonical_json<T: Serialize>(value: &T) -> String {
    let mut text = String::new();
    if let Ok(value) = serde_json::to_value(value) {
        write_canonical(&value, &mut text);
    }
    text
}

/// Keys are sorted here, whatever map the library was built with.
fn write_canonical(value: &Value, text: &mut String) {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<(&String, &Value)> = map.iter().collect();
            entries.sort_by_key(|entry| entry.0);
            text.push('{');
            for (i, (key, value)) in entries.into_iter().enumerate() {
                if i > 0 {
                    text.push(',');
                }
                text.push_str(&Value::String(key.clone()).to_string());
                text.push(':');
                write_canonical(value, text);
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    text.push(',');
                }
                write_canonical(item, text);
            }
            text.push(']');
        }
        plain => text.push_str(&plain.to_string()),
    }
}

pub(super) fn sha256_hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .fold(String::with_capacity(64), |mut text, byte| {
            // Writing to a string cannot fail.
            let _ = write!(text, "{byte:02x}");
            text
        })
}

#[cfg(test)]
mod tests {
    use super::super::tests::datafiles;
    use super::*;
    use crate::plan::Plan;

    #[test]
    fn keys_are_sorted_and_text_is_escaped() {
        let value: Value =
            serde_json::from_str(r#"{"b":[1,2.5,"x\"y"],"a":{"d":null,"c":true}}"#).unwrap();
        assert_eq!(
            canonical_json(&value),
            r#"{"a":{"c":true,"d":null},"b":[1,2.5,"x\"y"]}"#
        );
    }

    #[test]
    fn the_hash_is_sha256() {
        assert_eq!(
            sha256_hex(b"abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }

    #[test]
    fn a_plan_read_back_has_the_same_hash_and_a_changed_one_another() {
        let mut plan = datafiles();
        plan.delta = 0.1 + 0.2;
        let back: Plan = serde_json::from_str(&serde_json::to_string(&plan).unwrap()).unwrap();
        assert_eq!(back, plan);
        assert_eq!(back.hash(), plan.hash());
        let mut other = plan.clone();
        other.delta = 0.3;
        assert_ne!(other.hash(), plan.hash());
    }
}
