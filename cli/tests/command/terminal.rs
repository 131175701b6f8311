//! A terminal, by `script` of util-linux: the command reads it, and Ctrl-C and Ctrl-Z reach the
//! command.

use std::io::Write;
use std::process::{Child, ChildStdin, Command, Stdio};

use nix::sys::signal::Signal;

use super::hosts::{Place, is_stopped, lives, send, supervisor, wait_until};

/// A shell with a terminal of its own.
struct Terminal {
    script: Child,
    keys: ChildStdin,
    place: Place,
}

impl Terminal {
    /// Bash with job control, which runs these lines.
    fn open() -> Self {
        let place = Place::new();
        let tenure = env!("CARGO_BIN_EXE_tenure");
        let mut script = Command::new("script");
        script.args(["--quiet", "--command", "bash --norc -i", "/dev/null"]);
        script.env("XDG_STATE_HOME", place.file("state")).env("T", tenure).env("D", place.file(""));
        let mut script = script
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let keys = script.stdin.take().unwrap();
        Self { script, keys, place }
    }

    fn types(&mut self, text: &str) {
        self.keys.write_all(text.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    /// Waits for a file that a line has made, and its text.
    fn sees(&self, file: &str) -> String {
        let path = self.place.file(file);
        wait_until(file, || std::fs::read_to_string(&path).is_ok_and(|text| text.ends_with('\n')));
        std::fs::read_to_string(&path).unwrap().trim().to_owned()
    }

    /// The number of a process, which a line has written to a file.
    fn sees_process(&self, file: &str) -> i32 {
        self.sees(file).parse().unwrap()
    }

    /// Ctrl-Z, and the shell has its terminal again. What is typed before the command has stopped
    /// is the command's.
    fn stops(&mut self, command: i32) {
        self.types("\x1a");
        wait_until("the stop", || is_stopped(command));
        let _ = std::fs::remove_file(self.place.file("jobs"));
        self.types("jobs -s > $D/jobs; echo >> $D/jobs\n");
        assert!(self.sees("jobs").contains("Stopped"));
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.script.kill();
        let _ = self.script.wait();
    }
}

#[test]
fn the_command_reads_the_terminal() {
    let mut terminal = Terminal::open();
    terminal.types("$T run job -- sh -c 'echo > $D/ready; read line; echo \"got $line\" > $D/read; exit 3'; echo $? > $D/status\n");
    terminal.sees("ready");
    terminal.types("hello\n");
    assert_eq!(terminal.sees("read"), "got hello");
    assert_eq!(terminal.sees("status"), "3");
}

#[test]
fn ctrl_c_ends_the_command() {
    let mut terminal = Terminal::open();
    terminal.types("$T run job -- sh -c 'echo > $D/ready; exec sleep 600'\n");
    terminal.sees("ready");
    terminal.types("\x03");
    // The shell has its terminal again.
    terminal.types("echo $? > $D/status\n");
    assert_eq!(terminal.sees("status"), "130");
}

/// In `$(..)`, a shell has programs ignore the signals by which they ask for it.
#[test]
fn a_command_with_other_files_reads_the_terminal() {
    let mut terminal = Terminal::open();
    for (number, (before, from, after)) in [
        ("echo piped | $T run job", "/dev/tty", ""),
        ("$T run job", "&0", " | cat"),
        ("x=$($T run job", "&0", ")"),
    ]
    .into_iter()
    .enumerate()
    {
        terminal.types(&format!(
            "{before} -- sh -c 'echo > $D/ready-{number}; read line <{from}; echo \"got $line\" > $D/read-{number}'{after}; \
             echo $? > $D/status-{number}\n"
        ));
        terminal.sees(&format!("ready-{number}"));
        terminal.types("hello\n");
        assert_eq!(terminal.sees(&format!("read-{number}")), "got hello");
        assert_eq!(terminal.sees(&format!("status-{number}")), "0");
    }
}

#[test]
fn a_pager_reads_the_terminal() {
    let mut terminal = Terminal::open();
    terminal.types(
        "$T run job -- sh -c 'echo > $D/ready; exec sleep 600' | \
         sh -c 'read line < /dev/tty; echo \"got $line\" > $D/read; exec cat'\n",
    );
    terminal.sees("ready");
    terminal.types("hello\n");
    assert_eq!(terminal.sees("read"), "got hello");
    terminal.types("\x03");
    terminal.types("echo over > $D/over\n");
    assert_eq!(terminal.sees("over"), "over");
}

/// A shell takes the terminal when `tenure` alone is stopped.
#[test]
fn a_shell_keeps_the_terminal_that_it_has_taken() {
    let mut terminal = Terminal::open();
    terminal.types(
        "sh -c 'echo $$ > $D/tenure; \
         exec $T run job -- sh -c \"echo > $D/ready; until [ -e $D/end ]; do sleep 0.05; done\"'\n",
    );
    terminal.sees("ready");
    let tenure = terminal.sees_process("tenure");
    send(tenure, Signal::SIGSTOP);
    terminal.types("bg; echo > $D/back\n");
    terminal.sees("back");
    std::fs::write(terminal.place.file("end"), "").unwrap();
    wait_until("the end of tenure", || !lives(tenure));
    terminal.types("echo over > $D/over\n");
    assert_eq!(terminal.sees("over"), "over");
}

#[test]
fn ctrl_c_ends_a_loop_around_the_command() {
    let mut terminal = Terminal::open();
    let endless = "while :; do $T run job -- sh -c 'echo > $D/ready; exec sleep 600'; done\n";
    std::fs::write(terminal.place.file("script"), endless).unwrap();
    for (number, line) in [endless, "sh $D/script\n"].into_iter().enumerate() {
        let _ = std::fs::remove_file(terminal.place.file("ready"));
        terminal.types(line);
        terminal.sees("ready");
        terminal.types("\x03");
        terminal.types(&format!("echo over > $D/over-{number}\n"));
        assert_eq!(terminal.sees(&format!("over-{number}")), "over");
    }
}

/// Its terminal may have gone.
#[test]
fn sighup_ends_a_host_that_waits_at_a_terminal() {
    let mut terminal = Terminal::open();
    terminal.types("$T run job -- sh -c 'echo > $D/ready; exec sleep 600' &\n");
    terminal.sees("ready");
    terminal.types("$T run job --verbose -- true 2> $D/log & waits=$!\n");
    let log = terminal.place.file("log");
    wait_until("a host that waits", || {
        std::fs::read_to_string(&log)
            .is_ok_and(|said| said.contains("another candidate has the lease"))
    });
    terminal.types("kill -HUP $waits; wait $waits; echo $? > $D/status\n");
    assert_eq!(terminal.sees("status"), "129");
}

#[test]
fn ctrl_z_and_fg_continue_the_command() {
    let mut terminal = Terminal::open();
    terminal.types(
        "$T run job -- sh -c 'echo $PPID > $D/ready; read line; echo \"got $line\" > $D/read'\n",
    );
    let guard = terminal.sees("ready").parse().unwrap();
    terminal.types("\x1a");
    let supervisor = supervisor(guard).unwrap();
    wait_until("the stop", || is_stopped(supervisor));
    assert!(!is_stopped(guard));
    terminal.types("jobs -s > $D/jobs; echo >> $D/jobs\n");
    assert!(terminal.sees("jobs").contains("Stopped"));
    terminal.types("fg\n");
    terminal.types("hello\n");
    assert_eq!(terminal.sees("read"), "got hello");
    terminal.types("echo $? > $D/status\n");
    assert_eq!(terminal.sees("status"), "0");
}

#[test]
fn fg_brings_a_background_command_to_the_front() {
    let mut terminal = Terminal::open();
    terminal.types(
        "$T run job -- sh -c 'echo $PPID > $D/ready; read line; echo \"got $line\" > $D/read' &\n",
    );
    let guard = terminal.sees("ready").parse().unwrap();
    let supervisor = supervisor(guard).unwrap();
    // It reads the terminal, which background processes must not.
    wait_until("the stop", || is_stopped(supervisor));
    // The shell continues only what it knows to be stopped, and learns that once all threads are.
    terminal.types("until [ -n \"$(jobs -s)\" ]; do sleep 0.1; done; fg\n");
    wait_until("the end of the stop", || !is_stopped(supervisor));
    terminal.types("hello\n");
    assert_eq!(terminal.sees("read"), "got hello");
    terminal.types("echo $? > $D/status\n");
    assert_eq!(terminal.sees("status"), "0");
}

/// The shell waits for the script, too.
#[test]
fn ctrl_z_stops_a_script_around_the_command() {
    let mut terminal = Terminal::open();
    let script = "$T run job -- sh -c 'echo $$ > $D/ready; read line; echo \"got $line\" > $D/read'\n\
                  echo after > $D/after\n";
    std::fs::write(terminal.place.file("script"), script).unwrap();
    terminal.types("sh $D/script\n");
    let command = terminal.sees_process("ready");
    for _ in 0..2 {
        terminal.stops(command);
        terminal.types("fg\n");
        wait_until("the end of the stop", || !is_stopped(command));
    }
    terminal.types("hello\n");
    assert_eq!(terminal.sees("read"), "got hello");
    assert_eq!(terminal.sees("after"), "after");
}

#[test]
fn ctrl_z_stops_a_command_in_a_pipe() {
    let mut terminal = Terminal::open();
    for (number, (before, after)) in [("sleep 600 | ", ""), ("", " | cat")].into_iter().enumerate()
    {
        terminal.types(&format!(
            "{before}$T run job -- sh -c 'echo $$ > $D/ready-{number}; exec sleep 600'{after}\n"
        ));
        let command = terminal.sees_process(&format!("ready-{number}"));
        for _ in 0..2 {
            terminal.stops(command);
            terminal.types("fg\n");
            wait_until("the end of the stop", || !is_stopped(command));
        }
        terminal.types("\x03");
        wait_until("the end of the command", || !lives(command));
    }
}

#[test]
fn ctrl_z_stops_a_host_that_waits() {
    let mut terminal = Terminal::open();
    terminal.types("$T run job -- sh -c 'echo > $D/ready; exec sleep 600' &\n");
    terminal.sees("ready");
    terminal.types(
        "sh -c 'echo $$ > $D/tenure; exec $T run job --verbose -- true 2> $D/log'; echo > $D/over\n",
    );
    let log = terminal.place.file("log");
    wait_until("a host that waits", || {
        std::fs::read_to_string(&log)
            .is_ok_and(|said| said.contains("another candidate has the lease"))
    });
    let waits = terminal.sees_process("tenure");
    terminal.stops(waits);
}
