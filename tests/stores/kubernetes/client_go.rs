//! A candidate of ours and one of client-go at the same Lease: each takes over when the other one
//! stops or crashes, and no lead of one kind overlaps one of the other.
//!
//! A lead of ours is from the first to the last time that it says so, also while its process hangs.
//! One of theirs is from `OnStartedLeading` to the end of its work. Of one that was killed, it is
//! as long as client-go may lead after its last renewal: a takeover must not come earlier because
//! the leader is dead.

use std::collections::BTreeMap;
use std::env;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant as StdInstant};

use serde_json::Value;
use tenure::runtime::{Runtime as _, TokioRuntime};
use tenure::{Candidate, Config, Instant, Token};
use tenure_servers::{
    ClientGoCandidate, ClientGoEvent, ClientGoEventKind, ClientGoSettings, KubeApiServer,
    undisturbed,
};
use tokio::runtime::Runtime;
use tokio::sync::oneshot;

use super::support::{SOON, at, lease, server, soon, unix_micros};

const NAMESPACE: &str = "client-go";
/// The settings of both kinds.
const LEASE: Duration = Duration::from_secs(3);
const RENEW_DEADLINE: Duration = Duration::from_secs(2);
const RETRY_PERIOD: Duration = Duration::from_millis(500);
/// The rounds of a short run.
const FEW: u32 = 8;
const ASK_EVERY: Duration = Duration::from_millis(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Ours,
    Theirs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum End {
    Stop,
    Crash,
}

/// A time in which a candidate led all the time. Empty if `to` is not after `from`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lead {
    pub(super) from: Instant,
    pub(super) to: Instant,
}

impl Lead {
    fn overlaps(self, other: Self) -> bool {
        self.from.max(other.from) < self.to.min(other.to)
    }
}

#[test]
fn no_lead_overlaps_one_of_client_go() {
    let rounds: u32 = env::var("TENURE_ROUNDS").map_or(FEW, |rounds| rounds.parse().unwrap());
    assert!(rounds >= 4, "TENURE_ROUNDS is {rounds}, and there are 4 cases");
    let server = server();
    server.namespace(NAMESPACE).unwrap();
    if rounds > FEW {
        // In so long a run there always is some pause.
        overlaps_none(server, rounds);
    } else {
        // A candidate of client-go that wakes from a pause of the machine leads on until its
        // deadline.
        undisturbed(|| overlaps_none(Arc::clone(&server), rounds));
    }
}

fn overlaps_none(server: Arc<KubeApiServer>, rounds: u32) {
    let mut pair = Pair::start(server);
    for round in 0..rounds {
        // Ends fall on all parts of a second, and of the time between two renewals.
        thread::sleep(RETRY_PERIOD * (round * 7 % 20) / 10);
        pair.one_takes_over_from_the_other();
    }
    let took = pair.took.clone();
    let (ours, theirs) = pair.leads();
    for one in &ours {
        for other in &theirs {
            assert!(!one.overlaps(*other), "ours led {one:?}, and theirs {other:?}");
        }
    }
    for (case, took) in &took {
        let (count, longest) = (took.len(), took.iter().max());
        eprintln!("{case:?}: {count} takeovers, the longest in {longest:?}");
    }
    eprintln!("{} leads of ours were compared with {} of theirs", ours.len(), theirs.len());
    let takeovers: usize = took.values().map(Vec::len).sum();
    let least = usize::try_from(rounds / 2).unwrap();
    assert!(takeovers >= least * 2 && took.len() == 4, "{rounds} rounds, but {took:?}");
    assert!(ours.len() >= least && theirs.len() >= least, "{ours:?} {theirs:?}");
}

/// A candidate of each kind. One leads, and the other one waits.
struct Pair {
    server: Arc<KubeApiServer>,
    asking: Asking,
    ours: Ours,
    theirs: ClientGoCandidate,
    /// The number of theirs that were started.
    started: u32,
    /// The leads of theirs that have ended.
    ended: Vec<Lead>,
    /// The runtimes of crashed candidates.
    hanging: Vec<Runtime>,
    /// The times of takeovers.
    took: BTreeMap<(Kind, End), Vec<Duration>>,
}

