//! Plans by hand: candidates without faults, and one fault after the other.

use super::{
    Fault, NodePlan, Plan, Point, Program, SCHEMA, Settings, StorePlan, Trigger, What, When, Work,
};

impl Plan {
    /// Candidates without faults, exact clocks, and no latency.
    pub fn quiet(seed: u64, settings: Settings, nodes: Vec<NodePlan>) -> Self {
        Self {
            schema: SCHEMA,
            seed,
            settings,
            nodes,
            store: StorePlan::default(),
            latency_us: (0, 0),
            work: Work { every_ms: settings.ttl_ms / 10, takes_us: 0, reads_first: false },
            program: Program::default(),
            faults: Vec::new(),
            calm_from_ms: settings.ttl_ms,
            handover: false,
        }
    }

    /// Adds a fault at that time; its duration is zero if it happens at one moment.
    pub fn at(&mut self, at_ms: u64, for_ms: u64, what: What) {
        self.faults.push(Fault { when: When::AtMs(at_ms), for_ms, what });
    }

    /// Adds a fault that begins on a trigger.
    pub fn on(&mut self, trigger: Trigger, for_ms: u64, what: What) {
        self.faults.push(Fault { when: When::On(trigger), for_ms, what });
    }
}

impl NodePlan {
    /// A candidate with the settings of all, whose clock begins with that reading and is exact.
    pub const fn of_offset(clock_offset_ms: u64) -> Self {
        Self { clock_offset_ms, clock_rate_ppm: 0, settings: None }
    }
}

impl Trigger {
    /// The next time that any node reaches that point.
    pub const fn next(point: Point, after_ms: u64) -> Self {
        Self { point, node: None, of: None, nth: 1, after_ms }
    }
}
