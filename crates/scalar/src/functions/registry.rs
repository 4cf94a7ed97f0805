//! The table of functions.

use super::{
    Category, Function, date, date_trunc, hash, json, math, string, string_find, string_make,
    system,
};

/// Makes the rows: `NAME(arguments) least..=most -> "returns", binder, [flags] "summary";`.
macro_rules! functions {
    ($category:ident: $( $name:literal $arguments:literal $least:literal $most:literal
        $returns:literal $bind:path $(, $flag:ident)* ; $summary:literal; )+) => {
        &[ $( Function {
            name: $name,
            category: Category::$category,
            arguments: $arguments,
            least: $least,
            most: $most,
            returns: $returns,
            deterministic: !has_flag("varies", &[$(stringify!($flag)),*]),
            takes_date_part: has_flag("part", &[$(stringify!($flag)),*]),
            lazy: has_flag("lazy", &[$(stringify!($flag)),*]),
            summary: $summary,
            bind: $bind,
        }, )+ ]
    };
}

const fn has_flag(name: &str, flags: &[&str]) -> bool {
    let mut rest = flags;
    while let [flag, others @ ..] = rest {
        if same(flag.as_bytes(), name.as_bytes()) {
            return true;
        }
        rest = others;
    }
    false
}

const fn same(mut a: &[u8], mut b: &[u8]) -> bool {
    loop {
        match (a, b) {
            ([], []) => return true,
            ([x, rest_a @ ..], [y, rest_b @ ..]) if *x == *y => {
                a = rest_a;
                b = rest_b;
            }
            _ => return false,
        }
    }
}

static STRING: &[Function] = functions! { String:
    "ASCII" "character_expression" 1 1 "int" string::ascii;
        "Code of the first character in its code page.";
    "CHAR" "integer_expression" 1 1 "char(1)" string_make::char_of;
        "The character of a code from 0 to 255; NULL for another code.";
    "CHARINDEX" "sought, text [, start]" 2 3 "int; bigint for (max)" string_find::charindex;
        "The position of a text in another one, from 1; 0 if it does not occur.";
    "CONCAT" "a, b [, ...]" 2 254 "varchar or nvarchar" string_make::concat;
        "All arguments as text, one after the other; NULL counts as empty.";
    "CONCAT_WS" "separator, a, b [, ...]" 3 254 "varchar or nvarchar" string_make::concat_ws;
        "All arguments that are not NULL, with a separator between them.";
    "DATALENGTH" "expression" 1 1 "int; bigint for (max)" string::datalength;
        "Bytes of a value.";
    "DIFFERENCE" "a, b" 2 2 "int" string::difference;
        "How many of the four places of two SOUNDEX codes agree.";
    "FORMAT" "value, format [, culture]" 2 3 "nvarchar(4000)" string_make::format, varies;
        "A number or moment in a .NET format, for the culture en-US.";
    "LEFT" "text, length" 2 2 "varchar or nvarchar" string::left;
        "The first characters; error 537 for a negative length.";
    "LEN" "text" 1 1 "int; bigint for (max)" string::len;
        "Characters of a text without the blanks at its end.";
    "LOWER" "text" 1 1 "varchar or nvarchar" string::lower;
        "The text in lower case.";
    "LTRIM" "text [, characters]" 1 2 "varchar or nvarchar" string::ltrim;
        "The text without blanks (or other characters) at the start.";
    "NCHAR" "integer_expression" 1 1 "nchar(1)" string_make::nchar_of;
        "The character of a UTF-16 code; NULL for another number.";
    "PATINDEX" "pattern, text" 2 2 "int; bigint for (max)" string_find::patindex;
        "The position of the first match of a LIKE pattern, from 1; 0 if there is none.";
    "QUOTENAME" "text [, quote]" 1 2 "nvarchar(258)" string_make::quotename;
        "A name in brackets or quotes; NULL over 128 characters.";
    "REPLACE" "text, sought, replacement" 3 3 "varchar(8000), nvarchar(4000) or (max)" string_find::replace;
        "Every occurrence of a text replaced by another.";
    "REPLICATE" "text, count" 2 2 "varchar(8000), nvarchar(4000) or (max)" string_make::replicate;
        "A text repeated; NULL for a negative count.";
    "REVERSE" "text" 1 1 "varchar or nvarchar" string::reverse;
        "Its characters from the last to the first.";
    "RIGHT" "text, length" 2 2 "varchar or nvarchar" string::right;
        "The last characters; error 536 for a negative length.";
    "RTRIM" "text [, characters]" 1 2 "varchar or nvarchar" string::rtrim;
        "The text without blanks (or other characters) at the end.";
    "SOUNDEX" "text" 1 1 "varchar(4)" string::soundex;
        "A code of how an English word sounds.";
    "SPACE" "count" 1 1 "varchar(8000)" string_make::space;
        "A text of blanks; NULL for a negative count.";
    "STR" "float [, length [, decimals]]" 1 3 "varchar" string_make::str;
        "A number right-aligned in a text; stars if it does not fit.";
    "STRING_ESCAPE" "text, type" 2 2 "nvarchar(max)" json::string_escape;
        "A text with the escapes of a JSON string (type 'json'), without quotation marks.";
    "STUFF" "text, start, length, replacement" 4 4 "varchar or nvarchar" string_make::stuff;
        "A text with a part of it replaced; NULL if the start is outside of it.";
    "SUBSTRING" "text, start, length" 3 3 "varchar, nvarchar or varbinary" string::substring;
        "A part of a text or of bytes; error 537 for a negative length.";
    "TRANSLATE" "text, characters, translations" 3 3 "varchar or nvarchar" string_find::translate;
        "A text with some characters replaced by others; error 9828 if their numbers differ.";
    "TRIM" "[characters FROM] text" 1 2 "varchar or nvarchar" string::trim;
        "The text without blanks (or other characters, which are passed first) at both ends.";
    "UNICODE" "ncharacter_expression" 1 1 "int" string::unicode;
        "UTF-16 code of the first character.";
    "UPPER" "text" 1 1 "varchar or nvarchar" string::upper;
        "The text in upper case.";
};

