//! A server's replies: the Redis adapter, with the client under it, is given arbitrary bytes.
//!
//! Nothing that a server says may bring the process down, or keep a call waiting once the
//! connection is closed. Whatever is no reply to the request must be an error, and so unknown.

#![no_main]

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use libfuzzer_sys::{Corpus, fuzz_target};
use tenure::runtime::{Connection, Runtime};
use tenure::store::contract::{Acquire, Asked, Mark, RequestId, Wish};
use tenure::store::redis::{Redis, RedisConfig, SCRIPTS};
use tenure::store::{Key, Message, Profile, Request, Store};
use tenure::{HolderId, Instant, Token};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

/// More than the client says at once.
const MOST_HEARD: usize = 1 << 18;
/// The answer to the client's greeting, with which it asks for the third version of the protocol.
const GREETED: &[u8] = b"%1\r\n$5\r\nproto\r\n:3\r\n";
/// The number of runs of the client until it has asked all that it will.
const PATIENCE: u32 = 100;
/// Ends an answer to what the client says at once, and is not said.
const END_OF_ANSWER: u8 = 0;
/// The longest text of an error: a server's words are cut, lest they flood a log.
const LONGEST: usize = 2_000;

fuzz_target!(|bytes: &[u8]| -> Corpus {
    let [which, is_rude, said @ ..] = bytes else { return Corpus::Reject };
    let polite = if is_rude & 1 == 0 { vec![GREETED.to_vec(), informed()] } else { vec![] };
    // A client drops what it has not asked for, so each answer waits for a question.
    let said = said.split(|byte| *byte == END_OF_ANSWER).map(<[u8]>::to_vec);
    let request = request(*which);
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let answered = runtime.expect("needs nothing").block_on(async {
        let outside = Outside { says: Mutex::new(Some(polite.into_iter().chain(said).collect())) };
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

/// The answers to the scripts, which the client loads at first, and to its question for the
/// version.
fn informed() -> Vec<u8> {
    let mut answers = "+OK\r\n".repeat(SCRIPTS.len());
    answers.push_str("$19\r\nredis_version:7.4.0\r\n");
    answers.into_bytes()
}

fn request(which: u8) -> Request {
    let (holder, token, ttl) = (HolderId::from_bits(7), Token::FIRST, Duration::from_secs(15));
    let number = RequestId::new(2).expect("not zero");
    let (seen, stamp) = (Some(token), None);
    let profile = Profile::new("name", "").expect("short");
    let name = profile.name_id();
    match which % 9 {
        0 => {
            let mark = Some(Mark { holder, number });
            let asks = Acquire { seen, mark, ..Acquire::new(holder, number, ttl, name) };
            Request::Acquire { asks, profile }
        }
        1 => Request::Renew { holder, token, number, stamp },
        2 => Request::Release { holder, token, reservation: None },
        3 => Request::Notify { message: Message::new("channel", "payload").expect("short") },
        4 => Request::Look { seen, quarantine: ttl },
        5 => {
            let asked = Asked { name, defer: Duration::ZERO };
            Request::Ask { token, asked, seen, quarantine: ttl }
        }
        6 => Request::Want { token, wish: Some(Wish::Anybody) },
        7 => Request::Describe { holder, token, version: 1, profile },
        _ => Request::Observe,
    }
}

/// A world in which no time passes, with one server that gives these answers once, whatever it is
/// asked.
#[derive(Debug)]
struct Outside {
    says: Mutex<Option<Vec<Vec<u8>>>>,
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
        let (client, server) = tokio::io::duplex(MOST_HEARD);
        tokio::spawn(serve(server, says));
        async move { Ok(Box::new(client) as Connection) }.boxed()
    }

    fn entropy(&self) -> io::Result<u128> {
        Ok(7)
    }
}

/// Gives each answer to what it hears next, and hangs up; at once on a client that still waits for
/// the end of an answer.
async fn serve(mut server: DuplexStream, says: Vec<Vec<u8>>) {
    let mut heard = vec![0; MOST_HEARD];
    for answer in says {
        if !is_asked(&mut server, &mut heard).await || server.write_all(&answer).await.is_err() {
            return;
        }
    }
}

async fn is_asked(server: &mut DuplexStream, heard: &mut [u8]) -> bool {
    for _ in 0..PATIENCE {
        if let Some(read) = server.read(heard).now_or_never() {
            return matches!(read, Ok(1..));
        }
        tokio::task::yield_now().await;
    }
    false
}
