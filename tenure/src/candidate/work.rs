//! Leader-only work: when it runs, what counts as done, and what its loss means.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::{Candidate, Stopped};
use crate::Token;
use crate::logging::LIFE;
use crate::shared::{Command, LostWork, Shared, Standing, StopError};
use crate::tenure::{Tenure, WorkResult};

impl Candidate {
    /// Runs `work` whenever this candidate leads, in the caller's task, until it has ended once while its tenure
    /// was current.
    ///
    /// When the tenure ends, its cancellation token fires, and the future is still polled so that it can end
    /// cleanly: for as long as no other candidate can lead (at most the stop margin) if the lease expired; until
    /// the drain bound if the candidate resigned or stopped; not at all if the store says that the tenure is
    /// over. Then it is dropped, and started again on the next tenure. The lease is handed back only when it
    /// has ended.
    ///
    /// Work that ends after its tenure is not done: its result is dropped, which the log says, and it starts
    /// again on the next tenure. So the end of a tenure does not mean that the work is finished: make work
    /// that may run again idempotent, or [fence](Tenure::token) it. Work that resigns or stops its own
    /// candidate never yields `Ok`, and must not wait for either: both wait for the work.
    ///
    /// **If the work panics, or this future is dropped** (by a `select!`, a timeout, an abort) while its tenure
    /// is current, the candidate resigns: a leader without work would keep all others from doing it. It
    /// campaigns again once work is offered again and the hold-off is over. See
    /// [`keep_lead_without_work`](crate::CandidateBuilder::keep_lead_without_work).
    ///
    /// **Not guaranteed**: that tasks which `work` has spawned, or threads that it blocks, stop. Bind
    /// them to [`Tenure::cancellation_token`].
    ///
    /// `work` may be an async closure that borrows from its surroundings. It is not an `AsyncFnMut`,
    /// because the futures of those can't be required to be `Send`, and so could not be spawned.
    ///
    /// # Errors
    /// If the candidate has stopped before the work was done.
    pub fn run_while_leader<T, F: Future<Output = T>, W: FnMut(Tenure) -> F>(
        &self,
        mut work: W,
    ) -> impl Future<Output = Result<T, Stopped>> + use<T, F, W> {
        // It owns all that it needs, so that it can be spawned wherever `work` can.
        let candidate = self.clone();
        async move {
            let _offer = Offer::new(&candidate.0.0);
            loop {
                let tenure = next_tenure(candidate.shared()).await?;
                let token = tenure.token();
                let at_work = AtWork::begin(candidate.shared(), tenure.clone());
                let result = tenure.clone().run(work(tenure)).await;
                at_work.ended();
                match result {
                    WorkResult::InTime(done) => return Ok(done),
                    WorkResult::Late(done) => warn_late(&candidate, token, done),
                    WorkResult::Dropped => {}
                }
            }
        }
    }

    /// Runs `work` if this candidate leads now; `None` if it does not, or if the tenure ended before the work
    /// did.
    pub async fn run_if_leader<T, F: Future<Output = T>>(
        &self,
        work: impl FnOnce(Tenure) -> F,
    ) -> Option<T> {
        let tenure = self.tenure()?;
        let token = tenure.token();
        match tenure.run(work(tenure.clone())).await {
            WorkResult::InTime(done) => Some(done),
            WorkResult::Late(done) => {
                warn_late(self, token, done);
                None
            }
            WorkResult::Dropped => None,
        }
    }

