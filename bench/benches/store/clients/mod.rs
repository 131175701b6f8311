//! The client libraries, with connections like those of the stores.

pub(crate) mod fred;
pub(crate) mod redis_rs;
