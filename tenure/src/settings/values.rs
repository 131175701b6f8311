//! Reads the values of settings.

use std::net::IpAddr;
use std::str::FromStr;
use std::time::Duration;

use super::host::host;
use super::setting::Fault;

/// Parses a value of any type: of `String`, any text.
pub(crate) fn parsed<T: FromStr>(text: &str) -> Result<T, Fault> {
    text.parse().map_err(|_| Fault::Must)
}

/// A text of at most so many bytes, and at least one.
pub(crate) fn of_bytes(text: &str, most: usize) -> Result<&str, Fault> {
    match text.len() {
        bytes if (1..=most).contains(&bytes) => Ok(text),
        bytes => Err(Fault::because(format!("it has {bytes} bytes, and must have 1 to {most}"))),
    }
}

pub(crate) fn port(text: &str) -> Result<u16, Fault> {
    text.parse().ok().filter(|port| *port > 0).ok_or(Fault::Must)
}

pub(crate) fn flag(text: &str) -> Result<bool, Fault> {
    match &*text.to_ascii_lowercase() {
        "true" | "yes" | "on" | "1" => Ok(true),
        "false" | "no" | "off" | "0" => Ok(false),
        _ => Err(Fault::Must),
    }
}

/// A whole number with a unit.
pub(crate) fn duration(text: &str) -> Result<Duration, Fault> {
    let read = || {
        let unit = text.find(|letter: char| !letter.is_ascii_digit())?;
        let (number, unit) = text.split_at(unit);
        let millis: u64 = match unit {
            "ms" => 1,
            "s" => 1_000,
            "m" => 60_000,
            "h" => 3_600_000,
            _ => return None,
        };
        number.parse::<u64>().ok()?.checked_mul(millis).map(Duration::from_millis)
    };
    read().ok_or(Fault::Must)
}

/// The host of one server, without a port.
pub(crate) fn one_host(text: &str) -> Result<String, Fault> {
    let address = text.parse::<IpAddr>().is_ok().then_some(text);
    let found = address.or_else(|| host(text)).map(str::to_owned);
    found.ok_or(match split_port(text) {
        (_, None) => Fault::Must,
        (_, Some(_)) => Fault::because(
            "it must be the name or the address of a host alone: the port has a setting of its own",
        ),
    })
}

/// Hosts separated by commas, each with a port or none.
pub(crate) fn hosts(text: &str) -> Result<Vec<(String, Option<u16>)>, Fault> {
    (1..).zip(text.split(',')).map(|(number, item)| address(number, item.trim())).collect()
}

fn address(number: usize, item: &str) -> Result<(String, Option<u16>), Fault> {
    let is_bare = item.parse::<IpAddr>().is_ok();
    let (host, given) = if is_bare { (item, None) } else { split_port(item) };
    let host = one_host(host).map_err(|_| {
        Fault::because(format!(
            "its host {number} must be a name or an address, with a port or none"
        ))
    })?;
    let given = given.map(port).transpose().map_err(|_| {
        Fault::because(format!("the port of its host {number} must be from 1 to 65535"))
    })?;
    Ok((host, given))
}

/// A host and what follows its colon. Colons in brackets are a part of an address.
pub(super) fn split_port(item: &str) -> (&str, Option<&str>) {
    let ends = item.rfind(']').map_or(0, |bracket| bracket + 1);
    match item[ends..].rsplit_once(':') {
        Some((before, port)) => (&item[..ends + before.len()], Some(port)),
        None => (item, None),
    }
}
