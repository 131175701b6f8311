//! The number of commands that subscribe.

use std::time::Duration;

use futures_util::StreamExt;
use tenure::store::{Key, Store, Watched};
use tenure_servers::{RedisServer, Reply as Raw};

use super::support::{Client, calls, local, server, soon};

const ELECTIONS: usize = 1_200;
/// Commands for 512 elections each.
const COMMANDS: u64 = 3;

fn channels(server: &RedisServer) -> usize {
    match server.command(&["PUBSUB", "CHANNELS"]).unwrap() {
        Raw::Array(channels) => channels.len(),
        other => panic!("{other:?}"),
    }
}

over_both_clients! {
    async fn many_elections_subscribe_in_few_commands(client: Client) {
        let server = server();
        let store = client.store(local(server.port()));
        let keys: Vec<_> = (0..ELECTIONS).map(|i| Key::new(format!("job-{i:04}")).unwrap()).collect();
        let mut hints = Box::pin(store.hints(Watched::only(keys.clone())));
        for round in 1..=2 {
            let hinted: Vec<_> = soon(hints.by_ref().take(ELECTIONS).collect()).await;
            assert_eq!(hinted, keys, "each once, in order");
            assert_eq!(channels(&server), ELECTIONS);
            assert_eq!(calls(&server, "subscribe"), round * COMMANDS);
            if round == 1 {
                // Everything again over a new connection.
                server.command(&["CLIENT", "KILL", "TYPE", "pubsub"]).unwrap();
            }
        }
        drop(hints);
        soon(async {
            while channels(&server) > 0 {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        })
        .await;
        assert_eq!(calls(&server, "unsubscribe"), COMMANDS);
    }
}
