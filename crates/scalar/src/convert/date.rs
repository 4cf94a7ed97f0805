//! Text to dates and times, with and without a style.

use furrow_types::{DateOrder, TypeId, Value, cast_with};

use super::Conversion;
use crate::env::Settings;
use crate::error::{SqlResult, message, of_type_error};

/// Reads a moment. A style defines the order of day, month and year.
pub(super) fn from_text(text: &str, to: &Conversion, settings: &Settings) -> SqlResult<Value> {
    let order = match to.style {
        None | Some(0) => settings.date_order,
        Some(style) => order_of(style).ok_or_else(|| unknown_style(to, style))?,
    };
    let value = super::text::same_kind(text, to.from.id);
    cast_with(&value, &to.to, order).map_err(|error| of_type_error(&error))
}

fn unknown_style(to: &Conversion, style: i32) -> furrow_messages::Message {
    let args = [
        style.into(),
        to.from.id.name().into(),
        to.to.id.name().into(),
    ];
    message(9809, &args)
}

/// The order that a style has its dates in; `None` for styles that are none, or are of another calendar.
fn order_of(style: i32) -> Option<DateOrder> {
    Some(match style {
        1 | 7 | 9 | 10 | 22 | 100 | 101 | 107 | 109 | 110 => DateOrder::Mdy,
        3..=6 | 13 | 103..=106 | 113 => DateOrder::Dmy,
        2 | 11 | 12 | 20 | 21 | 23 | 25 | 102 | 111 | 112 | 120 | 121 | 126 | 127 => DateOrder::Ymd,
        8 | 14 | 24 | 108 | 114 => DateOrder::Mdy,
        _ => return None,
    })
}

/// Whether text is a date for ISDATE: a `datetime` under the session's date order.
pub(crate) fn is_date(text: &str, settings: &Settings) -> bool {
    furrow_types::parse_moment(text, settings.date_order, TypeId::DateTime)
        .is_ok_and(|at| furrow_types::DateTime::from_datetime2(at.local).is_some())
}
