//! The test that docs/testing-your-code.md begins with.

use super::program::example;

#[test]
fn the_pages_test_passes() {
    let output = example("testing").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.stdout, b"no page is written without the lead\n");
}
