//! Messages of batches: procedure calls, errors that users raise, transactions that cannot continue.

use super::messages;

pub(super) const ROWS: &[super::MessageInfo] = messages! {
    148 15 1 "Incorrect time syntax in time string '%.*ls' used with WAITFOR.";
    179 15 1 "Cannot use the OUTPUT option when passing a constant to a stored procedure.";
    180 15 1 "There are too many parameters in this %ls statement. The maximum number is %d.";
    217 16 1 "Maximum stored procedure, function, trigger, or view nesting level exceeded (limit %d).";
    266 16 2 "Transaction count after EXECUTE indicates a mismatching number of BEGIN and COMMIT statements. \
        Previous count = %ld, current count = %ld.";
    282 10 1 "The '%.*ls' procedure attempted to return a status of NULL, which is not allowed. A status \
        of 0 will be returned instead.";
    596 21 1 "Cannot continue the execution because the session is in the kill state.";
    1047 15 1 "Conflicting locking hints specified.";
    1087 15 2 "Must declare the table variable \"%.*ls\".";
    2732 16 1 "Error number %ld is invalid. The number must be from %ld through %ld and it cannot be 50000.";
    2741 16 1 "SET DATEFORMAT date order '%.*ls' is invalid.";
    2742 16 1 "SET DATEFIRST %d is out of range.";
    2745 16 2 "Process ID %d has raised user error %d, severity %d. SQL Server is terminating this process.";
    2747 16 1 "Too many substitution parameters for RAISERROR. Cannot exceed %d substitution parameters.";
    2748 16 1 "Cannot specify %ls data type (parameter %d) as a substitution parameter.";
    2754 16 1 "Error severity levels greater than 18 can only be specified by members of the sysadmin role, \
        using the WITH LOG option.";
    2786 16 1 "The data type of substitution parameter %d does not match the expected type of the format \
        specification.";
    2787 16 1 "Invalid format specification: '%.*ls'.";
    3612 10 1 "\n SQL Server Execution Times:\n   CPU time = %lu ms,  elapsed time = %lu ms.";
    3613 10 1 "SQL Server parse and compile time: \n   CPU time = %lu ms, elapsed time = %lu ms.";
    3615 10 1 "Table '%.*ls'. Scan count %d, logical reads %d, physical reads %d, read-ahead reads %d, \
        lob logical reads %d, lob physical reads %d, lob read-ahead reads %d.";
    3915 16 0 "Cannot use the ROLLBACK statement within an INSERT-EXEC statement.";
    3916 16 0 "Cannot use the COMMIT statement within an INSERT-EXEC statement unless BEGIN TRANSACTION is \
        used first.";
    3930 16 1 "The current transaction cannot be committed and cannot support operations that write to the \
        log file. Roll back the transaction.";
    3931 16 1 "The current transaction cannot be committed and cannot be rolled back to a savepoint. Roll \
        back the entire transaction.";
    3952 16 1 "Snapshot isolation transaction failed accessing database '%.*ls' because snapshot isolation \
        is not allowed in this database. Use ALTER DATABASE to allow snapshot isolation.";
    3998 16 1 "Uncommittable transaction is detected at the end of the batch. The transaction is rolled \
        back.";
    6101 16 1 "Session ID %d is not valid.";
    6104 16 1 "Cannot use KILL to kill your own process.";
    6106 16 2 "Process ID %d is not an active process ID.";
    6107 14 1 "Only user processes can be killed.";
    6109 10 1 "SPID %d: transaction rollback in progress. Estimated rollback completion: %d%%. Estimated \
        time remaining: %d seconds.";
    6120 16 1 "Status report cannot be obtained. Rollback operation for Process ID %d is not in progress.";
    8003 16 1 "The incoming request has too many parameters. The server supports a maximum of %d parameters. \
        Reduce the number of parameters and resend the request.";
    8146 16 2 "Procedure %.*ls has no parameters and arguments were supplied.";
    8162 16 2 "The formal parameter \"%.*ls\" was not declared as an OUTPUT parameter, but the actual \
        parameter passed in requested output.";
    8164 16 1 "An INSERT EXEC statement cannot be nested.";
    8178 16 1 "The parameterized query '%.*ls' expects the parameter '%.*ls', which was not supplied.";
    8672 16 1 "The MERGE statement attempted to UPDATE or DELETE the same row more than once. This happens \
        when a target row matches more than one source row. A MERGE statement cannot UPDATE/DELETE the \
        same row of the target table multiple times. Refine the ON clause to ensure a target row matches \
        at most one source row, or use the GROUP BY clause to group the source rows.";
    18054 16 1 "Error %d, severity %d, state %d was raised, but no message with that error number was found \
        in sys.messages. If error is larger than 50000, make sure the user-defined message is added using \
        sp_addmessage.";
    35100 16 10 "Error number %d in the THROW statement is outside the valid range. Specify an error number \
        in the valid range of 50000 to 2147483647.";
};
