//! Operators by golden values.

use super::*;
use crate::Operand;
use crate::env::Settings;
use crate::testing::{data_type, operand};
use furrow_types::{Value, cast, parse_value};

use BinaryOp::{Add, BitAnd, Divide, Modulo, Multiply, Subtract};

const ENGLISH: Settings = Settings::US_ENGLISH;

fn value(of: &str, text: &str) -> Value {
    let data_type = data_type(of);
    cast(&parse_value(&data_type, text).unwrap(), &data_type).unwrap()
}

/// Type and value of `CAST(a) op CAST(b)`, or number and text of its error.
fn result(a: (&str, &str), op: BinaryOp, b: (&str, &str)) -> String {
    let bound = match bind_binary(op, &operand(a.0), &operand(b.0)) {
        Ok(bound) => bound,
        Err(error) => return format!("{}: {}", error.number, error.text),
    };
    match bound.eval(&value(a.0, a.1), &value(b.0, b.1), &ENGLISH) {
        Ok(value) => format!("{} {value}", bound.result),
        Err(error) => format!("{}: {}", error.number, error.text),
    }
}

/// A type and the text of its value.
type Typed = (&'static str, &'static str);

const RESULTS: &[(Typed, BinaryOp, Typed, &str)] = &[
    (("int", "7"), Divide, ("int", "2"), "int 3"),
    (("int", "-7"), Divide, ("int", "2"), "int -3"),
    (("int", "-7"), Modulo, ("int", "2"), "int -1"),
    (("int", "-2147483648"), Modulo, ("int", "-1"), "int 0"),
    (("tinyint", "200"), Add, ("smallint", "200"), "smallint 400"),
    (
        ("int", "1"),
        Add,
        ("bigint", "3000000000"),
        "bigint 3000000001",
    ),
    (("int", "1"), Add, ("varchar(5)", " 2"), "int 3"),
    (("bit", "1"), Add, ("int", "2"), "int 3"),
    (
        ("numeric(5,2)", "1.50"),
        Add,
        ("numeric(3,1)", "2.5"),
        "numeric(6,2) 4.00",
    ),
    (
        ("numeric(5,2)", "1.50"),
        Multiply,
        ("numeric(3,1)", "2.5"),
        "numeric(9,3) 3.750",
    ),
    (
        ("numeric(2,1)", "1.0"),
        Divide,
        ("int", "3"),
        "numeric(13,12) .333333333333",
    ),
    (
        ("numeric(5,2)", "7.50"),
        Modulo,
        ("int", "2"),
        "numeric(5,2) 1.50",
    ),
    (
        ("numeric(5,2)", "1.50"),
        Add,
        ("varchar(9)", "2.5"),
        "numeric(6,2) 4.00",
    ),
    (("money", "10"), Divide, ("money", "3"), "money 3.3333"),
    (
        ("money", "0.0050"),
        Multiply,
        ("money", "0.0100"),
        "money .0001",
    ),
    (("money", "1.5"), Multiply, ("int", "3"), "money 4.5000"),
    (
        ("money", "1.5"),
        Add,
        ("numeric(5,2)", "1"),
        "numeric(20,4) 2.5000",
    ),
    (
        ("smallmoney", "1.5"),
        Subtract,
        ("tinyint", "2"),
        "smallmoney -.5000",
    ),
    (("float", "1"), Divide, ("int", "4"), "float 0.25"),
    (("real", "1.5"), Multiply, ("numeric(5,2)", "2"), "real 3"),
    (("float", "1.5"), Add, ("varchar(9)", "1e1"), "float 11.5"),
    (
        ("datetime", "2020-01-31"),
        Add,
        ("int", "1"),
        "datetime 2020-02-01 00:00:00.000",
    ),
    (
        ("datetime", "2020-01-31"),
        Subtract,
        ("float", "0.5"),
        "datetime 2020-01-30 12:00:00.000",
    ),
    (
        ("datetime", "2020-01-02 12:00"),
        Subtract,
        ("datetime", "2020-01-01"),
        "datetime 1900-01-02 12:00:00.000",
    ),
    (
        ("smalldatetime", "2020-01-31"),
        Add,
        ("int", "1"),
        "smalldatetime 2020-02-01 00:00:00",
    ),
    (
        ("varchar(3)", "ab"),
        Add,
        ("varchar(5)", "c"),
        "varchar(8) abc",
    ),
    (
        ("char(3)", "ab"),
        Add,
        ("nvarchar(5)", "c"),
        "nvarchar(8) abc",
    ),
    (
        ("varbinary(2)", "0x01"),
        Add,
        ("binary(1)", "0x02"),
        "varbinary(3) 0x0102",
    ),
    (("varbinary(2)", "0x01"), Add, ("int", "2"), "int 3"),
];

