//! A line of the MONITOR stream: `1700000000.123456 [0 127.0.0.1:5000] "HSET" "key"`, or `[0 lua]`
//! for a command that a script ran.

/// A command that the server carried out.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// Microseconds since 1970.
    pub(super) at: u64,
    /// True if a script ran it.
    pub(super) in_script: bool,
    pub(super) words: Vec<String>,
}

impl Line {
    /// `None` if the line is not one of a command.
    pub(super) fn parse(line: &str) -> Option<Self> {
        let (time, rest) = line.trim_end().strip_prefix('+')?.split_once(" [")?;
        let (seconds, micros) = time.split_once('.')?;
        let at =
            seconds.parse::<u64>().ok()?.checked_mul(1_000_000)? + micros.parse::<u64>().ok()?;
        let (client, words) = rest.split_once("] ")?;
        Some(Self { at, in_script: client.ends_with(" lua"), words: unquoted(words)? })
    }
}

/// The words between quotation marks, in which other than printable characters are escaped.
fn unquoted(text: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut rest = text.chars();
    while let Some('"') = rest.next() {
        let mut word = String::new();
        loop {
            match rest.next()? {
                '"' => break,
                '\\' => word.push(escaped(&mut rest)?),
                other => word.push(other),
            }
        }
        words.push(word);
        // The space before the next word.
        rest.next();
    }
    Some(words)
}

fn escaped(rest: &mut impl Iterator<Item = char>) -> Option<char> {
    Some(match rest.next()? {
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'a' => '\x07',
        'b' => '\x08',
        'x' => {
            let digits = [rest.next()?, rest.next()?].map(|digit| digit.to_digit(16));
            char::from_u32(digits[0]? * 16 + digits[1]?)?
        }
        other => other,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        Line::parse(line).map(|line| line.words).unwrap_or_default()
    }

    #[test]
    fn times_and_scripts_are_read() {
        let line = Line::parse("+1700000000.000042 [0 127.0.0.1:5000] \"EVALSHA\" \"ab\" \"1\"\r");
        let line = line.expect("a command");
        assert_eq!((line.at, line.in_script), (1_700_000_000_000_042, false));
        assert_eq!(line.words, ["EVALSHA", "ab", "1"]);
        assert!(Line::parse("+1700000000.000042 [0 lua] \"TIME\"").expect("a command").in_script);
    }

    #[test]
    fn escaped_characters_are_read() {
        let quoted = "+1.000001 [0 lua] \"a \\\"b\\\"\" \"\" \"\\x00\\n\\\\\"";
        assert_eq!(words(quoted), ["a \"b\"", "", "\0\n\\"]);
    }

    #[test]
    fn other_lines_are_no_commands() {
        for other in ["+OK", "", "+1.0 [0 lua] \"half", "-ERR no"] {
            assert_eq!(Line::parse(other), None, "{other:?}");
        }
    }
}
