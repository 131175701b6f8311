//! The store's servers or its file, and the thread that stops, starts and observes them: that takes
//! from milliseconds to seconds, and the run goes on meanwhile.
//!
//! Candidates reach each server by a gate. It is shut from the moment at which the server is killed
//! until the next one is observed, so that no request is carried out unseen.

mod certificates;
mod clock;
mod etcd;
mod kubernetes;
mod mariadb;
mod orders;
mod postgres;
mod redis;
pub(super) mod replicated;
mod sqlite;

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use futures_util::future::try_join_all;
use tenure_servers::{Flow, Preload, Proxy, ServerClock, ServerError};
use tokio::sync::mpsc::UnboundedSender;

use super::clock::boot_clock;
use super::protocol::Access;
use super::steps::{Answers, Steps};
use super::{Message, Target};
use crate::plan::{Act, FaultKind, Plan};
use certificates::Certificates;
use clock::Clock;
use orders::{Done, Server};
pub(super) use orders::{Moved, ServerOrder, ServerReport};

/// The time well within which data arrives from a gate.
const ARRIVES_WITHIN: Duration = Duration::from_millis(20);

/// The parts of a store.
#[derive(Clone, Debug)]
enum Parts {
    /// Servers that listen at these ports, in the order in which candidates are told of them.
    Servers(Vec<u16>),
    /// A file, which candidates open themselves, and their wall clock, if it is not the machine's.
    File { path: PathBuf, clock: Option<Preload> },
}

/// The store's entrance for a run's machines.
#[derive(Clone, Debug)]
pub(super) enum Entrance {
    /// The port of each server, and that of its gate.
    Gates(Vec<(u16, u16)>),
    File {
        path: PathBuf,
        clock: Option<Preload>,
    },
}

/// The store's server, or its file, with an observer of what is carried out there.
trait Observed: Send {
    /// Candidates reach its servers by these gates, in the order of their ports.
    fn has_gates(&mut self, _: &Arc<[Proxy]>) {}

    /// True if candidates must not reach the server behind the gate in that place.
    fn is_shut(&self, _place: usize) -> bool {
        false
    }

    /// Keeps it from answering.
    fn pause(&mut self) -> Result<(), ServerError>;

    /// Lets it answer again.
    fn resume(&mut self) -> Result<(), ServerError>;

    /// Takes it away at once.
    fn crash(&mut self) -> Result<(), ServerError>;

    /// Brings it back, with its data or without any. Returns whether a record of the election was
    /// lost: one was there before, and the next server, asked before candidates reach it, has none.
    fn starts_again(&mut self, keeps_data: bool) -> Result<bool, ServerError>;

    /// Takes the primary away, whose replica has lagged that far behind, and waits until the
    /// replica is promoted. Returns when the primary was taken away; `None` if there was no
    /// replica.
    fn fails_over(&mut self, _lag: Duration) -> Result<Option<u64>, ServerError> {
        Ok(None)
    }

    /// Reads what is still to be read of a primary that was taken away. Candidates reach the next
    /// one already.
    fn settles(&mut self) -> Result<(), ServerError> {
        Ok(())
    }

    /// Brings back what was taken away, as the replica.
    fn rejoins(&mut self) -> Result<(), ServerError> {
        Ok(())
    }

    /// Puts the clock of the server forward, or back if negative. It answers, no request is on its
    /// way to it, and none is sent to it meanwhile. Returns whether its clock shows another time
    /// then.
    fn steps_clock(&mut self, _by_ms: i64) -> Result<bool, ServerError> {
        Ok(false)
    }

    /// An act begins at the server, which answers. Returns what it has led to, as far as that is
    /// known at once.
    fn begins(&mut self, _: Act) -> Result<Done, ServerError> {
        Ok(Done::default())
    }

    /// It ends, and the server answers. Returns whether it has had an effect.
    fn ends(&mut self, _: Act) -> Result<bool, ServerError> {
        Ok(false)
    }

