//! Programs of the machine that no folder can hold: daemons that stand on system libraries. The
//! package manager installs those that are missing; which version is left to the distribution.

use std::fs::File;
use std::path::Path;

use crate::failure::{Failure, Outcome};
use crate::process;
use crate::steps;

/// A package of Debian and Ubuntu.
struct Package {
    name: &'static str,
    /// Programs that it brings: when they are there, it is.
    programs: &'static [&'static str],
}

/// What a real keyring needs.
const PACKAGES: &[Package] = &[
    Package { name: "dbus", programs: &["dbus-daemon", "dbus-send"] },
    Package { name: "gnome-keyring", programs: &["gnome-keyring-daemon"] },
    Package { name: "libsecret-tools", programs: &["secret-tool"] },
];

/// Installs what is missing; does nothing when all is there.
pub(super) fn install(cache: &Path) -> Outcome {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let names =
        missing(&|program| std::env::split_paths(&path).any(|it| it.join(program).is_file()));
    if names.is_empty() {
        return Ok(());
    }
    let log_path = cache.join("machine.log");
    let log = File::create(&log_path).map_err(|source| Failure::file(&log_path, source))?;
    // The lists of a fresh machine are empty or old: they are fetched when they turn out to be.
    let installed = apt(&names, &log).or_else(|_| {
        process::run_logged(process::command("apt-get").args(["update", "--quiet"]), &log)?;
        apt(&names, &log)
    });
    let names = names.join(" ");
    installed.map_err(|failure| {
        Failure::new(format!(
            "tests need the packages {names}: {failure}; see `{}`, or install them yourself",
            log_path.display()
        ))
    })?;
    steps::note(&format!("installed {names} on this machine"));
    Ok(())
}

fn apt(names: &[&str], log: &File) -> Outcome {
    let mut apt = process::command("apt-get");
    apt.args(["install", "--yes", "--quiet", "--no-install-recommends"])
        // Somebody else may be installing something.
        .args(["-o", "DPkg::Lock::Timeout=300"])
        .args(names)
        .env("DEBIAN_FRONTEND", "noninteractive");
    process::run_logged(&mut apt, log)
}

/// The packages of which a program is not there.
fn missing(is_there: &dyn Fn(&str) -> bool) -> Vec<&'static str> {
    let lacks = |package: &&Package| !package.programs.iter().all(|program| is_there(program));
    PACKAGES.iter().filter(lacks).map(|package| package.name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_lacks_a_program_is_installed() {
        let all = ["dbus-daemon", "dbus-send", "gnome-keyring-daemon", "secret-tool"];
        let cases: [(&[&str], &[&str]); 3] = [
            (&all, &[]),
            (&all[1..3], &["dbus", "libsecret-tools"]),
            (&[], &["dbus", "gnome-keyring", "libsecret-tools"]),
        ];
        for (there, expected) in cases {
            assert_eq!(missing(&|program| there.contains(&program)), expected, "{there:?}");
        }
    }
}
