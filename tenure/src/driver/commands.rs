//! Carries out the commands of handles.

use tenure_core::Input;

use super::Driver;
use super::election::Election;
use super::spread::Phase;
use crate::shared::Command;

impl Driver {
    pub(super) fn command(&mut self, command: Command) {
        match command {
            Command::Join(new) => {
                if self.elections.is_empty() {
                    self.world.phase = Phase(new.phase);
                }
                let election = Box::new(Election::new(*new));
                let id = election.id();
                self.hints.join(election.key(), id);
                self.elections.insert(id, election);
                self.step(id, Input::Campaign);
            }
            Command::Resign { id, again_after, done } => {
                if let Some(election) = self.elections.get_mut(&id) {
                    self.world.withdrawals.entry(id).or_default().push(done);
                    election.reopen();
                    let again_after = election.again_after(again_after);
                    self.step(id, Input::Resign { again_after });
                }
            }
            Command::RenewNow { id } => {
                let now = self.world.runtime.now();
                if let Some(election) = self.elections.get_mut(&id) {
                    election.renew_now(now);
                    self.step(id, Input::Wake);
                }
            }
            Command::Stop { id, done } => {
                if let Some(election) = self.elections.get_mut(&id) {
                    if let Some(done) = done {
                        self.world.withdrawals.entry(id).or_default().push(done);
                    }
                    election.stopping();
                    self.step(id, Input::Resign { again_after: None });
                } else if let Some(done) = done {
                    // It has stopped already.
                    let _ = done.send(());
                }
            }
            // Whether it campaigns now follows from the offers.
            Command::WorkOffered { id } => self.step(id, Input::Wake),
            Command::WorkLost { id, token, how } => {
                let now = self.world.runtime.now();
                let election = self.elections.get_mut(&id);
                if election.is_some_and(|election| election.lost_work(now, token, how)) {
                    self.step(id, Input::Resign { again_after: None });
                }
            }
            Command::WatchWork { id, token, work } => {
                let now = self.world.runtime.now();
                if let Some(election) = self.elections.get_mut(&id) {
                    election.watch_work(now, token, work);
                    self.step(id, Input::Wake);
                }
            }
            Command::Describe { id } => {
                if let Some(election) = self.elections.get_mut(&id) {
                    election.profile_was_replaced();
                    self.step(id, Input::Wake);
                }
            }
            Command::Ask(ask) => self.world.admission.ask(ask),
            Command::Watch { key, observer, hinted, place } => {
                self.hints.watch(&key, observer, hinted);
                drop(place);
            }
            Command::Unwatch { key, observer } => self.hints.unwatch(&key, observer),
            Command::Inbox(inbox) => self.world.open(*inbox),
        }
    }
}
