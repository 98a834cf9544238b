//! `cargo xtask VERB`: what developers and CI run. Each verb is a file of its own in this folder.

mod agents;
mod bench;
mod build;
mod check;
mod clients;
mod conformance;
mod deny;
mod everything;
mod failure;
mod fuzz;
mod gateway;
mod process;
mod provision;
mod steps;
mod test;
mod tidy;
mod workspace;

use std::process::ExitCode;

use failure::{Failure, Outcome};

const USAGE: &str = "\
usage: cargo xtask VERB

  check                              formatting, lints, tidy and deny
  tidy                               the rules that no compiler checks: layers, names, places, documents
  deny                               licences, duplicates, bans and sources, by the rules of deny.toml
  test [STEP..] [--quick]            everything CI runs; --quick leaves out conformance, clients, fuzz, bench
  provision                          install the peers that tests talk to
  conformance [--url URL] [--only RUN] [--binaries DIR]
                                     the official suite against the `everything` example, alone and
                                     behind the gateway, and against our client
  clients [NAME..]                   real clients against the `everything` example
  agents [--only SCENARIO] [--transport http|stdio] [--binary GANTRY] [NAME..]
                                     real agents with a stand-in for their model, in front of the gateway;
                                     not part of `test`
  agents --libraries [--transport http|stdio] [--binary GANTRY] [NAME..]
                                     agent libraries in front of the gateway
  fuzz [--seconds N] [TARGET..]      each fuzz target for N seconds (60 unless told)
  bench [ARGUMENT..]                 the load generator";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            steps::complain(&failure);
            ExitCode::FAILURE
        }
    }
}

fn dispatch(arguments: &[String]) -> Outcome {
    let root = workspace::root();
    let Some((verb, rest)) = arguments.split_first() else {
        return Err(Failure::new(USAGE));
    };
    match verb.as_str() {
        "check" => without_arguments(rest).and_then(|()| check::run(&root)),
        "tidy" => without_arguments(rest).and_then(|()| tidy::run(&root)),
        "deny" => without_arguments(rest).and_then(|()| deny::run(&root)),
        "provision" => without_arguments(rest).and_then(|()| provision::run()),
        "test" => test::run(&root, rest),
        "conformance" => conformance::run(&root, rest),
        "clients" => clients::run(&root, rest),
        "agents" => agents::run(&root, rest),
        "fuzz" => fuzz::run(&root, rest),
        "bench" => bench::run(&root, rest),
        "help" | "--help" | "-h" => {
            steps::note(USAGE);
            Ok(())
        }
        unknown => Err(Failure::new(format!("no verb `{unknown}`\n{USAGE}"))),
    }
}

fn without_arguments(rest: &[String]) -> Outcome {
    match rest.first() {
        None => Ok(()),
        Some(extra) => Err(Failure::new(format!("unexpected argument `{extra}`\n{USAGE}"))),
    }
}
