//! The bugs. Each was made by somebody before, in some library or in a draft of this one.

/// A bug that can be planted.
pub(crate) struct Bug {
    pub(crate) name: &'static str,
    pub(crate) edits: &'static [Edit],
    pub(crate) shows: Shows,
    /// The properties that must fail, in each engine in which it shows.
    pub(crate) caught_by: &'static [&'static str],
}

/// Where a bug must be caught.
///
/// The model engine runs the state machine and the store contract alone, and fast: it has to find bugs
/// among all kinds of faults. Turmoil runs all that is shipped, but its store is Redis and not the
/// contract; and it is slow, so it is told which kinds of faults to try.
#[derive(Clone, Copy)]
pub(crate) enum Shows {
    Model,
    Turmoil(&'static str),
    Both(&'static str),
}

impl Bug {
    pub(crate) fn named(name: &str) -> &'static Self {
        BUGS.iter().find(|bug| bug.name == name).unwrap()
    }
}

/// A snippet that stands in its file exactly once, and what takes its place.
pub(crate) struct Edit {
    pub(crate) file: &'static str,
    pub(crate) from: &'static str,
    pub(crate) to: &'static str,
}

const CONTRACT: &str = "core/src/contract.rs";
const ACQUIRE: &str = "tenure/src/store/redis/scripts/acquire.lua";
const RENEW: &str = "tenure/src/store/redis/scripts/renew.lua";
const RELEASE: &str = "tenure/src/store/redis/scripts/release.lua";
const COMPARING: &str = "if live and record[2] == ARGV[1] and last == tonumber(ARGV[2]) then";

pub(crate) static BUGS: [Bug; 24] = [
    Bug {
        name: "the deadline is counted from the reply",
        edits: &[
            Edit {
                file: "core/src/candidate/campaign.rs",
                from: "let valid_until = self.config.valid_until(flight.sent_at);",
                to: "let valid_until = self.config.valid_until(self.now);",
            },
            Edit {
                file: "core/src/candidate/tenure.rs",
                from: "lease.valid_until.max(self.config.valid_until(flight.sent_at));",
                to: "lease.valid_until.max(self.config.valid_until(self.now));",
            },
        ],
        shows: Shows::Both("latency,hold,pause"),
        caught_by: &["margin-kept"],
    },
    Bug {
        name: "no allowance for drift",
        edits: &[Edit {
            file: "core/src/config/mod.rs",
            from: "(lasts * (million - rho) / (million + rho))",
            to: "(lasts * (million - rho) / (million - rho))",
        }],
        shows: Shows::Both("drift,partition,pause"),
        caught_by: &["margin-kept", "fail-closed", "single-leader"],
    },
    Bug {
        name: "renew without comparing",
        edits: &[Edit { file: RENEW, from: COMPARING, to: "if record[1] then" }],
        shows: Shows::Turmoil("partition,pause,hold,resign"),
        caught_by: &["own-lease-only"],
    },
    Bug {
        name: "release without comparing",
        edits: &[Edit { file: RELEASE, from: COMPARING, to: "if record[1] then" }],
        shows: Shows::Turmoil("partition,pause,hold"),
        caught_by: &["own-lease-only", "single-leader"],
    },
    Bug {
        name: "a renewal that arrives after the end of the claim counts",
        edits: &[
            Edit {
                file: "core/src/candidate/mod.rs",
                from: "        self.expire();\n        match input {",
                to: "        match input {",
            },
            Edit {
                file: "core/src/candidate/mod.rs",
                from: "        self.advance();\n    }\n\n    /// The next output",
                to: "        self.expire();\n        self.advance();\n    }\n\n    /// The next output",
            },
            // Without this, whoever first saw the end of the claim would have closed it for good.
            Edit {
                file: "tenure/src/deadline.rs",
                from: "(now != CLOSED).then_some(until.as_nanos())",
                to: "(now <= u64::MAX).then_some(until.as_nanos())",
            },
        ],
        shows: Shows::Both("pause-after-send"),
        caught_by: &["no-resurrection"],
    },
    Bug {
        name: "leadership is a flag without a clock",
        edits: &[Edit {
            file: "tenure/src/deadline.rs",
            from: "now() < until",
            to: "{ let _ = now(); until.as_nanos() > CLOSED }",
        }],
        shows: Shows::Turmoil("pause,partition"),
        caught_by: &["fail-closed", "single-leader"],
    },
    Bug {
        name: "the token starts over on release",
        edits: &[
            Edit { file: RELEASE, from: "'released', '1')", to: "'released', '1', 'token', '0')" },
            Edit {
                file: ACQUIRE,
                from: "token = math.max(last + 1, seen + 1, now)",
                to: "token = last + 1",
            },
        ],
        shows: Shows::Turmoil("resign,crash"),
        caught_by: &["token-monotonic"],
    },
    Bug {
        name: "seen is ignored",
        edits: &[Edit {
            file: ACQUIRE,
            from: "if not mine and seen < last then",
            to: "if not mine and seen < 0 then",
        }],
        shows: Shows::Turmoil("crash,resign,hold"),
        caught_by: &["own-lease-only"],
    },
    Bug {
        name: "the quarantine is ignored",
        edits: &[Edit {
            file: "core/src/candidate/campaign.rs",
            from: "if wait.is_zero() {",
            to: "if wait.is_zero() || !wait.is_zero() {",
        }],
        shows: Shows::Both("store-loss,partition,pause"),
        caught_by: &["single-leader", "store-loss-quarantine"],
    },
    Bug {
        name: "the lease is handed back before the work has ended",
        edits: &[Edit {
            file: "tenure/src/driver/election.rs",
            from: "work.wait().await;",
            to: "drop(work);",
        }],
        shows: Shows::Turmoil("resign"),
        caught_by: &["no-release-under-work"],
    },
    Bug {
        name: "the end of a tenure is told twice",
        edits: &[Edit {
            file: "core/src/candidate/tenure.rs",
            from: "self.emit(Event::SteppedDown { token: lease.tenure.token, reason, drain_until });",
            to: "for _ in 0..2 {
            self.emit(Event::SteppedDown { token: lease.tenure.token, reason, drain_until });
        }",
        }],
        shows: Shows::Both("partition,pause"),
        caught_by: &["one-step-down-per-election"],
    },
    Bug {
        name: "a waiting candidate sleeps on after the lease has ended",
        edits: &[Edit {
            file: "core/src/candidate/campaign.rs",
            from: ".min(self.config.poll_bound);",
            to: ".max(self.config.poll_bound * 100);",
        }],
        shows: Shows::Both("crash,partition"),
        caught_by: &["leader-within"],
    },
    Bug {
        name: "tenures share a token",
        edits: &[
            Edit {
                file: ACQUIRE,
                from: "token = math.max(last + 1, seen + 1, now)",
                to: "token = math.max(last, 1)",
            },
            Edit {
                file: "core/src/candidate/campaign.rs",
                from: "let is_news = Some(tenure.token) > self.seen;",
                to: "let is_news = Some(tenure.token) >= self.seen;",
            },
        ],
        shows: Shows::Turmoil("pause-at-guard,pause,partition"),
        caught_by: &["fenced-writes", "token-monotonic"],
    },
    Bug {
        name: "a claim holds at the very moment of its end",
        edits: &[Edit {
            file: "core/src/candidate/mod.rs",
            from: "self.now.max(now) < lease.valid_until",
            to: "self.now.max(now) <= lease.valid_until",
        }],
        shows: Shows::Model,
        caught_by: &["fail-closed"],
    },
    Bug {
        name: "the stop margin is ignored",
        edits: &[Edit {
            file: "core/src/config/mod.rs",
            from: "saturating_sub(nanos(self.stop_margin))",
            to: "saturating_sub(0)",
        }],
        shows: Shows::Model,
        caught_by: &["unfenced-in-order", "margin-kept"],
    },
    Bug {
        name: "whoever resigns hands the lease back at once",
        edits: &[Edit {
            file: "core/src/candidate/ending.rs",
            from: "self.step_down_resigned(lease, then);",
            to: "self.step_down_resigned(lease, then);
                self.release(lease.tenure, then);",
        }],
        shows: Shows::Model,
        caught_by: &["no-release-under-work", "unfenced-in-order"],
    },
    Bug {
        name: "the quarantine is counted from the request",
        edits: &[Edit {
            file: "core/src/candidate/campaign.rs",
            from: "let until = self.now + wait;",
            to: "let until = flight.sent_at + wait;",
        }],
        shows: Shows::Model,
        caught_by: &["store-loss-quarantine"],
    },
    Bug {
        name: "hints are ignored",
        edits: &[Edit {
            file: "core/src/candidate/campaign.rs",
            from: "self.phase = Phase::Campaigning(self.hinted(campaign));",
            to: "self.phase = Phase::Campaigning(campaign);",
        }],
        shows: Shows::Model,
        caught_by: &["handover-within"],
    },
    Bug {
        name: "the first renewal is the last one",
        edits: &[Edit {
            file: "core/src/candidate/tenure.rs",
            from: "let attempt = Attempt::due(flight.sent_at + self.config.renew_interval);",
            to: "let attempt = Attempt::due(flight.sent_at + self.config.ttl);",
        }],
        shows: Shows::Model,
        caught_by: &["no-churn-when-healthy"],
    },
    Bug {
        name: "a store that lost its leases is taken for the one that granted them",
        edits: &[Edit {
            file: CONTRACT,
            from: "known.identity == at.identity && !lost_a_grant",
            to: "!lost_a_grant",
        }],
        shows: Shows::Model,
        caught_by: &["store-loss-quarantine", "single-leader"],
    },
    Bug {
        name: "a lease that was handed back can be renewed",
        edits: &[Edit {
            file: CONTRACT,
            from: "self.is_live(now) && self.holder == holder",
            to: "now < self.lease_end && self.holder == holder",
        }],
        shows: Shows::Model,
        caught_by: &["linearizable", "own-lease-only"],
    },
    Bug {
        name: "a lease that has ended can be renewed",
        edits: &[Edit {
            file: CONTRACT,
            from: "self.is_live(now) && self.holder == holder",
            to: "(self.is_live(now) || !self.released) && self.holder == holder",
        }],
        shows: Shows::Model,
        caught_by: &["own-lease-only"],
    },
    Bug {
        name: "seen is ignored by the contract",
        edits: &[Edit {
            file: CONTRACT,
            from: "Some(lease) if seen < Some(lease.token) =>",
            to: "Some(lease) if seen < Some(lease.token) && seen < None =>",
        }],
        shows: Shows::Model,
        caught_by: &["own-lease-only", "linearizable"],
    },
    Bug {
        name: "tokens have no floor",
        edits: &[Edit {
            file: CONTRACT,
            from: "floor.map_or(above, |floor| floor.max(above))",
            to: "floor.map_or(above, |_| above)",
        }],
        shows: Shows::Model,
        caught_by: &["token-monotonic"],
    },
];
