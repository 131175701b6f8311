//! Poolers, which stand between a store and its server and hand out sessions.

use std::io;
use std::sync::Arc;

use tenure::store::postgres::Postgres;
use tenure::store::{Reply, Request, StoreErrorKind};
use tenure_servers::PgBouncer;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

use super::support::{
    RENEWED, acquire, all_requests, answered, at, call, client, granted_in_the_end, local, release,
    renew, server, soon,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pooler_is_named_and_left_unchanged() {
    let server = server();
    call(&at(server.port()), Request::Observe).await.unwrap();
    // With one session its statements stay prepared, and everything seems to work.
    for sessions in [1, 2] {
        let pooler = PgBouncer::start(&server, sessions).unwrap();
        let store = at(pooler.port());
        for request in all_requests() {
            let error = call(&store, request).await.unwrap_err();
            assert_eq!(error.kind(), StoreErrorKind::Pooler, "{error}");
            assert!(error.to_string().contains("connect to the server itself"), "{error}");
        }
        let guest = client(pooler.port()).await;
        for (name, value) in [("search_path", "$user"), ("lock_timeout", "0")] {
            let shown = guest.simple_query(&format!("SHOW {name}")).await.unwrap();
            assert!(format!("{shown:?}").contains(value), "{shown:?}");
        }
    }
}

/// A pooler's way to move the sessions of a client to another server.
#[derive(Clone, Copy, PartialEq)]
enum Moves {
    /// Repeats all that the client has ever sent, and keeps the answers.
    Everything,
    /// Begins the session alone.
    Beginning,
}

/// Passes on everything, and so the number of the server's process too. Its client has one
/// connection.
struct Pooler {
    port: u16,
    moves: Arc<Notify>,
    has_moved: Arc<Notify>,
}

impl Pooler {
    async fn start(server: u16, how: Moves) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let pooler = Self { port, moves: Arc::default(), has_moved: Arc::default() };
        let (moves, has_moved) = (Arc::clone(&pooler.moves), Arc::clone(&pooler.has_moved));
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (moves, has_moved) = (Arc::clone(&moves), Arc::clone(&has_moved));
                tokio::spawn(serve(client, server, how, moves, has_moved));
            }
        });
        pooler
    }

    /// Gives the client a new session, and waits until it has it.
    async fn moves(&self) {
        self.moves.notify_one();
        soon(self.has_moved.notified()).await;
    }
}

/// Counts how often a server has said that it is ready for the next request.
#[derive(Default)]
struct Readiness {
    unread: Vec<u8>,
    count: usize,
}

impl Readiness {
    /// Takes what the server has said: messages of a type, a length that counts itself, and a
    /// content.
    fn hears(&mut self, said: &[u8]) {
        self.unread.extend(said);
        while let [kind, a, b, c, d, ..] = self.unread[..] {
            let length = 1 + u32::from_be_bytes([a, b, c, d]) as usize;
            if self.unread.len() < length {
                return;
            }
            self.count += usize::from(kind == b'Z');
            self.unread.drain(..length);
        }
    }
}

async fn serve(
    mut client: TcpStream,
    port: u16,
    how: Moves,
    moves: Arc<Notify>,
    has_moved: Arc<Notify>,
) -> io::Result<()> {
    let (mut said, mut ready) = (Vec::new(), Readiness::default());
    let mut server = TcpStream::connect(("127.0.0.1", port)).await?;
    let (mut asks, mut answers) = ([0; 16000], [0; 16000]);
    let mut is_gone = false;
    loop {
        tokio::select! {
            biased;
            () = moves.notified() => {
                server = TcpStream::connect(("127.0.0.1", port)).await?;
                is_gone = false;
                let beginning = u32::from_be_bytes([said[0], said[1], said[2], said[3]]) as usize;
                let (beginning, rest) = said.split_at(beginning);
                server.write_all(beginning).await?;
                swallow(&mut server, &mut answers, 1).await?;
                if how == Moves::Everything {
                    server.write_all(rest).await?;
                    swallow(&mut server, &mut answers, ready.count - 1).await?;
                }
                has_moved.notify_one();
            }
            length = client.read(&mut asks) => {
                let asked = &asks[..length?];
                if asked.is_empty() {
                    return Ok(());
                }
                said.extend(asked);
                server.write_all(asked).await?;
            }
            length = server.read(&mut answers), if !is_gone => match length {
                Ok(length @ 1..) => {
                    ready.hears(&answers[..length]);
                    client.write_all(&answers[..length]).await?;
                }
                Ok(0) | Err(_) => is_gone = true,
            }
        }
    }
}

/// Reads until the server has been ready so many times.
async fn swallow(server: &mut TcpStream, buffer: &mut [u8], times: usize) -> io::Result<()> {
    let mut ready = Readiness::default();
    while ready.count < times {
        match server.read(buffer).await? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            length => ready.hears(&buffer[..length]),
        }
    }
    Ok(())
}

/// A failover that the pooler hides: the store has seen the server before.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_grant_by_another_process_is_refused() {
    let mut server = server();
    let pooler = Pooler::start(server.port(), Moves::Everything).await;
    let store = Postgres::new(local(pooler.port));
    let token = granted_in_the_end(&store, acquire(1, None)).await;
    assert_eq!(call(&store, release(1, token)).await.unwrap(), Reply::Released);
    server.restart().unwrap();
    pooler.moves().await;
    // By the plain statement, and by the function, which can't know either.
    let error = call(&store, acquire(2, Some(token))).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Pooler, "{error}");
    // Its statements are there: it is the process that differs.
    assert!(error.to_string().contains("TN002"), "{error}");
    assert_eq!(server.sql("SELECT count(*) FROM tenure.leases WHERE NOT released").unwrap(), "0");
    // A new connection knows its server.
    let Reply::Not(shown) = answered(&store, acquire(2, Some(token))).await else {
        panic!("nothing is granted yet")
    };
    assert!(shown.sight.past.is_some(), "{shown:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn statements_that_are_gone_are_a_poolers_doing() {
    let server = server();
    let pooler = Pooler::start(server.port(), Moves::Beginning).await;
    let store = Postgres::new(local(pooler.port));
    let token = granted_in_the_end(&store, acquire(1, None)).await;
    pooler.moves().await;
    let error = call(&store, renew(1, token)).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Pooler, "{error}");
    assert!(error.to_string().contains("26000"), "{error}");
    // Not for ever.
    assert_eq!(answered(&store, renew(1, token)).await, RENEWED);
}
