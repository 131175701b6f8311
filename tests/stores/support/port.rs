//! Ports behind which there is no store.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket};

/// A port whose server answers everything that it reads with the same bytes; without any, it hangs
/// up.
pub(crate) async fn port_that_answers(bytes: &'static [u8]) -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut buffer = [0; 4096];
                while matches!(client.read(&mut buffer).await, Ok(1..)) {
                    if bytes.is_empty() || client.write_all(bytes).await.is_err() {
                        return;
                    }
                }
            });
        }
    });
    port
}

/// A port on which no program listens: it is taken, and kept, by a socket that does not.
pub(crate) fn unused_port() -> u16 {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let port = socket.local_addr().unwrap().port();
    std::mem::forget(socket);
    port
}
