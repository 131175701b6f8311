//! Each fault the proxy can make, seen from a client of an echo server.

// Helpers stand outside of the functions that clippy.toml means by tests.
#![allow(clippy::unwrap_used)]

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroU32;
use std::time::Duration;

use tenure_servers::{Flow, Proxy};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, timeout};

/// Long enough for loopback on a loaded machine.
const SOON: Duration = Duration::from_secs(60);
/// Long enough for bytes that were not stopped to arrive.
const A_WHILE: Duration = Duration::from_millis(150);

async fn echo_server() -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let (mut reader, mut writer) = stream.into_split();
                let _ = copy(&mut reader, &mut writer).await;
            });
        }
    });
    address
}

struct Client(TcpStream);

impl Client {
    async fn connect(proxy: &Proxy) -> Self {
        Self(TcpStream::connect((Ipv4Addr::LOCALHOST, proxy.port())).await.unwrap())
    }

    async fn send(&mut self, text: &str) {
        self.0.write_all(text.as_bytes()).await.unwrap();
    }

    async fn hears(&mut self, text: &str) {
        let mut heard = vec![0; text.len()];
        timeout(SOON, self.0.read_exact(&mut heard)).await.expect("nothing heard").unwrap();
        assert_eq!(String::from_utf8(heard).unwrap(), text);
    }

    async fn hears_nothing(&mut self) {
        timeout(A_WHILE, self.0.read_u8()).await.expect_err("heard something");
    }

    /// True if the connection is closed, rather than silent.
    async fn is_closed(&mut self) -> bool {
        match self.end().await {
            Ok(length) => length == 0,
            Err(error) => error.kind() == io::ErrorKind::ConnectionReset,
        }
    }

    async fn end(&mut self) -> io::Result<usize> {
        timeout(SOON, self.0.read(&mut [0; 1])).await.expect("still open")
    }
}

async fn connected() -> (Proxy, Client) {
    let proxy = Proxy::start(echo_server().await).await.unwrap();
    let mut client = Client::connect(&proxy).await;
    client.send("hello").await;
    client.hears("hello").await;
    (proxy, client)
}

#[tokio::test]
async fn new_connections_lead_to_the_new_target() {
    let silent = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let proxy = Proxy::start(echo_server().await).await.unwrap();
    let mut open = Client::connect(&proxy).await;
    open.send("before").await;
    open.hears("before").await;
    proxy.redirect(silent.local_addr().unwrap());
    open.send("still").await;
    open.hears("still").await;
    let mut new = Client::connect(&proxy).await;
    let (mut reached, _) = timeout(SOON, silent.accept()).await.expect("no connection").unwrap();
    new.send("elsewhere").await;
    let mut heard = [0; 9];
    timeout(SOON, reached.read_exact(&mut heard)).await.expect("nothing heard").unwrap();
    assert_eq!(&heard, b"elsewhere");
    new.hears_nothing().await;
}

#[tokio::test]
async fn held_bytes_come_later_in_order() {
    let (proxy, mut client) = connected().await;
    proxy.set(Flow::Hold);
    client.send("one ").await;
    client.send("two").await;
    client.hears_nothing().await;
    proxy.set(Flow::Forward);
    client.hears("one two").await;
}

#[tokio::test]
async fn a_black_hole_loses_bytes_and_stays_connected() {
    let (proxy, mut client) = connected().await;
    proxy.set_requests(Flow::BlackHole);
    client.send("lost").await;
    client.hears_nothing().await;
    proxy.set_requests(Flow::Forward);
    client.send("kept").await;
    client.hears("kept").await;
}

#[tokio::test]
async fn replies_alone_can_be_lost() {
    let (proxy, mut client) = connected().await;
    proxy.set_replies(Flow::BlackHole);
    client.send("lost").await;
    client.hears_nothing().await;
    proxy.set_replies(Flow::Hold);
    client.send("late").await;
    client.hears_nothing().await;
    proxy.set_replies(Flow::Forward);
    client.hears("late").await;
}

#[tokio::test]
async fn a_delay_applies_to_each_direction() {
    let (proxy, mut client) = connected().await;
    let delay = Duration::from_millis(100);
    proxy.set(Flow::Delay(delay));
    let started = Instant::now();
    client.send("slow").await;
    client.hears("slow").await;
    assert!(started.elapsed() >= 2 * delay, "{:?}", started.elapsed());
}

#[tokio::test]
async fn cut_closes_open_connections_and_new_ones_work() {
    let (proxy, mut client) = connected().await;
    proxy.cut();
    assert!(client.is_closed().await);
    let mut next = Client::connect(&proxy).await;
    next.send("again").await;
    next.hears("again").await;
}

#[tokio::test]
async fn a_reset_is_an_error_and_no_end() {
    let (proxy, mut client) = connected().await;
    proxy.reset();
    let error = client.end().await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
    let mut next = Client::connect(&proxy).await;
    next.send("again").await;
    next.hears("again").await;
}

#[tokio::test]
async fn a_half_open_connection_is_silent_until_it_is_cut() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let proxy = Proxy::start(listener.local_addr().unwrap()).await.unwrap();
    let mut client = Client::connect(&proxy).await;
    let (mut server, _) = listener.accept().await.unwrap();
    client.send("a").await;
    assert_eq!(server.read_u8().await.unwrap(), b'a');
    proxy.half_open();
    assert_eq!(timeout(SOON, server.read(&mut [0; 1])).await.expect("still open").unwrap(), 0);
    client.send("lost").await;
    client.hears_nothing().await;
    proxy.cut();
    assert!(client.is_closed().await);
}

#[tokio::test]
async fn a_throttled_direction_passes_so_many_bytes_a_second() {
    let (proxy, mut client) = connected().await;
    proxy.set_requests(Flow::Throttle(NonZeroU32::new(10_000).unwrap()));
    let text = "x".repeat(1_000);
    let started = Instant::now();
    client.send(&text).await;
    client.send(&text).await;
    client.hears(&text).await;
    client.hears(&text).await;
    let took = started.elapsed();
    assert!(took >= Duration::from_millis(200), "{took:?}");
    proxy.set(Flow::Forward);
    client.send("fast").await;
    client.hears("fast").await;
}

#[tokio::test]
async fn a_throttled_backlog_passes_when_the_flow_changes() {
    let (proxy, mut client) = connected().await;
    proxy.set_requests(Flow::Throttle(NonZeroU32::new(1).unwrap()));
    client.send("a minute's worth of bytes, a byte a second, and then some more").await;
    client.hears_nothing().await;
    proxy.set(Flow::Forward);
    client.hears("a minute's worth of bytes, a byte a second, and then some more").await;
}

#[tokio::test]
async fn refusing_closes_new_connections_and_leaves_open_ones() {
    let (proxy, mut client) = connected().await;
    proxy.refuse(true);
    assert!(Client::connect(&proxy).await.is_closed().await);
    client.send("still here").await;
    client.hears("still here").await;
    proxy.refuse(false);
    let mut next = Client::connect(&proxy).await;
    next.send("welcome").await;
    next.hears("welcome").await;
}

#[tokio::test]
async fn ends_are_held_until_the_proxy_is_dropped() {
    let (proxy, mut client) = connected().await;
    proxy.set(Flow::Hold);
    client.0.shutdown().await.unwrap();
    client.hears_nothing().await;
    proxy.set(Flow::Forward);
    assert!(client.is_closed().await);

    let mut other = Client::connect(&proxy).await;
    other.send("hello").await;
    other.hears("hello").await;
    drop(proxy);
    assert!(other.is_closed().await);
}
