//! Extents, and the maps that record their owners.
//!
//! | extent | GAM | SGAM | IAM |
//! |---|---|---|---|
//! | free | 1 | 0 | 0 |
//! | mixed, with a page to spare | 0 | 1 | 0 |
//! | mixed, full | 0 | 0 | 0 |
//! | a unit's | 0 | 0 | 1, in one IAM |
//!
//! Every change from one line to another is one mini-transaction. The maps are latched in the order PFS, IAM,
//! GAM, SGAM: UP to search, EX to change.

mod mixed;
mod release;
mod single;
mod uniform;

pub(crate) use release::interval_of;
