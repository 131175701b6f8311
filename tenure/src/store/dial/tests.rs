//! Addresses that accept connections after a time, refuse them, or are silent, under a clock that
//! the test moves.

use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::*;
use crate::Instant;
use crate::store::fake::Clock;

const WITHIN: Duration = Duration::from_secs(5);

#[derive(Clone, Copy)]
enum Does {
    AcceptsAfter(u64),
    Refuses,
    IsSilent,
}

use Does::{AcceptsAfter, IsSilent, Refuses};

/// A host with such addresses: `0.test`, `1.test`, and so on.
struct Host {
    clock: Clock,
    addresses: Mutex<Vec<Does>>,
    dialled: AtomicU64,
}

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Host")
    }
}

impl Runtime for Host {
    fn now(&self) -> Instant {
        self.clock.now()
    }

    fn sleep_until(&self, deadline: Instant) -> BoxFuture<'static, ()> {
        self.clock.sleep_until(deadline)
    }

    fn spawn(&self, task: BoxFuture<'static, ()>) {
        self.clock.spawn(task);
    }

    fn addresses(&self, host: &str) -> BoxFuture<'static, io::Result<Vec<String>>> {
        assert_eq!(host, "test");
        let count = self.addresses.lock().unwrap().len();
        let all = (0..count).map(|number| format!("{number}.test")).collect();
        std::future::ready(Ok(all)).boxed()
    }

    fn connect(&self, host: &str, port: u16) -> BoxFuture<'static, io::Result<Connection>> {
        assert_eq!(port, 7);
        self.dialled.fetch_add(1, Ordering::SeqCst);
        let number: usize = host.strip_suffix(".test").unwrap().parse().unwrap();
        let does = self.addresses.lock().unwrap()[number];
        let clock = self.clock.clone();
        async move {
            match does {
                AcceptsAfter(millis) => {
                    clock.sleep_until(clock.now() + Duration::from_millis(millis)).await;
                    Ok(Box::new(tokio::io::duplex(1).0) as Connection)
                }
                Refuses => Err(io::ErrorKind::ConnectionRefused.into()),
                IsSilent => pending().await,
            }
        }
        .boxed()
    }

    fn entropy(&self) -> io::Result<u128> {
        Ok(0)
    }
}

struct Dialler {
    host: Arc<Host>,
    dial: Dial,
}

impl Dialler {
    fn of(addresses: &[Does]) -> Self {
        let host = Arc::new(Host {
            clock: Clock::default(),
            addresses: Mutex::new(addresses.to_vec()),
            dialled: AtomicU64::new(0),
        });
        let runtime: Arc<dyn Runtime> = Arc::clone(&host) as _;
        Self { dial: Dial::new(&runtime, WITHIN), host }
    }

    /// The reached server, and after how many milliseconds; an error if none was within the time.
    fn connects(&self) -> Result<(Reached, u128), io::ErrorKind> {
        let mut connecting = std::pin::pin!(self.dial.connect("test", 7));
        let began = self.host.now();
        while self.host.now() < began + WITHIN {
            match connecting.as_mut().now_or_never() {
                Some(Ok((_, mut reached))) => {
                    reached.has_spoken();
                    return Ok((reached, self.host.now().since(began).as_millis()));
                }
                Some(Err(error)) => return Err(error.kind()),
                None => self.host.clock.advance(Duration::from_millis(1)),
            }
        }
        Err(io::ErrorKind::TimedOut)
    }

    /// The same, for an address and a time.
    fn reaches(&self, address: &str, after: u128) -> Reached {
        let (reached, took) = self.connects().expect("an address accepts connections");
        assert_eq!((reached.address(), took), (address, after));
        reached
    }

    fn dialled(&self) -> u64 {
        self.host.dialled.load(Ordering::SeqCst)
    }
}

#[test]
fn the_first_address_that_accepts_is_enough() {
    let dialler = Dialler::of(&[AcceptsAfter(200), AcceptsAfter(1)]);
    dialler.reaches("0.test", 200);
    assert_eq!(dialler.dialled(), 1);
}

