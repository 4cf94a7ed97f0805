//! Functions by golden values: type and value of a call, or number and text of its error.

use super::*;
use crate::testing::data_type;
use furrow_format::types::{Date, DateTime2, DateTimeOffset, Time, TypeId, cast, parse_value};

/// An argument: `type:text`, `'part` for the name of a date part, `NULL` for the literal.
fn argument(text: &str) -> (Option<DataType>, Value) {
    if text == "NULL" {
        return (None, Value::Null);
    }
    if let Some(word) = text.strip_prefix('\'') {
        return (
            Some(data_type("varchar(20)")),
            Value::VarChar(word.to_owned()),
        );
    }
    let (of, text) = text.split_once(':').unwrap();
    let of = data_type(of);
    let parsed = if of.id.has_collation() {
        // Fixed-length text comes padded, as from a column.
        let pad = Conversion::explicit(of, of, None).unwrap();
        let typed = cast(&Value::NVarChar(text.to_owned()), &of).unwrap();
        pad.apply(&typed, &crate::Settings::US_ENGLISH).unwrap()
    } else {
        cast(&parse_value(&of, text).unwrap(), &of).unwrap()
    };
    (Some(of), parsed)
}

fn moment() -> DateTimeOffset {
    DateTimeOffset {
        utc: DateTime2 {
            date: Date::from_ymd(2020, 2, 29).unwrap(),
            time: Time::from_hms(22, 30, 15, 1_234_567, 7).unwrap(),
        },
        offset_minutes: 120,
    }
}

fn call(name: &str, arguments: &[&str]) -> String {
    let parsed: Vec<_> = arguments.iter().map(|text| argument(text)).collect();
    let operands: Vec<Operand<'_>> = parsed
        .iter()
        .map(|(of, value)| match of {
            Some(of) => Operand::constant(*of, value),
            None => Operand::null(),
        })
        .collect();
    let bound = match resolve(name, &operands) {
        Ok(bound) => bound,
        Err(error) => return format!("{}: {}", error.number, error.text),
    };
    let mut random = || [0x55; 16];
    let mut env = Env::new(moment(), &mut random);
    let values: Vec<&Value> = parsed.iter().map(|(_, value)| value).collect();
    match bound.eval(&mut env, &values) {
        Ok(value) => {
            let fits = cast(&value, &bound.result).is_ok();
            assert!(
                fits || value.is_null(),
                "{name}: {value:?} is no {}",
                bound.result
            );
            format!("{} {value}", bound.result)
        }
        Err(error) => format!("{}: {}", error.number, error.text),
    }
}

fn check(cases: &[(&str, &[&str], &str)]) {
    for (name, arguments, expected) in cases {
        assert_eq!(
            call(name, arguments),
            *expected,
            "{name}({})",
            arguments.join(", ")
        );
    }
}

