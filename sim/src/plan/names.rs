//! Values with names: they are printed by these, and read from them.

/// No value of that kind has that name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown {kind} {name:?}; known are {known}")]
pub struct UnknownName {
    /// The kind.
    pub kind: &'static str,
    /// The name that was given.
    pub name: String,
    /// All names of that kind.
    pub known: String,
}

impl UnknownName {
    /// The value with that name, among all of its kind.
    pub(crate) fn find<T>(
        kind: &'static str,
        name: &str,
        all: impl IntoIterator<Item = T>,
        name_of: fn(&T) -> &'static str,
    ) -> Result<T, Self> {
        let mut known = Vec::new();
        for one in all {
            let own = name_of(&one);
            if own == name {
                return Ok(one);
            }
            known.push(own);
        }
        Err(Self { kind, name: name.to_owned(), known: known.join(", ") })
    }
}

/// Prints and reads a type's values by their names: the type, its kind, all values, and the name of
/// one.
macro_rules! named {
    ($type:ty, $kind:literal, $all:expr, $name:expr) => {
        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let name: fn(&Self) -> &'static str = $name;
                f.write_str(name(self))
            }
        }

        impl std::str::FromStr for $type {
            type Err = $crate::plan::UnknownName;

            fn from_str(name: &str) -> Result<Self, Self::Err> {
                $crate::plan::UnknownName::find($kind, name, $all, $name)
            }
        }
    };
}

pub(crate) use named;
