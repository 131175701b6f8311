//! One command over one short-lived blocking connection: enough to look into a server from a test
//! without a client library of its own opinions.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

use redis_protocol::resp2::decode::decode;
use redis_protocol::resp2::encode::encode;
use redis_protocol::resp2::types::Resp2Frame;

use super::Reply;
use crate::ServerError;
use crate::error::doing;

const READING: &str = "reading a reply of redis-server";

/// Sends `args` and waits for one reply; each read waits at most `patience`.
pub(super) fn send(port: u16, args: &[&str], patience: Duration) -> Result<Reply, ServerError> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))
        .map_err(doing("connecting to redis-server"))?;
    stream.set_read_timeout(Some(patience)).map_err(doing("setting a timeout"))?;
    stream.write_all(&request(port, args)?).map_err(doing("sending a command to redis-server"))?;

    let mut received = Vec::new();
    loop {
        if let Some((reply, _)) = decode(&received).map_err(|error| protocol(port, &error))? {
            return Ok(reply);
        }
        let mut chunk = [0; 4096];
        let length = match stream.read(&mut chunk) {
            Ok(0) => return Err(doing(READING)(io::ErrorKind::UnexpectedEof.into())),
            Ok(length) => length,
            // After a pause of the machine, since the stream has a time limit.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(doing(READING)(error)),
        };
        received.extend_from_slice(&chunk[..length]);
    }
}

fn request(port: u16, args: &[&str]) -> Result<Vec<u8>, ServerError> {
    let frame =
        Reply::Array(args.iter().map(|arg| Reply::BulkString(arg.as_bytes().to_vec())).collect());
    let mut bytes = vec![0; frame.encode_len(false)];
    let length = encode(&mut bytes, &frame, false).map_err(|error| protocol(port, &error))?;
    bytes.truncate(length);
    Ok(bytes)
}

fn protocol(port: u16, error: &redis_protocol::error::RedisProtocolError) -> ServerError {
    ServerError::Protocol { port, detail: error.to_string() }
}
