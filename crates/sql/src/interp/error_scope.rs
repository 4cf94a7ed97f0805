//! What an error ends: its statement, the procedure or text, or the batch with its transaction.

use furrow_context::context::SetOptions;
use furrow_context::error::{Origin, SqlError};

/// What an error ends, outside of TRY and with XACT_ABORT OFF.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ErrorScope {
    /// The statement: the next one runs.
    Statement,
    /// The procedure or text, which cannot be compiled; its caller continues. CATCH blocks in it do not see
    /// it.
    Scope,
    /// The batch, but not its transaction.
    Batch,
    /// The batch and its transaction.
    Transaction,
}

/// Errors of names, types and clauses, which SQL Server finds when it compiles a statement.
pub(super) fn is_compilation(error: &SqlError) -> bool {
    let number = error.number();
    if error.first().level == 15 {
        return !matches!(number, 148);
    }
    matches!(
        number,
        116 | 205..=209
            | 213
            | 240
            | 243
            | 246
            | 252
            | 253
            | 257
            | 259
            | 264
            | 313
            | 402
            | 408
            | 421
            | 529
            | 1008
            | 1011
            | 1013
            | 1087
            | 2715
            | 2716
            | 2717
            | 2750
            | 2751
            | 4104
            | 4108
            | 4127
            | 4199
            | 4403
            | 4406
            | 4429
            | 4502
            | 5334
            | 5373
            | 6809
            | 6852
            | 6864
            | 8101
            | 8102
            | 8116
            | 8117
            | 8120
            | 8121
            | 8124
            | 8127
            | 8133
            | 8155..=8159
            | 8748
            | 9806
            | 9810
            | 10709
            | 13_601
            | 13_605
            | 13_614
            | 13_618
            | 13_620
            | 40_514
    )
}

/// Failed conversions, deadlocks, and other errors that end the transaction.
fn takes_transaction(error: &SqlError) -> bool {
    matches!(
        error.number(),
        217 | 235
            | 241
            | 242
            | 244
            | 245
            | 248
            | 295
            | 1205
            | 3930
            | 8114
            | 8169
            | 9420..=9499
            | 13_607..=13_609
            | 13_611
            | 13_621
            | 13_623..=13_625
    )
}

/// What an error ends.
pub(super) fn error_scope(error: &SqlError) -> ErrorScope {
    if error.cancelled {
        return ErrorScope::Batch;
    }
    // A user's error of level 19 is only logged; from 20 on the connection ends.
    if error.level() >= 20 || (error.level() == 19 && error.origin != Origin::Raised) {
        return ErrorScope::Transaction;
    }
    match error.origin {
        Origin::Raised | Origin::Inner => ErrorScope::Statement,
        Origin::Thrown => ErrorScope::Batch,
        Origin::Statement if is_compilation(error) => ErrorScope::Scope,
        Origin::Statement if takes_transaction(error) => ErrorScope::Transaction,
        Origin::Statement => ErrorScope::Statement,
    }
}

/// Whether the transaction can only be rolled back after an error that was caught.
pub(super) fn dooms(error: &SqlError, set: &SetOptions) -> bool {
    error_scope(error) == ErrorScope::Transaction
        || (set.aborts(error) && error.origin != Origin::Raised)
}
