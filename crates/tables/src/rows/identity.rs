//! Identity columns: values from the counter, explicit values, and reseeding.
//!
//! A log record reserves a range of values at a time, outside of any transaction: a rollback takes none
//! back, and after a crash the values that were reserved and not used are skipped.

use crate::error::{EngineError, refuse};
use crate::session::Session;
use crate::table::{IdentityCounter, IdentityState, RowBuffer, Table};
use furrow_format::ObjectId;
use furrow_format::catalog::Identity;
use furrow_types::{Decimal, TypeId, Value, decode};

/// Identity values that one log record reserves.
const IDENTITY_RANGE: i128 = 1000;

impl Session {
    /// Gives the row its identity value.
    pub(crate) fn fill_identity(
        &self,
        table: &Table,
        row: &mut RowBuffer,
    ) -> Result<Option<i64>, EngineError> {
        let Some(counter) = &table.identity else {
            return Ok(None);
        };
        let value = self.next_identity(table, counter)?;
        let typed = match counter.data_type.id {
            TypeId::BigInt => {
                row.set_bytes(counter.column, Some(&(value as i64).to_le_bytes()));
                return Ok(Some(value as i64));
            }
            _ => Value::Decimal(Decimal {
                unscaled: value,
                scale: 0,
            }),
        };
        row.set(table, counter.column, &typed)?;
        Ok(i64::try_from(value).ok())
    }

    fn next_identity(&self, table: &Table, counter: &IdentityCounter) -> Result<i128, EngineError> {
        let overflow = || {
            let args = ["IDENTITY".into(), counter.data_type.id.name().into()];
            EngineError::refused(8115, &args)
        };
        let mut state = counter.state.lock();
        let now = state.now;
        let value = now.next().ok_or_else(overflow)?;
        let step = now.increment;
        let ahead = |a: i128, b: i128| if step > 0 { a > b } else { a < b };
        if !state.logged.issued || ahead(value, state.logged.last) {
            let encoded = |last| {
                Identity {
                    last,
                    issued: true,
                    ..now
                }
                .encode(&counter.data_type)
            };
            encoded(value).ok_or_else(overflow)?;
            // As far ahead as the type goes.
            let far = value.saturating_add(step.saturating_mul(IDENTITY_RANGE - 1));
            let (last, bytes) = match encoded(far) {
                Some(bytes) => (far, bytes),
                None => (value, encoded(value).ok_or_else(overflow)?),
            };
            self.db
                .catalog
                .store_identity(table, counter.colid, Some(bytes))?;
            state.logged = Identity {
                last,
                issued: true,
                ..now
            };
        }
        state.now = Identity {
            last: value,
            issued: true,
            ..now
        };
        Ok(value)
    }

    /// 544 for a value of the identity column, unless SET IDENTITY_INSERT is on for the table.
    pub(super) fn allow_identity(&self, table: &Table, column: usize) -> Result<(), EngineError> {
        match table.columns.get(column) {
            Some(c) if c.identity && self.identity_insert != Some(table.id) => {
                Err(EngineError::refused(544, &[table.name.as_str().into()]))
            }
            _ => Ok(()),
        }
    }

    /// The identity value of a row with these given columns: the next value, or the given one, behind which
    /// the next values then continue.
    #[inline]
    pub(super) fn identity_of_row(
        &self,
        table: &Table,
        named: &[usize],
        row: &mut RowBuffer,
    ) -> Result<Option<i64>, EngineError> {
        match &table.identity {
            Some(counter) if self.identity_insert == Some(table.id) => {
                self.identity_by_hand(table, counter, named, row)
            }
            _ => self.fill_identity(table, row),
        }
    }

