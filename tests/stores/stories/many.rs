//! Many elections over one connection each of two processes, while leaders resign and connections break: every
//! reply belongs to the election that asked.

use std::time::Duration;

use futures_util::future::join_all;
use tenure::store::AnyStore;
use tenure::{Candidate, Config, Elections};
use tenure_servers::Flow;

use super::TestServer;
use crate::support::{Watch, soon};

const ELECTIONS: usize = 8;
const ROUNDS: usize = 100;
/// How many leaders resign at once.
const AT_ONCE: usize = 3;
/// The elections whose leaders resign, in order. Some ask more often than others, so that requests of different
/// ages have the same numbers.
const NEXT: [usize; 12] = [0, 1, 0, 2, 3, 0, 4, 5, 1, 6, 7, 2];

fn candidates(store: AnyStore, config: Config) -> Vec<Candidate> {
    let elections = Elections::new(store);
    let start = |number| {
        let builder = elections.candidate(format!("job-{number}")).config(config);
        builder.hold_off(Duration::from_millis(10)).start().unwrap()
    };
    (0..ELECTIONS).map(start).collect()
}

async fn replies_belong_to_their_election(server: TestServer) {
    let proxy = server.proxy().await;
    proxy.set(Flow::Delay(Duration::from_millis(5)));
    let side = || candidates(server.store_at(proxy.port()), server.steady);
    let sides = [side(), side()];
    let both = |number: usize| [sides[0][number].clone(), sides[1][number].clone()];
    let watch = Watch::over_each((0..ELECTIONS).map(|number| both(number).to_vec()).collect());
    for round in 0..ROUNDS {
        let numbers = (0..AT_ONCE).map(|more| NEXT[(round + more) % NEXT.len()]);
        let leaders =
            numbers.filter_map(|number| both(number).into_iter().find(Candidate::is_leader));
        let resign = async |leader: Candidate| leader.resign().await.unwrap();
        soon(join_all(leaders.map(resign))).await;
        if round % 20 == 19 {
            proxy.cut();
        }
        tokio::time::sleep(Duration::from_millis(u64::try_from(round % 7 * 10).unwrap())).await;
    }
    for number in 0..ELECTIONS {
        let [one, other] = both(number);
        soon(async {
            loop {
                let leader = tokio::select! {
                    tenure = one.elected() => tenure.unwrap(),
                    tenure = other.elected() => tenure.unwrap(),
                };
                let incumbent = one.incumbent().await.ok().flatten();
                let is_known = incumbent.is_some_and(|known| known.token == leader.token());
                if is_known && leader.is_current() {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        })
        .await;
    }
    watch.nobody_overlapped();
    for candidate in sides.iter().flatten() {
        soon(candidate.stop()).await.unwrap();
    }
}
story!(replies_belong_to_their_election);