#[test]
fn parts_and_lengths_of_text() {
    check(&[
        ("LEN", &["varchar(10):ab  "], "int 2"),
        ("LEN", &["nvarchar(10):  ab"], "int 4"),
        ("LEN", &["varchar(max):ab"], "bigint 2"),
        ("LEN", &["int:-123"], "int 4"),
        ("DATALENGTH", &["nvarchar(10):ab "], "int 6"),
        ("DATALENGTH", &["char(10):ab"], "int 10"),
        ("DATALENGTH", &["int:5"], "int 4"),
        ("DATALENGTH", &["numeric(5,2):5"], "int 5"),
        ("DATALENGTH", &["NULL"], "int NULL"),
        ("LEFT", &["varchar(10):abcdef", "int:3"], "varchar(10) abc"),
        ("LEFT", &["varchar(10):ab", "int:9"], "varchar(10) ab"),
        (
            "LEFT",
            &["varchar(10):ab", "int:-1"],
            "537: Invalid length parameter passed to the LEFT or SUBSTRING function.",
        ),
        (
            "RIGHT",
            &["nvarchar(10):abcdef", "int:2"],
            "nvarchar(10) ef",
        ),
        (
            "RIGHT",
            &["varchar(10):ab", "int:-1"],
            "536: Invalid length parameter passed to the RIGHT function.",
        ),
        (
            "SUBSTRING",
            &["varchar(10):abcdef", "int:2", "int:3"],
            "varchar(10) bcd",
        ),
        (
            "SUBSTRING",
            &["varchar(10):abcdef", "int:0", "int:3"],
            "varchar(10) ab",
        ),
        (
            "SUBSTRING",
            &["varchar(10):abcdef", "int:-5", "int:3"],
            "varchar(10) ",
        ),
        (
            "SUBSTRING",
            &["varchar(10):abc", "int:9", "int:3"],
            "varchar(10) ",
        ),
        (
            "SUBSTRING",
            &["varbinary(4):0x010203", "int:2", "int:9"],
            "varbinary(4) 0x0203",
        ),
        (
            "SUBSTRING",
            &["varchar(10):ab", "int:1", "int:-1"],
            "537: Invalid length parameter passed to the LEFT or SUBSTRING function.",
        ),
        (
            "SUBSTRING",
            &["int:123", "int:1", "int:1"],
            "8116: Argument data type int is invalid for argument 1 of substring function.",
        ),
        (
            "UPPER",
            &["varchar(10):stra\u{DF}e \u{E9}"],
            "varchar(10) STRA\u{DF}E \u{C9}",
        ),
        ("LOWER", &["nvarchar(10):\u{416}A"], "nvarchar(10) \u{436}a"),
        ("LTRIM", &["varchar(10):  a "], "varchar(10) a "),
        ("RTRIM", &["char(5):a"], "varchar(5) a"),
        ("TRIM", &["varchar(10):  a "], "varchar(10) a"),
        (
            "TRIM",
            &["varchar(3):x.", "varchar(10):.xaXb."],
            "varchar(10) aXb",
        ),
        ("REVERSE", &["varchar(10):abc"], "varchar(10) cba"),
        ("ASCII", &["varchar(10):A"], "int 65"),
        ("ASCII", &["nvarchar(10):\u{20AC}"], "int 128"),
        ("ASCII", &["varchar(10):"], "int NULL"),
        ("UNICODE", &["nvarchar(10):\u{20AC}"], "int 8364"),
        ("SOUNDEX", &["varchar(10):Smith"], "varchar(4) S530"),
        ("SOUNDEX", &["varchar(10):Smythe"], "varchar(4) S530"),
        ("SOUNDEX", &["varchar(10):Tymczak"], "varchar(4) T522"),
        (
            "DIFFERENCE",
            &["varchar(10):Smithers", "varchar(10):Smythers"],
            "int 4",
        ),
    ]);
}

#[test]
fn text_sought_in_text() {
    check(&[
        ("CHARINDEX", &["varchar(5):B", "varchar(10):abcb"], "int 2"),
        (
            "CHARINDEX",
            &["varchar(5):b", "varchar(10):abcb", "int:3"],
            "int 4",
        ),
        ("CHARINDEX", &["varchar(5):x", "varchar(10):abcb"], "int 0"),
        ("CHARINDEX", &["varchar(5):", "varchar(10):abcb"], "int 0"),
        (
            "CHARINDEX",
            &["varchar(5):a", "varchar(10):abcb", "int:-7"],
            "int 1",
        ),
        (
            "CHARINDEX",
            &["varchar(5):a", "varchar(10):a", "int:99"],
            "int 0",
        ),
        (
            "CHARINDEX",
            &["varchar(5):a", "varchar(max):ba"],
            "bigint 2",
        ),
        (
            "PATINDEX",
            &["varchar(9):%[0-9]%", "varchar(10):ab12"],
            "int 3",
        ),
        ("PATINDEX", &["varchar(5):ab", "varchar(10):ab12"], "int 0"),
        (
            "REPLACE",
            &["varchar(9):aBcb", "varchar(9):b", "varchar(9):xy"],
            "varchar(8000) axycxy",
        ),
        (
            "REPLACE",
            &["nvarchar(9):aaa", "varchar(9):aa", "varchar(9):b"],
            "nvarchar(4000) ba",
        ),
        (
            "REPLACE",
            &["varchar(9):abc", "varchar(9):", "varchar(9):x"],
            "varchar(8000) abc",
        ),
        (
            "REPLACE",
            &["varchar(9):abc", "NULL", "varchar(9):x"],
            "varchar(8000) NULL",
        ),
        (
            "TRANSLATE",
            &[
                "varchar(20):2*[3+4]/{7-2}",
                "varchar(4):[]{}",
                "varchar(4):()()",
            ],
            "varchar(20) 2*(3+4)/(7-2)",
        ),
        (
            "TRANSLATE",
            &["varchar(5):abc", "varchar(5):ab", "varchar(5):x"],
            "9828: The second and third arguments of the TRANSLATE built-in function must contain an equal \
             number of characters.",
        ),
    ]);
}

