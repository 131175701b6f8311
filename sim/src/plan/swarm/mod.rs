//! Plans drawn from a seed. Each seed first draws the kinds of faults of its run, because some bugs
//! would always be hidden if every run had all kinds.

mod aims;
mod faults;
mod settings;

use super::catalogue::{Need, Real};
use super::clock::PPM;
use super::{Act, FaultKind, Manner, NodePlan, Plan, Program, SCHEMA, Settings, StorePlan, Work};
use crate::plan::draw::Draw;
use aims::Aim;
pub use faults::SILENT_MOST_MS;

/// The engine for which a plan is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Simulated time is free: TTLs up to a minute, up to nine candidates, every kind of fault.
    Model,
    /// Each simulated millisecond costs a tick: short TTLs, up to five candidates, and the faults
    /// that apply to TCP and Redis.
    Turmoil,
    /// Each second takes a second: short runs with TTLs of a few seconds, few candidates, the
    /// faults that processes, proxies and signals can cause at a store of that kind, and timeouts
    /// that a busy machine keeps.
    Real(Backend),
}

/// The targets of faults in a real store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct Backend {
    /// True if candidates reach it over a network. They open a file themselves.
    pub has_network: bool,
    /// True if it has a replica that can be promoted.
    pub fails_over: bool,
    /// True if other servers watch its primary, and notice when it is silent for more than a
    /// second.
    pub is_watched: bool,
    /// True if its server can have a clock of its own, which is set and has a rate.
    pub sets_clock: bool,
    /// The most by which a lease ends early, in milliseconds. Above 1, its TTLs are whole seconds.
    pub granularity_ms: u64,
    /// The steps that an observer sees.
    pub shows: Shows,
    /// The possible acts on its server.
    pub acts: &'static [Act],
}

/// The steps of a store that an observer sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shows {
    /// Grants, and ends of leases.
    Tenures,
    /// Also renewals: each change of a record.
    Changes,
    /// Also refusals: each request.
    Requests,
}

impl Backend {
    /// True if it has what a fault of that kind needs.
    fn has(self, need: Need, kind: FaultKind) -> bool {
        match need {
            Need::Network => self.has_network,
            Need::Replica => self.fails_over,
            Need::Clock => self.sets_clock,
            Need::Act => Act::of_kind(kind).is_some_and(|act| self.acts.contains(&act)),
        }
    }

    /// True if its leases may end much too early.
    const fn is_coarse(self) -> bool {
        self.granularity_ms > 1
    }
}

impl Scope {
    /// The kinds of faults that plans of this scope may have.
    pub fn kinds(self) -> Vec<FaultKind> {
        FaultKind::ALL.into_iter().filter(|kind| self.draws(*kind)).collect()
    }

    /// The reason its engine lacks faults of that kind; `None` if it has them, and its plans may,
    /// too.
    pub(crate) fn why_not(self, kind: FaultKind) -> Option<&'static str> {
        let row = kind.row();
        match self {
            Self::Model => row.not_in_model,
            Self::Turmoil => row.not_in_turmoil,
            Self::Real(backend) => match row.real {
                Real::Has => None,
                Real::Needs(need, why) => (!backend.has(need, kind)).then_some(why),
                Real::Lacks(why) => Some(why),
            },
        }
    }

    /// True if its plans may have faults of that kind.
    pub(crate) fn draws(self, kind: FaultKind) -> bool {
        self.why_not(kind).is_none()
    }

    /// True if the store's clock can have a rate of its own.
    const fn store_drifts(self) -> bool {
        match self {
            Self::Model | Self::Turmoil => true,
            Self::Real(backend) => backend.sets_clock,
        }
    }

    /// True if other servers notice that a primary is silent.
    const fn is_watched(self) -> bool {
        match self {
            Self::Model | Self::Turmoil => false,
            Self::Real(backend) => backend.is_watched,
        }
    }

    /// The number of TTLs before the recovery phase.
    const fn fault_ttls(self) -> u64 {
        match self {
            Self::Model | Self::Turmoil => 8,
            Self::Real(_) => 6,
        }
    }
}

