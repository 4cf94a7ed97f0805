//! Conversions from Rust's types to columns: single values and tuples.

use crate::{Date, DateTime, DateTime2, DateTimeOffset, Decimal, Guid, SmallDateTime, Time, Value};
use furrow_engine::{EngineError, PushValues};

/// A value for a column: Rust's numbers, texts, bytes, the engine's own types, and an `Option` of each for
/// NULL. A number fits a column of any type that can represent it.
pub trait ToColumn {
    /// The engine's value.
    fn value(&self) -> Value;

    /// Passes the value to an inserter, without a [`Value`] if the type allows that.
    fn push_to(&self, to: &mut impl PushValues) -> Result<(), EngineError> {
        to.value(&self.value()).map(drop)
    }

    /// Reads what [`ToColumn::push_to`] is going to read, so that it is in the processor's cache then.
    #[inline]
    fn preload(&self) {}
}

/// Lines of a value that are read ahead; the processor itself reads what follows.
const LINES_AHEAD: usize = 16;
const LINE_BYTES: usize = 64;

/// Reads a byte of each line of memory.
#[inline]
fn preload_bytes(bytes: &[u8]) {
    let lines = bytes.chunks(LINE_BYTES).take(LINES_AHEAD);
    let first = lines.fold(0, |seen, line| seen ^ line.first().copied().unwrap_or(0));
    // The last one, where the value does not begin with a line.
    std::hint::black_box(first ^ bytes.last().copied().unwrap_or(0));
}

macro_rules! by_value {
    ($($kind:ty),*) => {
        $(impl ToColumn for $kind {
            fn value(&self) -> Value {
                Value::from(self.clone())
            }
        })*
    };
}

by_value!(
    bool,
    u8,
    i16,
    i32,
    f32,
    f64,
    Guid,
    Decimal,
    Date,
    Time,
    DateTime,
    DateTime2,
    DateTimeOffset,
    SmallDateTime
);

impl ToColumn for i64 {
    fn value(&self) -> Value {
        Value::BigInt(*self)
    }

    #[inline]
    fn push_to(&self, to: &mut impl PushValues) -> Result<(), EngineError> {
        to.i64(*self).map(drop)
    }
}

impl ToColumn for str {
    fn value(&self) -> Value {
        Value::from(self)
    }

    #[inline]
    fn push_to(&self, to: &mut impl PushValues) -> Result<(), EngineError> {
        to.str(self).map(drop)
    }

    #[inline]
    fn preload(&self) {
        preload_bytes(self.as_bytes());
    }
}

impl ToColumn for [u8] {
    fn value(&self) -> Value {
        Value::from(self)
    }

    #[inline]
    fn push_to(&self, to: &mut impl PushValues) -> Result<(), EngineError> {
        to.bytes(self).map(drop)
    }

    #[inline]
    fn preload(&self) {
        preload_bytes(self);
    }
}

macro_rules! as_other {
    ($($kind:ty => $other:ty;)*) => {
        $(impl ToColumn for $kind {
            fn value(&self) -> Value {
                <$other as ToColumn>::value(self)
            }

            #[inline]
            fn push_to(&self, to: &mut impl PushValues) -> Result<(), EngineError> {
                <$other as ToColumn>::push_to(self, to)
            }

            #[inline]
            fn preload(&self) {
                <$other as ToColumn>::preload(self);
            }
        })*
    };
}

as_other!(String => str; Vec<u8> => [u8];);

impl<const N: usize> ToColumn for [u8; N] {
    fn value(&self) -> Value {
        self.as_slice().value()
    }

    #[inline]
    fn push_to(&self, to: &mut impl PushValues) -> Result<(), EngineError> {
        self.as_slice().push_to(to)
    }

    #[inline]
    fn preload(&self) {
        self.as_slice().preload();
    }
}

impl ToColumn for Value {
    fn value(&self) -> Value {
        self.clone()
    }

    fn push_to(&self, to: &mut impl PushValues) -> Result<(), EngineError> {
        to.value(self).map(drop)
    }
}

