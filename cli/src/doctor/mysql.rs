//! Checks of a MariaDB or MySQL server.

use tenure::store::mysql::Mysql;

use super::errors;
use super::kind::Kind;
use super::report::Report;

/// Checks the configuration, without asking the server.
pub(super) fn check_configuration(mysql: &Mysql, report: &mut Report) {
    if mysql.is_exposed() {
        report.add(Kind::PasswordReadable, "a password is sent without encryption (ssl-mode)");
    }
}

/// Asks the server.
pub(super) async fn check(mysql: &Mysql, report: &mut Report) {
    let query = "SELECT VERSION()".to_owned();
    match mysql.ask_server(&[query]).await {
        Ok(rows) => {
            let version = rows.into_iter().next().and_then(|row| row.into_iter().next());
            let version = version.unwrap_or_default();
            report.add(Kind::ServerVersion, format!("the server's version is {version}"));
        }
        // A request has said it already.
        Err(error) if report.has(errors::kind(&error)) => {}
        Err(error) => report.failed("a query", &error),
    }
}
