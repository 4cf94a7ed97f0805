//! Variables of a batch or procedure.

use furrow_types::{DataType, Value};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// A variable.
#[derive(Debug, Clone)]
pub(crate) struct Variable {
    pub(crate) data_type: DataType,
    pub(crate) value: Value,
}

/// The scalar variables that statements see. Names are compared without regard to case.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scope {
    places: HashMap<String, usize>,
    variables: Vec<Variable>,
    /// Of names, places and types.
    shape: u64,
}

impl Scope {
    /// Declares a variable; gives its place. One of that name is replaced: a DECLARE in a loop makes it anew.
    pub(crate) fn declare(&mut self, name: &str, data_type: DataType, value: Value) -> usize {
        let place = *self
            .places
            .entry(name.to_lowercase())
            .or_insert(self.variables.len());
        let before = self.variables.get(place).map(|v| v.data_type);
        if before != Some(data_type) {
            let mut hasher = DefaultHasher::new();
            (self.shape, place, name.to_lowercase(), data_type).hash(&mut hasher);
            self.shape = hasher.finish();
        }
        let variable = Variable { data_type, value };
        match self.variables.get_mut(place) {
            Some(old) => *old = variable,
            None => self.variables.push(variable),
        }
        place
    }

    /// Declares a variable, NULL at first, unless there is one of that name: a DECLARE in a loop is one.
    pub(crate) fn declare_once(&mut self, name: &str, data_type: DataType) -> usize {
        match self.find(name) {
            Some(place) => place,
            None => self.declare(name, data_type, Value::Null),
        }
    }

    /// A number for which variables there are, of which types: the same names have the same places in two
    /// scopes of the same number.
    pub(crate) fn shape(&self) -> u64 {
        self.shape
    }

    /// The place of a variable.
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        self.places.get(&name.to_lowercase()).copied()
    }

    /// The variable at a place.
    pub(crate) fn get(&self, place: usize) -> Option<&Variable> {
        self.variables.get(place)
    }

    /// Sets the variable at a place.
    pub(crate) fn set(&mut self, place: usize, value: Value) {
        if let Some(variable) = self.variables.get_mut(place) {
            variable.value = value;
        }
    }
}
