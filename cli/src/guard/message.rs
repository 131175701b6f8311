//! The messages between the supervisor and its guard: lines of text over a pair of sockets, in
//! order.
//!
//! The command, its environment and its key are not among them: the guard has them from its own
//! start, so that every message is short and fits into the socket's buffer.

use std::time::Duration;

use tenure::Instant;

/// Deadlines of the command's group, by the boot clock of the library. In that order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_field_names, reason = "they are instants, and not what happens then")]
pub(crate) struct Deadlines {
    /// The guard asks the group to end (SIGTERM).
    pub(crate) term_at: Instant,
    /// The guard kills the group (SIGKILL).
    pub(crate) kill_at: Instant,
    /// The kernel kills the guard, if the guard has not disarmed the timer by then: a guard that is
    /// paused.
    pub(crate) hard_at: Instant,
}

/// The end of the command's process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// It exited with that status.
    Code(i32),
    /// It was killed by that signal.
    Signal(i32),
}

/// From the supervisor to the guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Start the command for the tenure with that token.
    Start {
        token: u64,
        until: Deadlines,
        /// True if its group becomes the terminal's foreground group.
        foreground: bool,
    },
    /// The deadlines are these from now on.
    Until(Deadlines),
    /// Ask the group to end, and kill it after that time.
    Stop { grace: Duration },
    /// Send that signal to the group.
    Signal(i32),
}

/// From the guard to the supervisor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Report {
    /// Nothing was started, since it was too late for that.
    Late,
    /// Nothing was started, because of that error of the operating system.
    Failed(i32),
    /// The command runs in the process, and in the group, of that number.
    Started(i32),
    /// A deadline has come: the group was asked to end, or killed.
    Ending,
    /// The command's process was stopped by that signal, such as by Ctrl-Z.
    Stopped(i32),
    /// The command's process has ended. Other processes may be left.
    Exited(Ending),
    /// No process that the command has started is left, as far as the guard can see.
    Gone,
}

impl Order {
    pub(crate) fn line(self) -> String {
        match self {
            Self::Start { token, until, foreground } => {
                format!("start {token} {} {}\n", until.words(), u8::from(foreground))
            }
            Self::Until(until) => format!("until {}\n", until.words()),
            Self::Stop { grace } => format!("stop {}\n", grace.as_nanos()),
            Self::Signal(signal) => format!("signal {signal}\n"),
        }
    }

    pub(crate) fn read(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["start", token, term, kill, hard, foreground] => Some(Self::Start {
                token: token.parse().ok()?,
                until: Deadlines::read([term, kill, hard])?,
                foreground: foreground == "1",
            }),
            ["until", term, kill, hard] => Some(Self::Until(Deadlines::read([term, kill, hard])?)),
            ["stop", grace] => {
                Some(Self::Stop { grace: Duration::from_nanos(grace.parse().ok()?) })
            }
            ["signal", signal] => Some(Self::Signal(signal.parse().ok()?)),
            _ => None,
        }
    }
}

impl Report {
    pub(crate) fn line(self) -> String {
        match self {
            Self::Late => "late\n".to_owned(),
            Self::Failed(error) => format!("failed {error}\n"),
            Self::Started(group) => format!("started {group}\n"),
            Self::Ending => "ending\n".to_owned(),
            Self::Stopped(signal) => format!("stopped {signal}\n"),
            Self::Exited(Ending::Code(code)) => format!("exited code {code}\n"),
            Self::Exited(Ending::Signal(signal)) => format!("exited signal {signal}\n"),
            Self::Gone => "gone\n".to_owned(),
        }
    }

    pub(crate) fn read(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["late"] => Some(Self::Late),
            ["failed", error] => Some(Self::Failed(error.parse().ok()?)),
            ["started", group] => Some(Self::Started(group.parse().ok()?)),
            ["ending"] => Some(Self::Ending),
            ["stopped", signal] => Some(Self::Stopped(signal.parse().ok()?)),
            ["exited", "code", code] => Some(Self::Exited(Ending::Code(code.parse().ok()?))),
            ["exited", "signal", signal] => {
                Some(Self::Exited(Ending::Signal(signal.parse().ok()?)))
            }
            ["gone"] => Some(Self::Gone),
            _ => None,
        }
    }
}

impl Deadlines {
    fn words(self) -> String {
        let Self { term_at, kill_at, hard_at } = self;
        format!("{} {} {}", term_at.as_nanos(), kill_at.as_nanos(), hard_at.as_nanos())
    }

    fn read([term, kill, hard]: [&str; 3]) -> Option<Self> {
        let instant = |word: &str| word.parse().ok().map(Instant::from_nanos);
        Some(Self { term_at: instant(term)?, kill_at: instant(kill)?, hard_at: instant(hard)? })
    }
}

impl Ending {
    /// The status that shells show.
    pub(crate) fn exit_code(self) -> u8 {
        match self {
            Self::Code(code) => u8::try_from(code & 0xff).unwrap_or(u8::MAX),
            Self::Signal(signal) => u8::try_from((128 + signal) & 0xff).unwrap_or(u8::MAX),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_as_they_were_written() {
        let at = Instant::from_nanos;
        let until = Deadlines { term_at: at(1), kill_at: at(u64::MAX - 1), hard_at: at(u64::MAX) };
        for order in [
            Order::Start { token: u64::MAX, until, foreground: true },
            Order::Start { token: 1, until, foreground: false },
            Order::Until(until),
            Order::Stop { grace: Duration::from_millis(1_500) },
            Order::Signal(15),
        ] {
            assert_eq!(Order::read(order.line().trim_end()), Some(order));
        }
        for report in [
            Report::Late,
            Report::Failed(11),
            Report::Started(4_194_304),
            Report::Ending,
            Report::Stopped(20),
            Report::Exited(Ending::Code(3)),
            Report::Exited(Ending::Signal(9)),
            Report::Gone,
        ] {
            assert_eq!(Report::read(report.line().trim_end()), Some(report));
        }
        for nonsense in ["", "start", "start 1 2 3", "until 1 2 x", "stop -1", "gone 1"] {
            assert_eq!((Order::read(nonsense), Report::read(nonsense)), (None, None), "{nonsense}");
        }
    }

    #[test]
    fn statuses_are_those_of_shells() {
        let codes = [Ending::Code(0), Ending::Code(7), Ending::Signal(9), Ending::Signal(15)];
        assert_eq!(codes.map(Ending::exit_code), [0, 7, 137, 143]);
    }
}
