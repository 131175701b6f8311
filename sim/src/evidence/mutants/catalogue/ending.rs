//! Mutants of the end of a tenure: draining work, leases that are handed back, candidates that stay
//! out.

use super::super::{Edit, Mutant, Shows};

const ENDING: &str = "core/src/candidate/ending.rs";
const MACHINE: &str = "core/src/candidate/mod.rs";
const PHASE: &str = "core/src/candidate/phase.rs";
const TENURE: &str = "core/src/candidate/tenure.rs";

pub(super) static MUTANTS: &[Mutant] = &[
    Mutant {
        name: "step-down-told-twice",
        about: "the end of a tenure is reported twice",
        edits: &[Edit {
            file: TENURE,
            from: "self.emit(Event::SteppedDown { token: lease.tenure.token, reason, drain_until });",
            to: "for _ in 0..2 {
            self.emit(Event::SteppedDown { token: lease.tenure.token, reason, drain_until });
        }",
        }],
        shows: Shows::Both("partition,pause"),
        caught_by: &["one-step-down-per-election"],
    },
    Mutant {
        name: "wish-not-answered",
        about: "the candidate that is wished for does not ask for the lead",
        edits: &[Edit {
            file: "core/src/candidate/campaign.rs",
            from: "(wished && could).then_some(",
            to: "(wished && could && record.released).then_some(",
        }],
        shows: Shows::Both("hand-over"),
        caught_by: &["handed-over-to-the-one-that-was-meant"],
    },
    Mutant {
        name: "ask-not-heard",
        about: "a leader leads on although the candidate that is wished for asks for the lead",
        edits: &[Edit {
            file: TENURE,
            from: "if asked.name != self.name => {",
            to: "if asked.name != self.name && lease.valid_until < self.now => {",
        }],
        shows: Shows::Both("hand-over"),
        caught_by: &["handed-over-to-the-one-that-was-meant"],
    },
    Mutant {
        name: "resign-releases-at-once",
        about: "a resigning leader hands the lease back while work still drains",
        edits: &[Edit {
            file: ENDING,
            from: "self.step_down_on_request(lease, StepDownReason::Resigned, None, then);",
            to: "self.step_down_on_request(lease, StepDownReason::Resigned, None, then);
                self.release(lease.tenure, None, then);",
        }],
        shows: Shows::Model,
        caught_by: &["no-release-under-work", "unfenced-in-order"],
    },
    Mutant {
        name: "campaigns-before-drained",
        about: "a leader whose claim has ended campaigns while its work still drains",
        edits: &[Edit {
            file: TENURE,
            from: "let hold = Hold::Left(lease.tenure);\n        self.phase = Phase::Draining(Draining { hold, kept_for: None, then: Plan::Campaign });",
            to: "self.campaign();",
        }],
        shows: Shows::Model,
        caught_by: &["no-release-under-work", "leases-handed-back"],
    },
    Mutant {
        name: "no-release-after-step-down",
        about: "after a step-down the lease is not handed back once the work has ended",
        edits: &[Edit {
            file: ENDING,
            from: "Hold::Left(tenure) => self.release(tenure, kept_for, then),",
            to: "Hold::Left(_) => self.over(then),",
        }],
        shows: Shows::Model,
        caught_by: &["leases-handed-back"],
    },
    Mutant {
        name: "no-release-after-resign",
        about: "a resigned leader lets the lease end by itself",
        edits: &[Edit {
            file: ENDING,
            from: "Hold::Kept { lease, .. } => self.release(lease.tenure, kept_for, then),",
            to: "Hold::Kept { .. } => self.over(then),",
        }],
        shows: Shows::Model,
        caught_by: &["leases-handed-back"],
    },
    Mutant {
        name: "drains-beyond-lease",
        about: "draining work may continue beyond the end of the lease that covers it",
        edits: &[Edit {
            file: TENURE,
            from: "bound.min(lease.valid_until + self.config.stop_margin())",
            to: "bound.max(lease.valid_until + self.config.stop_margin())",
        }],
        shows: Shows::Model,
        caught_by: &["drained-before-the-next"],
    },
    Mutant {
        name: "superseded-work-drains-on",
        about: "work continues to drain after the store answered that the lease is over",
        edits: &[Edit {
            file: TENURE,
            from: "reason: StepDownReason::Superseded,\n                    drain_until: self.now,",
            to: "reason: StepDownReason::Superseded,\n                    drain_until: lease.valid_until + self.config.stop_margin(),",
        }],
        shows: Shows::Model,
        caught_by: &["drains-within-bounds"],
    },
    Mutant {
        name: "drain-bound-doubled",
        about: "a resigned leader's work is given twice the drain bound",
        edits: &[Edit {
            file: TENURE,
            from: "let bound = self.now + self.config.drain_bound();",
            to: "let bound = self.now + self.config.drain_bound() * 2;",
        }],
        shows: Shows::Model,
        caught_by: &["drains-within-bounds", "resigned-within"],
    },
    Mutant {
        name: "expiry-told-as-superseded",
        about: "the end of a claim by time is reported as a store's refusal",
        edits: &[Edit {
            file: TENURE,
            from: "self.step_down(lease, StepDownReason::Expired);",
            to: "self.step_down(lease, StepDownReason::Superseded);",
        }],
        shows: Shows::Model,
        caught_by: &["drains-within-bounds"],
    },
    Mutant {
        name: "release-without-bound",
        about: "the release of a lease is retried without end",
        edits: &[Edit {
            file: ENDING,
            from: "let until = self.now + self.config.release_bound();",
            to: "let until = Instant::FAR_FUTURE;",
        }],
        shows: Shows::Model,
        caught_by: &["resigned-within"],
    },
    Mutant {
        name: "withdrawal-without-bound",
        about: "a campaign that is given up waits for its last reply without end",
        edits: &[
            Edit {
                file: MACHINE,
                from: "Phase::Withdrawing { holder, flight, then } if self.now >= flight.give_up_at => {",
                to: "Phase::Withdrawing { holder, flight, then } if self.now >= flight.give_up_at + self.config.ttl() * 100 => {",
            },
            Edit {
                file: PHASE,
                from: "Self::Withdrawing { flight, .. } => Some(flight.give_up_at),",
                to: "Self::Withdrawing { .. } => None,",
            },
        ],
        shows: Shows::Model,
        caught_by: &["resigned-within"],
    },
    Mutant {
        name: "hold-off-ignored",
        about: "a resigned leader campaigns again at once, without its hold-off",
        edits: &[Edit {
            file: ENDING,
            from: "Plan::HoldOff(pause) if !pause.is_zero() => {",
            to: "Plan::HoldOff(pause) if pause == core::time::Duration::MAX => {",
        }],
        shows: Shows::Model,
        caught_by: &["stays-out"],
    },
    Mutant {
        name: "stopped-campaigns-on",
        about: "a candidate that was stopped campaigns again",
        edits: &[Edit {
            file: ENDING,
            from: "Plan::Idle => self.phase = Phase::Idle,",
            to: "Plan::Idle => self.campaign(),",
        }],
        shows: Shows::Model,
        caught_by: &["stays-out"],
    },
    Mutant {
        name: "drain-not-cut-short",
        about: "draining work does not learn that its tenure was superseded",
        edits: &[Edit {
            file: TENURE,
            from: "self.emit(Event::DrainUntil { token: lease.tenure.token, until: self.now });",
            to: "let _ = lease;",
        }],
        shows: Shows::Model,
        caught_by: &["drains-within-bounds"],
    },
    Mutant {
        name: "drain-not-lengthened",
        about: "a renewal gives draining work no more time",
        edits: &[Edit {
            file: TENURE,
            from: "if until > self.kept_until(before, bound) {",
            to: "if until > self.kept_until(before, bound) && until < self.now {",
        }],
        shows: Shows::Model,
        caught_by: &["drain-lengthened-by-a-renewal"],
    },
];
