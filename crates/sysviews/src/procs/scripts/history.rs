//! The history of backups and restores: `sp_delete_backuphistory`, `sp_delete_database_backuphistory`.

use super::Script;

pub(super) static SCRIPTS: &[Script] = &[
    Script {
        name: "sp_delete_backuphistory",
        about: "Deletes the history of backups that ended before a date, and of their restores.",
        text: BEFORE,
    },
    Script {
        name: "sp_delete_database_backuphistory",
        about: "Deletes the history of a database's backups, and of their restores.",
        text: OF_DATABASE,
    },
];

/// Deletes the sets in `@sets`, their dependent rows, and media without sets.
macro_rules! delete_sets {
    () => {
        "BEGIN TRANSACTION;
DELETE FROM msdb.dbo.restorefile WHERE restore_history_id IN
    (SELECT restore_history_id FROM msdb.dbo.restorehistory WHERE backup_set_id IN (SELECT id FROM @sets));
DELETE FROM msdb.dbo.restorehistory WHERE backup_set_id IN (SELECT id FROM @sets);
DELETE FROM msdb.dbo.backupfile WHERE backup_set_id IN (SELECT id FROM @sets);
DELETE FROM msdb.dbo.backupset WHERE backup_set_id IN (SELECT id FROM @sets);
DELETE FROM msdb.dbo.backupmediafamily WHERE media_set_id NOT IN
    (SELECT media_set_id FROM msdb.dbo.backupset);
DELETE FROM msdb.dbo.backupmediaset WHERE media_set_id NOT IN
    (SELECT media_set_id FROM msdb.dbo.backupset);
COMMIT TRANSACTION;
"
    };
}

const BEFORE: &str = concat!(
    "CREATE PROCEDURE sp_delete_backuphistory @oldest_date datetime AS
SET NOCOUNT ON;
DECLARE @sets TABLE (id int PRIMARY KEY);
INSERT @sets SELECT backup_set_id FROM msdb.dbo.backupset WHERE backup_finish_date < @oldest_date;
",
    delete_sets!()
);

const OF_DATABASE: &str = concat!(
    "CREATE PROCEDURE sp_delete_database_backuphistory @database_name sysname AS
SET NOCOUNT ON;
DECLARE @sets TABLE (id int PRIMARY KEY);
INSERT @sets SELECT backup_set_id FROM msdb.dbo.backupset WHERE database_name = @database_name;
",
    delete_sets!()
);
