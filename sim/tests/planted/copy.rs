//! The copy of the sources that bugs are planted in.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{LazyLock, Mutex};
use std::{fs, io};

use crate::bugs::{Bug, Edit};
use crate::simulator::Simulator;

const FOLDERS: [&str; 5] = ["core", "tenure", "sim", "bench", "servers"];
const FILES: [&str; 2] = ["Cargo.toml", "Cargo.lock"];

/// The only one, as building dependencies takes far longer than all the rest.
static COPY: LazyLock<Mutex<Copy>> = LazyLock::new(|| Mutex::new(Copy::of_the_sources()));

/// Looks at the simulator with that bug in it.
pub(crate) fn with_planted<T>(bug: &Bug, look: impl FnOnce(&Simulator) -> T) -> T {
    let copy = COPY.lock().unwrap();
    copy.plant(bug);
    copy.build(bug);
    let seen = look(&Simulator::new(copy.target.join("release/tenure-sim")));
    copy.mend(bug);
    seen
}

struct Copy {
    workspace: PathBuf,
    sources: PathBuf,
    target: PathBuf,
}

impl Copy {
    fn of_the_sources() -> Self {
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf();
        // Beside the artifacts of this very test, and never among them: cargo tells packages of two
        // copies of a workspace apart by the age of their files alone, and would sooner or later take a
        // planted bug for the real thing.
        let target = std::env::current_exe().unwrap();
        let folder = target.ancestors().nth(3).unwrap().join("planted");
        let (sources, target) = (folder.join("sources"), folder.join("target"));
        for folder in FOLDERS {
            copy_folder(&workspace.join(folder), &sources.join(folder)).unwrap();
        }
        for file in FILES {
            fs::copy(workspace.join(file), sources.join(file)).unwrap();
        }
        Self { workspace, sources, target }
    }

    fn plant(&self, bug: &Bug) {
        bug.edits.iter().for_each(|edit| self.edit(edit));
    }

    fn edit(&self, Edit { file, from, to }: &Edit) {
        let path = self.sources.join(file);
        let text = fs::read_to_string(&path).unwrap();
        let found = text.matches(from).count();
        assert_eq!(found, 1, "{file} holds {found} times, and should once:\n{from}");
        fs::write(path, text.replacen(from, to, 1)).unwrap();
    }

    fn mend(&self, bug: &Bug) {
        for Edit { file, .. } in bug.edits {
            fs::copy(self.workspace.join(file), self.sources.join(file)).unwrap();
        }
    }

    fn build(&self, bug: &Bug) {
        let built = Command::new(env!("CARGO"))
            .args(["build", "--release", "--quiet", "--package", "tenure-sim"])
            .current_dir(&self.sources)
            .env("CARGO_TARGET_DIR", &self.target)
            // Only the mutated crates change from build to build: each then takes a few seconds. A build
            // without turmoil, for bugs that need none, would take half of that, and minutes the first time.
            .env("CARGO_PROFILE_RELEASE_INCREMENTAL", "true")
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&built.stderr);
        assert!(built.status.success(), "{} does not build:\n{errors}", bug.name);
    }
}

fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &target)?;
        } else if fs::read(entry.path())? != fs::read(&target).unwrap_or_default() {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
