//! **Theorem (section 6).** The lease of a tenure is not handed back while work of that tenure is under
//! way.
//!
//! Rests on a process that lives once: one that is put back knows nothing of the work that began since.
//! Work that outlives its bound keeps its lease from being handed back, and the lease ends by itself.
//! Work of a process that is gone has ended with it.

use super::Property;
use crate::clock::True;
use crate::plan::Assumption;
use crate::trace::{Answer, Asked, Event, Who};

/// Work first, then the release.
#[derive(Debug, Default)]
pub(super) struct NoReleaseUnderWork {
    under_way: Vec<(Who, u64)>,
}

impl Property for NoReleaseUnderWork {
    fn name(&self) -> &'static str {
        "no-release-under-work"
    }

    fn assumes(&self) -> &'static [Assumption] {
        &[Assumption::OneMemory]
    }

    fn observe(&mut self, _: True, event: &Event) -> Result<(), String> {
        match event {
            Event::WorkBegan { who, token } => self.under_way.push((*who, *token)),
            Event::WorkEnded { who, token } => {
                let ended = (*who, *token);
                if let Some(index) = self.under_way.iter().position(|work| *work == ended) {
                    self.under_way.swap_remove(index);
                }
            }
            Event::Crashed { who } => self.under_way.retain(|(worker, _)| worker != who),
            Event::Store(step) => {
                if let (Asked::Release { token }, Answer::Released) = (step.request, step.answer)
                    && let Some((who, _)) = self.under_way.iter().find(|work| work.1 == token)
                {
                    return Err(format!(
                        "token {token} is handed back while {who:?} works under it"
                    ));
                }
            }
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::history::{
        at, crashed, fails, holds, kept, n, refuse, release, work_began, work_ended,
    };
    use super::*;

    #[test]
    fn a_release_after_the_work_has_ended() {
        holds(
            NoReleaseUnderWork::default(),
            &[
                at(1, work_began(n(0), 7)),
                at(2, work_ended(n(0), 7)),
                at(2, release(kept(1, 7, 100))),
            ],
        );
    }

    #[test]
    fn a_release_under_work() {
        let history = [at(1, work_began(n(0), 7)), at(2, release(kept(1, 7, 100)))];
        let what = fails(NoReleaseUnderWork::default(), &history);
        assert_eq!(what, "token 7 is handed back while n0 works under it");
    }

    #[test]
    fn a_release_before_the_last_work_has_ended() {
        fails(
            NoReleaseUnderWork::default(),
            &[
                at(1, work_began(n(0), 7)),
                at(1, work_began(n(0), 7)),
                at(2, work_ended(n(0), 7)),
                at(3, release(kept(1, 7, 100))),
            ],
        );
    }

    #[test]
    fn work_of_another_tenure_does_not_matter() {
        holds(
            NoReleaseUnderWork::default(),
            &[at(1, work_began(n(1), 8)), at(2, release(kept(1, 7, 100)))],
        );
        fails(
            NoReleaseUnderWork::default(),
            &[
                at(1, work_began(n(0), 7)),
                at(2, work_ended(n(0), 6)),
                at(2, work_ended(n(1), 7)),
                at(3, release(kept(1, 7, 100))),
            ],
        );
    }

    #[test]
    fn a_crash_ends_the_work_of_that_life() {
        holds(
            NoReleaseUnderWork::default(),
            &[at(1, work_began(n(0), 7)), at(2, crashed(n(0))), at(3, release(kept(1, 7, 100)))],
        );
        fails(
            NoReleaseUnderWork::default(),
            &[at(1, work_began(n(0), 7)), at(2, crashed(n(1))), at(3, release(kept(1, 7, 100)))],
        );
    }

    #[test]
    fn a_release_that_is_refused() {
        let refused = refuse(1, Asked::Release { token: 7 }, Answer::NotHeld, None);
        holds(NoReleaseUnderWork::default(), &[at(1, work_began(n(0), 7)), at(2, refused)]);
    }
}
