//! Variables of a batch or procedure.

use furrow_format::types::{DataType, Value};
use std::collections::HashMap;

/// A variable.
#[derive(Debug, Clone)]
pub(crate) struct Variable {
    pub(crate) data_type: DataType,
    pub(crate) value: Value,
}

/// The scalar variables that statements see. Names are compared without regard to case.
#[derive(Debug, Default)]
pub(crate) struct Scope {
    places: HashMap<String, usize>,
    variables: Vec<Variable>,
}

impl Scope {
    /// Declares a variable; gives its place. One of that name is replaced: a DECLARE in a loop makes it anew.
    pub(crate) fn declare(&mut self, name: &str, data_type: DataType, value: Value) -> usize {
        let place = *self
            .places
            .entry(name.to_lowercase())
            .or_insert(self.variables.len());
        let variable = Variable { data_type, value };
        match self.variables.get_mut(place) {
            Some(old) => *old = variable,
            None => self.variables.push(variable),
        }
        place
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
