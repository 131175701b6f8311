//! The cost of an election in memory: the blocks that are allocated while many idle elections lead
//! over one connection, by the function that allocated them.

#![allow(clippy::print_stdout, reason = "the table is the result")]

use std::collections::BTreeMap;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use clap::Parser;
use comfy_table::Table;
use serde::Deserialize;
use tenure::store::redis::{Redis, RedisConfig};
use tenure::{Candidate, Elections};
use tenure_bench::Outcome;
use tenure_servers::RedisServer;
use tokio::runtime::Builder;

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

/// Less than this for each election belongs to the process, or is not worth a line.
const LEAST: f64 = 2.0;
/// The bound until all of them lead.
const LEAD_WITHIN: Duration = Duration::from_secs(300);
/// Longer than a renew interval: each election has renewed, and what the joins needed is gone.
const STEADY: Duration = Duration::from_secs(6);
/// The crates whose functions say what a block is for; the collections and futures in between
/// don't.
const OURS: [&str; 5] = ["tenure", "redis", "tokio_util", "memory", "tokio"];

/// Says what an election costs in memory, item by item.
#[derive(Parser)]
struct Arguments {
    /// The number of elections.
    #[arg(long, default_value_t = 10_000)]
    elections: u32,
    /// Added by cargo.
    #[arg(long, hide = true)]
    bench: bool,
    /// Measure few elections, to see that it runs.
    #[arg(long)]
    test: bool,
}

/// The file that `dhat` writes, as far as it is read here.
#[derive(Deserialize)]
struct Profile {
    pps: Vec<Point>,
    ftbl: Vec<String>,
}

/// The blocks that were allocated at one place.
#[derive(Deserialize)]
struct Point {
    /// Bytes that are still allocated at the end.
    eb: u64,
    /// Blocks that are still allocated at the end.
    ebk: u64,
    /// The functions that were running, innermost first, as numbers of lines of the table.
    fs: Vec<usize>,
}

#[derive(Default)]
struct Item {
    bytes: f64,
    blocks: f64,
}

fn main() -> Outcome<()> {
    let arguments = Arguments::parse();
    let elections = if arguments.test { 20 } else { arguments.elections.max(1) };
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("profile.json");
    lead(elections, &file)?;
    let profile: Profile = serde_json::from_slice(&fs::read(&file)?)?;
    let items = items(&profile, elections);
    if items.is_empty() {
        return Err("no block was seen that elections have allocated".into());
    }
    println!("{}", table(items));
    Ok(())
}

/// Lets that many elections lead, and writes what is allocated then.
fn lead(elections: u32, file: &std::path::Path) -> Outcome<()> {
    let server = RedisServer::start()?;
    let store = Redis::new(RedisConfig::new("127.0.0.1", server.port()).trust_empty_store(true));
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let inside = runtime.enter();
    let profiler = dhat::Profiler::builder().file_name(file).trim_backtraces(Some(24)).build();
    let shared = Elections::new(store);
    let started: Result<Vec<Candidate>, _> = (0..elections)
        .map(|number| shared.candidate(format!("election-{number:06}")).start())
        .collect();
    let candidates = started?;
    let began = Instant::now();
    while !candidates.iter().all(Candidate::is_leader) {
        if began.elapsed() > LEAD_WITHIN {
            return Err(format!("not all elections had a leader within {LEAD_WITHIN:?}").into());
        }
        thread::sleep(Duration::from_millis(100));
    }
    thread::sleep(STEADY);
    // The profile says what is allocated now.
    drop(profiler);
    drop((candidates, shared, inside));
    runtime.shutdown_background();
    Ok(())
}

/// The allocations of each function of ours, for one election.
fn items(profile: &Profile, elections: u32) -> BTreeMap<String, Item> {
    let mut items: BTreeMap<String, Item> = BTreeMap::new();
    for point in &profile.pps {
        let frames = || {
            point.fs.iter().filter_map(|&place| profile.ftbl.get(place)).map(|line| function(line))
        };
        let Some(ours) = frames().position(|name| OURS.iter().any(|krate| is_of(name, krate)))
        else {
            continue;
        };
        let below = ours.checked_sub(1).and_then(|place| frames().nth(place));
        // The function that inserts into a collection says more than the allocator does.
        let below = below.map(short).filter(|name| !name.contains("Alloc"));
        let Some(name) = frames().nth(ours) else { continue };
        let name = below.map_or_else(|| name.to_owned(), |below| format!("{name}, {below}"));
        let item = items.entry(name).or_default();
        item.bytes += per(point.eb, elections);
        item.blocks += per(point.ebk, elections);
    }
    items.retain(|_, item| item.bytes >= LEAST);
    items
}

/// The function of a line such as `0x1234: path::of::function (file:line:column)`.
fn function(line: &str) -> &str {
    let line = line.split_once(": ").map_or(line, |(_, rest)| rest);
    line.rsplit_once(" (").map_or(line, |(name, _)| name)
}

fn is_of(function: &str, krate: &str) -> bool {
    let path = function.trim_start_matches(['<', '&']);
    path.strip_prefix(krate).is_some_and(|rest| rest.starts_with("::") || rest.starts_with('_'))
}

/// The last two parts of a path.
fn short(function: &str) -> &str {
    function.rmatch_indices("::").nth(1).map_or(function, |(at, _)| &function[at + 2..])
}

#[allow(clippy::cast_precision_loss, reason = "counts of bytes and blocks")]
fn per(count: u64, elections: u32) -> f64 {
    count as f64 / f64::from(elections)
}

fn table(items: BTreeMap<String, Item>) -> Table {
    let mut items: Vec<_> = items.into_iter().collect();
    items.sort_by(|(_, one), (_, other)| other.bytes.total_cmp(&one.bytes));
    let mut table = Table::new();
    table.load_style(comfy_table::presets::ASCII_MARKDOWN);
    table.set_header(["allocated by", "bytes an election", "blocks an election"]);
    for (name, item) in &items {
        table.add_row([name, &format!("{:.0}", item.bytes), &format!("{:.2}", item.blocks)]);
    }
    let sum = |of: fn(&Item) -> f64| items.iter().map(|(_, item)| of(item)).sum::<f64>();
    table.add_row([
        "all",
        &format!("{:.0}", sum(|item| item.bytes)),
        &format!("{:.2}", sum(|item| item.blocks)),
    ]);
    table
}
