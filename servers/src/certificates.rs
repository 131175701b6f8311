//! Certificates that a test makes.

use std::fmt;
use std::io;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd,
};

use crate::ServerError;
use crate::error::doing;

/// An authority that signs certificates, with a key of its own.
pub struct Authority(CertifiedIssuer<'static, KeyPair>);

/// A certificate that an [`Authority`] has signed, and its key, in PEM.
#[derive(Clone)]
pub struct Certificate {
    /// It expires in the far future.
    pub valid: String,
    /// The one before, for the same key: it expired in 2020.
    pub expired: String,
    /// The private key of both.
    pub key: String,
}

impl Authority {
    /// One that nobody trusts yet.
    ///
    /// # Errors
    /// If the system has no randomness for its key.
    pub fn new() -> Result<Self, ServerError> {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let signed = KeyPair::generate().and_then(|key| CertifiedIssuer::self_signed(params, key));
        signed.map(Self).map_err(|error| failed(&error))
    }

    /// Its own certificate in PEM, by which clients trust those that it signs.
    pub fn pem(&self) -> String {
        self.0.pem()
    }

    /// Signs certificates for these DNS names and addresses.
    ///
    /// # Errors
    /// If one is neither, or as for [`new`](Self::new).
    pub fn certificate(&self, names: &[&str]) -> Result<Certificate, ServerError> {
        self.signs(names).map_err(|error| failed(&error))
    }

    fn signs(&self, names: &[&str]) -> Result<Certificate, rcgen::Error> {
        let own: Vec<_> = names.iter().map(|&name| name.to_owned()).collect();
        let mut params = CertificateParams::new(own)?;
        // Without one it has its issuer's name, and OpenSSL takes it for signed by itself.
        params.distinguished_name.push(DnType::CommonName, names.join(" "));
        let key = KeyPair::generate()?;
        let valid = params.signed_by(&key, &self.0)?.pem();
        params.not_before = date_time_ymd(2019, 1, 1);
        params.not_after = date_time_ymd(2020, 1, 1);
        let expired = params.signed_by(&key, &self.0)?.pem();
        Ok(Certificate { valid, expired, key: key.serialize_pem() })
    }
}

fn failed(error: &rcgen::Error) -> ServerError {
    doing("making a certificate")(io::Error::other(error.to_string()))
}

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The rest is a key.
        f.debug_struct("Authority").finish_non_exhaustive()
    }
}

impl fmt::Debug for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Certificate").field("valid", &self.valid).finish_non_exhaustive()
    }
}
