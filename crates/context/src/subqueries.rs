//! Results of subqueries that are run once in a statement: opaque here, typed in the crate that stores them.

use std::any::Any;
use std::collections::HashMap;
use std::fmt;

/// Results by the number of their subquery, until the next statement begins.
#[derive(Default)]
pub struct SubqueryResults(HashMap<u64, Box<dyn Any + Send>>);

impl fmt::Debug for SubqueryResults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl SubqueryResults {
    /// The result of a subquery, if it has been run.
    #[inline]
    pub fn get<T: Any>(&self, number: &u64) -> Option<&T> {
        self.0.get(number)?.downcast_ref()
    }

    /// Stores the result of a subquery.
    pub fn insert<T: Any + Send>(&mut self, number: u64, result: T) {
        self.0.insert(number, Box::new(result));
    }

    /// Removes all results.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}
