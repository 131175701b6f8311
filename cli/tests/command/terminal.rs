//! A terminal, by `script` of util-linux: the command reads it, and Ctrl-C and Ctrl-Z reach the
//! command.

use std::io::Write;
use std::process::{Child, ChildStdin, Command, Stdio};

use super::hosts::{Place, is_stopped, parent, wait_until};

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

#[test]
fn a_command_with_another_input_reads_the_terminal() {
    let mut terminal = Terminal::open();
    terminal.types(
        "echo piped | $T run job -- sh -c 'echo > $D/ready; read line < /dev/tty; echo \"got $line\" > $D/read'; \
         echo $? > $D/status\n",
    );
    terminal.sees("ready");
    terminal.types("hello\n");
    assert_eq!(terminal.sees("read"), "got hello");
    assert_eq!(terminal.sees("status"), "0");
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
    let supervisor = parent(guard).unwrap();
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
    let supervisor = parent(guard).unwrap();
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
