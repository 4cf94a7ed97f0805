//! Aggregates by golden values, and merged against not merged.

use super::*;
use crate::env::Settings;
use crate::testing::{data_type, operand};
use furrow_types::{Decimal, cast, parse_value};

fn values(of: &str, texts: &[&str]) -> Vec<Value> {
    let data_type = data_type(of);
    let value = |text: &&str| cast(&parse_value(&data_type, text).unwrap(), &data_type).unwrap();
    texts.iter().map(value).collect()
}

fn run(bound: &BoundAggregate, values: &[Value]) -> SqlResult<Value> {
    let mut all = bound.start();
    for value in values {
        let converted = match &bound.conversion {
            Some(convert) => convert.apply(value, &Settings::US_ENGLISH)?,
            None => value.clone(),
        };
        all.add(bound, &converted)?;
    }
    all.finish(bound)
}

fn result(name: &str, of: &str, texts: &[&str]) -> String {
    let bound = match resolve(find(name).unwrap(), Some(&operand(of))) {
        Ok(bound) => bound,
        Err(error) => return format!("{}: {}", error.number, error.text),
    };
    match run(&bound, &values(of, texts)) {
        Ok(value) => format!("{} {value}", bound.result),
        Err(error) => format!("{}: {}", error.number, error.text),
    }
}

#[test]
fn aggregates_have_the_documented_types_and_values() {
    for (name, of, texts, expected) in [
        ("SUM", "tinyint", &["200", "200"][..], "int 400"),
        ("SUM", "bigint", &["3000000000", "1"], "bigint 3000000001"),
        (
            "SUM",
            "numeric(5,2)",
            &["1.50", "2.25"],
            "numeric(38,2) 3.75",
        ),
        ("SUM", "smallmoney", &["1.5", "2"], "money 3.5000"),
        ("SUM", "real", &["1.5", "2"], "float 3.5"),
        ("AVG", "int", &["1", "2"], "int 1"),
        ("AVG", "int", &["-1", "-2"], "int -1"),
        (
            "AVG",
            "numeric(5,2)",
            &["1", "2", "2"],
            "numeric(38,6) 1.666666",
        ),
        ("AVG", "money", &["1", "2", "2"], "money 1.6666"),
        ("AVG", "float", &["1", "2"], "float 1.5"),
        ("COUNT", "int", &["1", "NULL", "2"], "int 2"),
        ("COUNT_BIG", "int", &["1", "NULL"], "bigint 1"),
        ("MIN", "varchar(5)", &["b", "A", "c"], "varchar(5) A"),
        (
            "MAX",
            "date",
            &["2020-01-01", "1999-01-01"],
            "date 2020-01-01",
        ),
        ("MAX", "int", &["NULL", "-5"], "int -5"),
        ("SUM", "int", &["NULL"], "int NULL"),
        (
            "STDEV",
            "int",
            &["2", "4", "4", "4", "5", "5", "7", "9"],
            "float 2.138089935299395",
        ),
        (
            "STDEVP",
            "int",
            &["2", "4", "4", "4", "5", "5", "7", "9"],
            "float 2",
        ),
        (
            "VARP",
            "int",
            &["2", "4", "4", "4", "5", "5", "7", "9"],
            "float 4",
        ),
        ("VAR", "int", &["2"], "float NULL"),
        ("CHECKSUM_AGG", "int", &["1", "2", "4"], "int 7"),
    ] {
        assert_eq!(result(name, of, texts), expected, "{name} {of}");
    }
}

#[test]
fn sums_overflow_their_type_and_some_types_have_none() {
    for (name, of, texts, expected) in [
        (
            "SUM",
            "int",
            &["2147483647", "1"][..],
            "8115: Arithmetic overflow error converting expression to data type int.",
        ),
        (
            "AVG",
            "int",
            &["2147483647", "1"],
            "8115: Arithmetic overflow error converting expression to data type int.",
        ),
        (
            "SUM",
            "varchar(5)",
            &[],
            "8117: Operand data type varchar is invalid for sum operator.",
        ),
        (
            "AVG",
            "bit",
            &[],
            "8117: Operand data type bit is invalid for avg operator.",
        ),
        (
            "MIN",
            "bit",
            &[],
            "8117: Operand data type bit is invalid for min operator.",
        ),
        (
            "MAX",
            "text",
            &[],
            "8117: Operand data type text is invalid for max operator.",
        ),
        (
            "SUM",
            "date",
            &[],
            "8117: Operand data type date is invalid for sum operator.",
        ),
    ] {
        assert_eq!(result(name, of, texts), expected, "{name} {of}");
    }
    let error = resolve(Aggregate::Sum, Some(&Operand::null())).unwrap_err();
    assert_eq!(
        error.text,
        "Operand data type NULL is invalid for sum operator."
    );
}

