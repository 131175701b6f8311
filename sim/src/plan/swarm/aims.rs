//! Faults that bring a run to where some property compares anything, and where chance alone hardly ever does.

use super::Scope;
use super::faults::Frame;
use crate::plan::draw::Draw;
use crate::plan::{Asking, Fault, FaultKind, Point, Settings, Trigger, What, When};

/// What a run is brought to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aim {
    /// A candidate begins to lead while paused work of an older tenure, which was asked to end, has not ended: what
    /// `drained-before-the-next` compares.
    LedBesideOldWork,
    /// The calm begins with a lease that nobody keeps: what `takeover-within` compares.
    LeaseLeftToTheCalm,
}

impl Aim {
    /// One run in ten has one, if its kinds are allowed.
    pub(super) fn of(seed: u64, allowed: &[FaultKind]) -> Option<Self> {
        let mut draw = Draw::new(seed, "aim", 0);
        let aim = draw.pick(&[Self::LedBesideOldWork, Self::LeaseLeftToTheCalm]);
        let is_allowed = aim.kinds().iter().all(|kind| allowed.contains(kind));
        (draw.chance(1, 10) && is_allowed).then_some(aim)
    }

    const fn kinds(self) -> &'static [FaultKind] {
        match self {
            Self::LedBesideOldWork => &[FaultKind::Resign, FaultKind::PauseAtSend],
            Self::LeaseLeftToTheCalm => &[FaultKind::Crash],
        }
    }

    /// With time enough for it.
    pub(super) const fn fitted(self, settings: Settings) -> Settings {
        match self {
            Self::LedBesideOldWork => Settings { drain_bound_ms: 2 * settings.ttl_ms, ..settings },
            // All that wait are told in the calm how long the lease lasts.
            Self::LeaseLeftToTheCalm => {
                Settings { poll_bound_ms: settings.ttl_ms / 10, ..settings }
            }
        }
    }

    pub(super) fn faults(self, frame: &Frame) -> Vec<Fault> {
        let (ttl_ms, mut draw) = (frame.settings.ttl_ms, Draw::new(frame.seed, "aim", 1));
        match self {
            Self::LedBesideOldWork => {
                let at_ms = draw.within(2 * ttl_ms..=frame.until_ms - 3 * ttl_ms);
                let resign = What::Resign { node: None };
                // While its work drains, a resigned candidate keeps its lease alive.
                let renews = match frame.scope {
                    Scope::Model => Some(Asking::Renew),
                    Scope::Turmoil => None,
                };
                let (point, nth, after_ms) = (Point::Send, 1, at_ms + 1);
                let when = When::On(Trigger { point, node: None, of: renews, nth, after_ms });
                let pause = What::Pause { node: None };
                vec![
                    Fault { when: When::AtMs(at_ms), for_ms: 0, what: resign },
                    Fault { when, for_ms: 2 * ttl_ms, what: pause },
                ]
            }
            Self::LeaseLeftToTheCalm => {
                let at_ms = frame.until_ms - draw.within(1..=ttl_ms / 2);
                let what = What::Crash { node: None, power: draw.chance(1, 2) };
                vec![Fault { when: When::AtMs(at_ms), for_ms: 2 * ttl_ms, what }]
            }
        }
    }
}
