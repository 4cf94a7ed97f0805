//! THROW and RAISERROR.

use furrow_context::error::{Origin, Result, SqlError, refuse};
use furrow_context::run::Run;
use furrow_messages::{Message, info};
use furrow_observe::errorlog::Source;
use furrow_tsql::ast::expr::Expr;
use furrow_tsql::ast::flow::Raiserror;
use furrow_types::{DataType, TypeId, Value};

/// The longest text of a user's message, in characters.
const LONGEST: usize = 2047;

fn text_of(run: &mut Run<'_>, written: &Expr) -> Result<String> {
    let text = DataType::sized(TypeId::NVarChar, 8000);
    let value = furrow_bind::evaluate_as(run, written, text)?;
    Ok(value.as_str().unwrap_or("").to_owned())
}

fn number_of(run: &mut Run<'_>, written: &Expr) -> Result<i64> {
    let int = DataType::simple(TypeId::Int);
    Ok(furrow_bind::evaluate_as(run, written, int)?
        .as_i64()
        .unwrap_or(0))
}

fn thrown(messages: Vec<Message>, procedure: Option<String>, origin: Origin) -> Box<SqlError> {
    Box::new(SqlError {
        messages,
        procedure,
        cancelled: false,
        origin,
    })
}

/// THROW: a new error, or the error that the CATCH block handles.
pub(super) fn throw(run: &mut Run<'_>, written: Option<&[Expr; 3]>) -> Result<()> {
    let Some([number, text, state]) = written else {
        let Some(caught) = run.cx.caught.last() else {
            let text = "To rethrow an error, a THROW statement must be used inside a CATCH block. Insert the \
                THROW statement inside a CATCH block, or add error parameters to the THROW statement.";
            return Err(Message::custom(10_704, 15, 1, text).into());
        };
        let messages = vec![caught.message.clone()];
        return Err(thrown(messages, caught.procedure.clone(), Origin::Thrown));
    };
    let number = number_of(run, number)?;
    let text = text_of(run, text)?;
    let state = number_of(run, state)?;
    if number < 50_000 {
        return refuse(35_100, &[number.into()]);
    }
    let state = u8::try_from(state.clamp(0, 255)).unwrap_or(0);
    let number = u32::try_from(number).unwrap_or(u32::MAX);
    let text: String = text.chars().take(LONGEST).collect();
    let message = Message::custom(number, 16, state, &text);
    Err(thrown(vec![message], None, Origin::Thrown))
}

/// RAISERROR: a user's message; from level 11 on it is an error.
pub(super) fn raiserror(run: &mut Run<'_>, written: &Raiserror) -> Result<()> {
    let [what, level, state, rest @ ..] = written.args.as_slice() else {
        return refuse(102, &["RAISERROR".into()]);
    };
    if rest.len() > 20 {
        return refuse(2747, &[20.into()]);
    }
    let (value, _) = furrow_bind::evaluate(run, what)?;
    let level = number_of(run, level)?.clamp(0, 25);
    let state = number_of(run, state)?;
    // As in SQL Server, states below 0 become 1.
    let state = if state < 0 { 1 } else { state.min(255) };
    let option = |word: &str| written.options.iter().any(|o| &**o == word);
    let (number, format) = match value.as_str() {
        Some(text) => (50_000, text.to_owned()),
        None => known_message(&value, level, state)?,
    };
    if level > 18 && !option("LOG") {
        return refuse(2754, &[]);
    }
    let mut args = Vec::new();
    for (at, arg) in rest.iter().enumerate() {
        let (value, of) = furrow_bind::evaluate(run, arg)?;
        args.push(substitute(&value, of, at + 1)?);
    }
    let text = format_message(&format, &args)?;
    let level = u8::try_from(level).unwrap_or(0);
    let message = Message::custom(number, level, u8::try_from(state).unwrap_or(1), &text);
    if option("LOG") {
        // Others may read it at once.
        run.cx.sessions.followed().settle()?;
        let source = Source::Spid(run.cx.sessions.id());
        let log = run.cx.server.instance().error_log();
        log.write_message(source, &message);
    }
    if level >= 20 {
        // The connection ends: 2745 names its process, and the user's message follows.
        let id = run.cx.sessions.id();
        let args = [id.into(), number.into(), level.into()];
        let messages = vec![Message::new(2745, &args), message];
        run.cx.sessions.activity().kill();
        return Err(thrown(messages, None, Origin::Raised));
    }
    if level > 10 {
        return Err(thrown(vec![message], None, Origin::Raised));
    }
    run.inform(message);
    run.cx.last.error = match option("SETERROR") {
        true => number,
        false => 0,
    };
    run.cx.last.rows = 0;
    Ok(())
}

