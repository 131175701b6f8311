//! The log of leadership: what it says, when lines are lost, and what a killed process leaves
//! behind.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use tenure::fence::FenceError;
use tenure::runtime::{Connection, Runtime, TokioRuntime};
use tenure::store::Memory;
use tenure::testing::World;
use tenure::trace::Log;
use tenure::{Candidate, Config, Elections, Event, Instant, StartError, Token};

/// A folder of one test, which is removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("tenure-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The kinds of a file's lines, without those about the clock.
fn kinds(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.is_empty() || text.ends_with('\n'), "{text}");
    let kind = |line: &str| line.split('"').nth(1).unwrap().to_owned();
    text.lines().map(kind).filter(|kind| kind != "clock").collect()
}

/// The number in a field of a line.
fn number(line: &str, field: &str) -> u64 {
    let (_, rest) = line.split_once(&format!("\"{field}\":")).unwrap();
    rest[..rest.find(|letter: char| !letter.is_ascii_digit()).unwrap()].parse().unwrap()
}

const TTL: Duration = Duration::from_secs(30);

/// A lease that outlasts a pause of the machine, and is renewed soon.
fn config() -> Config {
    Config::builder(TTL).renew_interval(Duration::from_millis(200)).build().unwrap()
}

#[tokio::test]
async fn a_tenure_from_its_election_to_its_end() {
    let folder = Folder::new("ends");
    let log = Log::create_in(&folder.0).unwrap();
    let builder = Candidate::builder(Memory::new(), "job").name("one").config(config());
    let candidate = builder.trace(log.clone()).start().unwrap();
    let tenure = candidate.elected().await.unwrap();
    let before = tenure.remaining();
    let mut events = candidate.events();
    tokio::time::sleep(Duration::from_millis(250)).await;
    while !matches!(events.next().await.unwrap(), Event::Renewed(_)) {}
    candidate.stop().await.unwrap();
    log.flush();
    let text = fs::read_to_string(log.path()).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let token = format!("\"token\":{}", tenure.token());
    let of = |kind: &str| {
        let line = lines.iter().find(|line| line.starts_with(&format!("{{\"{kind}\":")));
        *line.unwrap_or_else(|| panic!("no {kind} in {text}"))
    };
    assert!(lines[0].starts_with("{\"header\":{\"format\":1,\"boot\":\""), "{text}");
    for (kind, field) in [("elected", "\"name\":\"one\""), ("renewed", "\"key\":\"job\"")] {
        assert!(of(kind).contains(&token) && of(kind).contains(field), "{text}");
    }
    assert!(of("stepped-down").contains("\"reason\":\"resigned\""), "{text}");
    let left = Duration::from_nanos(number(of("elected"), "left"));
    assert!(before <= left && left < TTL, "{before:?} {text}");
    let [elected, ended] = ["elected", "stepped-down"].map(|kind| number(of(kind), "at"));
    assert!(ended - elected >= 250_000_000, "{text}");
    assert!(number(lines[0], "at") <= elected && ended <= TokioRuntime.now().as_nanos());
}

