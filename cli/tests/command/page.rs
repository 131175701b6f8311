//! The examples of `docs/command.md`.
