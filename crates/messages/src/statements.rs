//! Messages of statements: syntax, names, values, constraints, locks, permissions.

use super::{MessageInfo, messages};

pub(super) const ROWS: &[MessageInfo] = messages! {
    102 15 1 "Incorrect syntax near '%.*ls'.";
    105 15 1 "Unclosed quotation mark after the character string '%.*ls'.";
    113 15 1 "Missing end comment mark '*/'.";
    137 15 1 "Must declare the scalar variable \"%.*ls\".";
    156 15 1 "Incorrect syntax near the keyword '%.*ls'.";
    170 15 1 "Line %d: Incorrect syntax near '%.*ls'.";
    177 15 1 "The IDENTITY function can only be used when the SELECT statement has an INTO clause.";
    195 15 10 "'%.*ls' is not a recognized %S_MSG.";
    207 16 1 "Invalid column name '%.*ls'.";
    208 16 1 "Invalid object name '%.*ls'.";
    213 16 1 "Column name or number of supplied values does not match table definition.";
    226 16 5 "%ls statement not allowed within multi-statement transaction.";
    229 14 5 "The %ls permission was denied on the object '%.*ls', database '%.*ls', schema '%.*ls'.";
    245 16 1 "Conversion failed when converting the %ls value '%.*ls' to data type %ls.";
    262 14 1 "%ls permission denied in database '%.*ls'.";
    297 16 1 "The user does not have permission to perform this action.";
    515 16 2 "Cannot insert the value NULL into column '%.*ls', table '%.*ls'; column does not allow \
        nulls. %ls fails.";
    544 16 1 "Cannot insert explicit value for identity column in table '%.*ls' when IDENTITY_INSERT is \
        set to OFF.";
    547 16 0 "The %ls statement conflicted with the %ls constraint \"%.*ls\". The conflict occurred in \
        database \"%.*ls\", table \"%.*ls\"%ls%.*ls%ls.";
    574 16 0 "%ls statement cannot be used inside a user transaction.";
    1204 19 4 "The instance of the SQL Server Database Engine cannot obtain a LOCK resource at this time. \
        Rerun your statement when there are fewer active users. Ask the database administrator to check \
        the lock and memory configuration for this instance, or to check for long-running transactions.";
    1205 13 51 "Transaction (Process ID %d) was deadlocked on %.*ls resources with another process and \
        has been chosen as the deadlock victim. Rerun the transaction.";
    1222 16 51 "Lock request time out period exceeded.";
    1701 16 1 "Creating or altering table '%.*ls' failed because the minimum row size would be %d, \
        including %d bytes of internal overhead. This exceeds the maximum allowable table row size of %d \
        bytes.";
    1913 16 1 "The operation failed because an index or statistics with name '%.*ls' already exists on \
        %S_MSG '%.*ls'.";
    1921 16 4 "Invalid %S_MSG '%.*ls' specified.";
    1924 16 2 "Filegroup '%.*ls' is read-only.";
    2601 14 1 "Cannot insert duplicate key row in object '%.*ls' with unique index '%.*ls'. The duplicate \
        key value is %ls.";
    2627 14 1 "Violation of %ls constraint '%.*ls'. Cannot insert duplicate key in object '%.*ls'. The \
        duplicate key value is %ls.";
    2628 16 1 "String or binary data would be truncated in table '%.*ls', column '%.*ls'. Truncated \
        value: '%.*ls'.";
    2705 16 3 "Column names in each table must be unique. Column name '%.*ls' in table '%.*ls' is \
        specified more than once.";
    2714 16 6 "There is already an object named '%.*ls' in the database.";
    2715 16 6 "Column, parameter, or variable #%d: Cannot find data type %.*ls.";
    2812 16 62 "Could not find stored procedure '%.*ls'.";
    3621 0 0 "The statement has been terminated.";
    3701 11 5 "Cannot %S_MSG the %S_MSG '%.*ls', because it does not exist or you do not have permission.";
    3702 16 3 "Cannot drop %S_MSG \"%.*ls\" because it is currently in use.";
    3703 16 2 "Cannot detach the %S_MSG '%.*ls' because it is currently in use.";
    3708 16 1 "Cannot %S_MSG the %S_MSG '%.*ls' because it is a system %S_MSG.";
    3709 16 1 "Cannot %S_MSG the database while the database snapshot \"%.*ls\" refers to it. Drop that \
        database first.";
    3902 16 1 "The COMMIT TRANSACTION request has no corresponding BEGIN TRANSACTION.";
    3903 16 1 "The ROLLBACK TRANSACTION request has no corresponding BEGIN TRANSACTION.";
    3906 16 1 "Failed to update database \"%.*ls\" because the database is read-only.";
    3908 16 1 "Could not run BEGIN TRANSACTION in database '%.*ls' because the database is in emergency mode \
        or is damaged and must be restarted.";
    3920 10 1 "The WITH MARK option only applies to the first BEGIN TRAN WITH MARK statement. The option \
        is ignored.";
    4060 11 1 "Cannot open database \"%.*ls\" requested by the login. The login failed.";
    4104 16 1 "The multi-part identifier \"%.*ls\" could not be bound.";
    5701 10 2 "Changed database context to '%.*ls'.";
    8115 16 1 "Arithmetic overflow error converting %ls to data type %ls.";
    8134 16 1 "Divide by zero error encountered.";
    8152 16 14 "String or binary data would be truncated.";
    8153 10 1 "Warning: Null value is eliminated by an aggregate or other SET operation.";
    10738 15 1 "The number of row value expressions in the INSERT statement exceeds the maximum allowed \
        number of %d row values.";
    15048 16 1 "Valid values of the database compatibility level are %s.";
    15123 16 1 "The configuration option '%s' does not exist, or it may be an advanced option.";
    15247 16 1 "User does not have permission to perform this action.";
    22004 12 1 "Error executing extended stored procedure: %ls";
};
