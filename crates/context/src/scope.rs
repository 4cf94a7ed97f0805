//! Variables of a batch or procedure.

use crate::error::Result;
use crate::memory::{Grant, Memory, outside_bytes};
use furrow_types::{DataType, Value};
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

/// The scalar variables that statements see. Names are compared without regard to case.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    places: HashMap<String, usize>,
    variables: Vec<Variable>,
    /// A number for the names, positions and types.
    shape: u64,
    held: Held,
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
        self.shape
    }

    /// The position of a variable.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.places.get(&name.to_lowercase()).copied()
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
