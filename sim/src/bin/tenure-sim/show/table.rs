//! Text in aligned columns, without lines.

use std::fmt;

/// A head and rows, of which each has as many cells.
#[derive(Debug)]
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
    /// All columns but the first are numbers, and end below each other.
    has_numbers: bool,
}

impl Table {
    pub(super) fn new(heads: impl IntoIterator<Item = impl ToString>, has_numbers: bool) -> Self {
        let mut table = Self { rows: Vec::new(), has_numbers };
        table.add_row(heads);
        table
    }

    pub(crate) fn add_row(&mut self, cells: impl IntoIterator<Item = impl ToString>) {
        self.rows.push(cells.into_iter().map(|cell| cell.to_string()).collect());
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<_> = (0..columns).map(width).collect();
        let padded = |(column, (cell, &width)): (usize, (&String, &usize))| {
            let is_number = self.has_numbers && column > 0;
            if is_number { format!(" {cell:>width$} ") } else { format!(" {cell:<width$} ") }
        };
        let line = |row: &Vec<String>| {
            let cells: String = row.iter().zip(&widths).enumerate().map(padded).collect();
            cells.trim_end().to_owned()
        };
        f.write_str(&self.rows.iter().map(line).collect::<Vec<_>>().join("\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned() {
        let mut table = Table::new(["head", "all"], true);
        table.add_row(["ä", "7"]);
        assert_eq!(table.to_string(), " head  all\n ä       7");
        let mut table = Table::new(["a", "of"], false);
        table.add_row(["long", "b"]);
        assert_eq!(table.to_string(), " a     of\n long  b");
    }
}
