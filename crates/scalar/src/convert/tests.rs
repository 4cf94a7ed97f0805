//! Conversions by golden values.

use super::*;
use crate::testing::data_type;
use furrow_types::parse_value;

const ENGLISH: Settings = Settings::US_ENGLISH;

/// A value of a type, from its text.
fn value(of: &str, text: &str) -> Value {
    let data_type = data_type(of);
    let parsed = parse_value(&data_type, text).unwrap();
    let convert = Conversion::explicit(data_type, data_type, None).unwrap();
    let value = cast_with(&parsed, &data_type, ENGLISH.date_order).unwrap();
    convert.apply(&value, &ENGLISH).unwrap()
}

fn convert(from: (&str, &str), to: &str, style: Option<i32>) -> SqlResult<Value> {
    let bound = Conversion::explicit(data_type(from.0), data_type(to), style)?;
    bound.apply(&value(from.0, from.1), &ENGLISH)
}

/// `CAST(text AS from)` cast `to` prints as this.
fn shown(from: &str, text: &str, to: &str, style: Option<i32>) -> String {
    match convert((from, text), to, style) {
        Ok(value) => value.to_string(),
        Err(error) => format!("{}: {}", error.number, error.text),
    }
}

#[test]
fn numbers_become_numbers_by_cutting_or_rounding_as_their_type_does() {
    for (from, text, to, expected) in [
        ("numeric(5,2)", "1.99", "int", "1"),
        ("numeric(5,2)", "-1.99", "int", "-1"),
        ("float", "1.99", "int", "1"),
        ("money", "1.50", "int", "2"),
        ("money", "-1.50", "int", "-2"),
        ("float", "1.235", "numeric(5,2)", "1.24"),
        ("numeric(5,3)", "1.235", "numeric(5,2)", "1.24"),
        ("numeric(5,3)", "1.2345", "money", "1.2350"),
        ("int", "7", "bit", "1"),
        ("bigint", "-1", "smallint", "-1"),
        ("varchar(9)", " 12 ", "int", "12"),
        ("varchar(9)", "", "int", "0"),
        ("varchar(9)", "1e2", "float", "100"),
        ("varchar(9)", "$1,234.5", "money", "1234.5000"),
        ("varchar(9)", "TRUE", "bit", "1"),
        ("real", "0.1", "float", "0.10000000149011612"),
        ("int", "2", "numeric(3,1)", "2.0"),
        ("varchar(20)", "1.5", "numeric(10,0)", "2"),
    ] {
        assert_eq!(
            shown(from, text, to, None),
            expected,
            "{from} {text} to {to}"
        );
    }
}

