//! A chaos test of a service: two processes of it, a real Redis server for its election and another
//! one as its database, faults, and two questions at the end. Was each order shipped once? And does
//! the audit find what the processes logged to be in order?
//!
//! ```text
//! cargo run --release -p tenure-sim --features real --example chaos
//! cargo run --release -p tenure-sim --features real --example chaos -- unfenced   # a service that must fail
//! ```
//!
//! The service ([`service`]) is this program itself, started with the argument `service`. To test
//! another one, start that instead: it must take part in the election with a log
//! (`Elections::trace`), and end when its standard input does.

#![allow(clippy::print_stdout, reason = "the program prints what it does")]

mod service;

use std::error::Error;
use std::fs;
use std::io::BufReader;
use std::process::{ChildStdin, ExitCode};
use std::thread::sleep;
use std::time::{Duration, Instant};

use service::{Database, TABLE, serve};
use tenure_servers::{Flow, Proxy, RedisServer, Reply, Worker};
use tenure_sim::audit::{Audit, Settings, Verdict};

type Failure = Box<dyn Error + Send + Sync>;

const TTL: Duration = Duration::from_secs(3);
/// Longer than a lease and the quarantine of a server that has restarted.
const LONG: Duration = Duration::from_secs(7);
/// Shorter than the time after which a client of the database gives up.
const SLOW: Duration = Duration::from_millis(300);

fn main() -> Result<ExitCode, Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let result = match words[..] {
        ["service", guard, store, database, folder, name] => {
            let database = Database::new(database.parse()?, guard, name)?;
            runtime.block_on(serve(store.parse()?, &database, folder.as_ref(), name))
        }
        [] => runtime.block_on(chaos("fenced")),
        [guard] => runtime.block_on(chaos(guard)),
        _ => Err("the only argument is `unfenced`".into()),
    };
    let Err(error) = result else { return Ok(ExitCode::SUCCESS) };
    println!("{error}");
    Ok(ExitCode::FAILURE)
}

/// A node: a process of the service, and its networks.
struct Node {
    name: String,
    to_store: Proxy,
    to_database: Proxy,
    process: Worker,
    /// The process ends once this is dropped.
    input: ChildStdin,
}

impl Node {
    async fn start(number: usize, test: &Test) -> Result<Self, Failure> {
        let proxy = |server: &RedisServer| Proxy::start(([127, 0, 0, 1], server.port()).into());
        let (to_store, to_database) = (proxy(&test.store).await?, proxy(&test.database).await?);
        let name = format!("node-{number}");
        let (process, input) = test.process([&to_store, &to_database], &name)?;
        Ok(Self { name, to_store, to_database, process, input })
    }

    fn restart(&mut self, test: &Test) -> Result<(), Failure> {
        (self.process, self.input) =
            test.process([&self.to_store, &self.to_database], &self.name)?;
        Ok(())
    }

    /// A write of this leader stays on its way, and arrives when another node leads.
    fn late_write(&self) -> Result<(), Failure> {
        let before = self.to_database.withheld();
        self.to_database.set_requests(Flow::Delay(SLOW));
        let began = Instant::now();
        // The second request is the write: the service reads first.
        while self.to_database.withheld() < before + 2 {
            if began.elapsed() > LONG {
                return Err("the leader writes nothing".into());
            }
            sleep(Duration::from_millis(5));
        }
        self.to_database.set(Flow::Hold);
        self.to_store.set(Flow::BlackHole);
        sleep(LONG);
        self.to_database.set(Flow::Forward);
        self.to_store.cut();
        self.to_store.set(Flow::Forward);
        Ok(())
    }
}

/// An order that was shipped.
struct Shipped {
    order: u64,
    token: String,
    by: String,
}

/// The servers and the folder of the logs.
struct Test {
    guard: String,
    store: RedisServer,
    database: RedisServer,
    folder: tempfile::TempDir,
}

impl Test {
    fn process(&self, networks: [&Proxy; 2], name: &str) -> Result<(Worker, ChildStdin), Failure> {
        let [store, database] = networks.map(|network| network.port().to_string());
        let folder = self.folder.path().display().to_string();
        let arguments = ["service", &self.guard, &store, &database, &folder, name];
        let mut process = Worker::start(&std::env::current_exe()?, &arguments)?;
        let (input, _) = process.pipes().ok_or("a process has no pipes")?;
        Ok((process, input))
    }

