//! Tells the news of elections to their handles, their callbacks, the log and the metrics.

use tenure_core::{Candidate, Event, Watched};
use tenure_driver::{Command as To, News, Verdict};

use super::calls::given_up;
use super::{Driver, Input};
use crate::logging::{self, LIFE};
use crate::shared::ElectionId;
use crate::{Instant, Token};

impl Driver {
    pub(super) fn publish(&mut self, now: Instant, id: ElectionId, news: News) {
        let Some(election) = self.elections.get_mut(&id) else { return };
        match news {
            News::Event(event) => self.event(now, id, event),
            News::Reopened => election.shared.leads_until.reopen(),
            News::GivenBack(token) => election.shared.standing.given_back(token),
            News::Stage(stage) => election.stands(stage, now),
            News::WorkLost { token, how, pause } => election.lost_work(token, how, pause),
            News::RunsOut { token, held_for } => election.runs_out(token, held_for),
            News::WorkSilent(token) => election.work_is_silent(token),
            News::Answered { request, took, verdict } => {
                election.request_ended(now, request, took, verdict);
            }
            News::GivenUp(request) => {
                let within = election.request_timeout();
                election.request_ended(now, request, within, Verdict::Unknown);
                self.failed(now, id, request, given_up(&self.store, within));
            }
            News::Left => election.left(now),
            News::Ended => {
                self.outage.leaves(id);
                self.confirm_withdrawal(id);
                self.elections.remove(&id);
            }
        }
    }

    fn event(&mut self, now: Instant, id: ElectionId, event: Event) {
        let Some(election) = self.elections.get_mut(&id) else { return };
        match event {
            Event::Elected(claim) => {
                if !election.elected(now, claim) {
                    self.was_closed(id, claim.token());
                }
            }
            Event::Renewed(claim) => {
                if !election.renewed(now, claim) {
                    self.was_closed(id, claim.token());
                }
            }
            Event::SteppedDown { reason, drain_until, .. } => {
                election.stepped_down(now, reason, drain_until);
            }
            Event::DrainUntil { until, .. } => election.drain_moved(until),
            Event::IncumbentChanged { token } => election.incumbent_changed(token),
            Event::Watching { watched: Watched::Past, until } => election.watches_past(now, until),
            Event::Watching { watched: Watched::Settings, .. } => {
                if let Some(other) = self.machine.candidate(id).and_then(Candidate::contradiction) {
                    election.contradicted(other);
                }
            }
            Event::StoreUnavailable { since } => {
                // Without one, a request was given up just now.
                let given_up = || given_up(&self.store, election.request_timeout());
                let error = election.last_error().unwrap_or_else(given_up);
                self.outage.begins(now, id, &election.shared.key, &error);
                election.store_is_unavailable(since, error);
            }
            Event::StoreRecovered => {
                self.outage.ends(now, id, &election.shared.key);
                election.store_answers_again();
            }
            Event::Withdrawn => self.confirm_withdrawal(id),
            other => {
                let key = &election.shared.key;
                logging::error!(target: LIFE, ?key, ?other, "an event that this driver does not know");
            }
        }
    }

    /// The claim of that tenure was closed before the machine's event arrived.
    fn was_closed(&mut self, id: ElectionId, token: Token) {
        self.echoes.push_back(Input::Command(id, To::Closed(token)));
    }

    /// Wakes the callers that wait until the election's resignation is complete.
    fn confirm_withdrawal(&mut self, id: ElectionId) {
        for done in self.withdrawals.remove(&id).unwrap_or_default() {
            // The caller may have given up.
            let _ = done.send(());
        }
    }

    /// All work of an election's last tenure has ended. Whether its lease is given back follows from
    /// its hold.
    pub(super) fn drained(&mut self, now: Instant, id: ElectionId) {
        if let Some(held) = self.elections.get(&id).and_then(|election| election.held()) {
            self.hand_in(now, Input::Command(id, held));
        }
        self.hand_in(now, Input::Drained(id));
    }
}
