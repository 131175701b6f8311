//! A store, and the client under it.

use std::time::{Duration, Instant};

use tenure::store::Store;
use tenure_bench::{Elections, Operation, Outcome};
use tenure_servers::{RedisServer, Reply as ServerReply};

use crate::client::{self, Client};
use crate::{OPERATIONS, TURN, script};

/// Through what a request goes to the server.
#[derive(Clone, Copy)]
pub(crate) enum Via {
    Store,
    /// One of two clients that are alike.
    Raw(usize),
}

pub(crate) struct Subject<S, C> {
    name: &'static str,
    elections: Elections<S>,
    raw: [C; 2],
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
    ) -> Outcome<Self> {
        let mut digests = Vec::new();
        for operation in OPERATIONS {
            match server.command(&["SCRIPT", "LOAD", script::text(operation)])? {
                ServerReply::BulkString(sha) => digests.push((operation, String::from_utf8(sha)?)),
                other => return Err(format!("SCRIPT LOAD answered {other:?}").into()),
            }
        }
        Ok(Self { name, elections: Elections::new(store, TURN), raw, digests })
    }

    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    pub(crate) async fn ping(&mut self) {
        self.raw[0].ping().await;
    }

    /// The time to do that to so many leases, one after the other.
    pub(crate) async fn measure(&mut self, via: Via, operation: Operation, count: u32) -> Duration {
        // Prepared by the same way, so that neither side finds it warmer than the other.
        match via {
            Via::Store => self.elections.measure(operation, count).await,
            Via::Raw(which) => {
                for number in 0..count as usize {
                    if self.elections.leases[number].live != operation.needs_live() {
                        self.raw(which, operation.prepared_by(), number..number + 1).await;
                    }
                }
                self.raw(which, operation, 0..count as usize).await
            }
        }
    }

    /// Brings the lease that [`both`](Self::both) uses into the state that the operation needs.
    pub(crate) async fn prepare_one(&mut self, operation: Operation) {
        // A connection's first request has other words: it compares the server with the past.
        self.elections.measure(Operation::Acquire, 1).await;
        self.elections.prepare(operation, 1).await;
    }

    async fn raw(
        &mut self,
        which: usize,
        operation: Operation,
        numbers: std::ops::Range<usize>,
    ) -> Duration {
        let leases = &mut self.elections.leases[numbers];
        let raw = &mut self.raw[which];
        let digest = digest(&self.digests, operation);
        let words = leases.iter().map(|lease| script::words(operation, self.name, lease));
        let calls: Vec<_> =
            words.map(|(keys, arguments)| raw.prepare(digest, &keys, &arguments)).collect();
        let mut answers = Vec::with_capacity(calls.len());
        let started = Instant::now();
        for call in &calls {
            answers.push(raw.evalsha(call).await);
        }
        let took = started.elapsed();
        for (lease, answer) in leases.iter_mut().zip(answers) {
            let reply = client::reply(C::read(answer)).expect("a known answer");
            lease.note(operation, &reply);
        }
        took
    }

    /// The same request through the store and bare, one after the other.
    pub(crate) async fn both(&mut self, operation: Operation) {
        let lease = &self.elections.leases[0];
        let (keys, arguments) = script::words(operation, self.name, lease);
        let call = self.raw[0].prepare(digest(&self.digests, operation), &keys, &arguments);
        self.elections.perform(operation, 0..1).await;
        // Already done by the line above, so that the answer differs; the command is what counts.
        self.raw[0].evalsha(&call).await;
    }
}

fn digest(digests: &[(Operation, String)], operation: Operation) -> &str {
    let found = digests.iter().find(|(of, _)| *of == operation);
    &found.expect("every operation has a digest").1
}