/// The text of a message that RAISERROR selects by its number.
fn known_message(value: &Value, level: i64, state: i64) -> Result<(u32, String)> {
    let number = value.as_i64().unwrap_or(0);
    if number < 13_000 || number == 50_000 {
        let args = [number.into(), 13_000.into(), i64::from(i32::MAX).into()];
        return refuse(2732, &args);
    }
    let number = u32::try_from(number).unwrap_or(u32::MAX);
    match info(number) {
        Some(row) => Ok((number, row.text.to_owned())),
        None => refuse(18_054, &[number.into(), level.into(), state.into()]),
    }
}

/// A value for a marker of RAISERROR.
#[derive(Debug, Clone, PartialEq)]
enum Substitute {
    Number(i64),
    Text(String),
    Null(bool),
}

fn substitute(value: &Value, of: DataType, place: usize) -> Result<Substitute> {
    let whole = matches!(
        of.id,
        TypeId::TinyInt | TypeId::SmallInt | TypeId::Int | TypeId::BigInt
    );
    let text = matches!(
        of.id,
        TypeId::Char | TypeId::VarChar | TypeId::NChar | TypeId::NVarChar
    );
    if !whole && !text {
        let place = i64::try_from(place).unwrap_or(0) + 3;
        return refuse(2748, &[of.id.name().into(), place.into()]);
    }
    Ok(match (value, value.as_i64()) {
        (Value::Null, _) => Substitute::Null(whole),
        (_, Some(number)) if whole => Substitute::Number(number),
        _ => Substitute::Text(value.as_str().unwrap_or("").to_owned()),
    })
}

/// A marker of a message: `%[flags][width][.precision][h|l|I64]type`.
#[derive(Debug, Default)]
struct Marker {
    minus: bool,
    plus: bool,
    zero: bool,
    sharp: bool,
    blank: bool,
    width: usize,
    precision: Option<usize>,
    kind: char,
    wide: bool,
}

/// Replaces the markers of a message; 2786 and 2787 for arguments that do not fit. A marker without an
/// argument prints `(null)`.
fn format_message(format: &str, args: &[Substitute]) -> Result<String> {
    let mut out = String::new();
    let mut args = args.iter().enumerate();
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        let spec = &rest[at + 1..];
        if let Some(after) = spec.strip_prefix('%') {
            out.push('%');
            rest = after;
            continue;
        }
        let (marker, used) = read_marker(spec, &mut args)?;
        let arg = args.next();
        out.push_str(&filled(&marker, arg.map(|(at, a)| (at + 1, a)))?);
        rest = &spec[used..];
    }
    out.push_str(rest);
    if out.chars().count() > LONGEST {
        out = out.chars().take(LONGEST - 3).collect();
        out.push_str("...");
    }
    Ok(out)
}

fn read_marker<'a>(
    spec: &str,
    args: &mut impl Iterator<Item = (usize, &'a Substitute)>,
) -> Result<(Marker, usize)> {
    let mut marker = Marker::default();
    let mut chars = spec.char_indices().peekable();
    let bad = || refuse(2787, &[format!("%{spec}").into()]);
    while let Some(&(_, flag @ ('-' | '+' | '0' | '#' | ' '))) = chars.peek() {
        match flag {
            '-' => marker.minus = true,
            '+' => marker.plus = true,
            '0' => marker.zero = true,
            '#' => marker.sharp = true,
            _ => marker.blank = true,
        }
        chars.next();
    }
    let mut count = |chars: &mut std::iter::Peekable<std::str::CharIndices<'_>>| {
        if chars.next_if(|(_, c)| *c == '*').is_some() {
            return match args.next() {
                Some((_, Substitute::Number(n))) => Some(usize::try_from(*n).unwrap_or(0)),
                _ => Some(0),
            };
        }
        let mut number = None;
        while let Some((_, digit)) = chars.next_if(|(_, c)| c.is_ascii_digit()) {
            let digit = digit.to_digit(10).unwrap_or(0) as usize;
            number = Some(number.unwrap_or(0_usize).saturating_mul(10) + digit);
        }
        number
    };
    marker.width = count(&mut chars).unwrap_or(0).min(LONGEST);
    if chars.next_if(|(_, c)| *c == '.').is_some() {
        marker.precision = Some(count(&mut chars).unwrap_or(0));
    }
    let from = chars.peek().map_or(spec.len(), |(at, _)| *at);
    if spec[from..].starts_with("I64") {
        marker.wide = true;
        chars.nth(2);
    }
    while chars.next_if(|(_, c)| matches!(c, 'h' | 'l')).is_some() {}
    match chars.next() {
        Some((at, kind @ ('d' | 'i' | 'u' | 'x' | 'X' | 'o' | 's'))) => {
            marker.kind = kind;
            Ok((marker, at + 1))
        }
        _ => bad(),
    }
}

