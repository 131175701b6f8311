//! Certificates that a test makes.

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};

/// An issuer of certificates.
pub(crate) type Ca = CertifiedIssuer<'static, KeyPair>;

pub(crate) fn ca() -> Ca {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// A certificate for that name, and its key.
pub(crate) fn certificate(ca: &Ca, name: &str) -> (String, String) {
    let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
    // Without one it has its issuer's name, and OpenSSL takes it for signed by itself.
    params.distinguished_name.push(DnType::CommonName, name);
    let key = KeyPair::generate().unwrap();
    (params.signed_by(&key, ca).unwrap().pem(), key.serialize_pem())
}
