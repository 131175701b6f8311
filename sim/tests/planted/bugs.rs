//! The bugs. Each was made by somebody before, in some library or in a draft of this one.

/// A bug that can be planted.
pub(crate) struct Bug {
    pub(crate) name: &'static str,
    pub(crate) edits: &'static [Edit],
    /// The kinds of faults under which it shows.
    pub(crate) faults: &'static str,
    /// The properties that must fail.
    pub(crate) caught_by: &'static [&'static str],
}

/// A snippet that stands in its file exactly once, and what takes its place.
pub(crate) struct Edit {
    pub(crate) file: &'static str,
    pub(crate) from: &'static str,
    pub(crate) to: &'static str,
}

const ACQUIRE: &str = "tenure/src/store/redis/scripts/acquire.lua";
const RENEW: &str = "tenure/src/store/redis/scripts/renew.lua";
const RELEASE: &str = "tenure/src/store/redis/scripts/release.lua";
const COMPARING: &str = "if live and record[2] == ARGV[1] and last == tonumber(ARGV[2]) then";

pub(crate) static BUGS: [Bug; 13] = [
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
        faults: "latency,hold,pause",
        caught_by: &["margin-kept"],
    },
    Bug {
        name: "no allowance for drift",
        edits: &[Edit {
            file: "core/src/config/mod.rs",
            from: "(lasts * (million - rho) / (million + rho))",
            to: "(lasts * (million - rho) / (million - rho))",
        }],
        faults: "drift,partition,pause",
        caught_by: &["margin-kept", "fail-closed", "single-leader"],
    },
    Bug {
        name: "renew without comparing",
        edits: &[Edit { file: RENEW, from: COMPARING, to: "if record[1] then" }],
        faults: "partition,pause,hold,resign",
        caught_by: &["own-lease-only"],
    },
    Bug {
        name: "release without comparing",
        edits: &[Edit { file: RELEASE, from: COMPARING, to: "if record[1] then" }],
        faults: "partition,pause,hold",
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
        faults: "pause-after-send",
        caught_by: &["no-resurrection"],
    },
    Bug {
        name: "leadership is a flag without a clock",
        edits: &[Edit {
            file: "tenure/src/deadline.rs",
            from: "now() < until",
            to: "{ let _ = now(); until.as_nanos() > CLOSED }",
        }],
        faults: "pause,partition",
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
        faults: "resign,crash",
        caught_by: &["token-monotonic"],
    },
    Bug {
        name: "seen is ignored",
        edits: &[Edit {
            file: ACQUIRE,
            from: "if not mine and seen < last then",
            to: "if not mine and seen < 0 then",
        }],
        faults: "crash,resign,hold",
        caught_by: &["own-lease-only"],
    },
    Bug {
        name: "the quarantine is ignored",
        edits: &[Edit {
            file: "core/src/candidate/campaign.rs",
            from: "if wait.is_zero() {",
            to: "if wait.is_zero() || !wait.is_zero() {",
        }],
        faults: "store-loss,partition,pause",
        caught_by: &["single-leader"],
    },
    Bug {
        name: "the lease is handed back before the work has ended",
        edits: &[Edit {
            file: "tenure/src/driver/election.rs",
            from: "work.wait().await;",
            to: "drop(work);",
        }],
        faults: "resign",
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
        faults: "partition,pause",
        caught_by: &["one-step-down-per-election"],
    },
    Bug {
        name: "a waiting candidate sleeps on after the lease has ended",
        edits: &[Edit {
            file: "core/src/candidate/campaign.rs",
            from: ".min(self.config.poll_bound);",
            to: ".max(self.config.poll_bound * 100);",
        }],
        faults: "crash,partition",
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
        faults: "pause-at-guard,pause,partition",
        caught_by: &["fenced-writes", "token-monotonic"],
    },
];
