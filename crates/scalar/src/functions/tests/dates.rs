//! Functions of dates and times.

use super::{Case, check};

const DATES_MOVED_AND_COMPARED: &[Case] = &[
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
];

#[test]
fn dates_moved_and_compared() {
    check(DATES_MOVED_AND_COMPARED);
}

const DATES_TAKEN_APART_AND_PUT_TOGETHER: &[Case] = &[
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
        "DATEDIFF",
        &["'iso_week", "date:2007-10-30", "date:2007-10-30"],
        "9806: The datepart iso_week is not supported by date function datediff.",
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
];

#[test]
fn dates_taken_apart_and_put_together() {
    check(DATES_TAKEN_APART_AND_PUT_TOGETHER);
}
