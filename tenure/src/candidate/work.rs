//! Leader-only work: when it runs, what counts as done, and what its loss means.

use std::convert::Infallible;
use std::fmt::Display;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures_util::FutureExt;
use futures_util::future::{Map, lazy};

use super::{Candidate, Stopped};
use crate::Token;
use crate::logging::{self, LIFE};
use crate::runtime::thousandths;
use crate::shared::{Command, LostWork, Shared, Standing, StopError};
use crate::tenure::{Tenure, WorkResult};

impl Candidate {
    /// Runs `work` whenever this candidate leads, in the caller's task, until it has ended once
    /// while its tenure was current.
    ///
    /// When the tenure ends, its cancellation token fires, and the future is still polled so that
    /// it can end cleanly: for as long as no other candidate can lead (at most the stop margin) if
    /// the lease expired; until the drain bound if the candidate resigned or stopped; not at all if
    /// the store says that the tenure is over. Then it is dropped, and started again on the next
    /// tenure. The lease is handed back only when it has ended.
    ///
    /// Work that ends after its tenure is not done: its result is dropped, which the log says, and
    /// it starts again on the next tenure. So the end of a tenure does not mean that the work is
    /// finished: make work that may run again idempotent, or [fence](Tenure::token) it. Work that
    /// resigns or stops its own candidate never yields `Ok`, and must not wait for either: both
    /// wait for the work.
    ///
    /// **The candidate still leads after its work is done**, and any result counts as done, an
    /// `Err` too: use [`try_run_while_leader`](Self::try_run_while_leader) for work that can fail.
    ///
    /// **If the work panics, or this future is dropped** (by a `select!`, a timeout, an abort)
    /// while its tenure is current, the candidate resigns: a leader without work would keep all
    /// others from doing it. It campaigns again once work is offered and the hold-off is over. A
    /// future that is dropped while it waits for a tenure, or after its own has ended, takes the
    /// candidate out of the election too, unless another call of this kind is under way: until work
    /// is offered again. A future that was never polled has offered nothing. See
    /// [`keep_lead_without_work`](crate::CandidateBuilder::keep_lead_without_work).
    ///
    /// **Not guaranteed**: that tasks which `work` has spawned, or threads that it blocks, stop.
    /// Bind them to [`Tenure::cancellation_token`].
    ///
    /// `work` may be an async closure that borrows from its surroundings. It is not an
    /// `AsyncFnMut`, because the futures of those can't be required to be `Send`, and so could not
    /// be spawned.
    ///
    /// # Errors
    /// If the candidate has stopped before the work was done.
    pub fn run_while_leader<T, F: Future<Output = T>, W: FnMut(Tenure) -> F>(
        &self,
        work: W,
    ) -> impl Future<Output = Result<T, Stopped>> + use<T, F, W> {
        until_done(self.clone(), never_fails(work), AfterWork::Stays)
    }

    /// Runs `work` as [`run_while_leader`](Self::run_while_leader) does, until it has ended once
    /// with `Ok` while its tenure was current.
    ///
    /// If it ends with an error under a current tenure, the log has the error, and the candidate
    /// resigns with the reason [`StepDownReason::WorkFailed`](crate::StepDownReason::WorkFailed),
    /// so that another process can try. The work starts again on this candidate's next tenure, for
    /// which it campaigns after the [hold-off](crate::CandidateBuilder::hold_off) and a random
    /// time: between nothing and the hold-off (or the [largest
    /// retry](crate::ConfigBuilder::largest_retry), if that is longer) after a first failure, and
    /// up to twice as long after each further failure in a row, 16 times at most.
    ///
    /// An error after the end of the tenure, such as a fence's refusal, is only logged. Errors that
    /// a short wait cures are better retried in the work itself, since each failure costs a
    /// handover.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use std::io;
    /// use tenure::{Candidate, Tenure, store::Memory};
    ///
    /// async fn write_report(tenure: Tenure) -> Result<usize, io::Error> {
    ///     let text = format!("the report of {}", tenure.token());
    ///     Ok(text.len()) // a real one writes it somewhere, and uses `?`
    /// }
    ///
    /// let candidate = Candidate::builder(Memory::new(), "nightly-report").start()?;
    /// let written = candidate.try_run_while_leader(write_report).await?;
    /// # assert!(written > 0);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the candidate has stopped before the work was done.
    pub fn try_run_while_leader<T, E, F, W>(
        &self,
        work: W,
    ) -> impl Future<Output = Result<T, Stopped>> + use<T, E, F, W>
    where
        E: Display,
        F: Future<Output = Result<T, E>>,
        W: FnMut(Tenure) -> F,
    {
        until_done(self.clone(), work, AfterWork::Stays)
    }