impl<T: ToColumn + ?Sized> ToColumn for &T {
    fn value(&self) -> Value {
        T::value(self)
    }

    #[inline]
    fn push_to(&self, to: &mut impl PushValues) -> Result<(), EngineError> {
        T::push_to(self, to)
    }

    #[inline]
    fn preload(&self) {
        T::preload(self);
    }
}

impl<T: ToColumn> ToColumn for Option<T> {
    fn value(&self) -> Value {
        self.as_ref().map_or(Value::Null, ToColumn::value)
    }

    #[inline]
    fn push_to(&self, to: &mut impl PushValues) -> Result<(), EngineError> {
        match self {
            Some(value) => value.push_to(to),
            None => to.null().map(drop),
        }
    }

    #[inline]
    fn preload(&self) {
        if let Some(value) = self {
            value.preload();
        }
    }
}

/// Values for several columns, in order: a tuple, a slice of [`Value`]s, or one value.
pub trait ToRow {
    /// The engine's values.
    fn values(&self) -> Vec<Value>;

    /// Passes the values to an inserter or a bulk load.
    fn push_to(&self, to: &mut impl PushValues) -> Result<(), EngineError>;

    /// Reads what [`ToRow::push_to`] is going to read, so that it is in the processor's cache then.
    #[inline]
    fn preload(&self) {}
}

macro_rules! alone {
    ($($kind:ty),*) => {
        $(impl ToRow for $kind {
            fn values(&self) -> Vec<Value> {
                vec![self.value()]
            }

            #[inline]
            fn push_to(&self, to: &mut impl PushValues) -> Result<(), EngineError> {
                ToColumn::push_to(self, to)
            }

            #[inline]
            fn preload(&self) {
                ToColumn::preload(self);
            }
        })*
    };
}

alone!(
    bool,
    u8,
    i16,
    i32,
    i64,
    f32,
    f64,
    Guid,
    Decimal,
    Date,
    Time,
    DateTime,
    DateTime2,
    DateTimeOffset,
    SmallDateTime,
    &str,
    String,
    &[u8]
);

impl ToRow for &[Value] {
    fn values(&self) -> Vec<Value> {
        self.to_vec()
    }

    fn push_to(&self, to: &mut impl PushValues) -> Result<(), EngineError> {
        self.iter().try_for_each(|value| to.value(value).map(drop))
    }
}

/// No values: a row of defaults.
impl ToRow for () {
    fn values(&self) -> Vec<Value> {
        Vec::new()
    }

    fn push_to(&self, _to: &mut impl PushValues) -> Result<(), EngineError> {
        Ok(())
    }
}

macro_rules! tuples {
    ($(($($name:ident),+);)*) => {
        $(impl<$($name: ToColumn),+> ToRow for ($($name,)+) {
            fn values(&self) -> Vec<Value> {
                #[expect(non_snake_case, reason = "the macro's own names")]
                let ($($name,)+) = self;
                vec![$($name.value()),+]
            }

            #[inline]
            fn push_to(&self, to: &mut impl PushValues) -> Result<(), EngineError> {
                #[expect(non_snake_case, reason = "the macro's own names")]
                let ($($name,)+) = self;
                $($name.push_to(to)?;)+
                Ok(())
            }

            #[inline]
            fn preload(&self) {
                #[expect(non_snake_case, reason = "the macro's own names")]
                let ($($name,)+) = self;
                $($name.preload();)+
            }
        })*
    };
}

tuples! {
    (A); (A, B); (A, B, C); (A, B, C, D); (A, B, C, D, E); (A, B, C, D, E, F); (A, B, C, D, E, F, G);
    (A, B, C, D, E, F, G, H); (A, B, C, D, E, F, G, H, I); (A, B, C, D, E, F, G, H, I, J);
    (A, B, C, D, E, F, G, H, I, J, K); (A, B, C, D, E, F, G, H, I, J, K, L);
}
