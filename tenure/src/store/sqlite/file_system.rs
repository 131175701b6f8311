//! File systems on which a file can't be shared as SQLite needs it.

use std::path::Path;

use rustix::fs::statfs;

use super::error::SqliteError;

/// Refuses a place where other hosts, or other kernels, may write too.
pub(super) fn refuse_network(path: &Path, at: &Path) -> Result<(), SqliteError> {
    let found = statfs(at)
        .map_err(|error| SqliteError::io(path, "asking for its file system", error.into()))?;
    // The kernel's types are 32 bits, in a field whose width and sign depend on the architecture.
    let kind = u32::try_from(found.f_type & 0xffff_ffff).unwrap_or_default();
    match network(kind) {
        Some(file_system) => {
            Err(SqliteError::NetworkFileSystem { path: path.to_owned(), file_system })
        }
        None => Ok(()),
    }
}

/// The name of a file system on which SQLite's locks or shared memory do not reach all its users.
/// FUSE is one of them: the kernel does not know the file system behind it.
fn network(kind: u32) -> Option<&'static str> {
    Some(match kind {
        0x6969 => "NFS",
        0x517b => "SMB",
        0xff53_4d42 => "CIFS",
        0xfe53_4d42 => "SMB2",
        0x0102_1997 => "9p",
        0x6573_5546 => "FUSE",
        0x00c3_6400 => "Ceph",
        0x5346_414f | 0x6b41_4653 => "AFS",
        0x7375_7245 => "Coda",
        0x0000_564c => "NCP",
        0x7461_636f => "OCFS2",
        0x0116_1970 => "GFS2",
        0x0bd0_0bd0 => "Lustre",
        0x4750_4653 => "GPFS",
        0x1983_0326 => "BeeGFS",
        0x786f_4256 => "vboxsf",
        0x00c0_ffee => "hostfs",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn network_file_systems_are_recognized() {
        for (kind, name) in [(0x6969, "NFS"), (0xff53_4d42, "CIFS"), (0x6573_5546, "FUSE")] {
            assert_eq!(network(kind), Some(name));
        }
        // ext4, XFS, Btrfs, F2FS, ZFS, tmpfs, overlayfs, exFAT.
        for local in [
            0xef53,
            0x5846_5342,
            0x9123_683e,
            0xf2f5_2010,
            0x2fc1_2fc1,
            0x0102_1994,
            0x794c_7630,
            0x2011_bab0,
        ] {
            assert_eq!(network(local), None, "{local:x}");
        }
        assert!(refuse_network(Path::new("/x"), &std::env::temp_dir()).is_ok());
    }
}
