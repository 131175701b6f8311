//! Faults that create the situation that a property compares, where random faults alone hardly ever
//! do.

use super::Scope;
use super::faults::Frame;
use crate::plan::draw::Draw;
use crate::plan::{
    Fault, FaultKind, LinkFault, Manner, Point, ProcessFault, Program, RequestKind, Settings,
    StoreFault, Trigger, What, When,
};

/// The situation that a run is to reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aim {
    /// A candidate begins to lead while paused work of an older tenure, which was asked to end, has
    /// not ended. `drained-before-the-next` compares this.
    OverlappingWork,
    /// The recovery phase begins with a lease that no candidate renews. `takeover-within` compares
    /// this.
    AbandonedLease,
    /// A process leaves several elections while its driver does not run, in the turmoil engine:
    /// several stops, and deadlines of all elections, are then due at once.
    StarvedLeave,
    /// A leader hands over, resigns and leaves at once, in the turmoil engine, and its driver does
    /// not run until all answers are there. What follows from each, a renewal and the end of the
    /// election, then reaches the driver in one turn.
    OneTurn,
    /// A candidate that does not know of its grant asks again, in the model engine; that request is
    /// carried out after another has taken the lease over, by a store that has lost this. It finds
    /// the own lease again, under a past that nobody has watched.
    RepeatedGrant,
}

/// The delay from the requests to the stop of [`Aim::OneTurn`]'s driver, in milliseconds: less than
/// most round trips take.
const STOPS_AFTER_MS: u64 = 2;
/// For how long: more than any round trip takes.
const STOPS_FOR_MS: u64 = 30;

impl Aim {
    /// One run in ten has one of the first two, if its kinds are allowed; one of twenty others has
    /// each of those that its engine has besides.
    pub(super) fn of(seed: u64, allowed: &[FaultKind], scope: Scope) -> Option<Self> {
        let is_allowed = |aim: &Self| aim.kinds().iter().all(|kind| allowed.contains(kind));
        let mut draw = Draw::new(seed, "aim", 0);
        let aim = draw.pick(&[Self::OverlappingWork, Self::AbandonedLease]);
        let aim = draw.chance(1, 10).then_some(aim).filter(is_allowed);
        let only_in = |engine, stream, aim: Self| {
            let is_aim = scope == engine && Draw::new(seed, stream, 0).chance(1, 20);
            is_aim.then_some(aim).filter(is_allowed)
        };
        aim.or_else(|| only_in(Scope::Turmoil, "aim while starved", Self::StarvedLeave))
            .or_else(|| only_in(Scope::Turmoil, "aim at one turn", Self::OneTurn))
            .or_else(|| only_in(Scope::Model, "aim at a repeated grant", Self::RepeatedGrant))
    }

