//! The faults by the place at which they happen.

use serde::{Deserialize, Serialize};

use super::{Act, FaultKind};

/// Makes a type of the faults of each place, [`What`], which is any of them, and the form in which plans spell it: the
/// node stands among the fields of its fault.
macro_rules! faults {
    (
        of_a_node { $(
            $(#[doc = $node_place_doc:literal])+
            $NodePlace:ident $NodeFault:ident { $(
                $(#[doc = $node_doc:literal])+
                $OfNode:ident $({ $($node_field:ident: $node_type:ty),+ })?;
            )+ }
        )+ }
        of_no_node { $(
            $(#[doc = $place_doc:literal])+
            $Place:ident $PlaceFault:ident { $(
                $(#[doc = $doc:literal])+
                $OfNone:ident $({ $($field:ident: $type:ty),+ })?;
            )+ }
        )+ }
    ) => {
        $(
            $(#[doc = $node_place_doc])+
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            #[allow(missing_docs, reason = "the fields are the magnitudes of the fault")]
            pub enum $NodeFault { $(
                $(#[doc = $node_doc])+
                $OfNode $({ $($node_field: $node_type),+ })?,
            )+ }

            impl $NodeFault {
                /// This fault at that node; without one, [where it strikes](What).
                pub const fn at(self, node: Option<usize>) -> What {
                    What::$NodePlace { node, fault: self }
                }

                /// Its kind, if nothing but its name decides it.
                pub(super) const fn kind(self) -> FaultKind {
                    match self { $(Self::$OfNode { .. } => FaultKind::$OfNode,)+ }
                }
            }
        )+
        $(
            $(#[doc = $place_doc])+
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            #[allow(missing_docs, reason = "the fields are the magnitudes of the fault")]
            pub enum $PlaceFault { $(
                $(#[doc = $doc])+
                $OfNone $({ $($field: $type),+ })?,
            )+ }

            impl $PlaceFault {
                /// Its kind, if nothing but its name decides it.
                pub(super) const fn kind(self) -> FaultKind {
                    match self { $(Self::$OfNone { .. } => FaultKind::$OfNone,)+ }
                }
            }
        )+

        /// A fault, and its parameters. Nodes are numbered from zero.
        ///
        /// A fault that names no node happens to the node at which its trigger fired, or else to the node that leads
        /// when it begins. Without a leader it has no effect.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(from = "Spelled", into = "Spelled")]
        pub enum What {
            $(
                $(#[doc = $node_place_doc])+
                $NodePlace {
                    /// The node that it names.
                    node: Option<usize>,
                    /// The fault.
                    fault: $NodeFault,
                },
            )+
            $($(#[doc = $place_doc])+ $Place($PlaceFault),)+
            /// An act at the store's server, which stays up.
            Operator(Act),
        }

        /// A fault as plans spell it.
        #[derive(Serialize, Deserialize)]
        #[serde(rename = "What", rename_all = "kebab-case", deny_unknown_fields)]
        enum Spelled {
            $($($OfNode { node: Option<usize>, $($($node_field: $node_type),+)? },)+)+
            $($($OfNone $({ $($field: $type),+ })?,)+)+
            Operator(Act),
        }

        impl From<Spelled> for What {
            fn from(spelled: Spelled) -> Self {
                match spelled {
                    $($(Spelled::$OfNode { node, $($($node_field),+)? } => {
                        $NodeFault::$OfNode { $($($node_field),+)? }.at(node)
                    })+)+
                    $($(Spelled::$OfNone { $($($field),+)? } => {
                        Self::$Place($PlaceFault::$OfNone { $($($field),+)? })
                    })+)+
                    Spelled::Operator(act) => Self::Operator(act),
                }
            }
        }

        impl From<What> for Spelled {
            fn from(what: What) -> Self {
                match what {
                    $(What::$NodePlace { node, fault } => match fault {
                        $($NodeFault::$OfNode { $($($node_field),+)? } => {
                            Self::$OfNode { node, $($($node_field),+)? }
                        })+
                    },)+
                    $(What::$Place(fault) => match fault {
                        $($PlaceFault::$OfNone { $($($field),+)? } => {
                            Self::$OfNone { $($($field),+)? }
                        })+
                    },)+
                    What::Operator(act) => Self::Operator(act),
                }
            }
        }
    };
}

faults! {
    of_a_node {
        /// A fault of the link between a node and the store.
        Link LinkFault {
            /// No message passes between a node and the store.
            Partition;
            /// No message passes in one direction: from a node to the store, or from the store to the node.
            OneWay { to_store: bool };
            /// Messages between a node and the store wait, and arrive in order when it ends.
            Hold;
            /// Messages between a node and the store take up to that long.
            Latency { most_ms: u64 };
            /// That many of a thousand messages are lost.
            Loss { permille: u32 };
            /// That many of a thousand messages arrive twice, the second time up to that much later.
            Duplicate { permille: u32, most_ms: u64 };
            /// That many of a thousand messages take up to that much longer, and others overtake them.
            Reorder { permille: u32, most_ms: u64 };
            /// The node's connection breaks. Messages that have left it may still arrive at the store.
            Cut;
            /// The node's connections are reset, as by a firewall. What was on its way is lost.
            Reset;
            /// The server's ends of the node's connections are gone, and the node's ends are open: nothing answers on
            /// them.
            HalfOpen;
            /// That many bytes a second pass in each direction between a node and the store.
            Throttle { bytes_per_second: u32 };
            /// A replica replaces the store at once for all nodes but one. For that node the old primary continues to
            /// acknowledge requests.
            OldPrimary;
        }
        /// A fault of a node's process, or of the machine on which it runs.
        Process ProcessFault {
            /// The node's process is paused, and its clocks keep running: a garbage collection, a throttled container.
            Pause;
            /// The task that drives the node's candidates gets no turn, while all others of its process run.
            Starve;
            /// The machine sleeps: the process is paused and the monotonic clock stopped, but neither the
            /// boot clock nor the wall clock.
            Suspend;
            /// The process is paused and all its clocks are stopped: a virtual machine that is stopped or moved.
            VmStop;
            /// When the fault ends, the node's memory and clocks are reset to their states at its beginning: a restored
            /// snapshot of a virtual machine.
            VmRestore;
            /// The node's process crashes, and starts again. With `power` its connections are not closed.
            Crash { power: bool };
            /// The leader hands over on request, and campaigns again later.
            Resign;
            /// The candidate leaves the election, and campaigns again when it ends.
            Leave;
            /// The node's process has no file descriptors left: its connections break, and it can open no others.
            NoDescriptors;
        }
        /// A fault of a node's clock.
        Clock ClockFault {
            /// The node's clock is put forward, or back if negative.
            ClockStep { by_ms: i64 };
        }
    }
    of_no_node {
        /// A fault of the links of all nodes, one after the other.
        Links LinksFault {
            /// All nodes are partitioned one by one, `step_ms` after each other, and healed one by one in an order that
            /// begins `shift` nodes further on.
            Swizzle { step_ms: u64, shift: usize };
        }
        /// A fault of the store.
        Store StoreFault {
            /// The store's process crashes, and starts again with its data.
            StoreCrash;
            /// The store's process crashes, and starts again without its data.
            StoreLoss;
            /// The store's process crashes, and starts again with the data of `back_ms` before.
            StoreRollback { back_ms: u64 };
            /// The store's machine fails, and a replica replaces it at the end of the fault: with the data of `lag_ms`
            /// before, and a clock that is ahead by that much, or behind.
            Failover { lag_ms: u64, clock_ahead_ms: i64 };
            /// The store answers nothing until the fault ends; then it answers all requests that have arrived.
            StoreStall;
            /// The store's clock is put forward, or back if negative.
            StoreClockStep { by_ms: i64 };
        }
    }
}
