//! What a request to etcd costs through the store, beside the bare requests that it consists of, sent
//! by the same client.
//!
//! One member on loopback, one connection on either side, one request at a time. The bare side has
//! everything ready and reads no answer. `least` is what an acquire would cost that asks nothing
//! before it writes: one lease and one transaction.
//!
//! Writes wait for the member's disk, so their times are the machine's; ratios are not.

use std::error::Error;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use criterion::Criterion;
use etcd_client::{
    Client, Compare, CompareOp, ConnectOptions, LeaseKeepAliveStream, LeaseKeeper, PutOptions, Txn,
    TxnOp,
};
use tenure::store::etcd::{Etcd, EtcdConfig};
use tenure::store::{Key, Profile, Reply, Request, Store};
use tenure::{HolderId, Token};
use tenure_bench::{Comparison, Report, Side};
use tenure_servers::EtcdServer;
use tokio::runtime::{Builder, Runtime};

/// Few, since each takes milliseconds: criterion asks for no more at a time.
const TURN: u32 = 2;
const AT_MOST: f64 = 1.10;
const TTL: Duration = Duration::from_secs(3_600);
const HOLDER: HolderId = HolderId::from_bits(0x0123_4567_89ab_cdef_0123_4567_89ab_cdef);
/// About as long as what the store writes.
const VALUE: &str =
    "tenure1 0123456789abcdef0123456789abcdef 3600 1795264407559814 8\nworker-710.0.0.7";

type Done<T> = Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Done<()> {
    let mut criterion = Criterion::default()
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(3))
        .configure_from_args();
    let server = EtcdServer::start()?;
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let config = EtcdConfig::new("127.0.0.1", server.port()).trust_empty_store(true);
    let mut ours = Ours::new(config)?;
    let mut bare = [0, 1].map(|_| runtime.block_on(Bare::connect(server.port())));
    let [one, other] = &mut bare;
    let (one, other) = (one.as_mut().map_err(take)?, other.as_mut().map_err(take)?);
    let mut report = Report::new();

    let mut compared = Comparison::new("etcd", "renew", ["store", "raw"], TURN).at_most(AT_MOST);
    compared.run(&mut criterion, |side, count| match side {
        Side::Ours => finish(&runtime, ours.renew(count)),
        Side::Bare => finish(&runtime, one.renew(count)),
    });
    report.add(compared);
    let mut control = Comparison::new("etcd", "control (renew)", ["raw", "raw, again"], TURN);
    control.run(&mut criterion, |side, count| match side {
        Side::Ours => finish(&runtime, one.renew(count)),
        Side::Bare => finish(&runtime, other.renew(count)),
    });
    report.add(control);
    let mut compared = Comparison::new("etcd", "acquire", ["store", "raw"], TURN).at_most(AT_MOST);
    compared.run(&mut criterion, |side, count| match side {
        Side::Ours => finish(&runtime, ours.acquire(count)),
        Side::Bare => finish(&runtime, one.acquire(count, Reads::Some)),
    });
    report.add(compared);
    let mut least = Comparison::new("etcd", "acquire, unasked", ["store", "least"], TURN);
    least.run(&mut criterion, |side, count| match side {
        Side::Ours => finish(&runtime, ours.acquire(count)),
        Side::Bare => finish(&runtime, one.acquire(count, Reads::None)),
    });
    report.add(least);
    criterion.final_summary();
    report.print()?;
    Ok(())
}

fn take(error: &mut Box<dyn Error>) -> Box<dyn Error> {
    error.to_string().into()
}

fn finish(runtime: &Runtime, measured: impl Future<Output = Done<Duration>>) -> Duration {
    runtime.block_on(measured).expect("the server answers")
}

/// What has been let go is tidied up in the background: let that not be measured.
async fn settle() {
    tokio::time::sleep(Duration::from_millis(10)).await;
}

struct Ours {
    store: Etcd,
    profile: Profile,
    /// Elections that are acquired and released, and the last token of each.
    elections: Vec<(Key, Option<Token>)>,
    kept: Key,
    /// Of the election that is renewed.
    token: Option<Token>,
}

impl Ours {
    fn new(config: EtcdConfig) -> Done<Self> {
        let names = (0..TURN).map(|number| Key::new(format!("election-{number}")));
        let elections =
            names.map(|name| name.map(|name| (name, None))).collect::<Result<_, _>>()?;
        let (store, kept) = (Etcd::new(config), Key::new("kept")?);
        Ok(Self {
            store,
            profile: Profile::new("worker-7", "10.0.0.7")?,
            elections,
            kept,
            token: None,
        })
    }

