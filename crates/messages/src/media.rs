//! Messages of BACKUP and RESTORE.

use super::{MessageInfo, messages};

pub(super) const ROWS: &[MessageInfo] = messages! {
    3002 16 1 "Cannot BACKUP or RESTORE a database snapshot.";
    3004 16 1 "The primary filegroup cannot be backed up as a file backup because the database is using \
        the SIMPLE recovery model. Consider taking a partial backup by specifying READ_WRITE_FILEGROUPS.";
    3007 16 1 "The backup of the file or filegroup \"%ls\" is not permitted because it is not online. \
        Container state: \"%ls\" (%d). Restore status: %d. BACKUP can be performed by using the FILEGROUP \
        or FILE clauses to restrict the selection to include only online data.";
    3009 16 1 "Could not insert a backup or restore history/detail record in the msdb database. This may \
        indicate a problem with the msdb database. The backup/restore operation was still successful.";
    3010 16 1 "Invalid backup mirror specification. All mirrors must have the same number of members.";
    3011 16 1 "All backup devices must be of the same general class (for example, DISK and TAPE).";
    3013 16 1 "%hs is terminating abnormally.";
    3014 10 1 "%hs successfully processed %I64d pages in %d.%03d seconds (%d.%03d MB/sec).";
    3021 16 0 "Cannot perform a backup or restore operation within a transaction.";
    3023 16 2 "Backup, file manipulation operations (such as ALTER DATABASE ADD FILE) and encryption changes \
        on a database must be serialized. Reissue the statement after the current backup or file \
        manipulation operation is completed.";
    3027 16 1 "The filegroup \"%.*ls\" is not part of database \"%.*ls\".";
    3031 16 1 "Option '%ls' conflicts with option(s) '%ls'. Remove the conflicting option and reissue the \
        statement.";
    3032 16 1 "One or more of the options (%ls) are not supported for this statement. Review the \
        documentation for supported options.";
    3033 16 0 "BACKUP DATABASE cannot be used on a database opened in emergency mode.";
    3035 16 1 "Cannot perform a differential backup for database \"%ls\", because a current database \
        backup does not exist. Perform a full database backup by reissuing BACKUP DATABASE, omitting the \
        WITH DIFFERENTIAL option.";
    3036 16 1 "The database is in warm-standby state (set by executing RESTORE WITH STANDBY) and cannot be \
        backed up until the entire restore sequence is completed.";
    3041 16 1 "BACKUP failed to complete the command %.*ls. Check the backup application log for detailed \
        messages.";
    3042 10 1 "BACKUP WITH CONTINUE_AFTER_ERROR successfully generated a backup of the damaged database. \
        Refer to the SQL Server error log for information about the errors that were encountered.";
    3043 16 1 "BACKUP '%ls' detected an error on page (%d:%d) in file '%ls'.";
    3095 16 1 "The backup cannot be performed because '%ls' was requested after the media was formatted \
        with an incompatible structure. To append to this media set, either omit '%ls' or create a new \
        media set by using WITH FORMAT in your BACKUP statement. If you use WITH FORMAT on an existing \
        media set, all its backup sets will be overwritten.";
    3098 16 2 "The backup cannot be performed because '%ls' was requested after the media was formatted \
        with an incompatible structure. To append to this media set, either omit '%ls' or specify '%ls'. \
        Alternatively, you can create a new media set by using WITH FORMAT in your BACKUP statement.";
    3101 16 1 "Exclusive access could not be obtained because the database is in use.";
    3102 16 1 "%ls cannot process database '%ls' because it is in use by this session. It is recommended \
        that the master database be used when performing this operation.";
    3111 16 1 "Page %S_PGID is a control page which cannot be restored in isolation. To repair this page, \
        the entire file must be restored.";
    3116 16 1 "The supplied backup is not on the same recovery path as the database, and is \
        ineligible for use for an online file restore.";
    3117 16 1 "The log or differential backup cannot be restored because no files are ready to \
        rollforward.";
    3118 16 1 "The database \"%ls\" does not exist. RESTORE can only create a database when restoring \
        either a full backup or a file backup of the primary file.";
    3119 16 1 "Problems were identified while planning for the RESTORE statement. Previous messages \
        provide details.";
    3122 16 1 "File ID %d is not of the kind that this statement restores. Use RESTORE HEADERONLY to list \
        the backup sets.";
    3132 16 1 "The media set has %d media families but only %d are provided. All members must be \
        provided.";
    3133 16 1 "The volume on device \"%ls\" is sequence number %d of media family %d, but sequence number \
        %d of media family %d is expected. Check that the device specifications and loaded media are \
        correct.";
    3135 16 1 "The backup set in file '%ls' was created by %hs and cannot be used for this restore \
        operation.";
    3136 16 1 "This differential backup cannot be restored because the database has not been restored to \
        the correct earlier state.";
    3137 16 1 "Database cannot be reverted. Either the primary or the snapshot names are improperly \
        specified, all other snapshots have not been dropped, or there are missing files.";
    3141 16 1 "The database to be restored was named '%ls'. Reissue the statement using the WITH REPLACE \
        option to overwrite the '%ls' database.";
    3142 16 1 "File \"%ls\" cannot be restored over the existing \"%ls\". Reissue the RESTORE statement \
        using WITH REPLACE to overwrite pre-existing files, or WITH MOVE to identify an alternate \
        location.";
    3143 16 1 "The data set on device '%ls' is not a SQL Server backup set.";
    3145 16 1 "The STOPAT option is not supported for databases that use the SIMPLE recovery model.";
    3147 16 1 "Backup and restore operations are not allowed on database tempdb.";
    3153 16 2 "The database is already fully recovered.";
    3154 16 4 "The backup set holds a backup of a database other than the existing '%ls' database.";
    3156 16 3 "File '%ls' cannot be restored to '%ls'. Use WITH MOVE to identify a valid location for the \
        file.";
    3159 16 1 "The tail of the log for the database \"%ls\" has not been backed up. Use BACKUP LOG WITH \
        NORECOVERY to backup the log if it contains work you do not want to lose. Use the WITH REPLACE or \
        WITH STOPAT clause of the RESTORE statement to just overwrite the contents of the log.";
    3169 16 1 "The database was backed up on a server running version %ls. That version is incompatible \
        with this server, which is running version %ls. Either restore the database on a server that \
        supports the backup, or use a backup that is compatible with this server.";
    3176 16 1 "File '%ls' is claimed by '%ls'(%d) and '%ls'(%d). The WITH MOVE clause can be used to \
        relocate one or more files.";
    3181 10 1 "Attempting to restore this backup may encounter storage space problems. Subsequent messages \
        will provide details.";
    3183 16 1 "RESTORE detected an error on page (%d:%d) in database \"%ls\" as read from the backup set.";
    3187 16 1 "RESTORE WITH CHECKSUM cannot be specified because the backup set does not contain checksum \
        information.";
    3189 16 1 "Damage to the backup set was detected.";
    3194 16 1 "Page %S_PGID is beyond the end of the file. Only pages that are in the current range of \
        the file can be restored.";
    3195 16 1 "Page %S_PGID cannot be restored from this backup set. RESTORE PAGE can only be used from \
        full backup sets or from the first log or differential backup taken since the file was added to \
        the database.";
    3201 16 1 "Cannot open backup device '%ls'. Operating system error %ls.";
    3202 16 1 "Write on \"%ls\" failed: %ls";
    3203 16 1 "Read on \"%ls\" failed: %ls";
    3205 16 1 "Too many backup devices specified for backup or restore; only %d are allowed.";
    3206 16 1 "Backup device '%.*ls' does not exist. To view existing backup devices, use the \
        sys.backup_devices catalog view. To create a new backup device use either sp_addumpdevice or SQL \
        Server Management Studio.";
    3211 10 1 "%d percent processed.";
    3214 16 1 "Too many backup mirrors are specified. Only %d are allowed.";
    3217 16 1 "Invalid value specified for %ls parameter.";
    3227 16 1 "The backup media on \"%ls\" is part of media family %d which has already been processed on \
        \"%ls\". Ensure that backup devices are correctly specified. For tape devices, ensure that the \
        correct volumes are loaded.";
    3231 16 1 "The media loaded on \"%ls\" is formatted to support %d media families, but %d media \
        families are expected according to the backup device specification.";
    3234 16 1 "Logical file '%.*ls' is not part of database '%ls'. Use RESTORE FILELISTONLY to list the \
        logical file names.";
    3241 16 1 "The media family on device '%ls' is incorrectly formed. SQL Server cannot process this \
        media family.";
    3242 16 1 "The file on device '%ls' is not a valid Microsoft Tape Format backup set.";
    3250 16 1 "The value '%d' is not within range for the %ls parameter.";
    3253 16 1 "The block size parameter must supply a value that is a power of 2.";
    3254 16 1 "The volume on device '%ls' is empty.";
    3256 16 1 "The backup set on device '%ls' was terminated while it was being created and is \
        incomplete. RESTORE sequence is terminated abnormally.";
    3257 16 1 "There is insufficient free space on disk volume '%ls' to create the database. The database \
        requires %I64u additional free bytes, while only %I64u bytes are available.";
    3258 16 1 "The volume on the device \"%ls\" is not part of the media set that is currently being \
        processed. Ensure that the backup devices are loaded with the correct media.";
    3262 10 1 "The backup set on file %d is valid.";
    3266 16 1 "The backup data at the end of \"%ls\" is incorrectly formatted. Backup sets on the media \
        might be damaged and unusable. To determine the backup sets on the media, use RESTORE \
        HEADERONLY. To determine the usability of the backup sets, run RESTORE VERIFYONLY. If all of \
        the backup sets are incomplete, reformat the media using BACKUP WITH FORMAT, which destroys all \
        the backup sets.";
    3271 16 1 "A nonrecoverable I/O error occurred on file \"%ls:\" %ls.";
    3287 16 1 "The file ID %d on device '%ls' is incorrectly formed and can not be read.";
    4035 10 1 "Processed %I64d pages for database '%ls', file '%ls' on file %d.";
    4208 16 1 "The statement %hs is not allowed while the recovery model is SIMPLE. Use BACKUP DATABASE \
        or change the recovery model using ALTER DATABASE.";
    4214 16 1 "BACKUP LOG cannot be performed because there is no current database backup.";
    4305 16 1 "The log in this backup set begins at LSN %.*ls, which is too recent to apply to the \
        database. An earlier log backup that includes LSN %.*ls can be restored.";
    4318 16 1 "File '%ls' has been rolled forward to LSN %.*ls. This log terminates at LSN %.*ls, \
        which is too early to apply the WITH RECOVERY option. Reissue the RESTORE LOG statement \
        WITH NORECOVERY.";
    4320 16 1 "The file \"%ls\" was not fully restored by a database or file restore. The entire file must \
        be successfully restored before applying this backup set.";
    4322 10 1 "This backup set contains records that were logged before the designated point in \
        time. The database is being left in the restoring state so that more roll forward can be \
        performed.";
    4326 16 1 "The log in this backup set terminates at LSN %.*ls, which is too early to apply to the \
        database. A more recent log backup that includes LSN %.*ls can be restored.";
    4329 10 1 "This log file contains records logged before the designated mark. The database is \
        being left in the Restoring state so you can apply another log file.";
    4330 16 1 "This backup set cannot be applied because it is on a recovery path that is inconsistent \
        with the database. The recovery path is the sequence of data and log backups that have \
        brought the database to a particular recovery point. Find a compatible backup to restore, or \
        restore the rest of the database to match a recovery point within this backup set, which \
        will restore the database to a different point in time. For more information about recovery \
        paths, see SQL Server Books Online.";
    4331 16 1 "The database cannot be recovered because the files have been restored to \
        inconsistent points in time.";
    4333 16 1 "The database cannot be recovered because the log was not restored.";
    4334 16 1 "The named mark does not identify a valid LSN.";
    4335 16 1 "The specified STOPAT time is too early. All or part of the database is already \
        rolled forward beyond that point.";
    4338 16 1 "The STOPAT clause specifies a point too early to allow this backup set to be \
        restored. Choose a different stop point or use RESTORE DATABASE WITH RECOVERY to recover \
        at the current point.";
    4340 16 1 "The point-in-time clause of this RESTORE statement is restricted for use by RESTORE \
        LOG statements only. Omit the clause or use a clause that includes a timestamp.";
    4344 16 1 "RESTORE PAGE is not allowed on read-only databases or filegroups.";
    4346 16 1 "RESTORE PAGE is not allowed with databases that use the simple recovery model or \
        have broken the log backup chain.";
    18264 10 1 "Database backed up. Database: %s, creation date(time): %s(%s), pages dumped: %I64d, first \
        LSN: %s, last LSN: %s, number of dump devices: %d, device information: (%s). This is an \
        informational message only. No user action is required.";
    18265 10 1 "Log was backed up. Database: %s, creation date(time): %s(%s), first LSN: %s, last LSN: \
        %s, number of dump devices: %d, device information: (%s). This is an informational message only. \
        No user action is required.";
    18267 10 1 "Database was restored: Database: %s, creation date(time): %s(%s), first LSN: %s, last \
        LSN: %s, number of dump devices: %d, device information: (%s). Informational message. No user \
        action required.";
    18268 10 1 "Log was restored. Database: %s, creation date(time): %s(%s), first LSN: %s, last LSN: %s, \
        number of dump devices: %d, device information: (%s). This is an informational message. No user \
        action is required.";
    18270 10 1 "Database differential changes were backed up. Database: %s, creation date(time): %s(%s), \
        pages dumped: %I64d, first LSN: %s, last LSN: %s, full backup LSN: %s, number of dump devices: \
        %d, device information: (%s). This is an informational message. No user action is required.";
    33101 16 1 "Cannot use %S_MSG '%.*ls', because its private key is not present or it is not protected by \
        the database master key. SQL Server requires the ability to automatically access the private key of \
        the %S_MSG used for this operation.";
    33111 16 3 "Cannot find server %S_MSG with thumbprint '%.*ls'.";
};
