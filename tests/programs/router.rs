//! The router, before processes of the service that it leads to.

use tenure_servers::{RedisServer, undisturbed};

use super::program::{Program, example};
use super::service::{ask, start};

#[test]
fn it_leads_to_the_leader_wherever_that_is() {
    undisturbed(|| {
        let server = RedisServer::start().unwrap();
        let mut command = example("router");
        let command = command.env("REDIS_URL", server.url()).env("LISTEN", "127.0.0.1:0");
        let router = Program::start(command);
        let entrance = router.says("listening on ");
        router.says("the leader is at no address");
        let (nobody, _) = ask(&entrance, "GET", "/orders");
        assert!(nobody.starts_with("HTTP/1.1 503"), "{nobody}");
        assert!(nobody.contains("retry-after: 1"), "{nobody}");

        let (mut first, address) = start(&server);
        router.says(&format!("the leader is at {address}"));
        let (on, _) = ask(&entrance, "POST", "/orders?of=today");
        assert!(on.starts_with("HTTP/1.1 307"), "{on}");
        assert!(on.contains(&format!("location: http://{address}/orders?of=today")), "{on}");

        let (second, other) = start(&server);
        second.says("another candidate has the lease");
        assert!(first.terminate().success());
        router.says(&format!("the leader is at {other}"));
        let (on, _) = ask(&entrance, "GET", "/leader");
        assert!(on.contains(&format!("location: http://{other}/leader")), "{on}");
    });
}
