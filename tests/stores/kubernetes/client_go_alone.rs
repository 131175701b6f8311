//! Two candidates of client-go, without one of ours: measures what docs/comparison.md says of them.

use std::env;
use std::thread;
use std::time::{Duration, Instant as StdInstant};

use tenure::Instant;
use tenure_servers::{
    ClientGoCandidate, ClientGoEventKind, ClientGoSettings, Flow, KubeApiServer, Proxy, undisturbed,
};
use tokio::runtime::Runtime;

use super::client_go::{Lead, is_start, leads, now, renewed, their_leads};
use super::support::{SOON, delete, lease, server};

const NAMESPACE: &str = "client-go-alone";
/// The TTL with which the other libraries were measured.
const TTL: Duration = Duration::from_secs(3);
/// For how long a leader is cut off.
const CUT_OFF: Duration = Duration::from_secs(6);

#[test]
fn two_candidates_of_client_go_are_measured() {
    let rounds = env::var("TENURE_ROUNDS").map_or(1, |rounds| rounds.parse().unwrap());
    assert!(rounds > 0, "TENURE_ROUNDS is 0");
    let server = server();
    server.namespace(NAMESPACE).unwrap();
    let runtime = Runtime::new().unwrap();
    if rounds > 1 {
        measured(&server, &runtime, rounds);
    } else {
        // A leader that wakes from a pause of the machine leads on until its deadline.
        undisturbed(|| measured(&server, &runtime, rounds));
    }
}

fn measured(server: &KubeApiServer, runtime: &Runtime, rounds: u32) {
    let mut pair = Pair::start(server, runtime, "three-seconds", TTL);
    let mut figures = [const { Vec::new() }; 3];
    for _ in 0..rounds {
        figures[0].push(pair.cut_off());
        figures[1].push(pair.crash());
        figures[2].push(pair.data_lost());
    }
    let mut pair = Pair::start(server, runtime, "defaults", Duration::from_secs(15));
    let handovers: Vec<_> = (0..rounds).map(|_| pair.hand_over()).collect();
    let [cut_off, crashes, losses] = figures;
    let overlapped = losses.iter().filter(|time| !time.is_zero()).count();
    eprintln!("overlap while cut off: {}", summary(&cut_off));
    eprintln!("takeover beyond the lease's end after a crash: {}", summary(&crashes));
    eprintln!("overlap after a loss of data: {overlapped} of {rounds}, {}", summary(&losses));
    eprintln!("handover at defaults, with a release: {}", summary(&handovers));
    assert_eq!(cut_off, vec![Duration::ZERO; cut_off.len()], "its deadline is before the lease's");
}

fn summary(times: &[Duration]) -> String {
    let mut times = times.to_vec();
    times.sort_unstable();
    format!("median {:?}, longest {:?}", times[times.len() / 2], times[times.len() - 1])
}

struct Pair<'a> {
    server: &'a KubeApiServer,
    lease: &'a str,
    ttl: Duration,
    proxies: [Proxy; 2],
    candidates: [ClientGoCandidate; 2],
    started: u32,
    waits: u32,
}

impl<'a> Pair<'a> {
    fn start(server: &'a KubeApiServer, runtime: &Runtime, lease: &'a str, ttl: Duration) -> Self {
        let target = ([127, 0, 0, 1], server.port()).into();
        let proxies = [(); 2].map(|()| runtime.block_on(Proxy::start(target)).unwrap());
        let mut started = 0;
        let candidates = [0, 1].map(|place: usize| {
            started += 1;
            candidate(server, proxies[place].port(), lease, ttl, started)
        });
        Self { server, lease, ttl, proxies, candidates, started, waits: 0 }
    }

    /// The same places, at some moment between two attempts of the other candidate: one that was just
    /// started makes its first ones after times that are the same in each process.
    fn settled(&mut self) -> (usize, usize) {
        self.waits += 1;
        thread::sleep(retry_period(self.ttl) * (10 + self.waits * 7 % 20) / 10);
        self.leader()
    }

    /// The places of the leader and of the other one, once exactly one leads.
    fn leader(&self) -> (usize, usize) {
        let began = StdInstant::now();
        loop {
            match [0, 1].map(|place: usize| leads(&self.candidates[place].events().unwrap())) {
                [true, false] => return (0, 1),
                [false, true] => return (1, 0),
                both => assert!(began.elapsed() < SOON, "one leads within {SOON:?}: {both:?}"),
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// The longest time since then for which both led.
    fn overlap(&self, since: Instant) -> Duration {
        let [ones, others] = [0, 1]
            .map(|place: usize| their_leads(&self.candidates[place].events().unwrap(), now()));
        let both = |one: &Lead, other: &Lead| {
            one.to.min(other.to).since(one.from.max(other.from).max(since))
        };
        ones.iter()
            .flat_map(|one| others.iter().map(|other| both(one, other)))
            .max()
            .unwrap_or_default()
    }

    fn cut_off(&mut self) -> Duration {
        let (leader, other) = self.settled();
        let began = now();
        self.proxies[leader].set(Flow::Hold);
        thread::sleep(CUT_OFF);
        self.next_lead(other);
        self.proxies[leader].set(Flow::Forward);
        let overlap = self.overlap(began);
        self.leader();
        overlap
    }

    fn crash(&mut self) -> Duration {
        let (leader, other) = self.settled();
        self.candidates[leader].kill().unwrap();
        let ends = renewed(&lease(self.server, NAMESPACE, self.lease)) + self.ttl;
        let took = self.next_lead(other).since(ends);
        self.replace(leader);
        took
    }

    fn data_lost(&mut self) -> Duration {
        self.settled();
        let began = now();
        delete(self.server, NAMESPACE, self.lease);
        thread::sleep(self.ttl * 2);
        self.leader();
        self.overlap(began)
    }

    fn hand_over(&mut self) -> Duration {
        let (leader, other) = self.settled();
        self.candidates[leader].stop().unwrap();
        let events = self.candidates[leader].events().unwrap();
        let told = events.iter().rfind(|event| event.kind == ClientGoEventKind::Cancelled).unwrap();
        let took = self.next_lead(other).since(Instant::ORIGIN + told.at);
        self.replace(leader);
        took
    }

    /// The beginning of the lead of that candidate, once it leads.
    fn next_lead(&self, place: usize) -> Instant {
        let began = StdInstant::now();
        loop {
            let events = self.candidates[place].events().unwrap();
            if leads(&events) {
                let start = events.iter().rfind(|event| is_start(event)).unwrap();
                return Instant::ORIGIN + start.at;
            }
            assert!(began.elapsed() < SOON, "it leads within {SOON:?}: {events:?}");
            thread::sleep(Duration::from_millis(5));
        }
    }

    fn replace(&mut self, place: usize) {
        self.started += 1;
        let port = self.proxies[place].port();
        self.candidates[place] = candidate(self.server, port, self.lease, self.ttl, self.started);
    }
}

/// The time between two renewals: of a lease of 15 s the default, 2 s.
fn retry_period(ttl: Duration) -> Duration {
    ttl * 2 / 15
}

fn candidate(
    server: &KubeApiServer,
    port: u16,
    lease: &str,
    ttl: Duration,
    number: u32,
) -> ClientGoCandidate {
    let settings = ClientGoSettings {
        namespace: NAMESPACE.to_owned(),
        lease: lease.to_owned(),
        identity: format!("theirs-{number}"),
        lease_duration: ttl,
        renew_deadline: ttl * 2 / 3,
        retry_period: retry_period(ttl),
        release_on_cancel: true,
    };
    ClientGoCandidate::start_through(server, port, &settings).unwrap()
}
