//! The program as a child process, with everything it says kept.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Condvar, Mutex, mpsc};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::standin::{PATIENCE, RESIDENT_TOKEN, Standin, Turn};

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_resident");

/// A folder of one test.
pub fn folder() -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(uuid::Uuid::new_v4().to_string());
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Waits until the file exists and has content, and gives that.
pub fn until_written(path: &std::path::Path) -> String {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match std::fs::read_to_string(path) {
            Ok(content) if content.ends_with('\n') => return content,
            _ => assert!(
                Instant::now() < deadline,
                "{} was never written",
                path.display()
            ),
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Whether the process has ended; one that nobody has waited for yet has.
pub fn has_ended(pid: &str) -> bool {
    match std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())) {
        Ok(stat) => stat
            .rsplit(')')
            .next()
            .is_some_and(|rest| rest.starts_with(" Z")),
        Err(_) => true,
    }
}

#[derive(Default)]
struct Said {
    text: Mutex<(String, bool)>,
    more: Condvar,
}

/// `resident run`, with short delays.
pub struct Runner {
    child: Child,
    said: Arc<Said>,
}

impl Runner {
    pub fn start(standin: &Standin, options: &[&str], script: &str) -> Self {
        Self::start_with(standin, options, script, |_| {})
    }

    pub fn start_with(
        standin: &Standin,
        options: &[&str],
        script: &str,
        prepare: impl FnOnce(&mut Command),
    ) -> Self {
        let mut command = Command::new(PROGRAM);
        command
            .args(["run", "--retry-after-ms", "5"])
            .args(options)
            .args(["--", "sh", "-c", script])
            .env("A2A_URL", &standin.url)
            .env("A2A_RESIDENT_TOKEN", RESIDENT_TOKEN)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        prepare(&mut command);
        let mut child = command.spawn().unwrap();
        let said = Arc::new(Said::default());
        let hearing = Arc::clone(&said);
        let stderr = BufReader::new(child.stderr.take().unwrap());
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                let mut text = hearing.text.lock().unwrap();
                text.0.push_str(&line);
                text.0.push('\n');
                hearing.more.notify_all();
            }
            hearing.text.lock().unwrap().1 = true;
            hearing.more.notify_all();
        });
        Runner { child, said }
    }

    pub fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id().try_into().unwrap()), signal).unwrap();
    }

    /// Waits until stderr holds `wanted`, and gives all of it.
    pub fn until_said(&self, wanted: &str) -> String {
        self.hear(wanted, |(text, _)| text.contains(wanted))
    }

    /// Waits until the program ends by itself; gives its exit code and its stderr.
    pub fn until_ended(mut self) -> (i32, String) {
        let text = self.hear("its end", |(_, ended)| *ended);
        (self.child.wait().unwrap().code().unwrap(), text)
    }

    fn hear(&self, what: &str, enough: impl Fn(&(String, bool)) -> bool) -> String {
        let deadline = Instant::now() + PATIENCE;
        let mut text = self.said.text.lock().unwrap();
        while !enough(&text) {
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "waited in vain for {what}: {}", text.0);
            text = self.said.more.wait_timeout(text, left).unwrap().0;
        }
        text.0.clone()
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs a tool in the environment of `turn`, to its end.
pub fn tool(standin: &Standin, turn: &Turn, arguments: &[&str], stdin: &[u8]) -> Output {
    tool_with(standin, turn, arguments, stdin, |_| {})
}

pub fn tool_with(
    standin: &Standin,
    turn: &Turn,
    arguments: &[&str],
    stdin: &[u8],
    prepare: impl FnOnce(&mut Command),
) -> Output {
    let mut command = Command::new(PROGRAM);
    command
        .args(arguments)
        .env("A2A_URL", &standin.url)
        .env("A2A_TURN_TOKEN", &turn.token)
        .env("A2A_TURN_ID", &turn.turn_id)
        .env("A2A_TASK_ID", &turn.task_id)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    prepare(&mut command);
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let text = stdin.to_vec();
    std::thread::spawn(move || {
        let _ = input.write_all(&text);
    });
    let (sender, ended) = mpsc::channel();
    std::thread::spawn(move || sender.send(child.wait_with_output()));
    ended.recv_timeout(PATIENCE).unwrap().unwrap()
}
