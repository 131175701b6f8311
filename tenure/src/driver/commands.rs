//! Hands the commands of handles to the machine.
//!
//! What handles and the driver share is read here, after the command was taken. Each change of it
//! sends one, so the machine has the last value after the last command.

use tenure_driver::{Command as To, Join, Question};

use super::{Driver, Election, Input};
use crate::Instant;
use crate::shared::{Ask, Command, ElectionId, NewElection};

impl Driver {
    pub(super) fn command(&mut self, now: Instant, command: Command) {
        let input = match command {
            Command::Join(new) => Some(self.join(*new)),
            Command::Resign { id, again_after, done } => {
                // Without the election the caller looks whether it has stopped.
                if self.elections.contains_key(&id) {
                    self.withdrawals.entry(id).or_default().push(done);
                }
                Some(Input::Command(id, To::Resign(again_after)))
            }
            Command::Stop { id, done } => {
                if let Some(done) = done {
                    if self.elections.contains_key(&id) {
                        self.withdrawals.entry(id).or_default().push(done);
                    } else {
                        // It has stopped already.
                        let _ = done.send(());
                    }
                }
                Some(Input::Command(id, To::Stop))
            }
            Command::RenewNow { id } => Some(Input::Command(id, To::RenewNow)),
            Command::Offers { id } => {
                self.of(id, |election| Some(To::Offers(election.shared.is_offered_work())))
            }
            Command::WorkLost { id, token, how } => self.of(id, |election| {
                let (any, hold_off) = (election.shared.is_offered_work(), election.hold_off());
                Some(To::WorkLost { token, how, any, hold_off })
            }),
            Command::WatchWork { id, token, work } => {
                self.of(id, |election| election.watch(token, work))
            }
            Command::Describe { id } => {
                self.of(id, |election| election.shared.replaced.notices().map(To::Describe))
            }
            Command::Ask(ask) => {
                let Ask { question: id, within, ref request, .. } = *ask;
                let question = Question { id, request: request.name(), within };
                self.calls.wait(ask);
                Some(Input::Ask(question))
            }
            Command::GiveUp { question } => {
                self.calls.forget(question);
                Some(Input::GiveUp(question))
            }
            Command::Watch { key, observer, hinted, place } => {
                drop(place);
                self.hints.observe(observer, hinted);
                Some(Input::Watch(key, observer))
            }
            Command::Unwatch { key, observer } => {
                self.hints.forget(observer);
                Some(Input::Unwatch(key, observer))
            }
            Command::Inbox(inbox) => {
                self.open(*inbox);
                None
            }
        };
        if let Some(input) = input {
            self.hand_in(now, input);
        }
    }

    fn join(&mut self, new: NewElection) -> Input {
        let (shared, seed, phase) = (&new.shared, new.seed, new.phase);
        let (election, key, name) = (shared.id, shared.key.clone(), shared.name_id());
        let config = shared.settings.chosen.config;
        self.elections.insert(election, Box::new(Election::new(new)));
        Input::Join(Box::new(Join { election, key, config, name, seed, phase }))
    }

    /// A command for an election, if there is such a one.
    fn of(
        &mut self,
        id: ElectionId,
        command: impl FnOnce(&mut Election) -> Option<To>,
    ) -> Option<Input> {
        let election = self.elections.get_mut(&id)?;
        command(election).map(|command| Input::Command(id, command))
    }
}
