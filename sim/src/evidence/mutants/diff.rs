//! Changes of the sources, as a unified diff.

use std::collections::BTreeMap;
use std::path::{Component, Path};

use diffy::patch_set::{FileOperation, FilePatch, ParseOptions, PatchSet};

use super::{Plant, Sources, WorkshopError};

/// A unified diff against the root of the workspace, as `git diff` and `diff -u` write them.
#[derive(Clone, Debug)]
pub struct Diff {
    /// Its name.
    pub name: String,
    text: String,
}

/// An error in a diff.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DiffError {
    /// It can't be read.
    #[error("{name}: {why}")]
    Syntax {
        /// The diff.
        name: String,
        /// The reason.
        why: String,
    },
    /// It changes nothing.
    #[error("{name} changes no file")]
    Empty {
        /// The diff.
        name: String,
    },
    /// It contains other operations than changes of text.
    #[error("{name}: only changes of text in files that exist can be planted, not {what}")]
    Kind {
        /// The diff.
        name: String,
        /// The operation.
        what: String,
    },
    /// It leads out of the workspace.
    #[error("{name}: {file} is not a path within the workspace")]
    Outside {
        /// The diff.
        name: String,
        /// The path.
        file: String,
    },
    /// A hunk does not fit.
    #[error("{name}: hunk {hunk} of {file}, which begins at line {line}, does not fit the sources")]
    Hunk {
        /// The diff.
        name: String,
        /// The file that it would change.
        file: String,
        /// The number of the hunk, counted from one.
        hunk: usize,
        /// Its line.
        line: usize,
    },
}

impl Diff {
    /// A diff of that name.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.into(), text: text.into() }
    }

    /// The bug that it plants.
    ///
    /// # Errors
    /// If it does not fit the sources.
    pub fn applied(&self, sources: &Sources) -> Result<Plant, WorkshopError> {
        let mut texts = BTreeMap::new();
        for file in PatchSet::parse(&self.text, ParseOptions::unidiff()) {
            let file = file.map_err(|why| self.syntax(&why))?;
            let path = self.path(&file)?;
            let text = texts.remove(&path).map_or_else(|| sources.read(&path), Ok)?;
            let text = self.change(&file, &path, &text)?;
            texts.insert(path, text);
        }
        if texts.is_empty() {
            return Err(DiffError::Empty { name: self.name.clone() }.into());
        }
        Plant::new(&self.name, texts, sources)
    }

    /// The file that is changed, from the root; git puts a letter before it.
    fn path(&self, file: &FilePatch<'_, str>) -> Result<String, DiffError> {
        let FileOperation::Modify { original, modified } = file.operation() else {
            let what = format!("{:?}", file.operation());
            return Err(DiffError::Kind { name: self.name.clone(), what });
        };
        let path = match (original.strip_prefix("a/"), modified.strip_prefix("b/")) {
            (Some(_), Some(modified)) => modified,
            _ => modified,
        };
        let mut parts = Path::new(path).components();
        if parts.all(|part| matches!(part, Component::Normal(_))) {
            Ok(path.to_owned())
        } else {
            Err(DiffError::Outside { name: self.name.clone(), file: path.to_owned() })
        }
    }

    fn change(
        &self,
        file: &FilePatch<'_, str>,
        path: &str,
        text: &str,
    ) -> Result<String, DiffError> {
        let Some(hunks) = file.patch().as_text() else {
            let what = format!("the binary {path}");
            return Err(DiffError::Kind { name: self.name.clone(), what });
        };
        diffy::apply(text, hunks).map_err(|why| {
            let hunk = number(&why.to_string()).unwrap_or(1);
            let line = hunks.hunks().get(hunk - 1).map_or(0, |hunk| hunk.old_range().start());
            DiffError::Hunk { name: self.name.clone(), file: path.to_owned(), hunk, line }
        })
    }

    fn syntax(&self, why: &impl ToString) -> DiffError {
        DiffError::Syntax { name: self.name.clone(), why: why.to_string() }
    }
}

/// The number of the hunk, which the error contains only in its text.
fn number(words: &str) -> Option<usize> {
    words.rsplit('#').next()?.parse().ok().filter(|number| *number > 0)
}

#[cfg(test)]
mod tests {
    use diffy::Line;

    use super::*;
    use crate::evidence::mutants;

    fn applied(text: &str) -> Result<BTreeMap<String, String>, String> {
        let sources = Sources::around(env!("CARGO_MANIFEST_DIR").as_ref()).unwrap();
        let plant = Diff::new("my.patch", text).applied(&sources);
        plant.map(|plant| plant.texts).map_err(|error| error.to_string())
    }

    const NEAR: &str = " //! One candidate in one election.\n-\n+//! More.\n mod admission;\n";

    #[test]
    fn a_diff_applies_with_or_without_git_prefixes() {
        for (old, new) in [("a/", "b/"), ("", "")] {
            let file = "core/src/candidate/mod.rs";
            let texts =
                applied(&format!("--- {old}{file}\n+++ {new}{file}\n@@ -1,3 +1,3 @@\n{NEAR}"));
            assert!(
                texts.unwrap()[file].starts_with("//! One candidate in one election.\n//! More.\n")
            );
        }
    }

    #[test]
    fn a_misfit_names_file_hunk_and_line() {
        let file = "core/src/candidate/mod.rs";
        let hunk = "@@ -7,2 +7,2 @@\n mod nothing;\n-mod like;\n+mod that;\n";
        let error = applied(&format!("--- a/{file}\n+++ b/{file}\n{hunk}")).unwrap_err();
        assert!(error.contains("hunk 1 of core/src/candidate/mod.rs"), "{error}");
        assert!(error.contains("line 7"), "{error}");
    }

    #[test]
    fn a_diff_changes_files_of_the_workspace() {
        for (text, expected) in [
            ("--- a/../x\n+++ b/../x\n@@ -1 +1 @@\n-a\n+b\n", "not a path within the workspace"),
            ("--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+b\n", "files that exist"),
            ("nothing at all\n", "no valid patches found"),
        ] {
            let error = applied(text).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }

    /// One that fits elsewhere too would be planted there some day, without a word.
    #[test]
    fn each_hunk_of_a_mutant_fits_in_one_place() {
        let sources = Sources::around(env!("CARGO_MANIFEST_DIR").as_ref()).unwrap();
        for mutant in mutants::all() {
            mutant.plant(&sources).unwrap();
            let diff = Diff::new(mutant.name, sources.read(&mutant.patch()).unwrap());
            for file in PatchSet::parse(&diff.text, ParseOptions::unidiff()) {
                let file = file.unwrap();
                let text = sources.read(&diff.path(&file).unwrap()).unwrap();
                for hunk in file.patch().as_text().unwrap().hunks() {
                    let old = hunk.lines().iter().filter_map(|line| match line {
                        Line::Context(line) | Line::Delete(line) => Some(*line),
                        Line::Insert(_) => None,
                    });
                    let old: String = old.collect();
                    assert_eq!(text.matches(&old).count(), 1, "{mutant}:\n{old}");
                }
            }
        }
    }
}
