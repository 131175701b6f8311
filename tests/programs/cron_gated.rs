//! A job at set times, while its leader changes.

use tenure_servers::{RedisServer, undisturbed};

use super::program::{Program, example};

fn start(server: &RedisServer) -> Program {
    let mut command = example("cron_gated");
    Program::start(command.env("REDIS_URL", server.url()).env("EVERY_SECONDS", "1"))
}

#[test]
fn the_next_leader_repeats_no_run() {
    undisturbed(|| {
        let server = RedisServer::start().unwrap();
        let mut leader = start(&server);
        let mut last = leader.number("run ");
        for _ in 0..3 {
            let successor = start(&server);
            successor.says("another candidate has the lease");
            let next = leader.number("run ");
            assert!(next > last, "{next} after {last}");
            assert!(leader.terminate().success());
            last = leader.rest().iter().filter_map(|line| run(line)).fold(next, u64::max);
            let first = successor.number("run ");
            assert!(first > last, "{first} after {last}");
            (leader, last) = (successor, first);
        }
    });
}

fn run(line: &str) -> Option<u64> {
    line.strip_prefix("run ")?.split(',').next()?.parse().ok()
}
