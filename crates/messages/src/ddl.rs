//! Messages of CREATE, ALTER and DROP of objects in a database: tables, columns, keys, constraints, modules.

use super::{MessageInfo, messages};

pub(super) const ROWS: &[MessageInfo] = messages! {
    1088 16 12 "Cannot find the object \"%.*ls\" because it does not exist or you do not have permissions.";
    1702 16 1 "CREATE TABLE failed because column '%.*ls' in table '%.*ls' exceeds the maximum of %d \
        columns.";
    1750 16 1 "Could not create constraint or index. See previous errors.";
    1752 16 0 "Column '%.*ls' in table '%.*ls' is invalid for creating a default constraint.";
    1753 16 0 "Column '%.*ls' is not the same length or scale as referencing column '%.*ls' in foreign key \
        '%.*ls'. Columns participating in a foreign key relationship must be defined with the same length \
        and scale.";
    1754 16 0 "Defaults cannot be created on columns with an IDENTITY attribute. Table '%.*ls', column \
        '%.*ls'.";
    1761 16 0 "Cannot create the foreign key \"%.*ls\" with the SET NULL referential action, because one or \
        more referencing columns are not nullable.";
    1762 16 0 "Cannot create the foreign key \"%.*ls\" with the SET DEFAULT referential action, because one \
        or more referencing not-nullable columns lack a default constraint.";
    1763 16 0 "Cross-database foreign key references are not supported. Foreign key '%.*ls'.";
    1767 16 0 "Foreign key '%.*ls' references invalid table '%.*ls'.";
    1769 16 1 "Foreign key '%.*ls' references invalid column '%.*ls' in referencing table '%.*ls'.";
    1770 16 0 "Foreign key '%.*ls' references invalid column '%.*ls' in referenced table '%.*ls'.";
    1773 16 0 "Foreign key '%.*ls' has implicit reference to object '%.*ls' which does not have a primary \
        key defined on it.";
    1776 16 0 "There are no primary or candidate keys in the referenced table '%.*ls' that match the \
        referencing column list in the foreign key '%.*ls'.";
    1778 16 0 "Column '%.*ls' is not the same data type as referencing column '%.*ls' in foreign key \
        '%.*ls'.";
    1779 16 0 "Table '%.*ls' already has a primary key defined on it.";
    1781 16 1 "Column already has a DEFAULT bound to it.";
    1785 16 0 "Introducing FOREIGN KEY constraint '%.*ls' on table '%.*ls' may cause cycles or multiple \
        cascade paths. Specify ON DELETE NO ACTION or ON UPDATE NO ACTION, or modify other FOREIGN KEY \
        constraints.";
    1945 10 1 "Warning! The maximum key length for a %S_MSG index is %d bytes. The index '%.*ls' has maximum \
        length of %d bytes. For some combination of large values, the insert/update operation will fail.";
    2744 16 2 "Multiple identity columns specified for table '%.*ls'. Only one identity column per table is \
        allowed.";
    2749 16 2 "Identity column '%.*ls' must be of data type int, bigint, smallint, tinyint, or decimal or \
        numeric with a scale of 0, unencrypted, and constrained to be nonnullable.";
    2759 16 0 "CREATE SCHEMA failed due to previous errors.";
    3705 16 1 "Cannot use DROP %ls with '%.*ls' because '%.*ls' is a %S_MSG. Use %ls.";
    3723 16 4 "An explicit DROP INDEX is not allowed on index '%.*ls'. It is being used for %ls constraint \
        enforcement.";
    3725 16 0 "The constraint '%.*ls' is being referenced by table '%.*ls', foreign key constraint '%.*ls'.";
    3726 16 1 "Could not drop object '%.*ls' because it is referenced by a FOREIGN KEY constraint.";
    3727 16 0 "Could not drop constraint. See previous errors.";
    3728 16 1 "'%.*ls' is not a constraint.";
    3740 16 1 "Cannot drop the %S_MSG '%.*ls' because at least part of the table resides on a read-only \
        filegroup.";
    4505 16 1 "CREATE VIEW failed because column '%.*ls' in view '%.*ls' exceeds the maximum of %d columns.";
    4506 16 1 "Column names in each view or function must be unique. Column name '%.*ls' in view or function \
        '%.*ls' is specified more than once.";
    4508 16 1 "Views or functions are not allowed on temporary tables. Table names that begin with '#' \
        denote temporary tables.";
    4511 16 1 "Create View or Function failed because no column name was specified for column %d.";
    4701 16 1 "Cannot find the object \"%.*ls\" because it does not exist or you do not have permissions.";
    4712 16 1 "Cannot truncate table '%.*ls' because it is being referenced by a FOREIGN KEY constraint.";
    4902 16 1 "Cannot find the object \"%.*ls\" because it does not exist or you do not have permissions.";
    4917 16 0 "Constraint '%.*ls' does not exist.";
    4922 16 9 "%ls %.*ls failed because one or more objects access this %S_MSG.";
    4923 16 1 "ALTER TABLE DROP COLUMN failed because '%.*ls' is the only data column in table '%.*ls'. A \
        table must have at least one data column.";
    4924 16 1 "%ls failed because column '%.*ls' does not exist in table '%.*ls'.";
    5023 10 1 "The database name '%.*ls' has been set.";
    5058 16 1 "Option '%.*ls' cannot be set in database '%.*ls'.";
    5074 16 1 "The %S_MSG '%.*ls' is dependent on %S_MSG '%.*ls'.";
    7940 16 1 "System databases master, model, msdb, and tempdb cannot be detached.";
    8108 16 1 "Cannot add identity column, using the SELECT INTO statement, to table '%.*ls', which already \
        has column '%.*ls' that inherits the identity property.";
    8110 16 0 "Cannot add multiple PRIMARY KEY constraints to table '%.*ls'.";
    8111 16 1 "Cannot define PRIMARY KEY constraint on nullable column in table '%.*ls'.";
    8112 16 0 "Cannot add more than one clustered index for constraints on table '%.*ls'.";
    8139 16 0 "Number of referencing columns in foreign key differs from number of referenced columns, table \
        '%.*ls'.";
    8141 16 0 "Column %ls constraint for column '%.*ls' references another column, table '%.*ls'.";
    8148 16 0 "More than one column %ls constraint specified for column '%.*ls', table '%.*ls'.";
    8168 16 0 "Cannot create, drop, enable, or disable more than one constraint, column, index, or trigger \
        named '%.*ls' in this context. Duplicate names are not allowed.";
    11415 16 1 "Object '%.*ls' cannot be disabled or enabled. This action applies only to foreign key and \
        check constraints.";
    15225 11 1 "No item by the name of '%s' could be found in the current database '%s', given that \
        @itemtype was input as '%s'.";
    15248 11 1 "Either the parameter @objname is ambiguous or the claimed @objtype (%s) is wrong.";
    15249 11 1 "Error: Explicit @objtype '%s' is unrecognized.";
    15335 11 1 "Error: The new name '%s' is already in use as a %s name and would cause a duplicate that is \
        not permitted.";
    15477 0 1 "Caution: Changing any part of an object name could break scripts and stored procedures.";
};
