use super::*;

/// A grid of squares. Steps lead to the right and up; one square may be forbidden.
struct Grid {
    columns: u32,
    rows: u32,
    forbidden: Option<(u32, u32)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Walk {
    Right,
    Up,
}

impl Model for Grid {
    type State = (u32, u32);
    type Packed = (u32, u32);
    type Action = Walk;
    type Broken = (u32, u32);
    type Seen = ();
    type Common = ();

    fn initial(&self) -> Vec<(u32, u32)> {
        vec![(0, 0), (0, 0)]
    }

    fn fingerprint(&self, (column, row): &(u32, u32)) -> u64 {
        xxhash_rust::xxh3::xxh3_64(&(u64::from(*column) << 32 | u64::from(*row)).to_le_bytes())
    }

    fn actions(&self, (column, row): &(u32, u32)) -> Vec<Walk> {
        let right = (column + 1 < self.columns).then_some(Walk::Right);
        let up = (row + 1 < self.rows).then_some(Walk::Up);
        right.into_iter().chain(up).collect()
    }

    fn step(&self, from: &(u32, u32), walk: Walk, (): &mut ()) -> Result<(u32, u32), (u32, u32)> {
        let to = match walk {
            Walk::Right => (from.0 + 1, from.1),
            Walk::Up => (from.0, from.1 + 1),
        };
        if self.forbidden == Some(to) { Err(to) } else { Ok(to) }
    }

    fn add((): &mut (), (): ()) {}

    fn pack(state: (u32, u32), (): &mut ()) -> (u32, u32) {
        state
    }

    fn unpack(packed: &(u32, u32)) -> (u32, u32) {
        *packed
    }
}

#[test]
fn each_state_and_step_is_counted_once() {
    let grid = Grid { columns: 300, rows: 200, forbidden: None };
    for jobs in [1, 2, 3] {
        let found = search(&grid, u32::MAX, u64::MAX, jobs);
        assert!(matches!(found.end, End::Complete));
        assert_eq!(found.states, 300 * 200);
        assert_eq!(found.transitions, 299 * 200 + 300 * 199);
        assert_eq!((found.depth, found.widest), (299 + 199, 200));
    }
}

#[test]
fn violations_are_shortest_on_any_number_of_threads() {
    let grid = Grid { columns: 50, rows: 50, forbidden: Some((7, 3)) };
    let paths = [1, 2, 5].map(|jobs| match search(&grid, u32::MAX, u64::MAX, jobs).end {
        End::Broken { from, actions, broken } => {
            assert_eq!((from, broken), ((0, 0), (7, 3)));
            assert_eq!(actions.len(), 10);
            assert_eq!(actions.iter().filter(|walk| **walk == Walk::Up).count(), 3);
            actions
        }
        End::Complete | End::Cut => panic!("the forbidden square is not found"),
    });
    assert!(paths.windows(2).all(|two| two[0] == two[1]));
}

#[test]
fn a_limit_cuts_the_search_short() {
    let grid = Grid { columns: 300, rows: 200, forbidden: Some((299, 199)) };
    let found = search(&grid, u32::MAX, 1_000, 2);
    assert!(matches!(found.end, End::Cut));
    assert!(found.states >= 1_000 && found.states < 2_000);
}

#[test]
fn a_number_of_steps_ends_the_search() {
    let grid = Grid { columns: 300, rows: 200, forbidden: Some((7, 3)) };
    let found = search(&grid, 9, u64::MAX, 2);
    assert!(matches!(found.end, End::Complete));
    assert_eq!((found.depth, found.states), (9, (1..=10).sum()));
    assert!(matches!(search(&grid, 10, u64::MAX, 2).end, End::Broken { .. }));
}
