//! The cost of a request to etcd through the store, beside the bare requests that it consists of,
//! sent by the same client.
//!
//! One member on loopback, one connection on either side, one request at a time. The bare side has
//! everything ready and reads no answer. `least` is an acquire that asks nothing before it
//! writes: one lease and one transaction.
//!
//! Writes wait for the member's disk: their times depend on the machine, their ratios do not.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use etcd_client::{
    Client, Compare, CompareOp, ConnectOptions, LeaseKeepAliveStream, LeaseKeeper, PutOptions, Txn,
    TxnOp,
};
use tenure::store::Store;
use tenure::store::etcd::{Etcd, EtcdConfig};
use tenure_bench::{Comparison, Elections, Lease, Operation, Outcome, Session, Side, one_thread};
use tenure_servers::EtcdServer;
use tokio::runtime::Runtime;

/// Few, since each takes milliseconds: criterion asks for no more at a time.
const TURN: u32 = 2;
const AT_MOST: f64 = 1.10;
/// Texts of the same length as the store's.
const LEADER: &str = "tenure2 0123456789abcdef0123456789abcdef";
const RECORD: &str = "tenure2 0 1795264407559814 0123456789abcdef0123456789abcdef 1 0 - 0 86400000000000 86400000000000 \
     - - 0 1795264407559814000 0 8\nworker-710.0.0.7:8080";
/// The keys under which the election that is renewed has its lease and its record, and the past.
const KEPT: [&str; 3] = ["raw/leader/kept", "raw/record/kept", "raw/past"];

fn main() -> ExitCode {
    Session::run(Duration::from_millis(300), Duration::from_secs(3), run)
}

fn run(session: &mut Session) -> Outcome<()> {
    let (server, runtime) = (EtcdServer::start()?, one_thread()?);
    let config = EtcdConfig::new("127.0.0.1", server.port()).trust_empty_store(true);
    let mut ours = Ours::new(config);
    let mut one = runtime.block_on(Bare::connect(server.port()))?;
    let mut other = runtime.block_on(Bare::connect(server.port()))?;

    let compared = |name, sides| Comparison::new("etcd", name, sides, TURN);
    let renew = compared("renew", ["store", "raw"]).at_most(AT_MOST);
    session.compare(renew, |side, count| match side {
        Side::Ours => finish(&runtime, ours.renew(count)),
        Side::Bare => finish(&runtime, one.renew(count)),
    });
    let control = compared("control (renew)", ["raw", "raw, again"]);
    session.compare(control, |side, count| match side {
        Side::Ours => finish(&runtime, one.renew(count)),
        Side::Bare => finish(&runtime, other.renew(count)),
    });
    let acquire = compared("acquire", ["store", "raw"]).at_most(AT_MOST);
    session.compare(acquire, |side, count| match side {
        Side::Ours => finish(&runtime, ours.acquire(count)),
        Side::Bare => finish(&runtime, one.acquire(count, Reads::Some)),
    });
    let least = compared("acquire, unasked", ["store", "least"]);
    session.compare(least, |side, count| match side {
        Side::Ours => finish(&runtime, ours.acquire(count)),
        Side::Bare => finish(&runtime, one.acquire(count, Reads::None)),
    });
    Ok(())
}

fn finish(runtime: &Runtime, measured: impl Future<Output = Outcome<Duration>>) -> Duration {
    runtime.block_on(measured).expect("the server answers")
}

/// Leaves out the work that etcd does in the background after a release.
async fn settle() {
    tokio::time::sleep(Duration::from_millis(10)).await;
}

struct Ours {
    /// Elections that are acquired and released.
    elections: Elections<Etcd>,
    /// The election that is renewed, led from the first renewal on.
    kept: Lease,
}

impl Ours {
    fn new(config: EtcdConfig) -> Self {
        Self { elections: Elections::new(Etcd::new(config), TURN), kept: Lease::new(TURN) }
    }

    async fn call(&mut self, operation: Operation) -> Outcome<()> {
        let request = self.kept.request(operation);
        let reply = self.elections.store.call(&self.kept.key, request).await?;
        self.kept.note(operation, &reply);
        Ok(())
    }

    async fn renew(&mut self, count: u32) -> Outcome<Duration> {
        if !self.kept.live {
            self.call(Operation::Acquire).await?;
        }
        let started = Instant::now();
        for _ in 0..count {
            self.call(Operation::Renew).await?;
        }
        Ok(started.elapsed())
    }

    async fn acquire(&mut self, count: u32) -> Outcome<Duration> {
        let took = self.elections.measure(Operation::Acquire, count).await;
        self.elections.perform(Operation::Release, 0..count as usize).await;
        settle().await;
        Ok(took)
    }
}

/// The reads of an acquire before it writes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reads {
    None,
    Some,
}

struct Bare {
    client: Client,
    keeper: LeaseKeeper,
    answers: LeaseKeepAliveStream,
}

impl Bare {
    async fn connect(port: u16) -> Outcome<Self> {
        let options = ConnectOptions::new().with_require_leader(true);
        let mut client =
            Client::connect([format!("http://127.0.0.1:{port}")], Some(options)).await?;
        let lease = client.lease_grant(3_600, None).await?.id();
        client.put(KEPT[0], LEADER, Some(PutOptions::new().with_lease(lease))).await?;
        client.put(KEPT[1], RECORD, None).await?;
        let (keeper, answers) = client.lease_keep_alive(lease).await?;
        Ok(Self { client, keeper, answers })
    }

    async fn renew(&mut self, count: u32) -> Outcome<Duration> {
        let mut kv = self.client.kv_client();
        let started = Instant::now();
        for _ in 0..count {
            self.keeper.keep_alive().await?;
            self.answers.message().await?;
            kv.txn(Txn::new().and_then(KEPT.map(|name| TxnOp::get(name, None)))).await?;
        }
        Ok(started.elapsed())
    }

    async fn acquire(&mut self, count: u32, reads: Reads) -> Outcome<Duration> {
        let (mut kv, mut leases) = (self.client.kv_client(), self.client.lease_client());
        let mut maintenance = self.client.maintenance_client();
        let mut granted = Vec::new();
        let mut took = Duration::ZERO;
        for number in 0..count {
            let names = [
                format!("raw/leader/{number}"),
                format!("raw/record/{number}"),
                KEPT[2].to_owned(),
            ];
            let names = names.each_ref().map(String::as_str);
            let gets = || names.map(|name| TxnOp::get(name, None));
            let read = Txn::new().and_then(gets());
            let started = Instant::now();
            let lease = if reads == Reads::Some {
                let all = (kv.txn(read), leases.grant(3_600, None), maintenance.status());
                futures_util::try_join!(all.0, all.1, all.2)?.1.id()
            } else {
                leases.grant(3_600, None).await?.id()
            };
            let write = Txn::new()
                .when([
                    Compare::mod_revision(names[0], CompareOp::Equal, 0),
                    Compare::mod_revision(names[1], CompareOp::Greater, -1),
                    Compare::mod_revision(names[2], CompareOp::Equal, 0),
                ])
                .and_then([
                    TxnOp::put(names[1], RECORD, None),
                    TxnOp::put(names[0], LEADER, Some(PutOptions::new().with_lease(lease))),
                ])
                .or_else(gets());
            let answer = kv.txn(write).await?;
            took += started.elapsed();
            assert!(answer.succeeded(), "it was vacant");
            granted.push(lease);
        }
        for lease in granted {
            leases.revoke(lease).await?;
        }
        settle().await;
        Ok(took)
    }
}
