//! Checks a value against a JSON Schema: supports the keywords that the schema uses, and refuses any other.

use serde_json::Value;

/// Keywords that do not affect validity.
const SAYS_NOTHING: &[&str] = &[
    "$schema",
    "$defs",
    "title",
    "description",
    "format",
    "default",
];

/// Every offence, with its place. Fields that are missing in the schema are offences too.
pub(crate) fn offences(root: &Value, value: &Value) -> Vec<String> {
    let mut list = Vec::new();
    check(root, root, value, "$", &mut list);
    list
}

fn is_type(name: &str, value: &Value) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        other => panic!("unknown type {other}"),
    }
}

fn check(root: &Value, schema: &Value, value: &Value, path: &str, out: &mut Vec<String>) {
    let Some(words) = schema.as_object() else {
        assert_eq!(schema, &Value::Bool(true), "{path}");
        return;
    };
    for (word, rule) in words {
        match word.as_str() {
            "type" => {
                let names = rule
                    .as_array()
                    .cloned()
                    .unwrap_or_else(|| vec![rule.clone()]);
                if !names
                    .iter()
                    .any(|name| is_type(name.as_str().unwrap(), value))
                {
                    out.push(format!("{path}: {value} is no {rule}"));
                }
            }
            "$ref" => {
                let pointer = rule.as_str().unwrap().strip_prefix('#').unwrap();
                check(root, root.pointer(pointer).unwrap(), value, path, out);
            }
            "const" if rule != value => out.push(format!("{path}: {value} is not {rule}")),
            "enum" if !rule.as_array().unwrap().contains(value) => {
                out.push(format!("{path}: {value} is none of {rule}"));
            }
            "const" | "enum" => {}
            "minimum" => {
                if value.as_f64().is_some_and(|v| v < rule.as_f64().unwrap()) {
                    out.push(format!("{path}: {value} is below {rule}"));
                }
            }
            "maximum" => {
                if value.as_f64().is_some_and(|v| v > rule.as_f64().unwrap()) {
                    out.push(format!("{path}: {value} is above {rule}"));
                }
            }
            "oneOf" | "anyOf" => branches(root, (word, rule), value, path, out),
            "properties" | "required" | "additionalProperties" => {}
            "items" | "prefixItems" | "minItems" | "maxItems" => {}
            known if SAYS_NOTHING.contains(&known) => {}
            other => panic!("{path}: the validator does not support the keyword {other:?}"),
        }
    }
    object(root, schema, value, path, out);
    array(root, schema, value, path, out);
}

fn branches(
    root: &Value,
    (word, rule): (&str, &Value),
    value: &Value,
    path: &str,
    out: &mut Vec<String>,
) {
    let fits = |schema: &&Value| {
        let mut list = Vec::new();
        check(root, schema, value, path, &mut list);
        list.is_empty()
    };
    let found = rule.as_array().unwrap().iter().filter(fits).count();
    if found == 0 || (word == "oneOf" && found > 1) {
        out.push(format!("{path}: {value} fits {found} of {word}"));
    }
}

fn object(root: &Value, schema: &Value, value: &Value, path: &str, out: &mut Vec<String>) {
    let Some(fields) = value.as_object() else {
        return;
    };
    for name in schema["required"].as_array().into_iter().flatten() {
        if !fields.contains_key(name.as_str().unwrap()) {
            out.push(format!("{path}: {name} is missing"));
        }
    }
    let more = &schema["additionalProperties"];
    if schema["properties"].is_null() && more.is_null() {
        return;
    }
    for (name, field) in fields {
        let rule = &schema["properties"][name];
        match [rule, more].into_iter().find(|rule| rule.is_object()) {
            Some(rule) => check(root, rule, field, &format!("{path}.{name}"), out),
            None => out.push(format!("{path}: {name} is not in the schema")),
        }
    }
}

fn array(root: &Value, schema: &Value, value: &Value, path: &str, out: &mut Vec<String>) {
    let Some(entries) = value.as_array() else {
        return;
    };
    let count = |word: &str| schema[word].as_u64().map(|n| n as usize);
    if count("minItems").is_some_and(|least| entries.len() < least)
        || count("maxItems").is_some_and(|most| entries.len() > most)
    {
        out.push(format!("{path}: {} entries", entries.len()));
    }
    let first = schema["prefixItems"].as_array();
    for (at, entry) in entries.iter().enumerate() {
        let rule = first
            .and_then(|rules| rules.get(at))
            .unwrap_or(&schema["items"]);
        if !rule.is_null() {
            check(root, rule, entry, &format!("{path}[{at}]"), out);
        }
    }
}
