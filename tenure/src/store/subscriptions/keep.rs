//! The task that keeps the server's subscriptions in line with the table.

use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Fuse, FusedFuture};
use tokio_util::sync::CancellationToken;

use super::table::Batch;
use super::{Subscriber, Topic};
use crate::logging;
use crate::store::StoreError;
use crate::store::slot::Connection;

/// The most topics in one command: some 25 KiB of usual names.
pub(super) const AT_ONCE: usize = 512;

/// The pause after a refused subscription; each further refusal on the same connection doubles it.
const RETRY_LEAST: Duration = Duration::from_millis(100);
const RETRY_MOST: Duration = Duration::from_secs(5);

/// The pause between heartbeats, in times that a command may take.
const BEAT_FACTOR: u32 = 3;
/// The longest time between two heartbeats.
pub(super) const BEAT_MOST: Duration = Duration::from_secs(60);
/// The shortest, and the shortest time for an answer: a server that pauses for a moment is not
/// gone.
const BEAT_LEAST: Duration = Duration::from_secs(1);

/// Runs until nothing is listened to.
pub(super) fn keep<S: Subscriber>(
    server: Arc<S>,
    task: CancellationToken,
) -> impl Future<Output = ()> + Send {
    // Made now: a runtime that is ending drops a task before its first poll, and the next one has
    // to follow.
    let keeper = Keeper { server, task };
    async move {
        while let Some(live) = keeper.connected().await {
            keeper.server.table().begin_anew();
            let beat = keeper.next_beat();
            keeper.serve(OnConnection::new(live, beat)).await;
        }
        // Here, and not where a subscription ends: what is not needed before it was subscribed to
        // has none.
        keeper.server.unneeded();
    }
}

struct Keeper<S: Subscriber> {
    server: Arc<S>,
    task: CancellationToken,
}

/// The subscriptions on one connection.
struct OnConnection<S: Subscriber> {
    live: Arc<S::Live>,
    subscribed: BTreeSet<Topic>,
    refused: BTreeSet<Topic>,
    refusals: u32,
    /// The next try of the refused ones.
    again: Fuse<BoxFuture<'static, ()>>,
    /// The time to ask for a sign of life.
    beat: BoxFuture<'static, ()>,
}

impl<S: Subscriber> Keeper<S> {
    /// A connection; `None` once nothing is listened to.
    async fn connected(&self) -> Option<Arc<S::Live>> {
        let table = self.server.table();
        loop {
            let mut connected = pin!(self.server.connected());
            let connected = loop {
                if table.is_over(&self.task) {
                    return None;
                }
                tokio::select! {
                    biased;
                    connected = &mut connected => break connected,
                    () = table.changed.notified() => {}
                }
            };
            match connected {
                Ok(live) => return Some(live),
                // The attempts to connect have pauses of their own; other errors come at once.
                Err(error) => {
                    logging::debug!(%error, "no connection to subscribe on");
                    self.pause(RETRY_LEAST).await;
                }
            }
        }
    }

    /// Follows the table until the connection has ended, or nothing is subscribed to any more.
    async fn serve(&self, mut on: OnConnection<S>) {
        let table = self.server.table();
        while !on.live.dead().is_cancelled() {
            let batch = table.batch(AT_ONCE);
            if !batch.is_empty() {
                self.change(&mut on, batch).await;
                continue;
            }
            if on.subscribed.is_empty() && on.refused.is_empty() && !table.wants_anything() {
                return;
            }
            tokio::select! {
                biased;
                () = on.live.dead().cancelled() => return,
                () = table.changed.notified() => {}
                () = &mut on.again, if !on.again.is_terminated() => {
                    table.put_back(&std::mem::take(&mut on.refused));
                }
                () = &mut on.beat => {
                    self.beat(&on.live).await;
                    on.beat = self.next_beat();
                }
            }
        }
    }

