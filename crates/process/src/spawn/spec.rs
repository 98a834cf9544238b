//! All that a new process needs to become its program, made ready beforehand: it shares the memory
//! of this process until then, and must not allocate in it.

use std::collections::BTreeMap;
use std::ffi::{CString, OsStr, c_char};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

use crate::command::Program;

/// Where programs are looked for when the environment names no place.
const PLACES: &str = "/usr/local/bin:/usr/bin:/bin";

/// A program, ready to be started.
#[derive(Debug)]
pub(crate) struct SpawnSpec {
    /// The files to try, one after the other.
    pub(crate) files: Vec<CString>,
    pub(crate) arguments: Strings,
    pub(crate) environment: Strings,
    pub(crate) directory: Option<CString>,
    pub(crate) memory: Option<u64>,
    /// Its ends of the pipes, in the order of the numbers that they get there.
    pub(crate) descriptors: Vec<OwnedFd>,
    pub(crate) parent_link: ParentLink,
}

/// How a new process is tied to this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ParentLink {
    /// It leads a session and a group of its own, and ends with this one.
    Child,
    /// It leads a session of its own, outlives this one, and no signal but the last reaches it.
    Warden,
}

/// Strings in the form the kernel takes them.
#[derive(Debug)]
pub(crate) struct Strings {
    pointers: Vec<*const c_char>,
    /// What the pointers point into.
    _owned: Vec<CString>,
}

#[expect(unsafe_code, reason = "the pointers point to the heap and move with their owner")]
// SAFETY: nothing but the strings' owner can reach what the pointers point to.
unsafe impl Send for Strings {}

impl SpawnSpec {
    pub(crate) fn new(
        program: &Program,
        extra: &[(&str, &str)],
        descriptors: Vec<OwnedFd>,
        parent_link: ParentLink,
    ) -> io::Result<Self> {
        let arguments = program.args.iter().map(OsStr::new);
        let arguments = [program.program.as_os_str()].into_iter().chain(arguments);
        // The kernel takes a name twice. The last one counts, and ours before all.
        let given = program.env.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let variables: BTreeMap<&str, &str> = given.chain(extra.iter().copied()).collect();
        let files = files(&program.program, variables.get("PATH").copied().unwrap_or(PLACES))?;
        let environment = variables.iter().map(|(name, value)| format!("{name}={value}"));
        let directory = program.directory.as_ref().map(|it| string(it.as_os_str())).transpose()?;
        Ok(Self {
            files,
            arguments: Strings::new(arguments.map(string))?,
            environment: Strings::new(environment.map(|it| string(OsStr::new(&it))))?,
            directory,
            memory: program.memory,
            descriptors,
            parent_link,
        })
    }
}

impl Strings {
    fn new(strings: impl Iterator<Item = io::Result<CString>>) -> io::Result<Self> {
        let owned: Vec<CString> = strings.collect::<io::Result<_>>()?;
        let pointers = owned.iter().map(|it| it.as_ptr()).chain([ptr::null()]).collect();
        Ok(Self { pointers, _owned: owned })
    }

    /// The strings, with a null behind the last.
    pub(crate) fn as_slice(&self) -> &[*const c_char] {
        &self.pointers
    }
}

/// Where the program may be: at its path, or in the places where programs are looked for.
fn files(program: &Path, places: &str) -> io::Result<Vec<CString>> {
    if program.as_os_str().is_empty() || program.as_os_str().as_bytes().contains(&b'/') {
        return Ok(vec![string(program.as_os_str())?]);
    }
    places.split(':').map(|place| string(Path::new(place).join(program).as_os_str())).collect()
}

fn string(text: &OsStr) -> io::Result<CString> {
    Ok(CString::new(text.as_bytes())?)
}
