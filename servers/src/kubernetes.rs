//! A real API server of Kubernetes of a test's own, with the etcd that keeps its objects.

mod candidate;
mod https;
mod programs;
mod rights;
mod webhook;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::certificates::Authority;
use crate::error::doing;
use crate::process::{Process, process_methods};
use crate::{EtcdServer, EtcdSnapshot, ServerError};
pub use candidate::{ClientGoCandidate, ClientGoEvent, ClientGoEventKind, ClientGoSettings};
use https::Client;
pub use webhook::KubeWebhook;

/// It takes 3 s to 8 s by itself.
const READY_WITHIN: Duration = Duration::from_secs(180);
/// Each question is a handshake, which takes the processor from a server that starts.
const ASK_EVERY: Duration = Duration::from_millis(150);

const ADMIN: &str = "admin";
/// Each line: token, name, number, and groups.
const ACCOUNTS: &str = "admin,admin,1,\"system:masters\"\n";

/// The groups for elections, their rights and their clients. All groups would take a second longer,
/// and twice the memory.
const GROUPS: [&str; 9] = [
    "api/all=false",
    "api/v1=true",
    // The server itself looks for these.
    "apiextensions.k8s.io/v1=true",
    "apiregistration.k8s.io/v1=true",
    "authentication.k8s.io/v1=true",
    "authorization.k8s.io/v1=true",
    "coordination.k8s.io/v1=true",
    "flowcontrol.apiserver.k8s.io/v1beta1=true",
    "rbac.authorization.k8s.io/v1=true",
];
/// They read objects of groups that are off, or act on pods. One that an argument names is on.
const NO_ADMISSION: [&str; 15] = [
    "CertificateApproval",
    "CertificateSigning",
    "CertificateSubjectRestriction",
    "DefaultIngressClass",
    "DefaultStorageClass",
    "DefaultTolerationSeconds",
    "LimitRanger",
    "MutatingAdmissionWebhook",
    "PersistentVolumeClaimResize",
    "Priority",
    "ResourceQuota",
    "RuntimeClass",
    "StorageObjectInUseProtection",
    "TaintNodesByCondition",
    "ValidatingAdmissionWebhook",
];

/// A `kube-apiserver` on a loopback port, with an etcd of its own, and rights by roles. There are
/// no controllers and no nodes: no pod runs, and a deleted namespace stays. Both processes are
/// stopped and their folders removed on drop.
#[derive(Debug)]
pub struct KubeApiServer {
    port: u16,
    args: Vec<String>,
    authority: String,
    signer: Authority,
    client: Client,
    // Ends before its etcd does.
    process: Process,
    etcd: EtcdServer,
}

impl KubeApiServer {
    /// Starts a server, and its etcd.
    ///
    /// # Errors
    /// [`ServerError::Missing`] if one of them is not installed, [`ServerError::NotReady`] if the
    /// server does not serve within 180 s, or etcd within 60 s.
    pub fn start() -> Result<Self, ServerError> {
        Self::start_with(&[])
    }

    /// The same with more arguments, such as `["--max-requests-inflight", "20"]`. One that the
    /// server has anyway is replaced.
    ///
    /// # Errors
    /// As for [`start`](Self::start).
    pub fn start_with(args: &[&str]) -> Result<Self, ServerError> {
        let mut process = Process::of(programs::SERVER, programs::server()?, None)?;
        let port = process.port()?;
        let signer = Authority::new()?;
        let authority = signer.pem();
        let certificate = signer.certificate(&["127.0.0.1", "localhost"])?;
        let files = [
            ("ca.pem", authority.as_str()),
            ("server.pem", &certificate.valid),
            ("server.key", &certificate.key),
            ("accounts.csv", ACCOUNTS),
        ];
        for (name, text) in files {
            fs::write(process.folder().join(name), text)
                .map_err(doing("writing a file for kube-apiserver"))?;
        }
        let client = Client::trusting(port, &authority)?;
        let args = args.iter().map(|&arg| arg.to_owned()).collect();
        let mut server =
            Self { port, args, authority, signer, client, process, etcd: EtcdServer::start()? };
        server.launch()?;
        Ok(server)
    }

    /// The TCP port on 127.0.0.1, for encrypted connections only; the same after a
    /// [`restart`](Self::restart).
    pub fn port(&self) -> u16 {
        self.port
    }

