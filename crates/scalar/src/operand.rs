//! What the binder has of an expression before it is evaluated.

use furrow_types::{Collation, DataType, TypeId, Value};

use crate::error::{SqlResult, message};

/// Where an expression's collation comes from: it decides which of two collations is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Coercibility {
    /// The database's: literals, variables, results of functions on such.
    Default,
    /// A column's.
    Implicit,
    /// Two columns' that differ: no comparison is possible.
    Conflict,
    /// A COLLATE clause's.
    Explicit,
}

/// An expression as operators and functions see it when they are bound.
#[derive(Debug, Clone, Copy)]
pub struct Operand<'a> {
    /// Its type. A bare NULL has type `int`.
    pub data_type: DataType,
    /// Whether it is the literal NULL, which takes any type.
    pub is_null_literal: bool,
    /// Its value, where that is known.
    pub constant: Option<&'a Value>,
    /// Where its collation comes from.
    pub coercibility: Coercibility,
    /// Whether it can be NULL.
    pub nullable: bool,
    /// Whether it is JSON by what makes it, so that it is put into JSON as it is.
    pub is_json: bool,
}

impl<'a> Operand<'a> {
    /// An expression of a type, of the database's collation.
    pub const fn of(data_type: DataType) -> Operand<'a> {
        Operand {
            data_type,
            is_null_literal: false,
            constant: None,
            coercibility: Coercibility::Default,
            nullable: true,
            is_json: false,
        }
    }

    /// A column of a type: its collation counts more than a literal's.
    pub const fn column(data_type: DataType) -> Operand<'a> {
        Operand {
            coercibility: Coercibility::Implicit,
            ..Operand::of(data_type)
        }
    }

    /// The literal NULL.
    pub const fn null() -> Operand<'a> {
        Operand {
            is_null_literal: true,
            ..Operand::of(DataType::simple(TypeId::Int))
        }
    }

    /// A literal or folded constant.
    pub fn constant(data_type: DataType, value: &'a Value) -> Operand<'a> {
        Operand {
            constant: Some(value),
            nullable: value.is_null(),
            ..Operand::of(data_type)
        }
    }

    /// With an explicit COLLATE clause; 447 for what is not text.
    pub fn collate(mut self, collation: Collation) -> SqlResult<Operand<'a>> {
        if !self.data_type.id.has_collation() {
            return Err(message(447, &[self.data_type.id.name().into()]));
        }
        self.data_type = self.data_type.with_collation(collation);
        self.coercibility = Coercibility::Explicit;
        Ok(self)
    }
}

/// The collation under which two texts meet, and where it comes from.
///
/// Explicit wins over implicit, implicit over the database's. Two explicit ones that differ are error 468;
/// two columns' that differ leave [`Coercibility::Conflict`]: an error only where text must be compared
/// ([`comparison_collation`]).
pub fn meet(
    left: &Operand<'_>,
    right: &Operand<'_>,
    operation: &str,
) -> SqlResult<(Collation, Coercibility)> {
    let (a, b) = (left.data_type.collation, right.data_type.collation);
    if !right.data_type.id.has_collation() {
        return Ok((a, left.coercibility));
    }
    if !left.data_type.id.has_collation() {
        return Ok((b, right.coercibility));
    }
    Ok(match left.coercibility.cmp(&right.coercibility) {
        std::cmp::Ordering::Greater => (a, left.coercibility),
        std::cmp::Ordering::Less => (b, right.coercibility),
        std::cmp::Ordering::Equal if a == b => (a, left.coercibility),
        std::cmp::Ordering::Equal => match left.coercibility {
            Coercibility::Explicit => return Err(collation_conflict(a, b, operation)),
            Coercibility::Default => (a, Coercibility::Default),
            _ => (a, Coercibility::Conflict),
        },
    })
}

/// [`meet`], where the texts are compared: a conflict is error 468.
pub(crate) fn comparison_collation(
    left: &Operand<'_>,
    right: &Operand<'_>,
    operation: &str,
) -> SqlResult<Collation> {
    match meet(left, right, operation)? {
        (_, Coercibility::Conflict) => Err(collation_conflict(
            left.data_type.collation,
            right.data_type.collation,
            operation,
        )),
        (collation, _) => Ok(collation),
    }
}

fn collation_conflict(a: Collation, b: Collation, operation: &str) -> furrow_messages::Message {
    let name = |collation: Collation| collation.name().unwrap_or("unknown");
    message(468, &[name(a).into(), name(b).into(), operation.into()])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(collation: Collation) -> DataType {
        DataType::sized(TypeId::VarChar, 10).with_collation(collation)
    }

    #[test]
    fn a_columns_collation_wins_over_a_literals_and_a_clause_over_both() {
        let (a, b) = (Collation::DEFAULT, Collation::LATIN1_GENERAL_CI_AS);
        let literal = Operand::of(text(a));
        let column = Operand::column(text(b));
        assert_eq!(
            meet(&literal, &column, "equal to").unwrap(),
            (b, Coercibility::Implicit)
        );
        let clause = literal.collate(a).unwrap();
        assert_eq!(comparison_collation(&column, &clause, "equal to"), Ok(a));
        let number = Operand::of(DataType::simple(TypeId::Int));
        assert_eq!(number.collate(a).unwrap_err().number, 447);
    }

    #[test]
    fn two_columns_of_different_collations_cannot_be_compared() {
        let column = Operand::column(text(Collation::DEFAULT));
        let other = Operand::column(text(Collation::LATIN1_GENERAL_CI_AS));
        let error = comparison_collation(&column, &other, "equal to").unwrap_err();
        assert_eq!(error.number, 468);
        assert_eq!(
            error.text,
            "Cannot resolve the collation conflict between \"SQL_Latin1_General_CP1_CI_AS\" and \
             \"Latin1_General_CI_AS\" in the equal to operation."
        );
        let joined = meet(&column, &other, "add").unwrap();
        assert_eq!(joined.1, Coercibility::Conflict);
    }
}