/// A log that said too little of a claim, or nothing of its end, would hide two leaders from an
/// audit.
#[tokio::test]
async fn each_end_has_its_reason_and_each_renewal_its_claim() {
    let folder = Folder::new("reasons");
    let world = World::new().unwrap();
    for reason in ["expired", "superseded", "resigned"] {
        let log = Log::create_in(&folder.0).unwrap();
        let process = world.process();
        let builder = process.candidate(reason).config(config()).trace(log.clone());
        let candidate = builder.start().unwrap();
        let tenure = candidate.elected().await.unwrap();
        tokio::time::sleep(config().renew_interval() * 5 / 2).await;
        let remaining = tenure.remaining();
        match reason {
            "expired" => process.cut(),
            "superseded" => drop(world.supersede(reason).unwrap()),
            _ => candidate.resign().await.unwrap(),
        }
        tenure.ended().await;
        // The driver hears of it too.
        tokio::time::sleep(Duration::from_millis(10)).await;
        log.flush();
        let text = fs::read_to_string(log.path()).unwrap();
        let of = |kind: &str| -> Vec<&str> {
            text.lines().filter(|line| line.starts_with(&format!("{{\"{kind}\":"))).collect()
        };
        let &[ended] = &of("stepped-down")[..] else { panic!("{text}") };
        assert!(ended.contains(&format!("\"reason\":\"{reason}\"")), "{ended}");
        let renewals = of("renewed");
        assert!(renewals.len() >= 2, "{text}");
        let nanos = |line: &str, field| Duration::from_nanos(number(line, field));
        for renewal in &renewals {
            let left = nanos(renewal, "left");
            assert!(remaining <= left && left <= config().validity(), "{remaining:?} {text}");
        }
        if reason == "expired" {
            let last = renewals.last().unwrap();
            assert!(nanos(ended, "at") >= nanos(last, "at") + nanos(last, "left"), "{text}");
        }
    }
}

type FencedWrite = Result<(), FenceError<io::Error>>;

#[tokio::test]
async fn writes_have_outcomes() {
    let folder = Folder::new("writes");
    let log = Log::create_in(&folder.0).unwrap();
    let elections = Elections::new(Memory::new()).trace(log.clone());
    let candidate = elections.candidate("job").config(config()).start().unwrap();
    let tenure = candidate.elected().await.unwrap();
    tenure.trace_write("a \"b\"").accepted();
    tenure.trace_write("b").refused();
    drop(tenure.trace_write("c"));
    let fence = || "f".to_owned();
    let token = tenure.token();
    tenure.trace_write("d").ended(&FencedWrite::Ok(()));
    tenure.trace_write("e").ended(&FencedWrite::Err(FenceError::Lost {
        fence: fence(),
        token,
        stored: None,
    }));
    let source = io::Error::other("cut");
    tenure
        .trace_write("f")
        .ended(&FencedWrite::Err(FenceError::Unknown { fence: fence(), source }));
    log.flush();
    let text = fs::read_to_string(log.path()).unwrap();
    let writes: Vec<&str> = text.lines().filter(|line| line.starts_with("{\"write\"")).collect();
    let outcomes = [
        r#""a \"b\"","outcome":"accepted""#,
        r#""b","outcome":"refused""#,
        r#""c","outcome":"unknown""#,
        r#""d","outcome":"accepted""#,
        r#""e","outcome":"refused""#,
        r#""f","outcome":"unknown""#,
    ];
    assert_eq!(writes.len(), outcomes.len(), "{text}");
    for (write, outcome) in writes.iter().zip(outcomes) {
        assert!(write.contains(outcome), "{write}");
        assert!(number(write, "began") <= number(write, "at"));
    }
}

#[tokio::test]
async fn a_dropped_driver_is_an_end() {
    let folder = Folder::new("driver");
    let log = Log::create_in(&folder.0).unwrap();
    let builder = Candidate::builder(Memory::new(), "job").config(config()).trace(log.clone());
    let (candidate, driver) = builder.build().unwrap();
    let driver = tokio::spawn(driver.run());
    candidate.elected().await.unwrap();
    driver.abort();
    assert!(driver.await.unwrap_err().is_cancelled());
    log.flush();
    assert_eq!(kinds(log.path()), ["header", "elected", "stepped-down"]);
    assert!(fs::read_to_string(log.path()).unwrap().contains("\"reason\":\"driver-gone\""));
}

/// The machine's clock, an hour ahead.
#[derive(Debug)]
struct Ahead;

impl Runtime for Ahead {
    fn now(&self) -> Instant {
        TokioRuntime.now() + Duration::from_secs(3_600)
    }

    fn sleep_until(&self, deadline: Instant) -> BoxFuture<'static, ()> {
        TokioRuntime.sleep_until(deadline - Duration::from_secs(3_600))
    }

    fn spawn(&self, task: BoxFuture<'static, ()>) {
        TokioRuntime.spawn(task);
    }

    fn connect(&self, host: &str, port: u16) -> BoxFuture<'static, io::Result<Connection>> {
        TokioRuntime.connect(host, port)
    }

    fn entropy(&self) -> io::Result<u128> {
        TokioRuntime.entropy()
    }
}

