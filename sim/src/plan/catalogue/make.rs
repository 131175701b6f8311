//! Makes the types of faults and kinds of the [rows](super).

/// Makes of the rows:
///
/// - a type of the faults of each place, and [`What`](super::What), which is a fault of any place;
/// - the form in which plans spell a fault: the node stands among its magnitudes;
/// - [`Act`](super::Act), and [`FaultKind`](super::FaultKind) with what its row says.
macro_rules! catalogue {
    (
        of_a_node { $(
            $(#[doc = $node_place_doc:literal])+
            $NodePlace:ident $NodeFault:ident { $(
                $(#[doc = $node_doc:literal])+
                $node_number:literal $OfNode:ident
                $({ $($node_field:ident: $node_type:ty = $node_example:expr),+ })?
                => $node_row:expr;
            )+ }
        )+ }
        of_no_node { $(
            $(#[doc = $place_doc:literal])+
            $Place:ident $PlaceFault:ident { $(
                $(#[doc = $doc:literal])+
                $number:literal $OfNone:ident
                $({ $($field:ident: $type:ty = $example:expr),+ })?
                => $row:expr;
            )+ }
        )+ }
        acts { $(
            $(#[doc = $act_doc:literal])+
            $act_number:literal $Act:ident => $act_row:expr;
        )+ }
        further { $(
            $(#[doc = $further_doc:literal])+
            $further_number:literal $Further:ident = $further_what:expr => $further_row:expr;
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

                const fn kind(self) -> FaultKind {
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
                const fn kind(self) -> FaultKind {
                    match self { $(Self::$OfNone { .. } => FaultKind::$OfNone,)+ }
                }
            }
        )+

        /// An act on a server that stays up, by an operator or by the server itself.
        ///
        /// An act does nothing at a server that is down or answers nothing when it begins. A
        /// restart of the server undoes those that last. Those that [need no
        /// server](Self::needs_a_server) are exceptions.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum Act { $($(#[doc = $act_doc])+ $Act,)+ }

        impl Act {
            /// All acts.
            pub const ALL: [Self; [$(Self::$Act),+].len()] = [$(Self::$Act),+];

            /// The kind of a fault that consists of it.
            pub const fn kind(self) -> FaultKind {
                match self { $(Self::$Act => FaultKind::$Act,)+ }
            }
        }

        /// A fault, and its parameters. Nodes are numbered from zero.
        ///
        /// A fault that names no node happens to the node at which its trigger fired, or else to
        /// the node that leads when it begins. Without a leader it has no effect.
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

        impl What {
            /// The kind of such a fault, if neither its trigger nor a sign decides it.
            pub(in crate::plan) const fn named(self) -> FaultKind {
                match self {
                    $(Self::$NodePlace { fault, .. } => fault.kind(),)+
                    $(Self::$Place(fault) => fault.kind(),)+
                    Self::Operator(act) => act.kind(),
                }
            }
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

        /// A kind of fault, by which faults are enabled and counted.
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        #[serde(rename_all = "kebab-case")]
        pub enum FaultKind {
            $($($(#[doc = $node_doc])+ $OfNode = $node_number,)+)+
            $($($(#[doc = $doc])+ $OfNone = $number,)+)+
            $($(#[doc = $act_doc])+ $Act = $act_number,)+
            $($(#[doc = $further_doc])+ $Further = $further_number,)+
        }

        impl FaultKind {
            /// All kinds, in the order of their numbers.
            pub const ALL: [Self; [
                $($(Self::$OfNode,)+)+ $($(Self::$OfNone,)+)+ $(Self::$Act,)+ $(Self::$Further,)+
            ].len()] = in_order([
                $($(Self::$OfNode,)+)+ $($(Self::$OfNone,)+)+ $(Self::$Act,)+ $(Self::$Further,)+
            ]);

            pub(crate) const fn row(self) -> &'static Row {
                match self {
                    $($(Self::$OfNode => const { &$node_row },)+)+
                    $($(Self::$OfNone => const { &$row },)+)+
                    $(Self::$Act => const { &$act_row },)+
                    $(Self::$Further => const { &$further_row },)+
                }
            }

            /// A description in sentences.
            pub const fn explanation(self) -> &'static str {
                match self {
                    $($(Self::$OfNode => concat!($($node_doc),+),)+)+
                    $($(Self::$OfNone => concat!($($doc),+),)+)+
                    $(Self::$Act => concat!($($act_doc),+),)+
                    $(Self::$Further => concat!($($further_doc),+),)+
                }
            }

            /// A simple fault of this kind, which names no node; `None` for one that lasts the
            /// whole run.
            pub const fn example(self) -> Option<What> {
                match self {
                    $($(Self::$OfNode => {
                        Some($NodeFault::$OfNode { $($($node_field: $node_example),+)? }.at(None))
                    })+)+
                    $($(Self::$OfNone => {
                        Some(What::$Place($PlaceFault::$OfNone { $($($field: $example),+)? }))
                    })+)+
                    $(Self::$Act => Some(What::Operator(Act::$Act)),)+
                    $(Self::$Further => $further_what,)+
                }
            }
        }
    };
}
