//! Markers in message texts, and their replacement by arguments.
//!
//! A marker is `%`, flags (`#`, `0`, `-`), a width, a precision (`.*` or `.n`), a size (`l`, `h`, `I64`)
//! and a letter, or one of the names `S_PGID`, `S_MSG`, `S_LSN`, `S_XID`. `%.*ls` takes one argument:
//! its length belongs to the string. `%%` is a percent sign.

/// A value for a marker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Arg {
    /// Text, for `%s`, `%ls`, `%.*ls`, `%hs` and `%S_MSG`.
    Text(String),
    /// A whole number, for `%d`, `%ld`, `%I64d`, `%u`, `%x` and the like.
    Int(i64),
    /// A page, for `%S_PGID`.
    Page {
        /// Its file.
        file: u16,
        /// Its number in the file.
        page: u32,
    },
}

impl Arg {
    /// A page.
    pub fn page(file: u16, page: u32) -> Arg {
        Arg::Page { file, page }
    }
}

impl From<&str> for Arg {
    fn from(text: &str) -> Arg {
        Arg::Text(text.to_owned())
    }
}

impl From<String> for Arg {
    fn from(text: String) -> Arg {
        Arg::Text(text)
    }
}

macro_rules! arg_from_small_numbers {
    ($( $Int:ty ),+) => { $(
        impl From<$Int> for Arg {
            fn from(number: $Int) -> Arg {
                Arg::Int(i64::from(number))
            }
        }
    )+ };
}

arg_from_small_numbers!(u8, i16, u16, i32, u32, i64);

impl From<u64> for Arg {
    /// Numbers above the largest `i64` keep their bits, so that `%I64u` and `%I64x` print them correctly.
    fn from(number: u64) -> Arg {
        Arg::Int(number.cast_signed())
    }
}

impl From<usize> for Arg {
    fn from(number: usize) -> Arg {
        Arg::from(number as u64)
    }
}

impl std::fmt::Display for Arg {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Arg::Text(text) => f.write_str(text),
            Arg::Int(number) => number.fmt(f),
            Arg::Page { file, page } => write!(f, "({file}:{page})"),
        }
    }
}

/// A parsed marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Marker {
    alternate: bool,
    zeros: bool,
    left: bool,
    width: usize,
    precision: Option<usize>,
    wide: bool,
    letter: char,
}

/// A piece of a text.
enum Piece<'a> {
    Plain(&'a str),
    Percent,
    Marker(Marker),
}

/// The number of arguments that a text takes; `None` if it has an unknown marker.
pub(crate) fn arity(text: &str) -> Option<usize> {
    let mut wanted = 0;
    let mut rest = text;
    while let Some((piece, after)) = next_piece(rest)? {
        wanted += usize::from(matches!(piece, Piece::Marker(_)));
        rest = after;
    }
    Some(wanted)
}

/// The text with its markers replaced; a marker without an argument prints `(null)`.
pub(crate) fn fill(text: &str, args: &[Arg]) -> String {
    let mut out = String::with_capacity(text.len() + 16 * args.len());
    let mut args = args.iter();
    let mut rest = text;
    while let Some(Some((piece, after))) = next_piece(rest) {
        match piece {
            Piece::Plain(plain) => out.push_str(plain),
            Piece::Percent => out.push('%'),
            Piece::Marker(marker) => match args.next() {
                Some(arg) => put(&mut out, marker, arg),
                None => out.push_str("(null)"),
            },
        }
        rest = after;
    }
    // Not empty only behind an unknown marker, which is printed unchanged.
    out.push_str(rest);
    out
}

/// The next piece and the rest. The outer `None` means an unknown marker, the inner one the end of the text.
fn next_piece(text: &str) -> Option<Option<(Piece<'_>, &str)>> {
    if text.is_empty() {
        return Some(None);
    }
    let Some(at) = text.find('%') else {
        return Some(Some((Piece::Plain(text), "")));
    };
    if at > 0 {
        let (plain, rest) = text.split_at(at);
        return Some(Some((Piece::Plain(plain), rest)));
    }
    let rest = text.strip_prefix('%')?;
    if let Some(rest) = rest.strip_prefix('%') {
        return Some(Some((Piece::Percent, rest)));
    }
    let (marker, rest) = parse_marker(rest)?;
    Some(Some((Piece::Marker(marker), rest)))
}

fn parse_marker(text: &str) -> Option<(Marker, &str)> {
    let mut marker = Marker {
        alternate: false,
        zeros: false,
        left: false,
        width: 0,
        precision: None,
        wide: false,
        letter: 's',
    };
    for name in ["S_PGID", "S_MSG", "S_LSN", "S_XID"] {
        if let Some(rest) = text.strip_prefix(name) {
            return Some((marker, rest));
        }
    }
    let mut rest = text;
    loop {
        match rest.as_bytes().first()? {
            b'#' => marker.alternate = true,
            b'0' => marker.zeros = true,
            b'-' => marker.left = true,
            _ => break,
        }
        rest = &rest[1..];
    }
    (marker.width, rest) = number(rest);
    if let Some(after) = rest.strip_prefix('.') {
        rest = match after.strip_prefix('*') {
            Some(after) => after,
            None => {
                let (precision, after) = number(after);
                marker.precision = Some(precision);
                after
            }
        };
    }
    if let Some(after) = rest.strip_prefix("I64") {
        (marker.wide, rest) = (true, after);
    } else if let Some(after) = rest.strip_prefix(['l', 'h']) {
        rest = after;
    }
    let letter = rest
        .chars()
        .next()
        .filter(|letter| "disuxXpc".contains(*letter))?;
    marker.letter = letter;
    Some((marker, &rest[1..]))
}

