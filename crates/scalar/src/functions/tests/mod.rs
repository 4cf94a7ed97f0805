//! Functions by golden values: type and value of a call, or number and text of its error.

mod dates;
mod numbers;
mod system;
mod text;

use super::*;
use crate::testing::data_type;
use furrow_types::{Date, DateTime2, DateTimeOffset, Time, TypeId, cast, parse_value};

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

/// Function, arguments, outcome.
type Case = (&'static str, &'static [&'static str], &'static str);

fn check(cases: &[Case]) {
    for (name, arguments, expected) in cases {
        assert_eq!(
            call(name, arguments),
            *expected,
            "{name}({})",
            arguments.join(", ")
        );
    }
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
