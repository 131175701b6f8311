//! The channel under the client: one connection to one member, opened like those of all other stores.
//!
//! The channel of the client itself would look the member's name up among tokio's blocking tasks.

use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use etcd_client::{Certificate, Error, Identity, TlsOptions};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use hyper_util::rt::TokioIo;
use tonic::codegen::{Service, http::Uri};
use tonic::transport::{Channel, Endpoint};

use super::config::{EtcdConfig, EtcdTls};
use crate::runtime::Connection;
use crate::store::dial::Dial;

/// Servers close connections that are pinged more often than every 5 s. This is for watches: requests
/// have timeouts of their own.
const PING_EVERY: Duration = Duration::from_secs(10);
const PONG_WITHIN: Duration = Duration::from_secs(5);

/// A channel to that member, which connects when a request needs it.
pub(super) fn lazy(
    config: &EtcdConfig,
    dial: &Arc<Dial>,
    endpoint: &str,
) -> Result<Channel, Error> {
    let scheme = if config.tls.is_some() { "https" } else { "http" };
    let mut channel = Endpoint::from_shared(format!("{scheme}://{endpoint}"))?
        .connect_timeout(config.connect_timeout)
        .http2_keep_alive_interval(PING_EVERY)
        .keep_alive_timeout(PONG_WITHIN)
        .keep_alive_while_idle(true);
    if let Some(tls) = &config.tls {
        channel = channel.tls_config(options(tls))?;
    }
    Ok(channel.connect_with_connector_lazy(Opens(Arc::clone(dial))))
}

fn options(tls: &EtcdTls) -> TlsOptions {
    let mut options = TlsOptions::new().ca_certificate(Certificate::from_pem(&tls.authority));
    if let Some((certificate, key)) = &tls.identity {
        options = options.identity(Identity::from_pem(certificate, key.reveal()));
    }
    if let Some(name) = &tls.server_name {
        options = options.domain_name(name);
    }
    options
}

/// Opens the connections of a channel.
struct Opens(Arc<Dial>);

impl Service<Uri> for Opens {
    type Response = TokioIo<Connection>;
    type Error = io::Error;
    type Future = BoxFuture<'static, io::Result<Self::Response>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let dial = Arc::clone(&self.0);
        async move {
            let missing = || io::Error::from(io::ErrorKind::InvalidInput);
            // An address of IPv6 stands in brackets.
            let host = uri.host().ok_or_else(missing)?.trim_matches(['[', ']']);
            let port = uri.port_u16().ok_or_else(missing)?;
            let (stream, mut reached) = dial.connect(host, port).await?;
            // Members that do not answer are the balance of the channel's affair.
            reached.has_spoken();
            Ok(TokioIo::new(stream))
        }
        .boxed()
    }
}
