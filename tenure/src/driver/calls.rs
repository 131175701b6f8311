//! The calls to the store that are under way.
//!
//! They run in the driver's task. A caller of a question that gives up drops only its end of a
//! channel, not the request: a request that is dropped condemns its connection, which all elections
//! share.

use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::{AbortHandle, Abortable, BoxFuture};
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use tenure_core::HolderId;
use tenure_driver::{CallId, DescribeOutcome, Outcome, Outgoing};

use super::{Driver, Input, Table};
use crate::logging::{self, LIFE, REQUEST, request_span};
use crate::shared::{Ask, ElectionId, QuestionId, Version};
use crate::store::{AnyStore, Reply, Request, Store, StoreError, StoreErrorKind};
use crate::{Instant, Token};

#[derive(Default)]
pub(super) struct Calls {
    futures: FuturesUnordered<BoxFuture<'static, Ended>>,
    /// A future is dropped where it is polled, so a call is cancelled through this.
    aborts: Table<CallId, AbortHandle>,
    /// The questions that wait for their departure.
    questions: Table<QuestionId, Box<Ask>>,
    /// The longest time that any of them may take.
    patience: Duration,
}

/// The end of a call.
pub(super) enum Ended {
    /// Empty if the call was cancelled.
    Called(CallId, Vec<Answered>),
    /// Its caller was answered.
    Asked(CallId, Outcome),
    Described {
        call: CallId,
        election: ElectionId,
        version: u64,
        /// `None` if it was cancelled.
        result: Option<Result<(), StoreError>>,
    },
}

/// The end of a candidate's request.
pub(super) struct Answered {
    election: ElectionId,
    request: &'static str,
    result: Result<Reply, StoreError>,
}

impl Calls {
    /// A call leaves, and may take that long: its future is polled once the driver takes what has
    /// happened.
    fn leaves<T>(
        &mut self,
        call: CallId,
        within: Duration,
        asked: impl Future<Output = T> + Send + 'static,
        ended: impl FnOnce(Option<T>) -> Ended + Send + 'static,
    ) {
        let (abort, registration) = AbortHandle::new_pair();
        self.aborts.insert(call, abort);
        self.patience = self.patience.max(within);
        let asked = Abortable::new(asked, registration);
        self.futures.push(asked.map(|result| ended(result.ok())).boxed());
    }

    /// Drops the future of a call, which tells the connection that it may be stuck.
    pub(super) fn cancel(&mut self, call: CallId) {
        if let Some(abort) = self.aborts.remove(&call) {
            abort.abort();
        }
    }

    pub(super) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Ended>> {
        self.futures.poll_next_unpin(context)
    }

    /// The number of calls under way.
    pub(super) fn len(&self) -> usize {
        self.futures.len()
    }

    pub(super) fn patience(&self) -> Duration {
        self.patience
    }

    /// The futures under way, for a driver that is dropped.
    pub(super) fn take(&mut self) -> FuturesUnordered<BoxFuture<'static, Ended>> {
        std::mem::take(&mut self.futures)
    }

    /// A question waits for its departure.
    pub(super) fn wait(&mut self, ask: Box<Ask>) {
        self.questions.insert(ask.question, ask);
    }

    /// The caller of a question has given up. One that has left goes on.
    pub(super) fn forget(&mut self, question: QuestionId) {
        self.questions.remove(&question);
    }

    #[cfg(test)]
    pub(super) fn remembers(&self) -> usize {
        self.futures.len() + self.aborts.len() + self.questions.len()
    }
}

impl Driver {
    /// Carries out requests of candidates in one call.
    pub(super) fn call(&mut self, call: CallId, requests: Vec<Outgoing>) {
        let mut within = Duration::ZERO;
        let of_store = |one: &Outgoing| {
            let election = self.elections.get(&one.election)?;
            within = within.max(election.request_timeout());
            let shared = &election.shared;
            Some((shared.key.clone(), Request::of_machine(one.request, || shared.profile())))
        };
        let asked: Option<Vec<_>> = requests.iter().map(of_store).collect();
        // Each has an election. If one had none, the answers would be those of other requests.
        let Some(asked) = asked.filter(|asked| !asked.is_empty()) else {
            return self.echoes.push_back(Input::Called(call, Vec::new()));
        };
        let (key, first) = &asked[0];
        let span = request_span(key, first.name(), asked.len());
        let names: Vec<_> = asked.iter().map(|(_, request)| request.name()).collect();
        let ended = move |results: Option<Vec<_>>| {
            let Some(results) = results else { return Ended::Called(call, Vec::new()) };
            let mut results = results.into_iter();
            // A store that answers less than it was asked leaves the rest unknown.
            let mut result = || results.next().unwrap_or_else(no_answer);
            let answered = |(one, request): (Outgoing, _)| {
                let election = one.election;
                Answered { election, request, result: result() }
            };
            Ended::Called(call, requests.into_iter().zip(names).map(answered).collect())
        };
        let asked = span.instrument(self.store.call_all_owned(asked));
        self.calls.leaves(call, within, asked, ended);
    }

    /// Asks the store a question of the application.
    pub(super) fn ask(&mut self, call: CallId, question: QuestionId) {
        let Some(ask) = self.calls.questions.remove(&question) else {
            // Its caller has given up.
            return self.echoes.push_back(Input::Called(call, vec![Outcome::Unanswered]));
        };
        let Ask { question: _, key, request, within, answer, place } = *ask;
        drop(place);
        let ended = move |result: Option<_>| {
            let late = || Err(StoreError::new(StoreErrorKind::Timeout, format!("{within:?}")));
            let result = result.unwrap_or_else(late);
            let outcome = outcome_of(&result);
            // The caller may have given up.
            let _ = answer.send(result);
            Ended::Asked(call, outcome)
        };
        self.calls.leaves(call, within, self.store.call_owned(key, request), ended);
    }

