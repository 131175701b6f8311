//! Many elections over one connection: every reply belongs to the election that asked, and a slow
//! network delays elections, but costs no leads.

use std::time::Duration;

use futures_util::future::join_all;
use tenure::store::AnyStore;
use tenure::{Candidate, Config, Elections};
use tenure_servers::Flow;

use super::TestServer;
use crate::stores::support::{Watch, soon};

const ELECTIONS: usize = 8;
const ROUNDS: usize = 100;
/// The number of leaders that resign at once.
const AT_ONCE: usize = 3;
/// The elections whose leaders resign, in order. Some ask more often than others, so that requests
/// of different ages have the same numbers.
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

/// Round trips of 300 ms.
const SLOW: Duration = Duration::from_millis(150);
/// More than a window of calls holds at first.
const FAR_AWAY: usize = 1_000;

/// The calls of many elections wait for each other: those that lead renew in time all the same.
async fn many_elections_lead_on_a_slow_network(server: TestServer) {
    let proxy = server.proxy().await;
    proxy.set(Flow::Delay(SLOW));
    let elections = Elections::new(server.store_at(proxy.port()));
    // Renewed as often as by default. The lease outlasts a pause of the machine, and the calls that
    // pile up behind it.
    let builder = Config::builder(Duration::from_secs(45));
    let config = builder.renew_interval(Config::default().renew_interval()).build().unwrap();
    let start = |number| elections.candidate(format!("far-{number}")).config(config).start();
    let candidates: Vec<_> = (0..FAR_AWAY).map(|number| start(number).unwrap()).collect();
    let elected = async |candidate: &Candidate| candidate.elected().await.unwrap().token();
    let tokens = soon(join_all(candidates.iter().map(elected))).await;
    // Each renews at least once meanwhile.
    tokio::time::sleep(config.renew_interval() * 2).await;
    for (candidate, token) in candidates.iter().zip(tokens) {
        assert_eq!(candidate.tenure().map(|tenure| tenure.token()), Some(token));
    }
    for stopped in soon(join_all(candidates.iter().map(Candidate::stop))).await {
        stopped.unwrap();
    }
}
// Not on MariaDB: the messages of its one connection follow one after the other.
story!(many_elections_lead_on_a_slow_network: redis_rs, fred, postgres, etcd, kubernetes);