    fn acquiring(&self, seen: Option<Token>) -> Request {
        let (ttl, quarantine, profile) = (TTL, TTL, self.profile.clone());
        Request::Acquire { holder: HOLDER, seen, ttl, quarantine, profile }
    }

    async fn renew(&mut self, count: u32) -> Done<Duration> {
        let token = match self.token {
            Some(token) => token,
            None => granted(&self.store.call(&self.kept, self.acquiring(None)).await?)?,
        };
        self.token = Some(token);
        let started = Instant::now();
        for _ in 0..count {
            let renew = Request::Renew { holder: HOLDER, token, ttl: TTL };
            let reply = self.store.call(&self.kept, renew).await?;
            assert_eq!(reply, Reply::Renewed);
        }
        Ok(started.elapsed())
    }

    async fn acquire(&mut self, count: u32) -> Done<Duration> {
        let mut took = Duration::ZERO;
        for number in 0..count as usize {
            let (key, last) = &self.elections[number];
            let request = self.acquiring(*last);
            let started = Instant::now();
            let reply = self.store.call(key, request).await?;
            took += started.elapsed();
            self.elections[number].1 = Some(granted(&reply)?);
        }
        for (key, last) in &self.elections[..count as usize] {
            let Some(token) = *last else { continue };
            let reply = self.store.call(key, Request::Release { holder: HOLDER, token }).await?;
            assert_eq!(reply, Reply::Released);
        }
        settle().await;
        Ok(took)
    }
}

fn granted(reply: &Reply) -> Done<Token> {
    match reply {
        Reply::Granted { token, .. } => Ok(*token),
        other => Err(format!("{other:?} is no grant").into()),
    }
}

/// What an acquire asks before it writes.
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
    async fn connect(port: u16) -> Done<Self> {
        let options = ConnectOptions::new().with_require_leader(true);
        let mut client =
            Client::connect([format!("http://127.0.0.1:{port}")], Some(options)).await?;
        let lease = client.lease_grant(3_600, None).await?.id();
        client.put("raw/leader/kept", VALUE, Some(PutOptions::new().with_lease(lease))).await?;
        let (keeper, answers) = client.lease_keep_alive(lease).await?;
        Ok(Self { client, keeper, answers })
    }

    async fn renew(&mut self, count: u32) -> Done<Duration> {
        let mut kv = self.client.kv_client();
        let started = Instant::now();
        for _ in 0..count {
            self.keeper.keep_alive().await?;
            self.answers.message().await?;
            kv.get("raw/leader/kept", None).await?;
        }
        Ok(started.elapsed())
    }

    async fn acquire(&mut self, count: u32, reads: Reads) -> Done<Duration> {
        let (mut kv, mut leases) = (self.client.kv_client(), self.client.lease_client());
        let mut maintenance = self.client.maintenance_client();
        let mut granted = Vec::new();
        let mut took = Duration::ZERO;
        for number in 0..count {
            let names = [
                format!("raw/leader/{number}"),
                format!("raw/last/{number}"),
                "raw/history".to_owned(),
                "raw/quarantine".to_owned(),
            ];
            let gets =
                || names.iter().map(|name| TxnOp::get(name.as_str(), None)).collect::<Vec<_>>();
            let read = Txn::new().and_then(gets());
            let started = Instant::now();
            let lease = if reads == Reads::Some {
                kv.txn(read).await?;
                let both = (leases.grant(3_600, None), maintenance.status());
                futures_util::try_join!(both.0, both.1)?.0.id()
            } else {
                leases.grant(3_600, None).await?.id()
            };
            let write = Txn::new()
                .when([
                    Compare::create_revision(names[0].as_str(), CompareOp::Equal, 0),
                    Compare::mod_revision(names[1].as_str(), CompareOp::Greater, -1),
                    Compare::mod_revision(names[2].as_str(), CompareOp::Equal, 0),
                ])
                .and_then([
                    TxnOp::put(names[0].as_str(), VALUE, Some(PutOptions::new().with_lease(lease))),
                    TxnOp::put(names[1].as_str(), "tenure1 1795264407559814 1000", None),
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
