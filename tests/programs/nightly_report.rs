//! The README's program as a process, with its store cut off.

use tenure::Config;
use tenure_servers::{Flow, Proxy, RedisServer, Reply, undisturbed};

use super::program::{Program, example};

const REPORT: &str = "a report under token ";

/// Texts on a variable that is missing or wrong are for people: no names of types.
#[test]
fn the_readme_program_explains_refusals() {
    let says = |url: Option<&str>| {
        let mut program = example("nightly_report");
        program.env_remove("REDIS_URL").envs(url.map(|url| ("REDIS_URL", url)));
        let end = program.output().unwrap();
        assert!(!end.status.success());
        String::from_utf8(end.stderr).unwrap()
    };
    let missing = says(None);
    assert!(missing.contains("REDIS_URL") && missing.contains("not found"), "{missing}");
    let stray = says(Some("redis://app:p/w@h"));
    assert!(stray.contains("/ is written %2F") && !stray.contains("StrayAt"), "{stray}");
}

#[test]
fn the_readme_program_leads_again_after_an_outage() {
    undisturbed(|| tokio::runtime::Runtime::new().unwrap().block_on(leads_again_after_an_outage()));
}

async fn leads_again_after_an_outage() {
    let server = RedisServer::start().unwrap();
    let proxy = Proxy::start(([127, 0, 0, 1], server.port()).into()).await.unwrap();
    let url = format!("redis://127.0.0.1:{}", proxy.port());
    let mut program = Program::start(example("nightly_report").env("REDIS_URL", url));
    let before = program.number(REPORT);
    proxy.set(Flow::BlackHole);
    // Then its claim is over.
    program.is_silent_for(Config::fast_failover().validity());
    proxy.cut();
    proxy.set(Flow::Forward);
    let after = program.number(REPORT);
    assert!(after > before, "another tenure");

    assert!(program.terminate().success());
    let released = server.command(&["HGET", "{tenure}:leader:nightly-report", "released"]).unwrap();
    assert_eq!(released, Reply::BulkString(b"1".to_vec()), "handed back");
}