/// Type, value, target, message.
const UNFIT: &[(&str, &str, &str, &str)] = &[
    (
        "float",
        "1.5",
        "varchar(2)",
        "232: Arithmetic overflow error for type varchar, value = 1.500000.",
    ),
    (
        "int",
        "300",
        "tinyint",
        "220: Arithmetic overflow error for data type tinyint, value = 300.",
    ),
    (
        "int",
        "40000",
        "smallint",
        "220: Arithmetic overflow error for data type smallint, value = 40000.",
    ),
    (
        "bigint",
        "3000000000",
        "int",
        "8115: Arithmetic overflow error converting expression to data type int.",
    ),
    (
        "float",
        "3e9",
        "int",
        "232: Arithmetic overflow error for type int, value = 3000000000.000000.",
    ),
    (
        "numeric(12,0)",
        "3000000000",
        "int",
        "8115: Arithmetic overflow error converting numeric to data type int.",
    ),
    (
        "varchar(20)",
        "3000000000",
        "int",
        "248: The conversion of the varchar value '3000000000' overflowed an int column.",
    ),
    (
        "varchar(5)",
        "abc",
        "int",
        "245: Conversion failed when converting the varchar value 'abc' to data type int.",
    ),
    (
        "varchar(5)",
        "1.5",
        "int",
        "245: Conversion failed when converting the varchar value '1.5' to data type int.",
    ),
    (
        "varchar(5)",
        "abc",
        "numeric(5,2)",
        "8114: Error converting data type varchar to numeric.",
    ),
    (
        "nvarchar(5)",
        "abc",
        "float",
        "8114: Error converting data type nvarchar to float.",
    ),
    (
        "varchar(5)",
        "abc",
        "bigint",
        "8114: Error converting data type varchar to bigint.",
    ),
    (
        "int",
        "1000",
        "numeric(3,0)",
        "8115: Arithmetic overflow error converting int to data type numeric.",
    ),
    (
        "varchar(5)",
        "abc",
        "money",
        "235: Cannot convert a char value to money. The char value has incorrect syntax.",
    ),
    (
        "varchar(5)",
        "abc",
        "date",
        "241: Conversion failed when converting date and/or time from character string.",
    ),
    (
        "varchar(10)",
        "2023-02-29",
        "datetime",
        "242: The conversion of a varchar data type to a datetime data type resulted in an \
         out-of-range value.",
    ),
    (
        "varchar(5)",
        "abc",
        "uniqueidentifier",
        "8169: Conversion failed when converting from a character string to uniqueidentifier.",
    ),
    (
        "int",
        "1",
        "date",
        "529: Explicit conversion from data type int to date is not allowed.",
    ),
    (
        "money",
        "1234",
        "varchar(3)",
        "234: There is insufficient result space to convert a money value to varchar.",
    ),
    (
        "bigint",
        "1234",
        "varchar(3)",
        "8115: Arithmetic overflow error converting expression to data type varchar.",
    ),
    (
        "int",
        "1234",
        "nvarchar(3)",
        "8115: Arithmetic overflow error converting expression to data type nvarchar.",
    ),
    (
        "numeric(5,2)",
        "123.45",
        "varchar(3)",
        "8115: Arithmetic overflow error converting numeric to data type varchar.",
    ),
    (
        "datetime",
        "2020-01-01",
        "varchar(20)",
        "281: 99 is not a valid style number when converting from datetime to a character string.",
    ),
];

#[test]
fn values_that_do_not_fit_get_their_own_message() {
    for &(from, text, to, expected) in UNFIT {
        let style = (to == "varchar(20)").then_some(99);
        assert_eq!(
            shown(from, text, to, style),
            expected,
            "{from} {text} to {to}"
        );
    }
}

#[test]
fn numbers_become_text_in_their_documented_form() {
    for (from, text, style, expected) in [
        ("int", "-5", None, "-5"),
        ("numeric(5,2)", "0.05", None, "0.05"),
        ("numeric(5,2)", "-0.5", None, "-0.50"),
        ("money", "1234.5678", None, "1234.57"),
        ("money", "-1234567.891", Some(1), "-1,234,567.89"),
        ("money", "1234.5678", Some(2), "1234.5678"),
        ("float", "0.1", None, "0.1"),
        ("float", "123456", None, "123456"),
        ("float", "1234567", None, "1.23457e+006"),
        ("float", "0.0001", None, "0.0001"),
        ("float", "0.00001", None, "1e-005"),
        ("float", "3.14159265", None, "3.14159"),
        ("float", "1234567", Some(1), "1.2345670e+006"),
        ("float", "1234567", Some(2), "1.234567000000000e+006"),
        ("float", "100000", None, "100000"),
        ("float", "0", None, "0"),
        ("bit", "1", None, "1"),
        ("varbinary(4)", "0x4142", None, "AB"),
        ("varbinary(4)", "0x4142", Some(1), "0x4142"),
        ("varbinary(4)", "0xFE42", Some(2), "FE42"),
    ] {
        assert_eq!(
            shown(from, text, "varchar(40)", style),
            expected,
            "{from} {text} {style:?}"
        );
    }
}