    /// Runs `work` if this candidate leads now; `None` if it does not, or if the tenure ended
    /// before the work did. A panic, or a drop of the future, ends the work alone: the candidate
    /// leads on.
    pub async fn run_if_leader<T, F: Future<Output = T>>(
        &self,
        work: impl FnOnce(Tenure) -> F,
    ) -> Option<T> {
        let tenure = self.tenure()?;
        let token = tenure.token();
        match tenure.run(begun_by(work, tenure.clone())).await {
            WorkResult::InTime(done) => Some(done),
            WorkResult::Late(done) => {
                warn_late(self, token, done);
                None
            }
            WorkResult::Dropped => None,
        }
    }

    /// Runs `work` as [`run_while_leader`](Self::run_while_leader) does, until it is done or
    /// `shutdown` completes; then leaves the election as [`stop`](Self::stop) does, and still polls
    /// the work meanwhile, so that it ends cleanly and the lease is handed back at once. `None` if
    /// the work was not done. Any result counts as done, an `Err` too, and ends the program that
    /// waits for it: use [`try_run_until`](Self::try_run_until) for work that can fail.
    ///
    /// This is meant for a service's `main`, together with
    /// [`shutdown_signal`](crate::shutdown_signal):
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
    /// Takes at most [`Explanation::longest_stop`](crate::Explanation::longest_stop) after
    /// `shutdown`, 18 s at defaults. A container is killed after 10 s by default: see
    /// [`ConfigBuilder::longest_stop`](crate::ConfigBuilder::longest_stop).
    ///
    /// # Errors
    /// If the work outlives its bound, or the driver is gone; then the lease ends by itself. An
    /// error after the work was done is only logged.
    pub fn run_until<T, F: Future<Output = T>, W: FnMut(Tenure) -> F, S: Future<Output = ()>>(
        &self,
        shutdown: S,
        work: W,
    ) -> impl Future<Output = Result<Option<T>, StopError>> + use<T, F, W, S> {
        let work = until_done(self.clone(), never_fails(work), AfterWork::Stops);
        until(self.clone(), shutdown, work)
    }

    /// Runs `work` as [`try_run_while_leader`](Self::try_run_while_leader) does, until it has ended
    /// with `Ok` or `shutdown` completes; then leaves the election as
    /// [`run_until`](Self::run_until) does. An error of the work does not end it.
    ///
    /// # Errors
    /// As those of [`run_until`](Self::run_until).
    pub fn try_run_until<T, E, F, W, S>(
        &self,
        shutdown: S,
        work: W,
    ) -> impl Future<Output = Result<Option<T>, StopError>> + use<T, E, F, W, S>
    where
        E: Display,
        F: Future<Output = Result<T, E>>,
        W: FnMut(Tenure) -> F,
        S: Future<Output = ()>,
    {
        let work = until_done(self.clone(), work, AfterWork::Stops);
        until(self.clone(), shutdown, work)
    }
}

/// A candidate's behaviour after the work.
#[derive(Clone, Copy)]
enum AfterWork {
    /// It leads on.
    Stays,
    Stops,
}

type Infallibly<F, T> = Map<F, fn(T) -> Result<T, Infallible>>;

fn never_fails<T, F: Future<Output = T>>(
    mut work: impl FnMut(Tenure) -> F,
) -> impl FnMut(Tenure) -> Infallibly<F, T> {
    move |tenure| work(tenure).map(Ok as fn(T) -> Result<T, Infallible>)
}

/// Work, with the closure that makes it: its code before the future belongs to the tenure too.
fn begun_by<F: Future>(
    work: impl FnOnce(Tenure) -> F,
    tenure: Tenure,
) -> impl Future<Output = F::Output> {
    lazy(|_| work(tenure)).flatten()
}

/// Runs the work in each tenure until it is done. It owns all that it needs, so that it can be
/// spawned wherever the work can.
async fn until_done<T, E: Display, F: Future<Output = Result<T, E>>>(
    candidate: Candidate,
    mut work: impl FnMut(Tenure) -> F,
    after: AfterWork,
) -> Result<T, Stopped> {
    let mut offer = Offer::new(&candidate.0.0);
    let (mut failures, mut failed_under) = (0_u32, None);
    loop {
        let tenure = next_tenure(candidate.shared(), failed_under).await?;
        let token = tenure.token();
        offer.under_way = Some(tenure.clone());
        let result = tenure.clone().run(begun_by(&mut work, tenure)).await;
        offer.under_way = None;
        match result {
            WorkResult::InTime(Ok(done)) => {
                offer.done::<T>(token, after);
                return Ok(done);
            }
            WorkResult::InTime(Err(error)) => {
                offer.failed(token, failures, &error);
                failures = failures.saturating_add(1);
                failed_under = Some(token);
            }
            WorkResult::Late(result) => {
                failures = 0;
                match result {
                    Ok(done) => warn_late(&candidate, token, done),
                    Err(error) => warn_failed_late(&candidate, token, &error),
                }
            }
            WorkResult::Dropped => failures = 0,
        }
    }
}

