//! A store, and the client under it.

use std::error::Error;
use std::time::{Duration, Instant};

use tenure::store::{Reply, Store};
use tenure_servers::{RedisServer, Reply as ServerReply};

use crate::TURN;
use crate::client::{self, Client};
use crate::operation::{Lease, Operation};

/// Through what a request goes to the server.
#[derive(Clone, Copy)]
pub(crate) enum Via {
    Store,
    /// One of two clients that are alike.
    Raw(usize),
}

pub(crate) struct Subject<S, C> {
    name: &'static str,
    store: S,
    raw: [C; 2],
    leases: Vec<Lease>,
    /// The digest of each operation's script.
    digests: Vec<(Operation, String)>,
}

impl<S: Store, C: Client> Subject<S, C> {
    /// The name is also the prefix of the store's keys.
    pub(crate) fn new(
        name: &'static str,
        store: S,
        raw: [C; 2],
        server: &RedisServer,
    ) -> Result<Self, Box<dyn Error>> {
        let leases = (0..TURN as usize).map(|number| Lease::new(name, number)).collect();
        let mut digests = Vec::new();
        for operation in Operation::ALL {
            match server.command(&["SCRIPT", "LOAD", operation.script()])? {
                ServerReply::BulkString(sha) => digests.push((operation, String::from_utf8(sha)?)),
                other => return Err(format!("SCRIPT LOAD answered {other:?}").into()),
            }
        }
        Ok(Self { name, store, raw, leases, digests })
    }

    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    pub(crate) async fn ping(&mut self) {
        self.raw[0].ping().await;
    }

    /// How long it takes to do that to so many leases, one after the other.
    pub(crate) async fn measure(&mut self, via: Via, operation: Operation, count: u32) -> Duration {
        let count = count as usize;
        // By the same way, so that neither side finds it warmer than the other.
        self.prepare(via, operation, count).await;
        self.perform(via, operation, 0..count).await
    }

    /// Brings the lease that [`both`](Self::both) uses into the state that the operation needs.
    pub(crate) async fn prepare_one(&mut self, operation: Operation) {
        self.prepare(Via::Store, operation, 1).await;
        if operation == Operation::Renew {
            // A connection's first renewal is another script's: it compares the server with the history.
            self.perform(Via::Store, operation, 0..1).await;
        }
    }

    async fn prepare(&mut self, via: Via, operation: Operation, count: usize) {
        let needs_live = operation.needs_live();
        let by = if needs_live { Operation::Acquire } else { Operation::Release };
        for number in 0..count {
            if self.leases[number].live != needs_live {
                self.perform(via, by, number..number + 1).await;
            }
        }
    }

    async fn perform(
        &mut self,
        via: Via,
        operation: Operation,
        numbers: std::ops::Range<usize>,
    ) -> Duration {
        let leases = &mut self.leases[numbers];
        let mut replies = Vec::with_capacity(leases.len());
        let took;
        match via {
            Via::Store => {
                let calls: Vec<_> =
                    leases.iter().map(|lease| (&lease.key, operation.request(lease))).collect();
                let mut answers = Vec::with_capacity(calls.len());
                let started = Instant::now();
                for (key, request) in calls {
                    answers.push(self.store.call(key, request).await);
                }
                took = started.elapsed();
                replies.extend(answers.into_iter().map(|answer| answer.expect("an answer")));
            }
            Via::Raw(which) => {
                let raw = &mut self.raw[which];
                let digest = digest(&self.digests, operation);
                let words = leases.iter().map(|lease| operation.words(lease));
                let calls: Vec<_> =
                    words.map(|(keys, arguments)| raw.prepare(digest, &keys, &arguments)).collect();
                let mut answers = Vec::with_capacity(calls.len());
                let started = Instant::now();
                for call in &calls {
                    answers.push(raw.evalsha(call).await);
                }
                took = started.elapsed();
                let read = |answer| client::reply(C::read(answer)).expect("a known answer");
                replies.extend(answers.into_iter().map(read));
            }
        }
        for (lease, reply) in leases.iter_mut().zip(&replies) {
            note(lease, operation, reply);
        }
        took
    }

    /// The same request through the store and bare, one after the other.
    pub(crate) async fn both(&mut self, operation: Operation) -> Result<(), Box<dyn Error>> {
        let lease = &mut self.leases[0];
        let (keys, arguments) = operation.words(lease);
        let call = self.raw[0].prepare(digest(&self.digests, operation), &keys, &arguments);
        let reply = self.store.call(&lease.key, operation.request(lease)).await?;
        // Already done by the line above, so that the answer differs; the command is what counts.
        self.raw[0].evalsha(&call).await;
        note(lease, operation, &reply);
        Ok(())
    }
}

fn digest(digests: &[(Operation, String)], operation: Operation) -> &str {
    let found = digests.iter().find(|(of, _)| *of == operation);
    &found.expect("every operation has a digest").1
}

/// Panics if the operation did not do what it was measured for.
fn note(lease: &mut Lease, operation: Operation, reply: &Reply) {
    match (operation, reply) {
        (Operation::Acquire, Reply::Granted { token, .. }) if Some(*token) > lease.last => {
            (lease.last, lease.live) = (Some(*token), true);
        }
        (Operation::AcquireAgain, Reply::Granted { token, .. }) if Some(*token) == lease.last => {}
        (Operation::Renew, Reply::Renewed) => {}
        (Operation::Release, Reply::Released) => lease.live = false,
        _ => panic!("{operation:?} was answered {reply:?}"),
    }
}