impl Pair {
    fn start(server: Arc<KubeApiServer>) -> Self {
        let asking = Asking::start();
        let ours = Ours::start(&server, &asking);
        let theirs = theirs(&server, 1);
        let (ended, hanging, took) = Default::default();
        Self { server, asking, ours, theirs, started: 1, ended, hanging, took }
    }

    /// Ends the leader, waits until the other candidate leads, and starts another one in place of
    /// the first.
    fn one_takes_over_from_the_other(&mut self) {
        let leader = self.until([Kind::Ours, Kind::Theirs]);
        let began = StdInstant::now();
        let count = |end| self.took.get(&(leader, end)).map_or(0, Vec::len);
        let end = if count(End::Stop) > count(End::Crash) { End::Crash } else { End::Stop };
        let other = match leader {
            Kind::Ours => {
                self.end_ours(end);
                Kind::Theirs
            }
            Kind::Theirs => {
                self.end_theirs(end);
                Kind::Ours
            }
        };
        self.until([other]);
        self.took.entry((leader, end)).or_default().push(began.elapsed());
        match leader {
            Kind::Ours => self.ours = Ours::start(&self.server, &self.asking),
            Kind::Theirs => {
                self.started += 1;
                self.theirs = theirs(&self.server, self.started);
            }
        }
    }

    /// Waits until a candidate of one of these kinds leads.
    fn until<const N: usize>(&self, kinds: [Kind; N]) -> Kind {
        let began = StdInstant::now();
        loop {
            let leads = |kind: &Kind| match kind {
                Kind::Ours => self.ours.candidate.is_leader(),
                Kind::Theirs => leads(&self.theirs.events().unwrap()),
            };
            if let Some(kind) = kinds.into_iter().find(leads) {
                return kind;
            }
            let lease = || lease(&self.server, NAMESPACE, "job");
            assert!(began.elapsed() < SOON, "{kinds:?} leads within {SOON:?}: {}", lease());
            thread::sleep(Duration::from_millis(5));
        }
    }

    fn end_ours(&mut self, end: End) {
        if let Some(runtime) = self.ours.end(end) {
            self.hanging.push(runtime);
        }
    }

    fn end_theirs(&mut self, end: End) {
        let mut ends = now();
        match end {
            End::Stop => self.theirs.stop().unwrap(),
            End::Crash => {
                self.theirs.kill().unwrap();
                let lease = lease(&self.server, NAMESPACE, "job");
                if lease["spec"]["holderIdentity"] == identity(self.started) {
                    // It waits for the retry period after a renewal, and tries until its deadline
                    // then.
                    ends = ends.max(renewed(&lease) + RETRY_PERIOD + RENEW_DEADLINE);
                }
            }
        }
        self.ended.extend(their_leads(&self.theirs.events().unwrap(), ends));
    }

    /// All leads of ours, and all of theirs.
    fn leads(mut self) -> (Vec<Lead>, Vec<Lead>) {
        self.end_theirs(End::Stop);
        self.end_ours(End::Stop);
        (self.asking.leads(), self.ended)
    }
}

/// A candidate with a thread of its own.
struct Ours {
    candidate: Candidate,
    end: Option<oneshot::Sender<End>>,
    thread: Option<thread::JoinHandle<Runtime>>,
}

impl Ours {
    fn start(server: &KubeApiServer, asking: &Asking) -> Self {
        let store = at(server, NAMESPACE);
        let (end, ends) = oneshot::channel();
        let (started, starts) = mpsc::channel();
        let thread = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let runtime = runtime.unwrap();
            runtime.block_on(async {
                let config = Config::builder(LEASE).build().unwrap();
                let candidate = Candidate::builder(store, "job").name("ours").config(config);
                let candidate = candidate.start().unwrap();
                started.send(candidate.clone()).unwrap();
                match ends.await.unwrap() {
                    End::Stop => soon(candidate.stop()).await.unwrap(),
                    End::Crash => {}
                }
            });
            runtime
        });
        let candidate = starts.recv().unwrap();
        asking.candidates.lock().unwrap().push(candidate.clone());
        Self { candidate, end: Some(end), thread: Some(thread) }
    }

    /// Ends it. A crash stops its runtime for good, and nothing tells the candidate so, as in a
    /// process that hangs: its clock alone ends its lead. The runtime must be kept for that.
    fn end(&mut self, end: End) -> Option<Runtime> {
        self.end.take()?.send(end).unwrap();
        self.thread.take().map(|thread| thread.join().unwrap())
    }
}

