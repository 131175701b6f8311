//! Many bugs in one build, of which a process has at most one.
//!
//! A function that some of them change gets their bodies beside its own, and runs the body of the
//! bug whose number a variable gave when the process started. That switch is added to the copy of
//! the sources alone, so that nothing else can contain it.
//!
//! Not covered: changes of anything but bodies of functions, and functions that are `const` or
//! return `impl`. Such bugs are built alone.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::ops::Range;

use proc_macro2::token_stream::IntoIter;
use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::{Sources, WorkshopError};

/// The variable with the number of a process's bug.
pub(super) const CHOSEN: &str = "TENURE_SIM_PLANTED";

/// The file that gets the switch, in a crate that all others use.
const HOME: &str = "core/src/lib.rs";
const SWITCH: &str = r#"
/// The planted bug that this process has.
pub mod planted {
    extern crate std;

    /// Its number; zero if it has none.
    pub fn chosen() -> usize {
        static CHOSEN: std::sync::OnceLock<usize> = std::sync::OnceLock::new();
        *CHOSEN.get_or_init(|| match std::env::var("VARIABLE") {
            Ok(number) => number.parse().expect("the number of a bug"),
            Err(_) => 0,
        })
    }
}
"#;

/// The sources that are built, and that can name the switch.
const REACHED: [&str; 4] = ["core/src/", "driver/src/", "tenure/src/", "sim/src/"];

/// A bug that fits the sources.
#[derive(Clone, Debug)]
pub struct Plant {
    pub(super) name: String,
    /// The changed files with their new texts.
    pub(super) texts: BTreeMap<String, String>,
    is_joinable: bool,
}

