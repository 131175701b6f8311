//! etcd's own proxy of gRPC.

use std::net::{Ipv4Addr, TcpStream};
use std::process::Command;

use super::{EtcdServer, PROGRAM};
use crate::ServerError;
use crate::process::Process;

/// A process of `etcd grpc-proxy` on a loopback port, which merges the streams of its clients.
/// Stopped on drop.
#[derive(Debug)]
pub struct EtcdGrpcProxy {
    port: u16,
    _process: Process,
}

impl EtcdGrpcProxy {
    /// Starts one in front of that member.
    ///
    /// # Errors
    /// [`ServerError::Missing`] if etcd is not installed, [`ServerError::NotReady`] if it does not
    /// listen within 60 s.
    pub fn start(server: &EtcdServer) -> Result<Self, ServerError> {
        let mut process = Process::new(PROGRAM)?;
        let port = process.port()?;
        let (own, member) = (format!("127.0.0.1:{port}"), format!("127.0.0.1:{}", server.port()));
        let configure = |command: &mut Command| {
            command.args(["grpc-proxy", "start", "--endpoints", &member]).args([
                "--listen-addr",
                &own,
                "--advertise-client-url",
                &own,
            ]);
        };
        let listens = |_| TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok();
        process.launch(port, configure, listens)?;
        Ok(Self { port, _process: process })
    }

    /// The TCP port for clients on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }
}