    /// Tells the store the present profile of a leader.
    pub(super) fn describe(
        &mut self,
        call: CallId,
        election: ElectionId,
        holder: HolderId,
        token: Token,
    ) {
        let one = self.elections.get(&election);
        let Some((one, latest)) = one.and_then(|one| Some((one, one.shared.replaced.present()?)))
        else {
            // It was never replaced.
            let nothing = DescribeOutcome::Unanswered;
            return self.echoes.push_back(Input::Described(call, 0, nothing));
        };
        let Version { number: version, profile, .. } = latest;
        let request = Request::Describe { holder, token, version, profile };
        let ended = move |result: Option<Result<Reply, _>>| {
            let result = result.map(|result| result.map(drop));
            Ended::Described { call, election, version, result }
        };
        let asked = self.store.call_owned(one.shared.key.clone(), request);
        self.calls.leaves(call, one.request_timeout(), asked, ended);
    }

    /// A call has ended.
    pub(super) fn ended(&mut self, now: Instant, ended: Ended) {
        match ended {
            Ended::Called(call, results) => {
                self.calls.aborts.remove(&call);
                let outcomes = results.into_iter().map(|one| self.answered(now, one)).collect();
                self.hand_in(now, Input::Called(call, outcomes));
            }
            Ended::Asked(call, outcome) => {
                self.calls.aborts.remove(&call);
                self.hand_in(now, Input::Called(call, vec![outcome]));
            }
            Ended::Described { call, election, version, result } => {
                self.calls.aborts.remove(&call);
                let outcome = self.described(election, version, result);
                self.hand_in(now, Input::Described(call, version, outcome));
            }
        }
    }

    /// Notes for people what became of a request, before the machine's news refer to it.
    fn answered(&mut self, now: Instant, answered: Answered) -> Outcome {
        let Answered { election: id, request, result } = answered;
        let outcome = outcome_of(&result);
        match (result, outcome) {
            (Ok(reply), Outcome::Answered(_)) => {
                let Some(election) = self.elections.get_mut(&id) else { return outcome };
                election.answered(&reply, now);
                let asks = matches!(reply, Reply::Renewed { asked: Some(_), .. });
                if let Some(held) = election.held().filter(|_| asks) {
                    self.hand_in(now, Input::Command(id, held));
                }
            }
            (Ok(_), _) => {
                let detail = format!("to {request}");
                self.failed(
                    now,
                    id,
                    request,
                    StoreError::new(StoreErrorKind::UnexpectedReply, detail),
                );
            }
            (Err(error), _) => self.failed(now, id, request, error),
        }
        outcome
    }

    /// A request of a candidate has failed.
    pub(super) fn failed(
        &mut self,
        now: Instant,
        id: ElectionId,
        request: &'static str,
        error: StoreError,
    ) {
        let Some(election) = self.elections.get_mut(&id) else { return };
        logging::debug!(target: REQUEST, key = ?election.shared.key, request, %error, "failed");
        self.outage.lasts(now, &error);
        election.failed(error);
    }

    fn described(
        &mut self,
        id: ElectionId,
        version: u64,
        result: Option<Result<(), StoreError>>,
    ) -> DescribeOutcome {
        let Some(election) = self.elections.get(&id) else { return DescribeOutcome::Unanswered };
        let key = &election.shared.key;
        match result.unwrap_or_else(|| Err(given_up(&self.store, election.request_timeout()))) {
            Ok(()) => {
                logging::debug!(target: REQUEST, ?key, version, "the leader's metadata are recorded");
                DescribeOutcome::Answered
            }
            Err(error) if error.kind() == StoreErrorKind::Unsupported => {
                if !std::mem::replace(&mut self.has_refused_descriptions, true) {
                    logging::warn!(
                        target: LIFE, ?key, %error,
                        "other candidates are not told a leader's new metadata before its next tenure; not said \
                         again of other elections"
                    );
                }
                DescribeOutcome::Unsupported
            }
            // Told again after the next renewal.
            Err(error) => {
                logging::debug!(target: REQUEST, ?key, %error, "the leader's metadata were not recorded");
                if is_answer(&error) {
                    DescribeOutcome::Refused
                } else {
                    DescribeOutcome::Unanswered
                }
            }
        }
    }
}

/// The outcome of a request for the machine.
fn outcome_of(result: &Result<Reply, StoreError>) -> Outcome {
    match result {
        Ok(reply) => reply.to_contract().map_or(Outcome::Unexpected, Outcome::Answered),
        Err(error) if is_answer(error) => Outcome::Refused,
        Err(_) => Outcome::Unanswered,
    }
}

/// True if a server has answered with that error: then the connection carries requests.
fn is_answer(error: &StoreError) -> bool {
    !matches!(
        error.kind(),
        StoreErrorKind::Timeout
            | StoreErrorKind::Unreachable
            | StoreErrorKind::Disconnected
            | StoreErrorKind::Tls
    )
}

/// The error of a request that was given up: why there is no connection, or that there was no
/// reply.
pub(super) fn given_up(store: &AnyStore, within: Duration) -> StoreError {
    store
        .connect_error()
        .unwrap_or_else(|| StoreError::new(StoreErrorKind::Timeout, format!("{within:?}")))
}

fn no_answer() -> Result<Reply, StoreError> {
    Err(StoreError::new(StoreErrorKind::UnexpectedReply, "no answer to this request of a call"))
}
