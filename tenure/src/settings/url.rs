//! URLs of stores: `scheme://user:password@hosts/path?parameters`.
//!
//! Read by hand, since no URL has lists of hosts by its standard. What is left of a part once it is
//! percent-decoded is the text of the setting that the part is.

use percent_encoding::percent_decode_str;
use zeroize::Zeroizing;

use super::error::SettingError;
use super::given::{Entry, Given, Origin, Text};
use super::host::host;
use super::mistake::Mistake;
use super::scheme::{Hosts, Path, Scheme};
use super::setting::{Fault, Place, Row};
use super::values::split_port;

/// A store's settings in a URL, and perhaps in variables.
pub(crate) struct Table {
    /// Its name in errors.
    pub(crate) store: &'static str,
    pub(crate) schemes: &'static [Scheme],
    pub(crate) settings: &'static [&'static Row],
    /// Parameters that other programs know, why they are refused here, and what to do instead.
    pub(crate) foreign: &'static [(&'static str, &'static str, &'static str)],
    /// The beginnings of its variables, if it is read from any.
    pub(crate) prefixes: &'static [&'static str],
}

/// A configuration that is read from the settings of a table.
pub(crate) trait Configured: Sized {
    const TABLE: &'static Table;

    /// Takes the settings that it knows.
    fn read(given: &mut Given) -> Result<Self, SettingError>;

    fn of_url(url: &str) -> Result<Self, SettingError> {
        let mut given = Given::of_url(Self::TABLE, &[], url)?;
        let config = Self::read(&mut given)?;
        given.finish()?;
        Ok(config)
    }
}

impl Table {
    fn url(&self) -> String {
        format!("the {} URL", self.store)
    }

    /// A URL's scheme, whether that encrypts, and what follows the scheme.
    fn scheme<'a>(&'static self, url: &'a str) -> Option<(&'static Scheme, bool, &'a str)> {
        let (named, rest) = url.split_once(':')?;
        self.schemes.iter().find_map(|scheme| {
            let is = |name: &&str| name.eq_ignore_ascii_case(named);
            let encrypts = scheme.encrypted.as_ref().is_some_and(is);
            (encrypts || scheme.names.iter().any(is)).then_some((scheme, encrypts, rest))
        })
    }

    /// All schemes, for an error.
    fn schemes(&self) -> String {
        let names = |scheme: &Scheme| scheme.names.iter().copied().chain(scheme.encrypted);
        self.schemes.iter().flat_map(names).collect::<Vec<_>>().join(", ")
    }
}

impl Scheme {
    /// The remedy for a URL that has another form.
    pub(super) fn form(&self) -> String {
        let name = self.names.first().or(self.encrypted.as_ref()).copied().unwrap_or_default();
        format!("write {name}{}, such as {name}{}", self.form, self.example)
    }
}

