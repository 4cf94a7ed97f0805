//! What a foreign key is to be.

/// What happens to referencing rows when a referenced one is deleted, or its key changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ReferentialAction {
    /// The change is refused.
    #[default]
    NoAction,
    /// They go, or change, with it.
    Cascade,
    /// Their columns become NULL.
    SetNull,
    /// Their columns get their defaults.
    SetDefault,
}

impl ReferentialAction {
    /// As `sys.foreign_keys` numbers it.
    pub const fn number(self) -> u8 {
        match self {
            ReferentialAction::NoAction => 0,
            ReferentialAction::Cascade => 1,
            ReferentialAction::SetNull => 2,
            ReferentialAction::SetDefault => 3,
        }
    }

    /// From its number.
    pub(crate) const fn from_number(number: i32) -> ReferentialAction {
        match number & 3 {
            1 => ReferentialAction::Cascade,
            2 => ReferentialAction::SetNull,
            3 => ReferentialAction::SetDefault,
            _ => ReferentialAction::NoAction,
        }
    }

    /// The text of `delete_referential_action_desc`.
    pub const fn name(self) -> &'static str {
        match self {
            ReferentialAction::NoAction => "NO_ACTION",
            ReferentialAction::Cascade => "CASCADE",
            ReferentialAction::SetNull => "SET_NULL",
            ReferentialAction::SetDefault => "SET_DEFAULT",
        }
    }
}

/// A requested foreign key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignKeySpec {
    /// Its name; generated where there is none.
    pub name: Option<String>,
    /// The referencing columns.
    pub columns: Vec<String>,
    /// Schema and name of the referenced table.
    pub referenced: (String, String),
    /// The referenced columns; none for those of the primary key.
    pub referenced_columns: Vec<String>,
    /// What happens to rows when the referenced one is deleted.
    pub on_delete: ReferentialAction,
    /// What happens to rows when the referenced key changes.
    pub on_update: ReferentialAction,
    /// Whether all rows were held against it.
    pub trusted: bool,
}
