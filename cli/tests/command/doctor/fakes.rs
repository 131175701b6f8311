//! Servers that are none, and what stands in between.

use std::io::{Read, Write, copy};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::thread;

fn serve(act: impl Fn(usize, TcpStream) + Send + 'static) -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    // It ends with the test's process.
    thread::spawn(move || {
        for (number, stream) in listener.incoming().flatten().enumerate() {
            act(number, stream);
        }
    });
    port
}

/// The port of a server that answers anything with these words, and then closes the connection.
pub(crate) fn says(words: &'static str) -> u16 {
    serve(move |_, mut stream| {
        thread::spawn(move || {
            let mut request = [0; 4096];
            let _ = stream.read(&mut request);
            let _ = stream.write_all(words.as_bytes());
            let _ = stream.shutdown(Shutdown::Both);
        });
    })
}

/// The port of a balancer: each connection reaches the next server.
pub(crate) fn balances(ports: Vec<u16>) -> u16 {
    serve(move |number, client| {
        let server =
            TcpStream::connect((Ipv4Addr::LOCALHOST, ports[number % ports.len()])).unwrap();
        for (mut from, mut to) in
            [(client.try_clone().unwrap(), server.try_clone().unwrap()), (server, client)]
        {
            thread::spawn(move || {
                let _ = copy(&mut from, &mut to);
                let _ = to.shutdown(Shutdown::Both);
            });
        }
    })
}

/// The port of a way to that server on which each direction takes so long.
pub(crate) fn delays(port: u16, by: std::time::Duration) -> u16 {
    serve(move |_, client| {
        let server = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        for (mut from, mut to) in
            [(client.try_clone().unwrap(), server.try_clone().unwrap()), (server, client)]
        {
            thread::spawn(move || {
                let mut bytes = vec![0; 65_536];
                while let Ok(count @ 1..) = from.read(&mut bytes) {
                    thread::sleep(by);
                    if to.write_all(&bytes[..count]).is_err() {
                        break;
                    }
                }
                let _ = to.shutdown(Shutdown::Both);
            });
        }
    })
}

/// The port of a way to that server on which these words of answers are replaced by others of the
/// same length, if they arrive together.
pub(crate) fn replaces(port: u16, old: &'static str, new: &'static str) -> u16 {
    assert_eq!(old.len(), new.len());
    serve(move |_, mut client| {
        let mut server = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        let (mut asks, mut to_server) = (client.try_clone().unwrap(), server.try_clone().unwrap());
        thread::spawn(move || {
            let _ = copy(&mut asks, &mut to_server);
            let _ = to_server.shutdown(Shutdown::Both);
        });
        thread::spawn(move || {
            let mut bytes = vec![0; 65_536];
            while let Ok(count @ 1..) = server.read(&mut bytes) {
                let said = &mut bytes[..count];
                let found = said.windows(old.len()).position(|words| words == old.as_bytes());
                if let Some(at) = found {
                    said[at..at + new.len()].copy_from_slice(new.as_bytes());
                }
                if client.write_all(said).is_err() {
                    break;
                }
            }
            let _ = client.shutdown(Shutdown::Both);
        });
    })
}