fn filled(marker: &Marker, arg: Option<(usize, &Substitute)>) -> Result<String> {
    let mismatch = |at: usize| refuse(2786, &[i64::try_from(at).unwrap_or(0).into()]);
    let body = match (marker.kind, arg) {
        (_, None | Some((_, Substitute::Null(_)))) => "(null)".to_owned(),
        ('s', Some((_, Substitute::Text(text)))) => match marker.precision {
            Some(most) => text.chars().take(most).collect(),
            None => text.clone(),
        },
        ('s', Some((at, _))) | (_, Some((at, Substitute::Text(_)))) => return mismatch(at),
        (kind, Some((_, Substitute::Number(number)))) => digits(marker, kind, *number),
    };
    let missing = marker.width.saturating_sub(body.chars().count());
    let number = !matches!(
        arg,
        None | Some((_, Substitute::Null(_) | Substitute::Text(_)))
    );
    Ok(
        match (
            marker.minus,
            marker.zero && number && marker.precision.is_none(),
        ) {
            (true, _) => body + &" ".repeat(missing),
            (false, true) => {
                let (sign, rest) = match body.strip_prefix(['-', '+']) {
                    Some(rest) => body.split_at(body.len() - rest.len()),
                    None => ("", body.as_str()),
                };
                format!("{sign}{}{rest}", "0".repeat(missing))
            }
            (false, false) => " ".repeat(missing) + &body,
        },
    )
}

fn digits(marker: &Marker, kind: char, number: i64) -> String {
    let bits = match marker.wide {
        true => number.cast_unsigned(),
        false => number.cast_unsigned() & 0xFFFF_FFFF,
    };
    let signed = matches!(kind, 'd' | 'i');
    let plain = match kind {
        'u' => bits.to_string(),
        'x' => format!("{bits:x}"),
        'X' => format!("{bits:X}"),
        'o' => format!("{bits:o}"),
        _ => number.unsigned_abs().to_string(),
    };
    let padded = match marker.precision {
        Some(least) => "0".repeat(least.saturating_sub(plain.len())) + &plain,
        None => plain,
    };
    let before = match (kind, signed) {
        (_, true) if number < 0 => "-",
        (_, true) if marker.plus => "+",
        (_, true) if marker.blank => " ",
        ('x', _) if marker.sharp && bits != 0 => "0x",
        ('X', _) if marker.sharp && bits != 0 => "0X",
        ('o', _) if marker.sharp => "0",
        _ => "",
    };
    format!("{before}{padded}")
}

#[cfg(test)]
mod tests {
    use super::{Substitute, format_message};

    fn said(format: &str, args: &[Substitute]) -> String {
        format_message(format, args).unwrap_or_else(|e| e.to_string())
    }

    #[test]
    fn markers_are_filled_as_in_c() {
        let n = Substitute::Number;
        let t = |text: &str| Substitute::Text(text.to_owned());
        assert_eq!(said("%d%%", &[n(5)]), "5%");
        assert_eq!(
            said("<%7.3s><%-7s>", &[t("abcdef"), t("xy")]),
            "<    abc><xy     >"
        );
        assert_eq!(said("<<%*.*s>>", &[n(7), n(3), t("abcde")]), "<<    abc>>");
        assert_eq!(
            said("%x %X %#x %o %u", &[n(255), n(255), n(255), n(8), n(-1)]),
            "ff FF 0xff 10 4294967295"
        );
        assert_eq!(
            said("%+i %05d %-4d|", &[n(3), n(-42), n(7)]),
            "+3 -0042 7   |"
        );
        assert_eq!(said("%I64d", &[n(i64::MIN)]), "-9223372036854775808");
        assert_eq!(said("%s and %d", &[]), "(null) and (null)");
        assert!(said("%s", &[n(1)]).contains("does not match the expected type"));
        assert!(said("%z", &[n(1)]).contains("Invalid format specification"));
    }
}