#[test]
fn text_is_cut_padded_or_starred_to_its_length() {
    for (from, text, to, expected) in [
        ("varchar(9)", "abcdef", "varchar(3)", "abc"),
        ("varchar(9)", "ab", "char(4)", "ab  "),
        ("nvarchar(9)", "ab", "nchar(4)", "ab  "),
        ("int", "1234", "varchar(3)", "*"),
        ("int", "1234", "char(3)", "*  "),
        ("datetime", "2020-03-04 05:06:07", "varchar(6)", "Mar  4"),
        ("varchar(5)", "ab", "varbinary(9)", "0x6162"),
        ("nvarchar(5)", "ab", "varbinary(9)", "0x61006200"),
        ("varchar(5)", "ab", "binary(4)", "0x61620000"),
        ("int", "1", "binary(6)", "0x000000000001"),
        ("int", "258", "varbinary(9)", "0x00000102"),
        ("int", "258", "varbinary(1)", "0x02"),
        ("varbinary(4)", "0x0102", "int", "258"),
        ("varbinary(9)", "0x0100000002", "int", "2"),
        ("numeric(2,1)", "1.5", "varbinary(20)", "0x020100010F000000"),
        (
            "datetime",
            "1900-01-02 00:00:01",
            "varbinary(8)",
            "0x000000010000012C",
        ),
        ("date", "0001-01-02", "varbinary(8)", "0x010000"),
    ] {
        assert_eq!(
            shown(from, text, to, None),
            expected,
            "{from} {text} to {to}"
        );
    }
    assert_eq!(
        shown("varchar(9)", "0x0aFf", "varbinary(9)", Some(1)),
        "0x0AFF"
    );
    assert_eq!(
        shown("varchar(9)", "0aFf", "varbinary(9)", Some(2)),
        "0x0AFF"
    );
    assert_eq!(
        shown("varchar(9)", "0x0", "varbinary(9)", Some(1)),
        "8114: Error converting data type varchar to varbinary."
    );
}

#[test]
fn dates_become_text_in_every_documented_style() {
    let at = "2006-01-02 15:04:05.123";
    for (style, expected) in [
        (0, "Jan  2 2006  3:04PM"),
        (1, "01/02/06"),
        (2, "06.01.02"),
        (3, "02/01/06"),
        (4, "02.01.06"),
        (5, "02-01-06"),
        (6, "02 Jan 06"),
        (7, "Jan 02, 06"),
        (8, "15:04:05"),
        (9, "Jan  2 2006  3:04:05:123PM"),
        (10, "01-02-06"),
        (11, "06/01/02"),
        (12, "060102"),
        (13, "02 Jan 2006 15:04:05:123"),
        (14, "15:04:05:123"),
        (20, "2006-01-02 15:04:05"),
        (21, "2006-01-02 15:04:05.123"),
        (22, "01/02/06  3:04:05 PM"),
        (23, "2006-01-02"),
        (24, "15:04:05"),
        (25, "2006-01-02 15:04:05.123"),
        (100, "Jan  2 2006  3:04PM"),
        (101, "01/02/2006"),
        (102, "2006.01.02"),
        (103, "02/01/2006"),
        (104, "02.01.2006"),
        (105, "02-01-2006"),
        (106, "02 Jan 2006"),
        (107, "Jan 02, 2006"),
        (108, "15:04:05"),
        (109, "Jan  2 2006  3:04:05:123PM"),
        (110, "01-02-2006"),
        (111, "2006/01/02"),
        (112, "20060102"),
        (113, "02 Jan 2006 15:04:05:123"),
        (114, "15:04:05:123"),
        (120, "2006-01-02 15:04:05"),
        (121, "2006-01-02 15:04:05.123"),
        (126, "2006-01-02T15:04:05.123"),
        (127, "2006-01-02T15:04:05.123"),
    ] {
        let got = shown("datetime", at, "varchar(40)", Some(style));
        assert_eq!(got, expected, "style {style}");
    }
    for style in [15, 19, 26, 99, 115, 119, 122, 125, 128, -1, 1000] {
        let got = shown("datetime", at, "varchar(40)", Some(style));
        assert!(got.starts_with("281: "), "style {style}: {got}");
    }
    // Styles that there are, and that are not built.
    for style in [130, 131] {
        let got = shown("datetime", at, "varchar(40)", Some(style));
        assert!(got.starts_with("40514: "), "style {style}: {got}");
    }
}

