//! `resident`: the native runner of an A2A task plane.
//!
//! `resident run` waits for wakes and runs a command once per turn. Inside a turn, `resident read`,
//! `complete`, `reject`, `output`, `ask`, `append` and `progress` are the tools with which that command works
//! on its task, so that a ten-line shell script can be an agent.
//!
//! `resident agent` is a client of any A2A 1.0 agent, for a shell.
//!
//! The invariant: **the command never holds the resident's own token.** It gets the turn's token, good for
//! that turn and task alone, by its environment.
//!
//! Exit codes are listed in [`error::Failure`].

use std::process::ExitCode;

use clap::Parser;

mod agent;
mod backoff;
mod cli;
mod client;
mod command;
mod error;
mod heartbeat;
mod log;
mod prompt;
mod run;
mod shown;
mod stop;
mod task_view;
mod tools;
mod turn;

use cli::{Cli, Subcommand};
use error::Failure;

fn main() -> ExitCode {
    let cli = Cli::parse();
    match dispatch(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            log::line(format_args!("{failure}"));
            failure.exit_code()
        }
    }
}

fn dispatch(cli: Cli) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::Broken(format!("the runtime did not start: {error}")))?;
    match cli.subcommand {
        Subcommand::Run(arguments) => runtime.block_on(run::run(arguments)),
        Subcommand::Agent(arguments) => agent::run(&runtime, arguments),
        Subcommand::Tool(tool) => tools::run(&runtime, tool),
    }
}
