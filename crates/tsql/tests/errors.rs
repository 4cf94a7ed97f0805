//! Errors of texts that golden scripts cannot hold: what does not end takes the rest of a script with it.

use furrow_tsql::{LineIndex, Options, Position, parse};

/// Number, state and line of each error, and its message.
fn errors(text: &str) -> Vec<(u32, u8, u32, String)> {
    let errors = parse(text, Options::default()).err().unwrap_or_default();
    let one = |e: furrow_tsql::SyntaxError| (e.number, e.state, e.line, e.message);
    errors.into_iter().map(one).collect()
}

fn numbers(text: &str) -> Vec<(u32, u32)> {
    errors(text).into_iter().map(|e| (e.0, e.2)).collect()
}

#[test]
fn an_unclosed_string_names_its_opening_line_and_is_met_twice() {
    let expected = vec![
        (
            105,
            1,
            2,
            "Unclosed quotation mark after the character string 'abc\n'.".to_string(),
        ),
        (102, 1, 2, "Incorrect syntax near 'abc\n'.".to_string()),
    ];
    assert_eq!(errors("SELECT\n'abc\n"), expected);
}

#[test]
fn an_apostrophe_in_a_string_breaks_it_and_leaves_another_open() {
    let found = errors("SELECT * FROM t WHERE n = 'O'Brien'");
    let messages: Vec<&str> = found.iter().map(|e| e.3.as_str()).collect();
    let expected = [
        "Incorrect syntax near 'Brien'.",
        "Unclosed quotation mark after the character string ''.",
    ];
    assert_eq!(messages, expected);
}

#[test]
fn an_unclosed_identifier_is_an_unclosed_quotation_mark() {
    assert_eq!(numbers("SELECT [abc"), [(105, 1), (102, 1)]);
    assert_eq!(numbers("SELECT \"abc"), [(105, 1), (102, 1)]);
}

#[test]
fn an_unclosed_comment_names_the_last_line() {
    assert_eq!(numbers("SELECT 1 /* a\n\nb"), [(113, 3)]);
    assert_eq!(numbers("SELECT 1 /* a /* b */"), [(113, 1)]);
    assert_eq!(numbers("SELECT FROM t /* a\n"), [(156, 1), (113, 2)]);
}

#[test]
fn a_syntax_error_names_the_line_of_the_token_at_fault() {
    assert_eq!(numbers("SELECT a\nFROM t\nWHERE\n\n= 1"), [(102, 5)]);
    assert_eq!(
        numbers("CREATE PROC p AS\nSELECT 1\nSELECT FROM"),
        [(156, 3)]
    );
    assert_eq!(numbers("/* one\ntwo */ SELECT 'a\nb' FROM\n"), [(102, 3)]);
}

#[test]
fn more_than_a_thousand_rows_are_refused() {
    let rows = |n: usize| format!("INSERT t VALUES (1){}", ", (1)".repeat(n - 1));
    assert_eq!(numbers(&rows(1_000)), []);
    assert_eq!(numbers(&rows(1_001)), [(10738, 1)]);
}

#[test]
fn lines_and_columns_count_characters() {
    let text = "a\n\u{e4}\u{20ac}b\n";
    let index = LineIndex::new(text);
    let at = |offset| {
        let Position { line, column } = index.position(offset);
        (line, column)
    };
    assert_eq!(
        (at(0), at(1), at(2), at(7)),
        ((1, 1), (1, 2), (2, 1), (2, 3))
    );
    assert_eq!((at(3), at(99)), ((2, 1), (3, 1)));
}

#[test]
fn quoted_identifier_off_makes_strings_of_double_quotes() {
    let options = Options {
        quoted_identifier: false,
    };
    let tree = parse("SELECT \"it\"\"s\"", options).unwrap_or_default();
    assert!(
        format!("{tree:?}").contains("String(\"it\\\"s\")"),
        "{tree:?}"
    );
    assert!(parse("SELECT a FROM \"t\"", options).is_err());
}

#[test]
fn clauses_of_merge_exclude_each_other() {
    let merge = |clauses: &str| numbers(&format!("MERGE t USING s ON t.a = s.a\n{clauses};"));
    let (update, delete) = ("THEN UPDATE SET a = 1", "THEN DELETE");
    assert_eq!(
        merge(&format!(
            "WHEN MATCHED AND 1 = 1 {delete} WHEN MATCHED {update}"
        )),
        []
    );
    assert_eq!(
        merge(&format!(
            "WHEN MATCHED AND 1 = 1 {update}\nWHEN MATCHED {update}"
        )),
        [(10_714, 3)]
    );
    assert_eq!(
        merge(&format!("WHEN MATCHED {delete}\nWHEN MATCHED {update}")),
        [(5324, 3)]
    );
    let insert = "THEN INSERT VALUES (1)";
    assert_eq!(
        merge(&format!(
            "WHEN NOT MATCHED AND 1 = 1 {insert}\nWHEN NOT MATCHED {insert}"
        )),
        [(10_714, 3)]
    );
}

#[test]
fn constraints_have_no_subqueries() {
    for constraint in [
        "CHECK ((SELECT 1) = a)",
        "CHECK (a IN (SELECT 1))",
        "CHECK (EXISTS (SELECT 1))",
        "DEFAULT (SELECT 1)",
    ] {
        let text = format!("CREATE TABLE t (a int {constraint})");
        assert_eq!(numbers(&text), [(1046, 1)], "{constraint}");
    }
}

#[test]
fn the_old_outer_join_is_refused() {
    let found = errors("SELECT * FROM a, b WHERE a.id*=b.id");
    let messages: Vec<&str> = found.iter().map(|e| e.3.as_str()).collect();
    assert_eq!(messages, ["Incorrect syntax near '*='."]);
}
