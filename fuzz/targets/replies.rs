//! What a server may say: the Redis adapter, with the client under it, is given arbitrary bytes.
//!
//! Nothing that a server says may bring the process down, or keep a call waiting once the connection is
//! closed. Whatever is no reply to the request must be an error, and so unknown.

#![no_main]

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use libfuzzer_sys::{Corpus, fuzz_target};
use tenure::runtime::{Connection, Runtime};
use tenure::store::redis::{Redis, RedisConfig};
use tenure::store::{Key, Message, Profile, Request, Store};
use tenure::{HolderId, Instant, Token};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

/// The answer to the client's greeting, with which it asks for the third version of the protocol.
const GREETED: &[u8] = b"%1\r\n$5\r\nproto\r\n:3\r\n";
/// The longest text of an error: a server's words are cut, lest they flood a log.
const LONGEST: usize = 2_000;

fuzz_target!(|bytes: &[u8]| -> Corpus {
    let [which, is_rude, said @ ..] = bytes else { return Corpus::Reject };
    let greeting = if is_rude & 1 == 0 { GREETED } else { &[] };
    let request = request(*which);
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let answered = runtime.expect("needs nothing").block_on(async {
        let outside = Outside { says: Mutex::new(Some([greeting, said].concat())) };
        let redis = Redis::with_runtime(RedisConfig::new("server", 1), Arc::new(outside));
        redis.call(&Key::new("key").expect("short"), request.clone()).await
    });
    match answered {
        Ok(reply) => assert!(reply.answers(&request), "{request:?}: {reply:?}"),
        Err(error) => {
            let told = error.to_string();
            assert!(told.len() <= LONGEST, "{} bytes: {told}", told.len());
        }
    }
    Corpus::Keep
});

fn request(which: u8) -> Request {
    let (holder, token, ttl) = (HolderId::from_bits(7), Token::FIRST, Duration::from_secs(15));
    match which % 5 {
        0 => Request::Acquire {
            holder,
            seen: Some(token),
            ttl,
            quarantine: ttl,
            profile: Profile::new("name", "").expect("short"),
        },
        1 => Request::Renew { holder, token, ttl },
        2 => Request::Release { holder, token },
        3 => Request::Notify { message: Message::new("channel", "payload").expect("short") },
        _ => Request::Observe,
    }
}

/// A world in which no time passes, with one server that says its say once, whatever it is asked.
#[derive(Debug)]
struct Outside {
    says: Mutex<Option<Vec<u8>>>,
}

impl Runtime for Outside {
    fn now(&self) -> Instant {
        Instant::ORIGIN
    }

    fn sleep_until(&self, _: Instant) -> BoxFuture<'static, ()> {
        futures_util::future::pending().boxed()
    }

    fn spawn(&self, task: BoxFuture<'static, ()>) {
        tokio::spawn(task);
    }

    fn connect(&self, _: &str, _: u16) -> BoxFuture<'static, io::Result<Connection>> {
        let says = self.says.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(says) = says else {
            return async { Err(io::ErrorKind::ConnectionRefused.into()) }.boxed();
        };
        let (client, server) = tokio::io::duplex(1 << 16);
        tokio::spawn(serve(server, says));
        async move { Ok(Box::new(client) as Connection) }.boxed()
    }

    fn entropy(&self) -> io::Result<u128> {
        Ok(7)
    }
}

/// Says it all, then listens for as long as the client has something to say, and hangs up.
async fn serve(mut server: DuplexStream, says: Vec<u8>) {
    let mut heard = [0; 4096];
    let listened = server.read(&mut heard).await;
    let said = server.write_all(&says).await;
    if listened.is_ok() && said.is_ok() {
        // The next request, if the greeting was to the client's liking.
        let _hung_up = server.shutdown().await;
    }
}
