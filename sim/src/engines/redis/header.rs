//! A script's first line, in which it may declare its needs: `#!lua flags=allow-oom`.

use super::refusal::Refusal;

/// The declaration of a first line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Header {
    /// There is none: each command of the script is checked when it is called.
    None,
    /// The script writes. It is refused as a whole by a replica, and without memory unless exempt.
    Writes { is_exempt: bool },
}

impl Header {
    /// Reads the first line, and returns the text after it. The line break stays, so that line
    /// numbers do not change. Of the flags that Redis knows, only `allow-oom` is known here.
    pub(super) fn split(text: &[u8]) -> Result<(Self, &[u8]), Refusal> {
        if !text.starts_with(b"#!") {
            return Ok((Self::None, text));
        }
        let end = text.iter().position(|&byte| byte == b'\n').ok_or(Refusal::Shebang)?;
        let (line, body) = text.split_at(end);
        let line = String::from_utf8_lossy(line);
        let mut words = line.split_ascii_whitespace();
        match words.next() {
            Some("#!lua") => {}
            engine => {
                return Err(Refusal::ShebangEngine(engine.unwrap_or_default().to_owned()));
            }
        }
        let mut is_exempt = false;
        for word in words {
            let flags = word.strip_prefix("flags=");
            let flags = flags.ok_or_else(|| Refusal::ShebangOption(word.to_owned()))?;
            for flag in flags.split(',').filter(|flag| !flag.is_empty()) {
                match flag {
                    "allow-oom" => is_exempt = true,
                    other => return Err(Refusal::ShebangFlag(other.to_owned())),
                }
            }
        }
        Ok((Self::Writes { is_exempt }, body))
    }
}
