//! What to start, and why it could not be started.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// The variable with the descriptor that a child may write notices to.
pub const NOTICES_VARIABLE: &str = "GANTRY_NOTICES";

/// What to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// A path, or a name that is looked up in the `PATH` of `env`. A relative path is relative to
    /// `directory`.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its whole environment, except [`NOTICES_VARIABLE`] and the owner tag of its processes:
    /// nothing is inherited. A program of others must not see what a shell has set, which is full
    /// of secrets.
    pub env: Vec<(String, String)>,
    /// The working directory; that of this process if none is given.
    pub directory: Option<PathBuf>,
    /// Limit on the data (`RLIMIT_DATA`) of each of its processes; none for no limit. Not on the
    /// address space: many programs reserve far more than they use.
    pub memory: Option<u64>,
}

/// A program could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// There is no such program.
    #[error("the program `{}` was not found; check its path, or the `PATH` that it is given", .0.display())]
    NotFound(PathBuf),
    /// The program is there, but what its first line or its header names is not.
    #[error("the interpreter of `{}` was not found; check the first line of the file", .0.display())]
    NoInterpreter(PathBuf),
    /// The file may not be executed.
    #[error("`{}` may not be executed; give a file, and make it executable with `chmod +x`", .0.display())]
    NotExecutable(PathBuf),
    /// The file is neither a program of this machine nor a script that names its interpreter.
    #[error("`{}` is no program of this machine; a script needs a first line such as `#!/bin/sh`", .0.display())]
    NotAProgram(PathBuf),
    /// The directory to work in cannot be entered.
    #[error("`{}` cannot work in `{}`; give a directory that exists and may be entered", program.display(), directory.display())]
    Directory {
        /// The program.
        program: PathBuf,
        /// The directory it was to work in.
        directory: PathBuf,
    },
    /// The file is open for writing.
    #[error("`{}` is being written; try again when that is done", .0.display())]
    Busy(PathBuf),
    /// The kernel takes no command line of this kind.
    #[error("the arguments or the environment of `{}` are too long or hold a zero byte; shorten or correct them", .0.display())]
    Arguments(PathBuf),
    /// The system refused for a reason of its own.
    #[error("`{}` could not be started: {source}; check the limits on processes and open files", program.display())]
    Refused {
        /// The program.
        program: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl StartError {
    /// Classifies an error. The kernel reports `ENOENT` for the program, its interpreter and its
    /// directory alike.
    pub(crate) fn new(program: &Program, source: io::Error) -> Self {
        let path = program.program.clone();
        let looked_up = path.components().count() == 1 && !path.has_root();
        if source.raw_os_error() == Some(rustix::io::Errno::NOEXEC.raw_os_error()) {
            return Self::NotAProgram(path);
        }
        match (source.kind(), &program.directory) {
            (
                ErrorKind::NotFound | ErrorKind::PermissionDenied | ErrorKind::NotADirectory,
                Some(directory),
            ) if std::fs::read_dir(directory).is_err() => {
                Self::Directory { program: path, directory: directory.clone() }
            }
            (ErrorKind::NotFound, directory)
                if !looked_up && exists(&path, directory.as_deref()) =>
            {
                Self::NoInterpreter(path)
            }
            (ErrorKind::NotFound | ErrorKind::NotADirectory, _) => Self::NotFound(path),
            (ErrorKind::PermissionDenied, _) => Self::NotExecutable(path),
            (ErrorKind::ExecutableFileBusy, _) => Self::Busy(path),
            (ErrorKind::InvalidInput | ErrorKind::ArgumentListTooLong, _) => Self::Arguments(path),
            _ => Self::Refused { program: path, source },
        }
    }
}

/// Whether the file is there, seen from the directory the program was to work in.
fn exists(path: &Path, directory: Option<&Path>) -> bool {
    directory.map_or_else(|| path.exists(), |directory| directory.join(path).exists())
}
