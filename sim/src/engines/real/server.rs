//! The store's server, and the thread that stops, starts and observes it: that takes from milliseconds to seconds, and
//! the run goes on meanwhile.
//!
//! Candidates reach the server by a gate. It is shut from the moment at which a server is killed until the next one is
//! observed, so that no request is carried out unseen.

use std::sync::{Arc, mpsc};
use std::thread;

use tenure_servers::{PostgresServer, Proxy, RedisServer, ServerError};
use tokio::sync::mpsc::UnboundedSender;

use super::clock::{boot_clock, wall_clock};
use super::steps::Steps;
use super::steps::postgres::Table;
use super::steps::redis::Monitor;
use super::{Target, Told};

/// A server that is observed.
enum Observed {
    Redis { server: RedisServer, monitor: Monitor, killed_at: u64 },
    Postgres { server: PostgresServer, table: Table },
}

/// An order to the server's thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ServerOrder {
    /// Kill it. The next one has its data, or none.
    Crash {
        keeps_data: bool,
    },
    /// Start the next one.
    Start {
        keeps_data: bool,
    },
    Pause,
    Resume,
}

/// What the server's thread has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ServerReport {
    pub(super) order: ServerOrder,
    /// When it was done, by the boot clock.
    pub(super) at: u64,
    /// Whether a record of the election was lost.
    pub(super) lost_a_record: bool,
}

/// The server, as the run holds it.
pub(super) struct StoreServer {
    orders: Option<mpsc::Sender<ServerOrder>>,
    thread: Option<thread::JoinHandle<Result<Steps, ServerError>>>,
    /// Orders that were not reported as done.
    pending: u32,
    gate: Arc<Proxy>,
}

impl StoreServer {
    /// Starts a server, and its thread.
    pub(super) async fn start(
        target: Target,
        told: UnboundedSender<Told>,
    ) -> Result<Self, super::EngineError> {
        let mut server = Observed::start(target)?;
        let gate = Proxy::start(([127, 0, 0, 1], server.port()).into()).await;
        let gate = gate.map_err(|error| super::broke(&error))?;
        let (orders, ordered) = mpsc::channel();
        let gate = Arc::new(gate);
        let shut = Arc::clone(&gate);
        let thread = thread::Builder::new().name("server".to_owned()).spawn(move || {
            for order in ordered {
                if matches!(order, ServerOrder::Crash { .. }) {
                    shut.refuse(true);
                }
                let lost_a_record = server.carries_out(order)?;
                if matches!(order, ServerOrder::Start { .. }) {
                    shut.refuse(false);
                }
                let report = ServerReport { order, at: boot_clock(), lost_a_record };
                if told.send(Told::Server(report)).is_err() {
                    break;
                }
            }
            server.steps()
        });
        let thread = Some(thread.map_err(|error| super::broke(&error))?);
        Ok(Self { orders: Some(orders), thread, pending: 0, gate })
    }

    /// The port by which candidates reach it.
    pub(super) fn port(&self) -> u16 {
        self.gate.port()
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

    /// Whether orders wait for the thread, or it has failed.
    pub(super) fn is_busy(&self) -> bool {
        self.pending > 0
    }

    /// Whether its thread has ended though it should not: with an error.
    pub(super) fn has_failed(&self) -> bool {
        self.thread.as_ref().is_some_and(thread::JoinHandle::is_finished)
    }

    /// Ends the thread, and returns what the server has done.
    pub(super) fn steps(&mut self) -> Result<Steps, super::EngineError> {
        self.orders = None;
        let Some(thread) = self.thread.take() else { return Ok(Steps::default()) };
        let steps = thread.join().map_err(|_| super::broke(&"the server's thread panicked"))?;
        Ok(steps?)
    }
}

impl Observed {
    fn start(target: Target) -> Result<Self, ServerError> {
        match target {
            Target::Redis | Target::Fred => {
                // A killed process loses nothing that it has written, be it on disk or not.
                let keeps = ["--appendonly", "yes", "--appendfsync", "no"];
                let (server, mut monitor) = (RedisServer::start_with(&keeps)?, Monitor::new());
                monitor.attach(&server)?;
                Ok(Self::Redis { server, monitor, killed_at: 0 })
            }
            Target::Postgres => {
                let server = PostgresServer::start()?;
                Table::install(&server)?;
                Ok(Self::Postgres { server, table: Table::default() })
            }
        }
    }

    fn port(&self) -> u16 {
        match self {
            Self::Redis { server, .. } => server.port(),
            Self::Postgres { server, .. } => server.port(),
        }
    }

    /// Returns whether a record of the election was lost.
    fn carries_out(&mut self, order: ServerOrder) -> Result<bool, ServerError> {
        match order {
            ServerOrder::Pause => self.pause().map(|()| false),
            ServerOrder::Resume => self.resume().map(|()| false),
            ServerOrder::Crash { .. } => self.crash().map(|()| false),
            ServerOrder::Start { keeps_data } => self.starts_again(keeps_data),
        }
    }

    fn pause(&self) -> Result<(), ServerError> {
        match self {
            Self::Redis { server, .. } => server.pause(),
            Self::Postgres { server, .. } => server.pause(),
        }
    }

    fn resume(&self) -> Result<(), ServerError> {
        match self {
            Self::Redis { server, .. } => server.resume(),
            Self::Postgres { server, .. } => server.resume(),
        }
    }

    fn crash(&mut self) -> Result<(), ServerError> {
        match self {
            Self::Redis { server, monitor, killed_at } => {
                server.kill()?;
                monitor.detach();
                *killed_at = wall_clock();
                Ok(())
            }
            Self::Postgres { server, .. } => server.stop(),
        }
    }

    fn starts_again(&mut self, keeps_data: bool) -> Result<bool, ServerError> {
        match self {
            Self::Redis { server, monitor, killed_at } => {
                server.restart()?;
                let lost_a_record = monitor.is_replaced(server, *killed_at, keeps_data)?;
                if !keeps_data {
                    server.restart_empty()?;
                }
                monitor.attach(server)?;
                Ok(lost_a_record)
            }
            Self::Postgres { server, table } => {
                // What the killed server has done is read before its data is gone.
                server.restart()?;
                table.read(server)?;
                let lost_a_record = table.is_replaced(keeps_data);
                if !keeps_data {
                    server.replace()?;
                    Table::install(server)?;
                }
                Ok(lost_a_record)
            }
        }
    }

    fn steps(&mut self) -> Result<Steps, ServerError> {
        match self {
            Self::Redis { server, monitor, .. } => monitor.steps(server),
            Self::Postgres { server, table } => {
                table.read(server)?;
                Ok(Steps { all: table.take(), has_gaps: true })
            }
        }
    }
}