    /// Everything that was carried out, by what candidates know of it.
    fn steps(&mut self, answers: &Answers) -> Result<Steps, ServerError>;
}

/// The store, as the run holds it.
pub(super) struct StoreServer {
    orders: Option<mpsc::Sender<ServerOrder>>,
    thread: Option<thread::JoinHandle<Result<Box<dyn Observed>, ServerError>>>,
    /// The thread's result.
    observed: Option<Box<dyn Observed>>,
    /// Orders that were not reported as done.
    pending: u32,
    entrance: Entrance,
    access: Access,
    /// They work until they are dropped.
    _gates: Arc<[Proxy]>,
}

impl StoreServer {
    /// Starts the servers, and their thread. PostgreSQL and MariaDB have a replica only if one will be
    /// promoted, and candidates encrypt their connections only if a certificate will expire.
    pub(super) async fn start(
        target: Target,
        plan: &Plan,
        told: UnboundedSender<Message>,
    ) -> Result<Self, super::EngineError> {
        let expires = plan.has(FaultKind::ExpireCertificate);
        let certificates = expires.then(Certificates::make).transpose()?;
        let authority = certificates.as_ref().map(|made| made.authority().to_owned());
        let mut access = Access { authority, token: None };
        let (mut observed, parts) = start(target, plan, certificates, &mut access)?;
        let (entrance, gates) = parts.gated().await.map_err(|error| super::broke(&error))?;
        observed.has_gates(&gates);
        open(&gates, observed.as_ref());
        let (orders, ordered) = mpsc::channel();
        let own = Arc::clone(&gates);
        let thread = thread::Builder::new().name("server".to_owned()).spawn(move || {
            let mut server = Server::new(observed);
            for order in ordered {
                match order {
                    ServerOrder::Crash { .. } => own.iter().for_each(|gate| gate.refuse(true)),
                    ServerOrder::StepClock { .. } => {
                        own.iter().for_each(|gate| gate.set_requests(Flow::Hold));
                        thread::sleep(ARRIVES_WITHIN);
                    }
                    _ => {}
                }
                let done = server.obey(order)?;
                if matches!(order, ServerOrder::StepClock { .. }) {
                    own.iter().for_each(|gate| gate.set_requests(Flow::Forward));
                }
                // A server that is down stays shut: what candidates do is shown only once its
                // record was read.
                let opens = match order {
                    ServerOrder::Start { .. } => true,
                    ServerOrder::FailOver { .. } => done.had_effect,
                    _ => false,
                };
                if opens {
                    open(&own, server.observed.as_ref());
                    server.observed.settles()?;
                }
                let at = done.at.unwrap_or_else(boot_clock);
                let Done { had_effect, moved, .. } = done;
                let report = ServerReport { order, at, had_effect, moved };
                if told.send(Message::Server(report)).is_err() {
                    break;
                }
            }
            Ok(server.observed)
        });
        let thread = Some(thread.map_err(|error| super::broke(&error))?);
        Ok(Self {
            orders: Some(orders),
            thread,
            observed: None,
            pending: 0,
            entrance,
            access,
            _gates: gates,
        })
    }

    /// Its entrance for machines.
    pub(super) fn entrance(&self) -> &Entrance {
        &self.entrance
    }

    /// The candidates' access to it.
    pub(super) fn access(&self) -> &Access {
        &self.access
    }

    pub(super) fn order(&mut self, order: ServerOrder) {
        self.pending += 1;
        if let Some(orders) = &self.orders {
            // The thread has failed; the run learns of that when it asks for the steps.
            let _ = orders.send(order);
        }
    }

    /// An order was carried out.
    pub(super) fn done(&mut self) {
        self.pending -= 1;
    }

    /// True if orders wait for the thread, or it has failed.
    pub(super) fn is_busy(&self) -> bool {
        self.pending > 0
    }

    /// True if its thread has ended though it should not: with an error.
    pub(super) fn has_failed(&self) -> bool {
        self.thread.as_ref().is_some_and(thread::JoinHandle::is_finished)
    }

