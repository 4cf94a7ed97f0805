//! Instance, database, session, catalog.
