//! Counts one candidate in the metrics of its class.

use std::sync::Arc;
use std::time::Duration;

use tenure_driver::Verdict;

use super::class::{Class, count, record};
use crate::{Instant, StepDownReason};

/// Below that part of the validity, a renewal counts as late.
const LATE: f64 = 1.0 / 3.0;

/// The metrics of one candidate, which takes part in an election until this is dropped.
#[expect(clippy::struct_excessive_bools, reason = "a switch, and gauges of their own")]
pub(crate) struct ElectionMetrics {
    class: Arc<Class>,
    leader_names: bool,
    // What it adds to the gauges now.
    leading: bool,
    without_store: bool,
    watching: bool,
}

impl ElectionMetrics {
    pub(super) fn new(class: Arc<Class>, leader_names: bool) -> Self {
        let mut is_first = false;
        class.change(|class| {
            is_first = class.candidates == 0;
            class.candidates += 1;
        });
        if is_first {
            class.show_counters(leader_names);
        }
        let (leading, without_store, watching) = (false, false, false);
        Self { class, leader_names, leading, without_store, watching }
    }

    pub(crate) fn elected(&mut self) {
        count(&self.class.elected);
        self.alias(0);
        self.left_watch();
        self.leading = true;
        self.class.change(|class| class.leading += 1);
    }

    pub(crate) fn stepped_down(&mut self, reason: StepDownReason) {
        self.class.stepped_down(reason).map(count);
        self.alias(1);
        if std::mem::take(&mut self.leading) {
            self.class.change(|class| class.leading -= 1);
        }
    }

    /// A renewal extended the claim, of whose validity that much was left.
    pub(crate) fn renewed(&self, left: Duration, validity: Duration) {
        let part = left.as_secs_f64() / validity.as_secs_f64();
        count(&self.class.renewals);
        self.alias(2);
        record(&self.class.validity_left, part);
        if part < LATE {
            count(&self.class.late_renewals);
        }
    }

    /// The candidate watches the store's past until that instant.
    pub(crate) fn watching(&mut self, now: Instant, until: Instant) {
        let before = std::mem::replace(&mut self.watching, true);
        self.class.change(|class| {
            class.watching += u32::from(!before);
            class.watching_until = class.watching_until.max(until);
            class.watch_left = class.watching_until.since(now);
        });
    }

    /// The watch is over.
    fn left_watch(&mut self) {
        if std::mem::take(&mut self.watching) {
            self.class.change(|class| class.watching -= 1);
        }
    }

    pub(crate) fn store_is_down(&mut self) {
        if !std::mem::replace(&mut self.without_store, true) {
            self.class.change(|class| class.without_store += 1);
        }
    }

    pub(crate) fn store_is_up(&mut self) {
        if std::mem::take(&mut self.without_store) {
            self.class.change(|class| class.without_store -= 1);
        }
    }

    /// The candidate's settings contradict another candidate's.
    pub(crate) fn contradicted(&self) {
        count(&self.class.contradictions);
    }

    pub(crate) fn work_lost(&self, how: &'static str) {
        self.class.work_lost(how).map(count);
    }

    /// A request of the candidate was answered, has failed or was given up, that long after it was
    /// sent.
    pub(crate) fn answered(
        &mut self,
        now: Instant,
        request: &'static str,
        took: Duration,
        verdict: Verdict,
    ) {
        if let Some(key) = self.class.request(request, verdict) {
            record(key, took.as_secs_f64());
        }
        let renews = request == "renew";
        if renews && verdict == Verdict::Unknown {
            count(&self.class.renewal_failures);
            self.alias(3);
        }
        if self.watching {
            // What is left is shown anew.
            self.class.change(|class| class.watch_left = class.watching_until.since(now));
        }
    }

    /// Counts the alias at that place of the table, where aliases are counted.
    fn alias(&self, place: usize) {
        if self.leader_names {
            count(&self.class.leader_names[place]);
        }
    }
}

impl Drop for ElectionMetrics {
    fn drop(&mut self) {
        self.class.change(|class| {
            class.candidates -= 1;
            class.leading -= u32::from(self.leading);
            class.without_store -= u32::from(self.without_store);
            class.watching -= u32::from(self.watching);
        });
    }
}
