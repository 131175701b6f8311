//! One request over one short-lived blocking connection, encrypted.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde_json::Value;

use super::ADMIN;
use crate::ServerError;
use crate::error::doing;

const PATIENCE: Duration = Duration::from_secs(10);
const CONNECTING: &str = "connecting to kube-apiserver";
const READING: &str = "reading an answer of kube-apiserver";

/// A client of the server at that port of 127.0.0.1, which trusts its authority only.
#[derive(Debug)]
pub(super) struct Client {
    port: u16,
    config: Arc<ClientConfig>,
}

impl Client {
    pub(super) fn trusting(port: u16, authority: &str) -> Result<Self, ServerError> {
        let trust = || doing("trusting a certificate authority");
        let mut roots = RootCertStore::empty();
        let certificate = CertificateDer::from_pem_slice(authority.as_bytes());
        let certificate = certificate.map_err(|error| trust()(io::Error::other(error)))?;
        roots.add(certificate).map_err(|error| trust()(io::Error::other(error)))?;
        let config = ClientConfig::builder_with_provider(ring::default_provider().into())
            .with_safe_default_protocol_versions()
            .map_err(|error| trust()(io::Error::other(error)))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self { port, config: Arc::new(config) })
    }

    pub(super) fn admin(
        &self,
        method: &str,
        path: &str,
        body: &Value,
    ) -> Result<Value, ServerError> {
        let (status, answer) = self.call(ADMIN, method, path, body)?;
        if (200..300).contains(&status) {
            return Ok(answer);
        }
        let detail = format!("{status} to {method} {path}: {answer}");
        Err(ServerError::Protocol { port: self.port, detail })
    }

    pub(super) fn call(
        &self,
        token: &str,
        method: &str,
        path: &str,
        body: &Value,
    ) -> Result<(u16, Value), ServerError> {
        let answer = self.exchange(&request(token, method, path, body))?;
        let parsed = answer.split_once("\r\n\r\n").and_then(|(head, body)| {
            let status = head.split(' ').nth(1)?.parse().ok()?;
            Some((status, serde_json::from_str(body).unwrap_or_else(|_| Value::from(body))))
        });
        let detail = || answer.chars().take(300).collect();
        parsed.ok_or_else(|| ServerError::Protocol { port: self.port, detail: detail() })
    }

    /// HTTP 1.0: the answer ends with the connection.
    fn exchange(&self, request: &str) -> Result<String, ServerError> {
        let tcp =
            TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).map_err(doing(CONNECTING))?;
        tcp.set_read_timeout(Some(PATIENCE)).map_err(doing("setting a timeout"))?;
        let name = ServerName::IpAddress(Ipv4Addr::LOCALHOST.into());
        let session = ClientConnection::new(self.config.clone(), name)
            .map_err(|error| doing(CONNECTING)(io::Error::other(error)))?;
        let mut stream = StreamOwned::new(session, tcp);
        stream
            .write_all(request.as_bytes())
            .map_err(doing("sending a request to kube-apiserver"))?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).map_err(doing(READING))?;
        Ok(answer)
    }
}

fn request(token: &str, method: &str, path: &str, body: &Value) -> String {
    let kind = match (method, body) {
        ("PATCH", Value::Array(_)) => "json-patch+json",
        ("PATCH", _) => "merge-patch+json",
        _ => "json",
    };
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let length = body.len();
    format!(
        "{method} {path} HTTP/1.0\r\n\
         Host: 127.0.0.1\r\n\
         Authorization: Bearer {token}\r\n\
         Content-Type: application/{kind}\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    )
}
