//! The operations of a world, as data that shrinks.

use super::setup::rates;
use proptest::prelude::*;

/// One thing that happens. Small numbers pick a node or a message: the remainder by how many there
/// are.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(fuzzing, derive(arbitrary::Arbitrary))]
pub(crate) enum Op {
    /// True time passes and nothing happens: processes are paused, messages delayed. Permille of
    /// the longest TTL.
    Pass(u16),
    /// True time passes until a clock-bound edge, or to the nanosecond before it.
    PassTo {
        edge: Edge,
        node: u8,
        just_before: bool,
    },
    /// A healthy stretch: every message is delivered at once, every deadline met.
    Healthy(u16),
    Wake {
        node: u8,
    },
    /// A request of the node that waits for its admission leaves; before its time, if it is a
    /// renewal.
    Admit {
        node: u8,
    },
    Hint {
        node: u8,
    },
    Campaign {
        node: u8,
    },
    Resign {
        node: u8,
        again_after: Option<u16>,
    },
    /// A node's work has ended; nothing if none had to.
    Drained {
        node: u8,
    },
    Request {
        pick: u8,
        fate: Fate,
    },
    Reply {
        pick: u8,
        fate: Fate,
    },
    /// The process dies and another one starts on the same machine.
    Crash {
        node: u8,
    },
    /// A clock's rate changes, within the drift bound.
    Drift {
        node: u8,
        rate: i8,
    },
    /// The machine was suspended, and its clock has run ahead. Permille of the longest TTL.
    Suspend {
        node: u8,
        permille: u16,
    },
    /// The store's clock is set to that many seconds since 1970.
    SetStoreClock {
        seconds: u32,
    },
    BackUp,
    RollBack,
    LoseEverything,
}

#[derive(Clone, Copy, Debug)]
#[cfg_attr(fuzzing, derive(arbitrary::Arbitrary))]
pub(crate) enum Edge {
    Deadline,
    ClaimEnd,
}

/// The fate of a message. A message that no operation picks is delayed.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(fuzzing, derive(arbitrary::Arbitrary))]
pub(crate) enum Fate {
    Arrives,
    /// Arrives, and will arrive again.
    Doubled,
    Lost,
    /// The connection breaks, and the message stays on its way: a request may still be carried out.
    Unknown,
}

pub(crate) fn ops(store_loses_data: bool) -> impl Strategy<Value = Vec<Op>> {
    prop::collection::vec(op(store_loses_data), 10..120)
}

fn op(store_loses_data: bool) -> BoxedStrategy<Op> {
    if store_loses_data { prop_oneof![14 => kept(), 1 => lost()].boxed() } else { kept().boxed() }
}

fn lost() -> impl Strategy<Value = Op> {
    prop_oneof![2 => Just(Op::BackUp), 2 => Just(Op::RollBack), 1 => Just(Op::LoseEverything)]
}

fn kept() -> impl Strategy<Value = Op> {
    let node = any::<u8>;
    let edge = prop_oneof![2 => Just(Edge::Deadline), 1 => Just(Edge::ClaimEnd)];
    let again = prop::option::of(prop_oneof![Just(0_u16), 0_u16..2_000]);
    prop_oneof![
        4 => prop_oneof![0_u16..50, 0_u16..1_500].prop_map(Op::Pass),
        8 => (edge, node(), any::<bool>())
            .prop_map(|(edge, node, just_before)| Op::PassTo { edge, node, just_before }),
        6 => (0_u16..1_500).prop_map(Op::Healthy),
        8 => node().prop_map(|node| Op::Wake { node }),
        4 => node().prop_map(|node| Op::Admit { node }),
        2 => node().prop_map(|node| Op::Hint { node }),
        2 => node().prop_map(|node| Op::Campaign { node }),
        3 => (node(), again).prop_map(|(node, again_after)| Op::Resign { node, again_after }),
        4 => node().prop_map(|node| Op::Drained { node }),
        14 => (node(), fate()).prop_map(|(pick, fate)| Op::Request { pick, fate }),
        14 => (node(), fate()).prop_map(|(pick, fate)| Op::Reply { pick, fate }),
        1 => node().prop_map(|node| Op::Crash { node }),
        1 => (node(), rates()).prop_map(|(node, rate)| Op::Drift { node, rate }),
        1 => (node(), 0_u16..2_000).prop_map(|(node, permille)| Op::Suspend { node, permille }),
        1 => any::<u32>().prop_map(|seconds| Op::SetStoreClock { seconds }),
    ]
}

fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        8 => Just(Fate::Arrives),
        2 => Just(Fate::Doubled),
        1 => Just(Fate::Lost),
        2 => Just(Fate::Unknown),
    ]
}
