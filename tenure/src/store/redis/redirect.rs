//! A call of a script at the server that keeps the election, and where a cluster redirects it.
//!
//! A node that refuses a call with `MOVED`, `ASK` or `TRYAGAIN` has carried out nothing, so the call follows. `ASK` names
//! the node to which the slot is being moved. All calls that one connection is redirected for share one connection to
//! that node ([`Target`]); it ends with the connection that was redirected.
//!
//! # What a promise of the other node is worth
//!
//! While a slot moves, two nodes answer for it: its owner for the keys that it still has, and the other node for those
//! that have moved. A renewal or a grant of the other node counts only if, *after* its answer, more than half of the
//! listed nodes still name the owner, and still know the other node as a primary that has not failed. A replica takes
//! the place of either node only if a majority has found that node to have failed. This majority has a member in common
//! with the one that confirmed the answer, and no member takes back within a request's time what it has found. So the
//! call was made before anything was granted by the replica, whose quarantine outlasts it, as in
//! [`route`](super::route).
//!
//! A round of both questions confirms the answers that had come before it began, of however many calls. Before a call,
//! nothing has to be confirmed: an answer that no majority confirms is void. But before the connection is opened, more
//! than half must know the node: otherwise one node alone could have the credentials sent anywhere. A connection stays
//! with the process at its other end, so it is not confirmed again for the calls that follow.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt;
use redis::{Cmd, Pipeline, RedisResult, Value};

use super::cluster::{self, Elsewhere, REDIRECTIONS};
use super::config::{Address, RedisConfig};
use super::link::Link;
use super::member::Members;
use super::reply;
use super::rounds::Rounds;
use super::script::Invocation;
use super::session::{self, Live};
use crate::store::slot::{Patience, Slot};
use crate::store::{Key, Reply, Request, StoreError};

/// The commands for a request: a script's call, and a wait for replicas if that is configured.
pub(super) struct Asked {
    call: Invocation,
    evalsha: Cmd,
    wait: Option<Cmd>,
    patience: Patience,
    is_of_many: bool,
}

/// The server's answers to both.
pub(super) struct Answer {
    pub(super) value: Value,
    pub(super) acknowledged: Option<Value>,
    /// The connection on which it came.
    pub(super) by: Arc<Live>,
    /// Whether its server was compared with the history.
    pub(super) has_compared: bool,
    /// The node, if it is not the one that keeps the slot.
    pub(super) target: Option<Arc<Target>>,
}

/// The node to which a slot is being moved.
pub(super) struct Target {
    at: Address,
    /// Only a port was named: the host is the one that was asked.
    is_same_host: bool,
    current: Slot<Live>,
    rounds: Rounds,
}

/// The node for which a connection was last redirected: a slot moves to one node at a time.
#[derive(Default)]
pub(super) struct Targets(Mutex<Option<Arc<Target>>>);

impl Targets {
    fn at(&self, link: &Link, at: Address, is_same_host: bool) -> Arc<Target> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(target) = &*last
            && target.at == at
            && target.is_same_host == is_same_host
        {
            return Arc::clone(target);
        }
        let connector = &link.connector;
        let current = Slot::new(&connector.runtime, connector.config.connect_timeout);
        let target = Arc::new(Target { at, is_same_host, current, rounds: Rounds::default() });
        *last = Some(Arc::clone(&target));
        target
    }
}

impl Target {
    /// The connection to it, opened anew if there is none.
    async fn live(&self, link: &Link, patience: Patience) -> Result<Arc<Live>, StoreError> {
        let (connector, members) = (Arc::clone(&link.connector), Arc::clone(&link.route.members));
        let (at, is_same_host) = (self.at.clone(), self.is_same_host);
        let connect = move || {
            async move {
                cluster::is_node(&members, &at, is_same_host).await?;
                let live = connector.open(&at, &connector.config.login, 0, session::REPLY_MOST);
                let live = live.await?;
                session::load_scripts(&live).await?;
                Ok(live)
            }
            .boxed()
        };
        self.current.get(patience, connect).await
    }

    /// Confirms that it still is a primary of the cluster.
    ///
    /// # Errors
    /// If it is not, or that is not known: then its promise is void.
    pub(super) async fn vouch_for(&self, members: &Arc<Members>) -> Result<(), StoreError> {
        let ask = || async {
            cluster::is_node(members, &self.at, self.is_same_host).await.map(|()| self.at.clone())
        };
        self.rounds.next(ask).await.map(drop)
    }
}

impl Asked {
    pub(super) fn new(call: Invocation, wait: Option<Cmd>, patience: Patience, many: bool) -> Self {
        Self { evalsha: evalsha(&call), call, wait, patience, is_of_many: many }
    }

    /// The first renewal, called at another server than the one for which its script was chosen: it compares that one
    /// with the history. `None` for all other requests, and if a renewal over that connection has compared.
    fn at_another_server(
        &self,
        there: &Live,
        config: &RedisConfig,
        requests: &[(Key, Request)],
    ) -> Option<Self> {
        let first = requests.first().filter(|first| renews(first) && !there.has_compared())?;
        let (_, call) = Invocation::all(config, std::slice::from_ref(first), false).next()?;
        Some(Self::new(call, self.wait.clone(), self.patience, self.is_of_many))
    }

    /// The same renewal, which compares nothing; `None` for one that does not compare, and for all other requests.
    fn without_comparison(
        &self,
        config: &RedisConfig,
        requests: &[(Key, Request)],
    ) -> Option<Self> {
        if !self.call.compares() {
            return None;
        }
        let (_, call) = Invocation::all(config, requests, true).next()?;
        Some(Self::new(call, self.wait.clone(), self.patience, self.is_of_many))
    }
}

