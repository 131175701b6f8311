//! Rows about servers that take too long to answer.

use std::time::Duration;

use futures_util::future::join_all;
use tenure::Token;
use tenure::store::{Key, Reply, Request, Store};

use crate::conformance::SLOW;
use crate::conformance::probe::{
    Found, LOOK, Probe, RENEWED, broken, holder, key, must, release, request,
};

/// The time after which this row gives a request up, as a driver does.
const BOUND: Duration = SLOW;

/// A request, and its only true answer.
struct Asked {
    key: Key,
    request: Request,
    is_true: fn(&Reply) -> bool,
}

impl Asked {
    fn new(name: &str, request: Request, is_true: fn(&Reply) -> bool) -> Found<Self> {
        Ok(Self { key: key(name)?, request, is_true })
    }
}

pub(crate) async fn a_timeout_is_not_a_refusal(probe: &mut Probe<'_>) -> Found<()> {
    let names = ["renewed", "released", "held", "looked-at"];
    let mut tokens: Vec<Token> = Vec::new();
    for name in names {
        let key = probe.settled(name).await?;
        tokens.push(probe.granted_about(&key, probe.acquire(1, None)).await?);
    }
    probe.settled("vacant").await?;
    let asked = [
        Asked::new(names[0], probe.renew(1, tokens[0]), |reply| *reply == RENEWED)?,
        Asked::new(names[1], release(1, tokens[1]), |reply| *reply == Reply::Released)?,
        Asked::new(names[2], request(probe.acquire(2, Some(tokens[2]))), |reply| {
            matches!(reply, Reply::Not(_))
        })?,
        Asked::new(
            names[3],
            LOOK,
            |reply| matches!(reply, Reply::At(shown) if shown.incumbent().is_some()),
        )?,
        Asked::new("vacant", request(probe.acquire(2, None)), |reply| {
            matches!(reply, Reply::Granted { .. })
        })?,
    ];
    probe.slow(true).await?;
    let store = &probe.store;
    let calls = asked
        .iter()
        .map(|asked| tokio::time::timeout(BOUND, store.call(&asked.key, asked.request.clone())));
    let answers = join_all(calls).await;
    for (asked, answer) in asked.iter().zip(&answers) {
        probe.note(format!("{:.20}: {:?} -> {answer:?}", asked.key, asked.request));
    }
    // Also after a failure: other tests may use that server.
    probe.slow(false).await?;
    for (asked, answer) in asked.iter().zip(answers) {
        if let Ok(Ok(reply)) = answer {
            must((asked.is_true)(&reply), || {
                format!(
                    "the outcome of {:?} is unknown, but the answer was {reply:?}",
                    asked.request
                )
            })?;
        }
    }
    // The late requests have changed no other lease.
    for name in [names[0], names[2], names[3]] {
        match probe.ask_about_until_answered(&key(name)?, &LOOK).await? {
            Reply::At(shown)
                if shown.incumbent().is_some_and(|leader| leader.holder == holder(1)) => {}
            other => {
                return broken(format!(
                    "the lease {name:?} was live, but now the answer is {other:?}"
                ));
            }
        }
    }
    Ok(())
}
