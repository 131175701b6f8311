//! The files that a command writes. Each is written completely or not at all, and none replaces a
//! file that the command reads.
//!
//! A file is written under another name in the same folder, and renamed once it is complete. A link
//! is neither followed nor replaced: an attacker that can place a link in a shared folder could
//! choose which file is overwritten.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, BufWriter, ErrorKind, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use tempfile::{Builder, NamedTempFile};
use tenure_sim::plan::Plan;

use crate::error::CliError;

/// The permissions of new files, which the process's umask reduces.
const MODE: u32 = 0o666;

/// The files that a command has named so far.
#[derive(Debug, Default)]
pub(crate) struct Files(Vec<PathBuf>);

impl Files {
    /// The files that the command reads.
    pub(crate) fn read<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> Self {
        Self(paths.into_iter().map(|path| place(path)).collect())
    }

    /// Adds further files that the command reads.
    pub(crate) fn also_read<'a>(&mut self, paths: impl IntoIterator<Item = &'a PathBuf>) {
        self.0.extend(paths.into_iter().map(|path| place(path)));
    }

    /// Opens a file before any run, so that an error comes before a long campaign.
    pub(crate) fn create(&mut self, path: &Path) -> Result<Output, CliError> {
        let place = place(path);
        if self.0.contains(&place) {
            let why = "the command names this file twice; a result needs a file of its own";
            return Err(CliError::of_file(path, why));
        }
        let output = open(path)?;
        self.0.push(place);
        Ok(output)
    }

    /// Opens a file, if one is named.
    pub(crate) fn create_if(&mut self, path: Option<&Path>) -> Result<Option<Output>, CliError> {
        path.map(|path| self.create(path)).transpose()
    }
}

/// The longest file that is read as a whole, in bytes.
const TEXT_MOST: u64 = 64 << 20;

/// The text of a file that the command reads.
pub(crate) fn text_of(path: &Path) -> Result<String, CliError> {
    let failed = |why: io::Error| CliError::of_file(path, why);
    let mut text = String::new();
    File::open(path)
        .map_err(failed)?
        .take(TEXT_MOST + 1)
        .read_to_string(&mut text)
        .map_err(failed)?;
    if text.len() as u64 > TEXT_MOST {
        let why = format!("the file has more than {TEXT_MOST} bytes, which is the limit");
        return Err(CliError::of_file(path, why));
    }
    Ok(text)
}

/// The place of a path: two paths to one file have the same place.
fn place(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| {
        let folder = fs::canonicalize(folder(path)).unwrap_or_else(|_| folder(path).to_owned());
        path.file_name().map_or_else(|| path.to_owned(), |name| folder.join(name))
    })
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn open(path: &Path) -> Result<Output, CliError> {
    let refused = |why: &str| Err(CliError::of_file(path, why));
    let failed = |why: io::Error| CliError::of_file(path, why);
    let permissions = match fs::symlink_metadata(path) {
        Ok(known) if known.is_symlink() => {
            return refused("this is a link, which is not followed; name its target");
        }
        Ok(known) if known.is_dir() => return refused("this is a folder; name a file"),
        Ok(known) if known.is_file() => known.permissions(),
        Ok(_) => {
            let mut options = OpenOptions::new();
            let no_link = i32::try_from(OFlags::NOFOLLOW.bits()).unwrap_or(0);
            let file = options.write(true).custom_flags(no_link).open(path).map_err(failed)?;
            return Ok(Output {
                path: path.to_owned(),
                target: Target::Device(BufWriter::new(file)),
            });
        }
        Err(why) if why.kind() == ErrorKind::NotFound => Permissions::from_mode(MODE),
        Err(why) => return Err(failed(why)),
    };
    let beside =
        Builder::new().prefix(".tenure-sim-").permissions(permissions).tempfile_in(folder(path));
    let beside = BufWriter::new(beside.map_err(failed)?);
    Ok(Output { path: path.to_owned(), target: Target::Beside(beside) })
}

/// A file that is being written. Dropped before it is finished, it leaves nothing behind.
#[derive(Debug)]
pub(crate) struct Output {
    path: PathBuf,
    target: Target,
}

#[derive(Debug)]
enum Target {
    /// A temporary file, which replaces the target once it is complete.
    Beside(BufWriter<NamedTempFile>),
    /// A pipe or a device, which can't be replaced.
    Device(BufWriter<File>),
}

impl Output {
    /// Completes the file.
    pub(crate) fn finish(self) -> io::Result<()> {
        match self.target {
            Target::Beside(beside) => {
                let beside = beside.into_inner().map_err(io::IntoInnerError::into_error)?;
                beside.persist(self.path).map(drop).map_err(io::Error::from)
            }
            Target::Device(mut device) => device.flush(),
        }
    }

    /// Writes a plan; an empty file if there is none, so that an earlier plan is not mistaken for
    /// it.
    pub(crate) fn holding_plan(self, plan: Option<&Plan>) -> io::Result<()> {
        let text = plan.map(|plan| plan.to_text() + "\n");
        self.holding(text.unwrap_or_default().as_bytes())
    }

    /// Writes the content, and completes the file.
    pub(crate) fn holding(mut self, content: &[u8]) -> io::Result<()> {
        self.write_all(content)?;
        self.finish()
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.target {
            Target::Beside(beside) => beside.write(bytes),
            Target::Device(device) => device.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.target {
            Target::Beside(beside) => beside.flush(),
            Target::Device(device) => device.flush(),
        }
    }
}
