//! A terminal, by `script` of util-linux.