    /// Ends the thread.
    ///
    /// # Errors
    /// If it has failed.
    pub(super) fn ends(&mut self) -> Result<(), super::EngineError> {
        self.orders = None;
        let Some(thread) = self.thread.take() else { return Ok(()) };
        let ended = thread.join().map_err(|_| super::broke(&"the server's thread panicked"))?;
        self.observed = Some(ended?);
        Ok(())
    }

    /// Ends the thread, and returns what was carried out.
    pub(super) fn steps(&mut self, answers: &Answers) -> Result<Steps, super::EngineError> {
        self.ends()?;
        let steps = self.observed.as_mut().map(|observed| observed.steps(answers));
        Ok(steps.transpose()?.unwrap_or_default())
    }
}

/// Opens the gates of all servers that candidates may reach, and shuts the others.
fn open(gates: &[Proxy], observed: &dyn Observed) {
    for (place, gate) in gates.iter().enumerate() {
        gate.refuse(observed.is_shut(place));
    }
}

impl Parts {
    /// Starts a gate for each server.
    async fn gated(self) -> io::Result<(Entrance, Arc<[Proxy]>)> {
        let ports = match self {
            Self::Servers(ports) => ports,
            Self::File { path, clock } => {
                return Ok((Entrance::File { path, clock }, Arc::new([])));
            }
        };
        let start = |port: u16| Proxy::start(([127, 0, 0, 1], port).into());
        let gates = try_join_all(ports.iter().copied().map(start)).await?;
        let both = ports.into_iter().zip(gates.iter().map(Proxy::port)).collect();
        Ok((Entrance::Gates(both), gates.into()))
    }
}

/// Starts the store's servers, or creates its file.
fn start(
    target: Target,
    plan: &Plan,
    certificates: Option<Certificates>,
    access: &mut Access,
) -> Result<(Box<dyn Observed>, Parts), ServerError> {
    match target {
        Target::Redis | Target::Fred => {
            let redis = redis::Observed::start(Clock::of(plan)?, certificates)?;
            let parts = Parts::Servers(vec![redis.port()]);
            Ok((Box::new(redis), parts))
        }
        Target::RedisSentinel | Target::RedisCluster => {
            let redis = match target {
                Target::RedisSentinel => replicated::Observed::sentinels()?,
                _ => replicated::Observed::cluster()?,
            };
            let parts = Parts::Servers(redis.ports());
            Ok((Box::new(redis), parts))
        }
        Target::Postgres => {
            let fails_over = plan.has(FaultKind::Failover);
            let clock = Clock::of(plan)?;
            let postgres = postgres::Observed::start(fails_over, clock, certificates)?;
            let parts = Parts::Servers(vec![postgres.port()]);
            Ok((Box::new(postgres), parts))
        }
        Target::Mariadb => {
            let mariadb = mariadb::Observed::start(plan.has(FaultKind::Failover), certificates)?;
            let parts = Parts::Servers(vec![mariadb.port()]);
            Ok((Box::new(mariadb), parts))
        }
        Target::Etcd | Target::EtcdCluster => {
            let etcd = etcd::Observed::start(target, certificates)?;
            let parts = Parts::Servers(etcd.ports());
            Ok((Box::new(etcd), parts))
        }
        Target::Kubernetes => {
            let kubernetes = kubernetes::Observed::start(plan.seed)?;
            *access = kubernetes.access();
            let parts = Parts::Servers(vec![kubernetes.port()]);
            Ok((Box::new(kubernetes), parts))
        }
        Target::Sqlite => {
            let clock = Clock::of(plan)?;
            let own = clock.own().map(ServerClock::preload);
            let sqlite = sqlite::Observed::start(clock, plan.has(FaultKind::FillDisk))?;
            let parts = Parts::File { path: sqlite.file(), clock: own };
            Ok((Box::new(sqlite), parts))
        }
    }
}