static MATH: &[Function] = functions! { Math:
    "ABS" "number" 1 1 "the argument's type" math::abs;
        "The absolute value; error 8115 for the smallest integer.";
    "ACOS" "float" 1 1 "float" math::acos;
        "Angle of a cosine; error 3623 outside -1 to 1.";
    "ASIN" "float" 1 1 "float" math::asin;
        "Angle of a sine; error 3623 outside -1 to 1.";
    "ATAN" "float" 1 1 "float" math::atan;
        "Angle of a tangent.";
    "ATN2" "y, x" 2 2 "float" math::atn2;
        "Angle of the point (x, y).";
    "CEILING" "number" 1 1 "the argument's type; numeric with scale 0" math::ceiling;
        "The smallest whole number that is not less.";
    "COS" "float" 1 1 "float" math::cos;
        "Cosine of an angle in radians.";
    "COT" "float" 1 1 "float" math::cot;
        "Cotangent of an angle in radians.";
    "DEGREES" "number" 1 1 "the argument's type" math::degrees;
        "An angle in radians as degrees.";
    "EXP" "float" 1 1 "float" math::exp;
        "e to that power.";
    "FLOOR" "number" 1 1 "the argument's type; numeric with scale 0" math::floor;
        "The largest whole number that is not greater.";
    "LOG" "float [, base]" 1 2 "float" math::log;
        "Natural logarithm, or to a base; error 3623 for a number without one.";
    "LOG10" "float" 1 1 "float" math::log10;
        "Logarithm to base 10; error 3623 for a number without one.";
    "PI" "" 0 0 "float" math::pi;
        "The number pi.";
    "POWER" "number, exponent" 2 2 "the first argument's type" math::power;
        "A number to a power.";
    "RADIANS" "number" 1 1 "the argument's type" math::radians;
        "An angle in degrees as radians.";
    "RAND" "[seed]" 0 1 "float" math::rand, varies;
        "A number between 0 and 1; the same for the same seed.";
    "ROUND" "number, length [, truncate]" 2 3 "the argument's type" math::round;
        "A number rounded (or cut off) to a number of decimals, or before the point if that is negative.";
    "SIGN" "number" 1 1 "the argument's type" math::sign;
        "-1, 0 or 1.";
    "SIN" "float" 1 1 "float" math::sin;
        "Sine of an angle in radians.";
    "SQRT" "float" 1 1 "float" math::sqrt;
        "Square root; error 3623 for a negative number.";
    "SQUARE" "float" 1 1 "float" math::square;
        "A number times itself.";
    "TAN" "float" 1 1 "float" math::tan;
        "Tangent of an angle in radians.";
};

