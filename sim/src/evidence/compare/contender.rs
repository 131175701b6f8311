//! The algorithms that are compared.

use super::measured::Measured;
use super::scenario::SETTLED_TTLS;
use crate::engines::EngineError;
use crate::engines::model::baselines::flag::Flag;
use crate::engines::model::baselines::{
    expiring_row, heartbeat_row, key_flag, renew_deadline, session_lock,
};
use crate::engines::model::{run, run_as};
use crate::judge::{Judging, Outcome, Which};
use crate::plan::{Plan, SimTime};

described! {
    /// Tenure, or a model of another algorithm.
    Contender {
        /// This project's state machine and store contract.
        Tenure = "tenure": "lease counted from the request's sending, and a token",
        /// A Redis key with an expiry, renewed at an interval and retried after each refusal.
        KeyFlag = "key-flag": "Redis key, two timers: zyno LeaderService",
        /// A Redis key with one interval for renewals and retries.
        KeyFlagOneTimer = "key-flag-one-timer": "Redis key, one timer: svelte-adapter-uws-extensions",
        /// A row with an expiry, which a cleanup job deletes.
        ExpiringRow = "expiring-row": "row and cleanup job: nest-leader-election",
        /// An advisory lock of a session that outlives a partition.
        SessionLock = "session-lock": "advisory lock: @platformatic/leader",
        /// An advisory lock of a session that the server ends when the leader is cut off.
        SessionLockEnded = "session-lock-ended": "the same, its session ended by the server when cut off",
        /// A row with the time of the last heartbeat.
        HeartbeatRow = "heartbeat-row": "row with heartbeat and term: drift recipe",
        /// A versioned record, and a deadline for renewals.
        RenewDeadline = "renew-deadline": "versioned record: client-go",
    }
}

impl Contender {
    /// Runs it on a plan. Only tenure promises the properties.
    ///
    /// # Errors
    /// If the plan can't be carried out.
    pub fn outcome(self, plan: &Plan, judging: Judging<'_>) -> Result<Outcome, EngineError> {
        let carry = match self {
            Self::Tenure => run,
            Self::KeyFlag => run_as::<Flag<key_flag::KeyFlag<key_flag::TwoTimers>>>,
            Self::KeyFlagOneTimer => run_as::<Flag<key_flag::KeyFlag<key_flag::OneTimer>>>,
            Self::ExpiringRow => run_as::<Flag<expiring_row::ExpiringRow>>,
            Self::SessionLock => run_as::<Flag<session_lock::SessionLock>>,
            Self::SessionLockEnded => run_as::<Flag<session_lock::EndedSession>>,
            Self::HeartbeatRow => run_as::<Flag<heartbeat_row::HeartbeatRow>>,
            Self::RenewDeadline => run_as::<renew_deadline::RenewDeadline>,
        };
        carry(plan, judging)
    }

    /// Runs it on a plan, and measures the run.
    ///
    /// # Errors
    /// If the plan can't be carried out.
    pub fn run(self, plan: &Plan) -> Result<Measured, EngineError> {
        // The other algorithms do not promise the properties: the run is measured, not judged.
        let outcome = self.outcome(plan, Judging::StopAtFirst(Which::Named(&[])))?;
        let settled = SimTime::from_millis(plan.settings.ttl_ms * SETTLED_TTLS);
        Ok(Measured::of(outcome.trace.entries(), settled))
    }
}
