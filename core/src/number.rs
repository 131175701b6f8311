//! Tokens as numbers and as text: in columns, headers, files and URLs.

use core::error::Error;
use core::fmt;
use core::str::FromStr;

use crate::id::Token;

/// A number or a text that is no token, or a token that does not fit the number asked for. The text
/// says which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenError(Problem);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Problem {
    /// Zero stands for "no tenure yet" at the stores.
    Zero,
    /// Tokens are above zero.
    Negative(i64),
    /// The token does not fit a signed number of 64 bits, such as a `bigint` column.
    TooHigh(Token),
    /// The text is no decimal number of 64 bits.
    NoNumber,
}

impl fmt::Display for TokenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Problem::Zero => f.write_str("0 is no token; tokens begin at 1"),
            Problem::Negative(number) => write!(f, "{number} is no token; tokens begin at 1"),
            Problem::TooHigh(token) => {
                write!(f, "token {token} is above {}, the highest signed number", i64::MAX)
            }
            Problem::NoNumber => {
                write!(
                    f,
                    "the text is no token: it must be a decimal number from 1 to {}",
                    u64::MAX
                )
            }
        }
    }
}

impl Error for TokenError {}

impl From<Token> for u64 {
    fn from(token: Token) -> Self {
        token.get()
    }
}

impl TryFrom<u64> for Token {
    type Error = TokenError;

    /// Fails for zero only.
    fn try_from(number: u64) -> Result<Self, TokenError> {
        Self::new(number).ok_or(TokenError(Problem::Zero))
    }
}

/// For columns: SQL databases have no unsigned numbers of 64 bits.
impl TryFrom<Token> for i64 {
    type Error = TokenError;

    /// Fails for tokens above [`i64::MAX`]. The stores grant none: the highest is one above the
    /// highest token seen, or the microseconds since 1970.
    fn try_from(token: Token) -> Result<Self, TokenError> {
        Self::try_from(token.get()).map_err(|_| TokenError(Problem::TooHigh(token)))
    }
}

impl TryFrom<i64> for Token {
    type Error = TokenError;

    /// Fails for zero and below.
    fn try_from(number: i64) -> Result<Self, TokenError> {
        u64::try_from(number).map_err(|_| TokenError(Problem::Negative(number)))?.try_into()
    }
}

/// Reads what [`Display`](fmt::Display) writes.
impl FromStr for Token {
    type Err = TokenError;

    fn from_str(text: &str) -> Result<Self, TokenError> {
        text.parse::<u64>().map_err(|_| TokenError(Problem::NoNumber))?.try_into()
    }
}