static DATE: &[Function] = functions! { Date:
    "CURRENT_TIMESTAMP" "" 0 0 "datetime" date::getdate, varies;
        "The time of the statement, at the server's offset.";
    "DATEADD" "datepart, number, date" 3 3 "the date's type; datetime for text" date::dateadd, part;
        "A time plus a number of parts; error 517 out of the calendar.";
    "DATEDIFF" "datepart, start, end" 3 3 "int" date::datediff, part;
        "Number of boundaries of a part between two times; error 535 above int.";
    "DATEDIFF_BIG" "datepart, start, end" 3 3 "bigint" date::datediff_big, part;
        "As DATEDIFF, as bigint.";
    "DATEFROMPARTS" "year, month, day" 3 3 "date" date::datefromparts;
        "A date from its parts; error 289 for invalid parts.";
    "DATENAME" "datepart, date" 2 2 "nvarchar(30)" date::datename, part, varies;
        "A part of a time as text: names of months and weekdays.";
    "DATEPART" "datepart, date" 2 2 "int" date::datepart, part;
        "A part of a time as a number.";
    "DATETIME2FROMPARTS" "year, month, day, hour, minute, seconds, fractions, precision"
        8 8 "datetime2(precision)" date::datetime2fromparts;
        "A datetime2 from its parts; error 289 for invalid parts.";
    "DATETIMEFROMPARTS" "year, month, day, hour, minute, seconds, milliseconds"
        7 7 "datetime" date::datetimefromparts;
        "A datetime from its parts; error 289 for invalid parts.";
    "DATETIMEOFFSETFROMPARTS"
        "year, month, day, hour, minute, seconds, fractions, hour_offset, minute_offset, precision"
        10 10 "datetimeoffset(precision)" date::datetimeoffsetfromparts;
        "A datetimeoffset from its parts; error 289 for invalid parts.";
    "DATETRUNC" "datepart, date" 2 2 "the date's type; datetime2(7) for text" date_trunc::datetrunc, part;
        "The beginning of the part that contains a time.";
    "DATE_BUCKET" "datepart, number, date [, origin]" 3 4 "the date's type; datetime2(7) for text"
        date_trunc::date_bucket, part;
        "The beginning of the bucket that contains a time; buckets are counted from 1900-01-01 or an origin.";
    "DAY" "date" 1 1 "int" date::day;
        "Day of the month.";
    "EOMONTH" "start [, months]" 1 2 "date" date::eomonth;
        "The last day of the month, plus a number of months.";
    "GETDATE" "" 0 0 "datetime" date::getdate, varies;
        "The time of the statement, at the server's offset.";
    "GETUTCDATE" "" 0 0 "datetime" date::getutcdate, varies;
        "The time of the statement in UTC.";
    "ISDATE" "text" 1 1 "int" date::isdate, varies;
        "1 if a text can be converted to datetime.";
    "MONTH" "date" 1 1 "int" date::month;
        "Month from 1 to 12.";
    "SMALLDATETIMEFROMPARTS" "year, month, day, hour, minute"
        5 5 "smalldatetime" date::smalldatetimefromparts;
        "A smalldatetime from its parts; error 289 for invalid parts.";
    "SWITCHOFFSET" "datetimeoffset, offset" 2 2 "datetimeoffset" date::switchoffset;
        "The same time at another offset.";
    "SYSDATETIME" "" 0 0 "datetime2(7)" date::sysdatetime, varies;
        "The time of the statement, at the server's offset.";
    "SYSDATETIMEOFFSET" "" 0 0 "datetimeoffset(7)" date::sysdatetimeoffset, varies;
        "The time of the statement with the server's offset.";
    "SYSUTCDATETIME" "" 0 0 "datetime2(7)" date::sysutcdatetime, varies;
        "The time of the statement in UTC.";
    "TIMEFROMPARTS" "hour, minute, seconds, fractions, precision" 5 5 "time(precision)" date::timefromparts;
        "A time from its parts; error 289 for invalid parts.";
    "TODATETIMEOFFSET" "datetime, offset" 2 2 "datetimeoffset" date::todatetimeoffset;
        "A local time with its offset.";
    "YEAR" "date" 1 1 "int" date::year;
        "The year.";
};

