//! Messages of procedure calls, and of system procedures.

use super::messages;

pub(super) const ROWS: &[super::MessageInfo] = messages! {
    201 16 4 "Procedure or function '%.*ls' expects parameter '%.*ls', which was not supplied.";
    8143 16 1 "Parameter '%.*ls' was supplied multiple times.";
    8145 16 1 "%.*ls is not a parameter for procedure %.*ls.";
    14822 16 1 "'%s' is not a valid option for the @mode parameter. Enter \
        'ALL', 'LOCAL_ONLY' or 'REMOTE_ONLY'.";
    15007 16 1 "'%s' is not a valid login or you do not have permission.";
    15009 16 1 "The object '%s' does not exist in database '%s' or is invalid for this operation.";
    15010 16 1 "The database '%s' does not exist. Supply a valid database name. To see available databases, \
        use sys.databases.";
    15124 16 1 "The configuration option '%s' is not unique.";
    15129 16 1 "'%d' is not a valid value for configuration option '%s'.";
    15143 16 1 "'%s' is not a valid option for the @updateusage parameter. Enter either 'true' or 'false'.";
    15151 16 1 "Cannot find the %S_MSG '%.*ls', because it does not exist or you do not have permission.";
    15165 16 1 "Could not find object '%ls' or you do not have permission.";
    15197 16 1 "There is no text for object '%s'.";
    15250 16 1 "The database name component of the object qualifier must be the name of the current \
        database.";
    15325 16 1 "The current database does not contain a %s named '%ls'.";
    15457 10 1 "Configuration option '%ls' changed from %ld to %ld. Run the RECONFIGURE statement to \
        install.";
    15469 10 1 "No constraints are defined on object '%ls', or you do not have permissions.";
    15470 10 1 "No foreign keys reference table '%ls', or you do not have permissions on referencing tables.";
    15472 10 1 "The object '%ls' does not have any indexes, or you do not have permissions.";
    15647 10 1 "No views with schema binding reference table '%ls'.";
};
