//! The task that subscribes, against a server in memory.

mod server;

use std::pin::Pin;

use futures_util::{FutureExt, StreamExt};

use self::server::{Answers, JUST_WITHIN, Server};
use super::*;
use crate::store::Interest;

/// A driver's end.
struct Driver {
    server: Arc<Server>,
    interest: Interest,
    hints: Pin<Box<dyn Stream<Item = Key> + Send>>,
}

impl Driver {
    fn new(server: &Arc<Server>) -> Self {
        let (interest, watched) = Interest::new();
        let hints = Box::pin(hints(Arc::clone(server), watched));
        Self { server: Arc::clone(server), interest, hints }
    }

    fn add(&self, numbers: std::ops::Range<usize>) {
        numbers.for_each(|number| self.interest.add(&key(number)));
    }

    fn remove(&self, numbers: std::ops::Range<usize>) {
        numbers.for_each(|number| self.interest.remove(&key(number)));
    }

    /// The hints by now.
    fn hinted(&mut self) -> Vec<Key> {
        let mut hinted = Vec::new();
        for _ in 0..20 {
            while let Some(hint) = self.hints.next().now_or_never() {
                hinted.push(hint.expect("the stream has not ended"));
            }
            self.server.clock.run();
        }
        hinted
    }
}

fn key(number: usize) -> Key {
    Key::new(format!("job-{number:05}")).unwrap()
}

fn keys(numbers: std::ops::Range<usize>) -> Vec<Key> {
    numbers.map(key).collect()
}

fn elections(numbers: std::ops::Range<usize>) -> Vec<Topic> {
    numbers.map(|number| Topic::Election(key(number))).collect()
}

fn nothing_is_left(server: &Arc<Server>) {
    for _ in 0..20 {
        server.clock.run();
    }
    assert_eq!(server.subscribed(), []);
    assert!(server.remote.lock().unwrap().wire.is_none(), "a connection that nobody needs");
    assert!(server.table.is_empty() && server.clock.tasks().is_empty());
    assert_eq!(Arc::strong_count(server), 1, "the task holds the store");
}

#[test]
fn many_elections_take_few_commands() {
    let server = Server::new();
    let mut driver = Driver::new(&server);
    driver.add(0..1_300);
    assert_eq!(driver.hinted(), keys(0..1_300), "each once, after its subscription");
    assert_eq!(server.commands(), [512, 512, 276]);
    server.table.wake(&key(7));
    server.table.wake(&key(2_000));
    assert_eq!(driver.hinted(), [key(7)]);
    driver.remove(0..1_299);
    assert_eq!(driver.hinted(), []);
    assert_eq!(server.commands(), [-512, -512, -275]);
    assert_eq!(server.subscribed(), elections(1_299..1_300));
    server.table.wake(&key(7));
    assert_eq!(driver.hinted(), []);
    drop(driver);
    nothing_is_left(&server);
}

#[test]
fn a_new_connection_is_subscribed_and_hinted_again() {
    let server = Server::new();
    let mut driver = Driver::new(&server);
    driver.add(0..600);
    driver.hinted();
    server.commands();
    server.cut();
    driver.remove(0..10);
    assert_eq!(driver.hinted(), keys(10..600));
    assert_eq!(server.commands(), [512, 78]);
    drop(driver);
    nothing_is_left(&server);
}

#[test]
fn drivers_share_a_subscription() {
    let server = Server::new();
    let (mut one, mut two) = (Driver::new(&server), Driver::new(&server));
    one.add(0..2);
    assert_eq!(one.hinted(), keys(0..2));
    two.add(1..3);
    assert_eq!(two.hinted(), keys(1..3), "also where the server has subscribed already");
    assert_eq!(one.hinted(), [], "nothing happened to its elections");
    assert_eq!(server.commands(), [2, 1]);
    drop(one);
    two.hinted();
    assert_eq!(server.subscribed(), elections(1..3));
    two.remove(1..3);
    two.hinted();
    nothing_is_left_but(two, &server);
}

/// A driver without elections is no reason for a connection.
fn nothing_is_left_but(driver: Driver, server: &Arc<Server>) {
    assert!(server.clock.tasks().is_empty());
    drop(driver);
    nothing_is_left(server);
}

#[test]
fn refused_subscriptions_are_tried_again_with_pauses() {
    let server = Server::new();
    server.is(Answers::WithRefusals);
    let mut driver = Driver::new(&server);
    driver.add(0..3);
    for _ in 0..100 {
        assert_eq!(driver.hinted(), []);
        server.clock.advance(Duration::from_millis(100));
    }
    let tries = server.commands().len();
    assert!((5..=9).contains(&tries), "{tries} in 10 s");
    driver.remove(0..2);
    assert_eq!(driver.hinted(), []);
    server.is(Answers::Well);
    server.clock.advance(Duration::from_secs(5));
    assert_eq!(driver.hinted(), keys(2..3));
    assert_eq!(server.commands(), [1]);
    drop(driver);
    nothing_is_left(&server);
}

