//! Carries out the commands of handles.

use tenure_core::{Input, Instant};

use super::Driver;
use crate::alphabet::{Action, Command, ElectionId, Join};
use crate::election::Election;
use crate::spread::Phase;

impl<K: Clone + Ord> Driver<K> {
    pub(super) fn joins(&mut self, now: Instant, join: Join<K>) {
        if self.elections.is_empty() {
            self.world.phase = Phase(join.phase);
        }
        let id = join.election;
        if self.subscriptions.join(&join.key, id) {
            self.world.acts(Action::Subscribe(join.key.clone()));
        }
        self.elections.insert(id, Box::new(Election::new(join)));
        self.step(now, id, Input::Campaign);
    }

    pub(super) fn command(&mut self, now: Instant, id: ElectionId, command: Command) {
        self.with(id, |election, world| match command {
            Command::Resign(again_after) => election.resigns(world, now, again_after),
            Command::Stop => election.stops(world, now),
            Command::RenewNow => election.renews_now(world, now),
            // Whether it campaigns now follows from the offers.
            Command::Offers(any) => {
                election.offers(any);
                election.handle(world, now, Input::Wake);
            }
            Command::WorkLost { token, how, any, hold_off } => {
                election.offers(any);
                election.lost_work(world, now, token, how, hold_off);
            }
            Command::WorkDue { token, due, hold_off } => {
                election.work_is_due(world, now, token, due, hold_off);
            }
            Command::Closed(token) => election.was_closed(world, now, token),
            Command::Held(token, until) => election.is_held(token, until),
            Command::Describe(version) => {
                election.profile_was_replaced(version);
                election.handle(world, now, Input::Wake);
            }
        });
    }
}
