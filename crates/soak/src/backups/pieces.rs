//! Piecemeal restores of the copy: the primary filegroup first, the other one beside the open database.

use super::machine::{COPY, How, Machine, OTHER, Silent, has, of_backup};
use super::media::{Taken, Wanted};
use super::plan::Plan;
use crate::model::State;
use crate::subject::Failure;
use furrow_backup::{MediaSet, Parts, RestoreRequest, recover_only, restore_files};
use furrow_engine::{Database, DatabaseState};
use std::sync::Arc;

impl Machine {
    /// Restores a chain in pieces, and reads the copy.
    pub(super) fn restore_piecemeal(&self, plan: &Plan) -> Result<State, Failure> {
        let instance = self.instance()?;
        for (at, taken) in plan.chain.iter().enumerate() {
            let stop = plan.stop.as_ref().filter(|_| at + 1 == plan.chain.len());
            let how = match at {
                0 => How::Partly,
                _ => How::Wholly,
            };
            match self.restore_one(instance, (taken, stop, how)) {
                Ok(()) => {}
                Err(e) if taken.wanted == Wanted::Log && has(&e, &[4326]) => {}
                Err(e) => return Err(of_backup(e)),
            }
        }
        match recover_only(instance, COPY) {
            Ok(copy) => self.read_whole(copy, &plan.chain),
            // A transaction under way had changed the file that is left out: it is restored first.
            Err(e) if has(&e, &[40_514]) => {
                self.restore_other(&plan.chain)?;
                for (at, taken) in plan.chain.iter().enumerate() {
                    let stop = plan.stop.as_ref().filter(|_| at + 1 == plan.chain.len());
                    if taken.wanted == Wanted::Log {
                        self.log_again(taken, stop)?;
                    }
                }
                let copy = recover_only(instance, COPY).map_err(of_backup)?;
                self.read_whole(copy, &plan.chain)
            }
            Err(e) => Err(of_backup(e)),
        }
    }

    /// RESTORE LOG of a backup whose log may be in place.
    fn log_again(&self, taken: &Taken, stop: Option<&super::plan::Still>) -> Result<(), Failure> {
        match self.restore_one(self.instance()?, (taken, stop, How::Wholly)) {
            Ok(()) => Ok(()),
            Err(e) if has(&e, &[4326, 4335]) => Ok(()),
            Err(e) => Err(of_backup(e)),
        }
    }

    /// RESTORE DATABASE copy FILEGROUP = OTHER WITH NORECOVERY, of the backup that the chain begins with.
    fn restore_other(&self, chain: &[Taken]) -> Result<(), Failure> {
        let Some(full) = chain.first() else {
            return Ok(());
        };
        let media = MediaSet::open(&self.volume, &full.paths).map_err(of_backup)?;
        let parts = Parts {
            filegroups: vec![OTHER.to_owned()],
            ..Parts::default()
        };
        let request = RestoreRequest {
            name: COPY.to_owned(),
            ..RestoreRequest::default()
        };
        let done = restore_files(self.instance()?, &media, (&request, &parts), &mut Silent);
        done.map(drop).map_err(of_backup)
    }

    /// Reads the copy, with what it lacks restored before.
    pub(super) fn read_whole(
        &self,
        copy: Arc<Database>,
        chain: &[Taken],
    ) -> Result<State, Failure> {
        if copy.absent_files().is_empty() {
            return self.read_copy(copy);
        }
        let instance = self.instance()?;
        self.restore_other(chain)?;
        for taken in chain.iter().filter(|t| t.wanted == Wanted::Log) {
            // With the log of the last backup missing the files do not come back.
            if copy.state() != DatabaseState::Online {
                return Err(Failure::Wrong(format!("the copy is {:?}", copy.state())));
            }
            match recover_only(instance, COPY) {
                Ok(copy) => return self.read_copy(copy),
                Err(e) if has(&e, &[4318]) => {}
                Err(e) => return Err(of_backup(e)),
            }
            self.log_again(taken, None)?;
        }
        let copy = recover_only(instance, COPY).map_err(of_backup)?;
        match copy.absent_files().is_empty() {
            true => self.read_copy(copy),
            false => Err(Failure::Wrong("files stay left out".to_owned())),
        }
    }
}
