//! The namespace, and how to reach it.

use std::path::{Path, PathBuf};

use super::names::is_name;

/// A namespace that elections are kept in, and how to reach it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct KubernetesConfig {
    namespace: String,
    prefix: String,
    pub(super) kubeconfig: Option<PathBuf>,
    pub(super) context: Option<String>,
    pub(super) trust_empty_store: bool,
}

/// A name is none that Kubernetes accepts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{what} is {name:?}; it must have 1 to 253 of the characters a-z, 0-9, '-' and '.', and begin and end with a letter or a digit"
)]
pub struct KubernetesNameError {
    /// Which name.
    pub what: &'static str,
    /// The name.
    pub name: String,
}

impl KubernetesConfig {
    /// That namespace, of the cluster that the process runs in, or that a kubeconfig names (`KUBECONFIG`, or
    /// `~/.kube/config`), if there is one.
    ///
    /// # Errors
    /// If no namespace can have that name.
    pub fn new(namespace: impl Into<String>) -> Result<Self, KubernetesNameError> {
        let namespace = checked("the namespace", namespace.into())?;
        let (prefix, kubeconfig, context) = (String::new(), None, None);
        Ok(Self { namespace, prefix, kubeconfig, context, trust_empty_store: false })
    }

    /// Sets what the name of each Lease begins with, before a `-` and the election's key. Default: nothing.
    ///
    /// # Errors
    /// If no Lease can have that name.
    pub fn with_prefix(mut self, prefix: impl Into<String>) -> Result<Self, KubernetesNameError> {
        self.prefix = checked("the prefix", prefix.into())?;
        Ok(self)
    }

    /// Sets the kubeconfig. It is read again for each client that is made.
    pub fn kubeconfig(mut self, path: impl AsRef<Path>) -> Self {
        self.kubeconfig = Some(path.as_ref().to_owned());
        self
    }

    /// Sets the context of the kubeconfig. Default: its current one.
    pub fn context(mut self, context: impl Into<String>) -> Self {
        self.context = Some(context.into());
        self
    }

    /// Treats an election without a Lease as one that never had any, so that its first lease is granted at once. For tests
    /// and throw-away clusters only: it gives up promise G6 for Leases that are deleted.
    pub fn trust_empty_store(mut self, trust: bool) -> Self {
        self.trust_empty_store = trust;
        self
    }

    pub(super) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Where the objects are.
    pub(super) fn path(&self) -> String {
        format!("/apis/coordination.k8s.io/v1/namespaces/{}/leases", self.namespace)
    }
}

fn checked(what: &'static str, name: String) -> Result<String, KubernetesNameError> {
    if is_name(&name) { Ok(name) } else { Err(KubernetesNameError { what, name }) }
}
