//! An admission webhook: an HTTPS server of this process, which the API server asks before it stores
//! a Lease.

use std::fmt;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Value, json};

use super::{ADMIN, ASK_EVERY, KubeApiServer, READY_WITHIN};
use crate::ServerError;
use crate::certificates::Certificate;
use crate::error::doing;

const SERVING: &str = "serving a webhook";
const PATIENCE: Duration = Duration::from_secs(10);
/// Nothing is stored by it.
const DRY_RUN: &str = "/apis/coordination.k8s.io/v1/namespaces/default/leases?dryRun=All";

/// Is asked about each Lease that is created or changed. Once it is dropped, the server stores none.
pub struct KubeWebhook {
    port: u16,
    state: Arc<State>,
}

struct State {
    tls: Arc<ServerConfig>,
    decide: Box<dyn Fn(&Value) -> Value + Send + Sync>,
    was_asked: AtomicBool,
    is_over: AtomicBool,
}

impl KubeApiServer {
    /// Starts a server that may have webhooks: others know of none.
    ///
    /// # Errors
    /// As for [`start`](Self::start).
    pub fn start_with_webhooks() -> Result<Self, ServerError> {
        let plugins = "MutatingAdmissionWebhook,ValidatingAdmissionWebhook";
        let group = "admissionregistration.k8s.io/v1=true";
        Self::start_with(&["--enable-admission-plugins", plugins, "--runtime-config", group])
    }

    /// Adds a webhook of the kind `Mutating` or `Validating`, whose name needs three parts
    /// (`a.b.c`), and waits until the server asks it. `decide` is given the `request` of an
    /// `AdmissionReview`, and returns its `response`, an object, without a `uid`. A `patch` in it
    /// would crash the server that `scripts/kube-apiserver` builds, whose reflect2 is too old for
    /// its Go.
    ///
    /// # Errors
    /// As for [`admin`](Self::admin), also if the server does not ask it within 180 s, as one without
    /// [webhooks](Self::start_with_webhooks).
    pub fn webhook(
        &self,
        kind: &str,
        name: &str,
        decide: impl Fn(&Value) -> Value + Send + Sync + 'static,
    ) -> Result<KubeWebhook, ServerError> {
        let tls = tls(&self.signer.certificate(&["127.0.0.1"])?);
        let tls = tls.map_err(|error| doing(SERVING)(io::Error::other(error)))?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(doing(SERVING))?;
        let port = listener.local_addr().map_err(doing(SERVING))?.port();
        let (was_asked, is_over) = (AtomicBool::new(false), AtomicBool::new(false));
        let state =
            Arc::new(State { tls: Arc::new(tls), decide: Box::new(decide), was_asked, is_over });
        let webhook = KubeWebhook { port, state: Arc::clone(&state) };
        thread::spawn(move || serve(&listener, &state));
        let rule = json!({
            "operations": ["CREATE", "UPDATE"], "apiGroups": ["coordination.k8s.io"], "apiVersions": ["v1"],
            "resources": ["leases"],
        });
        let url = format!("https://127.0.0.1:{port}/");
        let registered = json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": format!("{kind}WebhookConfiguration"),
            "metadata": { "name": name },
            "webhooks": [{
                "name": name, "rules": [rule], "sideEffects": "None", "admissionReviewVersions": ["v1"],
                "clientConfig": { "url": url },
            }],
        });
        let kinds = format!("{kind}WebhookConfigurations").to_lowercase();
        self.admin("POST", &format!("/apis/admissionregistration.k8s.io/v1/{kinds}"), &registered)?;
        let began = Instant::now();
        while !webhook.state.was_asked.load(Ordering::Relaxed) {
            if began.elapsed() > READY_WITHIN {
                let detail = format!("the webhook {name:?} was not asked within {READY_WITHIN:?}");
                return Err(ServerError::Protocol { port: self.port, detail });
            }
            let lease = json!({ "metadata": { "name": "any" }, "spec": {} });
            self.call(ADMIN, "POST", DRY_RUN, &lease)?;
            thread::sleep(ASK_EVERY);
        }
        Ok(webhook)
    }
}

fn tls(
    certificate: &Certificate,
) -> Result<ServerConfig, Box<dyn std::error::Error + Send + Sync>> {
    let chain = vec![CertificateDer::from_pem_slice(certificate.valid.as_bytes())?];
    let key = PrivateKeyDer::from_pem_slice(certificate.key.as_bytes())?;
    let tls = ServerConfig::builder_with_provider(ring::default_provider().into());
    let tls = tls.with_safe_default_protocol_versions()?.with_no_client_auth();
    Ok(tls.with_single_cert(chain, key)?)
}

fn serve(listener: &TcpListener, state: &Arc<State>) {
    for tcp in listener.incoming() {
        if state.is_over.load(Ordering::Relaxed) {
            return;
        }
        let state = Arc::clone(state);
        // The API server tells of one that has no answer.
        thread::spawn(move || tcp.and_then(|tcp| answer(tcp, &state)));
    }
}

/// One request, over a connection of its own.
fn answer(tcp: TcpStream, state: &State) -> io::Result<()> {
    tcp.set_read_timeout(Some(PATIENCE))?;
    let session = ServerConnection::new(Arc::clone(&state.tls)).map_err(io::Error::other)?;
    let mut stream = BufReader::new(StreamOwned::new(session, tcp));
    let (mut line, mut length) = (String::new(), 0_usize);
    while stream.read_line(&mut line)? > "\r\n".len() {
        if let Some(given) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = given.trim().parse().map_err(io::Error::other)?;
        }
        line.clear();
    }
    let mut body = vec![0_u8; length];
    stream.read_exact(&mut body)?;
    let review: Value = serde_json::from_slice(&body)?;
    let request = &review["request"];
    let mut response = (state.decide)(request);
    state.was_asked.store(true, Ordering::Relaxed);
    response["uid"] = request["uid"].clone();
    let (version, kind) = (&review["apiVersion"], &review["kind"]);
    let review = json!({ "apiVersion": version, "kind": kind, "response": response }).to_string();
    let length = review.len();
    let answer = format!(
        "HTTP/1.1 200 OK\r\n\
         Content-Type: application/json\r\n\
         Content-Length: {length}\r\n\
         Connection: close\r\n\r\n{review}"
    );
    let stream = stream.get_mut();
    stream.write_all(answer.as_bytes())?;
    stream.conn.send_close_notify();
    stream.flush()
}

impl Drop for KubeWebhook {
    fn drop(&mut self) {
        self.state.is_over.store(true, Ordering::Relaxed);
        // Ends the wait for the next connection.
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
    }
}

impl fmt::Debug for KubeWebhook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KubeWebhook").field("port", &self.port).finish_non_exhaustive()
    }
}