impl Given {
    /// Reads a URL, with parameters of that table and others.
    pub(crate) fn of_url(
        table: &'static Table,
        others: &[&'static Row],
        text: &str,
    ) -> Result<Self, SettingError> {
        let url = table.url();
        let refuse = |reason: &str, remedy| SettingError::about(&*url, reason.to_owned(), remedy);
        Mistake::refuse(&url, text)?;
        let Some((scheme, is_encrypted, rest)) = table.scheme(text) else {
            let reason = format!("its scheme must be one of {}", table.schemes());
            let remedy = table.schemes.first().map_or_else(String::new, Scheme::form);
            return Err(refuse(&reason, remedy));
        };
        let refuse = |reason: &str| refuse(reason, scheme.form());
        let parts = Parts::of(scheme, rest).map_err(&refuse)?;
        let mut given = Self::new(Origin::Url(scheme));
        for row in table.settings.iter().chain(others) {
            let called = match row.place {
                Place::Parameter => format!("{url}'s {:?}", row.name),
                Place::Part => format!("{url}'s {}", row.name),
                Place::Variable => continue,
            };
            let text = Text::None { empty: None };
            given.put(Entry { row, called, text, rank: 0, is_taken: false });
        }
        if is_encrypted {
            given.set("tls", "on");
        }
        given.set_parts(scheme, &parts).map_err(|fault| match fault {
            Fault::Must => refuse("it has another form"),
            Fault::Because(reason) => refuse(&reason),
            Fault::Mend { reason, remedy } => SettingError::about(&*url, reason, remedy),
        })?;
        given.set_parameters(table, parts.query)?;
        Ok(given)
    }

    fn set(&mut self, name: &str, text: impl Into<String>) {
        if let Some(entry) = self.entry(name) {
            entry.text = Text::Some(Zeroizing::new(text.into()));
        }
    }

    /// Sets what is not empty.
    fn set_decoded(&mut self, name: &str, text: &str) {
        if !text.is_empty() {
            self.set(name, decoded(text));
        }
    }

    fn set_parts(&mut self, scheme: &Scheme, parts: &Parts<'_>) -> Result<(), Fault> {
        let (user, password) = parts.user.split_once(':').unwrap_or((parts.user, ""));
        self.set_decoded("user", user);
        self.set_decoded("password", password);
        let listed: Vec<_> = parts.hosts.split(',').collect();
        // A host that is none may be a password, and errors of connections show hosts.
        let is_none = |item: &&str| host(split_port(item).0).is_none();
        match scheme.hosts {
            Hosts::None(_) => {}
            Hosts::One(advice) if listed.len() > 1 => {
                return Err(Fault::mend(format!("it names {} hosts", listed.len()), advice));
            }
            Hosts::One(_) | Hosts::List(_) if parts.hosts.is_empty() => {}
            Hosts::One(_) | Hosts::List(_) if listed.iter().any(is_none) => {
                let number = 1 + listed.iter().position(is_none).unwrap_or_default();
                let is_path = decoded(listed[number - 1]).starts_with('/');
                return Err(Fault::because(if is_path {
                    format!("its host {number} is a path: Unix sockets are not supported")
                } else {
                    format!(
                        "its host {number} must be a name or an address, such as db-1, 10.0.0.7 or [::1], after an @ if \
                         there is a password"
                    )
                }));
            }
            Hosts::One(_) => {
                let (host, port) = split_port(parts.hosts);
                self.set("host", host);
                if let Some(port) = port {
                    self.set("port", port);
                }
            }
            Hosts::List(name) => self.set(name, parts.hosts),
        }
        let path = parts.path.strip_prefix('/').unwrap_or(parts.path);
        match scheme.path {
            Path::None if path.is_empty() => {}
            Path::None => return Err(Fault::because("it has a path")),
            Path::Pieces(names) => {
                for (name, piece) in names.iter().zip(path.splitn(names.len(), '/')) {
                    self.set_decoded(name, piece);
                }
            }
            Path::Whole(name) => self.set(name, parts.path),
        }
        Ok(())
    }

    /// Sets what stands behind the `?`.
    fn set_parameters(&mut self, table: &Table, query: &str) -> Result<(), SettingError> {
        for (number, pair) in (1..).zip(query.split('&').filter(|pair| !pair.is_empty())) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let name = decoded(name);
            if let Some((name, why, instead)) = table.foreign.iter().find(|it| it.0 == name) {
                let reason = format!("its parameter {name:?} is not supported: {why}");
                return Err(SettingError::about(table.url(), reason, *instead));
            }
            let is_parameter = |row: &&Row| row.place == Place::Parameter;
            let Some(row) = self.rows().filter(is_parameter).find(|row| row.name == name) else {
                let known = self.rows().filter(is_parameter).map(Row::with_scheme);
                let known = known.collect::<Vec<_>>().join(", ");
                let reason = format!("its parameter {number} is unknown; known are {known}");
                return Err(SettingError::about(table.url(), reason, "leave any other out"));
            };
            if self.has(row) {
                let fault = Fault::mend("it is there twice", "leave one of them out");
                return Err(self.refuse(row, fault));
            }
            self.set(row.name, decoded(value));
        }
        Ok(())
    }
}

/// A URL behind its scheme.
struct Parts<'a> {
    /// With the password, neither decoded.
    user: &'a str,
    hosts: &'a str,
    /// With its first slash.
    path: &'a str,
    query: &'a str,
}

impl<'a> Parts<'a> {
    fn of(scheme: &Scheme, rest: &'a str) -> Result<Self, &'static str> {
        if rest.contains('#') {
            return Err("it has a #, which in a name, a password or a path is written %23");
        }
        let (authority, tail) = match (rest.strip_prefix("//"), &scheme.hosts) {
            (Some(rest), _) => rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len())),
            (None, Hosts::None(_)) => ("", rest),
            (None, Hosts::One(_) | Hosts::List(_)) => return Err("it has no // behind its scheme"),
        };
        match scheme.hosts {
            Hosts::None(advice) if !authority.is_empty() => return Err(advice),
            // What is in front of it is a part of a password then.
            Hosts::One(_) | Hosts::List(_) if tail.contains('@') => {
                return Err(
                    "it has an @ behind its hosts; in a name or a password / is written %2F, ? is %3F, and \
                            everywhere behind the hosts @ is %40",
                );
            }
            Hosts::None(_) | Hosts::One(_) | Hosts::List(_) => {}
        }
        let (path, query) = tail.split_once('?').unwrap_or((tail, ""));
        let (user, hosts) = authority.rsplit_once('@').unwrap_or(("", authority));
        Ok(Self { user, hosts, path, query })
    }
}

fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}
