//! Thousands of random requests, answered by the server as by the contract.
//!
//! Leases last for hours, so that none ends by itself; time goes by when the test says so, at both. The
//! server's tokens are its clock's, so tokens are compared by what each of the contract's stands for.

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use tenure::store::postgres::{AdvisoryConfig, Postgres, PostgresAdvisory, PostgresConfig};
use tenure::store::{Key, Profile, Reply, Request, Store};
use tenure::{HolderId, Instant, Token};
use tenure_core::contract::{self, History, Moment, Record};
use tokio_postgres::Client;

use crate::support::{client, local, server};

const HOUR: Duration = Duration::from_secs(3_600);
const STEPS: usize = 4_000;

/// What is done next.
#[derive(Clone, Copy, Debug)]
enum Step {
    Acquire {
        key: usize,
        holder: u128,
        seen: Seen,
    },
    Renew {
        key: usize,
        holder: u128,
        token: Seen,
    },
    Release {
        key: usize,
        holder: u128,
        token: Seen,
    },
    Observe {
        key: usize,
    },
    /// All leases end.
    End,
    /// The server is another.
    OtherServer,
    /// The history is gone.
    NoHistory,
    /// All of the data is gone.
    NoData,
    /// So much time goes by that all quarantines are over.
    Age,
}

/// Which token is told.
#[derive(Clone, Copy, Debug)]
enum Seen {
    Nothing,
    Last,
    Older,
    /// One that was never granted.
    Beyond,
}

