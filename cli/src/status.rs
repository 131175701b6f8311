//! `tenure status`.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use clap::Args;
use futures_util::StreamExt;
use serde_json::json;
use tenure::store::contract::Wish;
use tenure::store::{AnyStore, Incumbent, Store, StoreError};
use tenure::{Elections, Observer, StartError, Token};

use crate::duration::duration;
use crate::exit::{Failure, NOBODY, UNKNOWN, with_causes};
use crate::output;
use crate::place::{self, At};

#[derive(Debug, Args)]
pub(crate) struct Status {
    /// The elections.
    #[arg(required_unless_present = "all", num_args = 1.., value_name = "KEY")]
    pub(crate) keys: Vec<String>,
    /// All elections that had a leader and were not purged.
    #[arg(long, conflicts_with_all = ["keys", "wait_for"])]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) at: At,
    /// Print one JSON object for each election, in lines.
    #[arg(long)]
    pub(crate) json: bool,
    /// Wait until that holds of each election: leader, none, or the name of the candidate that
    /// leads.
    #[arg(long, value_name = "WHAT")]
    pub(crate) wait_for: Option<String>,
    /// Print a line for each change, until the end by a signal.
    #[arg(long, conflicts_with_all = ["wait_for", "timeout"])]
    pub(crate) watch: bool,
    /// The longest wait for the store, and for --wait-for.
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(crate) timeout: Option<Duration>,
}

/// The bound on the store's answer.
const ANSWERS_WITHIN: Duration = Duration::from_secs(5);
/// The bound on the list of its elections: pauses are between the steps.
const LISTS_WITHIN: Duration = Duration::from_secs(60);
/// Between two looks at whether the store's file is there.
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);
/// The number of elections looked at at once.
const AT_ONCE: usize = 256;
/// The largest token that is a time, in microseconds since 1970.
const LATEST: u64 = 1 << 52;

pub(crate) async fn status(options: &Status) -> Result<u8, Failure> {
    if !(options.all || options.watch) {
        return show(options).await;
    }
    tokio::select! {
        biased;
        status = show(options) => status,
        () = output::readers_gone() => Ok(if options.watch { 0 } else { UNKNOWN }),
    }
}

async fn show(options: &Status) -> Result<u8, Failure> {
    let store = place::store(&options.at)?;
    let form = Form { json: options.json, tells_since: !store.traits().ends_leases };
    let (wanted, default) = match options.wait_for.as_deref() {
        None => (Wanted::Anything, ANSWERS_WITHIN),
        Some("leader") => (Wanted::Leader, Duration::MAX),
        Some("none") => (Wanted::None, Duration::MAX),
        Some(name) => (Wanted::Name(name), Duration::MAX),
    };
    let within = options.timeout.unwrap_or(default);
    if let Some(missing) = missing_file(&store, options, within).await {
        if options.all {
            return Err(Failure::store(missing));
        }
        for key in &options.keys {
            Look::Unknown(missing.clone()).print(key, form)?;
        }
        return Ok(UNKNOWN);
    }
    let elections = Elections::new(store);
    let keys = if options.all { all(&elections, options).await? } else { options.keys.clone() };
    if options.watch {
        return watch(&elections, &keys, form).await;
    }
    // At the same time, so that a few elections take no longer than one.
    let looks = keys.iter().map(|key| {
        let elections = &elections;
        async move { Ok((key, look(elections.observe(key)?, wanted, within).await)) }
    });
    let mut looks = futures_util::stream::iter(looks).buffered(AT_ONCE);
    let mut status = None;
    while let Some(look) = looks.next().await {
        let (key, look): (_, Look) = look.map_err(|error: StartError| Failure::from(error))?;
        if !look.print(key, form)? && options.all {
            return Ok(UNKNOWN);
        }
        status = status.max(Some(look.status(wanted)));
    }
    Ok(status.unwrap_or(NOBODY))
}

