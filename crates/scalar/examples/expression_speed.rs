//! How fast operators, comparisons, conversions and functions run: million operations a second on one core,
//! the best of some rounds.

#![expect(clippy::unwrap_used, reason = "an example fails by panicking")]

use std::hint::black_box;

use furrow_io::time::Moment;
use furrow_scalar::convert::Conversion;
use furrow_scalar::ops::{BinaryOp, CompareOp, bind_binary, bind_compare};
use furrow_scalar::{Operand, Settings, functions};
use furrow_types::{DataType, Decimal, TypeId, Value};

const ROUNDS: usize = 5;
const ROWS: usize = 1_000_000;

/// The best of some rounds, in million operations a second.
fn measure(name: &str, mut run: impl FnMut(usize)) {
    let best = (0..ROUNDS)
        .map(|_| {
            let start = Moment::now();
            for row in 0..ROWS {
                run(row);
            }
            start.elapsed_ns().max(1)
        })
        .min()
        .unwrap();
    println!(
        "{name:32} {:8.1} million/s",
        ROWS as f64 * 1000.0 / best as f64
    );
}

fn main() {
    let settings = Settings::US_ENGLISH;
    let int = Operand::column(DataType::simple(TypeId::Int));
    let numeric = Operand::column(DataType::decimal(TypeId::Numeric, 9, 2).unwrap());
    let text = Operand::column(DataType::sized(TypeId::VarChar, 20));

    let ints: Vec<Value> = (0..1024).map(Value::Int).collect();
    let numbers: Vec<Value> = (0..1024)
        .map(|n| {
            Value::Decimal(Decimal {
                unscaled: n,
                scale: 2,
            })
        })
        .collect();
    let texts: Vec<Value> = (0..1024)
        .map(|n| Value::VarChar(format!("Customer {n}")))
        .collect();

    let add = bind_binary(BinaryOp::Add, &int, &int).unwrap();
    measure("int + int", |row| {
        let (a, b) = (&ints[row & 1023], &ints[(row + 7) & 1023]);
        black_box(add.eval(a, b, &settings).unwrap());
    });
    let less = bind_compare(CompareOp::Less, &int, &int).unwrap();
    measure("int < int", |row| {
        let (a, b) = (&ints[row & 1023], &ints[(row + 7) & 1023]);
        black_box(less.eval(a, b, &settings).unwrap());
    });
    let product = bind_binary(BinaryOp::Multiply, &numeric, &numeric).unwrap();
    measure("numeric(9,2) * numeric(9,2)", |row| {
        let (a, b) = (&numbers[row & 1023], &numbers[(row + 7) & 1023]);
        black_box(product.eval(a, b, &settings).unwrap());
    });
    let same = bind_compare(CompareOp::Equal, &text, &text).unwrap();
    measure("varchar = varchar (12 letters)", |row| {
        let (a, b) = (&texts[row & 1023], &texts[(row + 1) & 1023]);
        black_box(same.eval(a, b, &settings).unwrap());
    });
    let to_text = Conversion::explicit(int.data_type, text.data_type, None).unwrap();
    measure("CAST(int AS varchar)", |row| {
        black_box(to_text.apply(&ints[row & 1023], &settings).unwrap());
    });
    let mut random = || [7; 16];
    let now = furrow_types::DateTimeOffset {
        utc: furrow_types::DateTime::EPOCH.to_datetime2(),
        offset_minutes: 0,
    };
    let mut env = furrow_scalar::Env::new(now, &mut random);
    let abs = functions::resolve("ABS", &[int]).unwrap();
    measure("ABS(int)", |row| {
        black_box(abs.eval(&mut env, &[&ints[row & 1023]]).unwrap());
    });
    let len = functions::resolve("LEN", &[text]).unwrap();
    measure("LEN(varchar)", |row| {
        black_box(len.eval(&mut env, &[&texts[row & 1023]]).unwrap());
    });
}
