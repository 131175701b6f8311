//! The logins of a kubeconfig's program (`exec`).
//!
//! The programs of cloud providers take seconds, in which a leader may not wait. So the program
//! runs on a thread of its own, once for all that wait for it, and again long before what it gave
//! ends, which is used meanwhile. What it gave outlives a connection, until the server refuses it.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant as StdInstant};

use http::HeaderValue;
use jiff::Timestamp;
use kube_client::config::{AuthInfo, ExecConfig, ExecInteractiveMode};
use serde::Deserialize;
use serde_json::json;
use tokio::sync::oneshot;

use crate::logging;
use crate::runtime::Runtime;
use crate::store::{StoreError, StoreErrorKind};

/// The longest run of a program.
const RUNS_MOST: Duration = Duration::from_secs(60);
/// The interval of looks at it.
const LOOKED_AT: Duration = Duration::from_millis(10);
/// The time from a login's replacement to its end, or half of the time that is left: a program may
/// give again what it gave before.
const EARLY: Duration = Duration::from_secs(300);
/// The least time between two runs, also of a program that fails.
const APART: Duration = Duration::from_secs(1);

/// The login of a connection.
#[derive(Clone, Default)]
pub(super) struct Used {
    /// The present header of its requests.
    header: Arc<Mutex<Option<HeaderValue>>>,
    /// For as long as it lasts.
    identity: Arc<Option<(String, String)>>,
}

/// The program's last login.
#[derive(Clone, Default)]
pub(super) struct Logins {
    kept: Arc<Mutex<Option<(String, Login)>>>,
    /// Held while a program runs, also if all that wait for it have given up.
    turn: Arc<tokio::sync::Mutex<()>>,
}

#[derive(Clone)]
pub(super) struct Login {
    header: Option<HeaderValue>,
    /// A certificate and its key, as PEM.
    identity: Option<(String, String)>,
    ends: Option<Timestamp>,
}

#[derive(Deserialize)]
struct Credential {
    status: Option<Given>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Given {
    expiration_timestamp: Option<String>,
    token: Option<String>,
    client_certificate_data: Option<String>,
    client_key_data: Option<String>,
}

/// Takes the program out of a kubeconfig, so that kube does not run it, and returns it if nothing
/// else says how to log in.
pub(super) fn program(auth: &mut AuthInfo) -> Option<ExecConfig> {
    let exec = auth.exec.take()?;
    let has_password = auth.username.is_some() && auth.password.is_some();
    let has_token = auth.token.is_some() || auth.token_file.is_some();
    (!has_password && !has_token && auth.auth_provider.is_none()).then_some(exec)
}

impl Logins {
    /// The login of that program, also an earlier one.
    pub(super) async fn get(&self, exec: &ExecConfig) -> Result<Login, StoreError> {
        self.another(exec, None).await
    }

    /// The server has refused a request of such a connection with that header. A login that has
    /// replaced its own is kept.
    pub(super) fn forget(&self, used: &Used, sent: Option<&HeaderValue>) {
        lock(&self.kept).take_if(|(_, login)| login.is(sent, (*used.identity).as_ref()));
    }

    /// Replaces a login, and the header that has its token, again and again, before each ends.
    pub(super) async fn keep(
        self,
        exec: ExecConfig,
        mut login: Login,
        used: Used,
        runtime: Arc<dyn Runtime>,
    ) {
        while let Some(ends) = login.ends {
            runtime.sleep_until(runtime.now() + pause(until(ends))).await;
            match self.another(&exec, Some(&login)).await {
                Ok(next) => {
                    lock(&used.header).clone_from(&next.header);
                    login = next;
                }
                Err(error) => logging::warn!(%error, "the login at the API server is not renewed"),
            }
        }
    }