fn seen() -> impl Strategy<Value = Seen> {
    prop_oneof![
        2 => Just(Seen::Nothing),
        6 => Just(Seen::Last),
        2 => Just(Seen::Older),
        1 => Just(Seen::Beyond),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let (key, holder) = (0..3_usize, 1..4_u128);
    prop_oneof![
        40 => (key.clone(), holder.clone(), seen())
            .prop_map(|(key, holder, seen)| Step::Acquire { key, holder, seen }),
        20 => (key.clone(), holder.clone(), seen())
            .prop_map(|(key, holder, token)| Step::Renew { key, holder, token }),
        20 => (key.clone(), holder, seen())
            .prop_map(|(key, holder, token)| Step::Release { key, holder, token }),
        10 => key.prop_map(|key| Step::Observe { key }),
        8 => Just(Step::End),
        1 => Just(Step::OtherServer),
        1 => Just(Step::NoHistory),
        1 => Just(Step::NoData),
        5 => Just(Step::Age),
    ]
}

/// What the contract says.
struct Model {
    records: [Option<Record>; 3],
    history: Option<History>,
    at: Moment,
    /// What each of its tokens is at the server.
    tokens: BTreeMap<Token, Token>,
}

impl Model {
    fn apply(&mut self, key: usize, request: tenure_core::Request) -> tenure_core::Reply {
        self.at.now = self.at.now + Duration::from_millis(1);
        contract::apply(&mut self.records[key], &mut self.history, self.at, request)
    }

    /// A token for a request, as the model and as the server know it.
    fn pick(&self, key: usize, seen: Seen) -> (Option<Token>, Option<Token>) {
        let last = self.records[key].map(|record| record.token);
        let ours = match seen {
            Seen::Nothing => None,
            Seen::Last => last,
            Seen::Older => self.tokens.keys().copied().rfind(|&token| Some(token) < last),
            Seen::Beyond => {
                let (ours, theirs) = self.tokens.last_key_value().unzip();
                let beyond = |token: Option<&Token>| {
                    Token::new(token.map_or(0, |token| token.get()) + 1_000_000_000_000)
                };
                return (beyond(ours), beyond(theirs));
            }
        };
        (ours, ours.map(|token| self.tokens[&token]))
    }

    /// Both mean the same: a tenure that both know, or one that stands in the same place among those.
    fn is_same(&mut self, ours: Token, theirs: Token) -> bool {
        if let Some(known) = self.tokens.get(&ours) {
            return *known == theirs;
        }
        let below = self.tokens.range(..ours).next_back().is_none_or(|(_, &below)| below < theirs);
        let above = self.tokens.range(ours..).next().is_none_or(|(_, &above)| theirs < above);
        self.tokens.insert(ours, theirs);
        below && above
    }

    fn agrees(&mut self, key: usize, ours: tenure_core::Reply, theirs: &Reply) -> bool {
        use tenure_core::Reply as Ours;
        match (ours, theirs) {
            (
                Ours::Granted { token, wait },
                Reply::Granted { token: their_token, wait: theirs },
            ) => {
                self.is_same(token, *their_token)
                    && wait.is_zero() == theirs.is_zero()
                    && wait.abs_diff(*theirs) < HOUR / 6
            }
            (Ours::Held { token, remaining }, Reply::Held(theirs)) => {
                let name = format!("worker-{}", theirs.holder.to_bits());
                self.is_same(token, theirs.token)
                    && self.records[key].is_some_and(|record| record.holder == theirs.holder)
                    && theirs.name == name
                    && remaining.abs_diff(theirs.remaining) < HOUR / 6
            }
            (Ours::Stale { last }, Reply::Stale { last: theirs }) => self.is_same(last, *theirs),
            (Ours::Renewed, Reply::Renewed)
            | (Ours::Released, Reply::Released)
            | (Ours::NotHeld, Reply::NotHeld) => true,
            (Ours::Superseded { last }, Reply::Superseded { last: theirs }) => {
                match (last, *theirs) {
                    (Some(last), Some(theirs)) => self.is_same(last, theirs),
                    (last, theirs) => last.is_none() && theirs.is_none(),
                }
            }
            _ => false,
        }
    }

    /// Does to itself, and to the server, what no request does.
    async fn happens(&mut self, step: Step, server: &Client) {
        let sql = match step {
            Step::End => {
                for record in self.records.iter_mut().flatten() {
                    record.lease_end = self.at.now;
                }
                "UPDATE tenure.leases SET lease_end = 1"
            }
            Step::OtherServer => {
                self.at.identity += 1;
                "UPDATE tenure.leases_history SET identity = 'another'"
            }
            Step::NoHistory => {
                self.history = None;
                "DELETE FROM tenure.leases_history"
            }
            Step::NoData => {
                (self.records, self.history) = ([None; 3], None);
                "TRUNCATE tenure.leases, tenure.leases_history"
            }
            _ => {
                if let Some(history) = &mut self.history {
                    history.known_since = Instant::ORIGIN;
                }
                "UPDATE tenure.leases_history SET known_since = 1"
            }
        };
        server.batch_execute(sql).await.unwrap();
    }
}

fn acquire(holder: u128, seen: Option<Token>, ttl: Duration) -> Request {
    let profile = Profile::new(format!("worker-{holder}"), "").unwrap();
    Request::Acquire { holder: HolderId::from_bits(holder), seen, ttl, quarantine: HOUR, profile }
}

async fn answers_as_the_contract<S: Store>(
    trust_empty_store: bool,
    seed: u8,
    store: impl FnOnce(PostgresConfig) -> S,
) {
    let server = server();
    let store = store(local(server.port()).trust_empty_store(trust_empty_store));
    let keys = ["a", "b", "c"].map(|key| Key::new(key).unwrap());
    let by_hand = client(server.port()).await;
    // Makes the table.
    store.call(&keys[0], Request::Observe).await.unwrap();
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[seed; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    // As if it had known its history for long.
    let now = Instant::ORIGIN + HOUR * 1_000;
    let at = Moment { now, identity: 0, trust_empty_store };
    let mut model = Model { records: [None; 3], history: None, at, tokens: BTreeMap::new() };
    let mut told = Vec::new();
    for number in 0..STEPS {
        let step = step().new_tree(&mut runner).unwrap().current();
        // Remaining and waiting times that differ from each other.
        let ttl = HOUR * (2 + u32::try_from(number % 5).unwrap());
        let (key, ours, request) = match step {
            Step::Acquire { key, holder, seen } => {
                let (known, theirs) = model.pick(key, seen);
                let ours = tenure_core::Request::Acquire {
                    holder: HolderId::from_bits(holder),
                    seen: known,
                    ttl,
                    quarantine: HOUR,
                };
                (key, model.apply(key, ours), acquire(holder, theirs, ttl))
            }
            Step::Renew { key, holder, token } => {
                let (Some(token), Some(theirs)) = model.pick(key, token) else { continue };
                let holder = HolderId::from_bits(holder);
                let ours = tenure_core::Request::Renew { holder, token, ttl };
                (key, model.apply(key, ours), Request::Renew { holder, token: theirs, ttl })
            }
            Step::Release { key, holder, token } => {
                let (Some(token), Some(theirs)) = model.pick(key, token) else { continue };
                let holder = HolderId::from_bits(holder);
                let ours = tenure_core::Request::Release { holder, token };
                (key, model.apply(key, ours), Request::Release { holder, token: theirs })
            }
            Step::Observe { key } => {
                let theirs = store.call(&keys[key], Request::Observe).await.unwrap();
                let live = model.records[key].filter(|record| record.is_live(model.at.now));
                let agrees = match (live, &theirs) {
                    (Some(record), Reply::Held(theirs)) => {
                        model.is_same(record.token, theirs.token)
                    }
                    (None, Reply::Vacant) => true,
                    _ => false,
                };
                assert!(agrees, "{number}: {live:?} and {theirs:?} after {told:#?}");
                continue;
            }
            _ => {
                model.happens(step, &by_hand).await;
                continue;
            }
        };
        let theirs = store.call(&keys[key], request).await.unwrap();
        told.push(format!("{step:?} -> {ours:?} and {theirs:?}"));
        let since = told.len().saturating_sub(12);
        assert!(model.agrees(key, ours, &theirs), "{number}: after {:#?}", &told[since..]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_as_the_contract_does() {
    answers_as_the_contract(false, 1, Postgres::new).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_as_the_contract_does_where_an_empty_store_is_trusted() {
    answers_as_the_contract(true, 2, Postgres::new).await;
}

/// One session has all the locks, and hands them from holder to holder as the leases go. With immediate
/// takeovers the same is granted and refused, but whoever is refused is told to come back within a second.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_as_the_contract_does_under_advisory_locks() {
    let store = |config| PostgresAdvisory::new(AdvisoryConfig::new(config));
    answers_as_the_contract(false, 3, store).await;
}