#[test]
fn text_made_of_something() {
    check(&[
        ("CHAR", &["int:65"], "char(1) A"),
        ("CHAR", &["int:256"], "char(1) NULL"),
        ("NCHAR", &["int:8364"], "nchar(1) \u{20AC}"),
        (
            "CONCAT",
            &["varchar(2):a", "NULL", "int:5"],
            "varchar(14) a5",
        ),
        (
            "CONCAT",
            &["varchar(2):a", "nvarchar(3):b"],
            "nvarchar(5) ab",
        ),
        (
            "CONCAT",
            &["varchar(2):a", "money:1.5"],
            "varchar(32) a1.50",
        ),
        (
            "CONCAT",
            &["varchar(2):a"],
            "189: The concat function requires 2 to 254 arguments.",
        ),
        (
            "CONCAT_WS",
            &["varchar(1):-", "varchar(2):a", "NULL", "varchar(2):b"],
            "varchar(9) a-b",
        ),
        (
            "REPLICATE",
            &["varchar(2):ab", "int:3"],
            "varchar(8000) ababab",
        ),
        (
            "REPLICATE",
            &["varchar(2):ab", "int:-1"],
            "varchar(8000) NULL",
        ),
        ("SPACE", &["int:2"], "varchar(8000)   "),
        (
            "STUFF",
            &["varchar(9):abcdef", "int:2", "int:3", "varchar(9):ijklmn"],
            "varchar(18) aijklmnef",
        ),
        (
            "STUFF",
            &["varchar(9):abc", "int:0", "int:1", "varchar(9):x"],
            "varchar(18) NULL",
        ),
        (
            "STUFF",
            &["varchar(9):abc", "int:2", "int:1", "NULL"],
            "varchar(10) ac",
        ),
        (
            "QUOTENAME",
            &["nvarchar(9):abc]def"],
            "nvarchar(258) [abc]]def]",
        ),
        (
            "QUOTENAME",
            &["nvarchar(9):it's", "varchar(1):'"],
            "nvarchar(258) 'it''s'",
        ),
        (
            "QUOTENAME",
            &["nvarchar(9):a", "varchar(1):x"],
            "nvarchar(258) NULL",
        ),
        (
            "STR",
            &["float:123.45", "int:6", "int:1"],
            "varchar(6)  123.5",
        ),
        ("STR", &["float:123.45", "int:2", "int:2"], "varchar(2) **"),
        ("STR", &["float:2.5"], "varchar(10)          3"),
        (
            "FORMAT",
            &["numeric(9,2):1234.5", "nvarchar(5):N2"],
            "nvarchar(4000) 1,234.50",
        ),
        (
            "FORMAT",
            &["date:2020-01-02", "nvarchar(20):yyyy/MM/dd"],
            "nvarchar(4000) 2020/01/02",
        ),
    ]);
}

