//! Messages of expressions: operators, conversions, functions.

use super::{MessageInfo, messages};

pub(super) const ROWS: &[MessageInfo] = messages! {
    155 15 1 "'%.*ls' is not a recognized %ls option.";
    174 15 1 "The %.*ls function requires %d argument(s).";
    189 15 1 "The %.*ls function requires %d to %d arguments.";
    206 16 2 "Operand type clash: %ls is incompatible with %ls";
    214 16 11 "Procedure expects parameter '%ls' of type '%ls'.";
    234 16 2 "There is insufficient result space to convert a money value to %ls.";
    241 16 1 "Conversion failed when converting date and/or time from character string.";
    242 16 3 "The conversion of a %ls data type to a %ls data type resulted in an out-of-range value.";
    257 16 3 "Implicit conversion from data type %ls to %ls is not allowed. Use the CONVERT function to run \
        this query.";
    281 16 1 "%d is not a valid style number when converting from %ls to a character string.";
    289 16 3 "Cannot construct data type %ls, some of the arguments have values which are not valid.";
    302 16 0 "The %.*ls() built-in function can only be used in a DEFAULT expression for a column of type \
        'uniqueidentifier' in a CREATE TABLE or ALTER TABLE statement. It cannot be combined with other \
        operators to form a complex scalar expression.";
    305 16 1 "The XML data type cannot be compared or sorted, except when using the IS NULL operator.";
    306 16 2 "The text, ntext, and image data types cannot be compared or sorted, except when using IS NULL \
        or LIKE operator.";
    402 16 1 "The data types %s and %s are incompatible in the %s operator.";
    403 16 1 "Invalid operator for data type. Operator equals %ls, type equals %ls.";
    447 16 0 "Expression type %ls is invalid for COLLATE clause.";
    448 16 1 "Invalid collation '%.*ls'.";
    457 16 1 "Implicit conversion of %ls value to %ls cannot be performed because the collation of the value \
        is unresolved due to a collation conflict between \"%.*ls\" and \"%.*ls\" in %ls operator.";
    468 16 9 "Cannot resolve the collation conflict between \"%.*ls\" and \"%.*ls\" in the %ls operation.";
    506 16 1 "The invalid escape character \"%.*ls\" was specified in a %ls predicate.";
    517 16 1 "Adding a value to a '%ls' column caused an overflow.";
    529 16 2 "Explicit conversion from data type %ls to %ls is not allowed.";
    535 16 0 "The datediff function resulted in an overflow. The number of dateparts separating two \
        date/time \
        instances is too large. Try to use datediff with a less precise datepart.";
    536 16 2 "Invalid length parameter passed to the %ls function.";
    537 16 2 "Invalid length parameter passed to the LEFT or SUBSTRING function.";
    1007 15 1 "The number '%.*ls' is out of the range for numeric representation (maximum precision 38).";
    3606 10 0 "Arithmetic overflow occurred.";
    3607 10 0 "Division by zero occurred.";
    3622 10 0 "Warning: An invalid floating point operation occurred.";
    3623 16 1 "An invalid floating point operation occurred.";
    4127 16 1 "At least one of the arguments to COALESCE must be an expression that is not the NULL \
        constant.";
    6335 16 102 "XML datatype instance has too many levels of nested nodes. Maximum allowed depth is \
        %d levels.";
    6354 16 10 "Target string size is too small to represent the XML instance";
    6355 16 1 "Conversion of one or more characters from XML to target collation impossible";
    6358 16 1 "%d is not a valid style number when converting to XML.";
    6359 16 1 "Parsing XML with internal subset DTDs not allowed. Use CONVERT with style option 2 \
        to enable limited internal subset DTD support.";
    8114 16 5 "Error converting data type %ls to %ls.";
    8116 16 1 "Argument data type %ls is invalid for argument %d of %ls function.";
    8117 16 1 "Operand data type %ls is invalid for %ls operator.";
    8133 16 1 "At least one of the result expressions in a CASE specification must be an expression other \
        than the NULL constant.";
    8144 16 2 "Procedure or function %.*ls has too many arguments specified.";
    8170 16 2 "Insufficient result space to convert uniqueidentifier value to char.";
    9400 16 1 "XML parsing: line %d, character %d, unexpected end of input";
    9402 16 1 "XML parsing: line %d, character %d, unable to switch the encoding";
    9410 16 1 "XML parsing: line %d, character %d, whitespace expected";
    9411 16 1 "XML parsing: line %d, character %d, semicolon expected";
    9412 16 1 "XML parsing: line %d, character %d, '>' expected";
    9413 16 1 "XML parsing: line %d, character %d, A string literal was expected";
    9414 16 1 "XML parsing: line %d, character %d, equal expected";
    9415 16 1 "XML parsing: line %d, character %d, well formed check: no '<' in attribute value";
    9420 16 1 "XML parsing: line %d, character %d, illegal xml character";
    9421 16 1 "XML parsing: line %d, character %d, illegal name character";
    9422 16 1 "XML parsing: line %d, character %d, incorrect document syntax";
    9424 16 1 "XML parsing: line %d, character %d, incorrect comment syntax";
    9436 16 1 "XML parsing: line %d, character %d, end tag does not match start tag";
    9437 16 1 "XML parsing: line %d, character %d, duplicate attribute";
    9438 16 1 "XML parsing: line %d, character %d, text/xmldecl not at the beginning of input";
    9448 16 1 "XML parsing: line %d, character %d, well formed check: undeclared entity";
    9454 16 1 "XML parsing: line %d, character %d, no ']]>' in element content";
    9455 16 1 "XML parsing: line %d, character %d, illegal qualified name character";
    9458 16 1 "XML parsing: line %d, character %d, redeclared prefix";
    9459 16 1 "XML parsing: line %d, character %d, undeclared prefix";
    9806 16 1 "The datepart %.*ls is not supported by date function %.*ls.";
    9809 16 1 "The style %d is not supported for conversions from %ls to %ls.";
    9810 16 1 "The datepart %.*ls is not supported by date function %.*ls for data type %ls.";
    9812 16 0 "The timezone provided to builtin function %.*ls is invalid.";
    9818 16 1 "The culture parameter '%.*ls' provided in the function call is not supported.";
    9819 16 0 "Error converting string value '%.*ls' into data type %ls using culture '%.*ls'.";
    9828 16 1 "The second and third arguments of the %ls built-in function must contain an equal number of \
        characters.";
    9829 16 1 "STRING_AGG aggregation result exceeded the limit of 8000 bytes. Use LOB types to avoid result \
        truncation.";
    9834 16 1 "Invalid bucket width value passed to %ls function. Only positive values are allowed.";
};
