//! `tenure status`.

use std::io::Write;
use std::time::Duration;

use futures_util::StreamExt;
use serde_json::json;
use tenure::store::Incumbent;
use tenure::{Elections, Observer};

use crate::args::Status;
use crate::exit::{Failure, NOBODY, UNKNOWN};
use crate::place;

/// How long the store may take to answer.
const ANSWERS_WITHIN: Duration = Duration::from_secs(5);

pub(crate) async fn status(options: &Status) -> Result<u8, Failure> {
    let elections = Elections::new(place::store(&options.at)?);
    let (wanted, default) = match options.wait_for.as_deref() {
        None => (Wanted::Anything, ANSWERS_WITHIN),
        Some("leader") => (Wanted::Leader, Duration::MAX),
        Some("none") => (Wanted::None, Duration::MAX),
        Some(name) => (Wanted::Name(name), Duration::MAX),
    };
    let within = options.timeout.unwrap_or(default);
    // At the same time: the bound is one for all.
    let looks = options.keys.iter().map(|key| {
        let observer = elections.observe(key);
        async move { Ok(look(observer?, wanted, within).await) }
    });
    let looks: Vec<Result<Look, Failure>> = futures_util::future::join_all(looks).await;
    let mut status = 0;
    for (key, look) in options.keys.iter().zip(looks) {
        let look = look?;
        let line = if options.json { look.json(key) } else { look.words(key) };
        // A reader that has gone needs no more.
        let _ = writeln!(std::io::stdout(), "{line}");
        status = status.max(look.status(wanted));
    }
    Ok(status)
}

#[derive(Clone, Copy)]
enum Wanted<'a> {
    Anything,
    Leader,
    None,
    Name(&'a str),
}

impl Wanted<'_> {
    fn is_met(self, leader: Option<&Incumbent>) -> bool {
        match self {
            Self::Anything => true,
            Self::Leader => leader.is_some(),
            Self::None => leader.is_none(),
            Self::Name(name) => leader.is_some_and(|leader| leader.name == name),
        }
    }
}

enum Look {
    Leader(Incumbent),
    Nobody,
    Unknown(String),
}

/// The first sight that is wanted, or the last one within the time.
async fn look(mut observer: Observer, wanted: Wanted<'_>, within: Duration) -> Look {
    let mut last = Look::Unknown("the store has not answered in time".to_owned());
    let looking = async {
        while let Some(sight) = observer.next().await {
            let is_met = match sight {
                Ok(leader) => {
                    let is_met = wanted.is_met(leader.as_ref());
                    last = leader.map_or(Look::Nobody, Look::Leader);
                    is_met
                }
                Err(error) => {
                    last = Look::Unknown(crate::run::with_causes(&error));
                    false
                }
            };
            if is_met {
                return;
            }
        }
    };
    // Its end without that leaves what was seen last.
    let _ = tokio::time::timeout(within, looking).await;
    last
}

impl Look {
    /// With a wish that is not met, also a leader is none.
    fn status(&self, wanted: Wanted<'_>) -> u8 {
        match (self, wanted) {
            (Self::Unknown(_), _) => UNKNOWN,
            (Self::Nobody, Wanted::None) => 0,
            (Self::Nobody, _) => NOBODY,
            (Self::Leader(leader), wanted) => u8::from(!wanted.is_met(Some(leader))),
        }
    }

    fn json(&self, key: &str) -> String {
        let line = match self {
            Self::Leader(leader) => json!({ "key": key, "leader": leader }),
            Self::Nobody => json!({ "key": key, "leader": null }),
            Self::Unknown(error) => json!({ "key": key, "error": error }),
        };
        line.to_string()
    }

    fn words(&self, key: &str) -> String {
        match self {
            Self::Leader(leader) => {
                let Incumbent { name, token, ttl, renewed_ago, .. } = leader;
                let metadata = String::from_utf8_lossy(&leader.metadata);
                let metadata =
                    if metadata.is_empty() { String::new() } else { format!(", {metadata}") };
                format!(
                    "{key}: {name} leads, token {token}, renewed {renewed_ago:.1?} ago, ttl {ttl:?}{metadata}"
                )
            }
            Self::Nobody => format!("{key}: nobody leads"),
            Self::Unknown(error) => format!("{key}: not known: {error}"),
        }
    }
}