#[test]
fn the_types_of_2008_write_iso_dates_and_all_their_digits() {
    for (from, text, style, expected) in [
        ("date", "2006-01-02", None, "2006-01-02"),
        ("date", "2006-01-02", Some(100), "Jan  2 2006"),
        ("time(3)", "15:04:05.123", None, "15:04:05.123"),
        ("time(0)", "15:04:05", Some(100), "3:04PM"),
        (
            "datetime2(7)",
            "2006-01-02 15:04:05.1234567",
            None,
            "2006-01-02 15:04:05.1234567",
        ),
        (
            "datetime2(0)",
            "2006-01-02 15:04:05",
            None,
            "2006-01-02 15:04:05",
        ),
        (
            "datetime2(3)",
            "2006-01-02 15:04:05.120",
            Some(126),
            "2006-01-02T15:04:05.120",
        ),
        (
            "datetimeoffset(0)",
            "2006-01-02 15:04:05 +01:00",
            None,
            "2006-01-02 15:04:05 +01:00",
        ),
        (
            "datetimeoffset(0)",
            "2006-01-02 15:04:05 +01:00",
            Some(127),
            "2006-01-02T14:04:05Z",
        ),
        (
            "smalldatetime",
            "2006-01-02 15:04:00",
            Some(121),
            "2006-01-02 15:04:00.000",
        ),
        (
            "smalldatetime",
            "2006-01-02 15:04:00",
            Some(126),
            "2006-01-02T15:04:00",
        ),
        (
            "datetime",
            "2006-01-02 15:04:05",
            Some(126),
            "2006-01-02T15:04:05",
        ),
    ] {
        assert_eq!(
            shown(from, text, "varchar(40)", style),
            expected,
            "{from} {style:?}"
        );
    }
}

#[test]
fn numbers_and_datetimes_become_each_other_as_days() {
    for (from, text, to, expected) in [
        ("int", "0", "datetime", "1900-01-01 00:00:00.000"),
        ("int", "-1", "datetime", "1899-12-31 00:00:00.000"),
        (
            "numeric(5,2)",
            "1.50",
            "datetime",
            "1900-01-02 12:00:00.000",
        ),
        (
            "numeric(5,2)",
            "-0.25",
            "datetime",
            "1899-12-31 18:00:00.000",
        ),
        ("float", "2.75", "smalldatetime", "1900-01-03 18:00:00"),
        ("datetime", "1900-01-02 11:59:59", "int", "1"),
        ("datetime", "1900-01-02 12:00:00", "int", "2"),
        ("datetime", "1900-01-02 06:00:00", "float", "1.25"),
        ("datetime", "1900-01-02 06:00:00", "numeric(9,4)", "1.2500"),
    ] {
        assert_eq!(
            shown(from, text, to, None),
            expected,
            "{from} {text} to {to}"
        );
    }
    assert!(shown("int", "-60000", "datetime", None).starts_with("8115: "));
}

#[test]
fn a_style_says_how_a_date_in_text_is_to_be_read() {
    let read = |text: &str, style| shown("varchar(30)", text, "date", Some(style));
    assert_eq!(read("03/04/2020", 101), "2020-03-04");
    assert_eq!(read("03/04/2020", 103), "2020-04-03");
    assert_eq!(read("03.04.2020", 104), "2020-04-03");
    assert_eq!(read("20200304", 112), "2020-03-04");
    assert_eq!(read("04 Mar 2020", 106), "2020-03-04");
    assert_eq!(
        read("1", 130),
        "9809: The style 130 is not supported for conversions from varchar to date."
    );
}

#[test]
fn try_convert_gives_null_for_values_but_not_for_types() {
    let to = data_type("int");
    let bound = Conversion::try_explicit(data_type("varchar(5)"), to, None).unwrap();
    assert_eq!(bound.apply(&"x".into(), &ENGLISH), Ok(Value::Null));
    assert_eq!(bound.apply(&"7".into(), &ENGLISH), Ok(Value::Int(7)));
    let error = Conversion::try_explicit(data_type("date"), to, None).unwrap_err();
    assert_eq!(error.number, 529);
}

