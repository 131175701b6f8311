//! Starts the encryption of a connection.

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::runtime::Connection;
use crate::store::{StoreError, StoreErrorKind};
use crate::tls::TlsConfig;

/// Asks for encryption as the protocol defines it. The server answers with one byte; bytes that it
/// sends beyond that must not be read as if they had arrived encrypted.
pub(super) async fn begin(
    host: &str,
    mut stream: Connection,
    tls: &TlsConfig,
) -> Result<Connection, StoreError> {
    const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f];
    let mut answer = [0];
    let asked = async {
        stream.write_all(&SSL_REQUEST).await?;
        stream.flush().await?;
        stream.read_exact(&mut answer).await
    };
    if let Err(error) = asked.await {
        let detail = "while asking for TLS";
        return Err(StoreError::new(StoreErrorKind::Disconnected, detail).with_source(error));
    }
    match answer {
        [b'S'] => tls.connect(host, stream, &[]).await.map_err(StoreError::of_handshake),
        [b'N'] => Err(StoreError::new(StoreErrorKind::Tls, "the server does not offer it")),
        _ => Err(StoreError::new(StoreErrorKind::UnexpectedReply, "to the question for TLS")),
    }
}
