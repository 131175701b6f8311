//! A configuration from a URL.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use super::config::SqliteConfig;
use crate::SettingError;
use crate::settings::values::parsed;
use crate::settings::{Configured, Fault, Given, Hosts, Path, Scheme, Setting, Table};

const FILE: Setting<OsString> = Setting::part("path", |text| {
    let path: Vec<u8> = percent_encoding::percent_decode_str(text).collect();
    let is_file = path.starts_with(b"/") && !path.ends_with(b"/");
    if is_file { Ok(OsString::from_vec(path)) } else { Err(Fault::Must) }
})
.must("the absolute path of a file", "/path/file.db")
.default("required")
.about("the file");
const SHARE: Setting<bool> = Setting::parameter("share_with_group", parsed)
    .must("true or false", "true")
    .default("false")
    .about("whether the file's group may use it too");

static TABLE: Table = Table {
    store: "SQLite",
    schemes: &[Scheme {
        names: &["sqlite"],
        encrypted: None,
        form: ":///path/file.db",
        example: ":///var/lib/app/elections.db",
        hosts: Hosts::None("it names a host, and a file is named with three slashes"),
        path: Path::Whole("path"),
    }],
    settings: &[&FILE.row, &SHARE.row],
    foreign: &[],
    prefixes: &[],
};

impl SqliteConfig {
    /// Reads `sqlite:///path/to/file.db`, or with `?share_with_group=true` as
    /// [`share_with_group`](Self::share_with_group). Special characters are percent-encoded: `%23`
    /// for `#`, `%3F` for `?`.
    ///
    /// # Errors
    /// If the text has another form.
    pub fn from_url(url: &str) -> Result<Self, SettingError> {
        Self::of_url(url)
    }
}

impl Configured for SqliteConfig {
    const TABLE: &'static Table = &TABLE;

    fn read(given: &mut Given) -> Result<Self, SettingError> {
        let file = given.need(&FILE)?;
        Ok(Self::new(file).share_with_group(given.take(&SHARE)?.unwrap_or(false)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_path_from_a_url() {
        for (url, path) in [
            ("sqlite:///var/lib/app/elections.db", "/var/lib/app/elections.db"),
            ("sqlite:/var/lib/elections.db", "/var/lib/elections.db"),
            ("sqlite:///a%20b/%23c%3Fd", "/a b/#c?d"),
        ] {
            assert_eq!(SqliteConfig::from_url(url).unwrap(), SqliteConfig::new(path));
        }
        let shared = SqliteConfig::from_url("sqlite:///a?share_with_group=true").unwrap();
        assert_eq!(shared, SqliteConfig::new("/a").share_with_group(true));
        let odd = SqliteConfig::from_url("sqlite:///a%FFb").unwrap();
        assert_eq!(odd.path.into_os_string().into_vec(), b"/a\xffb");
    }
}
