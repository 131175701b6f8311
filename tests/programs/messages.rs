//! Messages reach the process that leads, also after it has changed.

use tenure_servers::{RedisServer, undisturbed};

use super::program::{Program, example};

fn start(server: &RedisServer, name: &str) -> Program {
    Program::start(example("messages").arg(name).env("REDIS_URL", server.url()))
}

#[test]
fn greetings_follow_the_leader() {
    undisturbed(|| {
        let server = RedisServer::start().unwrap();
        let mut first = start(&server, "first");
        let before = first.number("I lead, under token ");
        let second = start(&server, "second");
        first.says("greeting: from second");
        assert!(first.terminate().success());
        assert!(second.number("I lead, under token ") > before);
        let third = start(&server, "third");
        third.says("another candidate has the lease");
        second.says("greeting: from third");
    });
}
