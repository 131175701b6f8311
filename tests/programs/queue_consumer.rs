//! A queue, while its consumer is killed.

use std::collections::BTreeSet;

use rustix::process::Signal;
use tenure_servers::{RedisServer, Reply, undisturbed};

use super::program::{Program, example};

const JOBS: u64 = 40;

fn start(server: &RedisServer) -> Program {
    Program::start(example("queue_consumer").env("REDIS_URL", server.url()))
}

#[test]
fn every_job_is_done_though_the_consumer_is_killed() {
    undisturbed(|| {
        let server = RedisServer::start().unwrap();
        for job in 1..=JOBS {
            server.command(&["RPUSH", "{jobs}:waiting", &job.to_string()]).unwrap();
        }
        let first = start(&server);
        let second = start(&server);
        let (leader, waiting) = if leads(&first) { (first, second) } else { (second, first) };
        let mut done: BTreeSet<u64> = (0..5).map(|_| leader.number("did ")).collect();
        leader.signal(Signal::KILL);
        done.extend(
            leader.rest().iter().filter_map(|line| line.strip_prefix("did ")?.parse::<u64>().ok()),
        );
        let next = waiting.number("did ");
        assert!(done.len() < 40, "it was killed in the middle");
        done.insert(next);
        while done.len() < 40 {
            done.insert(waiting.number("did "));
        }
        assert_eq!(done, (1..=JOBS).collect());
        // The last job is removed after it was printed.
        let mut waiting = waiting;
        assert!(waiting.terminate().success());
        for list in ["{jobs}:waiting", "{jobs}:begun"] {
            assert_eq!(server.command(&["LLEN", list]).unwrap(), Reply::Integer(0), "{list}");
        }
    });
}

/// True if this process leads, and not the other.
fn leads(program: &Program) -> bool {
    loop {
        let line = program.says(" tenure: ");
        if line.starts_with("elected ") {
            return true;
        }
        if line.contains("another candidate has the lease") {
            return false;
        }
    }
}
