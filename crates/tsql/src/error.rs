//! Errors of syntax, with SQL Server's numbers, levels, states and texts.

use crate::span::Span;
use std::fmt;

/// One error found in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxError {
    /// SQL Server's message number.
    pub number: u32,
    /// Severity; 15 for nearly all errors of syntax.
    pub level: u8,
    /// State.
    pub state: u8,
    /// Line of the batch that the message names, from 1.
    pub line: u32,
    /// The text that is at fault.
    pub span: Span,
    /// The message, filled in.
    pub message: String,
    /// The procedure, view, function or trigger that the text makes, once its name is read.
    pub module: Option<Box<str>>,
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Msg {}, Level {}, State {}, Line {}\n{}",
            self.number, self.level, self.state, self.line, self.message
        )
    }
}

impl std::error::Error for SyntaxError {}

/// What a step of the parser gives.
pub(crate) type Parsed<T> = Result<T, Box<SyntaxError>>;

/// A message: number, level, state, text. Each `%s` of the text is filled in, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// Number.
    pub number: u32,
    /// Severity.
    pub level: u8,
    /// State.
    pub state: u8,
    /// Text.
    pub text: &'static str,
}

const fn syntax(number: u32, state: u8, text: &'static str) -> Message {
    Message {
        number,
        level: 15,
        state,
        text,
    }
}

/// Token that fits nowhere.
pub(crate) const NEAR: Message = syntax(102, 1, "Incorrect syntax near '%s'.");
/// Identifier of more than 128 characters.
pub(crate) const TOO_LONG: Message = syntax(
    103,
    4,
    "The identifier that starts with '%s' is too long. Maximum length is 128.",
);
/// String or delimited identifier that does not end.
pub(crate) const UNCLOSED: Message = syntax(
    105,
    1,
    "Unclosed quotation mark after the character string '%s'.",
);
/// Statement that must open its batch.
pub(crate) const NOT_FIRST: Message =
    syntax(111, 1, "'%s' must be the first statement in a query batch.");
/// Comment that does not end.
pub(crate) const UNCLOSED_COMMENT: Message = syntax(113, 1, "Missing end comment mark '*/'.");
/// Name of too many parts.
pub(crate) const TOO_MANY_PREFIXES: Message = syntax(
    117,
    1,
    "The %s name '%s' contains more than the maximum number of prefixes. The maximum is %s.",
);
/// Positional argument after a named one.
pub(crate) const NAMED_ARGUMENT: Message = syntax(
    119,
    1,
    "Must pass parameter number %s and subsequent parameters as '@name = value'. After the form '@name = \
     value' has been used, all subsequent parameters must be passed in the form '@name = value'.",
);
/// Label twice.
pub(crate) const LABEL_TWICE: Message = syntax(
    132,
    1,
    "The label '%s' has already been declared. Label names must be unique within a query batch or stored \
     procedure.",
);
/// GOTO to nowhere.
pub(crate) const NO_LABEL: Message = syntax(
    133,
    1,
    "A GOTO statement references the label '%s' but the label has not been declared.",
);
/// Variable twice.
pub(crate) const VARIABLE_TWICE: Message = syntax(
    134,
    2,
    "The variable name '%s' has already been declared. Variable names must be unique within a query batch or \
     stored procedure.",
);
/// BREAK outside a loop.
pub(crate) const STRAY_BREAK: Message = syntax(
    135,
    1,
    "Cannot use a BREAK statement outside the scope of a WHILE statement.",
);
/// CONTINUE outside a loop.
pub(crate) const STRAY_CONTINUE: Message = syntax(
    136,
    1,
    "Cannot use a CONTINUE statement outside the scope of a WHILE statement.",
);
/// USE in a module.
pub(crate) const NOT_ALLOWED: Message = syntax(154, 1, "%s is not allowed in %s.");
/// Option of a statement that does not exist.
pub(crate) const UNKNOWN_OPTION_OF: Message = syntax(155, 1, "'%s' is not a recognized %s option.");
/// Option of a cursor that does not exist.
pub(crate) const UNKNOWN_CURSOR: Message =
    syntax(155, 2, "'%s' is not a recognized CURSOR option.");