#[test]
fn arithmetic_has_the_documented_types_and_values() {
    for &(a, op, b, expected) in RESULTS {
        assert_eq!(result(a, op, b), expected, "{a:?} {op:?} {b:?}");
    }
}

#[test]
fn arithmetic_out_of_range_and_by_zero_is_an_error() {
    const INT: &str = "8115: Arithmetic overflow error converting expression to data type int.";
    const ZERO: &str = "8134: Divide by zero error encountered.";
    for (a, op, b, expected) in [
        (("int", "2147483647"), Add, ("int", "1"), INT),
        (("int", "-2147483648"), Subtract, ("tinyint", "1"), INT),
        (("int", "65536"), Multiply, ("int", "65536"), INT),
        (("int", "-2147483648"), Divide, ("int", "-1"), INT),
        (
            ("tinyint", "1"),
            Subtract,
            ("tinyint", "2"),
            "8115: Arithmetic overflow error converting expression to data type tinyint.",
        ),
        (
            ("bigint", "9223372036854775807"),
            Add,
            ("int", "1"),
            "8115: Arithmetic overflow error converting expression to data type bigint.",
        ),
        (("int", "1"), Divide, ("int", "0"), ZERO),
        (("int", "1"), Modulo, ("int", "0"), ZERO),
        (("numeric(5,2)", "1"), Divide, ("numeric(5,2)", "0"), ZERO),
        (("money", "1"), Modulo, ("money", "0"), ZERO),
        (("float", "1"), Divide, ("float", "0"), ZERO),
        (
            ("float", "1e308"),
            Multiply,
            ("float", "10"),
            "8115: Arithmetic overflow error converting expression to data type float.",
        ),
        (
            ("numeric(38,0)", "99999999999999999999999999999999999999"),
            Add,
            ("numeric(38,0)", "1"),
            "8115: Arithmetic overflow error converting expression to data type numeric.",
        ),
        (
            ("datetime", "9999-12-31"),
            Add,
            ("int", "1"),
            "517: Adding a value to a 'datetime' column caused an overflow.",
        ),
        (
            ("int", "1"),
            Add,
            ("varchar(5)", "x"),
            "245: Conversion failed when converting the varchar value 'x' to data type int.",
        ),
    ] {
        assert_eq!(result(a, op, b), expected, "{a:?} {op:?} {b:?}");
    }
}

const REFUSED: &[(&str, BinaryOp, &str, &str)] = &[
    (
        "date",
        Add,
        "int",
        "206: Operand type clash: date is incompatible with int",
    ),
    (
        "int",
        Add,
        "date",
        "206: Operand type clash: int is incompatible with date",
    ),
    (
        "date",
        Add,
        "date",
        "8117: Operand data type date is invalid for add operator.",
    ),
    (
        "bit",
        Add,
        "bit",
        "8117: Operand data type bit is invalid for add operator.",
    ),
    (
        "varchar(5)",
        Subtract,
        "varchar(5)",
        "8117: Operand data type varchar is invalid for subtract operator.",
    ),
    (
        "float",
        Modulo,
        "float",
        "8117: Operand data type float is invalid for modulo operator.",
    ),
    (
        "float",
        Modulo,
        "int",
        "402: The data types float and int are incompatible in the modulo operator.",
    ),
    (
        "datetime",
        Multiply,
        "int",
        "8117: Operand data type datetime is invalid for multiply operator.",
    ),
    (
        "datetime",
        Add,
        "date",
        "402: The data types datetime and date are incompatible in the add operator.",
    ),
    (
        "varbinary(5)",
        Add,
        "varchar(5)",
        "402: The data types varbinary and varchar are incompatible in the add operator.",
    ),
    (
        "uniqueidentifier",
        Add,
        "int",
        "206: Operand type clash: uniqueidentifier is incompatible with int",
    ),
    (
        "varchar(5)",
        Add,
        "date",
        "402: The data types varchar and date are incompatible in the add operator.",
    ),
    (
        "numeric(5,2)",
        BitAnd,
        "int",
        "402: The data types numeric and int are incompatible in the '&' operator.",
    ),
];

