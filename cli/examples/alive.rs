//! A command for tests: says every 2 ms that it is alive, so that its true end is seen.
//!
//! `alive FILE [ignore-term] [fork] [detach]` appends lines `INSTANT ROLE TOKEN PROCESS BEGIN WHAT`
//! to the file, with the boot clock's nanoseconds and the begin of the process as the kernel has
//! it. When it begins, it looks for processes of earlier lines that are alive still, and says so.
//! Until it is killed, it writes the time into a file of its own, again and again in the same place:
//! `FILE.lives/ROLE-TOKEN-PROCESS-BEGIN`. So a thousand tenures leave a file that is read at once.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::process::Command;
use std::thread;
use std::time::Duration;

use nix::sys::signal::{SigSet, Signal};
use nix::time::{ClockId, clock_gettime};

const BETWEEN_SIGNS: Duration = Duration::from_millis(2);

#[expect(clippy::zombie_processes, reason = "they are to outlive this process")]
fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let [this, file, options @ ..] = &arguments[..] else { panic!("alive FILE [OPTION]..") };
    let has = |option: &str| options.iter().any(|one| one == option);
    if has("ignore-term") {
        SigSet::from(Signal::SIGTERM).thread_block().expect("a signal can be blocked");
    }
    let role = options.iter().find_map(|option| option.strip_prefix("as-")).unwrap_or("main");
    let voice = Voice::new(file, role);
    if role == "main" {
        for (process, role) in still_alive(file, &voice.token) {
            voice.say(&format!("beside {role} {process}"));
        }
    }
    voice.lives();
    voice.say("begin");
    if has("fork") {
        Command::new(this).args([file, "as-forked"]).spawn().expect("a fork");
    }
    if has("detach") {
        Command::new("setsid").args([this, file, "as-detached"]).spawn().expect("setsid");
    }
    loop {
        thread::sleep(BETWEEN_SIGNS);
        voice.lives();
    }
}

struct Voice {
    file: File,
    life: File,
    role: String,
    token: String,
    process: u32,
    begin: String,
}

impl Voice {
    fn new(file: &str, role: &str) -> Self {
        let process = std::process::id();
        let begin = begin_and_state(process).expect("this process").0;
        let token = std::env::var("TENURE_TOKEN").expect("a token");
        let lives = format!("{file}.lives");
        fs::create_dir_all(&lives).expect("a folder");
        let life = format!("{lives}/{role}-{token}-{process}-{begin}");
        let file = OpenOptions::new().append(true).create(true).open(file).expect("the file");
        let life = File::create(life).expect("a file of its own");
        Self { file, life, role: role.to_owned(), token, process, begin }
    }

    fn lives(&self) {
        self.life.write_all_at(format!("{:020}", nanos()).as_bytes(), 0).expect("a sign of life");
    }

    /// In one write, so that lines of several processes don't mix.
    fn say(&self, what: &str) {
        let Self { role, token, process, begin, .. } = self;
        let line = format!("{} {role} {token} {process} {begin} {what}\n", nanos());
        (&self.file).write_all(line.as_bytes()).expect("a line");
    }
}

fn nanos() -> i64 {
    let now = clock_gettime(ClockId::CLOCK_BOOTTIME).expect("a clock");
    now.tv_sec() * 1_000_000_000 + now.tv_nsec()
}

/// The start of a process, and its state, if it is there.
fn begin_and_state(process: u32) -> Option<(String, String)> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    let words: Vec<&str> = rest.split_whitespace().collect();
    Some((words.get(19)?.to_string(), words.first()?.to_string()))
}

/// Processes of other tenures, by the file, that have not ended.
fn still_alive(file: &str, token: &str) -> Vec<(u32, String)> {
    let text = fs::read_to_string(file).unwrap_or_default();
    let mut known: Vec<(u32, &str, &str)> = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        if let [_, role, of, process, begin, "begin"] = words[..]
            && of != token
        {
            known.push((process.parse().expect("a number"), begin, role));
        }
    }
    let lives = |(process, begin, _): &(u32, &str, &str)| {
        begin_and_state(*process)
            .is_some_and(|(since, state)| since == *begin && !"ZX".contains(&state))
    };
    known.into_iter().filter(lives).map(|(process, _, role)| (process, role.to_owned())).collect()
}
