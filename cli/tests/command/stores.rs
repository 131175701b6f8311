//! A day with the command, at each kind of server.

use std::process::Command;
use std::time::{Duration, SystemTime};

use nix::sys::signal::Signal;
use tenure_servers::{EtcdServer, KubeApiServer, MariadbServer, PostgresServer};

use super::exclusion::Election;
use super::hosts::Host;

/// A command's status and output.
fn says(election: &Election, arguments: &[&str]) -> (Option<i32>, String) {
    let output = election.tenure().args(arguments).output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&said).into_owned())
}

/// True if the time after `since` in a line of `status` lies within the last ten minutes.
fn is_recent(since: &str) -> bool {
    let since = humantime::parse_rfc3339(since).unwrap();
    let ago = SystemTime::now().duration_since(since).unwrap_or_default();
    ago < Duration::from_secs(600)
}

/// The same by the program that `TENURE_OTHER` names, which `scripts/mixed` has built of another
/// version.
fn by_other(command: &Command) -> Command {
    let other = std::env::var_os("TENURE_OTHER");
    let mut same = Command::new(other.as_deref().unwrap_or(command.get_program()));
    same.args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => same.env(name, value),
            None => same.env_remove(name),
        };
    }
    same
}

fn a_day(election: Election) {
    day(&election.steady(), true);
}

fn day(election: &Election, tells_since: bool) {
    assert_eq!(says(election, &["status", "job"]), (Some(1), "job: nobody leads\n".to_owned()));
    let start = |name| Host::start(&mut election.command(&["--name", name], &[]));
    let leads = |name| {
        let (status, said) = says(election, &["status", "job", "--wait-for", name]);
        assert_eq!(status, Some(0), "{said}");
        let rest = said.strip_prefix(&format!("job: {name} leads")).expect(&said);
        let since = rest.split_once(", token ").expect(&said).0;
        assert_eq!(since.strip_prefix(" since ").is_some_and(is_recent), tells_since, "{said}");
    };
    let mut first = start("host-a");
    let token = election.journal.next_after(0).token;
    leads("host-a");
    let mut second = Host::start(&mut by_other(&election.command(&["--name", "host-b"], &[])));
    let handover = ["handover", "job", "--to", "host-b", "--timeout", "60s"];
    let (status, said) = says(election, &handover);
    assert_eq!(status, Some(0), "{said}");
    let token = election.journal.next_after(token).token;
    leads("host-b");
    let (status, said) = says(election, &["status", "--all"]);
    assert_eq!(status, Some(0), "{said}");
    assert!(said.starts_with("job: host-b leads") && said.lines().count() == 1, "{said}");
    second.signal(Signal::SIGTERM);
    assert_eq!(second.ends(), Some(128 + 15), "as its command");
    election.journal.next_after(token);
    leads("host-a");
    first.signal(Signal::SIGTERM);
    assert_eq!(first.ends(), Some(128 + 15), "as its command");
    let (status, said) = says(election, &["status", "job", "--wait-for", "none"]);
    assert_eq!(status, Some(0), "{said}");
    election.journal.assert_excluded(3);
}

#[test]
fn a_day_with_a_file() {
    a_day(Election::in_a_file());
}

#[test]
fn a_day_with_redis() {
    a_day(Election::at_redis());
}

#[test]
fn a_day_with_postgres() {
    let server = PostgresServer::start().unwrap();
    let url = format!("postgres://postgres@127.0.0.1:{}/postgres", server.port());
    a_day(Election::at(url, server));
}

#[test]
fn a_day_with_mysql() {
    let server = MariadbServer::start().unwrap();
    let url = format!("mysql://root@127.0.0.1:{}/app", server.port());
    a_day(Election::at(url, server));
}

#[test]
fn a_day_with_etcd() {
    let server = EtcdServer::start().unwrap();
    let url = format!("etcd://127.0.0.1:{}?election_timeout_ms=200", server.port());
    day(&Election::at(url, server).steady(), false);
}

#[test]
fn a_day_with_kubernetes() {
    let server = KubeApiServer::start().unwrap();
    let kubeconfig = server.kubeconfig(server.admin_token()).unwrap();
    let url = format!("kubernetes:///default?unshared=yes&kubeconfig={}", kubeconfig.display());
    a_day(Election::at(url, server));
}
