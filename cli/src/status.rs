//! `tenure status`.

use std::io::{self, Write};
use std::time::Duration;

use futures_util::StreamExt;
use serde_json::json;
use tenure::store::{Incumbent, StoreError};
use tenure::{Elections, Observer, StartError};

use crate::args::Status;
use crate::exit::{Failure, NOBODY, UNKNOWN};
use crate::place;

/// How long the store may take to answer.
const ANSWERS_WITHIN: Duration = Duration::from_secs(5);
/// How long it may take to list its elections: pauses are between the steps.
const LISTS_WITHIN: Duration = Duration::from_secs(60);
/// How many elections are looked at at once.
const AT_ONCE: usize = 256;

pub(crate) async fn status(options: &Status) -> Result<u8, Failure> {
    let elections = Elections::new(place::store(&options.at)?);
    let keys = if options.all { all(&elections, options).await? } else { options.keys.clone() };
    if options.watch {
        return watch(&elections, &keys, options).await;
    }
    let (wanted, default) = match options.wait_for.as_deref() {
        None => (Wanted::Anything, ANSWERS_WITHIN),
        Some("leader") => (Wanted::Leader, Duration::MAX),
        Some("none") => (Wanted::None, Duration::MAX),
        Some(name) => (Wanted::Name(name), Duration::MAX),
    };
    let within = options.timeout.unwrap_or(default);
    // At the same time, so that a few elections take no longer than one.
    let looks = keys.iter().map(|key| {
        let elections = &elections;
        async move { Ok((key, look(elections.observe(key)?, wanted, within).await)) }
    });
    let mut looks = futures_util::stream::iter(looks).buffered(AT_ONCE);
    let mut status = None;
    while let Some(look) = looks.next().await {
        let (key, look): (_, Look) = look.map_err(|error: StartError| Failure::from(error))?;
        // A reader that has gone needs no more.
        let _ = look.print(key, options.json);
        status = status.max(Some(look.status(wanted)));
    }
    Ok(status.unwrap_or(NOBODY))
}

/// Those that begin later are not among them.
async fn all(elections: &Elections, options: &Status) -> Result<Vec<String>, Failure> {
    let within = options.timeout.unwrap_or(LISTS_WITHIN);
    let keys = tokio::time::timeout(within, elections.keys()).await;
    let keys =
        keys.map_err(|_| Failure::store("the store has not listed its elections in time"))?;
    let keys = keys.map_err(|error| Failure::store(crate::run::with_causes(&error)))?;
    Ok(keys.iter().map(ToString::to_string).collect())
}

/// Prints what changes, until a signal or the reader's end.
async fn watch(elections: &Elections, keys: &[String], options: &Status) -> Result<u8, Failure> {
    let observed = keys.iter().map(|key| {
        let sights = elections.observe(key)?;
        Ok(sights.map(move |sight| (key, Look::of(sight))).boxed())
    });
    let observed: Result<Vec<_>, Failure> = observed.collect();
    let mut looks = futures_util::stream::select_all(observed?);
    while let Some((key, look)) = looks.next().await {
        if look.print(key, options.json).is_err() {
            break;
        }
    }
    Ok(0)
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
            last = Look::of(sight);
            let is_met = match &last {
                Look::Leader(leader) => wanted.is_met(Some(leader)),
                Look::Nobody => wanted.is_met(None),
                Look::Unknown(_) => false,
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
    fn of(sight: Result<Option<Incumbent>, StoreError>) -> Self {
        match sight {
            Ok(leader) => leader.map_or(Self::Nobody, Self::Leader),
            Err(error) => Self::Unknown(crate::run::with_causes(&error)),
        }
    }

    fn print(&self, key: &str, as_json: bool) -> io::Result<()> {
        let line = if as_json { self.json(key) } else { self.words(key) };
        writeln!(io::stdout(), "{line}")
    }

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
