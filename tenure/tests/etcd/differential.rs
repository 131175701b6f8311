//! Random requests, answered by the store as by the contract's own code.

use std::time::Duration;

use tenure::store::etcd::Etcd;
use tenure::store::{Reply, Request};
use tenure::{Instant, Token};
use tenure_core::contract::{self, History, Moment, Record};

use crate::support::{acquire_for, at, call, release, renew_for, server};

const REQUESTS: u32 = 600;

/// The contract's tokens are other numbers than etcd's, in the same order.
#[derive(Default)]
struct Pairs(Vec<(Token, Token)>);

impl Pairs {
    fn of_contract(&self, etcd: Token) -> Token {
        self.0.iter().find(|pair| pair.0 == etcd).expect("a token that was granted").1
    }
}

struct Model {
    record: Option<Record>,
    history: Option<History>,
    pairs: Pairs,
}

fn is_same(model: &mut Model, told: &Reply, wanted: tenure_core::Reply) -> bool {
    use tenure_core::Reply as Wanted;
    match (told, wanted) {
        (Reply::Granted { token, wait }, Wanted::Granted { token: pair, wait: due }) => {
            let highest = model.pairs.0.last().copied();
            if highest.is_none_or(|(_, before)| before < pair) {
                assert!(highest.is_none_or(|(before, _)| before < *token), "tokens increase");
                model.pairs.0.push((*token, pair));
            }
            model.pairs.of_contract(*token) == pair && *wait == due
        }
        (Reply::Held(incumbent), Wanted::Held { token, .. }) => {
            model.pairs.of_contract(incumbent.token) == token
        }
        (Reply::Stale { last }, Wanted::Stale { last: pair }) => {
            model.pairs.of_contract(*last) == pair
        }
        (Reply::Renewed, Wanted::Renewed)
        | (Reply::Released, Wanted::Released)
        | (Reply::NotHeld, Wanted::NotHeld) => true,
        (Reply::Superseded { last }, Wanted::Superseded { last: pair }) => {
            last.map(|last| model.pairs.of_contract(last)) == pair
        }
        _ => false,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_requests_are_answered_as_the_contract_says() {
    let server = server();
    let stores: [Etcd; 3] = std::array::from_fn(|_| at(&[server.port()]));
    let mut model = Model { record: None, history: None, pairs: Pairs::default() };
    let mut state = 0x5eed_u64;
    let mut draw = |below: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % below
    };
    let mut kinds = std::collections::BTreeMap::<_, u32>::new();
    for round in 0..REQUESTS {
        // No lease runs out in this test, whatever machine it runs on.
        let ttl = Duration::from_secs([6_000, 6_000, 6_000, 9_000][draw(4)]);
        let number = u128::try_from(draw(2)).unwrap() + 1;
        let known = model.pairs.0.len();
        let token = |back: usize| known.checked_sub(back + 1).map(|at| model.pairs.0[at].0);
        let seen = token(draw(3).saturating_sub(1));
        let request = match (draw(6), seen) {
            (0..2, seen) => acquire_for(number, seen, ttl),
            (_, None) => acquire_for(number, None, ttl),
            (2, Some(token)) => renew_for(number, token, ttl),
            (_, Some(token)) => release(number, token),
        };
        let asked = match &request {
            Request::Acquire { holder, seen, ttl, quarantine, .. } => {
                let seen = seen.map(|seen| model.pairs.of_contract(seen));
                let (holder, ttl, quarantine) = (*holder, *ttl, *quarantine);
                tenure_core::Request::Acquire { holder, seen, ttl, quarantine }
            }
            Request::Renew { holder, token, ttl } => {
                let token = model.pairs.of_contract(*token);
                tenure_core::Request::Renew { holder: *holder, token, ttl: *ttl }
            }
            Request::Release { holder, token } => {
                let token = model.pairs.of_contract(*token);
                tenure_core::Request::Release { holder: *holder, token }
            }
            Request::Observe => unreachable!("nobody observes"),
        };
        // Long after 1970, when the contract takes an empty store to have begun.
        let now = Instant::ORIGIN + Duration::from_secs(1_000_000 + u64::from(round));
        let at = Moment { now, identity: 1, trust_empty_store: true };
        let wanted = contract::apply(&mut model.record, &mut model.history, at, asked);
        let told = call(&stores[draw(3)], request.clone()).await.unwrap();
        assert!(is_same(&mut model, &told, wanted), "{request:?}: {told:?}, and due is {wanted:?}");
        let kind = format!("{wanted:?}").split([' ', '(']).next().unwrap_or_default().to_owned();
        *kinds.entry(kind).or_default() += 1;
    }
    assert!(kinds.len() == 7 && kinds.values().all(|&count| count >= 10), "{kinds:?}");
}