#[tokio::test]
async fn a_file_has_one_clock() {
    let folder = Folder::new("clocks");
    let start = |log: &Log, runtime: Arc<dyn Runtime>| {
        let elections = Elections::with_runtime(Memory::new(), runtime);
        elections.candidate("job").config(config()).trace(log.clone()).start()
    };
    let (machine, own) = (
        Log::create(folder.0.join("machine")).unwrap(),
        Log::create(folder.0.join("own")).unwrap(),
    );
    let _candidates = [
        start(&machine, Arc::new(TokioRuntime)).unwrap(),
        start(&machine, Arc::new(TokioRuntime)).unwrap(),
        start(&own, Arc::new(Ahead)).unwrap(),
    ];
    let refused = [start(&machine, Arc::new(Ahead)), start(&own, Arc::new(TokioRuntime))];
    for refused in refused {
        let error = refused.unwrap_err();
        assert!(matches!(&error, StartError::Trace(_)), "{error}");
        assert!(error.to_string().contains("another runtime's clock"), "{error}");
    }
    let boot = |log: &Log| {
        log.flush();
        fs::read_to_string(log.path()).unwrap().contains("\"boot\":null")
    };
    assert_eq!([boot(&machine), boot(&own)], [false, true]);
}

#[test]
fn a_file_is_never_overwritten() {
    let folder = Folder::new("exists");
    let path = folder.0.join("log");
    fs::write(&path, "kept").unwrap();
    assert_eq!(Log::create(&path).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    assert_eq!(fs::read_to_string(&path).unwrap(), "kept");
}

#[tokio::test]
async fn without_a_log_a_write_is_not_kept() {
    let candidate = Candidate::builder(Memory::new(), "job").config(config()).start().unwrap();
    let tenure = candidate.elected().await.unwrap();
    let write = tenure.trace_write("jobs");
    assert_eq!(format!("{write:?}"), "Write { is_traced: false }");
    write.accepted();
    assert!(tenure.token() >= Token::FIRST);
}

/// The variable that names the folder of the process to be killed.
const KILLED_IN: &str = "TENURE_TRACE_KILLED_IN";
const WRITES: usize = 100;

#[test]
fn a_killed_process_leaves_its_lines() {
    if let Some(folder) = std::env::var_os(KILLED_IN) {
        lead_and_die(Path::new(&folder));
    }
    let folder = Folder::new("killed");
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "trace::a_killed_process_leaves_its_lines"]).env(KILLED_IN, &folder.0);
    let out = child.output().unwrap();
    assert!(!out.status.success());
    let [file] = fs::read_dir(&folder.0).unwrap().collect::<Vec<_>>().try_into().unwrap();
    let kinds = kinds(&file.unwrap().path());
    assert_eq!(kinds[..2], ["header", "elected"], "{out:?}");
    assert_eq!(kinds.iter().filter(|kind| *kind == "write").count(), WRITES);
}

/// Writes, waits until the writer's thread has written all of it, and dies without any clean-up.
fn lead_and_die(folder: &Path) -> ! {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let log = Log::create_in(folder).unwrap();
        let builder = Candidate::builder(Memory::new(), "job").config(config()).trace(log.clone());
        let candidate = builder.start().unwrap();
        let tenure = candidate.elected().await.unwrap();
        (0..WRITES).for_each(|_| tenure.trace_write("jobs").accepted());
        let end = std::time::Instant::now() + Duration::from_secs(60);
        let is_written = || {
            let text = fs::read_to_string(log.path()).unwrap();
            text.ends_with('\n') && text.matches("{\"write\":").count() == WRITES
        };
        while !is_written() && std::time::Instant::now() < end {
            std::thread::sleep(Duration::from_millis(10));
        }
        std::process::abort()
    })
}