#[test]
fn a_server_that_does_not_answer_costs_the_connection() {
    let server = Server::new();
    server.is(Answers::Never);
    let mut driver = Driver::new(&server);
    driver.add(0..1);
    driver.hinted();
    let wire = server.remote.lock().unwrap().wire.clone().unwrap();
    server.clock.advance(JUST_WITHIN);
    assert!(!wire.dead.is_cancelled());
    server.is(Answers::Well);
    server.clock.advance(Duration::from_millis(1));
    assert!(wire.dead.is_cancelled());
    assert_eq!(driver.hinted(), keys(0..1));
}

/// Nothing else is sent on it: a device on the way may have forgotten the connection.
#[test]
fn a_silent_connection_is_replaced_after_a_heartbeat() {
    let server = Server::new();
    let mut driver = Driver::new(&server);
    driver.add(0..1);
    assert_eq!(driver.hinted(), keys(0..1));
    let wire = server.remote.lock().unwrap().wire.clone().unwrap();
    server.is(Answers::Never);
    server.clock.advance(Duration::from_secs(15));
    driver.hinted();
    server.clock.advance(JUST_WITHIN);
    assert!(!wire.dead.is_cancelled());
    server.is(Answers::Well);
    server.remote.lock().unwrap().subscribed.clear();
    server.clock.advance(Duration::from_millis(1));
    assert!(wire.dead.is_cancelled());
    assert_eq!(driver.hinted(), keys(0..1), "something may have been missed");
}

#[test]
fn heartbeats_that_are_answered_keep_the_connection() {
    let server = Server::new();
    let mut driver = Driver::new(&server);
    driver.add(0..1);
    driver.hinted();
    let wire = server.remote.lock().unwrap().wire.clone().unwrap();
    for second in 0..60 {
        // A refusal is an answer. Changes of what is listened to put no heartbeat off.
        server.is(if second < 30 { Answers::Well } else { Answers::WithRefusals });
        driver.add(second + 1..second + 2);
        driver.hinted();
        server.clock.advance(Duration::from_secs(1));
        driver.hinted();
    }
    assert!(!wire.dead.is_cancelled());
    let beats = server.remote.lock().unwrap().beats;
    assert_eq!(beats, 4);
}

#[test]
fn nobody_waits_for_a_server_that_nobody_needs() {
    let server = Server::new();
    server.is(Answers::Away);
    let mut driver = Driver::new(&server);
    driver.add(0..1);
    assert_eq!(driver.hinted(), []);
    assert_eq!(server.clock.tasks().len(), 1);
    drop(driver);
    nothing_is_left(&server);
}

#[test]
fn elections_that_end_in_an_outage_leave_nothing() {
    let server = Server::new();
    server.is(Answers::Away);
    let mut driver = Driver::new(&server);
    driver.add(0..1);
    for round in 0..50 {
        let hundred = 1 + 100 * round..101 + 100 * round;
        driver.add(hundred.clone());
        assert_eq!(driver.hinted(), []);
        driver.remove(hundred);
        assert_eq!(driver.hinted(), []);
    }
    let left = server.table.touched();
    assert!((1..2_000).contains(&left), "{left}");
    drop(driver);
    nothing_is_left(&server);
}

#[test]
fn elections_that_end_before_they_are_subscribed_to_leave_no_connection() {
    let server = Server::new();
    server.is(Answers::Away);
    let mut driver = Driver::new(&server);
    driver.add(0..1);
    assert_eq!(driver.hinted(), []);
    // The connection is opened, and the election has ended before anything can be sent on it.
    server.is(Answers::Well);
    server.remote.lock().unwrap().wire = Some(Arc::default());
    drop(driver);
    nothing_is_left(&server);
    assert_eq!(server.commands(), [0; 0]);
}

#[test]
fn a_task_that_ended_with_its_runtime_begins_again() {
    let server = Server::new();
    let mut driver = Driver::new(&server);
    driver.add(0..2);
    driver.hinted();
    server.clock.tasks().clear();
    assert_eq!(driver.hinted(), []);
    // The connection has ended with the same runtime.
    server.cut();
    server.clock.advance(Duration::from_millis(100));
    assert_eq!(driver.hinted(), keys(0..2));
    drop(driver);
    nothing_is_left(&server);
}

#[test]
fn inboxes_are_subscribed_while_they_are_open() {
    let server = Server::new();
    let mut driver = Driver::new(&server);
    driver.add(0..2);
    let mut first = Box::pin(inbox(Arc::clone(&server), key(1)));
    let mut second = Box::pin(inbox(Arc::clone(&server), key(1)));
    assert_eq!(first.next().now_or_never(), None);
    assert_eq!(second.next().now_or_never(), None);
    assert_eq!(driver.hinted(), keys(0..2));
    assert_eq!(server.commands(), [2, 1], "each kind apart");
    server.table.say(&key(1), "now");
    server.table.say(&key(0), "to nobody");
    for inbox in [&mut first, &mut second] {
        assert_eq!(inbox.next().now_or_never(), Some(Some("now")));
        assert_eq!(inbox.next().now_or_never(), None);
    }
    drop(first);
    driver.hinted();
    assert!(server.subscribed().contains(&Topic::Inbox(key(1))));
    drop(second);
    driver.hinted();
    assert_eq!(server.subscribed(), elections(0..2));
    drop(driver);
    nothing_is_left(&server);
}