#[test]
fn parse_reads_text_as_the_culture_writes_it() {
    let parse = |text: &str, to: &str, culture| {
        parse(text, &data_type(to), culture, &ENGLISH)
            .map(|value| value.to_string())
            .map_err(|error| error.number)
    };
    assert_eq!(parse("$1,234.50", "money", None), Ok("1234.5000".into()));
    assert_eq!(
        parse("13 Dec 2010", "date", Some("en-us")),
        Ok("2010-12-13".into())
    );
    assert_eq!(parse("x", "int", None), Err(9819));
    assert_eq!(parse("1", "int", Some("de-DE")), Err(9818));
}

/// Variants bring their type along, and become what it may become.
#[test]
fn variants_are_unpacked_before_they_are_converted() {
    let variant = data_type("sql_variant");
    let pack = Conversion::implicit(data_type("int"), variant)
        .unwrap()
        .unwrap();
    let packed = pack.apply(&Value::Int(5), &ENGLISH).unwrap();
    let unpack = Conversion::explicit(variant, data_type("varchar(9)"), None).unwrap();
    assert_eq!(
        unpack.apply(&packed, &ENGLISH),
        Ok(Value::VarChar("5".into()))
    );
    let to_date = Conversion::explicit(variant, data_type("date"), None).unwrap();
    assert_eq!(to_date.apply(&packed, &ENGLISH).unwrap_err().number, 529);
}

/// Every value survives the way to text (in a style that keeps all of it), to bytes, and back.
#[test]
fn conversions_to_text_and_bytes_and_back_lose_nothing() {
    use furrow_io::random::{Rng, seeded, test_seed};
    let seed = test_seed();
    println!("FURROW_SEED={seed}");
    let mut random = seeded(seed);
    let types = [
        "bit",
        "tinyint",
        "smallint",
        "int",
        "bigint",
        "numeric(38,10)",
        "numeric(9,2)",
        "money",
        "smallmoney",
        "float",
        "real",
        "date",
        "time(7)",
        "datetime2(7)",
        "datetime2(3)",
        "datetime",
        "smalldatetime",
        "datetimeoffset(7)",
        "uniqueidentifier",
    ];
    for round in 0..20_000 {
        let of = data_type(types[round % types.len()]);
        let size = furrow_types::encode(&of, &Value::Null).unwrap().len();
        let bytes: Vec<u8> = (0..size).map(|_| random.random()).collect();
        let Ok(value) = furrow_types::decode(&of, &bytes) else {
            continue;
        };
        // Random bytes may be more than the precision takes, or no number at all.
        let Ok(bytes) = furrow_types::encode(&of, &value) else {
            continue;
        };
        let value = furrow_types::decode(&of, &bytes).unwrap();
        let style = match of.id {
            TypeId::Float | TypeId::Real => Some(3),
            TypeId::Money | TypeId::SmallMoney => Some(2),
            TypeId::DateTime | TypeId::SmallDateTime => Some(121),
            _ => None,
        };
        let text = data_type("varchar(60)");
        let there = Conversion::explicit(of, text, style).unwrap();
        let written = there.apply(&value, &ENGLISH).unwrap();
        let back = Conversion::explicit(text, of, None).unwrap();
        let read = back.apply(&written, &ENGLISH);
        assert_eq!(read.as_ref(), Ok(&value), "{of} {written} seed {seed}");

        let wide = data_type("varbinary(40)");
        if matches!(of.id, TypeId::Float | TypeId::Real) {
            continue;
        }
        let there = Conversion::explicit(of, wide, None).unwrap();
        let back = Conversion::explicit(wide, of, None).unwrap();
        let written = there.apply(&value, &ENGLISH).unwrap();
        let read = back.apply(&written, &ENGLISH);
        assert_eq!(read.as_ref(), Ok(&value), "{of} {written} seed {seed}");
    }
}
