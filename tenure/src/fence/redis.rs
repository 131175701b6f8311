//! A fence at a Redis or Valkey server, for writes inside the user's own Lua script.
//!
//! The fence is a key of its own, one for each election, at the server that it guards. In a
//! cluster, the fence and what it guards must be in one slot: their names have the same part in
//! braces.
//!
#![cfg_attr(feature = "redis-without-tls", doc = "```no_run")]
#![cfg_attr(not(feature = "redis-without-tls"), doc = "```ignore")]
//! # async fn example(connection: &mut redis::aio::MultiplexedConnection, tenure: tenure::Tenure)
//! # -> Result<(), Box<dyn std::error::Error>> {
//! use tenure::fence::redis::Fence;
//! use tenure::store::Key;
//!
//! let fence = Fence::new(&Key::new("nightly-report")?); // the key "tenure:fence:{nightly-report}"
//! let taken = fence.take_over(connection, tenure.token()).await?; // first
//! let next = taken.get(connection, "{nightly-report}:next").await?;
//! taken.set(connection, "{nightly-report}:next", b"7").await?;
//! // A script of your own sees its own KEYS and ARGV, and runs only under the fence.
//! let script = "return redis.call('INCRBY', KEYS[1], ARGV[1])";
//! let sum: i64 = taken.eval(connection, script, &["{nightly-report}:sum"], &[b"5"]).await?;
//! # Ok(())
//! # }
//! ```
//!
//! With another client, send [`TAKE_OVER`] and [`PRELUDE`] with EVAL: the rules are written there.
//!
//! # Why it holds
//!
//! A script is one atomic step at the server, so nothing comes between the comparison and the
//! write. A request that the client gave up, and that arrives late, is compared when it arrives.
//!
//! In a `MULTI` transaction each fenced script is still guarded, and nothing else is: if a script
//! is refused, `EXEC` carries out the other commands all the same. Put all that belongs together
//! into one script.
//!
//! [`TakenOver::get`] is guarded at a replica too: the fence and the data arrive there in their
//! order, so it is refused until the take-over has arrived. A read without the fence is not.
//!
//! # What the server must keep
//!
//! The fence has no expiry, and must not be evicted: use a `maxmemory-policy` that leaves keys
//! without expiry alone. A fence that is gone refuses all writes
//! ([`FenceError::Lost`](super::FenceError::Lost)), but accepts any tenure's take-over. After a
//! failover to a replica that lags, the fence and what it guards are as they were some time before;
//! the writes of the present tenure are then refused until it has taken the resource over again.

#[cfg(feature = "redis-without-tls")]
pub use with_redis_rs::TakenOver;

use crate::store::Key;

/// The take-over as a script for EVAL: `KEYS[1]` is the fence, `ARGV[1]` the token in decimal.
///
/// - The answer is the tenure's token: the resource is taken over.
/// - The answer is another token: a newer tenure has the resource.
/// - An error, or no reply: the outcome is unknown. Repeat the script until it is known.
pub const TAKE_OVER: &str = "\
local stored, token = redis.call('GET', KEYS[1]), ARGV[1]
if stored then
    if not string.match(stored, '^[1-9]%d*$') then
        return redis.error_reply('ERR the key of the fence holds something else than a token')
    end
    -- As text: a number of Lua's is exact up to 2^53 only.
    if #stored > #token or (#stored == #token and stored > token) then return stored end
end
redis.call('SET', KEYS[1], token)
return token
";

/// The text in front of the user's own script, on its first line, so that the script's line numbers
/// stay.
///
/// `KEYS[1]` is the fence and `ARGV[1]` the token in decimal; both are removed, so that the script
/// finds its own keys and arguments from 1 on. If the stored token is another one, the script does
/// not run, and the answer is an error with the code `FENCED` and the stored token, or `none`. The
/// script can't have a `#!lua` line.
pub const PRELUDE: &str = concat!(
    "do local stored, token = redis.call('GET', table.remove(KEYS, 1)), table.remove(ARGV, 1) ",
    "if stored ~= token then return redis.error_reply('FENCED ' .. (stored or 'none')) end end "
);

/// The fence of one election.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Fence {
    key: String,
}

impl Fence {
    /// The fence of that election: the key `tenure:fence:{ELECTION}`. A cluster finds its slot by the
    /// text from the first `{` to the next `}`: where the election's name has braces, name the key
    /// by [`at`](Self::at).
    pub fn new(election: &Key) -> Self {
        Self { key: format!("tenure:fence:{{{election}}}") }
    }

    /// A fence at another key. All candidates of the election must use the same one, and no other
    /// election may.
    pub fn at(key: impl Into<String>) -> Self {
        Self { key: key.into() }
    }

    /// The fence's key at the server.
    pub fn key(&self) -> &str {
        &self.key
    }
}

#[cfg(feature = "redis-without-tls")]
mod with_redis_rs {
    //! The fence with redis-rs.

    use redis::aio::ConnectionLike;
    use redis::{Cmd, FromRedisValue, RedisError};

