//! Every recipe of docs/recipes.md does what the page says.

use super::program::example;

#[test]
fn each_recipe_does_what_it_says() {
    let output = example("recipes").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout).unwrap();
    let expected = [
        "in the background: done",
        "a set of tasks: worked: true, steps after the end: 0",
        "shared state: 2 runs",
        "state of one tenure: 42 tea, 43 bread",
        "borrowed state: sum 6 of 3 rows",
        "an actor: sums [105, 112], refused after the end: true",
        "a blocking section: stopped between two files",
    ];
    assert_eq!(lines.lines().collect::<Vec<_>>(), expected);
}