#[test]
fn texts_are_joined_with_the_separator_between_them() {
    let bound = resolve_string_agg(&operand("varchar(10)"), ", ").unwrap();
    assert_eq!(bound.result.to_string(), "varchar(8000)");
    let mut texts = values("varchar(10)", &["a", "b", "c"]);
    texts.insert(1, Value::Null);
    assert_eq!(run(&bound, &texts).unwrap().to_string(), "a, b, c");
    let bound = resolve_string_agg(&operand("int"), "-").unwrap();
    assert_eq!(bound.result.to_string(), "nvarchar(4000)");
    assert_eq!(
        run(&bound, &values("int", &["1", "2"]))
            .unwrap()
            .to_string(),
        "1-2"
    );
    let long = vec![Value::VarChar("x".repeat(5000)); 2];
    let bound = resolve_string_agg(&operand("varchar(8000)"), "").unwrap();
    assert_eq!(run(&bound, &long).unwrap_err().number, 9829);
    let bound = resolve_string_agg(&operand("varchar(max)"), "").unwrap();
    assert_eq!(
        run(&bound, &long).unwrap().as_str().map(str::len),
        Some(10_000)
    );
}

/// Two halves merged are the whole, for every aggregate and wherever the cut is.
#[test]
fn merged_halves_agree_with_the_whole() {
    use furrow_io::random::{Rng, seeded, test_seed};
    let seed = test_seed();
    println!("FURROW_SEED={seed}");
    let mut random = seeded(seed);
    let types = ["int", "bigint", "numeric(9,2)", "money", "float"];
    for round in 0..500 {
        let of = types[round % types.len()];
        let count = random.random_range(0..40);
        let numbers: Vec<Value> = (0..count)
            .map(|_| {
                let n: i32 = random.random_range(-1000..1000);
                match of {
                    _ if random.random_range(0..8) == 0 => Value::Null,
                    "int" => Value::Int(n),
                    "bigint" => Value::BigInt(n.into()),
                    "money" => Value::Money(n.into()),
                    "float" => Value::Float(f64::from(n) / 8.0),
                    _ => Value::Decimal(Decimal {
                        unscaled: n.into(),
                        scale: 2,
                    }),
                }
            })
            .collect();
        let cut = random.random_range(0..=count);
        for row in all() {
            let operand = operand(of);
            let Ok(bound) = resolve(row.aggregate, Some(&operand)) else {
                continue;
            };
            let (mut whole, mut first, mut second) = (bound.start(), bound.start(), bound.start());
            for (at, value) in numbers.iter().enumerate() {
                whole.add(&bound, value).unwrap();
                let half = if at < cut { &mut first } else { &mut second };
                half.add(&bound, value).unwrap();
            }
            first.merge(&bound, &second).unwrap();
            let (a, b) = (whole.finish(&bound).unwrap(), first.finish(&bound).unwrap());
            match (&a, &b) {
                (Value::Float(a), Value::Float(b)) => {
                    assert!(
                        (a - b).abs() <= 1e-9 * a.abs().max(1.0),
                        "{} seed {seed}",
                        row.name
                    );
                }
                _ => assert_eq!(a, b, "{} {of} seed {seed}", row.name),
            }
        }
    }
}

#[test]
fn string_agg_refuses_what_becomes_too_long() {
    let bound = |of| resolve_string_agg(&operand(of), ",").unwrap();
    crate::room::limited(7, || {
        let whole = bound("varchar(max)");
        let joined = run(&whole, &values("varchar(max)", &["abc", "def"])).unwrap();
        assert_eq!(joined.as_str(), Some("abc,def"));
        let refused = run(&whole, &values("varchar(max)", &["abc", "defg"])).unwrap_err();
        assert_eq!(refused.number, 7119);
    });
    let mut all = bound("varchar(8000)").start();
    let part = Value::VarChar("x".repeat(8000));
    all.add(&bound("varchar(8000)"), &part).unwrap();
    let refused = all.add(&bound("varchar(8000)"), &part).unwrap_err();
    assert_eq!(refused.number, 9829);
}