impl Plant {
    pub(super) fn new(
        name: &str,
        texts: BTreeMap<String, String>,
        sources: &Sources,
    ) -> Result<Self, WorkshopError> {
        let mut is_joinable = true;
        for (file, text) in &texts {
            let is_reached = REACHED.iter().any(|folder| file.starts_with(folder));
            is_joinable &=
                is_reached && Cut::of(text).around == Cut::of(&sources.read(file)?).around;
        }
        Ok(Self { name: name.to_owned(), texts, is_joinable })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// True if it can share a build with others.
    pub fn is_joinable(&self) -> bool {
        self.is_joinable
    }
}

/// The changed files with all of these bugs, which are numbered from one on.
pub(super) fn joined(
    plants: &[&Plant],
    sources: &Sources,
) -> Result<BTreeMap<String, String>, WorkshopError> {
    let mut files: BTreeMap<&str, Vec<(usize, Cut<'_>)>> = BTreeMap::from([(HOME, Vec::new())]);
    for (number, plant) in (1..).zip(plants) {
        for (file, text) in &plant.texts {
            files.entry(file).or_default().push((number, Cut::of(text)));
        }
    }
    let texts = files.into_iter().map(|(file, others)| {
        let mut text = with_all(file, &sources.read(file)?, &others);
        if file == HOME {
            text.push_str(&SWITCH.replace("VARIABLE", CHOSEN));
        }
        Ok((file.to_owned(), text))
    });
    texts.collect()
}

/// A file in which each function chooses its body.
fn with_all(file: &str, sound: &str, others: &[(usize, Cut<'_>)]) -> String {
    let home = if file.starts_with("core/") { "crate" } else { "::tenure_core" };
    let Cut { around, bodies } = Cut::of(sound);
    let mut text = String::new();
    for (place, before) in around.into_iter().enumerate() {
        text.push_str(before);
        let Some(body) = bodies.get(place) else { continue };
        let mut arms = String::new();
        for (number, other) in others {
            if let Some(changed) = other.bodies.get(place).filter(|changed| *changed != body) {
                let _ = write!(arms, "{number} => {changed} ");
            }
        }
        if arms.is_empty() {
            text.push_str(body);
        } else {
            let _ = write!(text, "{{ match {home}::planted::chosen() {{ {arms}_ => {body} }} }}");
        }
    }
    text
}

/// A text, cut at the bodies that a switch may choose from.
struct Cut<'a> {
    /// The text before each body, and behind the last one.
    around: Vec<&'a str>,
    bodies: Vec<&'a str>,
}

impl<'a> Cut<'a> {
    /// A text that is not Rust has no bodies.
    fn of(text: &'a str) -> Self {
        let (mut around, mut bodies, mut end) = (Vec::new(), Vec::new(), 0);
        for place in places(text.parse().unwrap_or_default()) {
            around.push(&text[end..place.start]);
            bodies.push(&text[place.clone()]);
            end = place.end;
        }
        around.push(&text[end..]);
        Self { around, bodies }
    }
}

/// The places of the bodies, in their order.
fn places(tokens: TokenStream) -> Vec<Range<usize>> {
    let (mut found, mut is_const) = (Vec::new(), false);
    let mut tokens = tokens.into_iter();
    while let Some(token) = tokens.next() {
        is_const = match token {
            TokenTree::Ident(word) if word == "fn" => {
                found.extend(body(&mut tokens).filter(|_| !is_const));
                false
            }
            TokenTree::Ident(word) if word == "const" => true,
            // Between `const` and `fn`.
            TokenTree::Ident(word) if word == "async" || word == "unsafe" => is_const,
            TokenTree::Group(group) => {
                found.append(&mut places(group.stream()));
                false
            }
            TokenTree::Ident(_) | TokenTree::Punct(_) | TokenTree::Literal(_) => false,
        }
    }
    found
}

/// The place of a function's body, of which `tokens` are what follows `fn`.
fn body(tokens: &mut IntoIter) -> Option<Range<usize>> {
    // The type of a pointer to a function has no name there.
    let TokenTree::Ident(_) = tokens.next()? else { return None };
    let mut returns_impl = false;
    for token in tokens {
        match token {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                return (!returns_impl).then(|| group.span().byte_range());
            }
            TokenTree::Punct(mark) if mark.as_char() == ';' => return None,
            TokenTree::Ident(word) => returns_impl |= word == "impl",
            TokenTree::Group(_) | TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOUND: &str = r#"
impl<'a> One<'a> {
    /// A `fn text() {}` in a comment or a string is none:
    pub fn one(&self, f: impl Fn()) -> &'a str { let text = "fn no() { '{' }"; f(); text }
    async fn two() {}
}
const fn three() -> u8 { 3 }
fn four() -> impl Sized { '}' }
type Pointer = fn(u8) -> u8;
trait Five { fn five(&self); fn six(&self) { self.five() } }
"#;

    #[test]
    fn bodies_that_can_be_chosen_from_are_found() {
        let found = Cut::of(SOUND).bodies;
        assert_eq!(found[1..], ["{}", "{ self.five() }"]);
        assert!(found[0].starts_with("{ let") && found[0].ends_with("f(); text }"), "{found:?}");
    }

    #[test]
    fn a_function_chooses_among_all_its_bodies() {
        let [once, twice] = ["{ self.six() }", "{ loop {} }"];
        let changed = |body: &str| SOUND.replace("{ self.five() }", body);
        let (first, third) = (changed(once), changed(twice));
        let others = [(1, Cut::of(&first)), (2, Cut::of(SOUND)), (3, Cut::of(&third))];
        let switch = format!("chosen() {{ 1 => {once} 3 => {twice} _ => {{ self.five() }} }} }}");
        for (file, home) in [("core/src/a.rs", "crate"), ("sim/src/a.rs", "::tenure_core")] {
            let expected = changed(&format!("{{ match {home}::planted::{switch}"));
            assert_eq!(with_all(file, SOUND, &others), expected);
        }
        assert_eq!(with_all("core/src/a.rs", SOUND, &[]), SOUND);
    }

    #[test]
    fn what_is_more_than_a_body_does_not_join() {
        let sources = Sources::around(env!("CARGO_MANIFEST_DIR").as_ref()).unwrap();
        let joins = |file: &str, from: &str, to: &str| {
            let text = sources.read(file).unwrap();
            assert!(text.contains(from), "{file}: {from}");
            let texts = BTreeMap::from([(file.to_owned(), text.replacen(from, to, 1))]);
            Plant::new("a", texts, &sources).unwrap().is_joinable()
        };
        let file = "core/src/id.rs";
        assert!(joins(file, "self.0.fmt(f)", "Ok(())"));
        for (from, to) in [
            ("self.0.fmt(f)", "{"),
            // Of a constant function.
            ("self.0.get()", "1"),
            ("pub struct Token", "struct Token"),
        ] {
            assert!(!joins(file, from, to), "{to}");
        }
        // That file is not built.
        assert!(!joins("core/tests/answers.rs", "fn", "fn"));
    }
}
