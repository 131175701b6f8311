//! The simulated Redis answers byte for byte as the real one does.
//!
//! Theorem: for each sequence of commands over several connections, every connection reads the same
//! bytes from both, replies and pushed messages in the same order. Numbers that no two servers
//! share (client ids, times, identities) are compared by their shape.
//!
//! Needs `redis-server`; the recorded behaviour is that of 7.0.15.
// Helpers stand outside of the functions that clippy.toml means by tests.
#![allow(clippy::unwrap_used)]

mod cases;
mod generate;
mod scripts;
mod shipped;
mod world;

use std::sync::Mutex;

use proptest::test_runner::{Config, TestCaseError, TestRunner};
use tenure_servers::RedisServer;
use tenure_sim::engines::redis::{Role, Settings};

use world::{Step, first_difference};

/// Keeps the number of servers that run at once within what a small machine can carry.
static RANDOM: Mutex<()> = Mutex::new(());

fn settings() -> Settings {
    Settings { seed: 7, ..Settings::default() }
}

/// One database, as the simulated server has.
fn start(args: &[&str]) -> RedisServer {
    RedisServer::start_with(&[&["--databases", "1"], args].concat()).unwrap()
}

fn assert_same(server: &RedisServer, settings: &Settings, steps: &[Step]) {
    if let Some(difference) = first_difference(server.port(), settings, steps) {
        panic!("{difference}");
    }
}

#[test]
fn known_cases_are_answered_alike() {
    let server = start(&[]);
    assert_same(&server, &settings(), &cases::commands());
    for steps in
        [cases::subscriptions(), cases::scripts(), cases::failing_scripts(), cases::quitting()]
    {
        assert_same(&server, &settings(), &steps);
    }

    let server = start(&["--maxmemory", "1"]);
    assert_same(&server, &Settings { full: true, ..settings() }, &cases::without_memory());

    let server = start(&["--requirepass", "secret"]);
    let with_password = Settings { password: Some("secret".to_owned()), ..settings() };
    assert_same(&server, &with_password, &cases::passwords());

    let server = start(&["--replicaof", "127.0.0.1 1", "--maxmemory-policy", "allkeys-lru"]);
    let replica =
        Settings { role: Role::Replica, maxmemory_policy: "allkeys-lru".to_owned(), ..settings() };
    assert_same(&server, &replica, &cases::on_a_replica());
}

#[test]
fn random_sequences_are_answered_alike() {
    let _alone = RANDOM.lock();
    let server = start(&[]);
    check(&server, &settings(), 400, &generate::steps());
}

#[test]
fn shipped_scripts_answer_alike() {
    let _alone = RANDOM.lock();
    let server = start(&[]);
    check(&server, &settings(), 200, &shipped::steps());
    let server = start(&["--maxmemory", "1"]);
    let full = Settings { full: true, ..settings() };
    check(&server, &full, 100, &shipped::steps());
}

/// Runs as many sequences as asked for, and shrinks one that is answered differently.
fn check(
    server: &RedisServer,
    settings: &Settings,
    cases: u32,
    steps: &impl proptest::strategy::Strategy<Value = Vec<Step>>,
) {
    let mut runner =
        TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
    let outcome =
        runner.run(steps, |steps| match first_difference(server.port(), settings, &steps) {
            None => Ok(()),
            Some(difference) => Err(TestCaseError::fail(difference)),
        });
    if let Err(error) = outcome {
        panic!("{error}");
    }
}
