//! Variables of a batch or procedure.

use crate::error::Result;
use crate::memory::{Grant, Memory, outside_bytes};
use furrow_types::{DataType, Value};
use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// Smaller values of variables are not counted as memory.
const COUNTED_BYTES: usize = 64 << 10;

/// A variable.
#[derive(Debug, Clone)]
pub struct Variable {
    /// Its type.
    pub data_type: DataType,
    /// Its value.
    pub value: Value,
}

/// The scalar variables that statements see. Names are compared without regard to case. Scopes that were
/// copied from each other share their names until one of them gets another variable.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    names: Arc<Names>,
    variables: Vec<Variable>,
    held: Held,
}

/// The names of a scope's variables.
#[derive(Debug, Clone, Default)]
struct Names {
    /// Positions by the name in lower case.
    places: HashMap<String, usize>,
    /// Names that other scopes have, too: a procedure's parameters below its variables.
    shared: Option<Arc<Names>>,
    /// A number for the names, positions and types.
    shape: u64,
}

impl Names {
    fn find(&self, folded: &str) -> Option<usize> {
        let all = std::iter::successors(Some(self), |names| names.shared.as_deref());
        all.filter_map(|names| names.places.get(folded))
            .next()
            .copied()
    }
}

/// A name in lower case.
fn folded(name: &str) -> Cow<'_, str> {
    let is_folded = |byte: u8| byte.is_ascii() && !byte.is_ascii_uppercase();
    match name.bytes().all(is_folded) {
        true => Cow::Borrowed(name),
        false => Cow::Owned(name.to_lowercase()),
    }
}

/// Memory of the long values of variables. A copy of a scope counts nothing.
#[derive(Debug, Default)]
struct Held(Option<Grant>);

impl Clone for Held {
    fn clone(&self) -> Held {
        Held(None)
    }
}

/// Whether the memory of a value counts.
pub(crate) fn is_long(value: &Value) -> bool {
    counted_bytes(value) > 0
}

fn counted_bytes(value: &Value) -> usize {
    match outside_bytes(value) {
        ..COUNTED_BYTES => 0,
        bytes => bytes,
    }
}

impl Scope {
    /// Declares a variable; returns its position. It replaces a variable of the same name, as in a loop.
    pub fn declare(&mut self, name: &str, data_type: DataType, value: Value) -> usize {
        let name = folded(name);
        let place = self.names.find(&name).unwrap_or(self.variables.len());
        let before = self.variables.get(place).map(|v| v.data_type);
        if before != Some(data_type) {
            if Arc::get_mut(&mut self.names).is_none() {
                self.names = Arc::new(Names {
                    places: HashMap::new(),
                    shape: self.names.shape,
                    shared: Some(Arc::clone(&self.names)),
                });
            }
            let names = Arc::make_mut(&mut self.names);
            let mut hasher = DefaultHasher::new();
            (names.shape, place, &*name, data_type).hash(&mut hasher);
            names.shape = hasher.finish();
            names.places.entry(name.into_owned()).or_insert(place);
        }
        let variable = Variable { data_type, value };
        match self.variables.get_mut(place) {
            Some(old) => *old = variable,
            None => self.variables.push(variable),
        }
        place
    }

    /// Declares a variable with the value NULL, unless one of that name exists: a DECLARE in a loop runs
    /// once.
    pub fn declare_once(&mut self, name: &str, data_type: DataType) -> usize {
        match self.find(name) {
            Some(place) => place,
            None => self.declare(name, data_type, Value::Null),
        }
    }

    /// Whether the memory of a variable's value counts.
    pub(crate) fn has_long_values(&self) -> bool {
        self.variables
            .iter()
            .any(|variable| is_long(&variable.value))
    }

    /// A number for the set of variables and their types: two scopes with the same number have the same names
    /// at the same positions.
    pub(crate) fn shape(&self) -> u64 {
        self.names.shape
    }

