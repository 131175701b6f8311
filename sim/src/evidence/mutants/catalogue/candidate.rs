//! Mutants of the state machine.

use super::super::{Edit, Mutant, Shows};

const CAMPAIGN: &str = "core/src/candidate/campaign.rs";
const MACHINE: &str = "core/src/candidate/mod.rs";
const ADMISSION: &str = "core/src/candidate/admission.rs";
const PHASE: &str = "core/src/candidate/phase.rs";
const TENURE: &str = "core/src/candidate/tenure.rs";
const WATCH: &str = "core/src/candidate/watch.rs";
const DEADLINE: &str = "tenure/src/deadline.rs";

pub(super) static MUTANTS: &[Mutant] = &[
    Mutant {
        name: "deadline-counted-from-reply",
        about: "a claim's end is counted from the reply, not from the sending",
        edits: &[
            Edit {
                file: CAMPAIGN,
                from: "let valid_until = self.config.valid_until(flight.sent_at);",
                to: "let valid_until = self.config.valid_until(self.now);",
            },
            Edit {
                file: TENURE,
                from: "lease.valid_until.max(self.config.valid_until(flight.sent_at));",
                to: "lease.valid_until.max(self.config.valid_until(self.now));",
            },
        ],
        shows: Shows::Both("latency,hold,pause"),
        caught_by: &["margin-kept"],
    },
    Mutant {
        name: "late-renewal-counts",
        about: "a renewal that arrives after the end of the claim revives it",
        edits: &[
            Edit {
                file: MACHINE,
                from: "        self.expire();\n        match input {",
                to: "        match input {",
            },
            Edit {
                file: MACHINE,
                from: "        self.advance();\n    }\n\n    /// The next output",
                to: "        self.expire();\n        self.advance();\n    }\n\n    /// The next output",
            },
            // Without this, the first reader after the end of the claim would have closed it for
            // good.
            Edit {
                file: DEADLINE,
                from: "(now != CLOSED).then_some(until.as_nanos())",
                to: "(now <= u64::MAX).then_some(until.as_nanos())",
            },
        ],
        shows: Shows::Both("pause-after-send"),
        caught_by: &["no-resurrection"],
    },
    Mutant {
        name: "quarantine-ignored",
        about: "a candidate says at once that it has watched the past for long enough",
        edits: &[
            Edit {
                file: WATCH,
                from: "waits.then(|| self.since + config.quarantine().max(self.longest.get()))",
                to: "waits.then(|| self.since + self.longest.get().min(config.quarantine()) / 1_000)",
            },
            Edit {
                file: WATCH,
                from: "time: now.since(self.since) })",
                to: "time: now.since(self.since) + Duration::from_secs(1 << 30) })",
            },
        ],
        shows: Shows::Both("store-loss,partition,pause"),
        caught_by: &["single-leader", "store-loss-quarantine"],
    },
    Mutant {
        name: "waits-beyond-lease",
        about: "a waiting candidate sleeps on after it has watched a lease for long enough",
        edits: &[Edit {
            file: CAMPAIGN,
            from: "self.ask_again(campaign, look.min(ready + jitter));",
            to: "self.ask_again(campaign, look.max(ready + jitter + self.config.ttl() * 100));",
        }],
        shows: Shows::Both("crash,partition"),
        caught_by: &["leader-within"],
    },
    Mutant {
        name: "never-looks",
        about: "a waiting candidate does not look whether the leader has renewed",
        edits: &[Edit {
            file: CAMPAIGN,
            from: "self.ask_again(campaign, look.min(ready + jitter));",
            to: "self.ask_again(campaign, look.max(ready + jitter));",
        }],
        shows: Shows::Model,
        caught_by: &["asks-in-time"],
    },
    Mutant {
        name: "claim-holds-at-its-end",
        about: "a claim still holds at the moment of its end",
        edits: &[Edit {
            file: MACHINE,
            from: "self.now.max(now) < lease.valid_until",
            to: "self.now.max(now) <= lease.valid_until",
        }],
        shows: Shows::Model,
        caught_by: &["fail-closed"],
    },
    Mutant {
        name: "past-watched-from-request",
        about: "a watch of the past begins with the request, not with the answer",
        edits: &[Edit {
            file: CAMPAIGN,
            from: "let waits_anew = self.take_in(Answer::of(&sight, !looked));",
            to: "let sent = match campaign.attempt {\n            Attempt::InFlight(flight) => flight.sent_at,\n            Attempt::Due { .. } | Attempt::Pending { .. } => self.now,\n        };\n        let now = core::mem::replace(&mut self.now, sent);\n        let waits_anew = self.take_in(Answer::of(&sight, !looked));\n        self.now = now;",
        }],
        shows: Shows::Model,
        caught_by: &["store-loss-quarantine"],
    },
    Mutant {
        name: "lease-watched-from-request",
        about: "a watch of a lease begins with the request, not with the answer",
        edits: &[Edit {
            file: CAMPAIGN,
            from: "campaign.known = self.sees(&campaign, &sight);",
            to: "let sent = match campaign.attempt {\n            Attempt::InFlight(flight) => flight.sent_at,\n            Attempt::Due { .. } | Attempt::Pending { .. } => self.now,\n        };\n        let now = core::mem::replace(&mut self.now, sent);\n        campaign.known = self.sees(&campaign, &sight);\n        self.now = now;",
        }],
        shows: Shows::Model,
        caught_by: &["single-leader", "drained-before-the-next"],
    },
    Mutant {
        name: "renewed-lease-watched-on",
        about: "a watch of a lease is not begun anew when the lease was renewed",
        edits: &[Edit {
            file: WATCH,
            from: "match before.filter(|before| self.shows_what(Some(*before))) {",
            to: "match before.filter(|before| before.released == self.released) {",
        }],
        shows: Shows::Both("crash,partition"),
        caught_by: &["single-leader", "drained-before-the-next"],
    },
    Mutant {
        name: "lease-watched-for-half",
        about: "a candidate takes a lease that it has watched for half of its TTL",
        edits: &[Edit {
            file: WATCH,
            from: "self.since + self.demand.get()",
            to: "self.since + self.demand.get() / 2",
        }],
        shows: Shows::Model,
        caught_by: &["single-leader", "drained-before-the-next"],
    },
    Mutant {
        name: "watched-stamp-exaggerated",
        about: "a candidate says that it has watched the past twice as long as it has",
        edits: &[Edit {
            file: WATCH,
            from: "time: now.since(self.since) })",
            to: "time: now.since(self.since) * 2 })",
        }],
        shows: Shows::Model,
        caught_by: &["store-loss-quarantine"],
    },
    Mutant {
        name: "watched-on-after-a-loss",
        about: "a watch of the past is not begun anew when the store tells another stamp",
        edits: &[Edit {
            file: WATCH,
            from: "(self.stamp, self.since) = (Some(stamp), now);",
            to: "self.stamp = Some(stamp);\n            self.since = if self.since == Instant::ORIGIN { now } else { self.since };",
        }],
        shows: Shows::Model,
        caught_by: &["store-loss-quarantine", "single-leader"],
    },
    Mutant {
        name: "past-watched-over-a-suspend",
        about: "a watch of the past goes on over a suspend, which the machine's clock may miscount",
        edits: &[Edit { file: MACHINE, from: "self.past.begin_anew(self.now);", to: "" }],
        shows: Shows::Model,
        caught_by: &["store-loss-quarantine"],
    },
    Mutant {
        name: "lease-watched-over-a-suspend",
        about: "a watch of a lease goes on over a suspend",
        edits: &[Edit { file: MACHINE, from: "watch.begin_anew(self.now);", to: "let _ = watch;" }],
        shows: Shows::Model,
        caught_by: &["single-leader"],
    },
    Mutant {
        name: "hints-ignored",
        about: "a waiting candidate does not react to hints",
        edits: &[Edit {
            file: CAMPAIGN,
            from: "self.phase = Phase::Campaigning(self.hinted(campaign));",
            to: "self.phase = Phase::Campaigning(campaign);",
        }],
        shows: Shows::Model,
        caught_by: &["handover-within"],
    },
    Mutant {
        name: "superseded-ignored",
        about: "a leader keeps leading after the store answered that the lease is over",
        edits: &[Edit {
            file: TENURE,
            from: "self.superseded(lease);",
            to: "self.keep(Lease { attempt: Attempt::due(self.now + self.config.renew_interval()), ..lease });",
        }],
        shows: Shows::Model,
        caught_by: &["renews-in-time", "drains-within-bounds"],
    },
    Mutant {
        name: "renewed-once",
        about: "only the first renewal is sent in time",
        edits: &[Edit {
            file: TENURE,
            from: "let usual = flight.sent_at + self.config.renew_interval();",
            to: "let usual = flight.sent_at + self.config.ttl();",
        }],
        shows: Shows::Model,
        caught_by: &["no-churn-when-healthy"],
    },
    Mutant {
        name: "any-reply-answers",
        about: "a late reply to an earlier request is used for the present one",
        edits: &[Edit {
            file: PHASE,
            from: "Self::InFlight(flight) if flight.id == id => Some(*flight),",
            to: "Self::InFlight(flight) if flight.id >= id => Some(*flight),",
        }],
        shows: Shows::Model,
        caught_by: &["margin-kept"],
    },
    Mutant {
        name: "late-grant-used",
        about: "a grant that arrives after its claim's end makes a leader",
        edits: &[Edit {
            file: CAMPAIGN,
            from: "if !is_new || self.now >= valid_until {",
            to: "if !is_new {",
        }],
        shows: Shows::Model,
        caught_by: &["no-resurrection"],
    },
    Mutant {
        name: "requests-never-given-up",
        about: "a candidate waits for a reply without end",
        edits: &[Edit {
            file: ADMISSION,
            from: "(self.now + self.config.request_timeout()).min(until);",
            to: "(self.now + self.config.request_timeout()).max(until);",
        }],
        shows: Shows::Model,
        caught_by: &["leader-within"],
    },
    Mutant {
        name: "answers-teach-no-token",
        about: "a candidate does not learn the tokens that a store tells",
        edits: &[Edit {
            file: MACHINE,
            from: "self.seen = self.seen.max(answer.last);",
            to: "self.seen = self.seen.max(None);",
        }],
        shows: Shows::Model,
        caught_by: &["no-resurrection"],
    },
    Mutant {
        name: "backoff-without-bound",
        about: "the delay before another attempt has no upper bound",
        edits: &[Edit {
            file: MACHINE,
            from: ".saturating_mul(doubled).min(self.config.retry_most());",
            to: ".saturating_mul(doubled).max(self.config.ttl() * 10);",
        }],
        shows: Shows::Model,
        caught_by: &["leader-within"],
    },
    Mutant {
        name: "withdrawn-grant-kept",
        about: "a grant that arrives while a campaign is given up is kept, without a leader",
        edits: &[Edit {
            file: CAMPAIGN,
            from: "self.release(Tenure { holder, token }, None, then);",
            to: "let _ = holder;
                self.withdrawn(then);",
        }],
        shows: Shows::Model,
        caught_by: &["leases-handed-back"],
    },
    Mutant {
        name: "withdrawn-grant-used",
        about: "a grant that arrives while a campaign is given up makes the resigned candidate lead",
        edits: &[Edit {
            file: CAMPAIGN,
            from: "self.take_in(Answer::granted(token));\n                self.release(Tenure { holder, token }, None, then);",
            to: "self.granted(Tenure { holder, token }, false, flight);",
        }],
        shows: Shows::Model,
        caught_by: &["leases-handed-back"],
    },
    Mutant {
        name: "stray-grant-kept",
        about: "a grant of an abandoned campaign is not handed back",
        edits: &[Edit {
            file: CAMPAIGN,
            from: "self.unwanted = Some(Unwanted { tenure, kept_for: None, is_kept: true });",
            to: "let _ = tenure;",
        }],
        shows: Shows::Model,
        caught_by: &["leases-handed-back"],
    },
    Mutant {
        name: "failed-renewal-not-retried",
        about: "a renewal with unknown outcome is not retried in time",
        edits: &[Edit {
            file: TENURE,
            from: "let lease = Lease { attempt, ..lease };",
            to: "let _ = attempt;
        let lease = Lease { attempt: Attempt::due(lease.valid_until), ..lease };",
        }],
        shows: Shows::Model,
        caught_by: &["renews-in-time"],
    },
];