    use super::super::{FenceError, failed, refused};
    use super::{Fence, PRELUDE, TAKE_OVER};
    use crate::Token;

    impl Fence {
        /// Takes the resource over.
        ///
        /// # Errors
        /// [`FenceError::Superseded`] if a newer tenure has the resource. [`FenceError::ReadOnly`]
        /// at a replica. [`FenceError::Unknown`] for everything else: repeat the take-over until
        /// its outcome is known.
        pub async fn take_over(
            &self,
            connection: &mut impl ConnectionLike,
            token: Token,
        ) -> Result<TakenOver, FenceError<RedisError>> {
            let mut take_over = redis::cmd("EVAL");
            take_over.arg(TAKE_OVER).arg(1).arg(self.key()).arg(token.get());
            let stored: u64 =
                take_over.query_async(connection).await.map_err(without_answer(self.key()))?;
            if stored == token.get() {
                return Ok(TakenOver { fence: self.clone(), token });
            }
            Err(refused(self.key(), token, Token::new(stored)))
        }
    }

    /// A resource that was taken over under a tenure's token: the outcome is known.
    #[derive(Clone, Debug)]
    #[must_use]
    pub struct TakenOver {
        fence: Fence,
        token: Token,
    }

    impl TakenOver {
        /// The tenure's token.
        pub fn token(&self) -> Token {
            self.token
        }

        /// Runs a script of the user's own behind the [`PRELUDE`].
        ///
        /// # Errors
        /// [`FenceError::Superseded`] or [`FenceError::Lost`] if nothing of it ran,
        /// [`FenceError::ReadOnly`] if it was to write at a replica, [`FenceError::Misused`] if a
        /// cluster keeps its keys elsewhere. [`FenceError::Unknown`] for everything else, the
        /// script's own errors among it.
        pub async fn eval<T: FromRedisValue>(
            &self,
            connection: &mut impl ConnectionLike,
            script: &str,
            keys: &[&str],
            args: &[&[u8]],
        ) -> Result<T, FenceError<RedisError>> {
            let mut eval = redis::cmd("EVAL");
            eval.arg(format!("{PRELUDE}{script}")).arg(keys.len() + 1);
            eval.arg(self.fence.key()).arg(keys).arg(self.token.get()).arg(args);
            self.query(&eval, connection).await
        }

        /// The value of a key, while the resource is this tenure's.
        ///
        /// # Errors
        /// As for [`eval`](Self::eval).
        pub async fn get(
            &self,
            connection: &mut impl ConnectionLike,
            key: &str,
        ) -> Result<Option<Vec<u8>>, FenceError<RedisError>> {
            self.eval(connection, "return redis.call('GET', KEYS[1])", &[key], &[]).await
        }

        /// Sets the value of a key.
        ///
        /// # Errors
        /// As for [`eval`](Self::eval).
        pub async fn set(
            &self,
            connection: &mut impl ConnectionLike,
            key: &str,
            value: &[u8],
        ) -> Result<(), FenceError<RedisError>> {
            let script = "return redis.call('SET', KEYS[1], ARGV[1])";
            self.eval(connection, script, &[key], &[value]).await
        }

        /// Deletes a key. False if there was none.
        ///
        /// # Errors
        /// As for [`eval`](Self::eval).
        pub async fn delete(
            &self,
            connection: &mut impl ConnectionLike,
            key: &str,
        ) -> Result<bool, FenceError<RedisError>> {
            self.eval(connection, "return redis.call('DEL', KEYS[1])", &[key], &[]).await
        }

        async fn query<T: FromRedisValue>(
            &self,
            eval: &Cmd,
            connection: &mut impl ConnectionLike,
        ) -> Result<T, FenceError<RedisError>> {
            let fence = self.fence.key();
            let answer = eval.query_async(connection).await;
            answer.map_err(|error| match error.code() {
                Some("FENCED") => refused(fence, self.token, stored(&error)),
                _ => without_answer(fence)(error),
            })
        }
    }

    const OTHER_SLOT: &str = "is in another slot of the cluster than a key of the script: give all of them the same \
        first part in braces; Fence::at takes any key for the fence";

    /// The error for an error of the client's.
    fn without_answer(fence: &str) -> impl Fn(RedisError) -> FenceError<RedisError> {
        move |error| {
            if error.code() == Some("CROSSSLOT") {
                return FenceError::Misused { fence: fence.to_owned(), why: OTHER_SLOT.to_owned() };
            }
            // Before Redis 7, the code is in the text.
            let text = error.detail().unwrap_or_default();
            let is_replica = error.code() == Some("READONLY")
                || text.starts_with("Error running script") && text.contains(": -READONLY ");
            failed(fence, is_replica, error)
        }
    }

    /// The stored token, from the prelude's error.
    fn stored(refusal: &RedisError) -> Option<Token> {
        let first = refusal.detail()?.split_whitespace().next()?;
        first.parse().ok().and_then(Token::new)
    }
}
