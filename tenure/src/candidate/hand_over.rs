//! Handing over to a certain candidate, or to any.

use std::time::Duration;

use futures_util::StreamExt;
use tenure_core::Wish;

use super::Candidate;
use crate::logging::{self, LIFE};
use crate::shared::{Command, Shared, Standing, State, StopError};
use crate::store::{LimitError, Profile, Reply, Request, StoreError, StoreErrorKind};
use crate::{Event, Instant, StepDownReason, Token};

/// A failure to hand over.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HandOverError {
    /// The name is empty or too long, so that no candidate has it.
    #[error(transparent)]
    Limit(#[from] LimitError),
    /// The candidate does not lead.
    #[error("the candidate does not lead")]
    NotLeading,
    /// No candidate of that name, or none at all, asked for the lead in time: it is not there, does
    /// not reach the store, or could not lead at once.
    #[error("the candidate that should lead has not asked for the lead within {within:?}")]
    NobodyAsked {
        /// The TTL: a waiting candidate looks for a wish several times within it.
        within: Duration,
    },
    /// The tenure is [held](crate::Tenure::hold) for longer than candidates are waited for.
    #[error("the lead is held for {remaining:?} more: hand over then")]
    Held {
        /// The time left.
        remaining: Duration,
    },
    /// The tenure ended before it was handed over.
    #[error("the tenure ended before it was handed over: {reason}")]
    Ended {
        /// The reason.
        reason: StepDownReason,
    },
    /// This candidate leads no more, and the store has not confirmed that it has the lease back:
    /// any candidate may lead next, this one too.
    #[error(
        "the candidate leads no more, but the store has not confirmed that it has the lease back"
    )]
    NotGivenBack,
    /// This candidate leads no more, and its driver ended or its work went on meanwhile.
    #[error(transparent)]
    Stop(#[from] StopError),
    /// It is not known whether the store has noted who should lead. If it has, the one that is
    /// meant may still ask, until the next grant.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Candidate {
    /// Hands over to a candidate of the name `to`, or to any other one: as soon as such a candidate
    /// asks for the lead, this one stops leading, gives the lease back for it once its work has
    /// ended, and campaigns again. Completes when the lease was given back. If the store has not
    /// confirmed that within two request timeouts, this is an error: the lease is given back once
    /// the store answers, or ends by itself.
    ///
    /// Nobody is left without a leader for a name that is wrong: this candidate leads until one
    /// that is meant has asked. Candidates learn who should lead when they look: at each of the
    /// leader's renewals, unless [`look_every`](crate::ConfigBuilder::look_every) is larger. One of
    /// this candidate's own name counts as no other. The lease is kept for the one that has asked
    /// for a fifth of the TTL; if it is gone by then, any other leads.
    ///
    /// If this future is dropped, the wish stays in the store until the next candidate is granted
    /// the lease: a candidate that is meant may still ask.
    ///
    /// # Errors
    /// See [`HandOverError`]. The wish is taken back if nobody has asked and the store answers.
    pub async fn hand_over(&self, to: Option<&str>) -> Result<(), HandOverError> {
        let wish = match to {
            None => Wish::Anybody,
            Some(name) => Wish::Name(Profile::new(name, "")?.name_id()),
        };
        // Before the tenure is read: its end is not missed.
        let mut events = self.events();
        let Some(tenure) = self.tenure() else { return Err(HandOverError::NotLeading) };
        let (shared, token) = (self.shared(), tenure.token());
        let within = shared.settings.chosen.config.ttl();
        let now = shared.runtime.now();
        let until = now + within;
        if let Some(remaining) = tenure.held_until().map(|held| held.since(now))
            && remaining > within
        {
            return Err(HandOverError::Held { remaining });
        }
        shared.want(token, Some(wish), until).await?;
        // A driver that is gone renews nothing, and the tenure ends.
        let _ = shared.send(Command::RenewNow { id: shared.id });
        let ended = async {
            loop {
                match events.next().await {
                    Some(Event::SteppedDown { tenure, reason }) if tenure.token() == token => {
                        break Some(reason);
                    }
                    Some(_) => {}
                    // The driver is gone: the tenure ends by itself.
                    None => break None,
                }
            }
        };
        tokio::select! {
            biased;
            reason = ended => match reason {
                Some(StepDownReason::HandedOver) => {}
                Some(reason) => return Err(HandOverError::Ended { reason }),
                None => return Err(HandOverError::NotLeading),
            },
            () = shared.runtime.sleep_until(until) => {
                logging::warn!(
                    target: LIFE, key = ?shared.key, %token, to, ?within,
                    "the candidate that should lead has not asked for it: the lead is not handed over"
                );
                let again = shared.runtime.now() + shared.settings.chosen.config.request_timeout();
                // The wish stays if the store does not answer, which does no harm.
                let _ = shared.want(token, None, again).await;
                return Err(HandOverError::NobodyAsked { within });
            }
        }
        shared.given_back(token).await
    }
}

impl Shared {
    /// Waits until a tenure's lease was given back, or can't be.
    async fn given_back(&self, ended: Token) -> Result<(), HandOverError> {
        let is_over = |state: State| match state.standing {
            _ if state.given_back == Some(ended) => Some(Ok(())),
            Standing::Leading(tenure) if tenure.token() == ended => None,
            Standing::Ending => None,
            Standing::Leading(_)
            | Standing::Campaigning(_)
            | Standing::Watching(_)
            | Standing::HoldingOff
            | Standing::Stopped => Some(Err(HandOverError::NotGivenBack)),
            Standing::Abandoned => Some(Err(StopError::DriverGone.into())),
        };
        let bound = self.runtime.now() + self.settings.chosen.longest_stop;
        tokio::select! {
            biased;
            given_back = self.standing.wait_for_state(is_over) => given_back,
            () = self.runtime.sleep_until(bound) => Err(StopError::StillRunning.into()),
        }
    }

    /// Notes at the store who should lead instead of that tenure, or that nobody should.
    async fn want(
        &self,
        token: Token,
        wish: Option<Wish>,
        until: Instant,
    ) -> Result<(), HandOverError> {
        loop {
            let error = match self.ask(Request::Want { token, wish }).await {
                Ok(Reply::Noted) => return Ok(()),
                Ok(Reply::NotNoted) => return Err(HandOverError::NotLeading),
                Ok(other) => StoreError::new(StoreErrorKind::UnexpectedReply, format!("{other:?}")),
                Err(error) => error,
            };
            let again = self.runtime.now() + PAUSE;
            if again >= until {
                return Err(error.into());
            }
            self.runtime.sleep_until(again).await;
        }
    }
}

/// Between two attempts to note a wish.
const PAUSE: Duration = Duration::from_millis(100);