    /// The rows of the service, in the order of its orders.
    fn shipped(&self) -> Result<Vec<Shipped>, Failure> {
        let Reply::Array(fields) = self.database.command(&["HGETALL", TABLE])? else {
            return Err("the database has no table".into());
        };
        let mut rows = Vec::new();
        for row in fields.chunks(2) {
            let [Reply::BulkString(key), Reply::BulkString(by)] = row else {
                return Err(format!("not a row: {row:?}").into());
            };
            let [key, by] = [key, by].map(|text| String::from_utf8_lossy(text).into_owned());
            let (order, token) = key.split_once(' ').ok_or("a row has no token")?;
            rows.push(Shipped { order: order.parse()?, token: token.to_owned(), by });
        }
        rows.sort_by_key(|row| row.order);
        Ok(rows)
    }

    /// The place of the node that leads: it ships an order now. The store's record does not say
    /// that, since it also names a candidate that has a lease and still waits, and one that has
    /// died.
    fn leader(&self, nodes: &[Node]) -> Result<usize, Failure> {
        let (began, before) = (Instant::now(), self.shipped()?.len());
        while began.elapsed() < 10 * LONG {
            let rows = self.shipped()?;
            if rows.len() > before
                && let Some(last) = rows.last()
                && let Some(place) = nodes.iter().position(|node| node.name == last.by)
            {
                return Ok(place);
            }
            sleep(Duration::from_millis(20));
        }
        Err("no node ships orders".into())
    }

    /// Judges the service's rows: each order was shipped once.
    fn judge(&self) -> Result<(), Failure> {
        let rows = self.shipped()?;
        println!("{} orders were shipped", rows.len());
        if let Some(twice) = rows.windows(2).find(|rows| rows[0].order == rows[1].order) {
            let by = |row: &Shipped| format!("{} under token {}", row.by, row.token);
            let (one, other, order) = (by(&twice[0]), by(&twice[1]), twice[0].order);
            return Err(format!("order {order} was shipped twice: by {one}, and by {other}").into());
        }
        let is_whole = rows.iter().zip(0..).all(|(row, order)| row.order == order);
        if is_whole && !rows.is_empty() { Ok(()) } else { Err("orders are missing".into()) }
    }

    /// Audits the logs.
    fn audit(&self) -> Result<(), Failure> {
        let mut audit = Audit::new(Settings::default());
        for entry in fs::read_dir(self.folder.path())? {
            let path = entry?.path();
            audit.read(&path.display().to_string(), BufReader::new(fs::File::open(&path)?))?;
        }
        let report = audit.judge()?;
        println!("{} tenures and {} accepted writes in the logs", report.tenures, report.writes);
        for (property, compared) in &report.properties {
            println!("{property}: {} compared", compared.compared);
        }
        for violation in &report.violations {
            println!("{}: {}", violation.property, violation.finding);
        }
        match report.verdict() {
            Verdict::Held => Ok(()),
            other => Err(format!("the audit: {other:?}").into()),
        }
    }
}

const FAULTS: [&str; 8] = [
    "pause",
    "cut off",
    "kill",
    "connections half open",
    "database cut off",
    "late write",
    "store silent",
    "store restart",
];

async fn chaos(guard: &str) -> Result<(), Failure> {
    let keeps = ["--appendonly", "yes"];
    let (store, database) = (RedisServer::start_with(&keeps)?, RedisServer::start()?);
    let (guard, folder) = (guard.to_owned(), tempfile::tempdir()?);
    let mut test = Test { guard, store, database, folder };
    let mut nodes = vec![Node::start(0, &test).await?, Node::start(1, &test).await?];
    for fault in FAULTS {
        // Long enough to have led for a while.
        sleep(TTL);
        let leader = test.leader(&nodes)?;
        println!("{fault}: {}", nodes[leader].name);
        strike(fault, &mut nodes[leader], &mut test)?;
    }
    sleep(LONG);
    test.leader(&nodes)?;
    for Node { mut process, input, .. } in nodes {
        drop(input);
        let began = Instant::now();
        while !process.has_ended()? && began.elapsed() < LONG {
            sleep(Duration::from_millis(20));
        }
    }
    test.judge()?;
    test.audit()
}

fn strike(fault: &str, node: &mut Node, test: &mut Test) -> Result<(), Failure> {
    match fault {
        "pause" => {
            node.process.pause()?;
            sleep(LONG);
            node.process.resume()?;
        }
        "cut off" | "database cut off" => {
            let network = if fault == "cut off" { &node.to_store } else { &node.to_database };
            network.set(Flow::BlackHole);
            sleep(LONG);
            network.cut();
            network.set(Flow::Forward);
        }
        "kill" => {
            node.process.kill()?;
            sleep(LONG);
            node.restart(test)?;
        }
        "connections half open" => {
            node.to_store.half_open();
            sleep(LONG);
            node.to_store.cut();
        }
        "late write" => node.late_write()?,
        "store silent" => {
            test.store.pause()?;
            sleep(LONG);
            test.store.resume()?;
        }
        _ => test.store.restart()?,
    }
    Ok(())
}