#[test]
fn types_without_the_operator_are_refused_when_bound() {
    for &(a, op, b, expected) in REFUSED {
        let error = bind_binary(op, &operand(a), &operand(b)).unwrap_err();
        let got = format!("{}: {}", error.number, error.text);
        assert_eq!(got, expected, "{a} {op:?} {b}");
    }
}

#[test]
fn null_and_literals_take_part_as_documented() {
    let one = Value::Int(1);
    let literal = Operand::constant(data_type("int"), &one);
    let bound = bind_binary(Divide, &operand("numeric(2,1)"), &literal).unwrap();
    assert_eq!(bound.result.to_string(), "numeric(7,6)");
    let bound = bind_binary(Add, &Operand::null(), &operand("varchar(5)")).unwrap();
    assert_eq!(bound.result.id.name(), "varchar");
    let text = Value::VarChar("a".into());
    assert_eq!(bound.eval(&Value::Null, &text, &ENGLISH), Ok(Value::Null));
    let bound = bind_binary(Add, &Operand::null(), &Operand::null()).unwrap();
    assert_eq!(bound.result.id.name(), "int");
}

#[test]
fn joined_text_is_cut_at_8000_bytes_unless_it_is_max() {
    let long = Value::VarChar("x".repeat(8000));
    let join = |a: &str, b: &str| {
        let bound = bind_binary(Add, &operand(a), &operand(b)).unwrap();
        let joined = bound.eval(&long, &long, &ENGLISH).unwrap();
        joined.as_str().map(str::len)
    };
    assert_eq!(join("varchar(8000)", "varchar(8000)"), Some(8000));
    assert_eq!(join("varchar(max)", "varchar(8000)"), Some(16_000));
}

#[test]
fn unary_operators_keep_their_type_where_it_has_a_sign() {
    let minus = |of: &str, text: &str| match bind_unary(UnaryOp::Minus, &operand(of)) {
        Ok(bound) => match bound.eval(&value(of, text)) {
            Ok(value) => format!("{} {value}", bound.result),
            Err(error) => error.text,
        },
        Err(error) => error.text,
    };
    assert_eq!(minus("int", "5"), "int -5");
    assert_eq!(minus("tinyint", "5"), "smallint -5");
    assert_eq!(minus("numeric(5,2)", "1.5"), "numeric(5,2) -1.50");
    assert_eq!(minus("money", "-1"), "money 1.0000");
    assert_eq!(
        minus("int", "-2147483648"),
        "Arithmetic overflow error converting expression to data type int."
    );
    assert_eq!(
        minus("bit", "1"),
        "Operand data type bit is invalid for minus operator."
    );
    let not = bind_unary(UnaryOp::BitNot, &operand("int")).unwrap();
    assert_eq!(not.eval(&Value::Int(5)), Ok(Value::Int(-6)));
    assert!(bind_unary(UnaryOp::BitNot, &operand("float")).is_err());
}

#[test]
fn strings_that_become_too_long_together_are_refused() {
    let refused = "7119: Attempting to grow LOB beyond maximum allowed size of 5 bytes.";
    crate::room::limited(5, || {
        let join = |of, a, b| result((of, a), Add, (of, b));
        assert_eq!(join("varchar(max)", "abc", "de"), "varchar(max) abcde");
        assert_eq!(join("varchar(max)", "abc", "def"), refused);
        assert_eq!(join("nvarchar(max)", "ab", "c"), refused);
        assert_eq!(join("varbinary(max)", "0x010203", "0x040506"), refused);
    });
}
