//! The store beside the contract as code: the same requests, the same answers.

use std::time::{Duration, SystemTime};

use tenure::store::sqlite::Sqlite;
use tenure::store::{Reply, Request};
use tenure::{Instant, Token};
use tenure_core::contract::{History, Moment, Record, apply};

use crate::support::{Folder, TTL, acquire, call, release, renew};

const STEPS: usize = 4_000;

/// Numbers that look random, the same in every run.
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: u64) -> u64 {
        // Knuth's multiplier; the high bits are the good ones.
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// What a store that is the contract itself keeps, and the tokens that both have granted. Theirs differ,
/// since each reads the clock for itself; their order must not.
#[derive(Default)]
struct Model {
    record: Option<Record>,
    history: Option<History>,
    identity: u128,
    tokens: Vec<(Token, Token)>,
}

/// A token in a request or an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    Nothing,
    Granted(usize),
    /// Above all that were granted.
    Beyond,
}

impl Model {
    /// What a token is to the store, and to the model.
    fn tokens(&self, known: Known) -> (Option<Token>, Option<Token>) {
        let beyond = |token: Token| Token::new(token.get() + 1_000_000_000).unwrap();
        match (known, self.tokens.iter().max()) {
            (Known::Nothing, _) => (None, None),
            (Known::Granted(number), _) => {
                let (store, model) = self.tokens[number];
                (Some(store), Some(model))
            }
            (Known::Beyond, None) => (Some(beyond(Token::FIRST)), Some(beyond(Token::FIRST))),
            (Known::Beyond, Some((store, model))) => (Some(beyond(*store)), Some(beyond(*model))),
        }
    }

    fn of_store(&self, token: Token) -> usize {
        self.tokens.iter().position(|(store, _)| *store == token).expect("granted once")
    }

    fn of_model(&self, token: Token) -> usize {
        self.tokens.iter().position(|(_, model)| *model == token).expect("granted once")
    }
}

fn now() -> Instant {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    Instant::ORIGIN + Duration::from_micros(u64::try_from(since.as_micros()).unwrap())
}

/// Something that happens to the file, and to the model.
fn mishap(draw: &mut Draw, folder: &Folder, model: &mut Model) -> &'static str {
    match draw.below(5) {
        0 => {
            folder.execute("UPDATE elections SET lease_end = 1");
            if let Some(record) = &mut model.record {
                record.lease_end = Instant::ORIGIN + Duration::from_micros(1);
            }
            "the lease ends"
        }
        1 => {
            folder.execute("UPDATE history SET identity = 'another'");
            model.identity += 1;
            "the host was started again"
        }
        2 => {
            folder.execute("UPDATE history SET known_since = 1");
            if let Some(history) = &mut model.history {
                history.known_since = Instant::ORIGIN + Duration::from_micros(1);
            }
            "much time goes by"
        }
        3 => {
            folder.execute("DELETE FROM elections");
            model.record = None;
            "the record is lost"
        }
        _ => {
            folder.execute("DELETE FROM elections; DELETE FROM history");
            (model.record, model.history) = (None, None);
            "all is lost"
        }
    }
}

