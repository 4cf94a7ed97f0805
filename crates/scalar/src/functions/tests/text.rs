//! Functions of text.

use super::{Case, call, check};
use crate::functions::string_find::replaced;
use furrow_types::Collation;

const PARTS_AND_LENGTHS_OF_TEXT: &[Case] = &[
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
];

#[test]
fn parts_and_lengths_of_text() {
    check(PARTS_AND_LENGTHS_OF_TEXT);
}

const TEXT_SOUGHT_IN_TEXT: &[Case] = &[
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
];

#[test]
fn text_sought_in_text() {
    check(TEXT_SOUGHT_IN_TEXT);
}

const TEXT_MADE_OF_SOMETHING: &[Case] = &[
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
    ("STR", &["float:-2.5"], "varchar(10)         -3"),
    (
        "STR",
        &["float:1e20", "int:30", "int:3"],
        "varchar(30)      100000000000000000000.000",
    ),
    (
        "STR",
        &["float:1000000000000000.25", "int:20", "int:2"],
        "varchar(20)  1000000000000000.25",
    ),
    (
        "STR",
        &["float:0.125", "int:5", "int:2"],
        "varchar(5)  0.13",
    ),
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
];

#[test]
fn text_made_of_something() {
    check(TEXT_MADE_OF_SOMETHING);
}

#[test]
fn texts_that_become_too_long_are_refused_before_they_are_made() {
    let refused = "7119: Attempting to grow LOB beyond maximum allowed size of 12 bytes.";
    crate::room::limited(12, || {
        check(&[
            (
                "REPLICATE",
                &["varchar(max):abcd", "int:3"],
                "varchar(max) abcdabcdabcd",
            ),
            ("REPLICATE", &["varchar(max):abcde", "int:3"], refused),
            ("REPLICATE", &["nvarchar(max):abcd", "int:2"], refused),
            (
                "REPLICATE",
                &["varchar(max):", "int:2147483647"],
                "varchar(max) ",
            ),
            (
                "REPLACE",
                &["varchar(max):aXa", "varchar(9):a", "varchar(9):bbbbb"],
                "varchar(max) bbbbbXbbbbb",
            ),
            (
                "REPLACE",
                &["varchar(max):aXa", "varchar(9):a", "varchar(9):bbbbbb"],
                refused,
            ),
            (
                "CONCAT",
                &["varchar(max):abcdef", "varchar(9):ghijkl"],
                "varchar(max) abcdefghijkl",
            ),
            (
                "CONCAT",
                &["varchar(max):abcdef", "varchar(9):ghijklm"],
                refused,
            ),
            (
                "CONCAT_WS",
                &["varchar(max):,", "varchar(9):abcdef", "int:12345"],
                "varchar(max) abcdef,12345",
            ),
            (
                "CONCAT_WS",
                &["varchar(max):,", "varchar(9):abcdef", "int:123456"],
                refused,
            ),
            (
                "STUFF",
                &["varchar(max):abcdef", "int:2", "int:0", "varchar(9):ghijkl"],
                "varchar(max) aghijklbcdef",
            ),
            (
                "STUFF",
                &[
                    "varchar(max):abcdef",
                    "int:2",
                    "int:0",
                    "varchar(9):ghijklm",
                ],
                refused,
            ),
            (
                "STRING_ESCAPE",
                &["varchar(9):\"\"\"\"", "varchar(9):json"],
                refused,
            ),
        ]);
    });
}

#[test]
fn what_does_not_fit_is_not_made_by_replace() {
    let long = "a".repeat(8000);
    let made = replaced(&long, "a", &long, Collation::DEFAULT, false, Some(8000)).unwrap();
    assert!((8001..=16_000).contains(&made.len()), "{}", made.len());
    let long = format!("varchar(8000):{long}");
    let result = call("REPLACE", &[&long, "varchar(1):a", &long]);
    assert_eq!(result.len(), "varchar(8000) ".len() + 8000);
}