    /// A login other than that one.
    async fn another(
        &self,
        exec: &ExecConfig,
        before: Option<&Login>,
    ) -> Result<Login, StoreError> {
        // A program of other arguments is another one.
        let of = serde_json::to_string(exec).map_err(|error| refused(&error))?;
        let kept = || {
            let kept = lock(&self.kept);
            let (_, login) = kept.as_ref().filter(|(program, _)| *program == of)?;
            let is_same =
                |before: &Login| login.is(before.header.as_ref(), before.identity.as_ref());
            let is_new = before.is_none_or(|before| !is_same(before));
            let lasts = login.ends.is_none_or(|ends| !until(ends).is_zero());
            (is_new && lasts).then(|| login.clone())
        };
        if let Some(login) = kept() {
            return Ok(login);
        }
        let turn = Arc::clone(&self.turn).lock_owned().await;
        if let Some(login) = kept() {
            return Ok(login);
        }
        let (done, outcome) = oneshot::channel();
        let (place, exec) = (Arc::clone(&self.kept), exec.clone());
        let runs = move || {
            let outcome = run(&exec);
            if let Ok(login) = &outcome {
                *lock(&place) = Some((of, login.clone()));
            }
            drop(turn);
            // All that waited may have given up.
            let _ = done.send(outcome);
        };
        let started = thread::Builder::new().name("tenure-login".to_owned()).spawn(runs);
        started.map_err(|error| refused(&error))?;
        outcome.await.unwrap_or_else(|_| Err(refused(&"has not ended")))
    }
}

impl Login {
    fn is(&self, header: Option<&HeaderValue>, identity: Option<&(String, String)>) -> bool {
        (self.header.as_ref(), self.identity.as_ref()) == (header, identity)
    }

    /// For a connection that begins with it.
    pub(super) fn used(&self) -> Used {
        let header = Arc::new(Mutex::new(self.header.clone()));
        Used { header, identity: Arc::new(self.identity.clone()) }
    }

    /// Gives kube the certificate.
    pub(super) fn identifies(&self, auth: &mut AuthInfo) {
        if let Some((certificate, key)) = &self.identity {
            auth.client_certificate_data = Some(base64(certificate.as_bytes()));
            auth.client_key_data = Some(base64(key.as_bytes()).into());
        }
    }

    fn read(written: &[u8]) -> Option<Self> {
        let given = serde_saphyr::from_slice::<Credential>(written).ok()?.status?;
        let ends =
            given.expiration_timestamp.map(|ends| ends.parse::<Timestamp>()).transpose().ok()?;
        let header = |token: String| {
            let mut header = HeaderValue::try_from(format!("Bearer {token}")).ok()?;
            header.set_sensitive(true);
            Some(header)
        };
        let header = match given.token {
            Some(token) => Some(header(token)?),
            None => None,
        };
        let identity = given.client_certificate_data.zip(given.client_key_data);
        (header.is_some() || identity.is_some()).then_some(Self { header, identity, ends })
    }
}

/// Runs the program. Its own messages go where those of this process go.
fn run(exec: &ExecConfig) -> Result<Login, StoreError> {
    let program = exec.command.as_deref().ok_or_else(|| refused(&"has no command"))?;
    let mut command = Command::new(program);
    command.args(exec.args.iter().flatten());
    for variable in exec.env.iter().flatten() {
        if let (Some(name), Some(value)) = (variable.get("name"), variable.get("value")) {
            command.env(name, value);
        }
    }
    for name in exec.drop_env.iter().flatten() {
        command.env_remove(name);
    }
    let asks = json!({
        "apiVersion": exec.api_version, "kind": "ExecCredential",
        "spec": { "interactive": false, "cluster": exec.cluster },
    });
    let is_silent = exec.interactive_mode == Some(ExecInteractiveMode::Never);
    let messages = if is_silent { Stdio::null() } else { Stdio::inherit() };
    command.env("KUBERNETES_EXEC_INFO", asks.to_string());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(messages);
    let child = command.spawn();
    let child = child.map_err(|error| refused(&format_args!("can't be started: {error}")))?;
    Login::read(&output(child, RUNS_MOST)?)
        .ok_or_else(|| refused(&"wrote no ExecCredential: run it to see why"))
}

fn output(mut child: Child, bound: Duration) -> Result<Vec<u8>, StoreError> {
    let stdout = child.stdout.take();
    let (done, written) = mpsc::channel();
    let reads = move || {
        let mut read = Vec::new();
        let outcome = stdout.map(|mut stdout| stdout.read_to_end(&mut read)).transpose();
        // Nobody waits for it after the bound.
        let _ = done.send(outcome.map(|_| read));
    };
    let reads = thread::Builder::new().name("tenure-login".to_owned()).spawn(reads);
    let began = StdInstant::now();
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if began.elapsed() < bound && reads.is_ok() => thread::sleep(LOOKED_AT),
            Ok(None) | Err(_) => {
                // It may have ended by itself meanwhile.
                let _ = child.kill();
                let _ = child.wait();
                return Err(refused(&format_args!("has not ended within {bound:?}")));
            }
        }
    };
    if !status.success() {
        return Err(refused(&format_args!("has failed ({status}): run it to see why")));
    }
    reads.map_err(|error| refused(&error))?;
    // A helper that the program has left behind may keep it open.
    let left = bound.saturating_sub(began.elapsed());
    let written = written.recv_timeout(left).map_err(|_| refused(&"has left its output open"))?;
    written.map_err(|error| refused(&error))
}

