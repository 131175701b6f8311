//! A configuration from a URL.

use std::path::PathBuf;

use super::config::{KubernetesConfig, NAMESPACE, PREFIX};
use crate::SettingError;
use crate::settings::values::{flag, parsed};
use crate::settings::{Configured, Given, Hosts, Path, Scheme, Setting, Table};

const KUBECONFIG: Setting<PathBuf> = Setting::parameter("kubeconfig", parsed)
    .must("the path of a file", "/etc/app/kubeconfig")
    .default("`KUBECONFIG`, `~/.kube/config`, or the pod's own")
    .about("the file that says where the cluster is and how to log in");
const CONTEXT: Setting<String> = Setting::parameter("context", parsed)
    .must("the name of a context", "production")
    .default("the file's current one")
    .about("which context of that file");
const UNSHARED: Setting<bool> = Setting::parameter("unshared", flag)
    .must("true, yes, on or 1, or else false, no, off or 0", "true")
    .default("off")
    .about("no candidates of other kinds share the Leases: allows TTLs below 3 s, and renew intervals below 1 s");

static TABLE: Table = Table {
    store: "Kubernetes",
    schemes: &[Scheme {
        names: &["kubernetes"],
        encrypted: None,
        form: ":///namespace/prefix",
        example: ":///billing",
        hosts: Hosts::None("it names a host, and the kubeconfig says where the cluster is"),
        path: Path::Pieces(&["namespace", "prefix"]),
    }],
    settings: &[&NAMESPACE.row, &PREFIX.row, &KUBECONFIG.row, &CONTEXT.row, &UNSHARED.row],
    foreign: &[],
    prefixes: &[],
};

impl KubernetesConfig {
    /// Reads `kubernetes:///NAMESPACE`, with what the names of Leases [begin](Self::prefix) with as
    /// `kubernetes:///NAMESPACE/PREFIX`, and with the parameters `kubeconfig`, `context` and `unshared`.
    ///
    /// # Errors
    /// If the text has another form.
    pub fn from_url(url: &str) -> Result<Self, SettingError> {
        Self::of_url(url)
    }
}

impl Configured for KubernetesConfig {
    const TABLE: &'static Table = &TABLE;

    fn read(given: &mut Given) -> Result<Self, SettingError> {
        let mut config = Self::new(given.need(&NAMESPACE)?)?;
        if let Some(prefix) = given.take(&PREFIX)? {
            config = config.prefix(prefix)?;
        }
        if let Some(path) = given.take(&KUBECONFIG)? {
            config = config.kubeconfig(path);
        }
        if let Some(context) = given.take(&CONTEXT)? {
            config = config.context(context);
        }
        Ok(match given.take(&UNSHARED)? {
            Some(unshared) => config.unshared(unshared),
            None => config,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_url() {
        let config = |url| KubernetesConfig::from_url(url).unwrap();
        let billing = || KubernetesConfig::new("billing").unwrap();
        assert_eq!(config("kubernetes:///billing"), billing());
        let reports = billing().prefix("reports").unwrap();
        let url = "kubernetes:///billing/reports?kubeconfig=/etc/a%20b&context=c&unshared=yes";
        assert_eq!(config(url), reports.kubeconfig("/etc/a b").context("c").unshared(true));
    }
}
