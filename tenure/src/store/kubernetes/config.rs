//! The namespace, and how to reach it.

use std::path::{Path, PathBuf};

use super::names::is_name;
use crate::SettingError;
use crate::settings::{Fault, Setting};

const NAME: &str =
    "1 to 253 of the characters a-z, 0-9, '-' and '.', with a letter or a digit at both ends";

pub(super) const NAMESPACE: Setting<String> = Setting::part("namespace", named)
    .must(NAME, "billing")
    .default("required")
    .about("the namespace of the Leases")
    .names_records();
pub(super) const PREFIX: Setting<String> = Setting::part("prefix", named)
    .must(NAME, "reports")
    .about("what the name of each Lease begins with, before a - and the key")
    .names_records();

/// A namespace that elections are kept in, and how to reach it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct KubernetesConfig {
    namespace: String,
    prefix: String,
    pub(super) kubeconfig: Option<PathBuf>,
    pub(super) context: Option<String>,
    pub(super) trust_empty_store: bool,
    pub(super) unshared: bool,
}

impl KubernetesConfig {
    /// A namespace of the cluster that a kubeconfig names (`KUBECONFIG`, or `~/.kube/config`), if
    /// there is one, and otherwise of the cluster that the process runs in.
    ///
    /// # Errors
    /// If no namespace can have that name.
    pub fn new(namespace: impl AsRef<str>) -> Result<Self, SettingError> {
        let namespace = NAMESPACE.check(namespace.as_ref())?;
        let (prefix, kubeconfig, context) = (String::new(), None, None);
        let (trust_empty_store, unshared) = (false, false);
        Ok(Self { namespace, prefix, kubeconfig, context, trust_empty_store, unshared })
    }

    /// Sets what the name of each Lease begins with, before a `-` and the election's key. Default:
    /// nothing.
    ///
    /// # Errors
    /// If no Lease can have that name.
    pub fn prefix(mut self, prefix: impl AsRef<str>) -> Result<Self, SettingError> {
        self.prefix = PREFIX.check(prefix.as_ref())?;
        Ok(self)
    }

    /// Sets the kubeconfig. It is read again for each connection.
    pub fn kubeconfig(mut self, path: impl AsRef<Path>) -> Self {
        self.kubeconfig = Some(path.as_ref().to_owned());
        self
    }

    /// Sets the context of the kubeconfig. Default: its current one.
    pub fn context(mut self, context: impl Into<String>) -> Self {
        self.context = Some(context.into());
        self
    }

    /// Treats an election without a Lease as one that never had any, so that its first lease is
    /// granted at once. For tests and throw-away clusters only: it gives up promise G6 for Leases
    /// that are deleted.
    pub fn trust_empty_store(mut self, trust: bool) -> Self {
        self.trust_empty_store = trust;
        self
    }

    /// Says that no candidates of other kinds, such as client-go's, share the Leases. They compare
    /// the times of renewals in whole seconds, so that a TTL below 3 s and a renew interval below
    /// 1 s are refused unless this is set. One that waits writes nothing, so its presence can't be
    /// seen. Default: no.
    pub fn unshared(mut self, unshared: bool) -> Self {
        self.unshared = unshared;
        self
    }

    pub(super) fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The name of the key's Lease.
    pub(super) fn name(&self, key: &crate::store::Key) -> String {
        super::names::name(&self.prefix, key)
    }

    /// The path of the objects.
    pub(super) fn path(&self) -> String {
        format!("/apis/coordination.k8s.io/v1/namespaces/{}/leases", self.namespace)
    }
}

fn named(text: &str) -> Result<String, Fault> {
    if is_name(text) { Ok(text.to_owned()) } else { Err(Fault::Must) }
}