#[test]
fn numbers() {
    check(&[
        ("ABS", &["int:-5"], "int 5"),
        ("ABS", &["numeric(5,2):-1.50"], "numeric(5,2) 1.50"),
        ("ABS", &["money:-1.5"], "money 1.5000"),
        ("ABS", &["varchar(5):-1.5"], "float 1.5"),
        (
            "ABS",
            &["int:-2147483648"],
            "8115: Arithmetic overflow error converting expression to data type int.",
        ),
        (
            "ABS",
            &["date:2020-01-01"],
            "8116: Argument data type date is invalid for argument 1 of abs function.",
        ),
        ("CEILING", &["numeric(5,2):-1.50"], "numeric(5,0) -1"),
        ("CEILING", &["money:1.2"], "money 2.0000"),
        ("FLOOR", &["numeric(5,2):-1.50"], "numeric(5,0) -2"),
        ("FLOOR", &["float:1.7"], "float 1"),
        (
            "ROUND",
            &["numeric(7,4):123.4545", "int:2"],
            "numeric(7,4) 123.4500",
        ),
        (
            "ROUND",
            &["numeric(5,2):123.45", "int:-2"],
            "numeric(5,2) 100.00",
        ),
        (
            "ROUND",
            &["numeric(7,3):150.75", "int:0", "int:1"],
            "numeric(7,3) 150.000",
        ),
        ("ROUND", &["int:-155", "int:-1"], "int -160"),
        (
            "ROUND",
            &["numeric(3,2):9.99", "int:0"],
            "8115: Arithmetic overflow error converting expression to data type numeric.",
        ),
        ("ROUND", &["float:2.5", "int:0"], "float 3"),
        ("POWER", &["int:2", "int:10"], "int 1024"),
        (
            "POWER",
            &["int:2", "int:31"],
            "232: Arithmetic overflow error for type int, value = 2147483648.000000.",
        ),
        ("POWER", &["numeric(3,1):2.5", "int:2"], "numeric(38,1) 6.3"),
        (
            "POWER",
            &["float:2", "float:0.5"],
            "float 1.4142135623730951",
        ),
        ("SQRT", &["int:16"], "float 4"),
        (
            "SQRT",
            &["int:-1"],
            "3623: An invalid floating point operation occurred.",
        ),
        ("SIGN", &["numeric(5,2):-3"], "numeric(5,2) -1.00"),
        ("SIGN", &["int:0"], "int 0"),
        ("LOG", &["float:1"], "float 0"),
        ("LOG", &["float:8", "int:2"], "float 3"),
        (
            "LOG",
            &["float:0"],
            "3623: An invalid floating point operation occurred.",
        ),
        ("LOG10", &["int:100"], "float 2"),
        ("EXP", &["int:0"], "float 1"),
        ("DEGREES", &["float:3.141592653589793"], "float 180"),
        ("ATN2", &["int:0", "int:1"], "float 0"),
        (
            "ACOS",
            &["int:2"],
            "3623: An invalid floating point operation occurred.",
        ),
        ("PI", &[], "float 3.141592653589793"),
        ("SQUARE", &["int:3"], "float 9"),
        ("SIN", &["int:0"], "float 0"),
    ]);
    assert!(call("RAND", &["int:1"]).starts_with("float 0.71359199321292"));
}

