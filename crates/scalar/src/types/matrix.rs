//! Which type may become which: by itself, only by CAST and CONVERT, or not at all.

use furrow_types::{Family, TypeId};

use crate::error::{SqlResult, clash, message};

/// Whether one type may become another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Allowed {
    /// By itself.
    Implicit,
    /// By CAST and CONVERT only.
    Explicit,
    /// Never.
    Never,
}

/// The kinds of type that the chart of conversions distinguishes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Bytes,
    Char,
    NChar,
    OldMoment,
    Date,
    Time,
    NewMoment,
    Exact,
    Float,
    Integer,
    Money,
    RowVersion,
    Guid,
    Image,
    Text,
    NText,
    Variant,
    Xml,
    Udt,
}

const fn kind(id: TypeId) -> Kind {
    match id {
        TypeId::Binary | TypeId::VarBinary => Kind::Bytes,
        TypeId::Char | TypeId::VarChar => Kind::Char,
        TypeId::NChar | TypeId::NVarChar => Kind::NChar,
        TypeId::DateTime | TypeId::SmallDateTime => Kind::OldMoment,
        TypeId::Date => Kind::Date,
        TypeId::Time => Kind::Time,
        TypeId::DateTime2 | TypeId::DateTimeOffset => Kind::NewMoment,
        TypeId::Decimal | TypeId::Numeric => Kind::Exact,
        TypeId::Float | TypeId::Real => Kind::Float,
        TypeId::BigInt | TypeId::Int | TypeId::SmallInt | TypeId::TinyInt | TypeId::Bit => {
            Kind::Integer
        }
        TypeId::Money | TypeId::SmallMoney => Kind::Money,
        TypeId::RowVersion => Kind::RowVersion,
        TypeId::UniqueIdentifier => Kind::Guid,
        TypeId::Image => Kind::Image,
        TypeId::Text => Kind::Text,
        TypeId::NText => Kind::NText,
        TypeId::SqlVariant => Kind::Variant,
        TypeId::Xml => Kind::Xml,
        TypeId::Udt => Kind::Udt,
    }
}

/// The chart of conversions.
pub fn allowed(from: TypeId, to: TypeId) -> Allowed {
    use Allowed::{Explicit, Implicit, Never};
    use Kind as K;
    let (from, to) = (kind(from), kind(to));
    if from == to {
        return Implicit;
    }
    match (from, to) {
        // Nothing becomes a LOB or XML but text and bytes; LOBs become nothing else.
        (K::Variant, K::RowVersion | K::Image | K::Text | K::NText | K::Xml | K::Udt) => Never,
        (K::Variant, _) => Explicit,
        (K::RowVersion | K::Image | K::Text | K::NText | K::Xml | K::Udt, K::Variant) => Never,
        (_, K::Variant) => Implicit,

        (K::Xml, K::Bytes | K::Char | K::NChar) => Explicit,
        (K::Bytes | K::Char | K::NChar | K::Text | K::NText, K::Xml) => Implicit,
        (K::Xml, _) | (_, K::Xml) => Never,
        (K::Udt, K::Bytes | K::Char | K::NChar) | (K::Bytes, K::Udt) => Explicit,
        (K::Udt, _) | (_, K::Udt) => Never,

        (K::Image, K::Bytes | K::RowVersion) | (K::Bytes | K::Char | K::RowVersion, K::Image) => {
            Implicit
        }
        (K::Image, _) | (_, K::Image) => Never,
        (K::Char | K::NChar, K::Text | K::NText) | (K::Text, K::Char) | (K::NText, K::NChar) => {
            Implicit
        }
        (K::Text, K::NChar) | (K::NText, K::Char) => Explicit,
        (K::Text | K::NText, _) | (_, K::Text | K::NText) => Never,

        (K::Char, K::Bytes | K::RowVersion) | (K::NChar, K::Bytes) => Explicit,
        (K::NChar, K::RowVersion) | (K::RowVersion, K::NChar) => Never,
        (K::Money, K::Char | K::NChar) => Explicit,
        (K::Char | K::NChar, _) | (_, K::Char | K::NChar) => Implicit,

        (K::Guid, K::Bytes) | (K::Bytes, K::Guid) => Implicit,
        (K::Guid, _) | (_, K::Guid) => Never,

        (K::Bytes | K::RowVersion, K::Float) => Never,
        (K::Float, K::RowVersion) => Never,
        (K::OldMoment | K::Date | K::Time | K::NewMoment, K::Bytes) => Explicit,
        (K::Bytes, K::Date | K::Time | K::NewMoment) => Explicit,
        (K::OldMoment, K::RowVersion) => Explicit,
        (K::RowVersion, K::Date | K::Time | K::NewMoment)
        | (K::Date | K::Time | K::NewMoment, K::RowVersion) => Never,
        (K::Bytes | K::RowVersion, _) | (_, K::Bytes | K::RowVersion) => Implicit,

        (K::Date, K::Time) | (K::Time, K::Date) => Never,
        (
            K::OldMoment | K::Date | K::Time | K::NewMoment,
            K::OldMoment | K::Date | K::Time | K::NewMoment,
        ) => Implicit,
        (K::OldMoment, _) => Explicit,
        (_, K::OldMoment) => Implicit,
        (K::Date | K::Time | K::NewMoment, _) | (_, K::Date | K::Time | K::NewMoment) => Never,

        _ => Implicit,
    }
}

