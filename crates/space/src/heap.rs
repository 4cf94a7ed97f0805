//! Room for rows in heaps.

/// What is known of pages with room.
#[derive(Debug)]
pub(crate) struct Rooms {}

impl Rooms {
    pub(crate) fn complete() -> Rooms {
        Rooms {}
    }
    pub(crate) fn unknown() -> Rooms {
        Rooms {}
    }
}
