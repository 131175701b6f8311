//! The requests of `tenure doctor`: not a part of the interface for programs.

use http::Request;

use super::Kubernetes;
use super::error;
use super::link::Answer;
use crate::store::{StoreError, StoreErrorKind};

impl Kubernetes {
    /// Sends a request to the API server, over the connection of the elections, and returns the
    /// body of the answer.
    #[doc(hidden)]
    pub async fn ask_server(
        &self,
        method: &str,
        path: &str,
        body: &str,
    ) -> Result<String, StoreError> {
        let request = Request::builder().method(method).uri(path);
        let request = request.header("content-type", "application/json").body(body.into());
        let request =
            request.map_err(|error| StoreError::showing(StoreErrorKind::UnexpectedReply, error))?;
        match self.0.backend().0.send(request).await? {
            Answer::Done(text) => Ok(text),
            Answer::Refused(status) => Err(error::answered(&status)),
        }
    }

    /// The namespace.
    #[doc(hidden)]
    pub fn namespace(&self) -> &str {
        self.0.backend().0.config.namespace()
    }
}
