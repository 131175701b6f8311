//! `tenure migrate`.

use tenure_servers::{MariadbServer, PostgresServer};

use super::hosts::Place;

fn url(server: &PostgresServer, role: &str) -> String {
    format!("postgres://{role}@127.0.0.1:{}/postgres", server.port())
}

/// A role without any right of its own leads after the owner has applied the statements, and not
/// before.
#[test]
fn a_role_takes_part_after_a_migration_of_postgres() {
    let (place, server) = (Place::new(), PostgresServer::start().unwrap());
    server.sql("CREATE ROLE app LOGIN").unwrap();
    server.sql("REVOKE ALL ON SCHEMA public FROM PUBLIC").unwrap();
    let (owner, app) = (url(&server, "postgres"), url(&server, "app"));
    let leads = |within| {
        let run = ["run", "job", "--store", &app, "--wait", within, "--", "true"];
        let mut command = place.tenure();
        let output = command.env("TENURE_TTL", "1s").args(run).output().unwrap();
        (output.status.code().unwrap(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (status, said) = leads("6s");
    assert_eq!(status, 69, "{said}");

    let printed = place.output(&["migrate", "--store", &owner, "--grant", "app"]);
    let printed = String::from_utf8(printed.stdout).unwrap();
    assert!(printed.contains("CREATE TABLE IF NOT EXISTS \"tenure\".\"leases\""), "{printed}");
    assert!(printed.contains("TO \"app\""), "{printed}");
    assert_eq!(leads("6s").0, 69, "that alone has changed nothing");

    let apply = ["migrate", "--store", &owner, "--grant", "app", "--apply"];
    // It may be run again.
    for _ in 0..2 {
        let output = place.output(&apply);
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let (status, said) = leads("60s");
    assert_eq!(status, 0, "{said}");
}

#[test]
fn an_account_takes_part_after_a_migration_of_mysql() {
    let (place, server) = (Place::new(), MariadbServer::start().unwrap());
    server.sql("CREATE USER app").unwrap();
    let [owner, app] =
        ["root", "app"].map(|user| format!("mysql://{user}@127.0.0.1:{}/app", server.port()));
    let leads = |within| {
        let run = ["run", "job", "--store", &app, "--wait", within, "--", "true"];
        let mut command = place.tenure();
        let output = command.env("TENURE_TTL", "1s").args(run).output().unwrap();
        (output.status.code().unwrap(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (status, said) = leads("2s");
    assert_eq!(status, 69, "{said}");
    let migrate = ["migrate", "--store", &owner, "--grant", "app"];
    let printed = String::from_utf8(place.output(&migrate).stdout).unwrap();
    assert!(printed.contains("TO `app`@`%`;\n"), "{printed}");
    // It may be run again.
    for _ in 0..2 {
        let output = place.output(&[&migrate[..], &["--apply"]].concat());
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let (status, said) = leads("60s");
    assert_eq!(status, 0, "{said}");
}

#[test]
fn migrations_at_once_all_succeed() {
    let (place, server) = (Place::new(), PostgresServer::start().unwrap());
    server.sql("CREATE ROLE app LOGIN").unwrap();
    let owner = url(&server, "postgres");
    let apply = ["migrate", "--store", &owner, "--grant", "app", "--apply"];
    std::thread::scope(|scope| {
        let runs: Vec<_> = (0..6).map(|_| scope.spawn(|| place.output(&apply))).collect();
        for run in runs {
            let output = run.join().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(0), "{said}");
        }
    });
}

#[test]
fn what_has_no_tables_is_refused() {
    let output = Place::new().output(&["migrate", "--store", "redis://127.0.0.1:1"]);
    assert_eq!(output.status.code(), Some(64));
    assert!(String::from_utf8_lossy(&output.stderr).contains("redis needs no statements"));
}
