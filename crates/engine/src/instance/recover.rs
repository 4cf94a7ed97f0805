//! The end of a restore: the database stays RESTORING, or is recovered and comes online.

use super::Instance;
use super::restore::{Restoring, Settled, log_error};
use crate::database::Database;
use crate::files::FilePlan;
use crate::opening;
use crate::shared::{Listed, Moved, Phase};
use furrow_format::{DatabaseId, Lsn};
use furrow_io::random;
use furrow_messages::Message;
use furrow_tables::EngineError;
use furrow_types::Guid;
use std::path::PathBuf;
use std::sync::Arc;

/// 40514 for a filegroup of which some files are restored and some are not.
fn whole_groups(listed: &Listed) -> Result<(), EngineError> {
    let halved = |plan: &&FilePlan| listed.absent.has_group(plan.filegroup);
    let Some(file) = listed.layout.iter().find(halved) else {
        return Ok(());
    };
    let text = format!(
        "'RECOVERY of some files of a filegroup' is not supported. Restore the other files of the filegroup \
         of '{}', too.",
        file.name
    );
    Err(EngineError::of(Message::custom(40_514, 16, 1, &text)))
}

impl Instance {
    /// The end of a restore WITH NORECOVERY: the database stays RESTORING.
    pub fn leave_restoring(&self, restoring: Restoring) -> Result<(), EngineError> {
        self.settle(restoring).map(drop)
    }

    /// Makes what was restored durable. Its pages are no longer suspect.
    pub(super) fn settle(&self, restoring: Restoring) -> Result<Settled, EngineError> {
        let is_stopped = restoring.log.is_stopped();
        let mut settled = restoring.settle()?;
        if is_stopped {
            // The point lies before files were added that the log backup has.
            let place = (&mut settled.listed, &mut settled.files);
            self.give_up_unlogged(place, settled.end)?;
        }
        for file in settled.files.keys() {
            let suspects = &self.shared.instruments.suspects;
            suspects.note_restored(settled.listed.id, *file);
        }
        Ok(settled)
    }

    /// The end of a restore WITH RECOVERY: recovers the database and brings it online.
    pub fn recover_restored(&self, restoring: Restoring) -> Result<Arc<Database>, EngineError> {
        let _entered = self.shared.enter();
        match restoring.listed.phase {
            Phase::Piece => self.complete_piece(restoring),
            _ => self.recover_settled(self.settle(restoring)?),
        }
    }

    /// RESTORE DATABASE ... WITH RECOVERY alone: brings a database online that was left RESTORING.
    pub fn recover_restoring(&self, name: &str) -> Result<Arc<Database>, EngineError> {
        let _entered = self.shared.enter();
        let listed = self.shared.list.lock().named(name).cloned();
        let listed = listed.ok_or_else(|| EngineError::refused(911, &[name.into()]))?;
        match listed.phase {
            // A restore that did not come to its end is not recovered.
            Phase::Restoring | Phase::Standby => {
                let mut resumed = self.resume_restore(name).map_err(|e| match e.has(3117) {
                    true => EngineError::refused(4333, &[]),
                    false => e,
                })?;
                let given_up = resumed.log.give_up_extension();
                given_up.map_err(|e| log_error(name, e))?;
                self.recover_settled(resumed.into_settled())
            }
            Phase::Whole if listed.absent.piece.is_some() => {
                self.complete_piece(self.resume_piece(name)?)
            }
            _ => Err(EngineError::refused(3153, &[])),
        }
    }

    /// Recovers a database whose log reaches as far as its files need: else 4318. The recovery fork is in the
    /// list before anything is logged: a crash in the middle leaves a database that takes no log of another
    /// one.
    fn recover_settled(&self, mut settled: Settled) -> Result<Arc<Database>, EngineError> {
        self.reaches(&mut settled)?;
        whole_groups(&settled.listed)?;
        let Settled {
            mut listed,
            files,
            end,
            hold,
            ..
        } = settled;
        // They are opened again.
        drop(files);
        // A recovery that was interrupted has logged behind the point at which it began.
        if listed.absent.point == Lsn::ZERO {
            listed.absent.point = end;
            listed.absent.origin = listed.link.clone();
        }
        self.remove_strays(&self.shared.list.lock(), &listed, &|_| false);
        let fork = Guid(random::guid_v4());
        listed.link.forks = listed.link.forks.renewed(fork, end);
        self.shared.list.lock().change(|all| {
            all.retain(|d| d.id != listed.id);
            all.push(listed.clone());
        })?;
        let recovered = self.recover_listed(&listed);
        drop(hold);
        recovered
    }

    fn recover_listed(&self, listed: &Listed) -> Result<Arc<Database>, EngineError> {
        let mut list = self.shared.list.lock();
        Self::without_snapshots(&list, listed.id)?;
        let primary = listed.paths.first().cloned().unwrap_or_default();
        let moved = Moved {
            by_id: listed
                .layout
                .iter()
                .map(|f| (f.id, f.path.clone()))
                .collect(),
            forks: listed.link.forks.clone(),
            absent: listed.absent.at_open(),
            home: primary.parent().map_or_else(PathBuf::new, PathBuf::from),
            ..Moved::default()
        };
        let id = DatabaseId(listed.id);
        let database = opening::open(&self.shared, id, &listed.name, &primary, &moved)?;
        for file in database.file_list()? {
            let plan = listed.layout.iter().find(|plan| plan.id == file.id.0);
            if let Some(plan) = plan {
                database.note_path(file.id, &plan.path)?;
            }
        }
        match database.is_read_only() {
            // It has come to rest already, and does so again: its files have their paths now.
            true => database.come_to_rest(true)?,
            false => drop(database.checkpoint()?),
        }
        // What was never made, or was removed, is in the catalog no more.
        let mut listed = listed.clone();
        listed.absent.files = database
            .files
            .absent()
            .into_iter()
            .map(|f| f.plan)
            .collect();
        self.list_whole(&mut list, &listed)?;
        let listed = &listed;
        self.enter_started(listed, &database)?;
        Ok(database)
    }
}