#[test]
fn dates_moved_and_compared() {
    check(&[
        (
            "DATEADD",
            &["'month", "int:1", "date:2020-01-31"],
            "date 2020-02-29",
        ),
        (
            "DATEADD",
            &["'yy", "int:-1", "datetime:2020-02-29"],
            "datetime 2019-02-28 00:00:00.000",
        ),
        (
            "DATEADD",
            &["'hour", "int:25", "datetime2(0):2020-01-01"],
            "datetime2(0) 2020-01-02 01:00:00",
        ),
        (
            "DATEADD",
            &["'week", "int:2", "varchar(20):20200101"],
            "datetime 2020-01-15 00:00:00.000",
        ),
        (
            "DATEADD",
            &["'ms", "int:2", "datetime:2020-01-01"],
            "datetime 2020-01-01 00:00:00.003",
        ),
        (
            "DATEADD",
            &["'ns", "int:149", "datetime2(7):2020-01-01"],
            "datetime2(7) 2020-01-01 00:00:00.0000001",
        ),
        (
            "DATEADD",
            &["'hour", "int:3", "time(0):23:00"],
            "time(0) 02:00:00",
        ),
        (
            "DATEADD",
            &["'hour", "int:-3", "time(0):01:00"],
            "time(0) 22:00:00",
        ),
        ("DATEADD", &["'day", "NULL", "date:2020-01-31"], "date NULL"),
        (
            "DATEADD",
            &["'day", "int:1", "date:9999-12-31"],
            "517: Adding a value to a 'date' column caused an overflow.",
        ),
        (
            "DATEADD",
            &["'hour", "int:1", "date:2020-01-01"],
            "9810: The datepart hour is not supported by date function dateadd for data type date.",
        ),
        (
            "DATEADD",
            &["'fortnight", "int:1", "date:2020-01-01"],
            "155: 'fortnight' is not a recognized dateadd option.",
        ),
        (
            "DATEDIFF",
            &["'year", "date:2005-12-31", "date:2006-01-01"],
            "int 1",
        ),
        (
            "DATEDIFF",
            &["'month", "date:2020-03-31", "date:2020-01-01"],
            "int -2",
        ),
        (
            "DATEDIFF",
            &["'quarter", "date:2019-12-31", "date:2020-04-01"],
            "int 2",
        ),
        (
            "DATEDIFF",
            &["'week", "date:2020-01-04", "date:2020-01-05"],
            "int 1",
        ),
        (
            "DATEDIFF",
            &["'day", "datetime:2020-01-01 23:59:59", "date:2020-01-02"],
            "int 1",
        ),
        (
            "DATEDIFF",
            &["'hour", "time(0):01:59", "time(0):02:00"],
            "int 1",
        ),
        (
            "DATEDIFF",
            &["'second", "date:1900-01-01", "date:2020-01-01"],
            "535: The datediff function resulted in an overflow. The number of dateparts separating two \
             date/time instances is too large. Try to use datediff with a less precise datepart.",
        ),
        (
            "DATEDIFF_BIG",
            &["'second", "date:1900-01-01", "date:2020-01-01"],
            "bigint 3786825600",
        ),
        ("EOMONTH", &["date:2020-02-01"], "date 2020-02-29"),
        (
            "EOMONTH",
            &["varchar(20):2020-01-15", "int:1"],
            "date 2020-02-29",
        ),
        (
            "SWITCHOFFSET",
            &[
                "datetimeoffset(0):2020-01-01 00:00 +00:00",
                "varchar(6):-05:00",
            ],
            "datetimeoffset(0) 2019-12-31 19:00:00 -05:00",
        ),
        (
            "TODATETIMEOFFSET",
            &["datetime2(0):2020-01-01 00:00", "int:60"],
            "datetimeoffset(0) 2020-01-01 00:00:00 +01:00",
        ),
        (
            "TODATETIMEOFFSET",
            &["datetime2(0):2020-01-01 00:00", "varchar(9):+15:00"],
            "9812: The timezone provided to builtin function todatetimeoffset is invalid.",
        ),
    ]);
}

