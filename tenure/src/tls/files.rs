//! Files with passwords and certificates, which others replace while the program runs.
//!
//! They are read where they are needed, without a thread for it: they are small, and belong on a
//! local file system.

use std::io;
use std::path::Path;

/// More than all authorities of a system, by far.
const MOST: u64 = 4 << 20;

/// The content of a file, of which only a plain one is opened: to open a pipe would wait for its
/// writer.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let about = std::fs::metadata(path)?;
    if !about.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no plain file"));
    }
    if about.len() > MOST {
        let why = format!("it has {} bytes, of which at most {MOST} are read", about.len());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    std::fs::read(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_files_are_opened() {
        assert!(
            !read(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")))
                .unwrap()
                .is_empty()
        );
        for path in ["/dev/zero", env!("CARGO_MANIFEST_DIR")] {
            let refused = read(Path::new(path)).unwrap_err();
            assert_eq!(refused.to_string(), "it is no plain file", "{path}");
        }
        assert_eq!(read(Path::new("/no/such")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