/// The plan of a seed, from the kinds of faults allowed.
pub fn swarm(seed: u64, allowed: &[FaultKind], scope: Scope) -> Plan {
    let mut draw = Draw::new(seed, "swarm", 0);
    let aim = Aim::of(seed, allowed, scope);
    let aimed = |settings| aim.map_or(settings, |aim| aim.fitted(settings));
    let settings = aimed(settings::shared(seed, scope));
    let count = match scope {
        Scope::Model => draw.pick(&[2, 2, 3, 3, 4, 5, 5, 6, 7, 8, 9]),
        Scope::Turmoil => draw.pick(&[2, 3, 4, 5]),
        Scope::Real(_) => draw.pick(&[2, 3, 4]),
    };
    let kinds = kinds(seed, allowed, scope);
    let drifts = kinds.contains(&FaultKind::Drift);
    let rate_of = |id| if drifts { rate(seed, id, settings.drift_ppm) } else { 0 };
    let own = |node| settings::own(seed, node, settings, scope).map(aimed);
    let nodes: Vec<NodePlan> = (0..count)
        .map(|node| NodePlan {
            clock_offset_ms: Draw::new(seed, "clock offset", node).within(1_000..=10_000_000),
            clock_rate_ppm: rate_of(node),
            settings: own(node),
        })
        .collect();
    let timeout = |node: &NodePlan| node.settings.unwrap_or(settings).request_timeout_ms;
    let shortest_timeout = nodes.iter().map(timeout).min().unwrap_or(settings.request_timeout_ms);
    let calm_from_ms = settings.ttl_ms * scope.fault_ttls();
    let program = program(seed, scope);
    let frame = faults::Frame { seed, scope, nodes: nodes.len(), settings, until_ms: calm_from_ms };
    let aimed_faults = aim.map_or_else(Vec::new, |aim| aim.faults(&frame));
    Plan {
        schema: SCHEMA,
        seed,
        settings,
        nodes,
        store: StorePlan {
            clock_rate_ppm: if scope.store_drifts() { rate_of(u64::MAX) } else { 0 },
            trust_empty_store: false,
        },
        latency_us: latency(seed, shortest_timeout, scope),
        work: work(seed, settings, scope),
        program: aim.map_or(program, |aim| aim.fitted_program(program)),
        faults: faults::of_kinds(&frame, &kinds, aimed_faults),
        calm_from_ms,
        handover: draw.chance(1, 2),
    }
}

/// Most runs keep every assumption, so that every property can judge. Some runs have many kinds of
/// faults, some few.
fn kinds(seed: u64, allowed: &[FaultKind], scope: Scope) -> Vec<FaultKind> {
    let mut draw = Draw::new(seed, "crowd", 0);
    let breaks_assumptions = draw.chance(1, 5);
    let in_twenty = draw.pick(&[1, 3, 8]);
    let is_drawn = |kind: FaultKind| {
        scope.draws(kind)
            && (breaks_assumptions || !kind.is_beyond_the_assumptions())
            && Draw::new(seed, "kinds", kind as u64).chance(in_twenty, 20)
    };
    allowed.iter().copied().filter(|kind| is_drawn(*kind)).collect()
}

/// Often exactly at the bound, which is the worst case.
fn rate(seed: u64, id: u64, drift_ppm: u32) -> i64 {
    let mut draw = Draw::new(seed, "clock rate", id);
    let bound = i64::from(drift_ppm);
    let between = draw.within(0..=2 * u64::from(drift_ppm)).cast_signed() - bound;
    draw.pick(&[-bound, bound, between])
}

fn latency(seed: u64, timeout_ms: u64, scope: Scope) -> (u64, u64) {
    let mut draw = Draw::new(seed, "latency range", 0);
    match scope {
        Scope::Model => {
            let least = draw.pick(&[0, 50, 500]);
            // Four messages fit into every candidate's request timeout, so that no request times
            // out in a healthy network.
            let longest = timeout_ms * 1_000 / 4;
            let spread = draw.pick(&[0, 200, 2_000, 20_000]);
            (least, (least + spread).min(longest).max(least))
        }
        Scope::Turmoil => {
            let least = draw.within(0..=2);
            (least * 1_000, (least + draw.within(0..=6)) * 1_000)
        }
        // Loopback, and two proxies on the way.
        Scope::Real(_) => (0, 5_000),
    }
}