#[test]
fn a_silent_address_delays_the_next_a_little() {
    Dialler::of(&[IsSilent, AcceptsAfter(10)]).reaches("1.test", 260);
    // Also where all are far away.
    Dialler::of(&[AcceptsAfter(300), AcceptsAfter(300)]).reaches("0.test", 300);
    let mut many = vec![IsSilent; 99];
    many.push(AcceptsAfter(10));
    let (reached, took) = Dialler::of(&many).connects().unwrap();
    assert_eq!(reached.address(), "99.test");
    assert!(took <= WITHIN.as_millis() / 2 + 10, "{took}");
}

#[test]
fn a_refusal_delays_nothing() {
    Dialler::of(&[Refuses, Refuses, AcceptsAfter(10)]).reaches("2.test", 10);
    let refused = Dialler::of(&[Refuses, Refuses]).connects().map(drop);
    assert_eq!(refused, Err(io::ErrorKind::ConnectionRefused));
    let silent = Dialler::of(&[Refuses, IsSilent]).connects().map(drop);
    assert_eq!(silent, Err(io::ErrorKind::TimedOut));
}

#[test]
fn the_address_of_a_replica_comes_last() {
    // However near it is.
    let dialler = Dialler::of(&[AcceptsAfter(1), AcceptsAfter(1), AcceptsAfter(900)]);
    dialler.reaches("0.test", 1).is_wrong();
    dialler.reaches("1.test", 1).is_wrong();
    dialler.reaches("2.test", 900);
    dialler.reaches("2.test", 900);
}

#[test]
fn a_replica_is_tried_again_when_the_others_are_gone() {
    let dialler = Dialler::of(&[AcceptsAfter(1), AcceptsAfter(1)]);
    dialler.reaches("0.test", 1).is_wrong();
    *dialler.host.addresses.lock().unwrap() = vec![AcceptsAfter(1), IsSilent];
    dialler.reaches("0.test", 2_501);
    *dialler.host.addresses.lock().unwrap() = vec![AcceptsAfter(1), Refuses];
    dialler.reaches("0.test", 1);
}

#[test]
fn a_replica_that_was_promoted_comes_first_again() {
    let dialler = Dialler::of(&[AcceptsAfter(1), AcceptsAfter(1)]);
    dialler.reaches("0.test", 1).is_wrong();
    dialler.reaches("1.test", 1);
    *dialler.host.addresses.lock().unwrap() = vec![AcceptsAfter(1), IsSilent];
    dialler.reaches("0.test", 2_501);
    dialler.reaches("0.test", 1);
}

#[test]
fn an_address_without_a_word_is_not_tried_first_again() {
    let dialler = Dialler::of(&[AcceptsAfter(1), AcceptsAfter(1)]);
    let (_, reached) = {
        let mut connecting = std::pin::pin!(dialler.dial.connect("test", 7));
        assert!(connecting.as_mut().now_or_never().is_none());
        dialler.host.clock.advance(Duration::from_millis(1));
        connecting.now_or_never().unwrap().unwrap()
    };
    assert_eq!(reached.address(), "0.test");
    drop(reached);
    dialler.reaches("1.test", 1);
}

/// They have changed roles.
#[test]
fn replicas_everywhere_are_tried_in_turn() {
    let dialler = Dialler::of(&[AcceptsAfter(1), AcceptsAfter(1)]);
    for turn in 0..6 {
        dialler.reaches(if turn % 2 == 0 { "0.test" } else { "1.test" }, 1).is_wrong();
    }
    let alone = Dialler::of(&[AcceptsAfter(1)]);
    for _ in 0..3 {
        alone.reaches("0.test", 1).is_wrong();
    }
}

#[test]
fn a_host_that_is_an_address_is_not_remembered() {
    let dial = Dialler::of(&[]).dial;
    for number in 0..2_000 {
        let address = format!("10.0.{}.{}", number / 250, number % 250);
        let (server, wrong) = ((address.clone(), 7), Arc::clone(&dial.wrong));
        drop(Reached { server, address, has_spoken: false, wrong });
    }
    assert!(lock(&dial.wrong).is_empty());
}
