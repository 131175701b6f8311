//! A candidate whose store is a NATS server.
//!
//! ```sh
//! cargo run -p tenure-integrations --example nats -- nats://127.0.0.1:4222 nightly-report
//! ```

#![allow(clippy::print_stdout, reason = "the program prints its tenures")]

mod store;

use store::Nats;
use tenure::store::cas::CasStore;
use tenure::{Candidate, Tenure};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let [_, address, key] = &std::env::args().collect::<Vec<_>>()[..] else {
        anyhow::bail!("usage: nats ADDRESS KEY");
    };
    tracing_subscriber::fmt().init();
    let store = CasStore::new(Nats::new(address.as_str()));
    let candidate = Candidate::builder(store, key.as_str()).start()?;
    let work = async |tenure: Tenure| {
        println!("leads with the token {}", tenure.token());
        tenure.ended().await;
    };
    candidate.run_until(tenure::shutdown_signal()?, work).await?;
    Ok(())
}