/// A thread that asks candidates of ours all the time whether they lead.
struct Asking {
    candidates: Arc<Mutex<Vec<Candidate>>>,
    over: Arc<AtomicBool>,
    thread: thread::JoinHandle<BTreeMap<Token, Lead>>,
}

impl Asking {
    fn start() -> Self {
        let (candidates, over) = (Arc::<Mutex<Vec<Candidate>>>::default(), Arc::default());
        let (all, stop) = (Arc::clone(&candidates), Arc::clone(&over));
        let thread = thread::spawn(move || {
            let mut leads = BTreeMap::new();
            while !AtomicBool::load(&stop, Ordering::Relaxed) {
                for tenure in all.lock().unwrap().iter().filter_map(Candidate::tenure) {
                    // It was current at an instant between both readings.
                    let before = now();
                    if tenure.is_current() {
                        let lead = leads.entry(tenure.token());
                        lead.or_insert_with(|| Lead { from: now(), to: before }).to = before;
                    }
                }
                thread::sleep(ASK_EVERY);
            }
            leads
        });
        Self { candidates, over, thread }
    }

    fn leads(self) -> Vec<Lead> {
        self.over.store(true, Ordering::Relaxed);
        self.thread.join().unwrap().into_values().collect()
    }
}

fn identity(number: u32) -> String {
    format!("theirs-{number}")
}

fn theirs(server: &KubeApiServer, number: u32) -> ClientGoCandidate {
    let settings = ClientGoSettings {
        namespace: NAMESPACE.to_owned(),
        lease: "job".to_owned(),
        identity: identity(number),
        lease_duration: LEASE,
        renew_deadline: RENEW_DEADLINE,
        retry_period: RETRY_PERIOD,
        release_on_cancel: true,
    };
    ClientGoCandidate::start(server, &settings).unwrap()
}

pub(super) fn leads(events: &[ClientGoEvent]) -> bool {
    let changes = |event: &&ClientGoEvent| is_end(event) || is_start(event);
    events.iter().rev().find(changes).is_some_and(is_start)
}

pub(super) fn is_start(event: &ClientGoEvent) -> bool {
    event.kind == ClientGoEventKind::Started
}

fn is_end(event: &ClientGoEvent) -> bool {
    matches!(event.kind, ClientGoEventKind::Cancelled | ClientGoEventKind::Stopped)
}

/// The leads that these events tell of. One that has no end yet ends then.
pub(super) fn their_leads(events: &[ClientGoEvent], ends: Instant) -> Vec<Lead> {
    let at = |event: &ClientGoEvent| Instant::ORIGIN + event.at;
    let lead = |(index, event): (usize, &ClientGoEvent)| {
        let end = events[index..].iter().find(|event| is_end(event));
        Lead { from: at(event), to: end.map_or(ends, at) }
    };
    events.iter().enumerate().filter(|(_, event)| is_start(event)).map(lead).collect()
}

/// The last renewal of a Lease, less than a minute ago.
pub(super) fn renewed(lease: &Value) -> Instant {
    const MINUTE: u64 = 60_000_000;
    let boot = now();
    // Such as 2026-01-31T12:00:59.123456Z.
    let text = lease["spec"]["renewTime"].as_str().unwrap();
    let [seconds, micros] = [&text[17..19], &text[20..26]].map(|part| part.parse::<u64>().unwrap());
    let micros = seconds * 1_000_000 + micros;
    let age = (unix_micros() % MINUTE + MINUTE - micros) % MINUTE;
    Instant::ORIGIN + Duration::from_nanos(boot.as_nanos() - age * 1_000)
}

pub(super) fn now() -> Instant {
    TokioRuntime.now()
}