static JSON: &[Function] = functions! { Json:
    "ISJSON" "text" 1 1 "int" json::isjson;
        "1 if a text is an object or array of JSON, otherwise 0.";
    "JSON_MODIFY" "json, path, value" 3 3 "nvarchar(max)" json::json_modify;
        "The text with another value at the end of a path; the rest does not change.";
    "JSON_PATH_EXISTS" "json, path" 2 2 "int" json::json_path_exists;
        "1 if a path exists in a text.";
    "JSON_QUERY" "json [, path]" 1 2 "nvarchar(max)" json::json_query;
        "The object or array at the end of a path, as it is written; error 13609 for invalid JSON.";
    "JSON_VALUE" "json, path" 2 2 "nvarchar(4000)" json::json_value;
        "The text, number or word at the end of a path; error 13609 for invalid JSON.";
};

static SYSTEM: &[Function] = functions! { System:
    "BINARY_CHECKSUM" "a [, ...]" 1 254 "int" hash::binary_checksum;
        "A hash of the arguments' bytes.";
    "CHECKSUM" "a [, ...]" 1 254 "int" hash::checksum;
        "A hash of the arguments: equal values hash alike.";
    "CHOOSE" "index, a [, ...]" 2 254 "the highest type of the values" system::choose, lazy;
        "The value at an index from 1; NULL if there is none.";
    "COALESCE" "a, b [, ...]" 2 254 "the highest type" system::coalesce, lazy;
        "The first value that is not NULL.";
    "GREATEST" "a [, ...]" 1 254 "the highest type of the values" system::greatest;
        "The greatest of the values that are not NULL.";
    "HASHBYTES" "algorithm, data" 2 2 "varbinary(8000)" hash::hashbytes;
        "MD5, SHA, SHA1, SHA2_256 or SHA2_512 of text or bytes; NULL for another algorithm.";
    "IIF" "condition, a, b" 3 3 "the highest type of the values" system::iif, lazy;
        "One of two values by a condition, which the binder passes as a bit.";
    "ISNULL" "value, replacement" 2 2 "the first argument's type" system::isnull, lazy;
        "The value, or a replacement in the value's type if it is NULL.";
    "ISNUMERIC" "expression" 1 1 "int" system::isnumeric;
        "1 if a text can be converted to a number of some type.";
    "LEAST" "a [, ...]" 1 254 "the highest type of the values" system::least;
        "The least of the values that are not NULL.";
    "NEWID" "" 0 0 "uniqueidentifier" system::newid, varies;
        "A random GUID.";
    "NEWSEQUENTIALID" "" 0 0 "uniqueidentifier" system::newsequentialid, varies;
        "Ascending GUIDs: as a column's default only (error 302).";
    "NULLIF" "a, b" 2 2 "the first argument's type" system::nullif, lazy;
        "NULL if both are equal, otherwise the first.";
};

/// All functions, by category and name.
pub fn all() -> impl Iterator<Item = &'static Function> {
    [STRING, MATH, DATE, JSON, SYSTEM].into_iter().flatten()
}

/// The function of a name, in any case.
pub fn find(name: &str) -> Option<&'static Function> {
    [STRING, MATH, DATE, JSON, SYSTEM]
        .into_iter()
        .find_map(|rows| {
            let order = |row: &Function| {
                let bytes = name.bytes().map(|byte| byte.to_ascii_uppercase());
                row.name.bytes().cmp(bytes)
            };
            rows.get(rows.binary_search_by(order).ok()?)
        })
}

/// The reference page of all functions.
pub fn render_markdown() -> String {
    let mut page = String::from(
        "# Functions\n\n| function | arguments | returns | deterministic | what it does |\n\
         |---|---|---|---|---|\n",
    );
    for function in all() {
        let answer = if function.deterministic { "yes" } else { "no" };
        page.push_str(&format!(
            "| `{}` | `{}` | {} | {answer} | {} |\n",
            function.name,
            if function.arguments.is_empty() {
                " "
            } else {
                function.arguments
            },
            function.returns,
            function.summary,
        ));
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_is_found_by_its_name_in_any_case_and_is_documented() {
        let page = render_markdown();
        for function in all() {
            let lower = function.name.to_lowercase();
            assert_eq!(find(&lower).map(|found| found.name), Some(function.name));
            assert!(function.least <= function.most);
            assert!(function.summary.ends_with('.'), "{}", function.name);
            assert!(page.contains(&format!("| `{}` |", function.name)));
        }
        assert!(find("NO_SUCH").is_none());
        assert_eq!(all().filter(|row| !row.deterministic).count(), 12);
    }
}
