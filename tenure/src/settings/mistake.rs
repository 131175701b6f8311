//! Texts that came from outside, and what in them surely is a mistake: what a shell, a template or
//! an editor has left there. Each would be a part of the text, so that a key in quotes is another
//! election.

use super::error::SettingError;

/// The most bytes of a value that an error shows.
const SHOWN_MOST: usize = 100;

/// A sure mistake in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mistake {
    /// A quote at both ends: shells take them away, and files of variables often keep them.
    Quotes,
    /// White space at an end.
    WhiteSpace,
    /// A control character, such as a line break.
    Control,
    /// The mark by which some editors begin a file.
    ByteOrderMark,
}

impl Mistake {
    /// The fault, and the remedy.
    pub(crate) const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Quotes => ("quotes around it would be a part of it", "leave them out"),
            Self::WhiteSpace => {
                ("white space at its beginning or end would be a part of it", "leave that out")
            }
            Self::Control => (
                "a control character, such as a line break, would be a part of it",
                "leave that out",
            ),
            Self::ByteOrderMark => {
                ("the byte order mark (U+FEFF) would be a part of it", "save its file without one")
            }
        }
    }

    /// The error for a whole, such as a URL, that has such a mistake.
    pub(crate) fn refuse(whole: &str, text: &str) -> Result<(), SettingError> {
        Self::check(text).map_err(|mistake| {
            let (reason, remedy) = mistake.words();
            SettingError::about(whole, reason, remedy)
        })
    }

    /// Refuses a text that has such a mistake.
    pub(crate) fn check(text: &str) -> Result<(), Self> {
        const QUOTES: [char; 3] = ['"', '\'', '`'];
        if text.contains('\u{feff}') {
            return Err(Self::ByteOrderMark);
        }
        if text.contains(char::is_control) {
            return Err(Self::Control);
        }
        if text.starts_with(char::is_whitespace) || text.ends_with(char::is_whitespace) {
            return Err(Self::WhiteSpace);
        }
        let is_quoted = |quote| text.len() > 1 && text.starts_with(quote) && text.ends_with(quote);
        if QUOTES.into_iter().any(is_quoted) { Err(Self::Quotes) } else { Ok(()) }
    }
}

/// A value of code's as an error may show it, in quotes: it may be a whole URL with a password in
/// it, given by mistake.
pub(super) fn shown(value: &str) -> String {
    if value.contains('@') || value.contains("://") {
        return "***".to_owned();
    }
    if value.len() <= SHOWN_MOST {
        return value.to_owned();
    }
    let ends = value.char_indices().map(|(at, letter)| at + letter.len_utf8());
    let end = ends.take_while(|end| *end <= SHOWN_MOST).last().unwrap_or_default();
    format!("{}...", &value[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_are_told_from_odd_texts() {
        use Mistake::{ByteOrderMark, Control, Quotes, WhiteSpace};

        for (text, error) in [
            ("\"job\"", Quotes),
            ("'job'", Quotes),
            ("`job`", Quotes),
            ("\"\"", Quotes),
            (" job", WhiteSpace),
            ("job ", WhiteSpace),
            ("job\u{a0}", WhiteSpace),
            ("job\n", Control),
            ("job\r", Control),
            ("a\tb", Control),
            ("job\0", Control),
            ("\u{feff}job", ByteOrderMark),
            ("job\u{feff}", ByteOrderMark),
        ] {
            assert_eq!(Mistake::check(text), Err(error), "{text:?}");
        }
        for text in ["job", "a b", "\"a", "a'", "'a\"", "\"", "wörker", "", "a\"b\"c"] {
            assert_eq!(Mistake::check(text), Ok(()), "{text:?}");
        }
    }

    #[test]
    fn shown_values_are_short_and_no_urls() {
        assert_eq!(shown("15"), "15");
        assert_eq!(shown("redis://h"), "***");
        assert_eq!(shown("me:hush@h"), "***");
        assert_eq!(shown(&"ä".repeat(51)), format!("{}...", "ä".repeat(50)));
    }
}
