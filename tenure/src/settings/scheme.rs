//! The forms of URLs.

/// A form of URL. Its user and its password are the settings `user` and `password`, if it has
/// hosts.
pub(crate) struct Scheme {
    /// The scheme, and other words for it.
    pub(crate) names: &'static [&'static str],
    /// The scheme that sets `tls`.
    pub(crate) encrypted: Option<&'static str>,
    /// The text after the scheme's name, and an example.
    pub(crate) form: &'static str,
    pub(crate) example: &'static str,
    pub(crate) hosts: Hosts,
    pub(crate) path: Path,
}

/// The settings of the hosts.
pub(crate) enum Hosts {
    /// There are none; a URL with one is refused with that advice.
    None(&'static str),
    /// One: the settings `host` and `port`. Several are refused with that advice.
    One(&'static str),
    /// The setting of that name.
    List(&'static str),
}

/// The settings of the path.
pub(crate) enum Path {
    None,
    /// One after the other, between slashes. The last one may have slashes.
    Pieces(&'static [&'static str]),
    /// With its first slash, and not decoded.
    Whole(&'static str),
}
