//! SELECT that sets variables.
//!
//! The assignments of a row are done in the order of the list, and each reads the variables that those before
//! it have set. If none reads such a variable, the values of a row are computed as a whole. So are those of
//! DISTINCT, which compares rows before variables are set.

use furrow_exec::Expr;
use furrow_exec::visit::Part;

/// A variable that SELECT sets for each row of its plan.
#[derive(Debug)]
pub struct Assign {
    /// Its place in the scope.
    pub variable: usize,
    /// The value: of a row of the plan, after the assignments before this one.
    pub value: Expr,
}

/// Whether a value of the list reads a variable that an entry before it sets. If none does, the list is
/// computed as a whole.
pub(super) fn assigns_in_turn(variables: &[usize], values: &[Expr]) -> bool {
    let mut reads_earlier = false;
    for (at, value) in values.iter().enumerate().skip(1) {
        let earlier = variables.get(..at).unwrap_or_default();
        value.visit(&mut |part| {
            if let Part::Expr(Expr::Variable(place)) = part {
                reads_earlier |= earlier.contains(place);
            }
            !reads_earlier
        });
    }
    reads_earlier
}

/// The assignments of these values to these variables.
pub(super) fn assigned(variables: &[usize], values: impl IntoIterator<Item = Expr>) -> Vec<Assign> {
    let pairs = variables.iter().zip(values);
    let assign = |(&variable, value)| Assign { variable, value };
    pairs.map(assign).collect()
}
