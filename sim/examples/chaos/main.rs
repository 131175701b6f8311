//! A chaos test of a service: two processes of it, a real Redis server, faults, and the audit of what they logged.
//!
//! ```text
//! cargo run --release -p tenure-sim --features real --example chaos
//! ```
//!
//! The service is this program itself, started with the argument `service`. To test another one, start that instead: it
//! must take part in the election with a log (`Elections::trace`), and end when its standard input does.

#![allow(clippy::print_stdout, reason = "the program prints what it does")]

use std::error::Error;
use std::fs;
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::process::{ChildStdin, ExitCode};
use std::thread::sleep;
use std::time::{Duration, Instant};

use tenure::fence::redis::Fence;
use tenure::store::Key;
use tenure::store::redis::{Redis, RedisConfig};
use tenure::trace::Log;
use tenure::{Config, Elections, Tenure};
use tenure_servers::{Flow, Proxy, RedisServer, Reply, Worker};
use tenure_sim::audit::{Audit, Settings, Verdict};

type Failure = Box<dyn Error + Send + Sync>;

const TTL: Duration = Duration::from_secs(3);
/// Longer than a lease and the quarantine of a server that has restarted.
const LONG: Duration = Duration::from_secs(7);

fn main() -> Result<ExitCode, Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    match words[..] {
        ["service", store, database, folder, name] => {
            runtime.block_on(service(store.parse()?, database.parse()?, folder.as_ref(), name))?;
            Ok(ExitCode::SUCCESS)
        }
        _ => runtime.block_on(chaos()),
    }
}

/// A node: a process of the service, and its network.
struct Node {
    name: String,
    network: Proxy,
    process: Worker,
    /// The process ends once this is dropped.
    input: ChildStdin,
}

impl Node {
    async fn start(number: usize, test: &Test) -> Result<Self, Failure> {
        let network = Proxy::start(([127, 0, 0, 1], test.store.port()).into()).await?;
        let name = format!("node-{number}");
        let (process, input) = test.process(&network, &name)?;
        Ok(Self { name, network, process, input })
    }

    fn restart(&mut self, test: &Test) -> Result<(), Failure> {
        (self.process, self.input) = test.process(&self.network, &self.name)?;
        Ok(())
    }
}

/// The servers and the folder of the logs.
struct Test {
    store: RedisServer,
    database: RedisServer,
    folder: tempfile::TempDir,
}

impl Test {
    fn process(&self, network: &Proxy, name: &str) -> Result<(Worker, ChildStdin), Failure> {
        let (store, database) = (network.port().to_string(), self.database.port().to_string());
        let folder = self.folder.path().display().to_string();
        let arguments = ["service", &store, &database, &folder, name];
        let mut process = Worker::start(&std::env::current_exe()?, &arguments)?;
        let (input, _) = process.pipes().ok_or("a process has no pipes")?;
        Ok((process, input))
    }

    /// The place of the node that leads, as the store says.
    fn leader(&self, nodes: &[Node]) -> Result<usize, Failure> {
        let began = Instant::now();
        while began.elapsed() < 10 * LONG {
            let asks = ["HMGET", "{tenure}:leader:job", "released", "name"];
            if let Reply::Array(fields) = self.store.command(&asks)?
                && let [Reply::BulkString(released), Reply::BulkString(name)] = &fields[..]
                && released == b"0"
                && let Some(place) = nodes.iter().position(|node| node.name.as_bytes() == name)
            {
                return Ok(place);
            }
            sleep(Duration::from_millis(20));
        }
        Err("no node leads".into())
    }

    fn audit(&self) -> Result<Verdict, Failure> {
        let mut audit = Audit::new(Settings::default());
        for entry in fs::read_dir(self.folder.path())? {
            let path = entry?.path();
            audit.read(&path.display().to_string(), BufReader::new(fs::File::open(&path)?))?;
        }
        let report = audit.judge()?;
        println!("{} tenures and {} accepted writes in the logs", report.tenures, report.writes);
        for violation in &report.violations {
            println!("{}: {}", violation.property, violation.finding);
        }
        Ok(report.verdict())
    }
}

async fn chaos() -> Result<ExitCode, Failure> {
    let keeps = ["--appendonly", "yes"];
    let (store, database) = (RedisServer::start_with(&keeps)?, RedisServer::start()?);
    let mut test = Test { store, database, folder: tempfile::tempdir()? };
    let mut nodes = vec![Node::start(0, &test).await?, Node::start(1, &test).await?];
    for fault in
        ["pause", "cut off", "kill", "connections half open", "store silent", "store restart"]
    {
        // Long enough to have led for a while.
        sleep(TTL);
        let leader = test.leader(&nodes)?;
        println!("{fault}: {}", nodes[leader].name);
        let node = &mut nodes[leader];
        match fault {
            "pause" => {
                node.process.pause()?;
                sleep(LONG);
                node.process.resume()?;
            }
            "cut off" => {
                node.network.set(Flow::BlackHole);
                sleep(LONG);
                node.network.cut();
                node.network.set(Flow::Forward);
            }
            "kill" => {
                node.process.kill()?;
                sleep(LONG);
                node.restart(&test)?;
            }
            "connections half open" => {
                node.network.half_open();
                sleep(LONG);
                node.network.cut();
            }
            "store silent" => {
                test.store.pause()?;
                sleep(LONG);
                test.store.resume()?;
            }
            _ => test.store.restart()?,
        }
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
    let verdict = test.audit()?;
    println!("{verdict:?}");
    Ok(ExitCode::from(verdict.exit_code()))
}

/// The service: a leader writes to its database, by the fence, and logs each write.
async fn service(store: u16, database: u16, folder: &Path, name: &str) -> Result<(), Failure> {
    let log = Log::create_in(folder)?;
    let elections = Elections::new(Redis::new(RedisConfig::new("127.0.0.1", store)));
    let candidate = elections.trace(log.clone()).candidate("job").name(name);
    let candidate = candidate.config(Config::builder(TTL).build()?).start()?;
    let database = redis::Client::open(("127.0.0.1", database))?;
    let work = async |tenure: Tenure| {
        while tenure.is_current() {
            // The next attempt takes the database over again.
            if let Err(error) = write(&database, &tenure).await {
                eprintln!("{name}: {error}");
            }
        }
    };
    candidate.run_until(input_ends(), work).await?;
    log.flush();
    Ok(())
}

async fn write(database: &redis::Client, tenure: &Tenure) -> Result<(), Failure> {
    let mut database = database.get_multiplexed_async_connection().await?;
    let fence = Fence::new(&Key::new("job")?);
    let taken_over = fence.take_over(&mut database, tenure.token()).await?;
    while tenure.is_current() {
        let write = tenure.trace_write("database");
        let count = "return redis.call('INCR', KEYS[1])";
        let result: Result<u64, _> = taken_over.eval(&mut database, count, &["count"], &[]).await;
        write.ended(&result);
        result?;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(())
}

async fn input_ends() {
    let ended = tokio::task::spawn_blocking(|| io::stdin().read_to_end(&mut Vec::new()));
    // Whatever the reason, there is nothing more to wait for.
    let _ = ended.await;
}
