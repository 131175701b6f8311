//! A store of one's own over NATS keeps the contract: copy this file for yours.

use std::sync::Mutex;

use tenure::store::cas::CasStore;
use tenure_servers::NatsServer;
use tenure_sim::conformance::{Data, Harness, Row, Unsupported};

#[path = "../examples/nats/store.rs"]
mod store;

use store::Nats;

/// `CasStore` has no messages and no purge, and this backend no list of elections and a past for
/// each of them; the server ends no leases, and the harness only restarts it.
const SKIPPED: [Row; 11] = [
    Row::FirstRequest,
    Row::LeastTtl,
    Row::Listed,
    Row::LongestTtl,
    Row::Messages,
    Row::NoLeader,
    Row::OwnMessages,
    Row::PurgeSpares,
    Row::PurgedTokens,
    Row::StampsDiffer,
    Row::WatchedForAll,
];

/// A server for each row.
struct Place(Mutex<NatsServer>);

impl Place {
    fn new() -> Self {
        Self(Mutex::new(NatsServer::start().unwrap()))
    }
}

impl Harness for Place {
    type Store = CasStore<Nats>;

    async fn connect(&self) -> CasStore<Nats> {
        let port = self.0.lock().unwrap().port();
        CasStore::new(Nats::new(format!("nats://127.0.0.1:{port}")))
    }

    async fn restart(&self, data: Data) -> Result<(), Unsupported> {
        let mut server = self.0.lock().unwrap();
        match data {
            Data::Kept => server.restart(),
            Data::Lost => server.restart_empty(),
        }
        .unwrap();
        Ok(())
    }

    async fn slow(&self, is_slow: bool) -> Result<(), Unsupported> {
        let server = self.0.lock().unwrap();
        if is_slow { server.pause() } else { server.resume() }.unwrap();
        Ok(())
    }

    fn skipped_rows(&self) -> Option<&[Row]> {
        Some(&SKIPPED)
    }
}

tenure_sim::conformance!(in_nats, Place::new());
