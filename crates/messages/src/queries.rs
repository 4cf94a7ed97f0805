//! Messages about queries and names, raised when a statement is bound or runs.

use super::messages;

pub(super) const ROWS: &[super::MessageInfo] = messages! {
    104 16 1 "ORDER BY items must appear in the select list if the statement contains a UNION, \
        INTERSECT or EXCEPT operator.";
    107 15 1 "The column prefix '%.*ls' does not match with a table name or alias name used in the query.";
    108 15 1 "The ORDER BY position number %ld is out of range of the number of items in the select list.";
    109 15 1 "There are more columns in the INSERT statement than values specified in the VALUES clause. The \
        number of values in the VALUES clause must match the number of columns specified in the INSERT \
        statement.";
    110 15 1 "There are fewer columns in the INSERT statement than values specified in the VALUES \
        clause. The \
        number of values in the VALUES clause must match the number of columns specified in the INSERT \
        statement.";
    116 16 1 "Only one expression can be specified in the select list when the subquery is not introduced \
        with EXISTS.";
    120 15 1 "The select list for the INSERT statement contains fewer items than the insert list. The number \
        of SELECT values must match the number of INSERT columns.";
    121 15 1 "The select list for the INSERT statement contains more items than the insert list. The number \
        of SELECT values must match the number of INSERT columns.";
    127 15 1 "A TOP N or FETCH rowcount value may not be negative.";
    130 15 1 "Cannot perform an aggregate function on an expression containing an aggregate or a subquery.";
    141 15 1 "A SELECT statement that assigns a value to a variable must not be combined with data-retrieval \
        operations.";
    144 15 1 "Cannot use an aggregate or a subquery in an expression used for the group by list of a GROUP \
        BY clause.";
    145 15 1 "ORDER BY items must appear in the select list if SELECT DISTINCT is specified.";
    147 15 1 "An aggregate may not appear in the WHERE clause unless it is in a subquery contained in a \
        HAVING clause or a select list, and the column being aggregated is an outer reference.";
    157 15 1 "An aggregate may not appear in the set list of an UPDATE statement.";
    164 15 1 "Each GROUP BY expression must contain at least one column that is not an outer reference.";
    169 15 1 "A column has been specified more than once in the order by list. Columns in the order by list \
        must be unique.";
    194 15 1 "A SELECT INTO statement cannot contain a SELECT statement that assigns values to a variable.";
    205 16 1 "All queries combined using a UNION, INTERSECT or EXCEPT operator must have an equal number of \
        expressions in their target lists.";
    209 16 1 "Ambiguous column name '%.*ls'.";
    215 16 1 "Parameters supplied for object '%.*ls' which is not a function. If the parameters are \
        intended as a table hint, a WITH keyword is required.";
    235 16 0 "Cannot convert a char value to money. The char value has incorrect syntax.";
    239 16 1 "Duplicate common table expression name '%.*ls' was specified.";
    240 16 1 "Types don't match between the anchor and the recursive part in column \"%.*ls\" of \
        recursive query \"%.*ls\".";
    243 16 1 "Type %.*ls is not a defined system type.";
    246 16 1 "No anchor member was specified for recursive query \"%.*ls\".";
    252 16 1 "Recursive common table expression '%.*ls' does not contain a top-level UNION ALL operator.";
    253 16 1 "Recursive member of a common table expression '%.*ls' has multiple recursive references.";
    264 16 1 "The column name '%.*ls' is specified more than once in the SET clause or column list of an \
        INSERT. A column cannot be assigned more than one value in the same clause. Modify the clause to \
        make sure that a column is updated only once. If this statement updates or inserts columns into a \
        view, column aliasing can conceal the duplication in your code.";
    270 16 1 "Object '%.*ls' cannot be modified.";
    308 16 1 "Index '%.*ls' on table '%.*ls' (specified in the FROM clause) does not exist.";
    310 15 1 "The value %d specified for the MAXRECURSION option exceeds the allowed maximum of 32767.";
    313 16 3 "An insufficient number of arguments were supplied for the procedure or function %.*ls.";
    408 16 1 "A constant expression was encountered in the ORDER BY list, position %i.";
    421 16 1 "The %ls data type cannot be selected as DISTINCT because it is not comparable.";
    460 16 1 "DISTINCT operator is not allowed in the recursive part of a recursive common table \
        expression '%.*ls'.";
    467 16 1 "GROUP BY, HAVING, or aggregate functions are not allowed in the recursive part of a \
        recursive common table expression '%.*ls'.";
    512 16 1 "Subquery returned more than 1 value. This is not permitted when the subquery follows =, !=, <, \
        <= , >, >= or when the subquery is used as an expression.";
    530 16 1 "The statement terminated. The maximum recursion %d has been exhausted before statement \
        completion.";
    628 16 0 "Cannot issue SAVE TRANSACTION when there is no active transaction.";
    652 16 1 "The index \"%.*ls\" for table \"%.*ls\" (RowsetId %I64d) resides on a read-only filegroup \
        (\"%.*ls\"), which cannot be modified.";
    701 17 123 "There is insufficient system memory in resource pool '%ls' to run this query.";
    1008 16 1 "The SELECT item identified by the ORDER BY number %d contains a variable as part of the \
        expression identifying a column position. Variables are only allowed when ordering by an expression \
        referencing a column name.";
    1011 16 1 "The correlation name '%.*ls' is specified multiple times in a FROM clause.";
    1013 16 1 "The objects \"%.*ls\" and \"%.*ls\" in the FROM clause have the same exposed names. Use \
        correlation names to distinguish them.";
    1031 15 1 "Percent values must be between 0 and 100.";
    1033 15 1 "The ORDER BY clause is invalid in views, inline functions, derived tables, subqueries, and \
        common table expressions, unless TOP, OFFSET or FOR XML is also specified.";
    1056 15 1 "The number of elements in the select list exceeds the maximum allowed number of %d elements.";
    1060 15 1 "The number of rows provided for a TOP or FETCH clauses row count parameter must be an \
        integer.";
    1062 15 1 "The TOP N WITH TIES clause is not allowed without a corresponding ORDER BY clause.";
    2716 16 1 "Column, parameter, or variable #%d: Cannot specify a column width on data type %.*ls.";
    2739 16 1 "The text, ntext, and image data types are invalid for local variables.";
    4101 15 1 "Aggregates on the right side of an APPLY cannot reference columns from the left side.";
    4108 15 1 "Windowed functions can only appear in the SELECT or ORDER BY clauses.";
    4109 15 1 "Windowed functions cannot be used in the context of another windowed function or aggregate.";
    4112 15 1 "The function '%.*ls' must have an OVER clause with ORDER BY.";
    4116 16 1 "The function '%.*ls' takes only a positive int or bigint expression as its input.";
    4121 16 1 "Cannot find either column \"%.*ls\" or the user-defined function or aggregate \"%.*ls\", \
        or the name is ambiguous.";
    4193 16 1 "'BETWEEN %.*ls AND %.*ls' is not a valid window frame and cannot be used with the OVER \
        clause.";
    4194 16 1 "RANGE is only supported with UNBOUNDED and CURRENT ROW window frame delimiters.";
    4199 16 1 "Argument value %d is invalid for argument %d of %ls function.";
    4403 16 1 "Cannot update the view or function '%.*ls' because it contains aggregates, or a DISTINCT or \
        GROUP BY clause, or PIVOT or UNPIVOT operator.";
    4406 16 1 "Update or insert of view or function '%.*ls' failed because it contains a derived or constant \
        field.";
    4413 16 1 "Could not use view or function '%.*ls' because of binding errors.";
    4429 16 1 "View or function '%.*ls' contains a self-reference. Views or functions cannot reference \
        themselves directly or indirectly.";
    4502 16 1 "View or function '%.*ls' has more column names specified than columns defined.";
    5308 16 1 "Windowed functions, aggregates and NEXT VALUE FOR functions do not support integer \
        indices as ORDER BY clause expressions.";
    5309 16 1 "Windowed functions, aggregates and NEXT VALUE FOR functions do not support constants as \
        ORDER BY clause expressions.";
    5334 16 2 "The identifier '%.*ls' cannot be bound. Only target columns and columns in the clause scope \
        are allowed in the 'WHEN NOT MATCHED BY SOURCE' clause of a MERGE statement.";
    5373 16 1 "All the input parameters should be of the same type. Supported types are tinyint, \
        smallint, int, bigint, decimal and numeric.";
    6401 16 1 "Cannot roll back %.*ls. No transaction or savepoint of that name was found.";
    6809 16 1 "Unnamed tables cannot be used as XML identifiers as well as unnamed columns cannot be used \
        for attribute names. Name unnamed columns/tables using AS in the SELECT statement.";
    6829 16 1 "FOR XML EXPLICIT and RAW modes currently do not support addressing binary data as URLs in \
        column '%.*ls'. Remove the column, or use the BINARY BASE64 mode, or create the URL directly using \
        the 'dbobject/TABLE[@PK1=\"V1\"]/@COLUMN' syntax.";
    6846 16 4 "XML name space prefix '%.*ls' declaration is missing for FOR XML %.*ls name '%.*ls'.";
    6849 16 1 "FOR XML PATH error in column '%.*ls' - '//' and leading and trailing '/' are not allowed in \
        simple path expressions.";
    6850 16 1 "%.*ls name '%.*ls' contains an invalid XML identifier as required by FOR XML; '%c'(0x%04X) is \
        the first character at fault.";
    6851 16 1 "Column '%.*ls' has invalid data type for attribute-centric XML serialization in FOR XML \
        PATH.";
    6852 16 1 "Attribute-centric column '%ls' must not come after a non-attribute-centric sibling in XML \
        hierarchy in FOR XML PATH.";
    6853 16 1 "Column '%.*ls': the last step in the path can't be applied to XML data type or CLR type in \
        FOR XML PATH.";
    6861 16 1 "Empty root tag name can't be specified with FOR XML.";
    6864 16 1 "Row tag omission (empty row tag name) cannot be used with attribute-centric FOR XML \
        serialization.";
    6867 16 1 "'xmlns' is invalid in XML tag name in FOR XML PATH, or when WITH XMLNAMESPACES is used with \
        FOR XML.";
    7119 16 1 "Attempting to grow LOB beyond maximum allowed size of %I64d bytes.";
    8120 16 1 "Column '%.*ls.%.*ls' is invalid in the select list because it is not contained in either an \
        aggregate function or the GROUP BY clause.";
    8121 16 1 "Column '%.*ls.%.*ls' is invalid in the HAVING clause because it is not contained in either an \
        aggregate function or the GROUP BY clause.";
    8124 16 1 "Multiple columns are specified in an aggregated expression containing an outer reference. If \
        an expression being aggregated contains an outer reference, then that outer reference must be the \
        only column referenced in the expression.";
    8127 16 1 "Column \"%.*ls.%.*ls\" is invalid in the ORDER BY clause because it is not contained in \
        either \
        an aggregate function or the GROUP BY clause.";
    8154 15 1 "The table '%.*ls' is ambiguous.";
    8155 16 2 "No column name was specified for column %d of '%.*ls'.";
    8156 16 1 "The column '%.*ls' was specified multiple times for '%.*ls'.";
    8158 16 1 "'%.*ls' has more columns than were specified in the column list.";
    8159 16 1 "'%.*ls' has fewer columns than were specified in the column list.";
    8161 16 1 "Argument %d of the %.*ls function does not match any of the expressions in the GROUP BY \
        clause.";
    8167 16 1 "The type of column \"%.*ls\" conflicts with the type of other columns specified in the \
        UNPIVOT \
        list.";
    8607 16 1 "The table '%.*ls' cannot be modified because one or more nonclustered indexes reside in a \
        filegroup which is not online.";
    8623 16 1 "The query processor ran out of internal resources and could not produce a query plan. This \
        is a rare event and only expected for extremely complex queries or queries that reference a very \
        large number of tables or partitions. Please simplify the query. If you believe you have received \
        this message in error, contact Customer Support Services for more information.";
    8631 17 1 "Internal error: Server stack limit has been reached. Please look for potentially deep nesting \
        in your query, and try to simplify it.";
    8653 16 1 "The query processor is unable to produce a plan for the table or view '%.*ls' because the \
        table resides in a filegroup that is not online.";
    8730 16 1 "Offset parameter for Lag and Lead functions cannot be a negative value.";
    8748 16 1 "The enable_ordinal argument for %ls only supports constant values (not variables or \
        columns).";
    10709 16 1 "The number of columns for each row in a table value constructor must be the same.";
    10741 15 2 "A TOP can not be used in the same query or sub-query as a OFFSET.";
    10742 15 1 "The offset specified in a OFFSET clause may not be negative.";
    10744 15 1 "The number of rows provided for a FETCH clause must be greater then zero.";
    10752 15 1 "The function '%.*ls' may not have a window frame.";
    10753 15 1 "The function '%.*ls' must have an OVER clause.";
    10756 15 1 "Window frame with ROWS or RANGE must have an ORDER BY clause.";
    10759 15 1 "Use of DISTINCT is not allowed with the OVER clause.";
    13601 16 1 "Property '%.*ls' cannot be generated in JSON output due to a conflict with another column \
        name or alias. Use different names and aliases for each column in SELECT list.";
    13605 16 1 "Column expressions and data sources without names or aliases cannot be formatted as JSON \
        text using FOR JSON clause. Add alias to the unnamed column or table.";
    13606 16 1 "JSON text/path that has more than 128 nesting levels cannot be parsed.";
    13607 16 1 "JSON path is not properly formatted. Unexpected character '%ls' is found at position %d.";
    13608 16 1 "Property cannot be found on the specified JSON path.";
    13609 16 1 "JSON text is not properly formatted. Unexpected character '%ls' is found at position %d.";
    13611 16 1 "Value referenced by JSON path is not an array or object and cannot be opened with OPENJSON.";
    13614 16 1 "TEXT, NTEXT, SQL_VARIANT and IMAGE types cannot be used as column types in OPENJSON function \
        with explicit schema. These types are not supported in WITH clause.";
    13618 16 1 "AS JSON option can be specified only for column of nvarchar(max) type in WITH clause.";
    13619 16 1 "Unsupported JSON path found in argument 2 of JSON_MODIFY.";
    13620 16 1 "ROOT option and WITHOUT_ARRAY_WRAPPER option cannot be used together in FOR JSON. Remove \
        one of these options.";
    13621 16 1 "Array cannot be found in the specified JSON path.";
    13623 16 2 "Scalar value cannot be found in the specified JSON path.";
    13624 16 2 "Object or array cannot be found in the specified JSON path.";
    13625 16 1 "String value in the specified JSON path would be truncated.";
};