fn renews((_, request): &(Key, Request)) -> bool {
    matches!(request, Request::Renew { .. })
}

impl Link {
    /// Calls the script at the server that keeps the election, and follows redirections. `None` if many requests have to
    /// be called one by one: their keys are at two nodes, or they are renewals, each of which compares another server.
    pub(super) async fn ask(
        self: &Arc<Self>,
        live: &mut Arc<Live>,
        asked: &Asked,
        requests: &[(Key, Request)],
    ) -> Result<Option<Answer>, StoreError> {
        let config = &self.connector.config;
        let (mut answer, mut by) = (invoke(live, asked, None).await, Arc::clone(live));
        for _ in 0..REDIRECTIONS {
            // A request that is refused like that was not carried out.
            let refused = answer.as_ref().err();
            match refused.and_then(|error| cluster::elsewhere(&config.servers, error, &by.at)) {
                None => break,
                Some(Elsewhere::Moved) => {
                    live.dead.cancel();
                    *live = self.live(asked.patience).await?;
                    if asked.is_of_many && requests.iter().any(renews) {
                        return Ok(None);
                    }
                    let compares = asked.at_another_server(live, config, requests);
                    by = Arc::clone(live);
                    answer = invoke(live, compares.as_ref().unwrap_or(asked), None).await;
                }
                Some(Elsewhere::Asked { to, is_same_host }) => {
                    let target = live.targets.at(self, to, is_same_host);
                    by = target.live(self, asked.patience).await?;
                    answer = self.ask_target(&by, asked, requests, &target).await;
                }
            }
        }
        match answer {
            Err(error) if cluster::is_split(&error) => {
                if asked.is_of_many {
                    return Ok(None);
                }
                match asked.without_comparison(config, requests) {
                    // The history is at another node than the record. The lead does not wait for both to be at one.
                    Some(alone) => Box::pin(self.ask(live, &alone, requests)).await,
                    None => Err(by.failed(&error)),
                }
            }
            answer => answer.map(Some).map_err(|error| by.failed(&error)),
        }
    }

    /// Calls the script at the node to which the slot is being moved.
    async fn ask_target(
        &self,
        there: &Arc<Live>,
        asked: &Asked,
        requests: &[(Key, Request)],
        target: &Arc<Target>,
    ) -> RedisResult<Answer> {
        let config = &self.connector.config;
        let Some(compares) = asked.at_another_server(there, config, requests) else {
            return invoke(there, asked, Some(target)).await;
        };
        match invoke(there, &compares, Some(target)).await {
            // The history has not moved yet.
            Err(error) if cluster::is_split(&error) => invoke(there, asked, Some(target)).await,
            // The first one has compared for all. It is renewed with them once more.
            Ok(first) if asked.is_of_many => {
                let first = reply::read_all(&requests[..1], &first.value);
                if matches!(first[..], [Ok(Reply::Renewed)]) {
                    there.compared();
                }
                invoke(there, asked, Some(target)).await
            }
            answer => answer,
        }
    }
}

/// Calls the script, at a node to which the slot is being moved if one is given. A server that does not know the script
/// has not executed anything: only then is it called a second time.
async fn invoke(
    live: &Arc<Live>,
    asked: &Asked,
    target: Option<&Arc<Target>>,
) -> RedisResult<Answer> {
    let unanswered = live.progress.expects();
    let mut answer = send(live, asked, target).await;
    if matches!(&answer, Err(error) if error.code() == Some("NOSCRIPT")) {
        let load = redis::cmd("SCRIPT").arg("LOAD").arg(asked.call.script.text).to_owned();
        answer = match live.answer(&load).await {
            Ok(_) => send(live, asked, target).await,
            Err(error) => Err(error),
        };
    }
    session::conclude(unanswered, &answer);
    answer
}

/// Sends all commands at once, so that no other command comes in between.
async fn send(
    live: &Arc<Live>,
    asked: &Asked,
    target: Option<&Arc<Target>>,
) -> RedisResult<Answer> {
    let answered = |value, acknowledged| Answer {
        value,
        acknowledged,
        by: Arc::clone(live),
        has_compared: asked.call.compares(),
        target: target.cloned(),
    };
    if asked.wait.is_none() && target.is_none() {
        return Ok(answered(live.answer(&asked.evalsha).await?, None));
    }
    let mut commands = Pipeline::with_capacity(3);
    if target.is_some() {
        commands.cmd("ASKING");
    }
    commands.add_command(asked.evalsha.clone());
    if let Some(wait) = &asked.wait {
        commands.add_command(wait.clone());
    }
    let mut connection = live.connection.clone();
    let answers = connection.send_packed_commands(&commands, 0, commands.len()).await?;
    let mut answers = answers.into_iter().skip(usize::from(target.is_some()));
    let value = answers.next().unwrap_or_default().extract_error()?;
    Ok(answered(value, answers.next()))
}

fn evalsha(call: &Invocation) -> Cmd {
    let (keys, arguments) = (call.keys(), call.arguments());
    let words = 3 + keys.len() + arguments.len();
    // Each word is preceded by its length.
    let mut command = Cmd::with_capacity(words, call.len() + call.script.sha.len() + 16 * words);
    command.arg("EVALSHA").arg(&call.script.sha).arg(keys.len());
    for word in keys.chain(arguments) {
        command.arg(word);
    }
    command
}
