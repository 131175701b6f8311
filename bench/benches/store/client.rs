//! A client library, called bare.

use tenure::Token;
use tenure::store::Reply;

/// A client that calls scripts on one connection, and does nothing else.
pub(crate) trait Client {
    /// All that a call needs, in the form that is cheapest for the client.
    type Call;
    /// The client's own reply, unread.
    type Answer;

    /// Prepares a call; not timed.
    fn prepare(&self, sha: &str, keys: &[String], arguments: &[String]) -> Self::Call;

    /// Sends a call and waits for its answer; timed.
    async fn evalsha(&mut self, call: &Self::Call) -> Self::Answer;

    /// The word and the number that an answer begins with; not timed.
    fn read(answer: Self::Answer) -> (String, Option<i64>);

    /// The shortest round trip there is.
    async fn ping(&mut self);
}

/// The meaning of an answer, as far as this benchmark asks.
pub(crate) fn reply((word, number): (String, Option<i64>)) -> Option<Reply> {
    let token = number.and_then(|number| u64::try_from(number).ok()).and_then(Token::new);
    Some(match (&*word, token) {
        ("granted", Some(token)) => Reply::Granted { token },
        ("renewed", _) => Reply::Renewed { asked: None, wanted: None, past: None },
        ("released", _) => Reply::Released,
        ("not_held", _) => Reply::NotHeld,
        _ => return None,
    })
}