/// Keyword that fits nowhere.
pub(crate) const NEAR_KEYWORD: Message = syntax(156, 1, "Incorrect syntax near the keyword '%s'.");
/// DROP INDEX without a table.
pub(crate) const INDEX_ALONE: Message = syntax(
    159,
    1,
    "Must specify the table name and index name for the DROP INDEX statement.",
);
/// RETURN with a value in a batch.
pub(crate) const STRAY_RETURN: Message = syntax(
    178,
    1,
    "A RETURN statement with a return value cannot be used in this context.",
);
/// Log file without data file.
pub(crate) const LOG_ALONE: Message = syntax(
    188,
    1,
    "Cannot specify a log file in a CREATE DATABASE statement without also specifying at least one data \
     file.",
);
/// Text nested too deeply.
pub(crate) const TOO_DEEP: Message = syntax(
    191,
    1,
    "Some part of your SQL statement is nested too deeply. Rewrite the query or break it up into smaller \
     queries.",
);
/// DBCC option that does not exist.
pub(crate) const UNKNOWN_OPTION: Message = syntax(195, 4, "'%s' is not a recognized option.");
/// SET option that does not exist.
pub(crate) const UNKNOWN_SET: Message = syntax(195, 5, "'%s' is not a recognized SET option.");
/// WITH that looks like a common table expression.
pub(crate) const NEAR_WITH: Message = syntax(
    319,
    1,
    "Incorrect syntax near the keyword 'with'. If this statement is a common table expression, an \
     xmlnamespaces \
     clause or a change tracking context clause, the previous statement must be terminated with a semicolon.",
);
/// Table hint that does not exist.
pub(crate) const UNKNOWN_HINT: Message = syntax(
    321,
    1,
    "\"%s\" is not a recognized table hints option. If it is intended as a parameter to a table-valued \
     function \
     or to the CHANGETABLE function, ensure that your database compatibility mode is set to 90.",
);
/// Name after WITH that looks like a common table expression.
pub(crate) const NEAR_CTE: Message = syntax(
    336,
    1,
    "Incorrect syntax near '%s'. If this is intended to be a common table expression, you need to explicitly \
     terminate the previous statement with a semi-colon.",
);
/// Kind of object that does not exist.
pub(crate) const UNKNOWN_OBJECT_TYPE: Message = syntax(
    343,
    1,
    "Unknown object type '%s' used in a CREATE, DROP, or ALTER statement.",
);
/// INDEX hint without WITH.
pub(crate) const INDEX_HINT: Message = syntax(
    1018,
    1,
    "Incorrect syntax near '%s'. If this is intended as a part of a table hint, A WITH keyword and \
     parenthesis \
     are now required. See SQL Server Books Online for proper syntax.",
);
/// `[]`.
pub(crate) const EMPTY_NAME: Message = syntax(
    1038,
    4,
    "An object or column name is missing or empty. For SELECT INTO statements, verify each column has a \
     name. \
     For other statements, look for empty alias names. Aliases defined as \"\" or [] are not allowed. \
     Change the \
     alias to a valid name.",
);
/// Value where a condition is wanted.
pub(crate) const NO_CONDITION: Message = syntax(
    4145,
    1,
    "An expression of non-boolean type specified in a context where a condition is expected, near '%s'.",
);
/// More rows in VALUES than allowed.
pub(crate) const TOO_MANY_ROWS: Message = syntax(
    10738,
    1,
    "The number of row value expressions in the INSERT statement exceeds the maximum allowed number of \
     1000 row \
     values.",
);
/// Subquery where only values of the row are allowed.
pub(crate) const NO_SUBQUERY: Message = syntax(
    1046,
    1,
    "Subqueries are not allowed in this context. Only scalar expressions are allowed.",
);
/// MERGE with an action twice for one kind of rows.
pub(crate) const MERGE_ACTION_TWICE: Message = syntax(
    10714,
    1,
    "An action of type '%s' cannot appear more than once in a '%s' clause of a MERGE statement.",
);
/// MERGE with a clause that no row reaches.
pub(crate) const MERGE_UNREACHED: Message = syntax(
    5324,
    1,
    "In a MERGE statement, a '%s' clause with a search condition cannot appear after a '%s' clause with no \
     search condition.",
);
/// MERGE without semicolon.
pub(crate) const MERGE_END: Message = syntax(
    10713,
    1,
    "A MERGE statement must be terminated by a semi-colon (;).",
);
/// THROW without arguments outside CATCH.
pub(crate) const STRAY_THROW: Message = syntax(
    10704,
    1,
    "To rethrow an error, a THROW statement must be used inside a CATCH block. Insert the THROW \
     statement inside \
     a CATCH block, or add error parameters to the THROW statement.",
);

impl Message {
    /// This error at `span`, each `%s` filled in.
    pub(crate) fn at(self, span: Span, line: u32, args: &[&str]) -> Box<SyntaxError> {
        let mut message = String::with_capacity(self.text.len() + 32);
        let mut args = args.iter();
        for (n, piece) in self.text.split("%s").enumerate() {
            if n > 0 {
                message.push_str(args.next().unwrap_or(&""));
            }
            message.push_str(piece);
        }
        Box::new(SyntaxError {
            number: self.number,
            level: self.level,
            state: self.state,
            line,
            span,
            message,
            module: None,
        })
    }
}
