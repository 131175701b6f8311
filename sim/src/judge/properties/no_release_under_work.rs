//! **Theorem (sections 5 and 6).** The lease of a tenure is not handed back while work of that
//! tenure is running, and such work does not begin afterwards; and no candidate campaigns while its
//! own work is running. The same holds for a callback about the end of the tenure instead of work.
//!
//! Judged where the candidate sends the release, because only its holder can send it: two servers
//! that both act as primary may grant one token in the same microsecond, so a release at the store
//! does not say to whose work it belongs.
//!
//! Rests on a process that lives once: a process that was put back does not know the work that
//! began since. Work that outlives its bound keeps its lease from being handed back, and the lease
//! ends by itself. Work of a crashed process has ended with it.

use super::{About, Found, Property, PropertyName, State, Tally};
use crate::judge::finding::Finding;
use crate::judge::recent::Recent;
use crate::plan::{Assumption, SimTime};
use crate::trace::{Asked, Event, Who};

/// Work ends before the release.
#[derive(Debug, Default)]
pub(super) struct NoReleaseUnderWork {
    callbacks: Vec<(Who, u64)>,
    /// The token that each candidate handed back last.
    handed_back: Recent<Who, u64>,
    /// The token of the last tenure that each candidate has worked under.
    worked: Recent<Who, u64>,
}

impl NoReleaseUnderWork {
    fn under_way<'a>(&'a self, state: &'a State) -> impl Iterator<Item = &'a (Who, u64)> {
        state.work().iter().chain(&self.callbacks)
    }
}

impl Property for NoReleaseUnderWork {
    fn about(&self) -> About {
        About::of(PropertyName::NO_RELEASE_UNDER_WORK).resting_on(&[Assumption::OneMemory])
    }

    fn observe(&mut self, _: SimTime, event: &Event, state: &State, tally: &mut Tally) -> Found {
        match *event {
            Event::WorkBegan { who, token } => {
                if self.handed_back.get(who) == Some(&token) {
                    return Err(Finding::WorksAfterRelease { who, token });
                }
                self.worked.insert(who, token);
            }
            Event::CallbackBegan { who, token } => self.callbacks.push((who, token)),
            Event::CallbackEnded { who, token } => {
                if let Some(index) = self.callbacks.iter().position(|work| *work == (who, token)) {
                    self.callbacks.swap_remove(index);
                }
            }
            Event::Crashed { who } => self.callbacks.retain(|(worker, _)| *worker != who),
            Event::Sent { who, request: Asked::Release { token }, .. } => {
                tally.count(self.worked.get(who) == Some(&token));
                if self.under_way(state).any(|work| *work == (who, token)) {
                    return Err(Finding::ReleaseUnderWork { who, token });
                }
                self.handed_back.insert(who, token);
            }
            Event::Sent { who, request: Asked::Acquire { .. }, .. } => {
                if let Some(&(_, token)) = self.under_way(state).find(|(worker, _)| *worker == who)
                {
                    return Err(Finding::CampaignUnderWork { who, token });
                }
            }
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::history::{asks, at, crashed, fails, holds, n, sent, work_began, work_ended};
    use super::*;

    fn hands_back(who: Who, token: u64) -> Event {
        sent(who, 1, Asked::Release { token })
    }

    #[test]
    fn a_release_after_the_work_has_ended() {
        holds(
            NoReleaseUnderWork::default(),
            &[at(1, work_began(n(0), 7)), at(2, work_ended(n(0), 7)), at(2, hands_back(n(0), 7))],
        );
    }

    #[test]
    fn a_release_under_work() {
        let history = [at(1, work_began(n(0), 7)), at(2, hands_back(n(0), 7))];
        let what = fails(NoReleaseUnderWork::default(), &history);
        assert_eq!(what.to_string(), "n0 hands token 7 back while it works under it");
    }

    #[test]
    fn a_campaign_under_work() {
        let campaigns = |who| sent(who, 1, asks(7));
        let history = [at(1, work_began(n(0), 7)), at(2, campaigns(n(0)))];
        let what = fails(NoReleaseUnderWork::default(), &history);
        assert_eq!(what.to_string(), "n0 campaigns while it works under token 7");
        let over = [work_ended(n(0), 7), crashed(n(0))];
        for over in over {
            let history = [at(1, work_began(n(0), 7)), at(2, over), at(2, campaigns(n(0)))];
            holds(NoReleaseUnderWork::default(), &history);
        }
        let history = [at(1, work_began(n(0), 7)), at(2, campaigns(n(1)))];
        holds(NoReleaseUnderWork::default(), &history);
    }

    #[test]
    fn a_release_before_the_last_work_has_ended() {
        fails(
            NoReleaseUnderWork::default(),
            &[
                at(1, work_began(n(0), 7)),
                at(1, work_began(n(0), 7)),
                at(2, work_ended(n(0), 7)),
                at(3, hands_back(n(0), 7)),
            ],
        );
    }

    #[test]
    fn work_of_another_tenure_does_not_matter() {
        holds(
            NoReleaseUnderWork::default(),
            &[at(1, work_began(n(1), 8)), at(2, hands_back(n(0), 7))],
        );
        fails(
            NoReleaseUnderWork::default(),
            &[
                at(1, work_began(n(0), 7)),
                at(2, work_ended(n(0), 6)),
                at(2, work_ended(n(1), 7)),
                at(3, hands_back(n(0), 7)),
            ],
        );
    }

    #[test]
    fn a_crash_ends_the_work_of_that_life() {
        holds(
            NoReleaseUnderWork::default(),
            &[at(1, work_began(n(0), 7)), at(2, crashed(n(0))), at(3, hands_back(n(0), 7))],
        );
        fails(
            NoReleaseUnderWork::default(),
            &[at(1, work_began(n(0), 7)), at(2, crashed(n(1))), at(3, hands_back(n(0), 7))],
        );
    }

    #[test]
    fn work_that_begins_after_the_release() {
        let history = [at(1, hands_back(n(0), 7)), at(2, work_began(n(0), 7))];
        let what = fails(NoReleaseUnderWork::default(), &history);
        assert_eq!(what.to_string(), "n0 works under token 7 after it has handed it back");
        holds(
            NoReleaseUnderWork::default(),
            &[at(1, hands_back(n(0), 7)), at(2, work_began(n(0), 8))],
        );
    }

    #[test]
    fn another_candidates_release_of_the_same_token() {
        holds(
            NoReleaseUnderWork::default(),
            &[at(1, work_began(n(0), 7)), at(2, hands_back(n(1), 7))],
        );
    }
}
