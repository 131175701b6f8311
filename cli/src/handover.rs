//! `tenure handover`.

use std::time::Duration;

use clap::Args;
use tenure::Token;
use tenure::store::contract::Wish;
use tenure::store::{AnyStore, Incumbent, Key, Profile, Reply, Request, Store};

use crate::duration::duration;
use crate::exit::{Failure, NOBODY, with_causes};
use crate::output;
use crate::place::{self, At};

#[derive(Debug, Args)]
pub(crate) struct Handover {
    /// The election.
    pub(crate) key: String,
    #[command(flatten)]
    pub(crate) at: At,
    /// The name of the candidate that is to lead [default: any other one].
    #[arg(long, value_name = "NAME")]
    pub(crate) to: Option<String>,
    /// The longest wait until another candidate leads.
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "30s")]
    pub(crate) timeout: Duration,
}

const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

pub(crate) async fn handover(options: &Handover) -> Result<u8, Failure> {
    let store = place::store(&options.at)?;
    if let Some(missing) = place::missing_file(&options.at, &store) {
        return Err(Failure::store(missing));
    }
    let key = Key::new(&options.key).map_err(Failure::usage)?;
    let wish = match &options.to {
        None => Wish::Anybody,
        Some(name) => {
            Wish::Name(Profile::new(name.as_str(), "").map_err(Failure::usage)?.name_id())
        }
    };
    // Kept also if the time is over: it is to be taken back then, and no later one.
    let mut wished = None;
    let handing_over = async {
        let mut first = None;
        loop {
            match leader(&store, &key).await? {
                None if first.is_none() => {
                    output::say(&format!(
                        "no candidate leads {}, so there is nothing to hand over",
                        options.key
                    ));
                    return Ok(NOBODY);
                }
                // The last leader has given the lease back, or nobody could take it over yet.
                None => {}
                Some(leader) => {
                    let first = first.get_or_insert_with(|| leader.clone());
                    let is_meant = match &options.to {
                        Some(to) => *leader.name == **to,
                        None => leader.name != first.name,
                    };
                    if is_meant {
                        return Ok(0);
                    }
                    if options.to.is_none() && leader.token != first.token {
                        let again = format!(
                            "{:?} leads again, or another candidate of that name",
                            leader.name
                        );
                        return Err(Failure::not_leading(again));
                    }
                    // A wish ends with its tenure, and the next leader may be another one.
                    if wished != Some(leader.token) {
                        wished = Some(leader.token);
                        let want = Request::Want { token: leader.token, wish: Some(wish) };
                        call(&store, &key, want).await?;
                    }
                }
            }
            tokio::time::sleep(BETWEEN_LOOKS).await;
        }
    };
    if let Ok(done) = tokio::time::timeout(options.timeout, handing_over).await {
        return done;
    }
    if let Some(token) = wished {
        take_back(&store, &key, token).await;
    }
    let to = options.to.as_deref().unwrap_or("another candidate");
    Err(Failure::not_leading(format!(
        "{to} has not taken over within {:?}: it does not run, does not reach the store, or the store does not answer. \
         Nobody has lost the lead for it",
        options.timeout
    )))
}

async fn call(store: &AnyStore, key: &Key, request: Request) -> Result<Reply, Failure> {
    let failed = |error| Failure::store(with_causes(&error));
    store.call(key, request).await.map_err(failed)
}

async fn leader(store: &AnyStore, key: &Key) -> Result<Option<Incumbent>, Failure> {
    match call(store, key, Request::Observe).await? {
        Reply::At(shown) => Ok(shown.incumbent()),
        other => Err(Failure::store(format!("the store has answered {other:?} to an observe"))),
    }
}

/// A wish that stays does no harm: it ends with the next tenure.
async fn take_back(store: &AnyStore, key: &Key, token: Token) {
    let none = Request::Want { token, wish: None };
    let _ = tokio::time::timeout(Duration::from_secs(1), call(store, key, none)).await;
}