/// An error without the program's input and output, which may be secret.
fn refused(why: &dyn std::fmt::Display) -> StoreError {
    StoreError::new(StoreErrorKind::NoCredentials, format!("the kubeconfig's program {why}"))
}

/// The pause before another login is requested, with so much time left of this one.
fn pause(left: Duration) -> Duration {
    (left / 2).max(left.saturating_sub(EARLY)).max(APART)
}

fn until(ends: Timestamp) -> Duration {
    let left = ends.as_millisecond() - Timestamp::now().as_millisecond();
    Duration::from_millis(u64::try_from(left).unwrap_or(0))
}

/// The form of certificates and keys that stand in a kubeconfig.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let bits = three.iter().fold(0_usize, |bits, byte| (bits << 8) | usize::from(*byte));
        let bits = bits << (8 * (3 - three.len()));
        for digit in 0..4 {
            let value = (bits >> (18 - 6 * digit)) & 63;
            text.push(if digit <= three.len() { char::from(DIGITS[value]) } else { '=' });
        }
    }
    text
}

fn lock<T>(place: &Mutex<T>) -> MutexGuard<'_, T> {
    // No step panics half way.
    place.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Used {
    /// The present token.
    pub(super) fn header(&self) -> Option<HeaderValue> {
        lock(&self.header).clone()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use futures_util::FutureExt;

    use super::*;
    use crate::runtime::TokioRuntime;

    /// A program that notes each run, takes a while, and gives a token that ends so soon.
    fn program(folder: &Path, seconds: u32) -> ExecConfig {
        let runs = folder.join("runs");
        let script = format!(
            "echo >> {runs:?}; sleep 0.3; echo '{{\"status\": {{\"token\": \"'$(wc -l < {runs:?})'\", \
             \"expirationTimestamp\": \"'$(date -u -d '+{seconds} seconds' +%Y-%m-%dT%H:%M:%SZ)'\"}}}}'"
        );
        let exec = json!({ "command": "sh", "args": ["-c", script] });
        serde_json::from_value(exec).unwrap()
    }

    fn runs(folder: &Path) -> usize {
        std::fs::read_to_string(folder.join("runs")).unwrap_or_default().lines().count()
    }

    #[tokio::test]
    async fn a_program_runs_once_for_all() {
        let folder = tempfile::tempdir().unwrap();
        let (logins, exec) = (Logins::default(), program(folder.path(), 3_600));
        let [one, other] = [logins.get(&exec), logins.get(&exec)];
        let (one, other) = tokio::join!(one, other);
        assert!(one.is_ok() && other.is_ok());
        // One that nobody waits for any more runs on, for the next.
        let sent = logins.get(&exec).await.unwrap().header;
        logins.forget(&Used::default(), None);
        assert!(logins.get(&exec).await.is_ok());
        assert_eq!(runs(folder.path()), 1, "another was refused");
        logins.forget(&Used::default(), sent.as_ref());
        let _ = logins.get(&exec).now_or_never();
        assert!(logins.get(&exec).await.is_ok());
        assert_eq!(runs(folder.path()), 2);
    }

    #[tokio::test]
    async fn a_token_is_replaced_before_it_ends() {
        let folder = tempfile::tempdir().unwrap();
        let (logins, exec) = (Logins::default(), program(folder.path(), 8));
        let login = logins.get(&exec).await.unwrap();
        let used = login.used();
        let first = used.header().unwrap();
        let keeps = logins.clone().keep(exec, login, used.clone(), Arc::new(TokioRuntime));
        let after = |time| TokioRuntime.sleep_until(TokioRuntime.now() + time);
        let replaced = async {
            while used.header().unwrap() == first {
                after(LOOKED_AT).await;
            }
        };
        tokio::select! {
            () = replaced => {}
            () = keeps => panic!("its login has no end"),
            () = after(Duration::from_secs(60)) => panic!("not within a minute"),
        }
        assert!(first.is_sensitive() && runs(folder.path()) >= 2);
    }

    #[test]
    fn a_refused_certificate_is_forgotten_and_not_its_successor() {
        let [first, next] = ["first", "next"].map(|pem| {
            let identity = Some((pem.to_owned(), pem.to_owned()));
            Login { header: None, identity, ends: None }
        });
        let logins = Logins::default();
        *lock(&logins.kept) = Some(("program".to_owned(), next.clone()));
        logins.forget(&first.used(), None);
        assert!(lock(&logins.kept).is_some());
        logins.forget(&next.used(), None);
        assert!(lock(&logins.kept).is_none());
    }

    #[test]
    fn tokens_are_replaced_early() {
        let pauses = [0, 1, 60, 840, 3_600].map(|left| pause(Duration::from_secs(left)).as_secs());
        assert_eq!(pauses, [1, 1, 30, 540, 3_300]);
    }

    #[test]
    fn what_a_program_gives_is_read() {
        let read = |given: serde_json::Value| {
            Login::read(json!({ "kind": "ExecCredential", "status": given }).to_string().as_bytes())
        };
        let certified =
            read(json!({ "clientCertificateData": "c", "clientKeyData": "ke" })).unwrap();
        let mut auth = AuthInfo::default();
        certified.identifies(&mut auth);
        assert_eq!(auth.client_certificate_data.unwrap(), "Yw==");
        let texts = ["ke", "key", "key?"].map(|text| base64(text.as_bytes()));
        assert_eq!(texts, ["a2U=", "a2V5", "a2V5Pw=="]);
        for none in [json!({}), json!({ "token": "a\n" }), json!({ "clientKeyData": "k" })] {
            assert!(read(none).is_none());
        }
        // As client-go, it reads YAML.
        let lasting = "status:\n  token: t\n  expirationTimestamp: \"2030-01-01T00:00:00Z\"\n";
        assert!(Login::read(lasting.as_bytes()).unwrap().ends.is_some());
    }

    #[test]
    fn a_helper_that_is_left_behind_is_not_waited_for() {
        let mut program = Command::new("sh");
        program.args(["-c", "sleep 30 2>/dev/null & echo"]).stdout(Stdio::piped());
        let began = StdInstant::now();
        let error = output(program.spawn().unwrap(), Duration::from_millis(200)).unwrap_err();
        assert!(began.elapsed() < Duration::from_secs(300), "{error}");
    }

    /// Nothing that it has written is shown.
    #[test]
    fn a_program_that_fails_is_named_alone() {
        let run = |script: &str| {
            let exec = json!({ "command": "sh", "args": ["-c", script] });
            run(&serde_json::from_value(exec).unwrap()).map(drop).unwrap_err()
        };
        for (script, says) in
            [("echo hush; exit 3", "has failed"), ("echo hush", "no ExecCredential")]
        {
            let error = run(script);
            assert_eq!(error.kind(), StoreErrorKind::NoCredentials);
            let shown = format!("{error} {error:?} {}", error.with_causes());
            assert!(shown.contains(says) && !shown.contains("hush"), "{shown}");
        }
    }
}
