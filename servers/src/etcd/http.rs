//! One HTTP request over one short-lived blocking connection.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

use serde_json::Value;

use crate::ServerError;
use crate::error::doing;

const PATIENCE: Duration = Duration::from_secs(10);

pub(super) fn get(port: u16, path: &str) -> Result<Value, ServerError> {
    send(port, &format!("GET {path} HTTP/1.0\r\n\r\n"))
}

pub(super) fn post(
    port: u16,
    path: &str,
    body: &str,
    token: Option<&str>,
) -> Result<Value, ServerError> {
    let length = body.len();
    let token = token.map_or_else(String::new, |token| format!("Authorization: {token}\r\n"));
    send(port, &format!("POST {path} HTTP/1.0\r\n{token}Content-Length: {length}\r\n\r\n{body}"))
}

/// The value of a metric without labels.
pub(super) fn metric(port: u16, name: &str) -> Result<usize, ServerError> {
    let text = exchange(port, "GET /metrics HTTP/1.0\r\n\r\n")?;
    let lines = text.lines().filter_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    let missing = || ServerError::Protocol { port, detail: format!("no metric {name}") };
    lines.into_iter().next().ok_or_else(missing)
}

fn send(port: u16, request: &str) -> Result<Value, ServerError> {
    let body = exchange(port, request)?;
    let detail = || body.chars().take(300).collect();
    serde_json::from_str(&body).map_err(|_| ServerError::Protocol { port, detail: detail() })
}

/// The body of the answer, if the request succeeded. HTTP 1.0: the answer ends with the connection.
fn exchange(port: u16, request: &str) -> Result<String, ServerError> {
    let mut stream =
        TcpStream::connect((Ipv4Addr::LOCALHOST, port)).map_err(doing("connecting to etcd"))?;
    stream.set_read_timeout(Some(PATIENCE)).map_err(doing("setting a timeout"))?;
    stream.write_all(request.as_bytes()).map_err(doing("sending a request to etcd"))?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).map_err(doing("reading an answer of etcd"))?;
    let unexpected = || ServerError::Protocol { port, detail: answer.chars().take(300).collect() };
    let (head, body) = answer.split_once("\r\n\r\n").ok_or_else(unexpected)?;
    let succeeded = head.split(' ').nth(1) == Some("200");
    succeeded.then(|| body.to_owned()).ok_or_else(unexpected)
}
