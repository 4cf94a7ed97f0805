//! Atomics: before each use of one, another thread may run.
//!
//! One thread runs at a time, so all of them are sequentially consistent here. Loom tests the effects of weak
//! orderings; this tests interleavings.

pub use std::sync::atomic::{Ordering, fence};

use crate::schedule::strand::point;

macro_rules! cells {
    ($($name:ident $value:ty, $numbers:tt;)*) => { $(
        /// The standard library's type of that name, on a schedule.
        #[derive(Debug, Default)]
        #[repr(transparent)]
        pub struct $name(std::sync::atomic::$name);

        impl $name {
            /// A cell that holds `value`.
            pub const fn new(value: $value) -> Self {
                Self(std::sync::atomic::$name::new(value))
            }

            /// The value; the caller has exclusive access.
            pub fn get_mut(&mut self) -> &mut $value {
                self.0.get_mut()
            }

            /// The value.
            pub fn into_inner(self) -> $value {
                self.0.into_inner()
            }

            /// As the standard library's.
            pub fn load(&self, order: Ordering) -> $value {
                point();
                self.0.load(order)
            }

            /// As the standard library's.
            pub fn store(&self, value: $value, order: Ordering) {
                point();
                self.0.store(value, order);
            }

            /// As the standard library's.
            pub fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                point();
                self.0.compare_exchange(current, new, success, failure)
            }

            /// As the standard library's.
            pub fn compare_exchange_weak(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                self.compare_exchange(current, new, success, failure)
            }

            /// As the standard library's: a load, and an exchange that may find another value.
            pub fn fetch_update(
                &self,
                success: Ordering,
                failure: Ordering,
                mut change: impl FnMut($value) -> Option<$value>,
            ) -> Result<$value, $value> {
                let mut before = self.load(failure);
                while let Some(next) = change(before) {
                    match self.compare_exchange(before, next, success, failure) {
                        Ok(value) => return Ok(value),
                        Err(now) => before = now,
                    }
                }
                Err(before)
            }

            cells!(@changes $value, swap fetch_and fetch_or fetch_xor);
            cells!(@numbers $value, $numbers);
        }
    )* };
    (@numbers $value:ty, (number)) => { cells!(@changes $value, fetch_add fetch_sub fetch_max fetch_min); };
    (@numbers $value:ty, (truth)) => {};
    (@changes $value:ty, $($change:ident)*) => { $(
        /// As the standard library's.
        pub fn $change(&self, value: $value, order: Ordering) -> $value {
            point();
            self.0.$change(value, order)
        }
    )* };
}

cells! {
    AtomicBool bool, (truth);
    AtomicU8 u8, (number);
    AtomicU16 u16, (number);
    AtomicU32 u32, (number);
    AtomicU64 u64, (number);
    AtomicUsize usize, (number);
    AtomicI32 i32, (number);
    AtomicI64 i64, (number);
}