    /// `https://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.port)
    }

    /// The certificate, in PEM, of the authority that has signed the server's.
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// The token of a user who may do everything, whatever the data in etcd are.
    pub fn admin_token(&self) -> &'static str {
        ADMIN
    }

    process_methods!();

    /// Kills the server and starts it again on the same port. Its etcd lives on.
    ///
    /// # Errors
    /// As for [`start`](Self::start).
    pub fn restart(&mut self) -> Result<(), ServerError> {
        self.kill()?;
        self.launch()
    }

    /// Its etcd.
    pub fn etcd(&self) -> &EtcdServer {
        &self.etcd
    }

    /// Its etcd, to kill or restart it.
    pub fn etcd_mut(&mut self) -> &mut EtcdServer {
        &mut self.etcd
    }

    /// Copies the data of its etcd.
    ///
    /// # Errors
    /// As for [`EtcdServer::snapshot`].
    pub fn snapshot(&self) -> Result<EtcdSnapshot, ServerError> {
        self.etcd.snapshot()
    }

    /// Restarts etcd with the data of the snapshot. A server that runs lives on, and is waited for
    /// until it serves again: its open watches stay silent and do not end, until it is
    /// [restarted](Self::restart). One that was [killed](Self::kill) stays down, and one that is
    /// paused must be resumed before.
    ///
    /// # Errors
    /// As for [`EtcdServer::restore`], and [`ServerError::NotReady`] if the server does not serve
    /// within 180 s.
    pub fn restore(&mut self, snapshot: &EtcdSnapshot) -> Result<(), ServerError> {
        self.etcd.restore(snapshot)?;
        if self.pid().is_none() {
            return Ok(());
        }
        let began = Instant::now();
        while !serves(&self.client) {
            if began.elapsed() > READY_WITHIN || !self.process.is_running()? {
                let (program, port, bound) = (programs::SERVER.name, self.port, READY_WITHIN);
                let log = self.process.log_end();
                return Err(ServerError::NotReady { program, port, bound, log });
            }
        }
        Ok(())
    }

    /// Writes a file by which `kubectl` and other clients reach the server with that token, in the
    /// namespace `default`. The file goes with the server.
    ///
    /// # Errors
    /// If it can't be written.
    pub fn kubeconfig(&self, token: &str) -> Result<PathBuf, ServerError> {
        self.kubeconfig_at(&self.url(), token)
    }

    /// The same for a client that reaches the server through a proxy.
    pub(crate) fn kubeconfig_at(&self, url: &str, token: &str) -> Result<PathBuf, ServerError> {
        const WRITING: &str = "writing a kubeconfig";
        let folder = self.process.folder();
        let file = tempfile::Builder::new().prefix("kubeconfig-").tempfile_in(folder);
        let mut file = file.map_err(doing(WRITING))?;
        let text = kubeconfig(url, &folder.join("ca.pem"), token);
        file.write_all(text.as_bytes()).map_err(doing(WRITING))?;
        let (_, path) = file.keep().map_err(|error| doing(WRITING)(error.error))?;
        Ok(path)
    }

    /// One request with that token, over a connection of its own: the answer's status and body,
    /// whatever the status is. A body that is no JSON is a string. `Value::Null` sends no body. The
    /// body of a PATCH is a JSON Patch if it is an array, and a merge patch otherwise.
    ///
    /// # Errors
    /// If there is no answer within 10 s.
    pub fn call(
        &self,
        token: &str,
        method: &str,
        path: &str,
        body: &Value,
    ) -> Result<(u16, Value), ServerError> {
        self.client.call(token, method, path, body)
    }

    /// The same as the user who may do everything: the body of an answer that tells of success.
    ///
    /// # Errors
    /// As for [`call`](Self::call), and [`ServerError::Protocol`] with the answer if that tells of
    /// an error.
    pub fn admin(&self, method: &str, path: &str, body: &Value) -> Result<Value, ServerError> {
        self.client.admin(method, path, body)
    }

    fn launch(&mut self) -> Result<(), ServerError> {
        let Self { port, args, client, etcd, .. } = self;
        let (port, etcd) = (*port, format!("http://127.0.0.1:{}", etcd.port()));
        let configure = |command: &mut Command| configure(command, port, &etcd, args);
        self.process.launch_within(READY_WITHIN, port, configure, |_| serves(client))
    }
}

fn configure(command: &mut Command, port: u16, etcd: &str, args: &[String]) {
    let is_named = |plugin: &str| args.iter().any(|arg| arg.split(',').any(|one| one == plugin));
    let off: Vec<_> = NO_ADMISSION.into_iter().filter(|plugin| !is_named(plugin)).collect();
    command
        // Webhooks have certificates of the same authority.
        .env("SSL_CERT_FILE", "ca.pem")
        .args(["--etcd-servers", etcd, "--secure-port", &port.to_string()])
        .args(["--bind-address", "127.0.0.1", "--advertise-address", "127.0.0.1"])
        .args(["--endpoint-reconciler-type", "none"])
        .args(["--tls-cert-file", "server.pem", "--tls-private-key-file", "server.key"])
        .args(["--authorization-mode", "RBAC", "--token-auth-file", "accounts.csv"])
        // The key of its certificate signs the tokens of service accounts, too.
        .args(["--service-account-issuer", "https://kubernetes.default.svc"])
        .args(["--service-account-signing-key-file", "server.key"])
        .args(["--service-account-key-file", "server.pem"])
        .args(["--runtime-config", &GROUPS.join(",")])
        .args(["--disable-admission-plugins", &off.join(",")])
        .args(args);
}

/// True if the server is ready, has made its first namespaces, and reaches the leases in etcd, for
/// which it has a connection of their own. Asked after a pause.
fn serves(client: &Client) -> bool {
    thread::sleep(ASK_EVERY);
    let paths = [
        "/readyz",
        "/api/v1/namespaces/default",
        "/apis/coordination.k8s.io/v1/namespaces/default/leases",
    ];
    paths.iter().all(|path| client.admin("GET", path, &Value::Null).is_ok())
}

/// Strings of JSON are strings of YAML.
fn kubeconfig(url: &str, authority: &Path, token: &str) -> String {
    let quoted = |text: &str| Value::from(text).to_string();
    let (authority, token) = (quoted(&authority.to_string_lossy()), quoted(token));
    format!(
        "apiVersion: v1\n\
         kind: Config\n\
         clusters:\n\
         - name: test\n  cluster:\n    server: {url}\n    certificate-authority: {authority}\n\
         users:\n\
         - name: test\n  user:\n    token: {token}\n\
         contexts:\n\
         - name: test\n  context:\n    cluster: test\n    user: test\n\
         current-context: test\n"
    )
}