    fn identity_by_hand(
        &self,
        table: &Table,
        counter: &IdentityCounter,
        named: &[usize],
        row: &RowBuffer,
    ) -> Result<Option<i64>, EngineError> {
        if !named.contains(&counter.column) {
            let text = format!(
                "Explicit value must be specified for identity column in table '{}' either when \
                IDENTITY_INSERT is set to ON or when a replication user is inserting into a NOT FOR \
                REPLICATION identity column.",
                table.name
            );
            return Err(refuse(545, 16, 1, &text));
        }
        let bytes = row.get(counter.column);
        let value = bytes.and_then(|b| match decode(&counter.data_type, b).ok()? {
            Value::Decimal(decimal) if decimal.scale == 0 => Some(decimal.unscaled),
            value => value.as_i64().map(i128::from),
        });
        // NULL is refused with the other columns.
        let Some(value) = value else {
            return Ok(None);
        };
        let mut state = counter.state.lock();
        let now = state.now;
        let ahead = match now.issued {
            true if now.increment > 0 => value > now.last,
            true => value < now.last,
            false => true,
        };
        if ahead {
            self.set_identity(table, counter, (&mut state, value))?;
        }
        Ok(i64::try_from(value).ok())
    }

    /// Makes this value the one behind which the next ones continue, in the log too.
    fn set_identity(
        &self,
        table: &Table,
        counter: &IdentityCounter,
        (state, value): (&mut IdentityState, i128),
    ) -> Result<(), EngineError> {
        let next = Identity {
            last: value,
            issued: true,
            ..state.now
        };
        let bytes = next.encode(&counter.data_type).ok_or_else(|| {
            let args = ["IDENTITY".into(), counter.data_type.id.name().into()];
            EngineError::refused(8115, &args)
        })?;
        let catalog = &self.db.catalog;
        catalog.store_identity(table, counter.colid, Some(bytes))?;
        state.now = next;
        state.logged = next;
        Ok(())
    }

    /// SET IDENTITY_INSERT: of one table at a time (8107), which has an identity column (8106).
    pub fn set_identity_insert(&mut self, table: &Table, on: bool) -> Result<(), EngineError> {
        if table.identity.is_none() {
            let text = format!(
                "Table '{}' does not have the identity property. Cannot perform SET operation.",
                table.full_name()
            );
            return Err(refuse(8106, 16, 1, &text));
        }
        if !on {
            self.identity_insert = self.identity_insert.filter(|&other| other != table.id);
            return Ok(());
        }
        let other = self.identity_insert.filter(|&other| other != table.id);
        self.refuse_beside(other, table)?;
        self.identity_insert = Some(table.id);
        Ok(())
    }

    /// 8107 for a table of another database, if one of this session's has SET IDENTITY_INSERT.
    pub fn refuse_identity_insert_elsewhere(&self, table: &Table) -> Result<(), EngineError> {
        self.refuse_beside(self.identity_insert, table)
    }

    fn refuse_beside(&self, other: Option<ObjectId>, table: &Table) -> Result<(), EngineError> {
        let all = self.tables();
        if let Some(name) = all
            .iter()
            .find(|t| Some(t.id) == other)
            .map(|t| t.full_name())
        {
            let text = format!(
                "IDENTITY_INSERT is already ON for table '{}.{name}'. Cannot perform SET operation \
                for table '{}'.",
                self.db.name(),
                table.full_name()
            );
            return Err(refuse(8107, 16, 1, &text));
        }
        Ok(())
    }

    /// Sets which table has SET IDENTITY_INSERT, whichever had it before, which is returned.
    pub fn replace_identity_insert(&mut self, table: Option<ObjectId>) -> Option<ObjectId> {
        std::mem::replace(&mut self.identity_insert, table)
    }

    /// DBCC CHECKIDENT RESEED: the next row gets this value where none was handed out, else the one behind
    /// it.
    pub fn reseed(&mut self, table: &Table, value: i64) -> Result<(), EngineError> {
        let Some(counter) = &table.identity else {
            let text = format!(
                "'{}' does not contain an identity column.",
                table.full_name()
            );
            return Err(refuse(7997, 16, 1, &text));
        };
        self.db.check()?;
        let _task = self.enter();
        let mut state = counter.state.lock();
        let value = match state.now.issued {
            true => i128::from(value),
            false => i128::from(value) - state.now.increment,
        };
        self.set_identity(table, counter, (&mut state, value))
    }
}

impl Table {
    /// Where its identity column is; `None` without one.
    pub fn identity_now(&self) -> Option<Identity> {
        self.identity.as_ref().map(|c| c.state.lock().now)
    }
}