#[test]
fn dates_taken_apart_and_put_together() {
    check(&[
        ("DATEPART", &["'weekday", "date:2007-04-21"], "int 7"),
        ("DATEPART", &["'dy", "date:2020-12-31"], "int 366"),
        (
            "DATEPART",
            &["'ns", "time(7):00:00:00.1234567"],
            "int 123456700",
        ),
        (
            "DATEPART",
            &["'tz", "datetimeoffset(0):2020-01-01 00:00 -01:30"],
            "int -90",
        ),
        (
            "DATEPART",
            &["'year", "time(0):12:00"],
            "9810: The datepart year is not supported by date function datepart for data type time.",
        ),
        (
            "DATENAME",
            &["'month", "date:2007-10-30"],
            "nvarchar(30) October",
        ),
        (
            "DATENAME",
            &["'dw", "datetime:2007-10-30"],
            "nvarchar(30) Tuesday",
        ),
        (
            "DATENAME",
            &["'year", "varchar(20):2007-10-30"],
            "nvarchar(30) 2007",
        ),
        ("YEAR", &["datetime:2007-10-30"], "int 2007"),
        ("MONTH", &["int:31"], "int 2"),
        ("DAY", &["varchar(20):30 Oct 2007"], "int 30"),
        (
            "DATEFROMPARTS",
            &["int:2020", "int:2", "int:29"],
            "date 2020-02-29",
        ),
        (
            "DATEFROMPARTS",
            &["int:2019", "int:2", "int:29"],
            "289: Cannot construct data type date, some of the arguments have values which are not valid.",
        ),
        (
            "TIMEFROMPARTS",
            &["int:14", "int:23", "int:44", "int:5", "int:1"],
            "time(1) 14:23:44.5",
        ),
        (
            "DATETIMEFROMPARTS",
            &[
                "int:2010", "int:12", "int:31", "int:23", "int:59", "int:59", "int:0",
            ],
            "datetime 2010-12-31 23:59:59.000",
        ),
        (
            "DATETIME2FROMPARTS",
            &[
                "int:2011", "int:8", "int:15", "int:14", "int:23", "int:44", "int:50", "int:3",
            ],
            "datetime2(3) 2011-08-15 14:23:44.050",
        ),
        (
            "SMALLDATETIMEFROMPARTS",
            &["int:2010", "int:12", "int:31", "int:23", "int:59"],
            "smalldatetime 2010-12-31 23:59:00",
        ),
        ("ISDATE", &["varchar(20):2009-05-12 10:19:41"], "int 1"),
        ("ISDATE", &["varchar(20):2009-02-30"], "int 0"),
        ("ISDATE", &["varchar(20):x"], "int 0"),
        ("GETDATE", &[], "datetime 2020-03-01 00:30:15.123"),
        ("GETUTCDATE", &[], "datetime 2020-02-29 22:30:15.123"),
        (
            "SYSDATETIME",
            &[],
            "datetime2(7) 2020-03-01 00:30:15.1234567",
        ),
        (
            "SYSDATETIMEOFFSET",
            &[],
            "datetimeoffset(7) 2020-03-01 00:30:15.1234567 +02:00",
        ),
        ("current_timestamp", &[], "datetime 2020-03-01 00:30:15.123"),
    ]);
}