    /// The position of a variable.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.names.find(&folded(name))
    }

    /// The variable at a position.
    pub fn get(&self, place: usize) -> Option<&Variable> {
        self.variables.get(place)
    }

    /// Sets the variable at a position. A long value counts as memory of the connection until it is replaced
    /// or the scope ends; 701 if there is not enough.
    pub fn set(&mut self, place: usize, value: Value, memory: &Arc<Memory>) -> Result<()> {
        let Some(variable) = self.variables.get_mut(place) else {
            return Ok(());
        };
        let (before, after) = (counted_bytes(&variable.value), counted_bytes(&value));
        if before != after {
            let grant = self.held.0.get_or_insert_with(|| Grant::new(memory));
            let taken = grant.take(after);
            grant.give_back(if taken.is_ok() { before } else { after });
            taken?;
        }
        variable.value = value;
        Ok(())
    }
}

/// The parameters of a text or procedure: their types, and a scope with their names.
#[derive(Debug, Clone, Default)]
pub struct Parameters {
    /// For each parameter its type and its position in the scope.
    declared: Vec<(DataType, usize)>,
    scope: Scope,
}

impl Parameters {
    /// Declares a parameter behind the others.
    pub fn declare(&mut self, name: &str, data_type: DataType) {
        let place = self.scope.declare(name, data_type, Value::Null);
        self.declared.push((data_type, place));
    }

    /// Their types, in order.
    pub fn types(&self) -> impl Iterator<Item = DataType> {
        self.declared.iter().map(|(of, _)| *of)
    }

    /// The scope at the beginning of an execution, with the values of the parameters, in order.
    pub fn filled(&self, values: impl IntoIterator<Item = Value>) -> Scope {
        let mut scope = self.scope.clone();
        for ((data_type, place), value) in self.declared.iter().zip(values) {
            if let Some(variable) = scope.variables.get_mut(*place) {
                *variable = Variable {
                    data_type: *data_type,
                    value,
                };
            }
        }
        scope
    }

    /// The value of a parameter at the end of an execution with this scope.
    pub fn value<'s>(&self, parameter: usize, scope: &'s Scope) -> Option<&'s Value> {
        let (_, place) = self.declared.get(parameter)?;
        Some(&scope.get(*place)?.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use furrow_types::TypeId;

    const INT: DataType = DataType::simple(TypeId::Int);

    #[test]
    fn scopes_of_two_calls_share_the_names_of_parameters_and_no_values_or_variables() {
        let mut parameters = Parameters::default();
        parameters.declare("@a", INT);
        parameters.declare("@B", INT);
        let mut first = parameters.filled([Value::Int(1), Value::Int(2)]);
        let before = first.shape();
        assert_eq!(
            (first.find("@A"), first.find("@b"), first.find("@c")),
            (Some(0), Some(1), None)
        );
        assert_eq!(first.declare("@C", INT, Value::Int(3)), 2);
        assert_ne!(first.shape(), before, "a plan depends on the variables");
        first.set(0, Value::Int(10), &Arc::default()).unwrap();

        let second = parameters.filled([Value::Int(4), Value::Int(5)]);
        assert_eq!((second.shape(), second.find("@c")), (before, None));
        assert_eq!(parameters.value(0, &second), Some(&Value::Int(4)));
        assert_eq!(parameters.value(0, &first), Some(&Value::Int(10)));
        assert_eq!((first.find("@a"), first.find("@c")), (Some(0), Some(2)));
    }

    #[test]
    fn two_scopes_with_the_same_declarations_have_the_same_shape() {
        let mut parameters = Parameters::default();
        parameters.declare("@a", INT);
        let mut called = parameters.filled([Value::Null]);
        called.declare("@x", INT, Value::Null);
        let mut plain = Scope::default();
        plain.declare("@a", INT, Value::Null);
        plain.declare("@x", INT, Value::Null);
        assert_eq!(called.shape(), plain.shape());
        plain.declare("@X", DataType::simple(TypeId::BigInt), Value::Null);
        assert_ne!(called.shape(), plain.shape());
    }
}
