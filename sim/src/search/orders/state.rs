//! The state of a search: a driver, the calls under way, and the store.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write as _};
use std::hash::{DefaultHasher, Hasher as _};
use std::time::Duration;

use tenure_core::contract::{Moment, Past, Record, apply};
use tenure_core::{Config, Instant, NameId, Request, Seed, Stamp};
use tenure_driver::{
    Action, CallId, Command, Driver, ElectionId, Event, InCall, Join, LostWork, Outcome,
};

use crate::engines::overload::Ledger;

/// The bounds of a search.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// The most steps.
    pub steps: u8,
    /// The number of requests that a call takes.
    pub in_call: usize,
    /// True if both candidates are in the same election.
    pub rivals: bool,
    /// The most commands.
    pub commands: u8,
    /// The most calls that are lost or answered in part, hints and suspends together.
    pub faults: u8,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { steps: 12, in_call: 1, rivals: false, commands: 1, faults: 1 }
    }
}

/// The next event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The driver does what is due, once its deadline has come.
    Due,
    /// A call reaches the store.
    Arrives(CallId),
    /// Its answer reaches the driver: as many results of it.
    Answered(CallId, usize),
    /// It fails.
    Fails(CallId),
    Drained(ElectionId),
    Hint(u32),
    Resumed,
    Command(ElectionId, Commands),
}

/// A command of a handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Commands {
    Resign,
    Stop,
    RenewNow,
    LosesWork,
    Offers,
    Held,
}

impl Commands {
    const ALL: [Self; 6] =
        [Self::Resign, Self::Stop, Self::RenewNow, Self::LosesWork, Self::Offers, Self::Held];
}

#[derive(Clone)]
pub(super) struct State {
    now: Instant,
    config: Config,
    driver: Driver<u32>,
    ledger: Ledger,
    calls: BTreeMap<CallId, Call>,
    drains: BTreeSet<ElectionId>,
    records: [Option<Record>; 2],
    past: Option<Past>,
    rivals: bool,
    commands: u8,
    faults: u8,
}

#[derive(Clone, Debug)]
struct Call {
    requests: Vec<(u32, Request)>,
    /// The answers, once it has reached the store.
    results: Option<Vec<Outcome>>,
}

const ELECTIONS: [ElectionId; 2] = [0, 1];
const BOOTED: Duration = Duration::from_secs(3_600);
const PAUSE: Duration = Duration::from_secs(1);
/// A driver that ends takes fewer steps.
const STEPS_TO_THE_END: usize = 400;

impl State {
    /// Both candidates have joined.
    pub(super) fn new(bounds: &Bounds) -> Self {
        let most = bounds.in_call;
        let in_call = InCall { renewals: most, looks: most, acquires: most };
        let mut state = Self {
            now: Instant::ORIGIN + BOOTED,
            config: Config::fast_failover(),
            driver: Driver::new(in_call),
            ledger: Ledger::new(in_call),
            calls: BTreeMap::new(),
            drains: BTreeSet::new(),
            records: [None; 2],
            past: None,
            rivals: bounds.rivals,
            commands: bounds.commands,
            faults: bounds.faults,
        };
        for election in ELECTIONS {
            let join = Join {
                election,
                key: state.key(election),
                config: state.config,
                name: NameId::from_bits(election.into()),
                seed: Seed::new(u128::from(election) + 1),
                phase: 0,
            };
            state.hands_in(Event::Join(Box::new(join)));
        }
        state
    }

    fn key(&self, election: ElectionId) -> u32 {
        u32::from(!self.rivals && election > 0)
    }

    /// All that may come next.
    pub(super) fn steps(&self) -> Vec<Step> {
        let mut all = Vec::new();
        if self.driver.deadline().is_some() {
            all.push(Step::Due);
        }
        for (call, one) in &self.calls {
            match &one.results {
                None => all.push(Step::Arrives(*call)),
                Some(results) => all.push(Step::Answered(*call, results.len())),
            }
            if self.faults > 0 {
                all.push(Step::Fails(*call));
                if one.results.as_ref().is_some_and(|results| results.len() > 1) {
                    all.push(Step::Answered(*call, 1));
                }
            }
        }
        all.extend(self.drains.iter().map(|election| Step::Drained(*election)));
        if self.faults > 0 {
            all.extend([Step::Hint(0), Step::Resumed]);
        }
        if self.commands > 0 {
            // Of one candidate: the other one is like it.
            all.extend(Commands::ALL.map(|command| Step::Command(ELECTIONS[0], command)));
        }
        all
    }

