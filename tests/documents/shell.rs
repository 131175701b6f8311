//! The blocks of code and the commands on pages. A test of the simulator's command shares this
//! file.

use std::fs;
use std::path::{Path, PathBuf};

/// A block of code on a page.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub(crate) page: String,
    /// The line of the block's begin.
    pub(crate) line: usize,
    pub(crate) language: String,
    pub(crate) text: String,
}

/// A command on a page: in a block, or in a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Command {
    pub(crate) page: String,
    pub(crate) line: usize,
    /// The line of the shell, continuations joined, comments left out, the alias `sim` expanded.
    pub(crate) text: String,
    /// True if it stands in a sentence: then it may be the name of a command without its arguments.
    pub(crate) in_prose: bool,
}

/// The beginnings of commands in sentences.
const BEGINNINGS: &[&str] = &["cargo ", "nice ", "scripts/", "sim ", "tenure-sim", "CARGO_"];

/// Every page for users with its text: all of the repository but the list of changes, which names
/// what there was.
pub(crate) fn pages(root: &Path) -> Vec<(String, String)> {
    let mut files = Vec::new();
    collect(root, &mut files);
    files.sort();
    let name = |path: &Path| path.strip_prefix(root).map(|path| path.display().to_string());
    let read = |path: &PathBuf| Some((name(path).ok()?, fs::read_to_string(path).ok()?));
    files.iter().filter_map(read).filter(|(name, _)| name != "CHANGELOG.md").collect()
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        if path.is_dir() && !name.starts_with('.') && name != "target" && name != "book" {
            collect(&path, found);
        } else if path.extension().is_some_and(|end| end == "md") {
            found.push(path);
        }
    }
}

pub(crate) fn blocks(page: &str, text: &str) -> Vec<Block> {
    let (mut found, mut open) = (Vec::new(), None::<Block>);
    for (line, content) in (1..).zip(text.lines()) {
        let fence = content.trim_start().strip_prefix("```");
        match (fence, open.take()) {
            (Some(_), Some(block)) => found.push(block),
            (Some(language), None) => {
                let (page, language) = (page.to_owned(), language.to_owned());
                open = Some(Block { page, line, language, text: String::new() });
            }
            (None, Some(mut block)) => {
                block.text.push_str(content);
                block.text.push('\n');
                open = Some(block);
            }
            (None, None) => {}
        }
    }
    found.extend(open);
    found
}

/// The commands of a page, in order.
pub(crate) fn commands(page: &str, text: &str) -> Vec<Command> {
    let mut found = in_blocks(page, text);
    found.extend(in_prose(page, text));
    found.sort_by_key(|command| command.line);
    found
}

fn in_blocks(page: &str, text: &str) -> Vec<Command> {
    let mut found = Vec::new();
    let shell = |block: &&Block| matches!(block.language.as_str(), "sh" | "yaml");
    for block in blocks(page, text).iter().filter(shell) {
        let (mut pending, mut loops) = (String::new(), 0);
        for (line, content) in (block.line + 1..).zip(block.text.lines()) {
            let content = without_comment(content);
            loops += usize::from(begins_loop(content));
            loops -= usize::from(loops > 0 && ends_loop(content));
            if let Some(part) = content.strip_suffix('\\') {
                pending.push_str(part);
                continue;
            }
            pending.push_str(content);
            if loops > 0 {
                pending.push(' ');
                continue;
            }
            let joined = std::mem::take(&mut pending);
            let text = joined.split_whitespace().collect::<Vec<_>>().join(" ");
            let counts = if block.language == "yaml" {
                text.starts_with("tenure-sim ")
            } else {
                is_command(&text)
            };
            if counts {
                let text = expanded(&text);
                found.push(Command { page: page.to_owned(), line, text, in_prose: false });
            }
        }
    }
    found
}

fn begins_loop(line: &str) -> bool {
    ["for ", "until ", "while "].iter().any(|word| line.trim_start().starts_with(word))
}

fn ends_loop(line: &str) -> bool {
    line.split([';', ' ']).any(|word| word == "done")
}

