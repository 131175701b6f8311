//! The notifications of the server, and who listens to them in this process.

use tokio_postgres::Notification;

use crate::store::Key;
use crate::store::subscriptions::Table;

/// The listeners to hints and messages. A message is announced by its number.
pub(super) type Listeners = Table<u128>;

/// Hands a notification to its listeners.
pub(super) fn heard(listeners: &Listeners, notification: &Notification, inbox: &str) {
    let payload = notification.payload();
    if notification.channel() != inbox {
        if let Some(key) = key(payload) {
            listeners.wake(&key);
        }
    } else if let Some((key, number)) = announced(payload) {
        listeners.say(&key, number);
    }
}

/// The leader and the number of a message.
fn announced(payload: &str) -> Option<(Key, u128)> {
    let (of, number) = payload.split_once(' ')?;
    if number.len() != 32 {
        return None;
    }
    Some((key(of)?, u128::from_str_radix(number, 16).ok()?))
}

/// A key in the payload of a notification: in hexadecimal digits, since a payload is text without
/// zero bytes.
fn key(payload: &str) -> Option<Key> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let pairs = payload.as_bytes().chunks(2).map(|pair| match pair {
        [high, low] => u8::try_from(digit(*high)? * 16 + digit(*low)?).ok(),
        _ => None,
    });
    let bytes = pairs.collect::<Option<Vec<u8>>>()?;
    Key::new(std::str::from_utf8(&bytes).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_as_they_are_sent() {
        for name in ["job", "a\0b/ä'\"$1", &"x".repeat(512)] {
            let sent = name.bytes().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"));
            assert_eq!(key(&sent), Some(Key::new(name).unwrap()));
        }
        for other in ["", "6", "6a6", "6g", "ff", "+6", "ä"] {
            assert_eq!(key(other), None, "{other}");
        }
        let number = format!("{:032x}", 7);
        assert_eq!(announced(&format!("6a {number}")), Some((Key::new("j").unwrap(), 7)));
        for other in ["6a 7", "6a", &format!("6 {number}"), &format!("6a  {number}")] {
            assert_eq!(announced(other), None, "{other}");
        }
    }
}
