//! The command of one turn: a process group with the prompt on its stdin.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use tokio::io::AsyncWriteExt as _;
use tokio::process::{Child, ChildStdin};
use tokio::task::JoinHandle;

/// How often a group that was asked to stop is looked at.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// A running command. Dropping it kills it.
#[derive(Debug)]
pub struct Command {
    child: Child,
    group: Pid,
    prompt: JoinHandle<()>,
}

impl Command {
    /// Starts `words`, the program first, in a process group of its own, with `environment` over this
    /// process's own, less every variable whose value holds `secret`. Its stdout and stderr are this process's
    /// stderr.
    ///
    /// The prompt is written beside everything else: a command that does not read it, or ends without, blocks
    /// nothing.
    ///
    /// # Errors
    /// The system's, when the program cannot be started.
    pub fn start(
        words: &[OsString],
        environment: &[(&str, OsString)],
        secret: &str,
        prompt: String,
    ) -> io::Result<Self> {
        let (program, arguments) = words
            .split_first()
            .ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        let stderr = io::stderr();
        let mut command = tokio::process::Command::new(program);
        command.args(arguments);
        for (name, value) in std::env::vars_os() {
            if holds(&value, secret) {
                command.env_remove(name);
            }
        }
        command
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(stderr.as_fd().try_clone_to_owned()?)
            .stderr(Stdio::inherit())
            .process_group(0)
            .kill_on_drop(true);
        let mut child = command.spawn()?;
        let group = child
            .id()
            .and_then(|id| i32::try_from(id).ok())
            .map(Pid::from_raw)
            .ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
        let stdin = child.stdin.take();
        Ok(Command {
            child,
            group,
            prompt: tokio::spawn(write(stdin, prompt)),
        })
    }

    /// Waits for the command's own process. May be given up and waited for again.
    ///
    /// # Errors
    /// The system's, when the process cannot be waited for.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        self.child.wait().await
    }

    /// Ends whatever is left of the group: SIGTERM, then SIGKILL once `grace` is over or `hurry` is done.
    /// Nothing of a turn outlives it, unless it left the group on purpose.
    pub async fn end(&mut self, grace: Duration, hurry: impl Future<Output = ()>) {
        // The number cannot belong to another group yet: numbers are given out in turn, and this one was in
        // use a moment ago.
        let _ = killpg(self.group, Signal::SIGTERM);
        let gone = async {
            let _ = self.child.wait().await;
            while self.group_remains() {
                tokio::time::sleep(LOOK_AGAIN).await;
            }
        };
        tokio::select! {
            () = gone => return,
            () = tokio::time::sleep(grace) => {}
            () = hurry => {}
        }
        let _ = killpg(self.group, Signal::SIGKILL);
        let _ = self.child.wait().await;
    }

    /// Whether the group has a member, once the command's own process was waited for. On the way it reaps what
    /// the command orphaned and [`adopt_orphans`] brought here: a process that nobody reaps stays a member.
    fn group_remains(&self) -> bool {
        while matches!(
            waitpid(None, Some(WaitPidFlag::WNOHANG)),
            Ok(WaitStatus::Exited(..) | WaitStatus::Signaled(..))
        ) {}
        killpg(self.group, None).is_ok()
    }
}

/// Makes this process the parent of what its commands orphan, so that it can tell when all of it has ended,
/// also in a container whose first process reaps nothing. Only Linux has that; elsewhere the system's first
/// process reaps them.
pub fn adopt_orphans() {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    let _ = nix::sys::prctl::set_child_subreaper(true);
}

impl Drop for Command {
    fn drop(&mut self) {
        self.prompt.abort();
    }
}

/// A command that ends without reading its prompt closes the pipe: no error of ours.
async fn write(stdin: Option<ChildStdin>, prompt: String) {
    if let Some(mut stdin) = stdin {
        let _ = stdin.write_all(prompt.as_bytes()).await;
        let _ = stdin.shutdown().await;
    }
}

/// The status in words: `exit status 3` or `killed by signal 9`.
pub fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit status {code}"),
        (None, Some(signal)) => format!("killed by signal {signal}"),
        (None, None) => "unknown exit status".to_owned(),
    }
}

/// The search path with `folder` first.
pub fn path_beginning_with(folder: &Path) -> OsString {
    let rest = std::env::var_os("PATH").unwrap_or_default();
    std::env::join_paths(std::iter::once(folder.to_owned()).chain(std::env::split_paths(&rest)))
        .unwrap_or(rest)
}

/// Whether the system would find `program`: a path to a file, or a name in a folder of `search_path`.
pub fn exists(program: &OsStr, search_path: &OsStr) -> bool {
    let is_path = Path::new(program).components().count() > 1;
    if is_path {
        return Path::new(program).is_file();
    }
    std::env::split_paths(search_path)
        .map(|folder: PathBuf| folder.join(program))
        .any(|candidate| candidate.is_file())
}

fn holds(value: &OsStr, secret: &str) -> bool {
    value
        .as_encoded_bytes()
        .windows(secret.len().max(1))
        .any(|window| window == secret.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::holds;

    #[test]
    fn a_value_that_holds_the_secret_anywhere_is_found() {
        for value in ["secret", "Bearer secret", "{\"token\":\"secret\"}"] {
            assert!(holds(OsStr::new(value), "secret"), "{value}");
        }
        for value in ["", "secre", "Secret"] {
            assert!(!holds(OsStr::new(value), "secret"), "{value}");
        }
    }
}
