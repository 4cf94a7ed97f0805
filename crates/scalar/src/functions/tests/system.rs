//! NULL, choices, hashes and identifiers.

use super::{Case, call, check};

const NULL_CHOICES_HASHES_AND_IDENTIFIERS: &[Case] = &[
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
    (
        "GREATEST",
        &["varchar(4):6.62", "numeric(5,4):3.1415", "nvarchar(1):7"],
        "numeric(5,4) 7.0000",
    ),
    ("GREATEST", &["int:3", "NULL", "bigint:2"], "bigint 3"),
    ("GREATEST", &["NULL", "NULL"], "int NULL"),
    (
        "LEAST",
        &["varchar(5):Glac", "varchar(9):Joshua", "varchar(9):Abc"],
        "varchar(9) Abc",
    ),
    (
        "LEAST",
        &["date:2020-01-02", "date:2020-01-01"],
        "date 2020-01-01",
    ),
    (
        "LEAST",
        &[],
        "189: The least function requires 1 to 254 arguments.",
    ),
    (
        "GREATEST",
        &["text:a"],
        "8116: Argument data type text is invalid for argument 1 of greatest function.",
    ),
    ("ISNUMERIC", &["varchar(9):1e5"], "int 1"),
    ("ISNUMERIC", &["varchar(9):$1,2.5"], "int 1"),
    ("ISNUMERIC", &["varchar(9):abc"], "int 0"),
    ("ISNUMERIC", &["varchar(9):"], "int 0"),
    ("ISNUMERIC", &["varchar(9):."], "int 1"),
    ("ISNUMERIC", &["int:5"], "int 1"),
    ("ISNUMERIC", &["varchar(9):\t"], "int 1"),
    ("ISNUMERIC", &["varchar(9):\n"], "int 1"),
    ("ISNUMERIC", &["varchar(9):\u{B}"], "int 1"),
    ("ISNUMERIC", &["varchar(9):\u{C}"], "int 1"),
    ("ISNUMERIC", &["varchar(9):\r"], "int 1"),
    ("ISNUMERIC", &["varchar(9):\u{A0}"], "int 1"),
    ("ISNUMERIC", &["varchar(9):\\"], "int 1"),
    ("ISNUMERIC", &["varchar(9): "], "int 0"),
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
];

#[test]
fn null_choices_hashes_and_identifiers() {
    check(NULL_CHOICES_HASHES_AND_IDENTIFIERS);
    assert_eq!(
        call("CHECKSUM", &["varchar(9):Ab "]),
        call("CHECKSUM", &["varchar(9):aB"])
    );
    assert!(call("NEWSEQUENTIALID", &[]).starts_with("302: The newsequentialid() built-in"));
}