    async fn change(&self, on: &mut OnConnection<S>, batch: Batch) {
        let Batch { wanted, mut unwanted } = batch;
        for topic in &unwanted {
            on.refused.remove(topic);
        }
        unwanted.retain(|topic| on.subscribed.remove(topic));
        let server = &self.server;
        if !unwanted.is_empty()
            && let Some(Err(error)) = self
                .bounded(&on.live, server.within(), server.unsubscribe(&on.live, &unwanted))
                .await
        {
            logging::debug!(%error, "subscriptions that nobody needs were not ended");
        }
        // Of those that another listener has, too: each listener begins with a hint.
        let (there, new): (Vec<_>, Vec<_>) =
            wanted.into_iter().partition(|topic| on.subscribed.contains(topic));
        server.table().subscribed(&there, false);
        if new.is_empty() || on.live.dead().is_cancelled() {
            return;
        }
        match self.bounded(&on.live, server.within(), server.subscribe(&on.live, &new)).await {
            Some(Ok(())) => {
                server.table().subscribed(&new, true);
                on.subscribed.extend(new);
            }
            Some(Err(error)) if !on.live.dead().is_cancelled() => self.refused(on, new, &error),
            Some(Err(error)) => logging::debug!(%error, "the connection ended while subscribing"),
            None => {}
        }
    }

    async fn beat(&self, live: &Arc<S::Live>) {
        let within = self.server.within().max(BEAT_LEAST);
        match self.bounded(live, within, self.server.beats(live)).await {
            Some(Ok(())) => {}
            Some(Err(error)) if !live.dead().is_cancelled() => {
                logging::debug!(%error, "a heartbeat was not answered as it should be");
            }
            // The store's own check may have ended the connection first.
            Some(Err(_)) | None => logging::warn!(
                "no answer on the connection for wake-ups, which is replaced: wake-ups and messages were missed"
            ),
        }
    }

    fn next_beat(&self) -> BoxFuture<'static, ()> {
        let runtime = self.server.runtime();
        let apart = self.server.within().saturating_mul(BEAT_FACTOR).clamp(BEAT_LEAST, BEAT_MOST);
        runtime.sleep_until(runtime.now() + apart)
    }

    /// The connection is usable after a refusal, by an access rule for instance.
    fn refused(&self, on: &mut OnConnection<S>, topics: Vec<Topic>, error: &StoreError) {
        let (first, count) = (topics.first(), topics.len());
        logging::warn!(
            %error, ?first, count,
            "a subscription was refused: no wake-ups and messages arrive, and waiting candidates poll"
        );
        on.refused.extend(topics);
        let pause = RETRY_LEAST.saturating_mul(1 << on.refusals.min(10)).min(RETRY_MOST);
        on.refusals = on.refusals.saturating_add(1);
        let runtime = self.server.runtime();
        on.again = runtime.sleep_until(runtime.now() + pause).fuse();
    }

    /// `None` if there was no answer in time, or the connection has ended: it is dead then.
    async fn bounded<T>(
        &self,
        live: &S::Live,
        within: Duration,
        done: impl Future<Output = T>,
    ) -> Option<T> {
        tokio::select! {
            biased;
            done = done => Some(done),
            () = live.dead().cancelled() => None,
            () = self.pause(within) => {
                logging::debug!(?within, "the connection for wake-ups is given up: no answer");
                live.dead().cancel();
                None
            }
        }
    }

    async fn pause(&self, time: Duration) {
        let runtime = self.server.runtime();
        runtime.sleep_until(runtime.now() + time).await;
    }
}

impl<S: Subscriber> OnConnection<S> {
    fn new(live: Arc<S::Live>, beat: BoxFuture<'static, ()>) -> Self {
        let (subscribed, refused) = (BTreeSet::new(), BTreeSet::new());
        Self { live, subscribed, refused, refusals: 0, again: Fuse::terminated(), beat }
    }
}

impl<S: Subscriber> Drop for Keeper<S> {
    fn drop(&mut self) {
        self.server.table().task_ended(&self.task);
    }
}
