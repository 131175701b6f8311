//! A build without the feature `tls`: no configuration of encryption exists, and each attempt to
//! make one is refused.

pub(crate) mod files;

use std::io;
use std::path::Path;

use crate::runtime::Connection;

/// This build can't encrypt.
#[derive(Debug)]
pub(crate) struct TlsError;

/// None can be made.
#[derive(Clone, Debug)]
pub(crate) enum TlsConfig {}

impl TlsConfig {
    pub(crate) fn system() -> Result<Self, TlsError> {
        Err(TlsError)
    }

    pub(crate) fn with_ca_file(_: impl AsRef<Path>) -> Result<Self, TlsError> {
        Err(TlsError)
    }

    pub(crate) fn client_certificate_files(
        self,
        _: impl AsRef<Path>,
        _: impl AsRef<Path>,
    ) -> Result<Self, TlsError> {
        match self {}
    }

    pub(crate) fn server_name(self, _: impl Into<String>) -> Result<Self, TlsError> {
        match self {}
    }

    #[expect(clippy::unused_async, reason = "as in builds with encryption")]
    pub(crate) async fn connect(
        &self,
        _: &str,
        _: Connection,
        _: &[&[u8]],
    ) -> io::Result<Connection> {
        match *self {}
    }
}
