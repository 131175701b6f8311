//! Metadata that change.

use bytes::Bytes;

use super::Candidate;
use crate::store::LimitError;

impl Candidate {
    /// Replaces this candidate's metadata, such as the address where it can be reached while it
    /// leads. A leader tells the store at once and, until the store has answered, after each
    /// renewal; another candidate when it asks for the lease. Those who [observe](Self::observe)
    /// the election see the change when they ask next. It costs a leader one request for each
    /// change, and one more in each later tenure.
    ///
    /// Of several calls the last one counts: neither a late duplicate of an earlier request nor a
    /// repeated acquire restores older metadata.
    ///
    /// **Not guaranteed**: when others see it, and that they do, if the tenure ends first. A store
    /// that loses its last writes may fall back to earlier metadata until this candidate notices a
    /// failed request.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use futures_util::StreamExt;
    /// use tenure::{Candidate, store::Memory};
    ///
    /// let candidate = Candidate::builder(Memory::new(), "api").metadata("10.0.0.7:8080").start()?;
    /// candidate.elected().await?;
    /// candidate.set_metadata("10.0.0.7:9090")?;
    /// let mut leaders = candidate.observe();
    /// while let Some(leader) = leaders.next().await {
    ///     if leader?.is_some_and(|leader| leader.metadata == "10.0.0.7:9090") {
    ///         break;
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If they have more than [`Profile::METADATA_MOST`](crate::store::Profile::METADATA_MOST)
    /// bytes: then nothing has changed.
    pub fn set_metadata(&self, metadata: impl Into<Bytes>) -> Result<(), LimitError> {
        self.shared().set_metadata(&metadata.into())
    }
}