    const fn kinds(self) -> &'static [FaultKind] {
        match self {
            Self::OverlappingWork => &[FaultKind::Resign, FaultKind::PauseAtSend],
            Self::AbandonedLease => &[FaultKind::Crash],
            Self::StarvedLeave => &[FaultKind::Starve, FaultKind::Leave],
            Self::OneTurn => {
                &[FaultKind::HandOver, FaultKind::Resign, FaultKind::Leave, FaultKind::Starve]
            }
            Self::RepeatedGrant => &[FaultKind::Resign, FaultKind::Hold, FaultKind::StoreRollback],
        }
    }

    /// The settings with enough time for the situation.
    pub(super) const fn fitted(self, settings: Settings) -> Settings {
        match self {
            Self::OverlappingWork => Settings { drain_bound_ms: 2 * settings.ttl_ms, ..settings },
            // In the recovery phase every waiting candidate learns how long the lease lasts.
            Self::AbandonedLease => Settings { poll_bound_ms: settings.ttl_ms / 10, ..settings },
            Self::StarvedLeave | Self::OneTurn | Self::RepeatedGrant => settings,
        }
    }

    /// With several elections where it needs them, whose work ends with the process's shutdown; or
    /// with work that ends at once, so that the lease is handed back at once.
    pub(super) fn fitted_program(self, program: Program) -> Program {
        match self {
            Self::OverlappingWork | Self::AbandonedLease | Self::RepeatedGrant => program,
            Self::StarvedLeave => {
                Program { elections: program.elections.max(3), manner: Manner::Until, ..program }
            }
            Self::OneTurn => Program { manner: Manner::CancellationToken, ..program },
        }
    }

    pub(super) fn faults(self, frame: &Frame) -> Vec<Fault> {
        let (ttl_ms, mut draw) = (frame.settings.ttl_ms, Draw::new(frame.seed, "aim", 1));
        match self {
            Self::OverlappingWork => {
                let at_ms = draw.within(2 * ttl_ms..=frame.until_ms - 3 * ttl_ms);
                let resign = ProcessFault::Resign.at(None);
                // While its work drains, a candidate that resigned keeps its lease alive.
                let renews = match frame.scope {
                    Scope::Model | Scope::Real(_) => Some(RequestKind::Renew),
                    Scope::Turmoil => None,
                };
                let (point, nth, after_ms) = (Point::Send, 1, at_ms + 1);
                let when = When::On(Trigger { point, node: None, of: renews, nth, after_ms });
                let pause = ProcessFault::Pause.at(None);
                vec![
                    Fault { when: When::AtMs(at_ms), for_ms: 0, what: resign },
                    Fault { when, for_ms: 2 * ttl_ms, what: pause },
                ]
            }
            Self::AbandonedLease => {
                let at_ms = frame.until_ms - draw.within(1..=ttl_ms / 2);
                let what = ProcessFault::Crash { power: draw.chance(1, 2) }.at(None);
                vec![Fault { when: When::AtMs(at_ms), for_ms: 2 * ttl_ms, what }]
            }
            Self::StarvedLeave => {
                let at_ms = draw.within(2 * ttl_ms..=frame.until_ms - 4 * ttl_ms);
                let node = usize::try_from(draw.within(0..=frame.nodes as u64 - 1)).ok();
                let at = |at_ms, what| Fault { when: When::AtMs(at_ms), for_ms: 3 * ttl_ms, what };
                vec![
                    at(at_ms, ProcessFault::Starve.at(node)),
                    at(at_ms + ttl_ms / 4, ProcessFault::Leave.at(node)),
                ]
            }
            Self::OneTurn => {
                let at_ms = draw.within(2 * ttl_ms..=frame.until_ms - 4 * ttl_ms);
                let nobody = ProcessFault::HandOver { to: frame.nodes };
                let asked = [(nobody, 0), (ProcessFault::Resign, 0), (ProcessFault::Leave, ttl_ms)];
                let asked = asked.map(|(fault, for_ms)| Fault {
                    when: When::AtMs(at_ms),
                    for_ms,
                    what: fault.at(None),
                });
                // The leader is among them; it leads no more by then.
                let starved = (0..frame.nodes).map(|node| Fault {
                    when: When::AtMs(at_ms + STOPS_AFTER_MS),
                    for_ms: STOPS_FOR_MS,
                    what: ProcessFault::Starve.at(Some(node)),
                });
                asked.into_iter().chain(starved).collect()
            }
            Self::RepeatedGrant => {
                let at_ms = draw.within(2 * ttl_ms..=frame.until_ms - 4 * ttl_ms);
                let on = |point, after_ms| {
                    When::On(Trigger { point, node: None, of: None, nth: 1, after_ms })
                };
                // About as long as another watches the lease.
                let held_ms = ttl_ms + draw.within(0..=ttl_ms / 8);
                let loses = StoreFault::StoreRollback { back_ms: (ttl_ms / 50).max(1) };
                let fault = |when, for_ms, what| Fault { when, for_ms, what };
                vec![
                    fault(When::AtMs(at_ms), 0, ProcessFault::Resign.at(None)),
                    fault(on(Point::Grant, at_ms), held_ms, LinkFault::Hold.at(None)),
                    fault(on(Point::Leads, at_ms + ttl_ms / 2), 1, What::Store(loses)),
                ]
            }
        }
    }
}