    pub(super) fn takes(&mut self, step: Step) {
        match step {
            Step::Due => {
                let at = self.driver.deadline().unwrap_or(self.now);
                self.now = self.now.max(at);
                self.hands_in(Event::Due);
            }
            Step::Arrives(call) => self.arrives(call),
            Step::Answered(call, results) => {
                let of = self.calls.remove(&call).and_then(|one| one.results).unwrap_or_default();
                self.faults -= u8::from(results < of.len());
                let of = of.into_iter().take(results).collect();
                self.hands_in(Event::Called(call, of));
            }
            Step::Fails(call) => {
                let of = self.calls.remove(&call).map_or(0, |one| one.requests.len());
                self.faults -= 1;
                self.hands_in(Event::Called(call, vec![Outcome::Unanswered; of]));
            }
            Step::Drained(election) => {
                self.drains.remove(&election);
                self.hands_in(Event::Drained(election));
            }
            Step::Hint(key) => {
                self.faults -= 1;
                self.hands_in(Event::Hint(key));
            }
            Step::Resumed => {
                self.faults -= 1;
                self.hands_in(Event::Resumed);
            }
            Step::Command(election, command) => {
                self.commands -= 1;
                self.hands_in(Event::Command(election, self.command(election, command)));
            }
        }
        self.check_leaders();
    }

    fn command(&self, election: ElectionId, command: Commands) -> Command {
        let candidate = self.driver.candidate(election);
        let token = candidate.and_then(|one| one.claim(self.now)).map(|claim| claim.token());
        match command {
            Commands::Resign => Command::Resign(PAUSE),
            Commands::Stop => Command::Stop,
            Commands::LosesWork => {
                let how = LostWork::Dropped;
                Command::WorkLost { token, how, any: true, hold_off: PAUSE }
            }
            Commands::Offers => Command::Offers(true),
            Commands::Held => {
                token.map_or(Command::RenewNow, |token| Command::Held(token, self.now + PAUSE * 3))
            }
            Commands::RenewNow => Command::RenewNow,
        }
    }

    fn arrives(&mut self, call: CallId) {
        let Some(one) = self.calls.get_mut(&call) else { return };
        let at = Moment {
            now: self.now,
            identity: 1,
            fresh: Stamp::from_bits(1),
            first: true,
            trust_empty_store: true,
        };
        let answer = |(key, request): &(u32, Request)| {
            let record = &mut self.records[usize::from(*key > 0)];
            Outcome::Answered(apply(record, &mut self.past, at, *request))
        };
        one.results = Some(one.requests.iter().map(answer).collect());
    }

    fn hands_in(&mut self, event: Event<u32>) {
        self.ledger.takes(&event);
        self.driver.handle(self.now, event);
        let actions: Vec<_> = std::iter::from_fn(|| self.driver.poll()).collect();
        self.ledger.sees(self.now, &actions);
        for action in actions {
            match action {
                Action::Call(call, requests) => {
                    let of = |election| self.key(election);
                    let requests =
                        requests.iter().map(|one| (of(one.election), one.request)).collect();
                    self.calls.insert(call, Call { requests, results: None });
                }
                Action::Cancel(call) => drop(self.calls.remove(&call)),
                Action::Drain(election) => drop(self.drains.insert(election)),
                _ => {}
            }
        }
    }

    fn claims(&self) -> [bool; 2] {
        let claim = |election| self.driver.candidate(election)?.claim(self.now);
        ELECTIONS.map(|election| claim(election).is_some())
    }

    fn check_leaders(&self) {
        assert!(!(self.rivals && self.claims() == [true; 2]), "two lead");
    }

    /// True if a candidate leads.
    pub(super) fn leads(&self) -> bool {
        self.claims().contains(&true)
    }

    /// True if a call of several requests is under way.
    pub(super) fn shares(&self) -> bool {
        self.calls.values().any(|call| call.requests.len() > 1)
    }

    /// Both stop, and the store answers at once: the driver ends within the longest stop.
    pub(super) fn ends(mut self) {
        let by = self.now + self.config.explain().longest_stop;
        for election in ELECTIONS {
            if self.driver.candidate(election).is_some() {
                self.hands_in(Event::Command(election, Command::Stop));
            }
        }
        self.hands_in(Event::HandlesGone);
        for _ in 0..STEPS_TO_THE_END {
            if let Some((call, one)) = self.calls.first_key_value() {
                let (call, has_arrived) = (*call, one.results.is_some());
                if !has_arrived {
                    self.arrives(call);
                }
                let results = self.calls.remove(&call).and_then(|one| one.results);
                self.hands_in(Event::Called(call, results.unwrap_or_default()));
            } else if let Some(election) = self.drains.pop_first() {
                self.hands_in(Event::Drained(election));
            } else if let Some(at) = self.driver.deadline() {
                self.now = self.now.max(at);
                assert!(self.now <= by, "a stop takes longer than the longest stop");
                self.hands_in(Event::Due);
            } else {
                return self.ledger.ends();
            }
        }
        panic!("a stop does not end");
    }

    pub(super) fn fingerprint(&self) -> u64 {
        let mut writer = Fingerprint(DefaultHasher::new());
        let Self { now, driver, calls, drains, records, past, commands, faults, .. } = self;
        let all = (now, driver, calls, drains, records, past, commands, faults);
        // Nothing fails.
        let _ = write!(writer, "{all:?}");
        writer.0.finish()
    }
}

struct Fingerprint(DefaultHasher);

impl fmt::Write for Fingerprint {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write(text.as_bytes());
        Ok(())
    }
}
