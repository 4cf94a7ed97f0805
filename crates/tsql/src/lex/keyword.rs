//! T-SQL's reserved words. Every other word is an identifier, however a statement uses it.
//!
//! PRECISION is on the documented list, and yet a name: `sys.columns` has a column that is called so.

macro_rules! keywords {
    ($($word:ident)*) => {
        /// A reserved word.
        #[expect(non_camel_case_types, reason = "the words as T-SQL spells them")]
        #[expect(missing_docs, reason = "each variant is the word it names")]
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Keyword { $($word),* }

        /// All reserved words, sorted.
        const KEYWORDS: &[(&str, Keyword)] = &[$((stringify!($word), Keyword::$word)),*];
    };
}

keywords! {
    ADD ALL ALTER AND ANY AS ASC AUTHORIZATION BACKUP BEGIN BETWEEN BREAK BROWSE BULK BY CASCADE CASE
    CHECK CHECKPOINT CLOSE CLUSTERED COALESCE COLLATE COLUMN COMMIT COMPUTE CONSTRAINT CONTAINS
    CONTAINSTABLE CONTINUE CONVERT CREATE CROSS CURRENT CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP
    CURRENT_USER CURSOR DATABASE DBCC DEALLOCATE DECLARE DEFAULT DELETE DENY DESC DISK DISTINCT
    DISTRIBUTED DOUBLE DROP DUMP ELSE END ERRLVL ESCAPE EXCEPT EXEC EXECUTE EXISTS EXIT EXTERNAL FETCH
    FILE FILLFACTOR FOR FOREIGN FREETEXT FREETEXTTABLE FROM FULL FUNCTION GOTO GRANT GROUP HAVING
    HOLDLOCK IDENTITY IDENTITYCOL IDENTITY_INSERT IF IN INDEX INNER INSERT INTERSECT INTO IS JOIN KEY
    KILL LEFT LIKE LINENO LOAD MERGE NATIONAL NOCHECK NONCLUSTERED NOT NULL NULLIF OF OFF OFFSETS ON
    OPEN OPENDATASOURCE OPENQUERY OPENROWSET OPENXML OPTION OR ORDER OUTER OVER PERCENT PIVOT PLAN
    PRIMARY PRINT PROC PROCEDURE PUBLIC RAISERROR READ READTEXT RECONFIGURE REFERENCES
    REPLICATION RESTORE RESTRICT RETURN REVERT REVOKE RIGHT ROLLBACK ROWCOUNT ROWGUIDCOL RULE SAVE
    SCHEMA SECURITYAUDIT SELECT SEMANTICKEYPHRASETABLE SEMANTICSIMILARITYDETAILSTABLE
    SEMANTICSIMILARITYTABLE SESSION_USER SET SETUSER SHUTDOWN SOME STATISTICS SYSTEM_USER TABLE
    TABLESAMPLE TEXTSIZE THEN TO TOP TRAN TRANSACTION TRIGGER TRUNCATE TRY_CONVERT TSEQUAL UNION UNIQUE
    UNPIVOT UPDATE UPDATETEXT USE USER VALUES VARYING VIEW WAITFOR WHEN WHERE WHILE WITH WITHIN
    WRITETEXT
}

/// Longest reserved word.
const LONGEST: usize = 31;

/// For each initial letter, the first of its words in `KEYWORDS`; one entry more than letters.
const STARTS: [u8; 27] = {
    let mut starts = [0u8; 27];
    let mut letter = 0;
    let mut at = 0;
    while letter < 27 {
        while at < KEYWORDS.len() && (KEYWORDS[at].0.as_bytes()[0] - b'A') < letter as u8 {
            at += 1;
        }
        starts[letter] = at as u8;
        letter += 1;
    }
    starts
};

/// The reserved word that this is, ignoring case.
#[must_use]
pub fn lookup(word: &str) -> Option<Keyword> {
    let initial = word.as_bytes().first()?.to_ascii_uppercase();
    if !initial.is_ascii_uppercase() || word.len() > LONGEST {
        return None;
    }
    let letter = usize::from(initial - b'A');
    let candidates = KEYWORDS.get(usize::from(STARTS[letter])..usize::from(STARTS[letter + 1]))?;
    candidates
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(word))
        .map(|(_, keyword)| *keyword)
}

impl Keyword {
    /// The word in upper case.
    #[must_use]
    pub fn text(self) -> &'static str {
        KEYWORDS.get(self as usize).map_or("", |(text, _)| text)
    }
}
