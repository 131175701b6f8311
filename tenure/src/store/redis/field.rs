//! The elements of the scripts' answers.

/// One element of a script's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field<'a> {
    Text(&'a [u8]),
    Number(i64),
    /// Anything that no script returns.
    Other,
}
