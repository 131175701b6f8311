//! The sidecar's server: HTTP/1.1, one request for each connection.
//!
//! The thread that answers renews the lease too. So all that a client could do to it has a bound:
//! how many connections are open, how long each lasts, and how much is read from it. One request
//! for each connection makes these bounds few; a new connection on the same host takes less than a
//! millisecond.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use super::answers::Answers;

/// With one more, the oldest connection is closed: the likeliest that is idle.
const CONNECTIONS_MOST: usize = 64;
/// From the beginning of a connection to its end.
const CONNECTION_ENDS_WITHIN: Duration = Duration::from_secs(5);
/// The bound on the request's line and headers, in bytes; the least that hyper takes. A request's
/// body is not read.
const REQUEST_MOST: usize = 8 * 1024;
/// After a connection that could not be accepted, as while the process has no free file descriptor.
const AFTER_FAILURE: Duration = Duration::from_millis(100);

pub(super) async fn serve(listener: TcpListener, answers: Arc<Answers>) -> Infallible {
    let mut open: VecDeque<JoinHandle<()>> = VecDeque::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(AFTER_FAILURE).await;
            continue;
        };
        open.retain(|connection| !connection.is_finished());
        if open.len() >= CONNECTIONS_MOST
            && let Some(oldest) = open.pop_front()
        {
            oldest.abort();
        }
        open.push_back(tokio::spawn(connection(stream, Arc::clone(&answers))));
    }
}

async fn connection(stream: TcpStream, answers: Arc<Answers>) {
    let service = service_fn(move |request: Request<Incoming>| {
        let answer = answer(&request, &answers);
        async move { answer.map_err(io::Error::other) }
    });
    let connection = http1::Builder::new()
        .keep_alive(false)
        .max_buf_size(REQUEST_MOST)
        // The time limit below is for all of it.
        .header_read_timeout(None)
        .serve_connection(TokioIo::new(stream), service);
    // An error is the client's: it has gone, or does not speak HTTP.
    let _ = tokio::time::timeout(CONNECTION_ENDS_WITHIN, connection).await;
}

fn answer(
    request: &Request<Incoming>,
    answers: &Answers,
) -> Result<Response<String>, serde_json::Error> {
    let path = request.uri().path();
    if !matches!(path, "/" | "/healthz" | "/readyz") {
        return Ok(text(StatusCode::NOT_FOUND, "the paths are /, /healthz and /readyz"));
    }
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let mut refused = text(StatusCode::METHOD_NOT_ALLOWED, "the methods are GET and HEAD");
        refused.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return Ok(refused);
    }
    Ok(match path {
        "/" => {
            let json = serde_json::to_string(&answers.reply())?;
            respond(StatusCode::OK, "application/json", format!("{json}\n"))
        }
        "/readyz" => match answers.not_ready() {
            None => text(StatusCode::OK, "ready"),
            Some(reason) => text(StatusCode::SERVICE_UNAVAILABLE, &format!("not ready: {reason}")),
        },
        _ => text(StatusCode::OK, "works"),
    })
}

fn text(status: StatusCode, text: &str) -> Response<String> {
    respond(status, "text/plain; charset=utf-8", format!("{text}\n"))
}

fn respond(status: StatusCode, kind: &'static str, body: String) -> Response<String> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    // An answer of yesterday must not be shown by something in between.
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
