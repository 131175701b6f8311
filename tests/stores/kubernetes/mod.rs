//! The store over Kubernetes' Leases against a real API server: every row of the store contract,
//! candidates of client-go's kind, rights, and servers that fail.
//!
//! Needs `kube-apiserver`; without it, these tests fail and say how to build it.

mod client_go;
mod client_go_alone;
mod login;
mod manifests;
mod others;
pub(crate) mod rows;
pub(crate) mod support;
mod webhooks;
