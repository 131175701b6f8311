//! A call of a script at the server that keeps the election, and where a cluster redirects it.
//!
//! A node that refuses a call with `MOVED`, `ASK` or `TRYAGAIN` has carried out nothing, so the
//! call follows. `ASK` names the node to which the slot is being moved. All calls that one
//! connection is redirected for share one connection to that node ([`Target`]); it ends with the
//! connection that was redirected.
//!
//! # What a promise of the other node is worth
//!
//! While a slot moves, two nodes answer for it: its owner for the keys that it still has, and the
//! other node for those that have moved. A renewal or a grant of the other node counts only if,
//! *after* its answer, more than half of the listed nodes still name the owner, and still know the
//! other node as a primary that has not failed. A replica takes the place of either node only if a
//! majority has found that node to have failed. This majority has a member in common with the one
//! that confirmed the answer, and no member takes back within a request's time what it has found.
//! So the call was made before anything was granted by the replica, whose quarantine outlasts it,
//! as in [`route`](super::route).
//!
//! A round of both questions confirms the answers that had come before it began, of however many
//! calls. Before a call, nothing has to be confirmed: an answer that no majority confirms is void.
//! But before the connection is opened, more than half must know the node: otherwise one node alone
//! could have the credentials sent anywhere. A connection stays with the process at its other end,
//! so it is not confirmed again for the calls that follow.

use std::sync::Arc;

use futures_util::FutureExt;
use redis::{Cmd, Pipeline, RedisResult, Value};

use super::cluster::{self, Elsewhere, REDIRECTIONS};
use super::link::Link;
use super::member::Members;
use super::script::{Invocation, PastUse, Payload};
use super::session::{self, Live};
use super::target::Target;
use crate::store::StoreError;
use crate::store::slot::{Patience, Slot};

/// A script's call, and a wait for replicas if that is configured.
pub(super) struct ScriptCall<'a> {
    pub(super) payload: Payload<'a>,
    pub(super) wait: Option<Cmd>,
    pub(super) patience: Patience,
}

/// The server's answers to both.
pub(super) struct Answer {
    pub(super) value: Value,
    pub(super) acknowledged: Option<Value>,
    /// The connection on which it came.
    pub(super) by: Arc<Live>,
    /// True if the script has compared the server with the past, if it was carried out.
    compares: bool,
    /// The node, if it is not the one that keeps the slot.
    pub(super) target: Option<Arc<Target<Live>>>,
}

impl Answer {
    /// A request of its call has succeeded.
    pub(super) fn serves(&self) {
        self.by.serves();
        if self.compares {
            self.by.compared();
        }
    }
}

impl Target<Live> {
    /// The connection to it, opened anew if there is none.
    async fn live(&self, link: &Arc<Link>, patience: Patience) -> Result<Arc<Live>, StoreError> {
        let link = Arc::clone(link);
        let (at, is_same_host) = (self.at.clone(), self.is_same_host);
        let connect = move || {
            async move {
                let late = link.late();
                cluster::is_node(&link.route.members, &at, is_same_host).await?;
                let mut live = link.open(&at, 0, late).await?;
                session::load_scripts(&mut live, &link.connector.config).await?;
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

impl Link {
    fn unconnected(&self) -> Slot<Live> {
        Slot::new(&self.connector.runtime, self.connector.config.connect_timeout)
    }

    /// Calls the script at the server that keeps the election, and follows redirections. `None` if
    /// many requests have to be called one by one: their keys are at two nodes.
    pub(super) async fn ask(
        self: &Arc<Self>,
        live: &mut Arc<Live>,
        script: &ScriptCall<'_>,
    ) -> Result<Option<Answer>, StoreError> {
        let servers = &self.connector.config.servers;
        let (mut by, mut target, mut without_past) = (Arc::clone(live), None, false);
        let mut redirections = 0;
        loop {
            let past = if without_past { PastUse::Without } else { by.past() };
            let call = Invocation::new(&self.connector.config, script.payload, past, by.flags);
            let error = match invoke(&by, &call, script.wait.as_ref(), target.as_ref()).await {
                Ok(answer) => return Ok(Some(answer)),
                Err(error) => error,
            };
            redirections += 1;
            if redirections > REDIRECTIONS {
                return Err(by.failed(&error));
            }
            // A request that is refused like that was not carried out.
            match cluster::elsewhere(servers, &error, &by.at) {
                Some(Elsewhere::Moved) => {
                    live.dead.cancel();
                    *live = self.live(script.patience).await?;
                    (by, target) = (Arc::clone(live), None);
                }
                Some(Elsewhere::Asked { to, is_same_host }) => {
                    let there = live.targets.at(to, is_same_host, || self.unconnected());
                    by = there.live(self, script.patience).await?;
                    target = Some(there);
                }
                None if !cluster::is_split(&error) => return Err(by.failed(&error)),
                None if script.payload.is_of_many() => return Ok(None),
                // The past is at another node than the record. The lead does not wait for both to
                // be at one.
                None if script.payload.does_without_past() && !without_past => {
                    without_past = true;
                    (by, target) = (Arc::clone(live), None);
                }
                None => return Err(by.failed(&error)),
            }
        }
    }
}

/// Calls the script, at a node to which the slot is being moved if one is given. A server that does
/// not know the script has not executed anything: only then is it called a second time.
async fn invoke(
    live: &Arc<Live>,
    call: &Invocation,
    wait: Option<&Cmd>,
    target: Option<&Arc<Target<Live>>>,
) -> RedisResult<Answer> {
    let evalsha = evalsha(call);
    let unanswered = live.progress.expects();
    let mut answer = send(live, &evalsha, wait, target.is_some()).await;
    if matches!(&answer, Err(error) if error.code() == Some("NOSCRIPT")) {
        let load = redis::cmd("SCRIPT").arg("LOAD").arg(&*call.script.text).to_owned();
        answer = match live.answer(&load).await {
            Ok(_) => send(live, &evalsha, wait, target.is_some()).await,
            Err(error) => Err(error),
        };
    }
    session::conclude(unanswered, &answer);
    let (value, acknowledged) = answer?;
    let (by, target) = (Arc::clone(live), target.cloned());
    Ok(Answer { value, acknowledged, by, compares: call.compares, target })
}

/// Sends all commands at once, so that no other command comes in between.
async fn send(
    live: &Live,
    evalsha: &Cmd,
    wait: Option<&Cmd>,
    is_redirected: bool,
) -> RedisResult<(Value, Option<Value>)> {
    if wait.is_none() && !is_redirected {
        return Ok((live.answer(evalsha).await?, None));
    }
    let mut commands = Pipeline::with_capacity(3);
    if is_redirected {
        commands.cmd("ASKING");
    }
    commands.add_command(evalsha.clone());
    if let Some(wait) = wait {
        commands.add_command(wait.clone());
    }
    let mut connection = live.connection.clone();
    let answers = connection.send_packed_commands(&commands, 0, commands.len()).await?;
    let mut answers = answers.into_iter().skip(usize::from(is_redirected));
    let value = answers.next().unwrap_or_default().extract_error()?;
    Ok((value, answers.next()))
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