async fn same_answers(seed: u64, trust_empty_store: bool, steps: usize) {
    let folder = Folder::new();
    let store = Sqlite::new(folder.config().trust_empty_store(trust_empty_store));
    call(&store, Request::Observe).await.unwrap();
    let (mut draw, mut model) = (Draw(seed), Model::default());
    let (mut told, mut met) = (Vec::new(), std::collections::BTreeMap::new());
    for _ in 0..steps {
        if draw.below(8) == 0 {
            told.push(mishap(&mut draw, &folder, &mut model).to_owned());
        }
        let known = match (draw.below(8), model.tokens.len()) {
            (0, _) => Known::Beyond,
            (1, _) | (_, 0) => Known::Nothing,
            (2, granted) => Known::Granted(usize::try_from(draw.below(granted as u64)).unwrap()),
            (_, granted) => Known::Granted(granted - 1),
        };
        let (of_store, of_model) = model.tokens(known);
        let number = 1 + draw.below(3);
        let kind = draw.below(3);
        let request = |token: Option<Token>| {
            let (number, token_or_first) = (u128::from(number), token.unwrap_or(Token::FIRST));
            match kind {
                0 => acquire(number, token),
                1 => renew(number, token_or_first),
                _ => release(number, token_or_first),
            }
        };
        let at = Moment { now: now(), identity: model.identity, trust_empty_store };
        let expected =
            apply(&mut model.record, &mut model.history, at, machines(&request(of_model)));
        let answer = call(&store, request(of_store)).await.unwrap();
        told.push(format!("{known:?}: {:?} -> {answer:?}, {expected:?}", request(of_store)));
        assert!(
            same(&mut model, &answer, expected),
            "seed {seed}: not the same in the end:\n{}",
            told[told.len().saturating_sub(12)..].join("\n")
        );
        *met.entry(name(expected)).or_insert(0) += 1;
    }
    assert_eq!(met.len(), 9, "every answer was given: {met:?}");
}

fn machines(request: &Request) -> tenure_core::Request {
    match *request {
        Request::Acquire { holder, seen, ttl, quarantine, .. } => {
            tenure_core::Request::Acquire { holder, seen, ttl, quarantine }
        }
        Request::Renew { holder, token, ttl } => tenure_core::Request::Renew { holder, token, ttl },
        Request::Release { holder, token } => tenure_core::Request::Release { holder, token },
        Request::Observe => unreachable!("the contract has no such request"),
    }
}

/// The store reads its clock later than the model, each time by as much as a request takes.
fn alike(told: Duration, expected: Duration) -> bool {
    told.is_zero() == expected.is_zero() && told.abs_diff(expected) < TTL / 10
}

fn same(model: &mut Model, answer: &Reply, expected: tenure_core::Reply) -> bool {
    use tenure_core::Reply as Model;
    match (answer, expected) {
        (Reply::Granted { token, wait }, Model::Granted { token: other, wait: waits }) => {
            // After a loss it may be below older ones, if those were above the clock.
            let in_order =
                |(ours, of_model): &(Token, Token)| token.cmp(ours) == other.cmp(of_model);
            let ordered = model.tokens.iter().all(in_order);
            if !model.tokens.contains(&(*token, other)) {
                model.tokens.push((*token, other));
            }
            ordered && alike(*wait, waits)
        }
        (Reply::Held(incumbent), Model::Held { token, remaining }) => {
            model.of_store(incumbent.token) == model.of_model(token)
                && alike(incumbent.remaining, remaining)
                && incumbent.name == format!("worker-{}", incumbent.holder.to_bits())
                && incumbent.remaining <= TTL
        }
        (Reply::Stale { last }, Model::Stale { last: other }) => {
            model.of_store(*last) == model.of_model(other)
        }
        (Reply::Superseded { last }, Model::Superseded { last: other }) => {
            last.map(|last| model.of_store(last)) == other.map(|other| model.of_model(other))
        }
        (Reply::Renewed, Model::Renewed)
        | (Reply::Released, Model::Released)
        | (Reply::NotHeld, Model::NotHeld) => true,
        _ => false,
    }
}

/// An answer's kind, so that a run that never met one is seen.
fn name(reply: tenure_core::Reply) -> &'static str {
    use tenure_core::Reply as Model;
    match reply {
        Model::Granted { wait: Duration::ZERO, .. } => "granted at once",
        Model::Granted { .. } => "granted with a wait",
        Model::Held { .. } => "held",
        Model::Stale { .. } => "stale",
        Model::Renewed => "renewed",
        Model::Superseded { last: Some(_) } => "superseded",
        Model::Superseded { last: None } => "superseded by nothing",
        Model::Released => "released",
        Model::NotHeld => "not held",
    }
}

#[tokio::test]
async fn the_store_answers_as_the_contract_says() {
    same_answers(1, false, STEPS).await;
}

#[tokio::test]
async fn also_if_files_without_grants_are_trusted() {
    same_answers(2, true, STEPS / 2).await;
}
