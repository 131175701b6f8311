//! The channel under the client: one connection to one member, opened like those of all other
//! stores.
//!
//! The channel of the client itself would look the member's name up among tokio's blocking tasks.

use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use etcd_client::Error;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use hyper_util::rt::TokioIo;
use tokio_util::io::InspectReader;
use tonic::codegen::{Service, http::Uri};
use tonic::transport::{Channel, Endpoint};

use super::config::EtcdConfig;
use crate::runtime::Connection;
use crate::store::dial::Dial;
use crate::tls::TlsConfig;

/// Servers close connections that are pinged more often than every 5 s. This is for watches:
/// requests have timeouts of their own.
const PING_EVERY: Duration = Duration::from_secs(10);
const PONG_WITHIN: Duration = Duration::from_secs(5);

/// A channel to that member, which connects when a request needs it.
pub(super) fn lazy(
    config: &EtcdConfig,
    dial: &Arc<Dial>,
    endpoint: &str,
) -> Result<Channel, Error> {
    // The library would encrypt by itself where the scheme is "https". Requests name the scheme
    // that it is.
    let mut channel = Endpoint::from_shared(format!("http://{endpoint}"))?
        .connect_timeout(config.connect_timeout)
        .http2_keep_alive_interval(PING_EVERY)
        .keep_alive_timeout(PONG_WITHIN)
        .keep_alive_while_idle(true);
    if config.tls.is_some() {
        channel = channel.origin(format!("https://{endpoint}").parse()?);
    }
    let opens = Opens { dial: Arc::clone(dial), tls: config.tls.clone() };
    Ok(channel.connect_with_connector_lazy(opens))
}

/// Opens the connections of a channel.
struct Opens {
    dial: Arc<Dial>,
    tls: Option<TlsConfig>,
}

impl Service<Uri> for Opens {
    type Response = TokioIo<Connection>;
    type Error = io::Error;
    type Future = BoxFuture<'static, io::Result<Self::Response>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let (dial, tls) = (Arc::clone(&self.dial), self.tls.clone());
        async move {
            let missing = || io::Error::from(io::ErrorKind::InvalidInput);
            // An address of IPv6 stands in brackets.
            let host = uri.host().ok_or_else(missing)?.trim_matches(['[', ']']);
            let port = uri.port_u16().ok_or_else(missing)?;
            let (stream, mut reached) = dial.connect(host, port).await?;
            let hears = move |read: &[u8]| {
                if !read.is_empty() {
                    reached.has_spoken();
                }
            };
            let mut stream: Connection = Box::new(InspectReader::new(stream, hears));
            if let Some(tls) = tls {
                stream = tls.connect(host, stream, &[b"h2"]).await?;
            }
            Ok(TokioIo::new(stream))
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

    use super::*;
    use crate::Instant;
    use crate::runtime::{Runtime, TokioRuntime};

    /// A host of two addresses: what accepts connections at the first is silent, and the second one
    /// speaks.
    #[derive(Debug, Default)]
    struct Host(Mutex<Vec<(String, DuplexStream)>>);

    impl Runtime for Host {
        fn now(&self) -> Instant {
            TokioRuntime.now()
        }

        fn sleep_until(&self, deadline: Instant) -> BoxFuture<'static, ()> {
            TokioRuntime.sleep_until(deadline)
        }

        fn spawn(&self, task: BoxFuture<'static, ()>) {
            TokioRuntime.spawn(task);
        }

        fn addresses(&self, _: &str) -> BoxFuture<'static, io::Result<Vec<String>>> {
            async { Ok(["silent", "speaks"].map(str::to_owned).to_vec()) }.boxed()
        }

        fn connect(&self, host: &str, _: u16) -> BoxFuture<'static, io::Result<Connection>> {
            let (own, other) = tokio::io::duplex(64);
            self.0.lock().unwrap().push((host.to_owned(), other));
            async { Ok(Box::new(own) as Connection) }.boxed()
        }

        fn entropy(&self) -> io::Result<u128> {
            Ok(0)
        }
    }

    #[tokio::test]
    async fn a_silent_address_is_not_tried_first_again() {
        let host = Arc::new(Host::default());
        let runtime: Arc<dyn Runtime> = Arc::clone(&host) as _;
        let dial = Arc::new(Dial::new(&runtime, Duration::from_secs(5)));
        let mut opens = Opens { dial, tls: None };
        let mut open = || opens.call(Uri::from_static("http://etcd.test:2379"));
        let dialled = || host.0.lock().unwrap().pop().unwrap();
        let stream = open().await.unwrap();
        let (address, _open) = dialled();
        assert_eq!(address, "silent");
        drop(stream);
        let mut stream = open().await.unwrap().into_inner();
        let (address, mut other) = dialled();
        assert_eq!(address, "speaks");
        other.write_all(b"PRI").await.unwrap();
        stream.read_exact(&mut [0; 3]).await.unwrap();
        drop(stream);
        let _stream = open().await.unwrap();
        assert_eq!(dialled().0, "speaks");
    }
}