fn number(text: &str) -> (usize, &str) {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    (digits.parse().unwrap_or(0), rest)
}

fn put(out: &mut String, marker: Marker, arg: &Arg) {
    let number = match arg {
        Arg::Int(number) => *number,
        other => return pad(out, marker, &clip(marker, other.to_string()), false),
    };
    // Markers without I64 print 32 bits, as SQL Server does.
    let bits = if marker.wide || number >= 0 {
        number.cast_unsigned()
    } else {
        u64::from(number.cast_unsigned() as u32)
    };
    // As in C, the prefix of a zero is omitted.
    let prefix = if marker.alternate && bits != 0 {
        "0x"
    } else {
        ""
    };
    match marker.letter {
        'u' => pad(out, marker, &bits.to_string(), marker.zeros),
        'x' | 'p' => {
            let digits = format!("{bits:x}");
            let room = marker.width.saturating_sub(prefix.len());
            let zeros = if marker.zeros { room } else { 0 };
            pad(out, marker, &format!("{prefix}{digits:0>zeros$}"), false);
        }
        'X' => pad(out, marker, &format!("{prefix}{bits:X}"), marker.zeros),
        _ => pad(out, marker, &number.to_string(), marker.zeros),
    }
}

fn clip(marker: Marker, text: String) -> String {
    match marker.precision {
        Some(most) => text.chars().take(most).collect(),
        None => text,
    }
}

fn pad(out: &mut String, marker: Marker, text: &str, zeros: bool) {
    let missing = marker.width.saturating_sub(text.chars().count());
    if marker.left {
        out.push_str(text);
        out.extend(std::iter::repeat_n(' ', missing));
        return;
    }
    if let (true, Some(digits)) = (zeros, text.strip_prefix('-')) {
        out.push('-');
        out.extend(std::iter::repeat_n('0', missing));
        out.push_str(digits);
        return;
    }
    out.extend(std::iter::repeat_n(if zeros { '0' } else { ' ' }, missing));
    out.push_str(text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_and_numbers_fill_their_markers() {
        let args = [
            Arg::from("T1"),
            Arg::from(-7),
            Arg::from(1u64 << 40),
            Arg::page(1, 153),
        ];
        assert_eq!(
            fill("a '%.*ls' %d %I64d %S_PGID b", &args),
            "a 'T1' -7 1099511627776 (1:153) b"
        );
        assert_eq!(
            fill("%hs|%ls|%s|%S_MSG", &["a", "b", "c", "d"].map(Arg::from)),
            "a|b|c|d"
        );
        assert_eq!(fill("100%% of %d", &[Arg::from(3)]), "100% of 3");
    }

    #[test]
    fn widths_zeros_and_prefixes_are_those_of_c() {
        assert_eq!(
            fill("%#016I64x", &[Arg::from(0x132000u64)]),
            "0x00000000132000"
        );
        assert_eq!(fill("%#016I64x", &[Arg::from(0u64)]), "0000000000000000");
        assert_eq!(fill("%08x", &[Arg::from(0xabcu32)]), "00000abc");
        assert_eq!(fill("%08x", &[Arg::from(-2)]), "fffffffe");
        assert_eq!(fill("%d.%03d", &[Arg::from(0), Arg::from(29)]), "0.029");
        assert_eq!(
            fill("%05d|%5d|%-5d|", &[-42, -42, -42].map(Arg::from)),
            "-0042|  -42|-42  |"
        );
        assert_eq!(
            fill("%I64u", &[Arg::from(u64::MAX)]),
            "18446744073709551615"
        );
        assert_eq!(fill("0x%p", &[Arg::from(0x1cu64)]), "0x1c");
        assert_eq!(fill("%.3ls", &[Arg::from("abcdef")]), "abc");
    }

    #[test]
    fn a_missing_argument_prints_null_and_one_too_many_nothing() {
        assert_eq!(fill("%d and %ls", &[Arg::from(1)]), "1 and (null)");
        assert_eq!(fill("plain", &[Arg::from(1)]), "plain");
    }

    #[test]
    fn unknown_markers_are_reported() {
        assert_eq!(arity("a %d b %ls %% %S_PGID"), Some(3));
        assert_eq!(arity("%q"), None);
        assert_eq!(fill("%d %q", &[Arg::from(1)]), "1 %q");
        assert_eq!(arity("trailing %"), None);
    }
}