/// A look must not create the file of a mistyped name. One that waits for a leader or for changes
/// says so, and waits for the file too.
async fn missing_file(store: &AnyStore, options: &Status, within: Duration) -> Option<String> {
    let missing = place::missing_file(&options.at, store)?;
    let within = match options.wait_for.as_deref() {
        _ if options.watch => Duration::MAX,
        None | Some("none") => return Some(missing),
        Some(_) => within,
    };
    output::say(&missing);
    let began = Instant::now();
    while place::missing_file(&options.at, store).is_some() {
        if began.elapsed() >= within {
            return Some(missing);
        }
        tokio::time::sleep(BETWEEN_LOOKS).await;
    }
    None
}

/// Those that begin later are not among them.
async fn all(elections: &Elections, options: &Status) -> Result<Vec<String>, Failure> {
    let within = options.timeout.unwrap_or(LISTS_WITHIN);
    let keys = tokio::time::timeout(within, elections.keys()).await;
    let keys =
        keys.map_err(|_| Failure::store("the store has not listed its elections in time"))?;
    let keys = keys.map_err(|error| Failure::store(with_causes(&error)))?;
    Ok(keys.iter().map(ToString::to_string).collect())
}

/// Prints what changes, until a signal or the reader's end.
async fn watch(elections: &Elections, keys: &[String], form: Form) -> Result<u8, Failure> {
    let observed = keys.iter().map(|key| {
        let sights = elections.observe(key)?;
        Ok(sights.map(move |sight| (key, Look::of(sight))).boxed())
    });
    let observed: Result<Vec<_>, Failure> = observed.collect();
    let mut looks = futures_util::stream::select_all(observed?);
    while let Some((key, look)) = looks.next().await {
        if !look.print(key, form)? {
            break;
        }
    }
    Ok(0)
}

/// The form of a line.
#[derive(Clone, Copy)]
struct Form {
    json: bool,
    /// A token is the store's clock at the grant, but where the server ends leases.
    tells_since: bool,
}

impl Form {
    fn since(self, token: Token) -> Option<String> {
        let micros = Some(token.get()).filter(|micros| self.tells_since && *micros <= LATEST)?;
        let granted: SystemTime = UNIX_EPOCH + Duration::from_micros(micros);
        Some(humantime::format_rfc3339_seconds(granted).to_string())
    }
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
            Err(error) => Self::Unknown(with_causes(&error)),
        }
    }

    /// False if the reader has gone.
    fn print(&self, key: &str, form: Form) -> Result<bool, Failure> {
        let words = || output::on_one_line(&self.words(key, form));
        let line = if form.json { self.json(key, form) } else { words() };
        output::print(format!("{line}\n").as_bytes())
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

    /// The JSON of `docs/schemas/status.json`.
    fn json(&self, key: &str, form: Form) -> String {
        let line = match self {
            Self::Leader(leader) => {
                json!({ "key": key, "leader": leader, "since": form.since(leader.token) })
            }
            Self::Nobody => json!({ "key": key, "leader": null }),
            Self::Unknown(error) => json!({ "key": key, "error": error }),
        };
        line.to_string()
    }

    fn words(&self, key: &str, form: Form) -> String {
        let Incumbent { name, token, ttl, renewed_ago, wanted, metadata, .. } = match self {
            Self::Leader(leader) => leader,
            Self::Nobody => return format!("{key}: nobody leads"),
            Self::Unknown(error) => return format!("{key}: not known: {error}"),
        };
        let since = form.since(*token).map_or_else(String::new, |since| format!(" since {since}"));
        let wanted = match wanted {
            None => "",
            Some(Wish::Anybody) => ", another candidate is wanted",
            Some(Wish::Name(_)) => ", the candidate of another name is wanted",
        };
        let metadata = Some(String::from_utf8_lossy(metadata)).filter(|text| !text.is_empty());
        let metadata = metadata.map_or_else(String::new, |text| format!(", {text}"));
        format!(
            "{key}: {name} leads{since}, token {token}, renewed {renewed_ago:.1?} ago, ttl {ttl:?}{wanted}{metadata}"
        )
    }
}
