//! Functions of numbers.

use super::{Case, call, check};

const NUMBERS: &[Case] = &[
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
    ("EXP", &["int:1"], "float 2.718281828459045"),
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
];

#[test]
fn numbers() {
    check(NUMBERS);
    assert!(call("RAND", &["int:1"]).starts_with("float 0.71359199321292"));
}
