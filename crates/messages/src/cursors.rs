//! Messages about cursors.

use super::messages;

pub(super) const ROWS: &[super::MessageInfo] = messages! {
    1048 15 1 "Conflicting cursor options %ls and %ls.";
    16905 16 1 "The cursor is already open.";
    16911 16 1 "fetch: The fetch type %ls cannot be used with forward only cursors.";
    16915 16 1 "A cursor with the name '%.*ls' already exists.";
    16916 16 1 "A cursor with the name '%.*ls' does not exist.";
    16917 16 1 "Cursor is not open.";
    16922 16 1 "Cursor Fetch: Implicit conversion from data type %ls to %ls is not allowed.";
    16924 16 1 "Cursorfetch: The number of variables declared in the INTO list must match that of selected \
        columns.";
    16929 16 1 "The cursor is READ ONLY.";
    16931 16 1 "There are no rows in the current fetch buffer.";
    16932 16 1 "The cursor has a FOR UPDATE list and the requested column to be updated is not in this list.";
    16933 16 1 "The cursor does not include the table being modified or the table is not updatable through \
        the cursor.";
    16937 16 1 "A server cursor cannot be opened on the given statement or statements. Use a default result \
        set or client cursor.";
    16947 16 1 "No rows were updated or deleted.";
    16948 16 1 "The variable '%.*ls' is not a cursor variable, but it is used in a place where a cursor \
        variable is expected.";
    16950 16 2 "The variable '%.*ls' does not currently have a cursor allocated to it.";
    16957 16 1 "FOR UPDATE cannot be specified on a READ ONLY cursor.";
};