/// That a type may become another by itself: else 257 where CONVERT could do it, 206 where nothing can.
pub fn require_implicit(from: TypeId, to: TypeId) -> SqlResult<()> {
    match allowed(from, to) {
        Allowed::Implicit => Ok(()),
        Allowed::Explicit => Err(message(257, &[from.name().into(), to.name().into()])),
        Allowed::Never => Err(clash(from, to)),
    }
}

/// That CAST and CONVERT may make one type of another: else 529.
pub(crate) fn require_explicit(from: TypeId, to: TypeId) -> SqlResult<()> {
    match allowed(from, to) {
        Allowed::Never => Err(message(529, &[from.name().into(), to.name().into()])),
        _ => Ok(()),
    }
}

/// Whether values of the type are text, LOBs left out.
pub(crate) const fn is_text(id: TypeId) -> bool {
    matches!(id.family(), Family::Char | Family::NChar)
}

#[cfg(test)]
mod tests {
    use super::*;
    use TypeId as T;

    #[test]
    fn the_chart_of_conversions_says_what_is_published() {
        for (from, to, expected) in [
            (T::Int, T::VarChar, Allowed::Implicit),
            (T::VarChar, T::Int, Allowed::Implicit),
            (T::Money, T::VarChar, Allowed::Explicit),
            (T::VarChar, T::Money, Allowed::Implicit),
            (T::VarChar, T::VarBinary, Allowed::Explicit),
            (T::VarBinary, T::VarChar, Allowed::Implicit),
            (T::Int, T::DateTime, Allowed::Implicit),
            (T::DateTime, T::Int, Allowed::Explicit),
            (T::Int, T::Date, Allowed::Never),
            (T::Date, T::Int, Allowed::Never),
            (T::Date, T::Time, Allowed::Never),
            (T::Date, T::DateTime, Allowed::Implicit),
            (T::DateTime2, T::Time, Allowed::Implicit),
            (T::UniqueIdentifier, T::VarChar, Allowed::Implicit),
            (T::UniqueIdentifier, T::Int, Allowed::Never),
            (T::VarBinary, T::Float, Allowed::Never),
            (T::Float, T::VarBinary, Allowed::Implicit),
            (T::VarBinary, T::Int, Allowed::Implicit),
            (T::Text, T::Int, Allowed::Never),
            (T::Text, T::VarChar, Allowed::Implicit),
            (T::SqlVariant, T::Int, Allowed::Explicit),
            (T::Int, T::SqlVariant, Allowed::Implicit),
            (T::DateTime, T::VarBinary, Allowed::Explicit),
            (T::Xml, T::VarChar, Allowed::Explicit),
            (T::Decimal, T::Numeric, Allowed::Implicit),
        ] {
            assert_eq!(allowed(from, to), expected, "{from} to {to}");
        }
        for &id in T::ALL {
            assert_eq!(allowed(id, id), Allowed::Implicit, "{id}");
        }
    }

    #[test]
    fn forbidden_conversions_get_257_206_or_529() {
        let text = |result: SqlResult<()>| result.unwrap_err().text;
        assert_eq!(
            text(require_implicit(T::Money, T::VarChar)),
            "Implicit conversion from data type money to varchar is not allowed. Use the CONVERT function \
             to run this query."
        );
        assert_eq!(
            text(require_implicit(T::Int, T::Date)),
            "Operand type clash: int is incompatible with date"
        );
        assert_eq!(
            text(require_explicit(T::Int, T::Date)),
            "Explicit conversion from data type int to date is not allowed."
        );
    }
}