/// Polls the work until it is done or `shutdown` completes, and stops the candidate.
async fn until<T>(
    candidate: Candidate,
    shutdown: impl Future<Output = ()>,
    work: impl Future<Output = Result<T, Stopped>>,
) -> Result<Option<T>, StopError> {
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
                logging::warn!(target: LIFE, key = ?candidate.key(), %error, "the work is done");
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

/// Waits for the tenure that is current, or the next one; not for the one of that token, which is
/// to end.
pub(super) async fn next_tenure(shared: &Shared, not: Option<Token>) -> Result<Tenure, Stopped> {
    let current = |standing| match standing {
        Standing::Leading(tenure) if tenure.is_current() && Some(tenure.token()) != not => {
            Some(Ok(tenure))
        }
        Standing::Leading(_)
        | Standing::Campaigning(_)
        | Standing::Watching(_)
        | Standing::Ending
        | Standing::HoldingOff => None,
        Standing::Stopped | Standing::Abandoned => Some(Err(Stopped)),
    };
    shared.standing.wait_for(current).await
}

/// Logs that the result of work is dropped. Only its type can be shown; most work has no result.
fn warn_late<T>(candidate: &Candidate, token: Token, result: T) {
    if size_of::<T>() > 0 {
        logging::warn!(
            target: LIFE, key = ?candidate.key(), %token, dropped = std::any::type_name::<T>(),
            "work ended after its tenure: its result is dropped"
        );
    }
    drop(result);
}

fn warn_failed_late(candidate: &Candidate, token: Token, error: &impl Display) {
    logging::warn!(
        target: LIFE, key = ?candidate.key(), %token, error = %format_args!("{error:#}"),
        "work ended with an error after its tenure"
    );
}

/// Work that waits for the lead or runs under it. The driver is told if it is lost: dropped before
/// it is done.
struct Offer {
    shared: Arc<Shared>,
    /// The tenure under which it runs.
    under_way: Option<Tenure>,
    is_done: bool,
}

impl Offer {
    fn new(shared: &Arc<Shared>) -> Self {
        shared.offers.fetch_add(1, Ordering::AcqRel);
        // Without a driver, the candidate never leads again.
        let _ = shared.send(Command::Offers { id: shared.id });
        Self { shared: Arc::clone(shared), under_way: None, is_done: false }
    }

    /// The work has ended with an error under its tenure, and is offered again.
    fn failed(&self, token: Token, before: u32, error: &impl Display) {
        let (id, key) = (self.shared.id, &self.shared.key);
        let thousandths = thousandths(&*self.shared.runtime);
        let how = LostWork::Failed { before, thousandths };
        // First, since showing the error runs code of the application. A driver that is gone renews
        // nothing.
        let _ = self.shared.send(Command::WorkLost { id, token: Some(token), how });
        logging::warn!(
            target: LIFE, ?key, %token, error = %format_args!("{error:#}"),
            "the leader's work has failed: resigning, and campaigning again after the hold-off and a random time"
        );
    }

    /// The work has ended in time.
    fn done<T>(mut self, token: Token, after: AfterWork) {
        self.is_done = true;
        let is_last = self.shared.offers.load(Ordering::Acquire) == 1;
        if is_last && matches!(after, AfterWork::Stays) {
            self.goes_on_without_work::<T>(token);
        }
    }

    /// Logs it once in a tenure: a program may offer work again and again.
    fn goes_on_without_work<T>(&self, token: Token) {
        let known = self.shared.goes_on_under.swap(token.get(), Ordering::Relaxed);
        if known != token.get() {
            logging::info!(
                target: LIFE, key = ?self.shared.key, %token, result = std::any::type_name::<T>(),
                "the work is done, and no other is offered: the candidate leads on"
            );
        }
    }
}

impl Drop for Offer {
    fn drop(&mut self) {
        let is_last = self.shared.offers.fetch_sub(1, Ordering::AcqRel) == 1;
        if self.is_done || self.shared.settings.chosen.keeps_lead_without_work {
            if is_last {
                // A driver that is gone renews nothing.
                let _ = self.shared.send(Command::Offers { id: self.shared.id });
            }
            return;
        }
        let token = self.under_way.take().filter(Tenure::is_current).map(|tenure| tenure.token());
        if token.is_some() || is_last {
            let how = if std::thread::panicking() { LostWork::Panicked } else { LostWork::Dropped };
            // A driver that is gone renews nothing.
            let _ = self.shared.send(Command::WorkLost { id: self.shared.id, token, how });
        }
    }
}
