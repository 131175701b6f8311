//! Counters, gauges and histograms, through the `metrics` facade: they cost next to nothing until a recorder is
//! installed. The label is the key's class, never the key.

use std::time::Duration;

use metrics::{counter, gauge, histogram};

use crate::StepDownReason;
use crate::shared::LostWork;
use crate::store::Key;

const CLASS: &str = "key_class";

pub(crate) fn acquired(key: &Key) {
    counter!("leader_acquired_total", CLASS => key.class().to_owned()).increment(1);
    gauge!("leader_leading", CLASS => key.class().to_owned()).increment(1);
}

pub(crate) fn lost(key: &Key, reason: StepDownReason) {
    let reason = match reason {
        StepDownReason::Expired => "expired",
        StepDownReason::Superseded => "superseded",
        StepDownReason::Resigned => "resigned",
        StepDownReason::RenewFailed => "renew_failed",
        StepDownReason::WorkLost => "work_lost",
        _ => "other",
    };
    counter!("leader_lost_total", CLASS => key.class().to_owned(), "reason" => reason).increment(1);
    gauge!("leader_leading", CLASS => key.class().to_owned()).decrement(1);
}

/// Work of `run_while_leader` or `run_until` was lost under a current tenure.
pub(crate) fn work_lost(key: &Key, how: LostWork) {
    let how = match how {
        LostWork::Dropped => "dropped",
        LostWork::Panicked => "panicked",
    };
    counter!("leader_work_lost_total", CLASS => key.class().to_owned(), "how" => how).increment(1);
}

/// A renewal was answered; `left` is the rest of the claim at that time.
pub(crate) fn renewed(key: &Key, left: Duration) {
    counter!("leader_renewals_total", CLASS => key.class().to_owned()).increment(1);
    histogram!("leader_validity_left_seconds", CLASS => key.class().to_owned()).record(left);
}

pub(crate) fn request(key: &Key, name: &'static str, took: Duration, answered: bool) {
    histogram!("leader_request_seconds", CLASS => key.class().to_owned(), "request" => name)
        .record(took);
    if !answered {
        request_given_up(key, name);
    }
}

/// A request's outcome is unknown and stays so.
pub(crate) fn request_given_up(key: &Key, name: &'static str) {
    if name == "renew" {
        counter!("leader_renewal_failures_total", CLASS => key.class().to_owned()).increment(1);
    }
}