/// True if a line carries something out: neither an alias, nor the setting of a variable, nor
/// `wait`.
fn is_command(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let sets = |word: &str| word.contains('=') && !word.starts_with('-');
    match (words.next(), words.next()) {
        (None | Some("alias"), _) | (Some("wait"), None) => false,
        (Some(word), None) => !sets(word),
        (Some(_), Some(_)) => true,
    }
}

fn in_prose(page: &str, text: &str) -> Vec<Command> {
    let (mut found, mut in_block) = (Vec::new(), false);
    // The text with the lines of blocks left empty, so that a span of code may go on in the next
    // line.
    let lines = text.lines().map(|line| {
        let is_fence = line.trim_start().starts_with("```");
        in_block ^= is_fence;
        if in_block || is_fence { "" } else { line }
    });
    let prose = lines.collect::<Vec<_>>().join("\n");
    let mut line = 1;
    for paragraph in prose.split("\n\n") {
        let mut before = 0;
        for (number, span) in paragraph.split('`').enumerate() {
            if number % 2 == 1 && BEGINNINGS.iter().any(|start| span.starts_with(start)) {
                let (page, text) = (page.to_owned(), expanded(&span.replace('\n', " ")));
                found.push(Command { page, line: line + before, text, in_prose: true });
            }
            before += span.matches('\n').count();
        }
        line += before + 2;
    }
    found
}

fn without_comment(line: &str) -> &str {
    let mut quote = None;
    let mut before = ' ';
    for (at, c) in line.char_indices() {
        match (quote, c) {
            (None, '#') if before.is_whitespace() => return line[..at].trim_end(),
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), c) if c == open => quote = None,
            _ => {}
        }
        before = c;
    }
    line.trim_end()
}

fn expanded(command: &str) -> String {
    match command.strip_prefix("sim") {
        Some(rest) if rest.is_empty() || rest.starts_with(' ') => format!("tenure-sim{rest}"),
        _ => command.to_owned(),
    }
}

/// The words of a line up to the next `;`, `&`, `|` or redirection, quotes removed. Variables, and
/// sums in front of a `/`, are replaced by 1.
pub(crate) fn words(command: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut rest = command.chars().peekable();
    while let Some(c) = rest.next() {
        match (quote, c) {
            (None, ';' | '&' | '|' | '>') => break,
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (Some(open), c) if c == open => quote = None,
            (None | Some('"'), '$') => {
                if rest.peek() == Some(&'(') {
                    while rest.next_if(|next| *next != '/').is_some() {}
                }
                while rest.next_if(|next| next.is_alphanumeric() || *next == '_').is_some() {}
                word.get_or_insert_default().push('1');
            }
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// The arguments of the simulator's command on a line, if it has one: of `tenure-sim` or of
/// `cargo run -p tenure-sim`.
pub(crate) fn simulator(command: &str) -> Option<Vec<String>> {
    let words = words(command.get(simulator_begins(command)?..)?);
    if words.first().is_some_and(|word| word == "tenure-sim") {
        return Some(words[1..].to_vec());
    }
    let is_example = words.iter().any(|word| word == "--example");
    let runs = words.get(1).is_some_and(|word| word == "run") && !is_example;
    let of_it = words.windows(2).any(|pair| pair[0] == "-p" && pair[1] == "tenure-sim");
    if !runs || !of_it {
        return None;
    }
    let after = words.iter().position(|word| word == "--").map_or(words.len(), |at| at + 1);
    Some(words[after..].to_vec())
}

/// The place of `tenure-sim` or `cargo` as the name of a command: after no plain word, which it
/// would be an argument of.
fn simulator_begins(command: &str) -> Option<usize> {
    let (mut at, mut before) = (0, "");
    for part in command.split_inclusive(' ') {
        let word = part.trim_end();
        let is_argument =
            before != "do" && !before.is_empty() && before.chars().all(char::is_alphabetic);
        if matches!(word, "tenure-sim" | "cargo") && !is_argument {
            return Some(at);
        }
        (at, before) = (at + part.len(), word);
    }
    None
}
