//! Errors with SQL Server's numbers, levels, states and texts.

use furrow_engine::EngineError;
use furrow_messages::Message;
use std::fmt;

/// An error: one message or several, the cause first, each with number, level, state and text.
///
/// ```
/// # use furrow::{ColumnSpec, Database, TableSpec, sql};
/// # fn main() -> Result<(), furrow::Error> {
/// # let db = Database::create("t").file("t.mdf").in_memory().open()?;
/// # let mut session = db.session()?;
/// # let table = session.create_table(
/// #     &TableSpec::new("t").column(ColumnSpec::new("id", sql::INT).not_null()).primary_key(["id"]),
/// # )?;
/// session.insert(&table, 1)?;
/// match session.insert(&table, 1) {
///     Err(error) if error.number() == 2627 => println!("there already: {}", error.text()),
///     Err(error) => return Err(error),
///     Ok(_) => unreachable!("the key is unique"),
/// }
/// # Ok(())
/// # }
/// ```
///
/// Errors that a program should expect: 208 no such table, 515 NULL in a column that allows none, 1105 and
/// 9002 data files or log full, 1205 victim of a deadlock (the transaction was rolled back: begin it again),
/// 1222 lock timeout, 2627 and 2601 duplicate key, 824 a damaged page, 5120 a file that cannot be opened.
///
/// `{:?}` prints the messages, as `{}` does: a `main` that returns an error prints each text once.
pub struct Error {
    inner: Box<Inner>,
}

struct Inner {
    messages: Vec<Message>,
    source: Option<EngineError>,
}

impl Error {
    fn of(messages: Vec<Message>, source: Option<EngineError>) -> Error {
        Error {
            inner: Box::new(Inner { messages, source }),
        }
    }

    pub(crate) fn custom(number: u32, state: u8, text: &str) -> Error {
        Error::of(vec![Message::custom(number, 16, state, text)], None)
    }

    /// All messages, the cause first.
    pub fn messages(&self) -> &[Message] {
        &self.inner.messages
    }

    fn first<T: Default>(&self, of: impl Fn(&Message) -> T) -> T {
        self.inner.messages.first().map_or_else(T::default, of)
    }

    /// Number of the first message: 2627 for a duplicate key, 1205 for the victim of a deadlock.
    pub fn number(&self) -> u32 {
        self.first(|message| message.number)
    }

    /// Severity of the first message: the caller can correct the cause of 11 to 16, but not of 17 and more.
    pub fn level(&self) -> u8 {
        self.first(|message| message.level)
    }

    /// State of the first message: distinguishes the places that raise the same number.
    pub fn state(&self) -> u8 {
        self.first(|message| message.state)
    }

    /// Text of the first message.
    pub fn text(&self) -> &str {
        self.inner
            .messages
            .first()
            .map_or("", |message| &message.text)
    }

    /// The underlying error of the engine, if there is one.
    pub fn engine(&self) -> Option<&EngineError> {
        self.inner.source.as_ref()
    }
}

impl From<EngineError> for Error {
    fn from(error: EngineError) -> Error {
        Error::of(error.messages(), Some(error))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, message) in self.inner.messages.iter().enumerate() {
            if place > 0 {
                f.write_str("; ")?;
            }
            let Message {
                number,
                level,
                state,
                text,
                ..
            } = message;
            write!(f, "Msg {number}, Level {level}, State {state}: {text}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// `source()` is `None`: the messages already contain the text of the cause; [`Error::engine`] returns it.
impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use crate::{ColumnSpec, Database, Error, TableSpec, sql};

    fn duplicate() -> Result<(), Error> {
        let db = Database::create("t").file("t.mdf").in_memory().open()?;
        let mut session = db.session()?;
        let id = ColumnSpec::new("id", sql::INT).not_null();
        let table = TableSpec::new("t").column(id).primary_key(["id"]);
        let table = session.create_table(&table)?;
        session.insert(&table, 1)?;
        session.insert(&table, 1).map(drop)
    }

    #[test]
    fn an_error_that_main_returns_prints_its_text_once() {
        let error = duplicate().unwrap_err();
        let boxed: Box<dyn std::error::Error> = Box::new(error);
        let (printed, mut all) = (format!("{boxed:?}"), boxed.to_string());
        assert_eq!(printed, all);
        let mut below = boxed.source();
        while let Some(error) = below {
            all.push_str(&error.to_string());
            below = error.source();
        }
        assert_eq!(
            all.matches("Cannot insert duplicate key").count(),
            1,
            "{all}"
        );
    }
}