fn work(seed: u64, settings: Settings, scope: Scope) -> Work {
    let mut draw = Draw::new(seed, "work", 0);
    let ttl_ms = settings.ttl_ms;
    let margin_us = settings.stop_margin_ms * 1_000;
    let within = margin_us * PPM / (PPM + u64::from(settings.drift_ppm));
    Work {
        every_ms: draw.pick(&[ttl_ms / 50, ttl_ms / 16, ttl_ms / 4, ttl_ms / 2]),
        takes_us: match scope {
            Scope::Model | Scope::Turmoil => {
                draw.pick(&[0, 0, within.min(1_000), within / 2, within])
            }
            // As long as a write to a real server takes on a busy machine.
            Scope::Real(_) => 50_000,
        },
        reads_first: false,
    }
}

/// Most runs have one election: they are the fastest.
fn program(seed: u64, scope: Scope) -> Program {
    match scope {
        Scope::Model | Scope::Real(_) => Program::default(),
        Scope::Turmoil => {
            let elections = Draw::new(seed, "elections", 0).pick(&[1, 1, 1, 2, 3, 4]);
            let manner = Draw::new(seed, "manner", 0).pick(&Manner::ALL);
            let cancels = Draw::new(seed, "cancels", 0).chance(1, 2);
            let log_panics = Draw::new(seed, "log panics", 0).chance(1, 4);
            Program { elections, manner, cancels, log_panics }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn real(has_network: bool, granularity_ms: u64) -> Scope {
        let (fails_over, is_watched, sets_clock) = (has_network, has_network, has_network);
        let shows = Shows::Changes;
        let acts: &[Act] = if has_network { &Act::ALL } else { &[] };
        Scope::Real(Backend {
            has_network,
            fails_over,
            is_watched,
            sets_clock,
            granularity_ms,
            shows,
            acts,
        })
    }

    const SCOPES: [Scope; 5] =
        [Scope::Model, Scope::Turmoil, real(true, 1), real(true, 1_200), real(false, 1)];

    #[test]
    fn every_seed_gives_a_valid_plan() {
        for scope in SCOPES {
            for seed in 0..5_000 {
                let plan = swarm(seed, &FaultKind::ALL, scope);
                plan.check().unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            }
        }
    }

    #[test]
    fn only_allowed_kinds_are_drawn() {
        for seed in 0..500 {
            let plan = swarm(seed, &[FaultKind::Pause], Scope::Model);
            assert!(plan.faults.iter().all(|fault| fault.kind() == FaultKind::Pause));
            assert!(!plan.has(FaultKind::Drift));
        }
    }

    #[test]
    fn aims_are_drawn_if_their_kinds_are_allowed() {
        let aimed_in = |allowed: &[FaultKind], scope| {
            (0..2_000).filter_map(|seed| Aim::of(seed, allowed, scope)).count()
        };
        let aimed = |allowed: &[FaultKind]| aimed_in(allowed, Scope::Model);
        assert!((230..350).contains(&aimed(&FaultKind::ALL)));
        let repeats = [FaultKind::Resign, FaultKind::Hold, FaultKind::StoreRollback];
        assert!((50..150).contains(&aimed(&repeats)));
        assert!((50..150).contains(&aimed(&[FaultKind::Crash])));
        assert_eq!(aimed(&[FaultKind::Resign, FaultKind::Pause]), 0);
        let starves = [FaultKind::Starve, FaultKind::Leave];
        assert!((50..150).contains(&aimed_in(&starves, Scope::Turmoil)));
        let one_turn = [&starves[..], &[FaultKind::HandOver, FaultKind::Resign]].concat();
        assert!((130..250).contains(&aimed_in(&one_turn, Scope::Turmoil)));
        assert_eq!(aimed(&starves), 0);
    }

    #[test]
    fn every_kind_is_drawn_and_few_break_assumptions() {
        for scope in SCOPES {
            let plans: Vec<Plan> =
                (0..2_000).map(|seed| swarm(seed, &FaultKind::ALL, scope)).collect();
            for kind in scope.kinds() {
                assert!(plans.iter().any(|plan| plan.has(kind)), "{kind} is never drawn");
            }
            let whole = plans
                .iter()
                .filter(|plan| {
                    plan.broken().iter().all(|one| *one == super::super::Assumption::PromptEffects)
                })
                .count();
            assert!(whole > 1_200, "{whole} of 2,000 keep every assumption");
        }
    }
}