#[test]
fn null_choices_hashes_and_identifiers() {
    check(&[
        ("ISNULL", &["NULL", "int:5"], "int 5"),
        (
            "ISNULL",
            &["varchar(2):ab", "varchar(9):xyz"],
            "varchar(2) ab",
        ),
        (
            "COALESCE",
            &["NULL", "int:5", "numeric(5,2):1"],
            "numeric(12,2) 5.00",
        ),
        (
            "COALESCE",
            &["NULL", "NULL"],
            "4127: At least one of the arguments to COALESCE must be an expression that is not the NULL \
             constant.",
        ),
        ("NULLIF", &["int:5", "varchar(3):5"], "int NULL"),
        (
            "NULLIF",
            &["varchar(3):a", "varchar(3):A "],
            "varchar(3) NULL",
        ),
        ("NULLIF", &["int:5", "int:6"], "int 5"),
        ("IIF", &["bit:1", "int:1", "float:2"], "float 1"),
        ("IIF", &["bit:0", "int:1", "float:2"], "float 2"),
        (
            "CHOOSE",
            &["int:2", "varchar(2):a", "varchar(5):b"],
            "varchar(5) b",
        ),
        (
            "CHOOSE",
            &["int:9", "varchar(2):a", "varchar(5):b"],
            "varchar(5) NULL",
        ),
        ("ISNUMERIC", &["varchar(9):1e5"], "int 1"),
        ("ISNUMERIC", &["varchar(9):$1,2.5"], "int 1"),
        ("ISNUMERIC", &["varchar(9):abc"], "int 0"),
        ("ISNUMERIC", &["varchar(9):"], "int 0"),
        ("ISNUMERIC", &["varchar(9):."], "int 1"),
        ("ISNUMERIC", &["int:5"], "int 1"),
        ("ISNUMERIC", &["date:2020-01-01"], "int 0"),
        (
            "NEWID",
            &[],
            "uniqueidentifier 55555555-5555-4555-9555-555555555555",
        ),
        ("CHECKSUM", &["int:-5"], "int -5"),
        ("CHECKSUM", &["int:1", "int:2"], "int 18"),
        ("BINARY_CHECKSUM", &["varchar(3):ab"], "int 1650"),
        (
            "HASHBYTES",
            &["varchar(9):MD5", "varchar(9):abc"],
            "varbinary(8000) 0x900150983CD24FB0D6963F7D28E17F72",
        ),
        (
            "HASHBYTES",
            &["varchar(9):sha1", "varchar(9):abc"],
            "varbinary(8000) 0xA9993E364706816ABA3E25717850C26C9CD0D89D",
        ),
        (
            "HASHBYTES",
            &["varchar(9):x", "varchar(9):abc"],
            "varbinary(8000) NULL",
        ),
        ("LEN", &[], "174: The len function requires 1 argument(s)."),
        (
            "NO_SUCH",
            &[],
            "195: 'NO_SUCH' is not a recognized built-in function name.",
        ),
    ]);
    assert_eq!(
        call("CHECKSUM", &["varchar(9):Ab "]),
        call("CHECKSUM", &["varchar(9):aB"])
    );
    assert!(call("NEWSEQUENTIALID", &[]).starts_with("302: The newsequentialid() built-in"));
}

/// Every function, called with every combination of types that it takes, gives a value of the type it said,
/// NULL, or a message; never a panic.
#[test]
fn every_function_takes_or_refuses_every_type() {
    let samples = [
        "bit:1",
        "tinyint:7",
        "smallint:-3",
        "int:12",
        "bigint:-9",
        "numeric(9,3):1.125",
        "money:2.5",
        "smallmoney:-2.5",
        "real:0.5",
        "float:-1.5",
        "date:2020-02-29",
        "time(3):12:34:56.789",
        "datetime:2020-02-29 12:00",
        "datetime2(5):2020-02-29 12:00",
        "smalldatetime:2020-02-29",
        "datetimeoffset(0):2020-02-29 12:00 +01:00",
        "char(5):ab",
        "varchar(9):5",
        "nchar(3):7",
        "nvarchar(9):\u{20AC}",
        "varchar(max):x",
        "varbinary(9):0x0102",
        "binary(2):0x31",
        "uniqueidentifier:6F9619FF-8B86-D011-B42D-00C04FC964FF",
        "NULL",
    ];
    let mut taken = 0;
    for function in all() {
        for count in function.least..=function.most.min(3) {
            for (first, a) in samples.iter().enumerate() {
                for (second, b) in samples.iter().enumerate() {
                    let third = samples[(first * 7 + second * 3) % samples.len()];
                    let mut arguments = vec![*a, *b, third];
                    arguments.truncate(count);
                    if function.takes_date_part {
                        arguments[0] = "'day";
                    }
                    let shown = call(function.name, &arguments);
                    taken += usize::from(!shown.contains(": "));
                    if count < 2 {
                        break;
                    }
                }
            }
        }
    }
    assert!(taken > 5000, "{taken}");
    assert!(find("len").is_some_and(|row| row.category == Category::String));
    assert_eq!(TypeId::ALL.len(), 31);
}