    /// Runs `work` as [`run_while_leader`](Self::run_while_leader) does, until it is done or `shutdown`
    /// completes; then leaves the election as [`stop`](Self::stop) does, and still polls the work meanwhile,
    /// so that it ends cleanly and the lease is handed back at once. `None` if the work was not
    /// done.
    ///
    /// This is meant for a service's `main`, together with [`shutdown_signal`](crate::shutdown_signal):
    ///
    /// ```no_run
    /// # async fn example(candidate: tenure::Candidate) -> Result<(), Box<dyn std::error::Error>> {
    /// candidate
    ///     .run_until(tenure::shutdown_signal()?, async |tenure| {
    ///         while tenure.is_current() {
    ///             // ...
    ///         }
    ///     })
    ///     .await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Takes at most [`Explanation::longest_stop`](crate::Explanation::longest_stop) after `shutdown`, 18 s
    /// at defaults. A container is killed after 10 s by default: see
    /// [`Config::with_longest_stop`](crate::Config::with_longest_stop).
    ///
    /// # Errors
    /// If the work outlives its bound, or the driver is gone; then the lease ends by itself. An error after
    /// the work was done is only logged.
    pub fn run_until<T, F: Future<Output = T>, W: FnMut(Tenure) -> F, S: Future<Output = ()>>(
        &self,
        shutdown: S,
        work: W,
    ) -> impl Future<Output = Result<Option<T>, StopError>> + use<T, F, W, S> {
        let (candidate, work) = (self.clone(), self.run_while_leader(work));
        async move {
            let mut work = std::pin::pin!(work);
            let done = tokio::select! {
                biased;
                done = &mut work => Some(done.ok()),
                () = shutdown => None,
            };
            let mut stop = std::pin::pin!(candidate.stop());
            if let Some(done) = done {
                let stopped = stop.await;
                return match (done, stopped) {
                    (None, stopped) => stopped.map(|()| None),
                    (Some(done), Ok(())) => Ok(Some(done)),
                    (Some(done), Err(error)) => {
                        tracing::warn!(target: LIFE, key = ?candidate.key(), %error, "the work is done");
                        Ok(Some(done))
                    }
                };
            }
            // Work that ends from here on was not done in time.
            let mut is_over = false;
            loop {
                tokio::select! {
                    biased;
                    stopped = &mut stop => return stopped.map(|()| None),
                    _ = &mut work, if !is_over => is_over = true,
                }
            }
        }
    }
}

/// Waits for the tenure that is current, or the next one.
pub(super) async fn next_tenure(shared: &Shared) -> Result<Tenure, Stopped> {
    let current = |standing| match standing {
        Standing::Leading(tenure) if tenure.is_current() => Some(Ok(tenure)),
        Standing::Leading(_)
        | Standing::Campaigning(_)
        | Standing::Refused(_)
        | Standing::Quarantined(_)
        | Standing::HoldingOff => None,
        Standing::Stopped | Standing::Abandoned => Some(Err(Stopped)),
    };
    shared.standing.wait_for(current).await
}

/// Logs that the result of work is dropped. Only its type can be shown; most work has no result.
fn warn_late<T>(candidate: &Candidate, token: Token, result: T) {
    if size_of::<T>() > 0 {
        tracing::warn!(
            target: LIFE, key = ?candidate.key(), %token, dropped = std::any::type_name::<T>(),
            "work ended after its tenure: its result is dropped"
        );
    }
    drop(result);
}

/// Work that waits for the lead or runs under it.
struct Offer(Arc<Shared>);

impl Offer {
    fn new(shared: &Arc<Shared>) -> Self {
        shared.offers.fetch_add(1, Ordering::AcqRel);
        // Without a driver, the candidate never leads again.
        let _ = shared.send(Command::WorkOffered { id: shared.id });
        Self(Arc::clone(shared))
    }
}

impl Drop for Offer {
    fn drop(&mut self) {
        self.0.offers.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Work under way; tells the driver if it is dropped before it has ended.
struct AtWork<'a> {
    shared: &'a Shared,
    tenure: Tenure,
    has_ended: bool,
}

impl<'a> AtWork<'a> {
    fn begin(shared: &'a Shared, tenure: Tenure) -> Self {
        Self { shared, tenure, has_ended: false }
    }

    fn ended(mut self) {
        self.has_ended = true;
    }
}

impl Drop for AtWork<'_> {
    fn drop(&mut self) {
        if self.has_ended
            || self.shared.settings.chosen.keeps_lead_without_work
            || !self.tenure.is_current()
        {
            return;
        }
        let how = if std::thread::panicking() { LostWork::Panicked } else { LostWork::Dropped };
        let (id, token) = (self.shared.id, self.tenure.token());
        // A driver that is gone renews nothing.
        let _ = self.shared.send(Command::WorkLost { id, token, how });
    }
}
