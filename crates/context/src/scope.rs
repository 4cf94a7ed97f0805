//! Variables of a batch or procedure.

use crate::error::Result;
use crate::memory::{Grant, Memory, outside_bytes};
use furrow_types::{DataType, Value};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// Values of variables that take less are not counted.
const COUNTED_BYTES: usize = 64 << 10;

/// A variable.
#[derive(Debug, Clone)]
pub struct Variable {
    /// Its type.
    pub data_type: DataType,
    /// Its value.
    pub value: Value,
}

/// The scalar variables that statements see. Names are compared without regard to case.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    places: HashMap<String, usize>,
    variables: Vec<Variable>,
    /// Of names, places and types.
    shape: u64,
    held: Held,
}

/// What the long values of variables take. A copy of a scope has counted nothing.
#[derive(Debug, Default)]
struct Held(Option<Grant>);

impl Clone for Held {
    fn clone(&self) -> Held {
        Held(None)
    }
}

fn counted_bytes(value: &Value) -> usize {
    match outside_bytes(value) {
        ..COUNTED_BYTES => 0,
        bytes => bytes,
    }
}

impl Scope {
    /// Declares a variable; gives its place. One of that name is replaced: a DECLARE in a loop makes it anew.
    pub fn declare(&mut self, name: &str, data_type: DataType, value: Value) -> usize {
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
    pub fn declare_once(&mut self, name: &str, data_type: DataType) -> usize {
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
    pub fn find(&self, name: &str) -> Option<usize> {
        self.places.get(&name.to_lowercase()).copied()
    }

    /// The variable at a place.
    pub fn get(&self, place: usize) -> Option<&Variable> {
        self.variables.get(place)
    }

    /// Sets the variable at a place. A long value counts as memory of the connection until another one takes
    /// its place or the scope ends: 701.
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
