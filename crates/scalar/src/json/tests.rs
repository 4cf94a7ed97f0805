//! JSON text by examples: SQL Server's results, from the notes that research file 0.1 calls probe25 and the
//! documentation of the functions.

use super::*;
use crate::SqlResult;

fn path(text: &str) -> Path {
    Path::parse(text, true).unwrap()
}

fn value(text: &str, way: &str) -> String {
    match find(text, &path(way).steps) {
        Ok(Some(node)) => match node.scalar(text) {
            Some(scalar) => scalar.into_owned(),
            None => format!("{:?}", node.kind),
        },
        Ok(None) => "nothing".to_owned(),
        Err(bad) => bad.message(text, 1).text,
    }
}

fn text_of(result: SqlResult<String>) -> String {
    result.unwrap_or_else(|error| format!("{} {}", error.number, error.state))
}

#[test]
fn a_value_is_found_and_what_stands_behind_it_is_not_read() {
    assert_eq!(value(r#"{"a":1}extra"#, "$.a"), "1");
    assert_eq!(value(r#"{"a":1"#, "$.a"), "1");
    assert_eq!(
        value(r#"{"a":{"b":[10, 1.50e2]}}"#, "lax $.a.b[1]"),
        "1.50e2"
    );
    assert_eq!(value(r#"{"a b":true}"#, r#"$."a b""#), "true");
    assert_eq!(
        value(r#"{"a":"x\"\u00e9\ud83d\ude00\/\n"}"#, "$.a"),
        "x\"\u{e9}\u{1f600}/\n"
    );
    assert_eq!(value(r#"{"a":"\ud83dx"}"#, "$.a"), "\u{fffd}x");
    assert_eq!(value(r#"{"a":{"z":1},"a":2}"#, "$.a"), "Object");
    assert_eq!(value(r#"{"A":1}"#, "$.a"), "nothing");
    assert_eq!(value("[1,2]", "$[2]"), "nothing");
    assert_eq!(value(r#"{"a":null}"#, "$.a"), "Null");
}

#[test]
fn a_text_that_is_no_json_is_refused_at_the_character_where_it_stops_being_some() {
    let bad = |c, at| {
        format!(
            "JSON text is not properly formatted. Unexpected character '{c}' is found at position {at}."
        )
    };
    for (text, c, at) in [
        ("", '.', 0),
        ("1", '1', 0),
        ("\"abc\"", '"', 0),
        (r#"{"b":1x}"#, '1', 5),
        (r#"{"b":01}"#, '0', 5),
        (r#"{"b":"x}"#, '"', 5),
        (r#"{"b":1"#, '.', 6),
        ("{x}", 'x', 1),
        (r#"{"b":1}extra"#, 'e', 7),
        ("{\"b\":\"\u{1f600}\",]}", ']', 10),
        (r#"{"b":{"c":1}"#, '.', 12),
    ] {
        assert_eq!(value(text, "$.a"), bad(c, at), "{text}");
        assert!(!is_json(text), "{text}");
    }
    // An object has no elements, whatever stands behind its first member.
    assert_eq!(value(r#"{"a":1"#, "$[0]"), "nothing");
    assert_eq!(value("{x}", "$[0]"), bad('x', 1));
}

#[test]
fn whole_documents_are_json_or_not() {
    for text in ["{}", " [ ] ", r#"{"a":[{},-0.5E+3,null,true,"\\"],"a":1}"#] {
        assert!(is_json(text), "{text}");
    }
    for text in [
        "true", "[1,]", "{,}", r#"{"a"}"#, "{a:1}", "[1 2]", "[+1]", "[1.]", "[\"\t\"]", "[NULL]",
    ] {
        assert!(!is_json(text), "{text}");
    }
    let nested = |deep| "[".repeat(deep) + &"]".repeat(deep);
    assert!(is_json(&nested(128)));
    assert_eq!(find(&nested(100_000), &[]), Err(Bad::Deep));
}

#[test]
fn paths_that_are_none_are_refused_where_they_stop_being_some() {
    let state = |text| {
        let error = Path::parse(text, false).unwrap_err();
        (error.number, error.state, error.text)
    };
    let text = |c, at| {
        format!(
            "JSON path is not properly formatted. Unexpected character '{c}' is found at position {at}."
        )
    };
    assert_eq!(state("a"), (13607, 22, text('a', 0)));
    assert_eq!(state("loose $.a"), (13607, 22, text('l', 0)));
    assert_eq!(state(""), (13607, 14, text('.', 0)));
    assert_eq!(state("$."), (13607, 14, text('.', 2)));
    assert_eq!(state("$[a]"), (13607, 21, text('a', 2)));
    assert_eq!(state("$[-1]"), (13607, 21, text('-', 2)));
    assert_eq!(state("$.first-name"), (13607, 14, text('-', 7)));
    assert_eq!(state("append $.a").1, 22);
    let strict = Path::parse("strict$.a[3].\"b\"\"\"", false).unwrap();
    let keys = [
        Step::Key("a".into()),
        Step::Index(3),
        Step::Key("b\"".into()),
    ];
    assert_eq!(
        (strict.strict, strict.steps.as_slice()),
        (true, keys.as_slice())
    );
}

#[test]
fn json_modify_changes_one_place_and_leaves_the_rest_as_it_is_written() {
    let edit = |text, way, new| text_of(modify(text, &path(way), new));
    for (text, way, new, after) in [
        ("  {\"a\" : 1}  ", "$.a", Some("2"), "  {\"a\" : 2}  "),
        ("{ \"a\" : 1 }", "$.b", Some("2"), "{ \"a\" : 1 ,\"b\":2}"),
        ("{}", "$.\"caf\u{e9}/\"", Some("1"), "{\"caf\u{e9}/\":1}"),
        (r#"{"a":1,"a":2}"#, "$.a", Some("9"), r#"{"a":9,"a":2}"#),
        (r#"{"a":1 , "b":2}"#, "$.b", None, r#"{"a":1 }"#),
        (r#"{ "a":1 , "b":2}"#, "$.a", None, r#"{  "b":2}"#),
        (r#"{"a":1}"#, "$.a", None, "{}"),
        (r#"{"a":1}"#, "strict $.a", None, r#"{"a":null}"#),
        ("[1,2,3]", "$[1]", None, "[1,null,3]"),
        ("[1,2,3]", "$[3]", Some("4"), "[1,2,3]"),
        ("{}", "$.x.y", Some("1"), "{}"),
        ("{}", "$.x", None, "{}"),
        ("[1,2", "$.a", Some("1"), "[1,2"),
        ("[1,2]", "append $", Some("3"), "[1,2,3]"),
        (r#"{"a":[ ]}"#, "append lax $.a", Some("1"), r#"{"a":[ 1]}"#),
        (r#"{"b":1}"#, "append $.a", None, r#"{"b":1,"a":[null]}"#),
        (r#"{"b":1}"#, "append $.b", Some("1"), r#"{"b":1}"#),
        (r#"{"b":1}"#, "append strict $.b", Some("1"), "13621 1"),
        ("{}", "strict $.a", Some("1"), "13608 2"),
        ("{}", "$", Some("1"), "13619 1"),
        (r#"{"a":1}extra"#, "$.a", Some("2"), "13609 7"),
    ] {
        assert_eq!(edit(text, way, new), after, "{text} {way}");
    }
}

#[test]
fn members_come_with_their_keys_until_the_text_is_broken() {
    let text = r#"{"a":1,"b":[2],"a":x}"#;
    let root = Node {
        kind: Kind::Object,
        start: 0,
        end: text.len(),
    };
    let mut all = Members::of(text, &root);
    let mut next = || {
        all.next()
            .map(|m| m.map(|(key, node)| (key.unwrap().text(text), node.text(text))))
    };
    assert_eq!(next(), Some(Ok(("\"a\"", "1"))));
    assert_eq!(next(), Some(Ok(("\"b\"", "[2]"))));
    assert_eq!(next(), Some(Err(Bad::At(19))));
    assert_eq!(next(), None);
}
